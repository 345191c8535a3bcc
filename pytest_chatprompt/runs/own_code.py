"""Own code: `eval_api` in an ordinary test captures requests from the fixture's set-up to its tear-down.

Nothing else leaves this process meanwhile. What went wrong fails the test, even if its code has swallowed the error.
"""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.capture.guard import ConnectionAttempts, Tell, run_as, running_owner
from pytest_chatprompt.errors import CaptureWarning, PayloadWarning
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.context import Budget, current_context, use_context
from pytest_chatprompt.runs.item import note_use, prefix_findings

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.model_answers import ModelAnswer
    from pytest_chatprompt.capture.secrets.redaction import Redactor
    from pytest_chatprompt.providers.response import Finding
    from pytest_chatprompt.snapshots.recording_place import RecordingPlace


_capture_key: Final[pytest.StashKey[OwnCodeCapture]] = pytest.StashKey()


class OwnCodeCapture:
    """`EvalAPI` for one ordinary test, from its set-up to `stop`; `tell` is that of its `Owner`.

    It takes the requests of all clients, and keeps this process offline unless the run is live.

    Attributes:
        masks: for what its recording and reports show of its requests.
    """

    def __init__(self, request: pytest.FixtureRequest, redactor: Redactor, tell: Tell) -> None:
        # Runs that only collect, and runs without such a test, load none of it.
        from pytest_chatprompt.capture.eval_api import EvalAPI  # noqa: PLC0415
        from pytest_chatprompt.capture.offline import offline  # noqa: PLC0415
        from pytest_chatprompt.snapshots.masks import Masks  # noqa: PLC0415

        item = self._item = request.node
        options = item.config.stash[options_key]
        self.request = request
        # Of two versions the first requests are sent, once the test is over.
        is_live = options.live and options.ab is None
        hosts, placeholders = options.allowed_hosts, options.placeholders
        self.api = EvalAPI(redactor, allowed_hosts=hosts, placeholders=placeholders, is_live=is_live)
        self.has_passed = False
        self.findings: list[Finding] = []
        self.masks = Masks.from_mapping(request.getfixturevalue("eval_masks"))
        self._place: RecordingPlace | None = None
        # What recordings belong to whom is asked only where some may be moved or removed.
        is_updated = item.config.getoption("update_snapshots", False)
        self._notes_sent = bool(options.remove_unused or options.accept or options.review or is_updated)
        if options.ab is None and (options.record or options.replay or self._notes_sent):
            from pytest_chatprompt.runs.recordings import place_of_test  # noqa: PLC0415

            self._place = place_of_test(item, self.masks)
            self.api.recording = self._place.open()
        budget: Budget | None = None
        if is_live:
            from pytest_chatprompt.capture.recording.open_recording import OpenRecording  # noqa: PLC0415
            from pytest_chatprompt.runs.live_run import LiveRun  # noqa: PLC0415

            # It sees what is sent, and what models reply.
            self.api.recording = self.api.recording or OpenRecording(sends=True, is_kept=False)
            self.api.recording.budget = budget = LiveRun.of(item.config).budget
        self._attempts = ConnectionAttempts()
        self._checked_requests = 0
        # The variables of this process before the test, and those that it has during the test.
        self._environment: tuple[dict[str, str], dict[str, str]] = ({}, {})
        with ExitStack() as stack:
            # The first test of a run may have begun without an owner.
            self._owner = running_owner() or stack.enter_context(run_as(item.nodeid, tell))
            stack.enter_context(use_context(current_context()._replace(budget=budget)))
            if not is_live:
                # Real keys give way to placeholders, unless they are sent later.
                redactor.learn_environment()
                kept = {"allows_programs": True, "keeps_credentials": options.live}
                guarded = offline(allowed_hosts=hosts, placeholders=placeholders, **kept)
                before = dict(os.environ)
                self._attempts = self._owner.guard = stack.enter_context(guarded)
                self._environment = before, dict(os.environ)
            stack.enter_context(self.api.intercept())
            stack.callback(self.api.children.close)
            self._stack = stack.pop_all()
        item.stash[_capture_key] = self

    @staticmethod
    def of(item: pytest.Item) -> OwnCodeCapture | None:
        """The capture of a test; `None` if the test did not ask for one."""
        return item.stash.get(_capture_key, None)

    @staticmethod
    def forget(item: pytest.Item) -> None:
        """Let go of the capture of a test that is over: pytest keeps the stash of its items to the end."""
        capture = OwnCodeCapture.of(item)
        if capture is not None:
            del item.stash[_capture_key]
            # What a `monkeypatch` has put back that was made before the capture: the variables during the test.
            before, during = capture._environment
            for name in {name for name, _ in before.items() ^ during.items()}:
                if os.environ.get(name) == during.get(name):
                    if name in before:
                        os.environ[name] = before[name]
                    else:
                        os.environ.pop(name, None)

    def stop(self) -> None:
        """Stop capturing, record what the APIs replied, and warn about a thread that goes on."""
        place, recording = self._place, self.api.recording
        try:
            with self._stack:
                threads = self._owner.leave_threads()
        finally:
            # But for what was replayed.
            sent = [answer.response for answer in self.answers() if not answer.is_replayed]
            if sent:
                from pytest_chatprompt.runs.usage_summary import OWN_CODE, add_usage  # noqa: PLC0415

                add_usage(self._item, OWN_CODE, *sent, requests=len(sent))
            if place is not None and recording is not None and recording.is_kept:
                from pytest_chatprompt.runs.usage_summary import add_replayed  # noqa: PLC0415

                add_replayed(self._item, place.path, recording)
                place.save(recording, self.api.redactor)
        if place is not None and self._notes_sent:
            from pytest_chatprompt.capture.recording.recorded_exchange import recorded_request  # noqa: PLC0415

            # A recording of these requests belongs to the test, whatever its name.
            hashes = [recorded_request(each, place.masks.apply).sha256 for each in self.api.sent]
            note_use(self._item, "sent", str(place.path), hashes)
        for name, line in threads:
            text = (
                f"{self._item.nodeid}: the thread {name!r} has sent requests in this test and goes on, at {line}; what "
                "it sends from now on is refused. End it before the test ends, or start it in a fixture of a wider "
                "scope."
            )
            warnings.warn(CaptureWarning(text), stacklevel=1)

    def warn_of_findings(self) -> str:
        """Warn once of each finding of preflight; gives the text of the first one that a filter makes an error."""
        entries = self.api.log[self._checked_requests :]
        if not entries:
            return ""
        from pytest_chatprompt.capture.offline_api import preflight_requests  # noqa: PLC0415

        self._checked_requests += len(entries)
        error = ""
        found = preflight_requests(entry.request for entry in entries)
        for finding in (*found, *prefix_findings(self._item, self.api.sent)):
            if finding not in self.findings:
                self.findings.append(finding)
                try:
                    self._item.warn(finding.to_warning())
                except PayloadWarning as warning:
                    error = error or f"PayloadWarning: {warning}"
        return error

    def answers(self) -> list[ModelAnswer]:
        """What became of each request to a model so far; empty in a run that neither sends nor replays."""
        if self.api.recording is None:
            return []
        from pytest_chatprompt.capture.recording.model_answers import model_answers  # noqa: PLC0415

        return model_answers(self.api.recording)

    def take_problem(self, call: pytest.CallInfo[None]) -> str:
        """What went wrong in a phase of the test, whether its code raised or swallowed the error; `""` if nothing."""
        has_passed = call.excinfo is None
        if call.when == "setup" and has_passed:
            # The test may still go on without it; the next phase reports it.
            return ""
        text = ""
        if self.api.errors:
            text = str(self.api.errors[0])
        elif self._attempts.blocked:
            target = self._attempts.blocked[0]
            text = (
                f"a connection to {target} was blocked{self._attempts.callers[target].describe()}: eval_api answers "
                "HTTP requests only; add the host to chatprompt_allowed_hosts if the test may reach it"
            )
        elif has_passed and call.when == "teardown" and self.has_passed:
            # Not earlier: the tear-down of a fixture may have taken one.
            text = self.api.reply_queue.describe_waiting()
        self.api.errors.clear()
        self._attempts.blocked.clear()
        return text

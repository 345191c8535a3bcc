"""Own code: `eval_api` in an ordinary test captures requests from the fixture's set-up to its tear-down.

Nothing else leaves this process meanwhile. What went wrong fails the test, even if its code has swallowed the error.
"""

from __future__ import annotations

import os
import warnings
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import pytest

from pytest_chatprompt.capture.guard import ConnectionAttempts, Owner, Tell, run_as, running_owner, take_report_of_forks
from pytest_chatprompt.errors import CaptureWarning
from pytest_chatprompt.options import options_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_chatprompt.capture.secrets.redaction import Redactor
    from pytest_chatprompt.capture.sent_request import SentRequest
    from pytest_chatprompt.providers.context import Budget
    from pytest_chatprompt.snapshots.masks import Masks
    from pytest_chatprompt.snapshots.recording_place import RecordingPlace

_capture_key: Final[pytest.StashKey[OwnCodeCapture]] = pytest.StashKey()


class OwnCodeCapture:
    """`EvalAPI` for one ordinary test.

    Args:
        redactor: learns the credentials in the requests.
        tell: see `Owner`.
        place: of its recording; `None` if the run neither replays nor records.
        note_sent: called with what the test has sent, when it ends; `None` if that is not needed.

    Attributes:
        has_passed: whether the call phase of the test has passed.
        masks: for what reports show of its requests; `None` in a run without reports.
    """

    def __init__(
        self,
        item: pytest.Item,
        redactor: Redactor,
        tell: Tell,
        place: RecordingPlace | None = None,
        note_sent: Callable[[tuple[SentRequest, ...]], None] | None = None,
    ) -> None:
        # Runs that only collect, and runs without such a test, load none of it.
        from pytest_chatprompt.capture.eval_api import EvalAPI  # noqa: PLC0415
        from pytest_chatprompt.capture.recording.open_recording import OpenRecording  # noqa: PLC0415

        options = item.config.stash[options_key]
        self.api = EvalAPI(
            redactor,
            allowed_hosts=options.allowed_hosts,
            placeholders=options.placeholders,
            is_live=options.live,
        )
        self._budget: Budget | None = None
        if options.live:
            from pytest_chatprompt.runs.live_run import LiveRun  # noqa: PLC0415

            self._budget = LiveRun.of(item.config).budget
        self.api.recording = None if place is None else place.open()
        self._place = place if self.api.recording is not None else None
        if self._budget is not None:
            # It sees what is sent.
            self.api.recording = self.api.recording or OpenRecording(sends=True)
            self.api.recording.budget = self._budget
        self.has_passed = False
        self.masks: Masks | None = None
        self._note_sent = note_sent
        self._item = item
        self._stack = ExitStack()
        self._attempts = ConnectionAttempts()
        self._owner = running_owner() or Owner(item.nodeid, tell)
        self._reported_errors = 0
        # The variables of this process before the test, and those that it has during the test.
        self._environment: tuple[dict[str, str], dict[str, str]] = ({}, {})

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
            capture._restore_environment()

    def start(self) -> None:
        """Take the requests of all clients, and keep this process offline unless the run is live."""
        from pytest_chatprompt.capture.offline import offline  # noqa: PLC0415
        from pytest_chatprompt.providers.context import current_context, use_context  # noqa: PLC0415

        self._item.stash[_capture_key] = self
        with ExitStack() as stack:
            # The first test of a run may have begun without these.
            if running_owner() is None:
                self._owner = stack.enter_context(run_as(self._owner.name, self._owner.tell))
            stack.enter_context(use_context(current_context()._replace(budget=self._budget)))
            if not self.api.is_live:
                # Real keys give way to placeholders.
                self.api.redactor.learn_environment()
                guarded = offline(
                    allows_programs=True,
                    allowed_hosts=self.api.allowed_hosts,
                    placeholders=self.api.placeholders,
                )
                before = dict(os.environ)
                self._attempts = self._owner.guard = stack.enter_context(guarded)
                self._environment = before, dict(os.environ)
            stack.enter_context(self.api.intercept())
            stack.callback(self.api.close)
            self._stack = stack.pop_all()

    def stop(self) -> None:
        """Stop capturing, record what the APIs replied, and warn about a thread that goes on."""
        try:
            with self._stack:
                threads = self._owner.leave_threads()
        finally:
            if self._place is not None and self.api.recording is not None:
                from pytest_chatprompt.runs.usage import add_replayed  # noqa: PLC0415

                add_replayed(self._item, self._place.path, self.api.recording)
                self._place.save(self.api.recording, self.api.redactor)
        if self._note_sent is not None:
            self._note_sent(self.api.sent)
        for name, place in threads:
            warnings.warn(
                CaptureWarning(
                    f"{self._item.nodeid}: the thread {name!r} has sent requests in this test and goes on, at {place}; "
                    "what it sends from now on is refused. End it before the test ends, or start it in a fixture of a "
                    "wider scope."
                ),
                stacklevel=1,
            )

    def _restore_environment(self) -> None:
        """Undo what a `monkeypatch` has put back that was made before the capture: the variables during the test."""
        before, during = self._environment
        for name in {name for name, _ in before.items() ^ during.items()}:
            if os.environ.get(name) == during.get(name):
                if name in before:
                    os.environ[name] = before[name]
                else:
                    os.environ.pop(name, None)

    def take_problem(self, call: pytest.CallInfo[None]) -> str:
        """What went wrong in a phase of the test, whether its code raised the error or swallowed it.

        Returns:
            What to report; `""` if nothing is wrong.
        """
        from pytest_chatprompt.capture.eval_api import unanswered_message  # noqa: PLC0415

        has_passed = call.excinfo is None
        if call.when == "setup" and has_passed:
            # The test may still go on without it; the next phase reports it.
            return ""
        text = ""
        if self.api.replay_errors:
            text = str(self.api.replay_errors[0])
        elif self.api.unanswered:
            text = unanswered_message(self.api.unanswered[0])
        elif self._attempts.blocked:
            target = self._attempts.blocked[0]
            text = (
                f"a connection to {target} was blocked{self._attempts.callers[target].describe()}: eval_api answers "
                "HTTP requests only; add the host to chatprompt_allowed_hosts if the test may reach it"
            )
        elif attempt := take_report_of_forks(self._owner):
            text = (
                f"a forked process tried to {attempt}, which cannot be captured; start the process anew ('spawn'), "
                "with the variables of eval_api.environ"
            )
        elif errors := self.api.children.errors[self._reported_errors :]:
            text = f"a request of a child process failed: {errors[0]}"
        elif has_passed and call.when == "teardown" and self.has_passed and (replies := self.api.unused_replies):
            # Not earlier: the tear-down of a fixture may have taken one.
            text = unused_replies_message(len(replies))
        self._reported_errors = len(self.api.children.errors)
        self.api.replay_errors.clear()
        self.api.unanswered.clear()
        self._attempts.blocked.clear()
        return text


def unused_replies_message(count: int) -> str:
    """The error text for queued replies that no request has taken."""
    replies = "a reply" if count == 1 else f"{count} replies"
    return f"eval_api.reply queued {replies} that no request has taken; remove them, or send their requests"

"""The run of one case: prepare what it sends, compare that with its snapshot, send it, grade and record the answer."""

from __future__ import annotations

import inspect
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.preview import capture_prepared
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.cases.case import DEFAULT_AB_REPEAT, DEFAULT_REPEAT, case_in_test
from pytest_chatprompt.cases.origin import find_running_test
from pytest_chatprompt.errors import CaptureError, CheckError, EvalFileError, EvalFileWarning, SnapshotError
from pytest_chatprompt.options import Options, options_key
from pytest_chatprompt.prompt.attachments import read_attachments
from pytest_chatprompt.prompt.conversion import sent_files
from pytest_chatprompt.runs.item import notes_of, prefix_findings
from pytest_chatprompt.runs.run_state import SharedByRun, refuse_secret
from pytest_chatprompt.snapshots.files import SnapshotFileError, shown_snapshot
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.shown_data import snapshot_data

if TYPE_CHECKING:
    from collections.abc import Mapping

    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.live.answers import CaseAnswers, LiveCase, Version
    from pytest_chatprompt.live.judging import Judging
    from pytest_chatprompt.prompt.conversion import SentFiles
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import Provider
    from pytest_chatprompt.runs.case_checks import CaseChecks
    from pytest_chatprompt.runs.item import EvalItem

# pytest shows no frame of this module.
__tracebackhide__ = True


def run(case: CaseRun) -> None:
    """Run a case: all of it, or in a live run up to where its answer is waited for.

    `send_later` queues the request, unless `grade_request` refuses it. When the answer is there, `grade_answer` records
    and grades it; offline there is none.

    Raises:
        SnapshotError: what is sent differs from the snapshot, there is none, or it would hold a secret.
        ProviderError: the provider failed.
        CaptureError: what it sent could not be captured.
        EvalFileError: a check of the case is not valid.
        CheckFailedError, CheckError: a check does not pass, or could not be graded.
    """
    case.prepare()
    if case.options.estimates:
        case.estimate()
        return
    case.compare()
    case.grade_request()
    if not case.send_later():
        case.grade_answer()


# What only some cases need is imported where it is used: most cases pass offline, and have no checks.


@dataclass(eq=False, slots=True)
class CaseRun:
    """One run of an eval item.

    Args:
        judging: what a judge is asked about the answer.
        other: the other version of what it sends, in a run that compares two.
    """

    request: pytest.FixtureRequest
    case: EvalCase
    provider_request: ProviderRequest
    provider: Provider
    api: EvalAPI
    snapshot: SnapshotAssertion
    given_masks: Mapping[Any, Any]
    item: EvalItem = field(init=False)
    options: Options = field(init=False)
    exchange: Exchange = field(init=False)
    checks: CaseChecks | None = None
    judging: Judging | None = None
    other: Version | None = None
    masks: Masks = field(init=False)

    def __post_init__(self) -> None:
        self.item = self.request.node
        self.options = self.item.config.stash[options_key]

    @property
    def repeat(self) -> int:
        """How often the case is sent in a live run: the command line wins over what its author wrote."""
        return self.options.repeat or self.case.repeat or (DEFAULT_REPEAT if self.other is None else DEFAULT_AB_REPEAT)

    def prepare(self) -> None:
        """Parse the checks, and find out what is sent to the provider and to the judge."""
        if self.case.checks:
            from pytest_chatprompt.runs.case_checks import CaseChecks  # noqa: PLC0415

            self.checks = CaseChecks.parse(self.item, self.case)
        self.exchange = self._capture()
        if self.checks is not None:
            self.judging = self.checks.show_judging(self.request, self.provider_request, self.api.redactor)
        self.masks = Masks.from_mapping(self.given_masks)

    def _capture(self) -> Exchange:
        """What the provider sends offline, or is going to send in a live run."""
        if not (self.options.live or self.options.estimates):
            prepared = capture_prepared(self.provider, self.provider_request, self.api)
            if prepared is not None:
                return prepared
            from pytest_chatprompt.capture.provider_capture import capture_offline  # noqa: PLC0415

            return capture_offline(self.provider, self.provider_request, self.api)
        # A live run sends what it has compared, so it needs the whole request.
        from pytest_chatprompt.runs.live_run import show_request  # noqa: PLC0415

        return show_request(self.item.config, self.provider, self.provider_request, self.api)

    def estimate(self) -> None:
        """Let the run add up what the case would cost."""
        if self.options.ab is not None:
            # Only what has changed is sent.
            self.compare()
        from pytest_chatprompt.runs.estimated_run import ESTIMATED_RUN, EstimatedRun  # noqa: PLC0415

        estimated: EstimatedRun = self.item.config.pluginmanager.getplugin(ESTIMATED_RUN)
        estimated.add(self.item, self._live_case())

    def compare(self) -> None:
        """Compare what is sent with the snapshot, which may hold no secret."""
        item = self.item
        if self.api.log or len(self.exchange.sent) > 1:
            # A provider of the project's own has sent them.
            from pytest_chatprompt.capture.offline_api import preflight_requests  # noqa: PLC0415

            response = self.exchange.response
            findings = (*response.findings, *preflight_requests(entry.request for entry in self.api.log))
            findings += prefix_findings(item, self.exchange.sent)
            self.exchange = self.exchange._replace(response=response.model_copy(update={"findings": findings}))
        for finding in self.exchange.response.findings:
            item.warn(finding.to_warning())
        judge = () if self.judging is None else self.judging.previews
        data = self.masks.apply(snapshot_data(self.exchange, item.provider_name, item.config.rootpath, judge))
        self._know_keys(self.provider, None if self.judging is None else self.judging.judge)
        refuse_secret(self.api.redactor, data, f"what is sent to {item.provider_name} holds")
        if self.options.keeps_results:
            notes = notes_of(item)
            notes.exchange, notes.data, notes.files = self.exchange, data, self.files()
        if self.options.ab is not None:
            self._find_other(data)
        elif not self.options.show:
            self._assert_equal(data)
        left_over = self.api.reply_queue.describe_waiting()
        if left_over and not self.options.live:
            raise CaptureError(left_over)

    def _find_other(self, data: dict[str, Any]) -> None:
        """Find the other version of what is sent. What no revision is compared with is what the snapshot says."""
        from pytest_chatprompt.live.answers import Version  # noqa: PLC0415
        from pytest_chatprompt.runs.ab_run import find_other_provider, find_versions  # noqa: PLC0415

        if self.options.ab_revision is None:
            self._assert_equal(data)
        provider = find_other_provider(self.request, self.provider)
        self._know_keys(provider)
        self.exchange, other = find_versions(self.item, self.case, provider, self.exchange, self.masks, data)
        self.other = Version(provider, other)

    def _assert_equal(self, data: object) -> None:
        is_equal = self.snapshot == data
        result = self.snapshot.executions[self.snapshot.num_executions - 1]
        try:
            if isinstance(result.exception, SnapshotFileError):
                path = shown_snapshot(self.item.snapshot_path, self.item.config.rootpath, self.options.against)
                raise SnapshotError(f"the snapshot {path} {result.exception}; {result.exception.advice}")
            if result.exception is not None:
                raise result.exception
            if not is_equal:
                if self.options.review and self.checks is not None:
                    # What is accepted then has still to pass them.
                    self.checks.grade_request(self.exchange, self.files)
                    notes_of(self.item).failed_checks = str(self.checks.failure() or "")
                from pytest_chatprompt.runs.case_results import fail_for_snapshot  # noqa: PLC0415

                notes_of(self.item).files = self.files()
                fail_for_snapshot(self.item, result, self.exchange)
        finally:
            # Syrupy keeps its results to the end of the run and reports their names only; the texts would add up.
            result.asserted_data = result.recalled_data = None
            vars(self.snapshot).pop("_failed", None)

    def files(self) -> SentFiles:
        """The files that stand as text in what is sent; none if the project has made the request in its own way."""
        reader = SharedByRun.of(self.item.config).reader
        with suppress(EvalFileError):
            attachments = read_attachments(case_in_test(self.case, find_running_test()), reader)
            return sent_files(attachments, self.exchange.request.chat_prompt or ())
        return {}

    def _know_keys(self, *providers: Provider | None) -> None:
        """Let no snapshot and no report hold the keys of some providers."""
        for provider in providers:
            if isinstance(provider, ChatProvider):
                for key in provider.known_keys():
                    self.api.redactor.add_key(key, f"the key of {provider.vendor}")

    def grade_request(self) -> None:
        """Grade the checks that look at what is sent. A request that fails one is not sent: that would cost money."""
        if self.options.live or self.options.replay:
            hooks = self.item.ihook.pytest_chatprompt_response.get_hookimpls()
            if any(inspect.iscoroutinefunction(hook.function) for hook in hooks):
                raise CheckError("the hook pytest_chatprompt_response must not be async: nothing awaits its asserts")
        if self.checks is None or self.other is not None:
            return
        self.checks.grade_request(self.exchange, self.files)
        failure = self.checks.failure()
        if failure is not None and self.options.live:
            raise type(failure)(f"{failure}\n\nThe request was not sent.")
        if failure is not None and not self.options.replay:
            raise failure

    def send_later(self) -> bool:
        """Whether the live run sends the case once its test is over, and grades its answer then."""
        if not self.options.live or self.item.answers is not None:
            return False
        from pytest_chatprompt.runs.live_run import LiveRun  # noqa: PLC0415

        live_run = LiveRun.of(self.item.config)
        return live_run.send_later(self.request, self._live_case(), self.api, self.grade_answer)

    def grade_answer(self) -> None:
        """Get the answer, if the run has answers, and let the checks, the fixtures and the hook look at it."""
        if not (self.options.live or self.options.replay):
            # The response is a placeholder: there is nothing to check.
            return
        self._warn_of_ungraded()
        from pytest_chatprompt.runs.grading import Grading  # noqa: PLC0415

        kind = Grading
        if self.other is not None:
            from pytest_chatprompt.runs.ab_run import VersionsGrading  # noqa: PLC0415

            kind = VersionsGrading
        elif self.repeat > 1:
            from pytest_chatprompt.runs.repeated_grading import RepeatedGrading  # noqa: PLC0415

            kind = RepeatedGrading
        redactor = self.api.redactor
        kind(self.request, self.case, self.provider_request, self.checks, self._case_answers(), redactor).run()

    def _warn_of_ungraded(self) -> None:
        """Say that graders of another tool, which its file has for this answer, do not grade it here."""
        graders = self.case.evaluators if isinstance(self.case.evaluators, list | tuple) else ()
        types = dict.fromkeys(str(each["type"]) for each in graders if isinstance(each, dict) and "type" in each)
        if types:
            self.item.warn(EvalFileWarning(f"nothing here grades the answer by {', '.join(types)}"))

    def _case_answers(self) -> CaseAnswers:
        """Those that the item has waited for; else they are got now."""
        answers = self.item.answers
        if answers is None:
            from pytest_chatprompt.runs.live_run import answers_in_test  # noqa: PLC0415

            return answers_in_test(self.item.config, self._live_case(), self.api)
        answers.case.check_sent(self.exchange)
        return answers

    def _live_case(self) -> LiveCase:
        """What a live run sends."""
        from pytest_chatprompt.live.answers import LiveCase, Version  # noqa: PLC0415
        from pytest_chatprompt.runs.recordings import recording_place  # noqa: PLC0415

        place = recording_place(self.item, self.item.snapshot_folder, self.item.snapshot_stem, self.masks)
        # Of two versions all are needed, or as many as may decide.
        batch = None if self.other is None else 2 * (self.options.least_repeat or self.repeat)
        versions = (Version(self.provider, self.exchange), *filter(None, (self.other,)))
        return LiveCase(versions, place, self.repeat, self.judging, batch=batch)

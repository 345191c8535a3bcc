"""The case runner: prepare one case, compare what it sends with its snapshot, get its answer and grade that."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.preview import capture_prepared
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import CaptureError, SnapshotError
from pytest_chatprompt.options import all_results_key, options_key
from pytest_chatprompt.runs.case_response import compared_key, get_response, get_votes, kept_while_answered, masks_key
from pytest_chatprompt.runs.item import MASKS_FIXTURE, RESPONSE_FIXTURE
from pytest_chatprompt.runs.live_plugin import find_live_run
from pytest_chatprompt.runs.own_code import unused_replies_message
from pytest_chatprompt.runs.repeat_count import repeat_of
from pytest_chatprompt.runs.shared import shared_file_reader
from pytest_chatprompt.snapshots.files import SnapshotFileError, shown_snapshot
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.shown_data import snapshot_data

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.live.answers import LiveCase
    from pytest_chatprompt.live.judging import Judging
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import Provider, ProviderResponse
    from pytest_chatprompt.runs.case_checks import CaseChecks
    from pytest_chatprompt.runs.item import EvalItem
    from pytest_chatprompt.runs.live_run import LiveRun


@dataclass(eq=False, slots=True)
class CaseRunner:
    """Runs one eval item.

    Args:
        request: the item's fixture request.
        case: the fixture `eval_case`.
        provider_request: the fixture `eval_request`.
        provider: the fixture `eval_provider`.
        api: the fixture `eval_api`.
        snapshot: the fixture `eval_snapshot`.
    """

    request: pytest.FixtureRequest
    case: EvalCase
    provider_request: ProviderRequest
    provider: Provider
    api: EvalAPI
    snapshot: SnapshotAssertion

    def run(self) -> None:
        """Send and compare; in live and replayed runs, get the response and let checks, fixtures and hooks look at it.

        Raises:
            SnapshotError: what was sent differs from the snapshot, there is none, or it would hold a secret.
            ProviderError: the provider failed.
            CaptureError: what it sent could not be captured.
            EvalFileError: a check of the case is not valid.
            CheckFailedError, CheckError: a check does not pass, or could not be graded.
        """
        __tracebackhide__ = True
        item: EvalItem = self.request.node
        options = item.config.stash[options_key]
        checks = self._checks()
        if options.estimates:
            from pytest_chatprompt.runs.estimated_run import estimate_case  # noqa: PLC0415

            estimate_case(self.request, self.provider, self.provider_request, self.api, checks)
            return
        # A live run sends what it has compared, so it needs the whole request.
        exchange = None if options.live else capture_prepared(self.provider, self.provider_request, self.api)
        live = find_live_run(item.config)
        if exchange is None:
            exchange = self._capture(live)
        judging = (
            None if checks is None else checks.show_judging(self.request, self.provider_request, self.api.redactor)
        )
        for finding in exchange.response.findings:
            item.warn(finding.to_warning())
        item.stash[masks_key] = self._masks(item)
        self._compare(exchange, judging)
        if self.api.unused_replies and not options.live:
            raise CaptureError(unused_replies_message(len(self.api.unused_replies)))
        if checks is not None:
            checks.grade_request(exchange)
        if live is not None and live.answers_of(item, exchange) is None:
            why = live.why_in_its_test(item, self.provider, exchange, judging, self.api)
            if why is None:
                live.hold(item, self._live_case(exchange, judging), partial(self._finish, exchange, checks, judging))
                return
            live.note_why(item, why)
        self._finish(exchange, checks, judging)

    def _finish(self, exchange: Exchange, checks: CaseChecks | None, judging: Judging | None) -> None:
        """Get the answer, if the run has answers, and let the checks, the fixtures and the hook look at it."""
        __tracebackhide__ = True
        item: EvalItem = self.request.node
        options = item.config.stash[options_key]
        with nullcontext() if checks is None else checks.reported_at_the_end():
            # Offline the response is a placeholder: there is nothing to check.
            if options.live or options.replay:
                with kept_while_answered(item, exchange):
                    self._check_answer(item, checks, judging)

    def _live_case(self, compared: Exchange, judging: Judging | None) -> LiveCase:
        """What a live run sends."""
        from pytest_chatprompt.live.answers import LiveCase  # noqa: PLC0415
        from pytest_chatprompt.runs.recordings import recording_place  # noqa: PLC0415

        item: EvalItem = self.request.node
        place = recording_place(item, item.snapshot_folder, item.snapshot_stem, item.stash[masks_key])
        return LiveCase(self.provider, compared, place, repeat_of(item.config, self.case), judging)

    def _masks(self, item: EvalItem) -> Masks:
        # It is set up, unless the project overrides `eval_snapshot`, which asks for it.
        is_set_up = MASKS_FIXTURE in item.funcargs
        masks = item.funcargs[MASKS_FIXTURE] if is_set_up else self.request.getfixturevalue(MASKS_FIXTURE)
        return Masks.from_mapping(masks)

    def _checks(self) -> CaseChecks | None:
        """The checks that the case was written with; `None` for none, which costs nothing."""
        if not self.case.checks:
            return None
        from pytest_chatprompt.runs.case_checks import CaseChecks  # noqa: PLC0415

        return CaseChecks.parse(self.request.node, self.case)

    def _check_answer(self, item: EvalItem, checks: CaseChecks | None, judging: Judging | None) -> None:
        """Get the response, and let the checks, the fixtures and the hook look at it."""
        __tracebackhide__ = True
        repeat = repeat_of(item.config, self.case)
        if repeat > 1:
            self._run_repeated(item, checks, judging, repeat)
            return
        response: ProviderResponse
        if item.finish is not None:
            # The fixtures have ended, and none of them asks for the answer.
            response = get_response(item, self.provider, self.api)
        else:
            response = self.request.getfixturevalue(RESPONSE_FIXTURE)
        votes = () if judging is None else get_votes(item, judging, response, self.api)
        if checks is not None:
            checks.grade_answer(response, votes)
        if not response.is_awaited:
            # There is no answer to check.
            return
        for name in item.response_fixtures:
            self.request.getfixturevalue(name)
        item.ihook.pytest_chatprompt_response(case=self.case, request=self.provider_request, response=response)

    def _run_repeated(self, item: EvalItem, checks: CaseChecks | None, judging: Judging | None, repeat: int) -> None:
        """Get several responses, and let the checks and the hook look at each."""
        __tracebackhide__ = True
        from pytest_chatprompt.runs.case_results import note_exchange  # noqa: PLC0415
        from pytest_chatprompt.runs.repeated_case import LiveAnswers, RecordedAnswers, RepeatedCase  # noqa: PLC0415

        case = self._live_case(item.stash[compared_key], judging)
        note_exchange(item, case.compared)
        live = find_live_run(item.config)
        source = RecordedAnswers(case, self.api) if live is None else LiveAnswers(live, item, case, self.api)
        repeated = RepeatedCase(self.request, self.case, self.provider_request, checks, judging, case.place, repeat)
        repeated.run(source, self.api.redactor)

    def _capture(self, live: LiveRun | None) -> Exchange:
        """What the provider sends offline, or is going to send in a live run."""
        __tracebackhide__ = True
        if live is None:
            # Most cases go through a built-in provider, which has prepared it already.
            from pytest_chatprompt.capture.provider_capture import capture_offline  # noqa: PLC0415

            return capture_offline(self.provider, self.provider_request, self.api)
        from pytest_chatprompt.capture.preview import can_preview, preview  # noqa: PLC0415 - offline runs need neither

        if not can_preview(self.provider):
            # The stand-in would take the requests in flight too.
            live.be_quiet()
        return preview(self.provider, self.provider_request, self.api)

    def _compare(self, exchange: Exchange, judging: Judging | None) -> None:
        __tracebackhide__ = True
        item: EvalItem = self.request.node
        data = self._data(exchange, judging)
        self._check_secrets(item, data)
        if item.config.stash.get(all_results_key, False):
            from pytest_chatprompt.runs.case_results import note_exchange  # noqa: PLC0415

            note_exchange(item, exchange, data)
        if item.config.stash[options_key].show:
            return
        is_equal = self.snapshot == data
        result = self.snapshot.executions[self.snapshot.num_executions - 1]
        try:
            if isinstance(result.exception, SnapshotFileError):
                path = shown_snapshot(item.snapshot_path, item.config.rootpath, item.config.stash[options_key].against)
                raise SnapshotError(f"the snapshot {path} {result.exception}; remove it, or put the file back")
            if result.exception is not None:
                raise result.exception
            if not is_equal:
                # Most cases are what their snapshots say.
                from pytest_chatprompt.runs.case_results import fail_for_snapshot  # noqa: PLC0415

                fail_for_snapshot(item, result, exchange)
        finally:
            # Syrupy keeps its results to the end of the run and reports their names only; the texts would add up.
            result.asserted_data = result.recalled_data = None

    def _data(self, exchange: Exchange, judging: Judging | None) -> dict[str, Any]:
        """What the snapshot of an exchange shows, masked."""
        item: EvalItem = self.request.node
        judge = () if judging is None else judging.previews
        data = snapshot_data(exchange, item.provider_name, item.config.rootpath, judge)
        masked: dict[str, Any] = item.stash[masks_key].apply(data)
        return masked

    def _check_secrets(self, item: EvalItem, data: dict[str, Any]) -> None:
        """Fail if the snapshot would hold a secret."""
        __tracebackhide__ = True
        if isinstance(self.provider, ChatProvider):
            for key in self.provider.known_keys():
                self.api.redactor.add_key(key, f"the key of {self.provider.vendor}")
        secret = self.api.redactor.find(data, shared_file_reader(item.config).shared)
        if secret is not None:
            raise SnapshotError(
                f"what is sent to {item.provider_name} holds {secret.what}, under {secret.path}; "
                "remove it: snapshots are committed. "
                "If it is not a secret, add a regular expression for it to the ini value chatprompt_allowed_secrets"
            )

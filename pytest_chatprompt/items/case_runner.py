"""The case runner: send one case, compare what was sent with its snapshot, and get the response.

`case_function.run_case` hands over the fixtures of an eval item. Errors of this package come out, which `item` reports
at the case's position. The fixture `eval_response` calls `get_response`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import pytest

from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.preview import can_preview, preview
from pytest_chatprompt.capture.provider_capture import capture_offline
from pytest_chatprompt.errors import BudgetError, CaptureError, ProviderError, RequestCancelledError, SnapshotError
from pytest_chatprompt.items.commands import accepting_command
from pytest_chatprompt.items.item import MASKS_FIXTURE
from pytest_chatprompt.items.live_run import LIVE_RUN, LiveRun
from pytest_chatprompt.items.own_code import unused_replies_message
from pytest_chatprompt.items.repeat_count import first_response_key, repeat_of
from pytest_chatprompt.options import all_results_key, options_key
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.snapshots.files import SnapshotFileError, shown_snapshot
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.snapshot_data import snapshot_data

if TYPE_CHECKING:
    from syrupy.assertion import AssertionResult, SnapshotAssertion

    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.evalfile.case import EvalCase
    from pytest_chatprompt.items.case_checks import CaseChecks
    from pytest_chatprompt.items.item import EvalItem
    from pytest_chatprompt.live.judging import Judging, Votes
    from pytest_chatprompt.live.prefetch import LiveResponse
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import Provider, ProviderResponse
    from pytest_chatprompt.snapshots.comparison import Comparison

# What an item sends, once it was compared with its snapshot.
_compared_key: Final[pytest.StashKey[Exchange]] = pytest.StashKey()
_masks_key: Final[pytest.StashKey[Masks]] = pytest.StashKey()
# The answer that it got.
_live_key: Final[pytest.StashKey[LiveResponse]] = pytest.StashKey()


@dataclass(frozen=True, slots=True)
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
            from pytest_chatprompt.items.estimated_run import estimate_case  # noqa: PLC0415

            estimate_case(self.request, self.provider, self.provider_request, self.api, checks)
            return
        with self._no_requests_in_flight():
            send = preview if options.live else capture_offline
            exchange = send(self.provider, self.provider_request, self.api)
        judging = (
            None if checks is None else checks.show_judging(self.request, self.provider_request, self.api.redactor)
        )
        for finding in exchange.response.findings:
            item.warn(finding.to_warning())
        item.stash[_masks_key] = Masks.from_mapping(self.request.getfixturevalue(MASKS_FIXTURE))
        self._compare(exchange, judging)
        if self.api.unused_replies and not options.live:
            raise CaptureError(unused_replies_message(len(self.api.unused_replies)))
        if checks is not None:
            checks.grade_request(exchange)
        with nullcontext() if checks is None else checks.reported_at_the_end():
            # Offline the response is a placeholder: there is nothing to check.
            if options.live or options.replay:
                item.stash[_compared_key] = exchange
                self._check_answer(item, checks, judging)

    def _checks(self) -> CaseChecks | None:
        """The checks that the case was written with; `None` for none, which costs nothing."""
        if not self.case.checks:
            return None
        from pytest_chatprompt.items.case_checks import CaseChecks  # noqa: PLC0415

        return CaseChecks.parse(self.request.node, self.case)

    def _check_answer(self, item: EvalItem, checks: CaseChecks | None, judging: Judging | None) -> None:
        """Get the response, and let the checks, the fixtures and the hook look at it."""
        __tracebackhide__ = True
        repeat = repeat_of(item.config, self.case)
        if repeat > 1:
            self._run_repeated(item, checks, judging, repeat)
            return
        response: ProviderResponse = self.request.getfixturevalue("eval_response")
        if checks is not None:
            checks.grade_answer(response, () if judging is None else get_votes(item, judging, response, self.api))
        if not response.is_awaited:
            # There is no answer to check.
            return
        for name in item.response_fixtures:
            self.request.getfixturevalue(name)
        item.ihook.pytest_chatprompt_response(case=self.case, request=self.provider_request, response=response)

    def _run_repeated(self, item: EvalItem, checks: CaseChecks | None, judging: Judging | None, repeat: int) -> None:
        """Get several responses, and let the checks and the hook look at each."""
        __tracebackhide__ = True
        from pytest_chatprompt.items.case_results import note_exchange  # noqa: PLC0415
        from pytest_chatprompt.items.recordings import recording_place  # noqa: PLC0415
        from pytest_chatprompt.items.repeated_answers import LiveAnswers, RecordedAnswers  # noqa: PLC0415
        from pytest_chatprompt.items.repeated_case import RepeatedCase  # noqa: PLC0415

        compared = item.stash[_compared_key]
        note_exchange(item, compared)
        place = recording_place(item, item.snapshot_folder, item.snapshot_stem, item.stash[_masks_key])
        live: LiveRun | None = item.config.pluginmanager.get_plugin(LIVE_RUN)
        source = (
            RecordedAnswers(self.provider, compared, place, self.api, repeat)
            if live is None
            else LiveAnswers(live, item, self.provider, compared, place, self.api, repeat, judging)
        )
        case = RepeatedCase(self.request, self.case, self.provider_request, checks, judging, place, repeat)
        case.run(source, self.api.redactor)

    def _no_requests_in_flight(self) -> AbstractContextManager[None]:
        """Pause the requests of a live run while a provider sends offline: the stand-in would take them all."""
        live: LiveRun | None = self.request.config.pluginmanager.get_plugin(LIVE_RUN)
        return nullcontext() if live is None or can_preview(self.provider) else live.executor.pause()

    def _compare(self, exchange: Exchange, judging: Judging | None) -> None:
        __tracebackhide__ = True
        item: EvalItem = self.request.node
        judge = () if judging is None else judging.previews
        data = item.stash[_masks_key].apply(snapshot_data(exchange, item.provider_name, item.config.rootpath, judge))
        if isinstance(self.provider, ChatProvider):
            for key in self.provider.known_keys():
                self.api.redactor.add_key(key, f"the key of {self.provider.vendor}")
        secret = self.api.redactor.find(data)
        if secret is not None:
            raise SnapshotError(
                f"what is sent to {item.provider_name} holds {secret.what}, under {secret.path}; "
                "remove it: snapshots are committed. "
                "If it is not a secret, add a regular expression for it to the ini value chatprompt_allowed_secrets"
            )
        if item.config.stash.get(all_results_key, False):
            from pytest_chatprompt.items.case_results import note_exchange  # noqa: PLC0415

            note_exchange(item, exchange, data)
        if item.config.stash[options_key].show:
            return
        is_equal = self.snapshot == data
        result = self.snapshot.executions[self.snapshot.num_executions - 1]
        try:
            if isinstance(result.exception, SnapshotFileError):
                path = _shown(item, item.snapshot_path)
                raise SnapshotError(f"the snapshot {path} {result.exception}; remove it, or put the file back")
            if result.exception is not None:
                raise result.exception
            if not is_equal:
                self._fail(item, result, exchange)
        finally:
            # Syrupy keeps its results to the end of the run and reports their names only; the texts would add up.
            result.asserted_data = result.recalled_data = None

    @staticmethod
    def _fail(item: EvalItem, result: AssertionResult, exchange: Exchange) -> NoReturn:
        """Fail because the snapshot is not what is sent, and note why for reports."""
        __tracebackhide__ = True
        # Most cases are what their snapshots say.
        from pytest_chatprompt.items.case_results import note_comparison  # noqa: PLC0415
        from pytest_chatprompt.items.renames import find_old_name  # noqa: PLC0415
        from pytest_chatprompt.snapshots.comparison import Comparison  # noqa: PLC0415

        stored = None if result.recalled_data is None else str(result.recalled_data)
        comparison = Comparison(Path(result.snapshot_location), stored, str(result.asserted_data))
        renamed_from = find_old_name(item, comparison) if stored is None else None
        note_comparison(item, comparison, exchange, renamed_from)
        raise SnapshotError(_mismatch_message(item, comparison, renamed_from))


def get_response(item: EvalItem, provider: Provider, api: EvalAPI) -> ProviderResponse:
    """The response to what a case sends: from the API or, in a replayed run, from the recording.

    Args:
        item: the case's item.
        provider: its provider.
        api: its stand-in of the APIs.

    Raises:
        SnapshotError: the case was not compared with its snapshot yet, or sent something other than was compared.
        ProviderError: there is no response, or an empty one.
        ReplayError: nothing is recorded for this very request.
    """
    __tracebackhide__ = True
    # Offline runs, which most are, need none of it.
    from pytest_chatprompt.items.case_results import note_exchange, note_response  # noqa: PLC0415
    from pytest_chatprompt.items.recordings import (  # noqa: PLC0415
        raise_if_unusable,
        record_answer,
        recording_place,
        replay_answer,
    )
    from pytest_chatprompt.items.usage import add_replayed, add_usage  # noqa: PLC0415

    config = item.config
    first = item.stash.get(first_response_key, None)
    if first is not None:
        return first
    compared = item.stash.get(_compared_key, None)
    if compared is None:
        raise SnapshotError(
            "eval_response is not available yet (offline it never is); use the hook pytest_chatprompt_response, "
            "or an autouse fixture that takes eval_response"
        )
    note_exchange(item, compared)
    place = recording_place(item, item.snapshot_folder, item.snapshot_stem, item.stash[_masks_key])
    try:
        if config.stash[options_key].live:
            live_run: LiveRun = config.pluginmanager.getplugin(LIVE_RUN)
            live = live_run.get_response(item, provider, compared, place, api)
        else:
            live = replay_answer(place, provider, compared, api)
    except (BudgetError, RequestCancelledError):
        # This run broke off the request, or did not send it: that says nothing about the API.
        raise
    except ProviderError as error:
        add_usage(item, item.provider_name, error)
        raise
    item.stash[_live_key] = live
    note_response(item, live.response, is_replayed=live.is_replayed)
    if not live.is_replayed:
        add_usage(item, item.provider_name, live.response)
    if live.recording is not None:
        add_replayed(item, live.recording, unused=len(live.recording.others))
    if not live.response.is_awaited:
        return live.response
    raise_if_unusable(live.response)
    record_answer(place, live, api.redactor)
    return live.response


def get_votes(item: EvalItem, judging: Judging, response: ProviderResponse, api: EvalAPI) -> Votes:
    """The votes of the judge on the response of a case: those that came with it, or else new ones.

    Args:
        item: the case's item.
        judging: what to ask the judge.
        response: the fixture `eval_response`, which a project may override.
        api: its stand-in of the APIs.

    Raises:
        RequestCancelledError: the run was stopped.
    """
    __tracebackhide__ = True
    from pytest_chatprompt.items.case_judge import ask_judge  # noqa: PLC0415
    from pytest_chatprompt.items.case_results import note_votes  # noqa: PLC0415
    from pytest_chatprompt.items.recordings import recording_place  # noqa: PLC0415
    from pytest_chatprompt.items.usage import add_judge_usage, add_replayed  # noqa: PLC0415
    from pytest_chatprompt.live.prefetch import LiveResponse  # noqa: PLC0415

    place = recording_place(item, item.snapshot_folder, item.snapshot_stem, item.stash[_masks_key])
    live = item.stash.get(_live_key, None)
    if live is None or live.response is not response:
        # The project overrides eval_response: what the judge said before is about another answer.
        recording = None if live is None else live.recording
        live = LiveResponse(item.stash[_compared_key], response, recording)
    judged = ask_judge(item, judging, live, place)
    if judged is not live and live.recording is not None:
        place.save(live.recording, api.redactor, keeps_others=False)
        add_replayed(item, live.recording, unused=len(live.recording.others))
    note_votes(item, judged.votes)
    add_judge_usage(item, judged.votes)
    return judged.votes


def _mismatch_message(item: EvalItem, comparison: Comparison, renamed_from: str | None) -> str:
    from pytest_chatprompt.snapshots.diff import diff_text  # noqa: PLC0415

    path = _shown(item, comparison.path)
    command = accepting_command(item)
    if comparison.stored is None:
        renamed = f": it is renamed from {renamed_from!r}, whose snapshot shows just this" if renamed_from else ""
        text = f"what is sent to {item.provider_name} has no snapshot yet{renamed}\n\nThere is no {path}."
        return f"{text}\nTo write it, for review: {command}" if command else text
    text = (
        f"what is sent to {item.provider_name} is not what its snapshot says\n\n"
        f"{path}\n{diff_text(comparison.difference)}"
    )
    return f"{text}\n\nTo accept it: {command}" if command else text


def _shown(item: EvalItem, path: Path) -> str:
    return shown_snapshot(path, item.config.rootpath, item.config.stash[options_key].against)

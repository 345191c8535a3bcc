"""A run with `--chatprompt-ab`: cases are sent as they are and in another version, and both are graded alike.

The other version is what they sent at a git revision, or what they send to another model or provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, cast

import pytest

from pytest_chatprompt.apis.model_api import ChatAPI
from pytest_chatprompt.capture.live_capture import ResentRequest
from pytest_chatprompt.capture.offline import PLACEHOLDER
from pytest_chatprompt.capture.offline_api import find_offline_api
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.cases.case import DEFAULT_AB_REPEAT, EvalCase
from pytest_chatprompt.errors import (
    APIConnectionError,
    BudgetError,
    ChatPromptError,
    CheckError,
    PayloadError,
    SnapshotError,
)
from pytest_chatprompt.grading.rates import Pairs
from pytest_chatprompt.live.answers import LiveCase, LiveResponse, Version
from pytest_chatprompt.options import options_key
from pytest_chatprompt.prompt.request import ProviderRequest, settings_of
from pytest_chatprompt.providers.response import OFFLINE_TEXT, Provider, ProviderResponse
from pytest_chatprompt.reports.ab import MOST_CASES, Compared
from pytest_chatprompt.reports.result_collectors import CollectedResults
from pytest_chatprompt.reports.terminal import table_lines, write_line, write_section
from pytest_chatprompt.results.records import VersionResult, VersionsResult
from pytest_chatprompt.runs.case_results import find_old_name
from pytest_chatprompt.runs.grading import Grading
from pytest_chatprompt.runs.item import EvalItem, notes_of
from pytest_chatprompt.runs.live_run import LiveRun, show_request
from pytest_chatprompt.runs.named_providers import provider_of_target, value_of_fixture
from pytest_chatprompt.runs.own_code import OwnCodeCapture
from pytest_chatprompt.runs.recordings import place_of_test
from pytest_chatprompt.runs.repeated_grading import RepeatedGrading
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.runs.usage_summary import OWN_CODE
from pytest_chatprompt.snapshots.changes import read_data, requests_in
from pytest_chatprompt.snapshots.diff import Comparison
from pytest_chatprompt.snapshots.files import SnapshotFileError, shown_snapshot
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.old_request import NotComparableError, request_part, restored_exchange
from pytest_chatprompt.snapshots.shown_data import snapshot_data

# pytest shows no frame of this module.
__tracebackhide__ = True

# How the pairs of answers of this process ended so far.
_pairs_key: Final[pytest.StashKey[Pairs]] = pytest.StashKey()


def find_other_provider(request: pytest.FixtureRequest, provider: Provider) -> Provider:
    """What sends the other version of a case."""
    name = request.config.stash[options_key].ab_provider
    return (value_of_fixture(request, name) or provider_of_target(request, name)) if name else provider


def find_versions(  # noqa: PLR0913, PLR0917 - what the run knows of a case
    item: EvalItem, case: EvalCase, provider: Provider, present: Exchange, masks: Masks, data: dict[str, Any]
) -> tuple[Exchange, Exchange]:
    """What a case sends, and its other version; `data` is what its snapshot would show of the first.

    It skips a case whose request is the same, or cannot be compared.
    """
    options = item.config.stash[options_key]
    try:
        present = only_first(item.provider_name, present)
        if options.ab_revision is None:
            other = _sent_elsewhere(item, case, provider, present)
            name, now = options.ab_provider or item.provider_name, {k: v for k, v in data.items() if k != "judge"}
            elsewhere = masks.apply(snapshot_data(other, name, item.config.rootpath))
            _keep_difference(item, item.snapshot_path, dump(now), dump(elsewhere))
            return present, other
        other = _restored(item, item.snapshot_path, provider, present, masks, dump(data))
    except (NotComparableError, PayloadError) as error:
        skip_left_out(item, str(error))
    return present, other


def _sent_elsewhere(item: EvalItem, case: EvalCase, provider: Provider, present: Exchange) -> Exchange:
    """What a case sends to the other model or provider."""
    options = item.config.stash[options_key]
    settings: Mapping[str, Any] = {**(present.request.settings or {}), "model": options.ab_model}
    if options.ab_provider:
        settings = settings_of(case, options.ab_provider)
    request = present.request.model_copy(update={"settings": settings})
    name = options.ab_provider or item.provider_name
    other = only_first(name, show_request(item.config, provider, request, item.eval_api(is_read=False)))
    # Another server may get the same.
    if (other.sent[0].url, other.sent) == (present.sent[0].url, present.sent):
        if options.ab_model and other.prepared is None:
            raise NotComparableError(f"{name} sends the same, whatever model the settings name")
        _skip(item, VersionsResult(is_same=True), f"it is sent to {options.ab_model or options.ab_provider} already")
    return other


def _restored(  # noqa: PLR0913, PLR0917 - what is known of a test
    item: pytest.Item, path: Path, provider: Provider, present: Exchange, masks: Masks, sent: str
) -> Exchange:
    """What a test sent at the revision, by its snapshot there; `sent` is what that would show now."""
    revision: Any = SharedByRun.of(item.config).revision
    name = revision.name
    try:
        stored = revision.read(path)
    except SnapshotFileError as error:
        shown = shown_snapshot(path, item.config.rootpath, name)
        raise SnapshotError(f"the snapshot {shown} {error}; {error.advice}") from None
    if stored is None:
        renamed_from = find_old_name(item, sent) if isinstance(item, EvalItem) else None
        if renamed_from is not None:
            _skip(item, VersionsResult(is_same=True), f"its request is as that of {renamed_from!r} at {name}")
        raise NotComparableError(f"{name} has no snapshot of it")
    try:
        then, now = (list(requests_in(read_data(text)).values()) for text in (stored, sent))
    except SnapshotFileError as error:
        raise NotComparableError(f"its snapshot at {name} {error}") from None
    if not then:
        raise NotComparableError(f"its snapshot at {name} shows no request to an API")
    old, new = map(request_part, (then[0], now[0]))
    if repr(old) == repr(new):
        if repr(then[1:]) != repr(now[1:]):
            raise NotComparableError(f"its first request is as at {name}, and only that is compared")
        _skip(item, VersionsResult(is_same=True), f"its request is as at {name}")
    _keep_difference(item, path, stored, sent)
    return restored_exchange(old, present, provider, masks, revision)


def _keep_difference(item: pytest.Item, path: Path, before: str, after: str) -> None:
    """Show in reports how the requests of both versions differ, as a snapshot would show them."""
    if item.config.stash[options_key].keeps_results:
        notes_of(item).differing[str(path)] = Comparison(path, before, after)


def only_first(name: str, exchange: Exchange) -> Exchange:
    """An exchange of which the first request goes out, and nothing after it; `name` is that of its provider."""
    if exchange.invocation is not None:
        raise NotComparableError(f"{name} is an agent, which sends by itself")
    if not exchange.sent:
        raise NotComparableError(f"{name} makes no HTTP request")
    first = exchange.sent[0]
    return exchange._replace(sent=(first,), in_place_of=None if exchange.prepared else first)


class AbSummary(CollectedResults):
    """Shows what a run found, and fails it if the answers are worse and the user wants that."""

    def _compared(self, config: pytest.Config) -> Compared:
        options: Any = config.stash[options_key]
        return Compared.of(self.results.values(), options.ab, is_sequential=options.least_repeat is not None)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run whose answers are worse, or of which one version has never answered."""
        if not session.config.stash[options_key].ab_fail_worse or session.exitstatus != pytest.ExitCode.OK:
            return
        compared = self._compared(session.config)
        is_unknown = compared.verdict is None and any(
            each.attempts and each.is_graded for each in compared.cases.values()
        )
        if compared.verdict == "worse" or is_unknown:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the table, and the verdict below it."""
        compared = self._compared(terminalreporter.config)
        if not compared.cases:
            return
        most = None if terminalreporter.verbosity > 0 else MOST_CASES
        rows = list(compared.table(most))
        table = table_lines(rows) if len(rows) > 1 else ()
        lines = (*compared.preflight(most), *table, *compared.notes(most))
        write_section(terminalreporter, f"{' and '.join(compared.names)} compared", lines)
        write_line(terminalreporter, compared.sentence(), bold=True)


def _skip(item: pytest.Item, versions: VersionsResult, reason: str) -> NoReturn:
    """End the test of a case that is not sent; pytest shows the place of the case."""
    # If all frames are hidden, pytest shows a place of its own.
    __tracebackhide__ = False
    notes_of(item).versions = versions
    pytest.skip(reason)


def skip_left_out(item: pytest.Item, reason: str) -> NoReturn:
    """End the test of what cannot be compared, and say why."""
    _skip(item, VersionsResult(left_out=reason), f"not compared: {reason}")


@dataclass(eq=False)
class VersionsGrading(RepeatedGrading):
    """Grades the answers to both versions of a case; the case passes, whichever answers do.

    Those to a test of your own code, which has no case, are only collected.
    """

    _unsent: str = ""

    def grade(self) -> None:
        """Get and grade the answers."""
        for number in self.sent.arriving(self._is_certain):
            self._take(number)
        if self._unsent and not self.answers:
            skip_left_out(self.item, self._unsent)
        self.item.config.stash[_pairs_key] = self._pairs_of_run()

    def get(self, number: int) -> LiveResponse:
        """See `Grading.get`; the end of the budget says nothing about a version."""
        try:
            return super().get(number)
        except BudgetError as error:
            self._unsent = str(error)
            raise
        except ChatPromptError:
            raise
        except Exception as error:
            # A client of your own has one for what is an `APIStatusError` elsewhere.
            raise APIConnectionError(f"the provider raised {type(error).__name__}: {error}") from error

    def failures(self) -> list[ChatPromptError]:
        """See `Grading.failures`: only a case without any answer has one."""
        if self._unsent or not self.attempts or any(attempt.outcome != "error" for attempt in self.attempts):
            return []
        return [CheckError(f"neither version has an answer\n\n{self.attempts[0].problem}")]

    @property
    def sent_through(self) -> str:
        """See `Grading.sent_through`."""
        name = self.item.provider_name if isinstance(self.item, EvalItem) else OWN_CODE
        return " and ".join(filter(None, (name, self.item.config.stash[options_key].ab_provider)))

    def call_hook(self, response: ProviderResponse) -> None:
        """See `Grading.call_hook`: the hook is for cases."""
        if isinstance(self.item, EvalItem):
            super().call_hook(response)

    def _is_certain(self) -> bool:
        pairs = self._pairs()
        is_sure = not pairs.needs_more() or self._pairs_of_run().has_evidence
        return is_sure and len(self.attempts) >= (self.sent.case.batch or 0)

    def _pairs_of_run(self) -> Pairs:
        return self.item.config.stash.get(_pairs_key, Pairs()) + self._pairs()

    def _pairs(self) -> Pairs:
        """How the pairs of answers so far ended; in which order is all the same to their evidence."""
        outcomes = {attempt.number: attempt.outcome for attempt in self.attempts}
        return Pairs.of((outcomes[each], outcomes[each + 1]) for each in outcomes if each % 2 and each + 1 in outcomes)

    def _result(self) -> VersionsResult:
        case = self.sent.case
        results = [
            VersionResult.of(
                attempt.model_copy(update={"number": case.repeat_of(attempt.number)})
                for attempt in self.attempts
                if case.version_of(attempt.number) is version
            )
            for version in case.versions
        ]
        # A revision is what was before; a model or a provider is what may come.
        after, before = results if self.item.config.stash[options_key].ab_revision is not None else reversed(results)
        checks = () if self.checks is None else self.checks.checks
        hooks = self.item.ihook.pytest_chatprompt_response.get_hookimpls()
        is_graded = isinstance(self.item, EvalItem) and (bool(hooks) or any(check.of == "answer" for check in checks))
        shown = case.versions[-1].exchange.response
        found, adjusted = tuple(finding.text for finding in shown.findings), shown.adjustments
        return VersionsResult(is_graded=is_graded, findings=found, adjustments=adjusted, before=before, after=after)

    def _note(self) -> None:
        if self.attempts and not (self._unsent and not self.answers):
            notes_of(self.item).versions = self._result()
        Grading._note(self)


# --- tests of your own code

_case_key: Final = pytest.StashKey[LiveCase]()


class OwnCodeVersions:
    """The hooks that compare what tests of your own code send: each runs offline, to show what that is."""

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Find both versions of what a test has sent, if it passes; skip one that cannot be compared."""
        capture = OwnCodeCapture.of(item)
        if capture is not None:
            item.stash[_case_key] = _versions_of_test(item, capture)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Send both, if the test has passed, when it can send nothing more."""
        capture, case = OwnCodeCapture.of(item), item.stash.get(_case_key, None)
        if case is not None and capture is not None and capture.has_passed:
            answers, no_case = LiveRun.of(item.config).answers_to(case), cast(Any, None)
            request, redactor = case.compared.request, capture.api.redactor
            # The budget may be spent: the record says so.
            with suppress(pytest.skip.Exception):
                VersionsGrading(capture.request, no_case, request, None, answers, redactor).run()


def _versions_of_test(item: pytest.Item, capture: OwnCodeCapture) -> LiveCase:
    options = item.config.stash[options_key]
    if options.ab_revision is None:
        skip_left_out(item, "what a test of your own code sends goes where it says itself")
    path, shown = notes_of(item).asserted or (Path(), "")
    first = next(iter(requests_in(read_data(shown)).values()), None)
    logged = [each for each in capture.api.log if capture.masks.apply(each.as_sent().as_data()) == first]
    if not logged:
        skip_left_out(item, "it does not compare all of a request that it sends with eval_snapshot")
    request, sent = logged[0].request, logged[0].as_sent()
    if not isinstance(find_offline_api(request), ChatAPI):
        skip_left_out(item, f"{sent.endpoint} is of no API whose answers can be read")
    if any(value.endswith(PLACEHOLDER) for value in request.headers.values()):
        skip_left_out(item, "a provider or another process sends it, with a placeholder for its key")
    provider = ResentRequest(request, capture.api.redactor)
    response = ProviderResponse(text=OFFLINE_TEXT)
    present = Exchange(ProviderRequest(question=""), response, (sent,), in_place_of=sent)
    try:
        other = _restored(item, path, provider, present, capture.masks, shown)
    except NotComparableError as error:
        skip_left_out(item, str(error))
    repeat = options.repeat or DEFAULT_AB_REPEAT
    place, batch = place_of_test(item, capture.masks), 2 * (options.least_repeat or repeat)
    return LiveCase((Version(provider, present), Version(provider, other)), place, repeat, batch=batch)

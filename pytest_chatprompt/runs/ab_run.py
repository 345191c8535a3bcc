"""A run with `--chatprompt-ab`: cases are sent as they are and as they were at a git revision, and graded alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.errors import BudgetError, ChatPromptError, CheckError
from pytest_chatprompt.grading.grade import wilson_interval
from pytest_chatprompt.grading.paired_test import Pairs
from pytest_chatprompt.options import Options, options_key
from pytest_chatprompt.reports.ab import MOST_CASES, Compared
from pytest_chatprompt.reports.run_hooks import CollectedResults
from pytest_chatprompt.reports.terminal import table_lines, write_line, write_title
from pytest_chatprompt.results.records import AttemptResult, VersionResult, VersionsResult
from pytest_chatprompt.runs.grading import Grading
from pytest_chatprompt.runs.item import EvalItem, notes_of
from pytest_chatprompt.runs.repeated_grading import RepeatedGrading
from pytest_chatprompt.snapshots.diff import Comparison
from pytest_chatprompt.snapshots.files import SnapshotFileError
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.old_request import NotComparableError, first_request, restored_exchange
from pytest_chatprompt.snapshots.revision import Revision, RevisionError
from pytest_chatprompt.snapshots.stored import read_data

if TYPE_CHECKING:
    from pytest_chatprompt.capture.sent_request import Exchange
    from pytest_chatprompt.live.answers import LiveResponse
    from pytest_chatprompt.providers.response import Provider
    from pytest_chatprompt.snapshots.masks import Masks

_ab_key: Final[pytest.StashKey[AbRun]] = pytest.StashKey()


@dataclass(eq=False)
class AbRun:
    """The revision that a run compares with, and how the pairs of answers of this process have ended so far."""

    revision: Revision
    pairs: Pairs = field(default_factory=Pairs)

    @classmethod
    def start(cls, config: pytest.Config, name: str) -> None:
        """Open the revision, until the run ends."""
        try:
            revision = Revision.open(name, config.rootpath, "--chatprompt-ab")
        except RevisionError as error:
            raise pytest.UsageError(str(error)) from None
        config.stash[_ab_key] = cls(revision)
        config.add_cleanup(revision.close)
        if not (config.option.collectonly or hasattr(config, "workerinput")):
            config.pluginmanager.register(AbSummary(config.stash[options_key]), "chatprompt-ab-summary")

    @classmethod
    def of(cls, config: pytest.Config) -> AbRun:
        """That of a run."""
        return config.stash[_ab_key]

    def restore(
        self, item: EvalItem, provider: Provider, present: Exchange, masks: Masks, data: dict[str, Any]
    ) -> Exchange:
        """What a case sent at the revision; `data` is what its snapshot would show of the `present` request.

        It skips a case whose request is the same, or cannot be compared.
        """
        __tracebackhide__ = True
        name = self.revision.name
        try:
            if not isinstance(provider, ChatProvider) or present.prepared is None:
                kind = "a provider of your own" if present.invocation is None else "an agent"
                raise NotComparableError(f"{item.provider_name} is {kind}, which sends by itself")
            stored, sent = self.revision.read(item.snapshot_path), dump(data)
            if stored is None:
                raise NotComparableError(f"{name} has no snapshot of it")
            old, new = (first_request(read_data(text)) for text in (stored, sent))
            if old is None:
                raise NotComparableError(f"its snapshot at {name} shows no request to an API")
            if repr(old) == repr(new):
                _skip(item, VersionsResult(is_same=True), f"its request is as at {name}")
            notes_of(item).comparison = Comparison(item.snapshot_path, stored, sent)
            return restored_exchange(old, present, provider, masks, self.revision)
        except SnapshotFileError as error:
            return _skip_left_out(item, f"its snapshot at {name} {error}")
        except NotComparableError as error:
            return _skip_left_out(item, str(error))


class AbSummary(CollectedResults):
    """Shows what a run found, and fails it if the answers are worse and the user wants that."""

    def __init__(self, options: Options) -> None:
        super().__init__()
        self._options = options

    @property
    def _compared(self) -> Compared:
        is_sequential = self._options.least_repeat is not None
        return Compared.of(self.results.values(), self._options.ab or "", is_sequential=is_sequential)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run whose answers are worse."""
        is_worse = self._options.ab_fail_worse and self._compared.verdict == "worse"
        if is_worse and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Show the table, and the verdict below it."""
        compared = self._compared
        if not compared.cases:
            return
        write_title(terminalreporter, "-", f"{compared.name} and now compared")
        most = None if terminalreporter.verbosity > 0 else MOST_CASES
        rows = list(compared.table(most))
        for line in (*(table_lines(rows) if len(rows) > 1 else ()), *compared.notes(most)):
            write_line(terminalreporter, line)
        write_line(terminalreporter, compared.sentence(), bold=True)


def _skip(item: EvalItem, versions: VersionsResult, reason: str) -> NoReturn:
    """End the test of a case that is not sent; pytest shows the place of the case."""
    notes_of(item).versions = versions
    pytest.skip(reason)


def _skip_left_out(item: EvalItem, reason: str) -> NoReturn:
    _skip(item, VersionsResult(left_out=reason), f"not compared: {reason}")


@dataclass(eq=False)
class VersionsGrading(RepeatedGrading):
    """Grades the answers to both versions of a case; the case passes, whichever answers do."""

    _unsent: str = ""

    def grade(self) -> None:
        """Get and grade the answers."""
        __tracebackhide__ = True
        for number in self.sent.arriving(self._is_certain):
            self._take(number)
        if self._unsent and not self.answers:
            _skip_left_out(self.item, self._unsent)
        self._run.pairs += self._result().pairs

    def get(self, number: int) -> LiveResponse:
        """See `Grading.get`; the end of the budget says nothing about a version."""
        __tracebackhide__ = True
        try:
            return super().get(number)
        except BudgetError as error:
            self._unsent = str(error)
            raise

    def failures(self) -> list[ChatPromptError]:
        """See `Grading.failures`: only a case without any answer has one."""
        if self._unsent or not self.attempts or any(attempt.outcome != "error" for attempt in self.attempts):
            return []
        return [CheckError(f"neither version has an answer\n\n{self.attempts[0].problem}")]

    @property
    def _run(self) -> AbRun:
        return AbRun.of(self.item.config)

    def _is_certain(self) -> bool:
        pairs = self._result().pairs
        is_sure = not pairs.needs_more() or (self._run.pairs + pairs).has_evidence
        return is_sure and len(self.attempts) >= (self.sent.case.batch or 0)

    def _result(self) -> VersionsResult:
        case, attempts = self.sent.case, sorted(self.attempts, key=lambda attempt: attempt.number)
        # As `LiveCase.versions` has them.
        after, before = (
            _version_result(
                attempt.model_copy(update={"number": case.repeat_of(attempt.number)})
                for attempt in attempts
                if case.version_of(attempt.number) is version
            )
            for version in case.versions
        )
        checks = () if self.checks is None else self.checks.checks
        hooks = self.item.ihook.pytest_chatprompt_response.get_hookimpls()
        is_graded = bool(hooks) or any(check.of == "answer" for check in checks)
        return VersionsResult(is_graded=is_graded, before=before, after=after)

    def _note(self) -> None:
        if self.attempts and not (self._unsent and not self.answers):
            notes_of(self.item).versions = self._result()
        Grading._note(self)


def _version_result(attempts: Iterable[AttemptResult]) -> VersionResult:
    numbered = tuple(attempts)
    outcomes = [attempt.outcome for attempt in numbered]
    passed, answers = outcomes.count("passed"), len(outcomes) - outcomes.count("error")
    low, high = wilson_interval(passed, answers)
    return VersionResult(passed=passed, answers=answers, interval=(round(low, 4), round(high, 4)), attempts=numbered)

"""Acceptance: writes the changes of a run that a reader accepts into the snapshots that have them, and nothing else.

It is written when all tests have ended: only then it is known whether each id of the command line is one of the run. A
test of which all is accepted by id has passed until then, by `Comparison.accepting`; a review decides afterwards.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.options import ALLOW_UPDATE, NOTHING_UNUSED, UNUSED, options_key
from pytest_chatprompt.reports.result_collectors import CollectedResults, result_of, run_results
from pytest_chatprompt.reports.review import Review, change_cost
from pytest_chatprompt.reports.run_commands import accept_all
from pytest_chatprompt.reports.terminal import write_lines
from pytest_chatprompt.reports.terminal_hooks import shortened
from pytest_chatprompt.results.records import CaseResult, RunResults, SnapshotResult
from pytest_chatprompt.results.wording import summary_line
from pytest_chatprompt.snapshots.changes import NEW, Content, data_sha256, read_data, written_sha256
from pytest_chatprompt.snapshots.diff import accept_changes, compare_snapshots
from pytest_chatprompt.snapshots.files import SnapshotFileError, atomic_write, read_snapshot, refuse_folder_outside_root
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.wording import count

# The plugin that removes unused snapshots, in runs that have eval files or tests with snapshots.
_UNUSED_SNAPSHOTS: Final = "chatprompt-unused-snapshots"


class Acceptance:
    """What can be accepted of a run, by id, and what is.

    Args:
        results: of the tests that differ from their snapshots.
        root: pytest's root folder.
        run: the whole run; by default these tests.

    Attributes:
        results: of each snapshot that differs, by test and path, as they are with what was accepted.
        review: of the results as they were.
        changes: the results that have each change, by its id, those of the most tests first; `new` is the last.
        accepted: what was accepted, in a line each.
        new_sha256: the hashes of the new snapshots among it.
        problems: what could not be, and why, in a line each.
    """

    def __init__(self, results: Sequence[CaseResult], root: Path, run: RunResults | None = None) -> None:
        self.run = run or RunResults(results=tuple(results))
        self.results = {each.key: each for result in results for each in result.by_snapshot if each.differs}
        self._root = root
        self.review = review = Review(list(self.results.values()))
        self._contents = {distinct.id: distinct.change.content for distinct in review.changes}
        self.changes: dict[str, Sequence[CaseResult]] = {each.id: each.results for each in review.changes}
        if review.new:
            self.changes[NEW] = review.new
        self.accepted: list[str] = []
        self.problems: list[str] = []
        self.new_sha256: set[str | None] = set()

    def find(self, asked: str) -> list[str]:
        """The ids of what a user may mean: by an id, by more of the digest, or by less if that is enough."""
        if asked in self.changes:
            return [asked]
        return [each.id for each in self.review.changes if each.change.is_named(asked)]

    def accept(self, change_id: str) -> list[str]:
        """Write a change into every snapshot that has it, each as a whole; say in a line each what was not written."""
        problems = []
        results = [self.results[each.key] for each in self.changes[change_id]]
        for result in results:
            snapshot: Any = result.snapshot
            try:
                text = self._write(snapshot, self._contents.get(change_id))
            except (OSError, SnapshotError, SnapshotFileError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else error
                problems.append(f"{snapshot.path} is not written: {reason}")
            else:
                self.new_sha256 |= {snapshot.sent_sha256} if snapshot.state == "new" else set()
                self.results[result.key] = result.model_copy(update={"snapshot": _accepted(snapshot, text)})
        number = len(results) - len(problems)
        what = "new snapshot" if change_id == NEW else "snapshot"
        change = "" if change_id == NEW else f"change {change_id} in "
        if number:
            self.accepted.append(f"accepted {change}{count(number, what)}")
        self.problems += problems
        return problems

    def with_accepted(self, before: CaseResult) -> CaseResult:
        """A result of the run with what was accepted of its snapshots; it passes if it failed for nothing else."""
        differing: list[Any] = [each.snapshot for each in before.by_snapshot if each.differs]
        after = [self.results[before.node_id, each.path].snapshot or each for each in differing]
        left = [each for each in after if each.state != "same"]
        if after == differing:
            return before
        update = {"snapshot": (left or after)[0], "further": tuple(left[1:]), "outcome": before.outcome}
        if before.error is not None and before.outcome == "failed" and differing[0].is_cause:
            failed = [check.sentence for check in before.checks if check.passed is not True]
            messages = [*(summary_line(each.difference.changes) for each in left), *failed]
            error = before.error.model_copy(update={"message": messages[0]}) if messages else None
            update |= {"outcome": "failed" if messages else "passed", "error": error}
        return before.model_copy(update=update)

    def _write(self, snapshot: SnapshotResult, content: Content | None) -> str:
        """Write a snapshot with one more change of it, or as it is sent."""
        path = self._root / snapshot.path
        refuse_folder_outside_root(path.parent, self._root)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent):
            stored = read_snapshot(path)
            if (None if stored is None else data_sha256(stored)) != snapshot.stored_sha256:
                raise SnapshotFileError("it has changed since the run compared with it; run again")
            data: Mapping[str, Any] = snapshot.sent
            is_whole = written_sha256(dump(data)) == snapshot.sent_sha256
            if stored is not None and content is not None:
                data = accept_changes(stored, data, [content])
            text = dump(data)
            if not is_whole or written_sha256(text) == snapshot.stored_sha256:
                raise SnapshotFileError("a secret in it is hidden here; accept it with --snapshot-update")
            atomic_write(path, text)
        return text


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let no other run accept changes in a folder meanwhile; on Windows it may."""
    if sys.platform == "win32":
        yield
        return
    import fcntl  # noqa: PLC0415 - Windows has none

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _accepted(before: SnapshotResult, text: str) -> SnapshotResult:
    """What is known of a snapshot with a new text."""
    sent = dump(before.sent)
    if text == sent:
        return SnapshotResult(path=before.path, state="same", sent=before.sent)
    stored = read_data(text)
    update = {
        "difference": compare_snapshots(text, sent),
        "cost": change_cost(stored, before.sent),
        "stored": stored,
        "stored_sha256": written_sha256(text),
    }
    return before.model_copy(update=update)


# Decides what is accepted.
Decide = Callable[[Acceptance, pytest.Config], object]


class AcceptanceHooks(CollectedResults):
    """Asks what to accept when all tests of a run have ended; the rest is reviewed as ever."""

    def __init__(self, decide: Decide) -> None:
        super().__init__()
        self._decide = decide
        self._acceptance = Acceptance([], Path())
        # The reports of each test, and of its subtests, that tell what differs.
        self._reports: dict[str, list[tuple[Any, CaseResult]]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what differs in the last run of a test, also if it does not fail for that."""
        super().pytest_runtest_logreport(report)
        if report.when == "setup":
            self._reports.pop(report.nodeid, None)
        result = result_of(report)
        if result is not None and result.differs:
            self._reports.setdefault(result.node_id, []).append((report, result))

    # Outermost: pytest writes the end of its progress first.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Accept when the tests have ended, also before the last one, and let the run pass if nothing is left."""
        try:
            result = yield
        except (KeyboardInterrupt, session.Failed) as end:
            # Pytest and pytest-xdist have subclasses of their own for runs that end early.
            if type(end) is not KeyboardInterrupt or self._decide is refuse_update:
                self._accept(session)
            if session.testsfailed or self._acceptance.problems or not session.shouldfail:
                raise
            self._acceptance.accepted.append("the run ended early: run again for the tests that did not run")
            return True
        self._accept(session)
        return result

    def _accept(self, session: pytest.Session) -> None:
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        differing = list(chain(*self._reports.values()))
        run = run_results(session.config, self.results.values())
        self._acceptance = Acceptance([result for _, result in differing], session.config.rootpath, run)
        self._decide(self._acceptance, session.config)
        if self._acceptance.accepted or not self._acceptance.problems:
            _settle(session, reporter, differing, self._acceptance)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail a run in which something is not accepted that was asked for."""
        if self._acceptance.problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was accepted, and what could not be."""
        write_lines(terminalreporter, self._acceptance.accepted)
        write_lines(terminalreporter, dict.fromkeys(self._acceptance.problems), red=True)


def accept_ids(acceptance: Acceptance, config: pytest.Config) -> None:
    """Accept the changes that the command line names; an id that names none, or several, is a problem of the run."""
    ids = config.stash[options_key].accept
    found = {asked: acceptance.find(asked) for asked in ids if asked != UNUSED}
    acceptance.problems += [unknown(asked, meant, acceptance) for asked, meant in found.items() if len(meant) != 1]
    for change_id in dict.fromkeys(meant[0] for meant in found.values() if len(meant) == 1):
        acceptance.accept(change_id)
    if UNUSED in ids and not config.pluginmanager.hasplugin(_UNUSED_SNAPSHOTS):
        acceptance.problems.append(NOTHING_UNUSED)


def refuse_update(acceptance: Acceptance, config: pytest.Config) -> None:
    """Write nothing in a protected project, and say why, and by which ids its changes are accepted."""
    command = accept_all(acceptance.run, list(acceptance.results.values()), "ID")
    ids, option = ", ".join(acceptance.changes), config.stash[options_key].refused_update
    acceptance.problems += (
        f"{option} is refused: chatprompt_protect is set, and this run has no terminal. Nothing is written.",
        f"To accept what you name: {command}, with {ids}" if ids else "No eval snapshot differs.",
        f"To accept all that nobody has looked at: set {ALLOW_UPDATE}=1.",
    )


def unknown(asked: str, meant: Sequence[str], acceptance: Acceptance) -> str:
    """Why an id says not what to accept."""
    problem = f"may be {' or '.join(meant)}" if meant else "is no change of this run"
    known = f"it has {', '.join(acceptance.changes)}" if acceptance.changes else "no snapshot differs"
    return f"--chatprompt-accept {asked}: {asked!r} {problem}; {known}. Nothing is accepted for it."


def _settle(
    session: pytest.Session, reporter: Any, differing: Sequence[tuple[Any, CaseResult]], acceptance: Acceptance
) -> None:
    """Let the reports of a run say what is left, and count those of which nothing is as accepted."""
    plugin: Any = session.config.pluginmanager.get_plugin("chatprompt-reports-of-run")
    if plugin is not None:
        plugin.results = {name: acceptance.with_accepted(result) for name, result in plugin.results.items()}
    accepted = [report for report, before in differing if _is_passed(report, before, acceptance.with_accepted(before))]
    # Reports of subtests have no hash. The test itself has passed, but for them.
    moved = set(map(id, accepted))
    tests = {report.nodeid for report in accepted}
    failed = [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]
    others = [report for report in failed if id(report) not in moved]
    tests -= {report.nodeid for report in others if getattr(result_of(report), "outcome", None) != "passed"}
    for name in ("failed", "error"):
        reports = reporter.stats.pop(name, ())
        kept = [each for each in reports if id(each) not in moved and each.nodeid not in tests]
        reporter.stats.update({name: kept} if kept else {})
    unused: Any = session.config.pluginmanager.get_plugin(_UNUSED_SNAPSHOTS)
    if unused is not None:
        unused.accept(tests, acceptance.new_sha256)
    # `--lf` forgets these tests, and the run fails if it was to send them.
    passed = [report for report in accepted if report.nodeid in tests]
    last_failed: Any = session.config.pluginmanager.get_plugin("lfplugin")
    for report in passed if last_failed is not None else ():
        report.outcome = "passed"
        last_failed.pytest_runtest_logreport(report)
    options = session.config.stash[options_key]
    if passed and (options.live or options.replay):
        acceptance.problems.append(f"{count(len(passed), 'accepted test')} got no answer in this run: run again")
    session.testsfailed -= len(accepted)
    if accepted:
        # The last line has this category too, in a run that ended early as well.
        reporter._add_stats("accepted", accepted)


def _is_passed(report: Any, before: CaseResult, result: CaseResult) -> bool:
    """Let a report say what is left of what it is about; gives whether nothing is."""
    vars(report)["chatprompt_result"] = json.dumps(result.as_data())
    if result.outcome == "passed" != before.outcome:
        return True
    if result.error is not None and result.error != before.error:
        if not result.differs:
            # It fails for its checks alone.
            report.longrepr = result.error.message
            return False
        report.longrepr.reprcrash.message = result.error.message
    if result.differs and result is not before:
        report.longrepr = shortened(report.longrepr, Review([result], lists_all=True), result)
    return False

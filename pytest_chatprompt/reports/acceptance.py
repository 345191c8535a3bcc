"""Acceptance: writes the changes of a run that a reader accepts into the snapshots that have them, and nothing else.

What is accepted is decided when all tests have ended: by the ids that the command line names, or by a review.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.options import NEW, NOTHING_UNUSED, UNUSED
from pytest_chatprompt.reports.review import ID_DIGITS, Review, change_cost
from pytest_chatprompt.reports.run_hooks import result_of
from pytest_chatprompt.reports.terminal import write_line
from pytest_chatprompt.reports.terminal_hooks import shortened
from pytest_chatprompt.results.records import CaseResult, SnapshotResult
from pytest_chatprompt.results.texts import summary_line
from pytest_chatprompt.snapshots.diff import accept_changes, compare_snapshots
from pytest_chatprompt.snapshots.files import (
    SnapshotFileError,
    atomic_write,
    read_snapshot,
    refuse_folder_outside_root,
)
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.stored import Content, data_sha256, read_data, written_sha256
from pytest_chatprompt.wording import count

# The plugin that removes unused snapshots, in runs that have eval files or tests with snapshots.
_UNUSED_SNAPSHOTS: Final = "chatprompt-unused-snapshots"


class Acceptance:
    """What can be accepted of a run, by id, and what is.

    Args:
        results: of the tests that differ from their snapshots.
        root: pytest's root folder.

    Attributes:
        results: by node id, as they are with what was accepted.
        review: of the results as they were.
        changes: the results that have each change, by its id, those of the most tests first; `new` is the last.
        accepted: what was accepted, in a line each.
        problems: what could not be, and why, in a line each.
    """

    def __init__(self, results: Sequence[CaseResult], root: Path) -> None:
        self.results = {result.node_id: result for result in results}
        self._root = root
        self.review = review = Review(list(self.results.values()))
        self._digests = {distinct.change.digest: distinct.id for distinct in review.changes}
        self._contents = {distinct.id: distinct.change.content for distinct in review.changes}
        self.changes: dict[str, Sequence[CaseResult]] = {each.id: each.results for each in review.changes}
        if review.new:
            self.changes[NEW] = review.new
        self.accepted: list[str] = []
        self.problems: list[str] = []
        # By node id: a snapshot as the run has compared it, and the changes of it that were accepted so far.
        self._begun: dict[str, tuple[str | None, tuple[Content, ...]]] = {}

    def find(self, asked: str) -> list[str]:
        """The ids of what a user may mean: by an id, by more of the digest, or by less if that is enough."""
        if asked in self.changes:
            return [asked]
        return [each for digest, each in self._digests.items() if digest.startswith(asked) and len(asked) >= ID_DIGITS]

    def accept(self, change_id: str) -> list[str]:
        """Write a change into every snapshot that has it, each as a whole; say in a line each what was not written."""
        problems = []
        results = [self.results[each.node_id] for each in self.changes[change_id]]
        for result in results:
            snapshot: Any = result.snapshot
            try:
                text = self._write(result.node_id, snapshot, self._contents.get(change_id))
            except (OSError, SnapshotError, SnapshotFileError) as error:
                reason = error.strerror if isinstance(error, OSError) and error.strerror else error
                problems.append(f"{snapshot.path} is not written: {reason}")
            else:
                self.results[result.node_id] = _accepted(result, snapshot, text)
        number = len(results) - len(problems)
        what = (
            count(number, "new snapshot") if change_id == NEW else f"change {change_id} in {count(number, 'snapshot')}"
        )
        if number:
            self.accepted.append(f"accepted {what}")
        self.problems += problems
        return problems

    def _write(self, node_id: str, snapshot: SnapshotResult, content: Content | None) -> str:
        """Write a snapshot with one more change of it, or as it is sent."""
        path = self._root / snapshot.path
        refuse_folder_outside_root(path.parent, self._root)
        path.parent.mkdir(parents=True, exist_ok=True)
        with _locked(path.parent):
            stored = read_snapshot(path)
            if (None if stored is None else data_sha256(stored)) != snapshot.stored_sha256:
                raise SnapshotFileError("it has changed since the run compared with it; run again")
            # All changes are those of one comparison: where lines are repeated, the next one would find others.
            whole, contents = self._begun.get(node_id, (stored, ()))
            data: Mapping[str, Any] = snapshot.sent
            is_whole = written_sha256(dump(data)) == snapshot.sent_sha256
            if whole is not None and content is not None:
                contents = (*contents, content)
                data = accept_changes(whole, data, contents)
            text = dump(data)
            if not is_whole or written_sha256(text) == snapshot.stored_sha256:
                raise SnapshotFileError("a secret in it is hidden here; accept it with --snapshot-update")
            atomic_write(path, text)
            self._begun[node_id] = whole, contents
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


def _accepted(result: CaseResult, before: SnapshotResult, text: str) -> CaseResult:
    """The result of a test as it is with the new text of its snapshot."""
    sent = dump(before.sent)
    if text == sent:
        snapshot = SnapshotResult(path=before.path, state="same", sent=before.sent)
        passed = {"outcome": "passed", "error": None} if before.is_cause else {}
        return result.model_copy(update={"snapshot": snapshot, **passed})
    stored, difference = read_data(text), compare_snapshots(text, sent)
    update = {
        "difference": difference,
        "cost": change_cost(stored, before.sent),
        "stored": stored,
        "stored_sha256": written_sha256(text),
    }
    error = result.error
    if before.is_cause and error is not None:
        error = error.model_copy(update={"message": summary_line(difference.changes)})
    return result.model_copy(update={"snapshot": before.model_copy(update=update), "error": error})


# Decides what is accepted.
Decide = Callable[[Acceptance, pytest.Config], object]


class AcceptanceHooks:
    """Asks what to accept when all tests of a run have ended; the rest is reviewed as ever."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._acceptance = Acceptance([], Path())
        self._differing: dict[str, tuple[Any, CaseResult]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what differs in the last run of a test, also if it does not fail for that; of its subtests the last."""
        if report.when == "setup":
            self._differing.pop(report.nodeid, None)
        result = result_of(report)
        if result is None or not result.differs:
            return
        # With subtests, a test has passed before them.
        if result.outcome != "passed" or report.nodeid not in self._differing:
            self._differing[result.node_id] = report, result

    # Outermost: pytest writes the end of its progress first.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Accept when the tests have ended, also before the last one, and let the run pass if nothing is left."""
        try:
            result = yield
        except (KeyboardInterrupt, session.Failed) as end:
            # Pytest and pytest-xdist have subclasses of their own for runs that end early.
            if type(end) is not KeyboardInterrupt:
                self._accept(session)
            if session.testsfailed or not session.shouldfail:
                raise
            return True
        self._accept(session)
        return result

    def _accept(self, session: pytest.Session) -> None:
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        differing = [*self._differing.values()]
        self._acceptance = Acceptance([result for _, result in differing], session.config.rootpath)
        self._decide(self._acceptance, session.config)
        if self._acceptance.accepted or not self._acceptance.problems:
            _settle(session, reporter, differing, self._acceptance.results)
        session.testsfailed += bool(self._acceptance.problems)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was accepted, and what could not be."""
        for line in self._acceptance.accepted:
            write_line(terminalreporter, line)
        for problem in dict.fromkeys(self._acceptance.problems):
            write_line(terminalreporter, problem, red=True)


def accept_ids(ids: Sequence[str]) -> Decide:
    """Accept the changes that the command line names; nothing if one of the ids says not which."""

    def decide(acceptance: Acceptance, config: pytest.Config) -> None:
        found = {asked: acceptance.find(asked) for asked in ids if asked != UNUSED}
        acceptance.problems += [unknown(asked, meant, acceptance) for asked, meant in found.items() if len(meant) != 1]
        if not acceptance.problems:
            for change_id in dict.fromkeys(meant for (meant,) in found.values()):
                acceptance.accept(change_id)
        if UNUSED in ids and not config.pluginmanager.hasplugin(_UNUSED_SNAPSHOTS):
            acceptance.problems.append(NOTHING_UNUSED)

    return decide


def unknown(asked: str, meant: Sequence[str], acceptance: Acceptance) -> str:
    """Why an id says not what to accept."""
    problem = f"may be {' or '.join(meant)}" if meant else "is no change of this run"
    known = f"it has {', '.join(acceptance.changes)}" if acceptance.changes else "no snapshot differs"
    return f"--chatprompt-accept {asked}: {asked!r} {problem}; {known}. Nothing is accepted."


def _settle(
    session: pytest.Session,
    reporter: Any,
    differing: Sequence[tuple[Any, CaseResult]],
    results: Mapping[str, CaseResult],
) -> None:
    """Let the reports of a run say what is left, and count those of which nothing is as accepted."""
    accepted = []
    plugin: Any = session.config.pluginmanager.get_plugin("chatprompt-reports-of-run")
    for report, before in differing:
        result = results[before.node_id]
        vars(report)["chatprompt_result"] = json.dumps(result.as_data())
        if plugin is not None:
            plugin.replace(before, result)
        if result.outcome == "passed" != before.outcome:
            accepted.append(report)
        elif result.differs and result is not before:
            if result.error is not None and result.error != before.error:
                report.longrepr.reprcrash.message = result.error.message
            report.longrepr = shortened(report.longrepr, Review([result], lists_all=True), result)
    # Reports of subtests have no hash. The test itself has passed, but for them.
    moved = set(map(id, accepted))
    tests = {report.nodeid for report in accepted}
    failed = [*reporter.stats.get("failed", ()), *reporter.stats.get("error", ())]
    tests -= {report.nodeid for report in failed if id(report) not in moved and not _has_passed(report)}
    for name in ("failed", "error"):
        reports = reporter.stats.pop(name, ())
        kept = [each for each in reports if id(each) not in moved and each.nodeid not in tests]
        reporter.stats.update({name: kept} if kept else {})
    unused: Any = session.config.pluginmanager.get_plugin(_UNUSED_SNAPSHOTS)
    if unused is not None:
        snapshots = [before.snapshot for _, before in differing if results[before.node_id] is not before]
        new = {each.sent_sha256 for each in snapshots if each is not None and each.state == "new"}
        unused.accept(tests, new)
    session.testsfailed -= len(accepted)
    if accepted:
        # The last line has this category too, in a run that ended early as well.
        reporter._add_stats("accepted", accepted)


def _has_passed(report: Any) -> bool:
    result = result_of(report)
    return result is not None and result.outcome == "passed"

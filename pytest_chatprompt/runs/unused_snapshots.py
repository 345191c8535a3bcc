"""Unused snapshots: those that no case and no test of the run compares with, reported or removed when the run ends.

An eval file says what it defines, so what it no longer defines is gone, and `--snapshot-update` removes it. Of own code
only Python knows what it would use another time: its snapshots, and all recordings, are removed by
`--chatprompt-remove-unused` alone, in a run that passes. A file that is not known whole in a run is left alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.options import (
    NOTHING_UNUSED,
    OWN_CODE_FIXTURES,
    UNUSED,
    collected_key,
    crashed_key,
    options_key,
    snapshot_dirname,
    snapshot_folders_key,
)
from pytest_chatprompt.runs.code_snapshots import SnapshotStems, snapshot_folder
from pytest_chatprompt.runs.file import EvalFile
from pytest_chatprompt.runs.item import EvalItem
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.snapshots.files import is_recording, leads_out_of_root, normalized_name
from pytest_chatprompt.snapshots.unused import (
    files_of_tests,
    gone_snapshots,
    holds_conflict,
    prune_recording,
    remove_unused,
    snapshot_folders_below,
    snapshots_by_data,
    unused_snapshots,
    without_used,
    written_files,
)
from pytest_chatprompt.wording import count, grouped, shown_path


class _Uses(NamedTuple):
    """What a process knows of the snapshots of an eval file or a module.

    Args:
        needed: the node ids of the tests that have to pass before anything of the file can be called unused.
        unused: the snapshots and recordings that it does not define; for a module all of its snapshots.
        gone: of an eval file, those of them whose case, provider or row is gone.
    """

    folder: Path
    needed: frozenset[str]
    unused: Sequence[Path]
    gone: Sequence[Path] = ()


class RunFacts:
    """What a process knows of the run; workers of pytest-xdist send it to the controller.

    Attributes:
        uses: of the eval files and modules of the run, by their node ids.
        orphans: folders of snapshots whose file is gone.
        senders: the eval items, and the tests that have snapshots or recordings.
        not_passed: those that failed or were skipped, in any phase or run.
        asserted: the snapshots that tests of own code have compared with.
        sent: for ordinary tests, the file of their recording and the hashes of what they sent.
        replayed: for each test, the replies that it was given from each recording.
        flags: `incomplete` where nothing can be said of the run, `partial` where some tests were not selected.
    """

    def __init__(self) -> None:
        self.uses: dict[str, _Uses] = {}
        self.orphans: set[Path] = set()
        self.senders: set[str] = set()
        self.passed: set[str] = set()
        self.not_passed: set[str] = set()
        self.asserted: set[str] = set()
        self.sent: dict[str, list[str]] = {}
        self.replayed: dict[str, dict[str, list[Any]]] = {}
        self.flags: set[str] = set()

    def merge(self, other: RunFacts) -> None:
        """Add the facts of a worker. Of one that has crashed no test counts as passed."""
        for name, facts in vars(self).items():
            facts.update(getattr(other, name))


class _Kind(NamedTuple):
    """A kind of unused files, and why they are; `{}` stands for them."""

    noun: str
    reason: str


_GONE: Final = _Kind("eval snapshot", "the case or the provider is no longer defined")
_SNAPSHOT: Final = _Kind("snapshot", "no test compares with {}")
_RECORDING: Final = _Kind("recording", "no case and no test is left that has {}")
_LEFT: Final = _Kind("file", "the eval file or the module is gone")
_OF_OWN_CODE: Final = (_SNAPSHOT, _RECORDING, _LEFT)


class UnusedSnapshots:
    """The hooks that find unused snapshots."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.facts = RunFacts()
        self._files: set[EvalFile] = set()
        self._tests: dict[Path, list[pytest.Item]] = {}
        self._lines: list[str] = []
        self._accepted: set[str] = set()
        self._has_found = False
        self._refused: dict[Path, str] = {}
        self._options = config.stash[options_key]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which cases were selected, and all tests of each module of which some were."""
        # No test has run yet, so a failure is a file that could not be collected.
        self.facts.flags |= {"incomplete"} if session.testsfailed else set()
        selected = set(session.items)
        cases = {item for item in selected if isinstance(item, EvalItem)}
        self._files = {case.parent for case in cases if isinstance(case.parent, EvalFile)}
        own = (item for item in selected if not OWN_CODE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ())))
        self.facts.senders |= {item.nodeid for item in (*cases, *own)}
        collected = self.config.stash.get(collected_key, [])
        collectors = {collector for collector, *_ in collected}
        within_files = [nodes for collector, _, nodes in collected if isinstance(collector, pytest.File | pytest.Class)]
        tests = [node for nodes in within_files for node in nodes if node not in collectors]
        self.facts.flags |= set() if selected.issuperset(tests) else {"partial"}
        modules = {item.path for item in selected - cases}
        # Where the command line names a test, pytest looks into no other class.
        modules -= {node.path for node in tests if not isinstance(node, pytest.Item)}
        items = (node for node in tests if isinstance(node, pytest.Item))
        self._tests = grouped((test.path, test) for test in items if test.path in modules)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note which tests pass, in all of their phases, subtests and runs, and what they use."""
        if report.passed and report.when == "call":
            self.facts.passed.add(report.nodeid)
        elif report.failed or report.skipped:
            # Not by pytest-rerunfailures, whose reports of runs that do not count are neither.
            self.facts.not_passed.add(report.nodeid)
        uses = getattr(report, "chatprompt_uses", {})
        self.facts.asserted.update(uses.get("asserted", ()))
        self.facts.sent |= uses.get("sent", {})
        if "replayed" in uses:
            self.facts.replayed.setdefault(report.nodeid, {}).update(uses["replayed"])

    def accept(self, tests: Iterable[str], new: Iterable[str]) -> None:
        """Count tests as passed whose snapshots the run has accepted; `new` are the hashes of new ones."""
        self.facts.passed |= {*tests}
        self.facts.not_passed -= {*tests}
        self._accepted = {*new, *{UNUSED}.intersection(self._options.accept)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Find the unused snapshots; an incomplete run reports none, by this plugin or by syrupy.

        After a run that ended early, syrupy takes every snapshot that was not asserted for unused, and deletes it with
        `--snapshot-update`.
        """
        reasons = (
            exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED),
            # Nothing runs.
            *map(self._is_set, ("collectonly", "setuponly", "setupplan")),
            session.shouldfail,
            session.shouldstop,
            self.config.stash.get(crashed_key, False),
            # Nothing is compared. What a revision has more shows in git, as deleted files.
            self._options.show or self._options.against is not None or self._options.ab is not None,
            not self.config.pluginmanager.hasplugin("syrupy"),
        )
        self.facts.flags |= {"incomplete"} if any(reasons) else set()
        self._note_uses(session)
        is_disabled = self._is_set("disable_unused_snapshots") or "incomplete" in self.facts.flags
        # In an update syrupy would delete the mere data that a test of ours has not compared with because it failed.
        # A worker goes on: its controller warns where syrupy's report of one is missing.
        is_worker = hasattr(self.config, "workeroutput")
        has_failed = session.testsfailed and not self.facts.senders.isdisjoint(self.facts.not_passed)
        keeps_data = bool(has_failed and self._is_set("update_snapshots") and not is_worker)
        # The hook of `plugin` around this one restores what the user has set.
        self.config.option.disable_unused_snapshots = is_disabled or keeps_data
        if not is_worker and not is_disabled:
            # What one shard of pytest-split does not use, another may use: `merge` looks at the reports of all.
            if not self._is_set("splits"):
                self._settle(session)
            if self._options.reports:
                self._keep_for_reports()
        if UNUSED in self._options.accept and not self._has_found and not is_worker:
            self._lines.append(NOTHING_UNUSED)
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def _note_uses(self, session: pytest.Session) -> None:
        """Note what this process knows of the snapshots of each file that it has collected."""
        for file in self._files if not self._options.names_provider else ():
            if file.is_complete:
                unused = unused_snapshots(sorted(file.snapshot_folder.glob("*.yaml")), file.stems)
                gone = gone_snapshots(unused, file.stems_without_parameters()) if unused else []
                needed = file.node_ids - self.facts.senders | file.unresolved
                self.facts.uses[file.nodeid] = _Uses(file.snapshot_folder, needed, unused, gone)
        for tests in self._tests.values():
            folder = snapshot_folder(tests[0])
            if folder.is_dir() and not leads_out_of_root(folder, self.config.rootpath):
                files = files_of_tests(folder, [SnapshotStems.of(session).find(item) for item in tests])
                needed = frozenset(item.nodeid for item in tests)
                self.facts.uses[tests[0].nodeid.partition("::")[0]] = _Uses(folder, needed, files)
        if not self._options.names_provider:
            folders = self.config.stash.get(snapshot_folders_key, [])
            self.facts.orphans |= set(filter(self._is_orphan, folders))

    def _is_orphan(self, folder: Path) -> bool:
        """Whether a folder holds snapshots or recordings, and the file is gone that they are of."""
        if leads_out_of_root(folder, self.config.rootpath):
            return False
        name = normalized_name(folder.name)
        has_file = any(normalized_name(path.stem) == name for path in folder.parent.parent.iterdir())
        return not has_file and bool(written_files(folder))

    def _missing(self, uses: _Uses) -> frozenset[str]:
        """The tests without which nothing of a file can be called unused."""
        return uses.needed - (self.facts.passed - self.facts.not_passed)

    def _unused_of(self, uses: _Uses) -> list[Path]:
        return without_used(uses.unused, self.facts.asserted, str)

    def _settle(self, session: pytest.Session) -> None:
        """Remove what this run may remove, and prepare the lines about the rest, which may fail the run."""
        settled = {name: uses for name, uses in self.facts.uses.items() if not self._missing(uses)}
        unused = {path: _LEFT for folder in self.facts.orphans for path in written_files(folder)}
        for uses in settled.values():
            for path in self._unused_of(uses):
                unused[path] = _GONE if path in uses.gone else _RECORDING if is_recording(path) else _SNAPSHOT
        is_updated = self._is_set("update_snapshots")
        if (is_updated or self._options.remove_unused or self._accepted) and not self._is_set("no_cleanup"):
            unused = self._remove(settled, unused, has_passed=session.exitstatus == pytest.ExitCode.OK)
        if "partial" in self.facts.flags:
            # What the tests send that were left out is not known, and may be recorded there.
            unused = {path: kind for path, kind in unused.items() if kind in (_GONE, _SNAPSHOT)}
        self._lines += self._unused_lines(unused) if unused else ()
        # Unused recordings alone do not fail the run.
        is_failure = {_GONE, _SNAPSHOT} & {*unused.values()} and not (
            is_updated or self._is_set("warn_unused_snapshots")
        )
        if is_failure or self._refused:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _remove(self, settled: Iterable[str], unused: Mapping[Path, _Kind], *, has_passed: bool) -> dict[Path, _Kind]:
        """Remove unused files and replies, and move recordings; gives the files that this run may not remove."""
        root = self.config.rootpath
        is_accepted = self._is_set("update_snapshots") or UNUSED in self._accepted
        kinds = {_GONE} if is_accepted else set()
        pruned = 0
        if self._options.remove_unused and has_passed:
            kinds |= {_GONE, _SNAPSHOT}
            # Whether the run has sent, or compared with a snapshot, all that its files send.
            if not self.facts.senders & self.facts.not_passed and "partial" not in self.facts.flags:
                kinds |= {_RECORDING, _LEFT}
                pruned = self._prune(settled)
        removable = {path for path, kind in unused.items() if kind in kinds}
        if not is_accepted:
            removable -= {path for path in removable if not is_recording(path) and holds_conflict(path)}
        folders = [uses.folder for uses in self.facts.uses.values()]
        if any(map(is_recording, removable)):
            # Tests that did not run may need what was paid for.
            folders += snapshot_folders_below(root, snapshot_dirname(self.config))
        # A renamed case has a new snapshot in place of its old one.
        gone = (path for path, kind in unused.items() if kind is _GONE and self._accepted)
        removable |= {path for path in gone if self._accepted & snapshots_by_data([path]).keys()}
        removal = remove_unused(unused, removable, root, folders, self.facts.sent)
        self._lines += removal.lines_about_others(root)
        removed = {path: unused[path] for path in removal.removed}
        self._refused |= removal.refused
        self._has_found = bool(removed or removal.moved or self._refused)
        for kind in (_GONE, *_OF_OWN_CODE):
            self._lines += self._listed(removed, kind, "removed")
        if pruned:
            replies = count(pruned, "recorded reply", "recorded replies")
            self._lines.append(f"{replies} removed: no request asked for {_pronoun(pruned)}.")
        self._lines += [f"{shown_path(path, root)} {reason}" for path, reason in self._refused.items()]
        return {path: unused[path] for path in removal.left}

    def _prune(self, settled: Iterable[str]) -> int:
        """Remove the recorded replies that a replay of all tests of a file did not give; gives their number."""
        if not self.facts.replayed or self._options.live or self._options.repeat is not None:
            return 0
        from pytest_chatprompt.runs.usage_summary import pruned_key  # noqa: PLC0415

        def prune(path: Path, used: Iterable[Any]) -> int:
            try:
                return prune_recording(path, used, self.config.rootpath, SharedByRun.of(self.config).redactor)
            except OSError as error:
                self._refused[path] = f"keeps replies that no request asked for: {error.strerror or error}"
                return 0

        pruned = self.config.stash[pruned_key] = sum(
            prune(Path(path), used)
            for node_id, recordings in self.facts.replayed.items()
            if node_id.partition("::")[0] in settled
            for path, used in recordings.items()
            if Path(path).exists()
        )
        return pruned

    def _unused_lines(self, unused: Mapping[Path, _Kind]) -> Iterator[str]:
        """What to say of unused snapshots that are still there, and the command that removes them."""
        from pytest_chatprompt.reports.run_commands import repeated  # noqa: PLC0415

        words = list(map(str, self.config.invocation_params.args))
        gone = sum(kind is _GONE for kind in unused.values())
        yield from self._listed(unused, _GONE, "unused")
        if gone:
            yield f"To remove {_pronoun(gone)}: {repeated(words, f'--chatprompt-accept={UNUSED}')}"
        for kind in _OF_OWN_CODE:
            yield from self._listed(unused, kind, "unused")
        left = {path for path, kind in unused.items() if kind is not _GONE and not holds_conflict(path)}
        if left:
            if self._options.remove_unused and not left <= self._refused.keys():
                yield "Nothing of this was removed, because some case, or some test that may need it, did not pass."
            yield f"To remove {_pronoun(len(left))}: {repeated(words, '--chatprompt-remove-unused')}"

    def _listed(self, files: Mapping[Path, _Kind], kind: _Kind, state: str) -> Iterator[str]:
        """A line about the files of a kind, and one for each; nothing for none."""
        paths = sorted(path for path, each in files.items() if each is kind)
        if paths:
            yield f"{count(len(paths), kind.noun)} {state}: {kind.reason.format(_pronoun(len(paths)))}."
        for path in paths:
            note = ", which holds the conflict of a merge" if holds_conflict(path) else ""
            by_hand = ": delete it yourself" if note and kind is not _GONE else ""
            yield f"  {shown_path(path, self.config.rootpath)}{note}{by_hand}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report which snapshots are unused, or were removed."""
        if self._lines:
            from pytest_chatprompt.reports.terminal import write_section  # noqa: PLC0415

            write_section(terminalreporter, "eval snapshots", self._lines)

    def _keep_for_reports(self) -> None:
        """Hand over to the reports of the run what it knows of the snapshots of its files, and that still exists."""
        # Only a run that writes reports needs pydantic for them.
        from pytest_chatprompt.reports.result_collectors import snapshot_uses_key  # noqa: PLC0415
        from pytest_chatprompt.results.records import SnapshotUses, merge_uses  # noqa: PLC0415

        root = self.config.rootpath
        self.config.stash[snapshot_uses_key] = merge_uses(
            SnapshotUses(
                path=path,
                left_out=tuple(sorted(node_id.removeprefix(f"{path}::") for node_id in self._missing(uses))),
                unused=tuple(shown_path(each, root) for each in self._unused_of(uses) if each.exists()),
            )
            for path, uses in self.facts.uses.items()
        )

    def _is_set(self, name: str) -> bool:
        """Whether a flag is set that pytest or syrupy declares; `-p no:NAME` removes the options of a plugin."""
        return bool(self.config.getoption(name, False))


def _pronoun(number: int) -> str:
    return "it" if number == 1 else "them"

"""Unused snapshots: those that no case and no test of the run compares with, reported or removed when the run ends.

The collected items, and what the workers of pytest-xdist found, come in; out come a section of the terminal, removed or
moved files, and the exit status. `session` registers an `UnusedSnapshots` as a plugin; `own_snapshots` and `fixtures`
note in it what ordinary tests use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.items.file import EvalFile
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.own_snapshot_uses import OwnSnapshotUses
from pytest_chatprompt.items.shards import (
    Uses,
    existing_uses,
    is_shard,
    keep_for_reports,
    uses_of_eval_files,
    uses_of_modules,
)
from pytest_chatprompt.items.snapshot_renames import SnapshotRenames
from pytest_chatprompt.options import options_key, provider_named_on_command_line
from pytest_chatprompt.reports.terminal import write_line, write_title
from pytest_chatprompt.snapshots.files import remove_snapshot, remove_temporary_files
from pytest_chatprompt.snapshots.names import is_recording
from pytest_chatprompt.snapshots.unused import unused_snapshots
from pytest_chatprompt.wording import shown_path


@dataclass(eq=False)
class UnusedSnapshots:
    """The hooks that find unused snapshots.

    Args:
        config: the run's configuration.
        of_cases: snapshots whose case or provider is no longer defined.
        of_tests: snapshots of ordinary tests that no test compares with.
        uses: what reports say of the snapshots of each file, also of files that were selected in part.
        is_incomplete: whether something was not collected or not run, so that no snapshot can be called unused.
        renames: which snapshots show now what others showed before.
        own_uses: what ordinary tests did with their snapshots.
    """

    config: pytest.Config
    of_cases: set[Path] = field(default_factory=set)
    of_tests: set[Path] = field(default_factory=set)
    uses: Uses = field(default_factory=dict)
    is_incomplete: bool = False
    renames: SnapshotRenames = field(default_factory=SnapshotRenames)
    own_uses: OwnSnapshotUses = field(default_factory=OwnSnapshotUses)
    _moved: list[tuple[Path, Path]] = field(default_factory=list)
    _is_disabled_by_user: bool = False
    _selected: dict[Path, set[str]] = field(default_factory=lambda: defaultdict(set))
    _files: dict[Path, EvalFile] = field(default_factory=dict)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which items were selected."""
        # No test has run yet, so a failure is a file that could not be collected.
        self.is_incomplete = session.testsfailed > 0
        for item in session.items:
            if isinstance(item, EvalItem) and isinstance(item.parent, EvalFile):
                self._files[item.path] = item.parent
                self._selected[item.path].add(item.nodeid)
        self.own_uses.note_selected(session)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Find the unused snapshots; an incomplete run reports none, by this plugin or by syrupy.

        After a run that ended early, syrupy takes every snapshot that was not asserted for unused, and deletes it with
        `--snapshot-update`.
        """
        ended_normally = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        runs_nothing = any(self._is_set(name) for name in ("collectonly", "setuponly", "setupplan"))
        stopped = session.shouldfail or session.shouldstop
        options = self.config.stash[options_key]
        # What a revision has more shows in git, as deleted files.
        compares_nothing = options.show or options.against is not None
        has_no_syrupy = not self.config.pluginmanager.hasplugin("syrupy")
        incomplete = (self.is_incomplete, not ended_normally, runs_nothing, stopped, compares_nothing, has_no_syrupy)
        self.is_incomplete = any(incomplete)
        if self._is_set("update_snapshots"):
            for folder in {file.snapshot_folder for file in self._files.values()} | {*map(Path, self.own_uses.modules)}:
                remove_temporary_files(folder)
        self._is_disabled_by_user = self._is_set("disable_unused_snapshots")
        is_disabled = self._is_disabled_by_user or self.is_incomplete
        self.config.option.disable_unused_snapshots = is_disabled
        if options.reports:
            self.uses |= self._find_uses_of_cases()
        # What a shard of a run does not use, another shard may use: the command `merge` looks at the reports of all.
        is_left_to_merge = is_disabled or is_shard(self.config)
        self.of_cases = set() if is_left_to_merge else self.of_cases | set(self._find_unused())
        if not hasattr(self.config, "workeroutput"):
            self.of_tests = set() if is_left_to_merge else set(self.own_uses.find_unused())
            self._settle(session)
            if options.reports and not is_disabled:
                uses = self.uses | uses_of_modules(self.own_uses, self.config.rootpath)
                keep_for_reports(self.config, existing_uses(uses, self.config.rootpath))
        return (yield)

    def as_data(self) -> dict[str, Any]:
        """The found snapshots as data, for `merge` in another process."""
        return {
            "unused": [str(path) for path in self.of_cases],
            "uses": self.uses,
            "written": self.renames.as_data(),
            "test_snapshots": self.own_uses.as_data(),
            "is_incomplete": self.is_incomplete,
        }

    def merge(self, data: dict[str, Any]) -> None:
        """Add what a worker of pytest-xdist found."""
        self.of_cases.update(map(Path, data["unused"]))
        self.uses |= data["uses"]
        self.renames.merge(data["written"])
        self.own_uses.merge(data["test_snapshots"])
        self.is_incomplete = self.is_incomplete or data["is_incomplete"]

    def _settle(self, session: pytest.Session) -> None:
        """Remove the unused snapshots with `--snapshot-update`; else they fail the run."""
        if self._removes_unused():
            self._take_along_recordings()
        unused = self.of_cases | self.of_tests
        if self.renames.written:
            self.renames.find_written(unused, self.config.rootpath)
        if self._removes_unused():
            for path in unused:
                remove_snapshot(path)
            return
        only_reported = self._is_set("update_snapshots") or self._is_set("warn_unused_snapshots")
        # Unused recordings alone do not fail the run.
        if not only_reported and not all(map(is_recording, self.of_cases | self.of_tests)):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _take_along_recordings(self) -> None:
        """Move the unused recordings whose requests other tests send now to these tests, such as renamed ones."""
        unused = self.of_cases | self.of_tests
        recordings = sorted(filter(is_recording, unused))
        if not recordings:
            return
        from pytest_chatprompt.snapshots.moved_recordings import RecordingIndex  # noqa: PLC0415

        folders = {path.parent for path in unused} | {file.snapshot_folder for file in self._files.values()}
        senders = RecordingIndex([*folders, *map(Path, self.own_uses.modules)], self.own_uses.sent, unused)
        for path in recordings:
            place = senders.new_place(path, self.config.rootpath)
            if place is not None:
                self.of_cases.discard(path)
                self.of_tests.discard(path)
            if place is not None and place != path:
                place.parent.mkdir(parents=True, exist_ok=True)
                path.rename(place)
                self._moved.append((path, place))

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report which snapshots are unused, or were removed."""
        # Otherwise syrupy, whose summary comes next, would print that the user has switched it off.
        self.config.option.disable_unused_snapshots = self._is_disabled_by_user
        pronoun = "it" if len(self.of_tests) == 1 else "them"
        unused = (
            (self.of_cases, "eval snapshot", "the case or the provider is no longer defined"),
            (self.of_tests, "snapshot", f"no test compares with {pronoun}"),
        )
        lists_all = self.config.get_verbosity() > 0
        exchanged = list(self.renames.exchanged_lines(self.config.rootpath, lists_all=lists_all))
        has_unused = any(paths for paths, _, _ in unused)
        if not (self._moved or exchanged or has_unused):
            return
        removes_unused = self._removes_unused()
        if not removes_unused:
            self.renames.find_sent(self.of_cases | self.of_tests, terminalreporter)
        write_title(terminalreporter, "-", "eval snapshots")
        state = "removed" if removes_unused else "unused"
        for paths, noun, reason in unused:
            if paths:
                nouns = noun if len(paths) == 1 else f"{noun}s"
                write_line(terminalreporter, f"{len(paths)} {nouns} {state}: {reason}.")
            for path in sorted(paths):
                name = shown_path(path, self.config.rootpath)
                write_line(terminalreporter, f"  {name}{self.renames.describe(path)}")
        for old, new in self._moved:
            names = (shown_path(path, self.config.rootpath) for path in (old, new))
            write_line(terminalreporter, f"Its requests are sent by another test now: moved {' to '.join(names)}")
        for line in exchanged:
            write_line(terminalreporter, line)
        if has_unused and not removes_unused:
            write_line(terminalreporter, "Re-run pytest with --snapshot-update to remove them.")

    def _removes_unused(self) -> bool:
        return self._is_set("update_snapshots") and not self._is_set("no_cleanup")

    def _is_set(self, name: str) -> bool:
        """Whether a flag is set that pytest or syrupy declares; `-p no:NAME` removes the options of a plugin."""
        return bool(self.config.getoption(name, False))

    def _find_uses_of_cases(self) -> Uses:
        names_provider = provider_named_on_command_line(self.config)
        files = () if names_provider else [(file, self._selected[file.path]) for file in self._files.values()]
        return uses_of_eval_files(files, self.config.rootpath)

    def _find_unused(self) -> list[Path]:
        """The unused snapshots of the eval files whose cases are all valid and were all selected."""
        if provider_named_on_command_line(self.config):
            return []
        return [
            path
            for file in self._files.values()
            if file.is_complete and self._selected[file.path] == file.node_ids
            for path in unused_snapshots(file.snapshot_folder, file.stems)
        ]

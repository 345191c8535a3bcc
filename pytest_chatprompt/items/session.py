"""The eval session: what the eval files of a run share, and what happens when the run ends.

An `EvalSession` is registered as a plugin when the first eval file is collected, so that runs without one pay for none
of its hooks. It owns the reader of attached files, the redactor and the stand-in of the APIs, and it reports or removes
unused snapshots. `plugin` and `fixtures` call it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.items.broken_files import BrokenFiles
from pytest_chatprompt.items.file import EvalFile
from pytest_chatprompt.items.file_warnings import FileWarnings
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.network_hooks import NetworkHooks
from pytest_chatprompt.items.own_snapshot_uses import OwnSnapshotUses
from pytest_chatprompt.items.redaction_hooks import RedactionHooks
from pytest_chatprompt.items.report_hooks import ReportHooks
from pytest_chatprompt.items.run_reader import run_reader
from pytest_chatprompt.items.snapshot_renames import SnapshotRenames
from pytest_chatprompt.items.tags import TagUses
from pytest_chatprompt.items.warning_hooks import WarningHooks
from pytest_chatprompt.options import options_key, provider_named_on_command_line
from pytest_chatprompt.snapshots.files import remove_snapshot, remove_temporary_files
from pytest_chatprompt.snapshots.names import is_recording
from pytest_chatprompt.snapshots.unused import unused_snapshots
from pytest_chatprompt.wording import shown_path

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.capture.pass_through import PassThroughRouter
    from pytest_chatprompt.prompt.file_reader import FileReader

_NAME: Final = "chatprompt-session"


@dataclass(eq=False)
class EvalSession:
    """What the eval files of a run share.

    Args:
        config: the run's configuration.
        redactor: the secrets of the run.
        network: keeps the eval items offline.
        unused: snapshots whose case or provider is no longer defined.
        unused_of_tests: snapshots of ordinary tests that no test compares with.
        is_incomplete: whether something was not collected or not run, so that no snapshot can be called unused.
        renames: which unused snapshots show what new ones do.
    """

    config: pytest.Config
    redactor: Redactor
    network: NetworkHooks
    unused: set[Path] = field(default_factory=set)
    unused_of_tests: set[Path] = field(default_factory=set)
    is_incomplete: bool = False
    renames: SnapshotRenames = field(default_factory=SnapshotRenames)
    _router: PassThroughRouter | None = None
    _api: EvalAPI | None = None
    _moved: list[tuple[Path, Path]] = field(default_factory=list)
    _own_snapshots: OwnSnapshotUses = field(default_factory=OwnSnapshotUses)
    _is_disabled_by_user: bool = False
    _selected: dict[Path, set[str]] = field(default_factory=lambda: defaultdict(set))
    _files: dict[Path, EvalFile] = field(default_factory=dict)

    @classmethod
    def get(cls, config: pytest.Config) -> Self:
        """The session of a run; the first call makes and registers it."""
        session: Self | None = config.pluginmanager.get_plugin(_NAME)
        if session is None:
            options = config.stash[options_key]
            session = cls(config, Redactor(os.environ, options.allowed_secrets), NetworkHooks(config))
            config.pluginmanager.register(session, _NAME)
            redaction = RedactionHooks(config, session.redactor)
            redaction.install()
            config.pluginmanager.register(session.network, "chatprompt-network")
            config.pluginmanager.register(redaction, "chatprompt-redaction")
            config.pluginmanager.register(ReportHooks(config, session.network, session.redactor), "chatprompt-reports")
            config.pluginmanager.register(WarningHooks(), "chatprompt-warnings")
            config.pluginmanager.register(BrokenFiles(config), "chatprompt-broken-files")
            config.pluginmanager.register(session._own_snapshots, "chatprompt-own-snapshots")
            if options.live:
                from pytest_chatprompt.items.live_run import LIVE_RUN, LiveRun  # noqa: PLC0415

                live = LiveRun(
                    config, options, reader=session.reader(), redactor=session.redactor, router=session.router()
                )
                config.pluginmanager.register(live, LIVE_RUN)
        return session

    # What only running a case needs is imported by the first case that runs. These are methods, because pytest looks at
    # every attribute of a registered plugin, and pytest 8.2 asks properties for their values.

    def reader(self) -> FileReader:
        """The reader of attached files; it reads each file once in a run."""
        return run_reader(self.config)

    def router(self) -> PassThroughRouter:
        """The router that captures requests of a live run."""
        from pytest_chatprompt.capture.pass_through import PassThroughRouter  # noqa: PLC0415

        if self._router is None:
            self._router = PassThroughRouter(self.redactor)
        return self._router

    def own_snapshots(self) -> OwnSnapshotUses:
        """What ordinary tests did with their snapshots."""
        return self._own_snapshots

    def new_eval_api(self) -> EvalAPI:
        """A stand-in of the APIs without routes and calls: the last one again if it is unused so far."""
        from pytest_chatprompt.capture.eval_api import EvalAPI  # noqa: PLC0415

        if self._api is None or self._api.routes or self._api.was_used:
            self._api = EvalAPI(self.redactor, goes_live=self.config.stash[options_key].live)
        self._api.reset()
        self._api.clear_sent()
        return self._api

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Put the provider of a case with several, and its row, into the ids of its items, before other parameters."""
        parameters = getattr(metafunc.function, "parameters_in_front", None)
        if parameters and isinstance(metafunc.definition.parent, EvalFile):
            for name, value in parameters.items():
                metafunc.parametrize(name, [value])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which items were selected, and warn about what is probably a mistake in an eval file."""
        # Each worker of pytest-xdist collects all files; the first one warns.
        if getattr(self.config, "workerinput", {"workerid": "gw0"})["workerid"] == "gw0":
            FileWarnings.of(self.config).warn()
            TagUses.of(self.config).warn()
        # No test has run yet, so a failure is a file that could not be collected.
        self.is_incomplete = session.testsfailed > 0
        for item in session.items:
            if isinstance(item, EvalItem) and isinstance(item.parent, EvalFile):
                self._files[item.path] = item.parent
                self._selected[item.path].add(item.nodeid)
        self._own_snapshots.note_selected(session)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Find the unused snapshots; an incomplete run has none, neither of ours nor of syrupy's.

        After a run that ended early, syrupy takes every snapshot that was not asserted for unused, and deletes it with
        `--snapshot-update`.
        """
        option = self.config.option
        ended_normally = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        runs_nothing = option.collectonly or option.setuponly or option.setupplan
        stopped = session.shouldfail or session.shouldstop
        options = self.config.stash[options_key]
        # What a revision has more shows in git, as deleted files.
        compares_nothing = options.show or options.against is not None
        incomplete = (self.is_incomplete, not ended_normally, runs_nothing, stopped, compares_nothing)
        self.is_incomplete = any(incomplete)
        if option.update_snapshots:
            for file in self._files.values():
                remove_temporary_files(file.snapshot_folder)
        self._is_disabled_by_user = option.disable_unused_snapshots
        option.disable_unused_snapshots = self._is_disabled_by_user or self.is_incomplete
        self.unused = set() if option.disable_unused_snapshots else self.unused | set(self._find_unused())
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["chatprompt"] = {
                "unused": [str(path) for path in self.unused],
                "created": [str(path) for path in self.renames.created],
                "test_snapshots": self._own_snapshots.as_data(),
                "is_incomplete": self.is_incomplete,
                "late": self.network.collect_late(),
            }
        else:
            self.unused_of_tests = set() if option.disable_unused_snapshots else set(self._own_snapshots.find_unused())
            self._settle_unused(session)
        if self.network.collect_late() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def _settle_unused(self, session: pytest.Session) -> None:
        """Remove the unused snapshots with `--snapshot-update`; else they fail the run."""
        option = self.config.option
        unused = self.unused | self.unused_of_tests
        if self._removes_unused:
            self._take_along_recordings()
            self.renames.find_written(self.unused | self.unused_of_tests, self.config.rootpath)
            for path in self.unused | self.unused_of_tests:
                remove_snapshot(path)
        elif not option.update_snapshots and not option.warn_unused_snapshots and not all(map(is_recording, unused)):
            # An unused recording alone is no failure.
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _take_along_recordings(self) -> None:
        """Move the unused recordings whose requests other tests send now to these tests, such as renamed ones."""
        from pytest_chatprompt.snapshots.moved_recordings import Senders  # noqa: PLC0415

        unused = self.unused | self.unused_of_tests
        recordings = sorted(filter(is_recording, unused))
        if not recordings:
            return
        folders = {path.parent for path in unused} | {file.snapshot_folder for file in self._files.values()}
        senders = Senders([*folders, *map(Path, self._own_snapshots.modules)], self._own_snapshots.sent, unused)
        for path in recordings:
            place = senders.new_place(path, self.config.rootpath)
            if place is not None:
                self.unused.discard(path)
                self.unused_of_tests.discard(path)
            if place is not None and place != path:
                place.parent.mkdir(parents=True, exist_ok=True)
                path.rename(place)
                self._moved.append((path, place))

    def merge_worker(self, output: dict[str, Any]) -> None:
        """Add what a worker of pytest-xdist found: unused snapshots, and late attempts to reach the network.

        Args:
            output: what `pytest_sessionfinish` put into the worker's output.
        """
        self.unused.update(map(Path, output["unused"]))
        self.renames.created.update(map(Path, output["created"]))
        self._own_snapshots.merge(output["test_snapshots"])
        self.is_incomplete = self.is_incomplete or output["is_incomplete"]
        self.network.late += map(tuple, output["late"])

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Report which snapshots are unused, or were removed."""
        # Otherwise syrupy, whose summary comes next, would print that the user has switched it off.
        self.config.option.disable_unused_snapshots = self._is_disabled_by_user
        pronoun = "it" if len(self.unused_of_tests) == 1 else "them"
        unused = (
            (self.unused, "eval snapshot", "the case or the provider is no longer defined"),
            (self.unused_of_tests, "snapshot", f"no test compares with {pronoun}"),
        )
        if not self._moved and not any(paths for paths, _, _ in unused):
            return
        if not self._removes_unused:
            self.renames.find_sent(self.unused | self.unused_of_tests, terminalreporter)
        terminalreporter.write_sep("-", "eval snapshots")
        state = "removed" if self._removes_unused else "unused"
        for paths, noun, reason in unused:
            if paths:
                nouns = noun if len(paths) == 1 else f"{noun}s"
                terminalreporter.write_line(f"{len(paths)} {nouns} {state}: {reason}.")
            for path in sorted(paths):
                name = shown_path(path, self.config.rootpath)
                terminalreporter.write_line(f"  {name}{self.renames.describe(path)}")
        for old, new in self._moved:
            names = (shown_path(path, self.config.rootpath) for path in (old, new))
            terminalreporter.write_line(f"Its requests are sent by another test now: moved {' to '.join(names)}")
        if not self._removes_unused:
            terminalreporter.write_line("Re-run pytest with --snapshot-update to remove them.")

    @property
    def _removes_unused(self) -> bool:
        return bool(self.config.option.update_snapshots and not self.config.option.no_cleanup)

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

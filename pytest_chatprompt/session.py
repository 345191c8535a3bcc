"""What a run with eval files keeps, and what it does at its end.

An `EvalSession` is registered as a plugin when the first eval file is collected, so that runs without one
pay for none of its hooks; `reports` comes with it. It holds the reader of attached files, the secrets that are
known and the eval files that were loaded, and reports or removes unused snapshots.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import pytest

from pytest_chatprompt.collection import EvalFile
from pytest_chatprompt.eval_item import EvalItem
from pytest_chatprompt.options import named_on_command_line, settings_key
from pytest_chatprompt.reports import EvalReports
from pytest_chatprompt.secret_values import SecretValues
from pytest_chatprompt.templates import PROVIDER_PARAMETER
from pytest_chatprompt.unused import remove, unused_snapshots

if TYPE_CHECKING:
    from pytest_chatprompt.attachments import FileReader
    from pytest_chatprompt.eval_api import EvalAPI
    from pytest_chatprompt.tap import Tap

LIVE_RUN: Final = "chatprompt-live"


@dataclass(eq=False)
class EvalSession:
    """The part of a pytest session that eval files take.

    Args:
        config: the run's configuration.
        secrets: what must not reach a snapshot or a report.
        unused: snapshots whose case or provider is no longer defined.
        cut_short: whether something was not collected or not run that should have been.
    """

    config: pytest.Config
    secrets: SecretValues
    unused: set[Path] = field(default_factory=set)
    cut_short: bool = False
    _reader: FileReader | None = None
    _tap: Tap | None = None
    _api: EvalAPI | None = None
    _is_disabled_by_user: bool = False
    _selected: dict[Path, set[str]] = field(default_factory=lambda: defaultdict(set))
    _files: dict[Path, EvalFile] = field(default_factory=dict)

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """The session of a run, made and registered when it is first asked for."""
        name = "chatprompt-session"
        session: Self | None = config.pluginmanager.get_plugin(name)
        if session is None:
            session = cls(config, SecretValues(os.environ))
            config.pluginmanager.register(session, name)
            config.pluginmanager.register(EvalReports(config, session.secrets), "chatprompt-reports")
            settings = config.stash[settings_key]
            if settings.live:
                from pytest_chatprompt.live import LiveRun  # noqa: PLC0415

                live = LiveRun(config, settings, session)
                config.pluginmanager.register(live, LIVE_RUN)
        return session

    # What only a case that runs needs is imported when the first asks for it. Methods, because pytest looks at every
    # attribute of a plugin that is registered, and 8.2 asks properties for their values.

    def reader(self) -> FileReader:
        """Reads the files that cases name, each once."""
        from pytest_chatprompt.attachments import FileReader  # noqa: PLC0415

        if self._reader is None:
            self._reader = FileReader(self.config.rootpath)
        return self._reader

    def tap(self) -> Tap:
        """Sees what leaves in a live run."""
        from pytest_chatprompt.tap import Tap  # noqa: PLC0415

        if self._tap is None:
            self._tap = Tap(self.secrets)
        return self._tap

    def fresh_api(self) -> EvalAPI:
        """A stand-in of the APIs without routes and calls: the last one again, if it is as good as new."""
        from pytest_chatprompt.eval_api import EvalAPI  # noqa: PLC0415

        if self._api is None or self._api.routes or self._api.was_active:
            self._api = EvalAPI(self.secrets)
        self._api.reset()
        self._api.forget()
        return self._api

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Put the provider of a list into the id of its items, in front of all other parameters."""
        name = getattr(metafunc.function, "provider_in_id", None)
        if name is not None and isinstance(metafunc.definition.parent, EvalFile):
            metafunc.parametrize(PROVIDER_PARAMETER, [name])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Take down which cases were selected."""
        # Nothing has run yet, so what failed is a file that could not be collected.
        self.cut_short = session.testsfailed > 0
        for item in session.items:
            if isinstance(item, EvalItem):
                file = item.file
                self._files[file.path] = file
                self._selected[file.path].add(item.nodeid)

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> Generator[None, Any, Any]:
        """Settle the unused snapshots, and keep syrupy from settling its own after a run that was cut short.

        Of a run that ended early syrupy takes what was not asserted for unused, and deletes it when updating.
        """
        option = self.config.option
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        runs_nothing = option.collectonly or option.setuponly or option.setupplan
        stopped = session.shouldfail or session.shouldstop
        self.cut_short = bool(self.cut_short or not ended or runs_nothing or stopped)
        self._is_disabled_by_user = option.disable_unused_snapshots
        option.disable_unused_snapshots = self._is_disabled_by_user or self.cut_short
        self.unused = set() if option.disable_unused_snapshots else self.unused | set(self._find_unused())
        if hasattr(self.config, "workeroutput"):
            self.config.workeroutput["chatprompt"] = {
                "unused": [str(path) for path in self.unused],
                "cut_short": self.cut_short,
            }
        elif self._removes:
            for path in self.unused:
                remove(path)
        elif self.unused and not option.update_snapshots and not option.warn_unused_snapshots:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def take_over(self, found: dict[str, Any]) -> None:
        """Add what a worker of pytest-xdist found out."""
        self.unused.update(map(Path, found["unused"]))
        self.cut_short = self.cut_short or found["cut_short"]

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which snapshots are unused, or were removed."""
        # Syrupy, whose summary comes after this one, would print that the user switched it off.
        self.config.option.disable_unused_snapshots = self._is_disabled_by_user
        if not self.unused:
            return
        count = len(self.unused)
        noun = "eval snapshot" if count == 1 else "eval snapshots"
        terminalreporter.write_sep("-", "eval snapshots")
        said = "removed" if self._removes else "unused"
        terminalreporter.write_line(f"{count} {noun} {said}: the case or the provider is no longer defined.")
        for path in sorted(self.unused):
            inside = path.is_relative_to(self.config.rootpath)
            terminalreporter.write_line(f"  {path.relative_to(self.config.rootpath) if inside else path}")
        if not self._removes:
            terminalreporter.write_line("Re-run pytest with --snapshot-update to remove them.")

    @property
    def _removes(self) -> bool:
        return bool(self.config.option.update_snapshots and not self.config.option.no_cleanup)

    def _find_unused(self) -> list[Path]:
        """Those of the files that this run loaded whole and selected whole."""
        if named_on_command_line(self.config):
            return []
        return [
            path
            for file in self._files.values()
            if file.is_whole and self._selected[file.path] == file.node_ids
            for path in unused_snapshots(file.snapshot_folder, file.stems)
        ]

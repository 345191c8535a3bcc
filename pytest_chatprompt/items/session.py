"""The eval session: what the eval files and tests of a run share.

An `EvalSession` is registered as a plugin when the first eval file is collected, or when a test asks for what it owns,
so that other runs pay for none of its hooks. It owns the reader of attached files, the redactor and the stand-in of the
APIs, registers the plugins that have the other hooks, and merges what workers of pytest-xdist found. `plugin`,
`fixtures`, `code_case` and `own_snapshots` call it.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.items.broken_files import BrokenFiles
from pytest_chatprompt.items.file import EvalFile
from pytest_chatprompt.items.file_warnings import FileWarnings
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.kept_objects import KeptObjects
from pytest_chatprompt.items.live_plugin import LIVE_RUN
from pytest_chatprompt.items.network_hooks import NetworkHooks
from pytest_chatprompt.items.pytest_report_hooks import ReportHooks
from pytest_chatprompt.items.redaction_hooks import RedactionHooks
from pytest_chatprompt.items.report_redactor import ReportRedactor
from pytest_chatprompt.items.shared_file_reader import shared_file_reader
from pytest_chatprompt.items.tags import TagUses
from pytest_chatprompt.items.unused_snapshots import UnusedSnapshots
from pytest_chatprompt.items.warning_hooks import WarningHooks
from pytest_chatprompt.options import options_key

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
    from pytest_chatprompt.prompt.file_reader import FileReader

_NAME: Final = "chatprompt-session"


@dataclass(eq=False)
class EvalSession:
    """What the eval files of a run share.

    Args:
        config: the run's configuration.
        redactor: the secrets of the run.
        network: keeps the eval items offline.
        unused_snapshots: finds the snapshots that nothing of the run uses.
    """

    config: pytest.Config
    redactor: Redactor
    network: NetworkHooks
    unused_snapshots: UnusedSnapshots
    _router: LiveCaptureRouter | None = None
    _api: EvalAPI | None = None

    @classmethod
    def get(cls, config: pytest.Config) -> Self:
        """The session of a run; the first call makes and registers it."""
        session: Self | None = config.pluginmanager.get_plugin(_NAME)
        if session is None:
            options = config.stash[options_key]
            redactor = Redactor(os.environ, options.allowed_secrets)
            session = cls(config, redactor, NetworkHooks(config), UnusedSnapshots(config, redactor))
            config.pluginmanager.register(session, _NAME)
            redaction = RedactionHooks(config, ReportRedactor(session.redactor))
            redaction.install()
            config.pluginmanager.register(session.network, "chatprompt-network")
            config.pluginmanager.register(redaction, "chatprompt-redaction")
            config.pluginmanager.register(ReportHooks(config, session.network, session.redactor), "chatprompt-reports")
            config.pluginmanager.register(WarningHooks(), "chatprompt-warnings")
            config.pluginmanager.register(BrokenFiles(config), "chatprompt-broken-files")
            config.pluginmanager.register(KeptObjects(), "chatprompt-kept-objects")
            config.pluginmanager.register(session.unused_snapshots, "chatprompt-unused-snapshots")
            if options.estimates:
                from pytest_chatprompt.items.estimated_run import ESTIMATED_RUN, EstimatedRun  # noqa: PLC0415

                config.pluginmanager.register(EstimatedRun(config, session.redactor), ESTIMATED_RUN)
            if options.live:
                from pytest_chatprompt.items.live_run import LiveRun  # noqa: PLC0415

                live = LiveRun(config, options, redactor=session.redactor, router=session.router())
                config.pluginmanager.register(live, LIVE_RUN)
        return session

    # What only running a case needs is imported by the first case that runs. These are methods, because pytest looks at
    # every attribute of a registered plugin, and pytest 8.2 asks properties for their values.

    def reader(self) -> FileReader:
        """The reader of attached files; it reads each file once in a run."""
        return shared_file_reader(self.config)

    def router(self) -> LiveCaptureRouter:
        """The router that captures requests of a live run."""
        from pytest_chatprompt.capture.live_capture import LiveCaptureRouter  # noqa: PLC0415

        if self._router is None:
            self._router = LiveCaptureRouter(self.redactor)
        return self._router

    def new_eval_api(self, *, is_read: bool) -> EvalAPI:
        """A stand-in of the APIs without routes and calls: the last one again if it is unused so far.

        Args:
            is_read: whether anybody may read what was sent.
        """
        from pytest_chatprompt.capture.eval_api import EvalAPI  # noqa: PLC0415

        if self._api is None or self._api.routes or self._api.was_used:
            options = self.config.stash[options_key]
            self._api = EvalAPI(self.redactor, placeholders=options.placeholders, goes_live=options.live)
        if self._api.is_read or len(self._api.log):
            self._api.reset()
            self._api.clear_sent()
        self._api.is_read = is_read
        return self._api

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Put the provider of a case with several, and its row, into the ids of its items, before other parameters."""
        parameters = getattr(metafunc.function, "parameters_in_front", None)
        if parameters and isinstance(metafunc.definition.parent, EvalFile):
            for name, value in parameters.items():
                metafunc.parametrize(name, [value])

    def pytest_collection_finish(self) -> None:
        """Warn about what is probably a mistake in an eval file."""
        # Each worker of pytest-xdist collects all files; the first one warns.
        if getattr(self.config, "workerinput", {"workerid": "gw0"})["workerid"] == "gw0":
            FileWarnings.of(self.config).warn()
            TagUses.of(self.config).warn()

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Fail a run in which something tried to reach the network too late; give the controller what was found."""
        if self.config.option.collectonly:
            _hide_parameters(session)
        try:
            return (yield)
        finally:
            # After fixtures of the session are torn down, and before pytest-xdist sends the output of a worker.
            self.network.end(session)
            if hasattr(self.config, "workeroutput"):
                data = self.unused_snapshots.as_data()
                self.config.workeroutput["chatprompt"] = {**data, "late": self.network.late}

    def merge_worker(self, output: dict[str, Any]) -> None:
        """Add what a worker of pytest-xdist found: unused snapshots, and late attempts to reach the network.

        Args:
            output: what `pytest_sessionfinish` put into the worker's output.
        """
        self.unused_snapshots.merge(output)
        self.network.late += map(tuple, output["late"])


def _hide_parameters(session: pytest.Session) -> None:
    """Take from eval items what shows that they are parametrized: no fixture needs it after the collection.

    VS Code's collector takes what has it for one of a Python file, and without `.py` in its id finds no test at all:
    https://github.com/microsoft/vscode-python/blob/main/python_files/vscode_pytest/__init__.py.
    """
    for item in session.items:
        if isinstance(item, EvalItem):
            vars(item).pop("callspec", None)

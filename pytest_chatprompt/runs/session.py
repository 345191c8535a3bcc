"""The eval session: the plugin that has the hooks of a run with eval files or tests of own code, and registers others.

It is registered when the first eval file is collected, or when a test asks for what it gives, so that other runs pay
for none of its hooks.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from typing import Any, Final, Self

import pytest

from pytest_chatprompt.errors import EvalFileWarning
from pytest_chatprompt.options import collected_key, options_key
from pytest_chatprompt.runs.file import EvalFile
from pytest_chatprompt.runs.item import ITEM_PARAMETER, EvalItem
from pytest_chatprompt.runs.network_hooks import NetworkHooks
from pytest_chatprompt.runs.report_hooks import ReportHooks
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.runs.unused_snapshots import UnusedSnapshots
from pytest_chatprompt.wording import count, grouped

_MARK: Final = ": PayloadWarning: "
_MAX_LOCATIONS: Final = 3
_NAME: Final = "chatprompt-session"


class EvalSession:
    """What the eval files of a run share."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.redactor = SharedByRun.of(config).redactor
        self.network = NetworkHooks(config, self.redactor)
        self.unused_snapshots = UnusedSnapshots(config)

    @classmethod
    def get(cls, config: pytest.Config) -> Self:
        """The session of a run; the first call makes and registers it."""
        session: Self | None = config.pluginmanager.get_plugin(_NAME)
        if session is None:
            options = config.stash[options_key]
            session = cls(config)
            config.pluginmanager.register(session, _NAME)
            config.pluginmanager.register(session.network, "chatprompt-network")
            config.pluginmanager.register(ReportHooks(config, session.network, session.redactor), "chatprompt-reports")
            config.pluginmanager.register(session.unused_snapshots, "chatprompt-unused-snapshots")
            if options.estimates:
                from pytest_chatprompt.runs.estimated_run import ESTIMATED_RUN, EstimatedRun  # noqa: PLC0415

                config.pluginmanager.register(EstimatedRun(config), ESTIMATED_RUN)
            if options.live:
                from pytest_chatprompt.runs.live_run import LIVE_RUN, LiveRun  # noqa: PLC0415

                config.pluginmanager.register(LiveRun(config), LIVE_RUN)
        return session

    @pytest.hookimpl(tryfirst=True)
    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Keep a place in the ids of eval items for the provider of a case with several, and its row."""
        if isinstance(metafunc.definition.parent, EvalFile):
            metafunc.parametrize(ITEM_PARAMETER, [ITEM_PARAMETER])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Issue what eval files warn about, at their lines; run the others also if some could not be loaded."""
        collected = self.config.stash.get(collected_key, [])
        failed = sum(isinstance(collector, EvalFile) and report.failed for collector, report, _ in collected)
        if session.testsfailed == failed:
            # Eval files are data, and no test imports them.
            self.config.option.continue_on_collection_errors = True
        # Each worker of pytest-xdist collects all files; the first one warns.
        warns = getattr(self.config, "workerinput", {"workerid": "gw0"})["workerid"] == "gw0"
        for diagnostic in SharedByRun.of(self.config).file_warnings if warns else ():
            text = f"case {diagnostic.case_id!r}: {diagnostic.text}" if diagnostic.case_id else diagnostic.text
            path, line = str(self.config.rootpath / diagnostic.path), diagnostic.line
            try:
                warnings.warn_explicit(EvalFileWarning(text), category=None, filename=path, lineno=line)
            except EvalFileWarning:
                # Collection is done, so pytest would report any other exception as an error of its own.
                raise pytest.UsageError(f"{path}:{line}: {text}") from None

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """Fail a run in which something tried to reach the network too late; give the controller what was found."""
        _merge_warnings(self.config)
        # No fixture needs it after the collection. VS Code's collector takes what has it for an item of a Python file,
        # and without `.py` in its id finds no test at all:
        # https://github.com/microsoft/vscode-python/blob/main/python_files/vscode_pytest/__init__.py
        for item in session.items if self.config.option.collectonly else ():
            if isinstance(item, EvalItem):
                vars(item).pop("callspec", None)
        try:
            return (yield)
        finally:
            # After fixtures of the session are torn down, and before pytest-xdist sends the output of a worker.
            if self.network.late and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            if hasattr(self.config, "workeroutput"):
                import pickle  # noqa: PLC0415 - most runs have no workers

                output = pickle.dumps((self.unused_snapshots.facts, self.network.late))
                self.config.workeroutput["chatprompt"] = output

    def merge_worker(self, output: bytes) -> None:
        """Add what a worker of pytest-xdist found: unused snapshots, and late attempts to reach the network."""
        import pickle  # noqa: PLC0415 - see above

        facts, late = pickle.loads(output)  # noqa: S301 - it comes from a process of this run
        self.unused_snapshots.facts.merge(facts)
        self.network.late |= late


def _merge_warnings(config: pytest.Config) -> None:
    """Merge equal preflight warnings into the first, which names the places of the others."""
    # The summary of warnings is written before any `pytest_terminal_summary` of a plugin is called.
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    reports = [] if reporter is None else reporter.stats.get("warnings", [])
    told = ((report.message.partition(_MARK), report) for report in reports)
    # Below the text stands the line of the file.
    groups = grouped((text.partition("\n")[0], report) for (_, mark, text), report in told if mark)
    merged = {id(report) for group in groups.values() for report in group[1:]}
    reports[:] = [report for report in reports if id(report) not in merged]
    for first, *others in groups.values():
        # A place that is shared, such as a setting of the file, is named once.
        _, *places = dict.fromkeys(report.message.partition(_MARK)[0] for report in (first, *others))
        shown = ", ".join(places[:_MAX_LOCATIONS]) + (", ..." if len(places) > _MAX_LOCATIONS else "")
        if others:
            noun = "more test" if ".py:" in others[0].message.partition(_MARK)[0] else "more case"
            more = f"The same for {count(len(others), noun)}" + (f": {shown}" if shown else "")
            first.message = f"{first.message.rstrip()}\n{more}"

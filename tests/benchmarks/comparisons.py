"""The comparisons: which two runs are measured against each other, and which ratio is allowed.

A row of the table of `make bench` is one `Comparison`: a run of this plugin, the subject, against a baseline.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.benchmarks import peers
from tests.benchmarks.process import Measurement, measure_process
from tests.benchmarks.project import Project

_ROOT: Final = Path(__file__).parents[2]
_PEERS_BIN: Final = _ROOT / ".venv-peers" / "bin"
_PYTEST: Final = (sys.executable, "-m", "pytest", "-q")
# Only the named plugins are loaded, not others that happen to be installed.
_ENVIRONMENT: Final = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(_ROOT)}
_PYTEST_WITH_SYRUPY: Final = (*_PYTEST, "-p", "respx", "-p", "syrupy")
_CHATPROMPT: Final = "chatprompt"
_FLOOR: Final = "tests.benchmarks.floor"
_SNAPSHOTS: Final = "__snapshots__"


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a command that is run on a project.

    Args:
        program: the program and its first arguments; with `--snapshot-update` it writes the snapshots.
        arguments: further arguments of the measured runs.
        expected_output: a text that its output must contain; `{items}` stands for the number of items.
        environment: variables to add.
        starts_without_snapshots: whether the snapshots are removed before each run; otherwise they are written once.
    """

    program: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    expected_output: str = "{items} passed"
    environment: Mapping[str, str] = field(default_factory=lambda: _ENVIRONMENT)
    starts_without_snapshots: bool = False

    def prepare(self, folder: Path, project: Project) -> None:
        """Write the project, and its snapshots if the runs need them."""
        project.write(folder)
        if not self.starts_without_snapshots:
            command = (*self.program, "--snapshot-update")
            measure_process(command, folder, self.environment, f"{project.items} passed")

    def run(self, folder: Path, items: int) -> Measurement:
        """Run the command once and measure it."""
        if self.starts_without_snapshots:
            shutil.rmtree(folder / _SNAPSHOTS, ignore_errors=True)
        expected_output = self.expected_output.format(items=items)
        return measure_process((*self.program, *self.arguments), folder, self.environment, expected_output)

    @property
    def is_installed(self) -> bool:
        """Whether its program exists."""
        return Path(self.program[0]).exists()


@dataclass(frozen=True)
class Peer(Side):
    """Another tool that users might choose instead, with cases in its own format.

    Args:
        write: writes a number of trivial cases into a folder.
    """

    write: Callable[[Path, int], None] = field(kw_only=True)

    def prepare(self, folder: Path, project: Project) -> None:
        """Write the cases, and run them once, so that compiling and filling caches is not measured."""
        self.write(folder, project.cases)
        self.run(folder, project.cases)


@dataclass(frozen=True)
class WithoutRows(Side):
    """A run of the same project, where each row is a case."""

    def prepare(self, folder: Path, project: Project) -> None:
        """Write the cases, and their snapshots if the runs need them."""
        super().prepare(folder, replace(project, has_rows=False))


@dataclass(frozen=True)
class Comparison:
    """Two runs of the same project.

    Args:
        name: the name of its row in the table.
        project: the project that is run.
        subject: a run of this plugin.
        baseline: the run that it is compared with.
        budget: the largest allowed ratio of CPU seconds; `None` for no limit.
        runs: how many times each side runs.
    """

    name: str
    project: Project
    subject: Side
    baseline: Side
    budget: float | None = None
    runs: int = 3

    @property
    def items(self) -> int:
        """How many items pytest collects in the project."""
        return self.project.items


def _with_plugin(
    plugin: str,
    *arguments: str,
    expected_output: str = "{items} passed",
    starts_without_snapshots: bool = False,
) -> Side:
    """A run of pytest with one plugin that collects eval files."""
    program = (*_PYTEST_WITH_SYRUPY, "-p", plugin)
    return Side(program, arguments, expected_output, starts_without_snapshots=starts_without_snapshots)


def _against_floor(
    name: str,
    project: Project,
    *arguments: str,
    expected_output: str = "{items} passed",
    starts_without_snapshots: bool = False,
    budget: float | None = None,
    runs: int = 3,
) -> Comparison:
    """Compare a run of this plugin with the same run of the floor."""
    subject, baseline = (
        _with_plugin(
            plugin, *arguments, expected_output=expected_output, starts_without_snapshots=starts_without_snapshots
        )
        for plugin in (_CHATPROMPT, _FLOOR)
    )
    return Comparison(name, project, subject, baseline, budget, runs)


_COLLECTED: Final = "{items} tests collected"
_NO_EVAL_FILE: Final = Project(0)
_LARGE: Final = Project(20_000)

COMPARE_BY_SIZE: Final = {
    size: _against_floor(
        f"compare {size:,}", Project(size), budget=1.5 if size == 5_000 else None, runs=2 if size > 5_000 else 3
    )
    for size in (100, 1_000, 5_000, 20_000)
}
_UPDATE: Final = [
    _against_floor(
        f"update {size:,}",
        Project(size),
        "--snapshot-update",
        starts_without_snapshots=True,
        budget=1.7 if size == 5_000 else None,
        runs=2 if size > 5_000 else 3,
    )
    for size in (100, 1_000, 5_000, 20_000)
]
_COLLECT: Final = [
    _against_floor(
        f"collect {size:,}",
        Project(size),
        "--collect-only",
        expected_output=_COLLECTED,
        starts_without_snapshots=True,
        budget=1.3 if size >= 5_000 else None,
        runs=5,
    )
    for size in (100, 1_000, 5_000, 20_000)
]
# After a run of some of the cases, syrupy's search for unused snapshots takes too long for a larger project.
_HALF: Final = _against_floor(
    "compare a half of 1,000 (-m)", Project(1_000), "-m", "half", expected_output="500 passed, 500 desel", runs=3
)
_HALF_AGAINST_ALL: Final = Comparison(
    "compare a half of 20,000 (-m), against all of 20,000",
    _LARGE,
    _with_plugin(_CHATPROMPT, "-m", "half", expected_output="10000 passed, 10000 deselected"),
    _with_plugin(_CHATPROMPT),
    runs=3,
)
_ROWS: Final = [
    Comparison(
        f"{name} {size:,} rows, against as many cases",
        Project(size, has_rows=True),
        Side((*_PYTEST_WITH_SYRUPY, "-p", _CHATPROMPT), arguments, output, starts_without_snapshots=bool(arguments)),
        WithoutRows(
            (*_PYTEST_WITH_SYRUPY, "-p", _CHATPROMPT), arguments, output, starts_without_snapshots=bool(arguments)
        ),
        budget,
        runs=3,
    )
    for name, size, arguments, output, budget in (
        ("collect", 20_000, ("--collect-only",), _COLLECTED, 1.0),
        ("compare", 5_000, (), "{items} passed", 1.2),
    )
]
_SINGLE_ROWS: Final = [
    _against_floor("compare 5,000 in 500 files", Project(5_000, files=500)),
    _against_floor(
        "collect 5,000 in 500 files",
        Project(5_000, files=500),
        "--collect-only",
        expected_output=_COLLECTED,
        starts_without_snapshots=True,
        budget=1.3,
        runs=11,
    ),
    _against_floor(
        "compare 1,250 through four providers", Project(1_250, providers=("openai", "azure", "anthropic", "gemini"))
    ),
    _against_floor("compare 500 of 50 turns", Project(500, turns=50)),
    _against_floor("compare 1,000 that attach 1 MB", Project(1_000, attachment_bytes=1_000_000), runs=3),
    Comparison(
        "one case of 20,000, against collecting them",
        _LARGE,
        _with_plugin(_CHATPROMPT, "f0.eval.yaml::c19999", expected_output="1 passed"),
        _with_plugin(_CHATPROMPT, "--collect-only", expected_output=_COLLECTED, starts_without_snapshots=True),
        budget=1.0,
    ),
    Comparison(
        "no eval file, against the plugin switched off",
        _NO_EVAL_FILE,
        Side(_PYTEST, environment={}),
        Side((*_PYTEST, "-p", "no:chatprompt"), environment={}),
        budget=1.0,
        runs=25,
    ),
]

_PEERS: Final = {
    "pytest-agent-eval": Peer(
        (str(_PEERS_BIN / "python"), "-m", "pytest", "-q", "-p", "pytest_agent_eval.plugin", "--agent-eval-live"),
        environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        write=peers.write_pytest_agent_eval,
    ),
    "inspect-ai": Peer(
        (
            str(_PEERS_BIN / "inspect"),
            "eval",
            "task.py",
            "--display",
            "plain",
            "--no-log-realtime",
            "--ctl-server",
            "false",
        ),
        expected_output="Samples: {items}/{items} ",
        environment={"INSPECT_LOG_DIR": "logs"},
        write=peers.write_inspect_ai,
    ),
    "promptfoo": Peer(
        (str(_PEERS_BIN.parent / "node_modules" / ".bin" / "promptfoo"), "eval"),
        ("--no-cache", "--no-write", "--no-table", "--no-progress-bar", "--no-share"),
        expected_output="{items:,} passed",
        environment={
            "PROMPTFOO_CONFIG_DIR": "state",
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
        },
        write=peers.write_promptfoo,
    ),
}
_AGAINST_PEERS: Final = [
    Comparison(f"compare 1,000, against 1,000 by {name}", Project(1_000), _with_plugin(_CHATPROMPT), side, runs=3)
    for name, side in _PEERS.items()
]

_REQUESTS: Final = Project(4_000)


def _client(name: str, answered_by: str) -> Side:
    """A process that sends requests of one client."""
    program = (sys.executable, "-m", "tests.benchmarks.clients", name, answered_by, str(_REQUESTS.items))
    return Side(program, starts_without_snapshots=True)


_CAPTURED_CLIENTS: Final = [
    Comparison(
        f"capture 4,000 requests of {name}, against its own mock",
        _REQUESTS,
        _client(name, "capture"),
        _client(name, "mock"),
        # The mock of httpx leaves out all but JSON, where an SDK has its own work to do.
        budget=None if name == "httpx" else 1.15,
        runs=5,
    )
    for name in ("openai", "openai-async", "anthropic", "httpx", "boto3")
]

COMPARISONS: Final = [
    *COMPARE_BY_SIZE.values(),
    *_UPDATE,
    *_COLLECT,
    _HALF,
    _HALF_AGAINST_ALL,
    *_ROWS,
    *_SINGLE_ROWS,
    *_CAPTURED_CLIENTS,
    *_AGAINST_PEERS,
]

"""The contests: which two runs are measured beside one another, and how large a ratio is allowed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.benchmarks import peers
from tests.benchmarks.process import Taken, take
from tests.benchmarks.project import Project

_ROOT: Final = Path(__file__).parents[2]
_PEERS: Final = _ROOT / ".venv-peers" / "bin"
_PYTEST: Final = (sys.executable, "-m", "pytest", "-q")
# What both sides have in common, and nothing else that happens to be installed.
_PLUGINS: Final = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(_ROOT)}
_COMMON: Final = (*_PYTEST, "-p", "respx", "-p", "syrupy")
SNAPSHOTS: Final = "__snapshots__"


@dataclass(frozen=True)
class Side:
    """One of the two of a contest.

    Args:
        program: the words that come first, with which it also writes its snapshots.
        arguments: the words after them.
        expected: what its output must hold; `{items}` stands for the number of items.
        environment: variables for it.
        is_bare: whether each run begins without snapshots; otherwise they are written once, before the first.
    """

    program: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    expected: str = "{items} passed"
    environment: Mapping[str, str] = field(default_factory=lambda: _PLUGINS)
    is_bare: bool = False

    def prepare(self, folder: Path, project: Project) -> None:
        """Make everything ready for the first run: the project, and its snapshots."""
        project.write(folder)
        if not self.is_bare:
            take((*self.program, "--snapshot-update"), folder, self.environment, f"{project.items} passed")

    def run(self, folder: Path, items: int) -> Taken:
        """Run it once."""
        if self.is_bare:
            shutil.rmtree(folder / SNAPSHOTS, ignore_errors=True)
        return take((*self.program, *self.arguments), folder, self.environment, self.expected.format(items=items))

    @property
    def is_installed(self) -> bool:
        """Whether its program is there."""
        return Path(self.program[0]).exists()


@dataclass(frozen=True)
class Peer(Side):
    """What a user would take instead, with cases of its own.

    Args:
        write: writes as many trivial cases as the second argument says into a folder.
    """

    write: Callable[[Path, int], None] = field(kw_only=True)

    def prepare(self, folder: Path, project: Project) -> None:
        """Write the cases, and run them once: what is compiled or kept between runs is not measured."""
        self.write(folder, project.cases)
        self.run(folder, project.cases)


@dataclass(frozen=True)
class Contest:
    """Two runs of the same project.

    Args:
        name: what the table calls it.
        project: its size.
        ours: the run that is looked at.
        other: the run that it is compared with.
        budget: the largest ratio of CPU seconds that is allowed; `None` where none was set.
        runs: how often each is run, at most.
    """

    name: str
    project: Project
    ours: Side
    other: Side
    budget: float | None = None
    runs: int = 3

    @property
    def items(self) -> int:
        """How many items the project has."""
        return self.project.items


def _ours(*arguments: str, expected: str = "{items} passed", is_bare: bool = False) -> Side:
    return Side((*_COMMON, "-p", "chatprompt"), arguments, expected, is_bare=is_bare)


def _floor(*arguments: str, expected: str = "{items} passed", is_bare: bool = False) -> Side:
    return Side((*_COMMON, "-p", "tests.benchmarks.floor"), arguments, expected, is_bare=is_bare)


def _both(
    name: str,
    project: Project,
    *arguments: str,
    expected: str = "{items} passed",
    is_bare: bool = False,
    budget: float | None = None,
    runs: int = 3,
) -> Contest:
    """A run of ours beside the same run of the floor."""
    ours, floor = (side(*arguments, expected=expected, is_bare=is_bare) for side in (_ours, _floor))
    return Contest(name, project, ours, floor, budget, runs)


_COLLECTED: Final = "{items} tests collected"
_ONE: Final = Project(0)
_LARGE: Final = Project(20_000)

COMPARE: Final = {
    size: _both(
        f"compare {size:,}", Project(size), budget=1.5 if size == 5_000 else None, runs=2 if size > 5_000 else 3
    )
    for size in (100, 1_000, 5_000, 20_000)
}
_UPDATE: Final = [
    _both(
        f"update {size:,}",
        Project(size),
        "--snapshot-update",
        is_bare=True,
        budget=1.7 if size == 5_000 else None,
        runs=2 if size > 5_000 else 3,
    )
    for size in (100, 1_000, 5_000, 20_000)
]
_COLLECT: Final = [
    _both(
        f"collect {size:,}",
        Project(size),
        "--collect-only",
        expected=_COLLECTED,
        is_bare=True,
        budget=1.3 if size >= 5_000 else None,
        runs=5,
    )
    for size in (100, 1_000, 5_000, 20_000)
]
# Syrupy takes so long to settle what is unused after a run of a part that more would be no use.
_HALF: Final = _both(
    "compare a half of 1,000 (-m)", Project(1_000), "-m", "half", expected="500 passed, 500 desel", runs=3
)
_HALF_ALONE: Final = Contest(
    "compare a half of 20,000 (-m), against all of 20,000",
    _LARGE,
    _ours("-m", "half", expected="10000 passed, 10000 deselected"),
    _ours(),
    runs=3,
)
_OTHERS: Final = [
    _both("compare 5,000 in 500 files", Project(5_000, files=500)),
    _both(
        "collect 5,000 in 500 files",
        Project(5_000, files=500),
        "--collect-only",
        expected=_COLLECTED,
        is_bare=True,
        budget=1.3,
        runs=11,
    ),
    _both("compare 1,250 through four providers", Project(1_250, providers=("openai", "azure", "anthropic", "gemini"))),
    _both("compare 500 of 50 turns", Project(500, turns=50)),
    _both("compare 1,000 that attach 1 MB", Project(1_000, attachment_bytes=1_000_000), runs=3),
    Contest(
        "one case of 20,000, against collecting them",
        _LARGE,
        _ours("f0.eval.yaml::c19999", expected="1 passed"),
        _ours("--collect-only", expected=_COLLECTED, is_bare=True),
        budget=1.0,
    ),
    Contest(
        "no eval file, against the plugin switched off",
        _ONE,
        Side(_PYTEST, environment={}),
        Side((*_PYTEST, "-p", "no:chatprompt"), environment={}),
        budget=1.0,
        runs=25,
    ),
]

_PEER_SIDES: Final = {
    "pytest-agent-eval": Peer(
        (str(_PEERS / "python"), "-m", "pytest", "-q", "-p", "pytest_agent_eval.plugin", "--agent-eval-live"),
        environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        write=peers.write_pytest_agent_eval,
    ),
    "inspect-ai": Peer(
        (
            str(_PEERS / "inspect"),
            "eval",
            "task.py",
            "--display",
            "plain",
            "--no-log-realtime",
            "--ctl-server",
            "false",
        ),
        expected="Samples: {items}/{items} ",
        environment={"INSPECT_LOG_DIR": "logs"},
        write=peers.write_inspect_ai,
    ),
    "promptfoo": Peer(
        (str(_PEERS.parent / "node_modules" / ".bin" / "promptfoo"), "eval"),
        ("--no-cache", "--no-write", "--no-table", "--no-progress-bar", "--no-share"),
        expected="{items:,} passed",
        environment={
            "PROMPTFOO_CONFIG_DIR": "state",
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
        },
        write=peers.write_promptfoo,
    ),
}
_AGAINST_PEERS: Final = [
    Contest(f"compare 1,000, against 1,000 by {name}", Project(1_000), _ours(), side, runs=3)
    for name, side in _PEER_SIDES.items()
]

CONTESTS: Final = [*COMPARE.values(), *_UPDATE, *_COLLECT, _HALF, _HALF_ALONE, *_OTHERS, *_AGAINST_PEERS]

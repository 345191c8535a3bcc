"""Comparisons: two runs that are measured against each other, and the largest ratio that is allowed.

A row of the table of `make bench` is one `Comparison`: a run of this plugin, the subject, against a baseline. The rows
are in `tests/benchmarks/rows`, a module for each group.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from tests.benchmarks.process import Measurement, measure_process
from tests.benchmarks.project import Project
from tests.benchmarks.stub_server import Replies, stub_server

ROOT: Final = Path(__file__).parents[2]
PYTEST: Final = (sys.executable, "-m", "pytest", "-q")
# Only the named plugins are loaded, not others that happen to be installed.
_ENVIRONMENT: Final = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
_PYTEST_WITH_SYRUPY: Final = (*PYTEST, "-p", "respx", "-p", "syrupy")
_CHATPROMPT: Final = "chatprompt"
_FLOOR: Final = "tests.benchmarks.floor"
_SNAPSHOTS: Final = "__snapshots__"
COLLECTED: Final = "{items} tests collected"


def _unchanged(folder: Path) -> None:
    """Leave the project as it is."""


@contextmanager
def _served(latency_seconds: float | None) -> Iterator[Mapping[str, str]]:
    """Run a stub of OpenAI's API, if one is needed, and give the variables by which clients find it."""
    if latency_seconds is None:
        yield {}
    else:
        with stub_server(Replies(), latency_seconds) as server:
            yield {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a command that is run on a project.

    Args:
        program: the program and its first arguments; with `--snapshot-update` it writes the snapshots.
        arguments: further arguments of the measured runs.
        expected_output: a text that its output must contain; `{items}` stands for the number of items.
        expected_exit: the exit status of the measured runs.
        environment: variables to add.
        starts_without_snapshots: whether the snapshots are removed before each run; otherwise they are written once.
        latency_seconds: how long a stub of OpenAI's API waits before each reply; `None` for a run without one. Its URL
            is in `OPENAI_BASE_URL`.
        alter: changes the project between writing the snapshots and the measured runs.
    """

    program: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    expected_output: str = "{items} passed"
    expected_exit: int = 0
    environment: Mapping[str, str] = field(default_factory=lambda: _ENVIRONMENT)
    starts_without_snapshots: bool = False
    latency_seconds: float | None = None
    alter: Callable[[Path], None] = _unchanged

    def prepare(self, folder: Path, project: Project) -> None:
        """Write the project, and its snapshots if the runs need them."""
        project.write(folder)
        if not self.starts_without_snapshots:
            command = (*self.program, "--snapshot-update")
            measure_process(command, folder, self.environment, f"{project.items} passed")
        self.alter(folder)

    def run(self, folder: Path, items: int) -> Measurement:
        """Run the command once and measure it."""
        if self.starts_without_snapshots:
            shutil.rmtree(folder / _SNAPSHOTS, ignore_errors=True)
        expected_output = self.expected_output.format(items=items)
        command = (*self.program, *self.arguments)
        with _served(self.latency_seconds) as variables:
            environment = {**self.environment, **variables}
            return measure_process(command, folder, environment, expected_output, self.expected_exit)

    @property
    def is_installed(self) -> bool:
        """Whether its program exists."""
        return Path(self.program[0]).exists()


@dataclass(frozen=True)
class OtherProject(Side):
    """A run of the same project with something else about it, such as a case for each row.

    Args:
        differs_in: arguments of `Project` that replace those of the comparison's.
    """

    differs_in: Mapping[str, Any] = field(kw_only=True)

    def prepare(self, folder: Path, project: Project) -> None:
        """Write the other project, and its snapshots if the runs need them."""
        super().prepare(folder, replace(project, **self.differs_in))


@dataclass(frozen=True)
class Waiting(Side):
    """A run, and then nothing but waiting: the least that sending many requests can take.

    Args:
        waiting_seconds: how long.
    """

    waiting_seconds: float = field(kw_only=True)

    def run(self, folder: Path, items: int) -> Measurement:
        """Run the command, and add the time."""
        measurement = super().run(folder, items)
        return replace(measurement, wall_seconds=measurement.wall_seconds + self.waiting_seconds)


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
class Comparison:
    """Two runs of the same project.

    Args:
        name: the name of its row in the table.
        project: the project that is run.
        subject: a run of this plugin.
        baseline: the run that it is compared with.
        budget: the largest allowed ratio; `None` for no limit.
        runs: how many times each side runs.
        of: what is compared: CPU seconds, or, for what waits, seconds from start to end.
        most_mib: how much memory the subject may take; `None` for no limit.
        is_quick: whether it is part of `make bench-quick`.
    """

    name: str
    project: Project
    subject: Side
    baseline: Side
    budget: float | None = None
    runs: int = 3
    of: Literal["cpu", "wall"] = "cpu"
    most_mib: float | None = None
    is_quick: bool = False

    @property
    def items(self) -> int:
        """How many items pytest collects in the project."""
        return self.project.items


def with_plugin(*arguments: str, plugin: str = _CHATPROMPT, **more: Any) -> Side:
    """A run of pytest with one plugin that collects eval files: this one, if no other is named.

    Args:
        arguments: of pytest.
        plugin: its name.
        more: arguments of `Side`.
    """
    return Side((*_PYTEST_WITH_SYRUPY, "-p", plugin), arguments, **more)


def with_other_project(*arguments: str, differs_in: Mapping[str, Any], **more: Any) -> Side:
    """A run of this plugin on another project than that of the comparison."""
    return OtherProject((*_PYTEST_WITH_SYRUPY, "-p", _CHATPROMPT), arguments, differs_in=differs_in, **more)


def with_floor(*arguments: str, **more: Any) -> Side:
    """A run of the floor, with arguments of pytest and of `Side`."""
    return with_plugin(*arguments, plugin=_FLOOR, **more)


def against_floor(
    name: str,
    project: Project,
    *arguments: str,
    expected_output: str = "{items} passed",
    starts_without_snapshots: bool = False,
    **more: Any,
) -> Comparison:
    """Compare a run of this plugin with the same run of the floor.

    Args:
        name: of the row.
        project: for both.
        arguments: of both runs.
        expected_output: of both runs.
        starts_without_snapshots: whether both runs do.
        more: arguments of `Comparison`.
    """
    subject, baseline = (
        side(*arguments, expected_output=expected_output, starts_without_snapshots=starts_without_snapshots)
        for side in (with_plugin, with_floor)
    )
    return Comparison(name, project, subject, baseline, **more)


def collecting(name: str, project: Project, **more: Any) -> Comparison:
    """Compare collecting a project with the same of the floor."""
    return against_floor(
        name, project, "--collect-only", expected_output=COLLECTED, starts_without_snapshots=True, **more
    )

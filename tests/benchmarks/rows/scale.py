"""100,000 cases in one repository: a hundred files of a thousand cases."""

from __future__ import annotations

from typing import Final

from tests.benchmarks.comparison import Comparison, against_floor, collecting, with_plugin
from tests.benchmarks.project import Project

_HUGE: Final = Project(100_000, files=100)

ROWS: Final = [
    collecting("collect 100,000 in 100 files", _HUGE, budget=1.3, runs=1, most_mib=800),
    Comparison(
        "one case of 100,000, against collecting them",
        _HUGE,
        with_plugin("f99.eval.yaml::c99999", expected_output="1 passed"),
        with_plugin("--collect-only", expected_output="{items} tests collected", starts_without_snapshots=True),
        # Only the files of a folder are listed, and one of them is read.
        budget=0.25,
        runs=1,
    ),
    against_floor("compare 100,000 in 100 files", _HUGE, budget=1.15, runs=1),
    Comparison(
        "compare 100,000 with -n 2, against one process",
        _HUGE,
        with_plugin("-p", "xdist.plugin", "-n", "2"),
        with_plugin(),
        # Each worker collects all cases.
        budget=1.6,
        runs=1,
    ),
]

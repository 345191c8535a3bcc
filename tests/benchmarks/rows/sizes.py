"""Comparing, updating and collecting projects of several sizes, beside the floor."""

from __future__ import annotations

from typing import Final

from tests.benchmarks.comparison import Comparison, against_floor, collecting, with_plugin
from tests.benchmarks.project import Project

_SIZES: Final = (100, 1_000, 5_000, 20_000)
# From this size on a run takes so long that two of them are enough.
_LARGE: Final = 20_000


def _runs(size: int) -> int:
    return 2 if size >= _LARGE else 5 if size <= 1_000 else 3


COMPARE_BY_SIZE: Final = {
    size: against_floor(
        f"compare {size:,}",
        Project(size),
        budget=1.15 if size >= 1_000 else None,
        runs=_runs(size),
        is_quick=size == 1_000,
    )
    for size in _SIZES
}
_UPDATE: Final = [
    against_floor(
        f"update {size:,}",
        Project(size),
        "--snapshot-update",
        starts_without_snapshots=True,
        budget=1.3 if size >= 1_000 else None,
        runs=_runs(size),
    )
    for size in _SIZES
]
_COLLECT: Final = [
    collecting(f"collect {size:,}", Project(size), budget=1.3 if size >= 5_000 else None, runs=5) for size in _SIZES
]
# After a run of some of the cases, syrupy's search for unused snapshots takes too long for a larger project.
_SELECTED: Final = [
    against_floor(
        "compare a half of 1,000 (-m)", Project(1_000), "-m", "half", expected_output="500 passed, 500 desel"
    ),
    Comparison(
        "compare a half of 20,000 (-m), against all of 20,000",
        Project(_LARGE),
        with_plugin("-m", "half", expected_output="10000 passed, 10000 deselected"),
        with_plugin(),
    ),
    Comparison(
        "one case of 20,000, against collecting them",
        Project(_LARGE),
        with_plugin("f0.eval.yaml::c19999", expected_output="1 passed"),
        with_plugin("--collect-only", expected_output="{items} tests collected", starts_without_snapshots=True),
        budget=1.0,
    ),
]

ROWS: Final = [*COMPARE_BY_SIZE.values(), *_UPDATE, *_COLLECT, *_SELECTED]

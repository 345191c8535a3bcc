"""The table of `make bench`: all rows, in the order in which they are measured."""

from __future__ import annotations

from typing import Final

from tests.benchmarks.comparison import Comparison
from tests.benchmarks.rows import clients, grading, live, peers, review, scale, shapes, sizes, startup

COMPARISONS: Final[list[Comparison]] = [
    comparison
    for group in (sizes, shapes, startup, review, grading, clients, live, peers, scale)
    for comparison in group.ROWS
]

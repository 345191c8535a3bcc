"""What checks of a case cost, offline, where they look at what is sent."""

from __future__ import annotations

from typing import Final

from tests.benchmarks.comparison import against_floor
from tests.benchmarks.project import Project

ROWS: Final = [
    against_floor(
        f"compare {cases:,} with three checks each", Project(cases, has_checks=True), budget=budget, is_quick=is_quick
    )
    # Of the smaller run, a tenth is the start of this plugin.
    for cases, budget, is_quick in ((5_000, 1.15, False), (1_000, 1.25, True))
]

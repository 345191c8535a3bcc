"""What a run costs before its first case: without an eval file, and with the first one."""

from __future__ import annotations

from typing import Final

from tests.benchmarks.comparison import PYTEST, Comparison, Side, against_floor
from tests.benchmarks.project import Project

ROWS: Final = [
    Comparison(
        "no eval file, against the plugin switched off",
        Project(0),
        Side(PYTEST, environment={}),
        Side((*PYTEST, "-p", "no:chatprompt"), environment={}),
        # Nothing that can be measured: two hundredths are noise.
        budget=1.02,
        runs=25,
        is_quick=True,
    ),
    against_floor("compare 1: start-up with a first eval file", Project(1), budget=1.55, runs=15, is_quick=True),
]

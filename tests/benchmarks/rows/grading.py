"""What checks of a case cost, offline, where they look at what is sent."""

from __future__ import annotations

from typing import Final

from tests.benchmarks.comparison import Comparison, with_other_project, with_plugin
from tests.benchmarks.project import Project

ROWS: Final = [
    Comparison(
        f"compare {cases:,} with three checks each, against as many without",
        Project(cases, has_checks=True),
        with_plugin(),
        with_other_project(differs_in={"has_checks": False}),
        budget=1.2,
        is_quick=is_quick,
    )
    for cases, is_quick in ((5_000, False), (500, True))
]

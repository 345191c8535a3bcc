"""Projects of other shapes than one file of short cases: many files, providers, turns, rows, large attachments."""

from __future__ import annotations

from typing import Final

from tests.benchmarks.comparison import (
    COLLECTED,
    Comparison,
    against_floor,
    collecting,
    with_other_project,
    with_plugin,
)
from tests.benchmarks.project import Project

_FILES: Final = [
    against_floor("compare 5,000 in 500 files", Project(5_000, files=500), budget=1.15),
    collecting("collect 5,000 in 500 files", Project(5_000, files=500), budget=1.3, runs=11),
]
_PROVIDERS: Final = against_floor(
    "compare 1,250 through four providers", Project(1_250, providers=("openai", "azure", "anthropic", "gemini"))
)
_TURNS: Final = [
    against_floor(f"compare {cases} of 50 turns", Project(cases, turns=50), budget=1.3, is_quick=is_quick)
    for cases, is_quick in ((500, False), (200, True))
]
# What 4 ms for a case are in terms of the floor, which does not look at the attachment: on the machine of docs/speed.md
# the floor starts in 0.3 s and takes 1.21 s for 1,000 of these cases; this plugin starts in 0.4 s.
_ATTACHMENTS: Final = [
    against_floor(
        f"compare {cases:,} that attach 1 MB",
        Project(cases, attachment_bytes=1_000_000),
        budget=budget,
        is_quick=is_quick,
    )
    for cases, budget, is_quick in ((1_000, 3.6, False), (300, 2.8, True))
]
_AS_CASES: Final = {"has_rows": False}
_ROWS: Final = [
    Comparison(
        f"{name} {size:,} rows, against as many cases",
        Project(size, has_rows=True),
        with_plugin(*arguments, expected_output=output, starts_without_snapshots=bool(arguments)),
        with_other_project(
            *arguments, expected_output=output, starts_without_snapshots=bool(arguments), differs_in=_AS_CASES
        ),
        budget,
        is_quick=is_quick,
    )
    for name, size, arguments, output, budget, is_quick in (
        ("collect", 20_000, ("--collect-only",), COLLECTED, 1.0, False),
        ("compare", 20_000, (), "{items} passed", 1.2, False),
        ("compare", 5_000, (), "{items} passed", 1.2, False),
        ("collect", 2_000, ("--collect-only",), COLLECTED, 1.0, True),
    )
]

ROWS: Final = [*_FILES, _PROVIDERS, *_TURNS, *_ATTACHMENTS, *_ROWS]

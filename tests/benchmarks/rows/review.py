"""What people read when a run is over: thousands of failing cases in the terminal, and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.benchmarks.comparison import Comparison, Side, with_floor, with_plugin
from tests.benchmarks.project import Project


def _alter_cases(folder: Path) -> None:
    """Change each snapshot in another line, so that no two changes are equal."""
    for path in folder.glob("__snapshots__/*/*.yaml"):
        path.write_text(path.read_text(encoding="utf-8").replace("question number", "number"), encoding="utf-8")


def _alter_floor(folder: Path) -> None:
    for path in folder.glob("__snapshots__/*/*.txt"):
        path.write_text(path.read_text(encoding="utf-8").replace("'id'", "'former id'"), encoding="utf-8")


_FAILED: Final[dict[str, Any]] = {"expected_output": "{items} failed", "expected_exit": 1}


def _failing(cases: int, *arguments: str, is_quick: bool = False) -> Comparison:
    style = f" ({' '.join(arguments)})" if arguments else ""
    return Comparison(
        f"{cases:,} failing cases with distinct changes{style}, against as many failures of the floor",
        Project(cases),
        with_plugin(*arguments, alter=_alter_cases, **_FAILED),
        with_floor(*arguments, alter=_alter_floor, **_FAILED),
        budget=1.3,
        is_quick=is_quick,
    )


def _page(cases: int, name: str, budget: float, **side: Any) -> Comparison:
    def run(*arguments: str) -> Side:
        return with_plugin(*arguments, **side)

    return Comparison(
        f"the page of {cases:,} {name}, against the run without it",
        Project(cases),
        run("--chatprompt-report=review.html"),
        run(),
        budget=budget,
    )


ROWS: Final = [
    _failing(5_000),
    _failing(5_000, "--tb=no"),
    _failing(5_000, "-v"),
    _failing(500, is_quick=True),
    _page(5_000, "cases", 1.5),
    _page(5_000, "failing cases", 1.5, alter=_alter_cases, **_FAILED),
]

"""What capturing the requests of a client costs, beside the client's own mock."""

from __future__ import annotations

import sys
from typing import Final

from tests.benchmarks.comparison import Comparison, Side
from tests.benchmarks.project import Project


def _client(name: str, answered_by: str, count: int) -> Side:
    """A process that sends requests of one client."""
    program = (sys.executable, "-m", "tests.benchmarks.clients", name, answered_by, str(count))
    return Side(program, starts_without_snapshots=True)


def _captured(name: str, count: int, *, is_quick: bool = False) -> Comparison:
    return Comparison(
        f"capture {count:,} requests of {name}, against its own mock",
        Project(count),
        _client(name, "capture", count),
        _client(name, "mock", count),
        # The mock of httpx leaves out all but JSON, where an SDK has its own work to do.
        budget=None if name == "httpx" else 1.15,
        runs=5,
        is_quick=is_quick,
    )


ROWS: Final = [
    *(_captured(name, 4_000) for name in ("openai", "openai-async", "anthropic", "httpx", "boto3")),
    _captured("openai", 1_000, is_quick=True),
]

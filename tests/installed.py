"""The installed distributions, read from the disk once for all runs of pytest inside the tests.

Each run of pytest asks every distribution for its entry points, its name and its files: a third of the time of a run
that has one small test. What comes in are the folders of `sys.path`; what goes out are the distributions that
`importlib.metadata` finds there. Only `tests/conftest.py` asks.
"""

from __future__ import annotations

import importlib.metadata
import sys
from functools import cache, cached_property
from os import PathLike
from pathlib import Path

import pytest

find_distributions = importlib.metadata.distributions


class RememberedDistribution(importlib.metadata.Distribution):
    """A distribution that reads each of its files once."""

    def __init__(self, found: importlib.metadata.Distribution) -> None:
        self._found = found
        self._texts: dict[str, str | None] = {}

    def read_text(self, filename: str) -> str | None:
        if filename not in self._texts:
            self._texts[filename] = self._found.read_text(filename)
        return self._texts[filename]

    def locate_file(self, path: str | PathLike[str]) -> Path:
        return Path(str(self._found.locate_file(path)))

    @cached_property
    def metadata(self) -> importlib.metadata.PackageMetadata:
        return self._found.metadata

    @cached_property
    def entry_points(self) -> importlib.metadata.EntryPoints:
        return self._found.entry_points

    @cached_property
    def files(self) -> list[importlib.metadata.PackagePath] | None:
        return self._found.files


@cache
def _installed(_path: tuple[str, ...]) -> tuple[RememberedDistribution, ...]:
    return tuple(map(RememberedDistribution, find_distributions()))


@pytest.fixture
def _remembered_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads what is installed once for each `sys.path`."""
    monkeypatch.setattr(importlib.metadata, "distributions", lambda: iter(_installed(tuple(sys.path))))

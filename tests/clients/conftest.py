"""Tests of clients that only `make test-clients` installs: they are collected where somebody names this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Leave this folder out of a run that does not name it."""
    named = (Path(config.invocation_params.dir, str(argument).partition("::")[0]) for argument in config.args)
    return None if any(path.resolve().is_relative_to(FOLDER) for path in named) else True

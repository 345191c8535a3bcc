"""The origin of a fixture or a hook: this plugin, the project, or pytest and what is installed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pytest_chatprompt.wording import shown_path

_PLUGIN_PACKAGE: Final = "pytest_chatprompt."
_PYTEST_PACKAGE: Final = "_pytest."
# Packages that are installed as they come are trusted not to skip cases.
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})


def is_from_plugin(function: Callable[..., Any]) -> bool:
    """Whether a function is part of this plugin."""
    return _module(function).startswith(_PLUGIN_PACKAGE)


def is_from_project(function: Callable[..., Any]) -> bool:
    """Whether a function is the project's own, and neither this plugin's nor pytest's nor of an installed package."""
    if _module(function).startswith((_PLUGIN_PACKAGE, _PYTEST_PACKAGE)):
        return False
    file = _source_file(function)
    return file is None or not _INSTALLED.intersection(file.parts)


def place_of(function: Callable[..., Any], root: Path) -> str:
    """The file of a function as a user may see it, or its module if it is not written in Python."""
    file = _source_file(function)
    return _module(function) if file is None else shown_path(file, root)


def _source_file(function: Callable[..., Any]) -> Path | None:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Path(code.co_filename)


def _module(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__module__", ""))

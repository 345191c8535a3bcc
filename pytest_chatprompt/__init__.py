"""See, review and lock exactly what is sent to the model.

The public names are listed in `pytest_chatprompt.api`. They are imported on first use: pytest loads this package in
every run of a project that installs it, and most runs need none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_chatprompt.api import *  # noqa: F403


def __getattr__(name: str) -> Any:
    is_special = name.startswith("_") and name != "__all__"
    api = None if is_special else import_module(f"{__name__}.api")
    if not hasattr(api, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(api, name)


def __dir__() -> list[str]:
    return list(__getattr__("__all__"))

"""See, review and lock exactly what is sent to the model.

The public names are listed in `pytest_chatprompt.public_names`. They are imported on first use: pytest loads this
package in every run of a project that installs it, and most runs need none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_chatprompt.public_names import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name.startswith("_") or name not in __dir__():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.public_names"), name)


def __dir__() -> list[str]:
    names = vars(import_module(f"{__name__}.public_names"))
    # pytest's assertion rewriting adds names such as `@py_builtins`.
    return sorted(name for name in names if name.isidentifier() and name[0] != "_" and name != "annotations")

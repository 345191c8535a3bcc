"""See, review and lock exactly what is sent to the model.

The public names are listed in `pytest_chatprompt.public_names`. Each is imported on first use, and only its own module:
pytest loads this package in every run of a project that installs it, and most runs need none or one of them.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_chatprompt.public_names import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return __dir__()
    if name.startswith("_") or name not in _modules():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_modules()[name]), name)


def __dir__() -> list[str]:
    return sorted(_modules())


@cache
def _modules() -> dict[str, str]:
    """The module of each public name.

    Read from the source of the list, which type checkers read too: to import it is to import the modules of all names.
    """
    import ast  # noqa: PLC0415 - most runs use no public name

    loader: Any = __spec__.loader
    # The loader reads it from an archive too.
    text = loader.get_data(str(Path(__file__).with_name("public_names.py")))
    imports = (node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom))
    names = ((alias.name, str(node.module)) for node in imports for alias in node.names)
    return {name: module for name, module in names if module != "__future__"}

"""The modules that every eval item needs to run, imported together before the first one is set up.

Nothing comes in or goes out. Runs that only collect need none of them. `item` calls `import_what_running_needs`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from pytest_chatprompt.garbage_collection import importing_without_collections

# What the own fixtures import, and then `case_function`. Its imports are those that take time.
_MODULES: Final = ("code_case", "own_snapshots", "case_runner")


@cache
def import_what_running_needs() -> None:
    """Import the modules that running an eval item needs; only the first call does anything."""
    with importing_without_collections():
        for module in _MODULES:
            import_module(f"pytest_chatprompt.items.{module}")

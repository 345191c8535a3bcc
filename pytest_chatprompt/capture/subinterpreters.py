"""Subinterpreters: their creation is an audit event on every Python, and may be refused.

Nothing comes in or goes out. Python 3.11 raises the event itself. 3.12 crashes if an audit hook refuses it there,
and 3.13 raises none; so the function by which Python code creates a subinterpreter raises it before it does anything.
`network_guard` has that done before the first guard is active.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from functools import wraps
from importlib import import_module
from typing import Any, Final

CREATION_EVENT: Final = "cpython.PyInterpreterState_New"


def audit_creation(version: tuple[int, ...] = sys.version_info[:2]) -> None:
    """Have the creation of a subinterpreter raise its audit event first, where Python does not do it well.

    Args:
        version: that of Python.
    """
    if version < (3, 12):
        return
    # PyPy has no such module.
    with suppress(ImportError):
        module: Any = import_module("_interpreters" if version >= (3, 13) else "_xxsubinterpreters")
        module.create = _audited(module.create)


def _audited(create: Any) -> Any:
    @wraps(create)
    def create_audited(*args: Any, **kwargs: Any) -> Any:
        sys.audit(CREATION_EVENT)
        return create(*args, **kwargs)

    return create_audited

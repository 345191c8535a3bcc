"""Subinterpreters: their creation is an audit event on every Python, and may be refused.

Nothing comes in or goes out. Python 3.11 raises the event itself. 3.12 crashes if an audit hook refuses it there,
and 3.13 raises none; so the function by which Python code creates a subinterpreter raises it before it does anything.
`network_guard` has that done before the first guard is active.
"""

from __future__ import annotations

import sys
from functools import wraps
from importlib import import_module
from typing import Any, Final

CREATION_EVENT: Final = "cpython.PyInterpreterState_New"
_FIRST_TO_NEED_IT: Final = (3, 12)
# The module was renamed in Python 3.13.
_MODULES: Final = ("_interpreters", "_xxsubinterpreters")


def audit_creation(version: tuple[int, ...] = sys.version_info[:2]) -> None:
    """Have the creation of a subinterpreter raise its audit event first, where Python does not do it well.

    Args:
        version: that of Python.
    """
    if version < _FIRST_TO_NEED_IT:
        return
    for name in _MODULES:
        try:
            module: Any = import_module(name)
        except ImportError:
            continue
        module.create = _audited(module.create)


def _audited(create: Any) -> Any:
    @wraps(create)
    def create_audited(*args: Any, **kwargs: Any) -> Any:
        sys.audit(CREATION_EVENT)
        return create(*args, **kwargs)

    return create_audited

"""Plain functions: which graders may be called in a thread, while pytest runs other cases in its own."""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Final

# The mark of pytest for what may run in the main thread only; pytest-run-parallel has the same.
THREAD_UNSAFE: Final = "thread_unsafe"


def is_plain(function: object) -> bool:
    """Whether a function does its work when it is called, shares nothing by itself, and has no mark against threads.

    A method belongs to an object that others may use too. A generator or a coroutine only begins when it is called.
    """
    if not isinstance(function, FunctionType):
        return False
    if any(mark.name == THREAD_UNSAFE for mark in getattr(function, "pytestmark", ())):
        return False
    code = inspect.unwrap(function)
    kinds = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)
    return not any(is_kind(code) for is_kind in kinds)

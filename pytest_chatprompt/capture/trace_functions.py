"""Trace functions beside an audit hook: what coverage and debuggers install in each thread that starts.

Python 3.11 calls audit hooks while it installs a trace function, and refuses to install another one meanwhile
(https://github.com/python/cpython/blob/v3.11.7/Python/ceval.c, `_PyEval_SetTrace`). A hook that is written in Python
may hand the interpreter to another thread there. Where that thread was starting under coverage, it ended at once and
did nothing. `network_guard` calls `retry_installations()` when it installs its hook. `sys.setprofile` has the same
rule, but a profiler would see the function that tries again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

_FUNCTIONS: Final = ("settrace",) if sys.version_info < (3, 12) else ()
# A refusal makes way for the next attempt, so more are hardly ever needed.
_RETRIES: Final = 10


def retry_installations() -> None:
    """Let `sys.settrace` try again if another thread installs a function just then."""
    for name in _FUNCTIONS:
        setattr(sys, name, _retrying(getattr(sys, name)))


def _retrying(install: Callable[[Any], None]) -> Callable[[Any], None]:
    @wraps(install)
    def install_or_retry(function: Any) -> None:
        for _ in range(_RETRIES):
            try:
                install(function)
            except RuntimeError:
                continue
            return
        install(function)

    return install_or_retry

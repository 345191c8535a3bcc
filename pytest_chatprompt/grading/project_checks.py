"""Project checks: those that call code of the project or of another package, and so may take long.

In: a check. Out: whether a thread may grade it. The checks of this package take microseconds, and a search for a
regular expression can be stopped in the main thread only, so they stay there. `items.thread_graders` asks.
"""

from __future__ import annotations

from typing import Final

from pytest_chatprompt.errors import CheckError
from pytest_chatprompt.grading.check import Check
from pytest_chatprompt.grading.plain_function import is_plain
from pytest_chatprompt.grading.python_check import Python
from pytest_chatprompt.grading.table import CHECKS

_OWN: Final = frozenset(CHECKS.values())


def is_project_check(check_type: type[Check]) -> bool:
    """Whether the checks of a type call code that this package does not have."""
    return check_type is Python or check_type not in _OWN


def may_run_in_thread(check: Check) -> bool:
    """Whether a thread may grade a project check: if what it calls is a plain function.

    Args:
        check: one of a type that `is_project_check` accepts; a `python` check imports its function now.
    """
    if not isinstance(check, Python):
        return is_plain(type(check).grade)
    try:
        return is_plain(check.function())
    except CheckError:
        # The case reports it.
        return False

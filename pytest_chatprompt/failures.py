"""How an error of this package is shown: by its text alone, at the place of the case.

Pytest shows an error with all the code on the way to it, which says nothing to a user here and takes longer than the
case itself. `collection` and `reports` call this.
"""

from __future__ import annotations

from typing import Final

import pytest

from pytest_chatprompt.errors import ChatPromptError, EvalFileError, PayloadWarning

OWN_ERRORS: Final = (ChatPromptError, PayloadWarning)


def plain(told: str) -> pytest.ExceptionInfo[BaseException]:
    """A failure that pytest shows as its text alone."""
    try:
        pytest.fail(told, pytrace=False)
    except pytest.fail.Exception:
        return pytest.ExceptionInfo.from_current()


def first_line(error: BaseException) -> str:
    """What to say of an error on one line."""
    told = error.problems[0].text if isinstance(error, EvalFileError) else str(error)
    return told.partition("\n")[0]

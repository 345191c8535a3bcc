"""How an error of this package is shown: by its text only, without a traceback.

Pytest shows an error with all code that led to it. Here that code is this package's, which tells a user nothing, and
formatting it takes longer than the case itself. `item` and `pytest_report_hooks` call these functions.
"""

from __future__ import annotations

import unittest
from typing import Final

import pytest

from pytest_chatprompt.errors import (
    APIConnectionError,
    APIStatusError,
    BadRequestError,
    BudgetError,
    ChatPromptError,
    CheckError,
    ContentFilterError,
    EvalFileError,
    EvalFileWarning,
    MissingSettingError,
    PayloadWarning,
    ReplayError,
)
from pytest_chatprompt.wording import visible, visible_line

OWN_ERRORS: Final = (ChatPromptError, EvalFileWarning, PayloadWarning)
# By these a test ends before its end, and has not failed.
ENDED_EARLY: Final = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)


def text_failure(text: str) -> pytest.ExceptionInfo[BaseException]:
    """A failure that pytest shows as this text only, which may hold what others wrote."""
    try:
        pytest.fail(visible(text), pytrace=False)
    except pytest.fail.Exception as failure:
        # A failed subtest is reported while its error is handled, and pytest would show that too.
        failure.__context__ = None
        return pytest.ExceptionInfo.from_exception(failure)


def first_line(error: BaseException) -> str:
    """An error in one line, for pytest's short summary."""
    text = error.diagnostics[0].text if isinstance(error, EvalFileError) else str(error)
    return visible_line(text.partition("\n")[0])


def is_outage(error: BaseException) -> bool:
    """Whether an error says nothing about the answer: an API, a key, a reply, a verdict or a valid check is missing."""
    of_the_case = (BadRequestError, ContentFilterError)
    outages = (
        APIStatusError,
        APIConnectionError,
        BudgetError,
        MissingSettingError,
        ReplayError,
        CheckError,
        EvalFileError,
    )
    return isinstance(error, outages) and not isinstance(error, of_the_case)

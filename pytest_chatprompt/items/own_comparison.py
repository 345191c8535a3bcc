"""Own comparison: how an ordinary test's comparison with its snapshot ended.

`own_snapshots` keeps the assertion of a test here; `pytest_report_hooks` asks for its failure, `case_results` for what
it compared.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from pytest_chatprompt.snapshots.assertion import EvalSnapshot

# What pytest says of an `assert` of nothing but a comparison, after the words of its author, and what unittest says.
_ASSERTED: Final = re.compile(
    r"(?:(.+)\n)?assert \[(?:\+ received\] == \[- snapshot|- snapshot\] == \[\+ received)\]\n  "
)
_ASSERTED_EQUAL: Final = re.compile(r".+ != <eval_snapshot>|<eval_snapshot> != (?!.* : ).+")
_assertions_key: Final[pytest.StashKey[list[EvalSnapshot]]] = pytest.StashKey()


def keep_assertion(item: pytest.Item, assertion: EvalSnapshot, *, is_first: bool = False) -> None:
    """Keep an assertion of a test.

    Args:
        item: the test.
        assertion: what it compares by.
        is_first: whether it is a new one of this run of the test, from which others can be made.
    """
    if is_first:
        item.stash[_assertions_key] = []
    item.stash[_assertions_key].append(assertion)


def forget_assertions(item: pytest.Item) -> None:
    """Let go of the assertions of a test that is over, which hold what it compared."""
    if _assertions_key in item.stash:
        del item.stash[_assertions_key]


def has_assertions(item: pytest.Item) -> bool:
    """Whether a test has asked for `eval_snapshot`."""
    return _assertions_key in item.stash


def last_assertion(item: pytest.Item) -> EvalSnapshot | None:
    """The assertion of a test whose last comparison failed; else the last one that compared, `None` for none."""
    used = [assertion for assertion in item.stash.get(_assertions_key, []) if assertion.num_executions]
    return max(reversed(used), key=lambda assertion: assertion.has_failed, default=None)


def failed_comparison(item: pytest.Item) -> str:
    """The failure of a test's comparison with a snapshot, if that was the last by its assertion; else `""`."""
    assertion = last_assertion(item)
    return "\n".join(assertion.describe_failure()) if assertion is not None and assertion.has_failed else ""


def failure_text(error: BaseException, comparison: str) -> str | None:
    """All that there is to say of a test that fails for nothing but its comparison with a snapshot.

    Args:
        error: what it raised.
        comparison: its failed comparison, see `failed_comparison`.

    Returns:
        The words of the `assert`, if it has some, and the comparison; `None` if the error says something else as well.
    """
    # In a `finally` or an `except` it stands for another error. Hypothesis notes the example that fails.
    if not isinstance(error, AssertionError) or error.__context__ is not None or hasattr(error, "__notes__"):
        return None
    message = str(error)
    first_line = comparison.partition("\n")[0]
    asserted = _ASSERTED.match(message)
    # Another assertion of the test may be the last one that failed.
    if asserted is not None and message.startswith(first_line, asserted.end()):
        words = f"{asserted[1]}: " if asserted[1] else ""
    elif _ASSERTED_EQUAL.fullmatch(message):
        words = ""
    else:
        return None
    if first_line.startswith("There is no "):
        return f"{words}what is sent has no snapshot yet\n{comparison}"
    if first_line == comparison:
        # The snapshot cannot be read.
        return f"{words}{comparison}"
    return f"{words}what is sent is not what its snapshot says\n\n{comparison}"

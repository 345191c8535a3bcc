"""A check in a few words, as messages and reports show it.

In: a check as its author wrote it. Out: a text in one line. Pure; `failure_text` and `results` call it. It imports
none of the types of checks, which most readers of results do not need.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.cases.shared_keys import EvalCheck
from pytest_chatprompt.text.json_data import thaw

# Before a type it makes its opposite.
NEGATION: Final = "not_"
_MOST_OF_VALUE: Final = 80


def describe_check(check: EvalCheck) -> str:
    """A check in a few words: `icontains 'off-by-one'`."""
    words = [check.type]
    arguments = {key: _cut(_shown(value)) for key, value in check.arguments.items()}
    if "value" in arguments:
        words.append(arguments.pop("value"))
    words += [f"{key}={value}" for key, value in arguments.items()]
    return " ".join(words)


def _shown(value: Any) -> str:
    """A value of the file; a regular expression would be hard to read with its backslashes doubled."""
    is_plain = isinstance(value, str) and value.isprintable() and "'" not in value
    return f"'{value}'" if is_plain else repr(thaw(value))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_OF_VALUE else f"{text[:_MOST_OF_VALUE]}…"

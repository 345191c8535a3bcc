"""Keyword arguments of providers, checked when a provider is made.

The annotations of a `TypedDict` say which there are; a name that is none of them, which Python would let through
a `**settings`, is refused with the one that was meant. `chat` and `agent` call it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


def check_names(provider: object, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse keyword arguments that a provider does not have.

    Raises:
        TypeError: one of those given is none of those known.
    """
    known = sorted(known)
    for name in given:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
            raise TypeError(f"{type(provider).__name__} has no setting {name!r}; {hint}")


def check_number(provider: object, name: str, value: Any, *, whole: bool = False, least: float = 0) -> None:
    """Refuse a number that cannot be meant; `None` is no number, and fine.

    Raises:
        ValueError: it is no number, no whole one where that is asked for, or less than the least.
    """
    kind: Any = int if whole else (int, float)
    if value is not None and (isinstance(value, bool) or not isinstance(value, kind) or not value >= least):
        wanted = f"a {'whole ' if whole else ''}number from {least:g}"
        raise ValueError(f"{type(provider).__name__}: {name} must be {wanted}, but is {value!r}")


def check_text(provider: object, name: str, value: Any, choices: Iterable[str] = ()) -> None:
    """Refuse a text that is empty, no text, or none of the choices where there are some.

    Raises:
        ValueError: it cannot be meant.
    """
    choices = tuple(choices)
    if not isinstance(value, str) or not value or (choices and value not in choices):
        wanted = f"one of {', '.join(choices)}" if choices else "a string that is not empty"
        raise ValueError(f"{type(provider).__name__}: {name} must be {wanted}, but is {value!r}")


def check_kind(provider: object, name: str, value: Any, kind: type, called: str) -> None:
    """Refuse what is not of a kind; `None` is fine.

    Args:
        provider: whose it is.
        name: the argument's name.
        value: the argument.
        kind: what it is to be an instance of.
        called: what to call that: `a mapping`.

    Raises:
        ValueError: it is something else.
    """
    if value is not None and not isinstance(value, kind):
        raise ValueError(f"{type(provider).__name__}: {name} must be {called}, but is {value!r}")


def number_or_none(value: Any) -> Any:
    """A value of a body if it is a number: what a user laid over a body may be anything."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None

"""The limits of a template: how often it may loop, and how large a text it may make.

In: what a template is about to do. Out: `TemplateLimitError` if that is too much. Only `template_sandbox` calls it;
`template_errors` words the error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Final

# More than any text for a model needs, and done in seconds.
MAX_STEPS: Final = 1_000_000
# The same limit as for an attached file.
MAX_SIZE: Final = 20 * 1024 * 1024
MAX_WIDTH: Final = 10_000
_MAX_BITS: Final = 10_000
# Jinja's filters whose result may be much larger than what comes in.
FILTERS: Final = ("batch", "center", "format", "indent", "join", "replace", "slice")
# The filters, and the methods of a text, that take a width or a size.
_WIDE: Final = frozenset({"batch", "center", "expandtabs", "indent", "ljust", "rjust", "slice", "zfill"})
# A width or precision of `%` or `format` that is as long as five digits, or comes from a variable.
_WIDE_FORMAT: Final = re.compile(r"\d{5}|%[^%a-zA-Z]*\*|\{[^{}]*:[^{}]*\{")


class TemplateLimitError(Exception):
    """A template does too much."""


class Usage:
    """Counts the steps and the output of one rendering."""

    __slots__ = ("output", "steps")

    def __init__(self) -> None:
        self.steps = 0
        self.output = 0

    def add_step(self) -> None:
        """Count a round of a loop, or a call."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise TemplateLimitError(f"the template loops and calls more than {MAX_STEPS:,} times")

    def add_output(self, size: int) -> None:
        """Count characters that are put out."""
        self.output += size
        check_size(self.output)


def check_size(size: int) -> None:
    """Raise if a value of this many characters or entries is too large.

    Raises:
        TemplateLimitError: it is.
    """
    if size > MAX_SIZE:
        raise TemplateLimitError(f"the template makes a value of more than {MAX_SIZE:,} characters")


def check_operator(operator: str, left: Any, right: Any) -> None:
    """Raise if the result of an operator would be too large.

    Args:
        operator: `+`, `*`, `**` or `%`.
        left: what stands before it.
        right: what stands behind it.
    """
    match operator, left, right:
        case "+", (str() | bytes() | list() | tuple()), (str() | bytes() | list() | tuple()):
            check_size(len(left) + len(right))
        case ("*", (str() | bytes() | list() | tuple()) as values, int() as count) | (
            "*",
            int() as count,
            (str() | bytes() | list() | tuple()) as values,
        ):
            check_size(len(values) * count)
        case "*", int(), int():
            _check_bits(left.bit_length() + right.bit_length())
        case "**", int(), int():
            _check_bits(left.bit_length() * right)
        case "%", str(), _:
            _check_format(left)


def check_call(name: str, text: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise if a filter, or a method of a text, could make too large a text.

    Args:
        name: the name of the filter or method.
        text: what it is called on.
        args: its arguments.
        kwargs: its named arguments.
    """
    arguments = (*args, *kwargs.values())
    if name in ("format", "format_map"):
        _check_format(text)
    elif name == "replace":
        _check_replaced(text, arguments)
    elif name == "join":
        _check_joined(text, arguments[0] if arguments else ())
    elif name in _WIDE and any(isinstance(argument, int) and argument > MAX_WIDTH for argument in arguments):
        raise TemplateLimitError(f"a width or size for {name!r} is more than {MAX_WIDTH:,}")


def limited(name: str, filter_function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a filter so that it checks its arguments first.

    Args:
        name: its name, one of `FILTERS`.
        filter_function: Jinja's own.
    """
    # Jinja passes its own context first to some filters.
    first = 1 if hasattr(filter_function, "jinja_pass_arg") else 0

    @wraps(filter_function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        value, others = args[first], args[first + 1 :]
        if name == "join":
            value = list(value)
            _check_joined(str(others[0] if others else kwargs.get("d", "")), value)
        else:
            check_call(name, str(value), others, kwargs)
        return filter_function(*args[:first], value, *others, **kwargs)

    return checked


def _check_bits(bits: int) -> None:
    if bits > _MAX_BITS:
        raise TemplateLimitError("the template calculates a number that is too long")


def _check_format(text: str) -> None:
    if _WIDE_FORMAT.search(text):
        raise TemplateLimitError(f"a width of the format {text[:50]!r} is too large, or is not written out")


def _check_replaced(text: str, arguments: tuple[Any, ...]) -> None:
    match arguments:
        case (str() as old, str() as new, *_):
            check_size(len(text) + text.count(old) * len(new))


def _check_joined(separator: str, parts: Any) -> None:
    if isinstance(parts, list | tuple):
        check_size(len(separator) * len(parts) + sum(len(part) for part in parts if isinstance(part, str)))

"""Redacted errors: exceptions, and what pytest shows of them, without secrets.

An exception or a report's representation of one comes in; afterwards its texts hold no secret. Objects of a test that
an exception refers to stay as they are: other tests may use them. `redaction_hooks` and `case_results` call
these functions.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import suppress
from copy import copy
from dataclasses import fields, is_dataclass
from itertools import chain
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, Final

from pytest_chatprompt.items.report_redactor import TextRedactor

_CONTAINERS: Final = (list, tuple, set, frozenset, dict)
# Most values are of these types, and hold no others.
_SIMPLE: Final = frozenset({str, float, int, bool, type(None)})


def redact_error(error: BaseException, redactor: TextRedactor) -> None:
    """Redact the texts of an error, of those that caused it, and of those in a group.

    Args:
        error: changed in place, since other plugins look at this very object.
        redactor: removes the secrets of the run.
    """
    seen: list[BaseException] = []
    pending: list[BaseException | None] = [error]
    while pending:
        each = pending.pop()
        if each is None or any(each is other for other in seen):
            continue
        seen.append(each)
        pending += (each.__cause__, each.__context__)
        if isinstance(each, BaseExceptionGroup):
            pending += each.exceptions
        _redact_texts(each, redactor)


def redact_value(value: Any, redactor: TextRedactor) -> Any:
    """Redact the texts in a value: a new value, if it is or holds one, else the same.

    Args:
        value: any value; lists, tuples, sets and dicts are looked into.
        redactor: removes the secrets of the run.
    """
    if not isinstance(value, str) and _is_clean(value, redactor):
        return value
    return _redact_nested(value, redactor, ())


def _is_clean(value: Any, redactor: TextRedactor, *, with_dataclasses: bool = False) -> bool:
    """Whether nothing in a value is to be redacted; one search for all of its texts, most of which are short."""
    # No secret reaches across a zero.
    texts = "\0".join(_texts(value, with_dataclasses))
    return redactor.redact(texts) == texts


def _texts(value: Any, with_dataclasses: bool) -> list[str]:
    """The texts in a value and in the containers within it, in any order; on demand in dataclasses too."""
    texts: list[str] = []
    pending, seen = [value], set()
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            texts.append(each)
        elif id(each) not in seen and (parts := _parts(each, with_dataclasses)) is not None:
            seen.add(id(each))
            texts += [part for part in parts if type(part) is str]
            pending += [part for part in parts if type(part) not in _SIMPLE]
    return texts


def _is_dataclass_object(value: Any) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _field_values(value: Any) -> dict[str, Any]:
    """The fields of a dataclass by name; one that has no value yet is left out."""
    return {field.name: getattr(value, field.name) for field in fields(value) if hasattr(value, field.name)}


def _redact_nested(
    value: Any, redactor: TextRedactor, around: tuple[int, ...], *, with_dataclasses: bool = False
) -> Any:
    if isinstance(value, str):
        redacted = redactor.redact(value)
        return value if redacted == value else redacted
    parts = _parts(value, with_dataclasses)
    if parts is None:
        return value
    if id(value) in around:
        # The copy must not lead back to what is not redacted.
        return "..."
    around = (*around, id(value))
    new = [_redact_nested(part, redactor, around, with_dataclasses=with_dataclasses) for part in parts]
    return value if all(map(operator.is_, parts, new)) else _with_parts(value, new)


def _parts(value: Any, with_dataclasses: bool) -> list[Any] | None:
    """What a container holds, or on demand a dataclass; `None` for any other value."""
    if type(value) in _CONTAINERS:
        return list(chain.from_iterable(value.items()) if type(value) is dict else value)
    return list(_field_values(value).values()) if with_dataclasses and _is_dataclass_object(value) else None


def _with_parts(value: Any, parts: list[Any]) -> Any:
    """A container or a copy of a dataclass, with other parts, in the order of `_parts`."""
    if type(value) is dict:
        return dict(zip(parts[::2], parts[1::2], strict=True))
    if type(value) in _CONTAINERS:
        return type(value)(parts)
    changed = copy(value)
    for name, part in zip(_field_values(value), parts, strict=True):
        object.__setattr__(changed, name, part)
    return changed


def redact_attribute(value: Any, redactor: TextRedactor) -> Any:
    """Do as `redact_value`, and redact the fields of dataclasses too, in copies: a test may use the same objects."""
    if _is_clean(value, redactor, with_dataclasses=True):
        return value
    return _redact_nested(value, redactor, (), with_dataclasses=True)


def redact_representation(representation: Any, redactor: TextRedactor) -> Any:
    """Redact what pytest or a plugin shows of a failure.

    Args:
        representation: of a failure: a text, a tuple, an object of pytest, or of a plugin; `None` for none.
        redactor: removes the secrets of the run.

    Returns:
        The same object without secrets; its text, if it is of a kind that cannot be changed.
    """
    if representation is None:
        return None
    is_clean = _is_clean(representation, redactor, with_dataclasses=True)
    redacted = representation if is_clean else _redact_parts(representation, redactor)
    text = str(redacted)
    redacted_text = redactor.redact(text)
    return redacted if redacted_text == text or isinstance(redacted, tuple) else redacted_text


def _redact_texts(error: BaseException, redactor: TextRedactor) -> None:
    """Redact the arguments of an error and its attributes: its text is made of them."""
    args = redact_value(error.args, redactor)
    if args is not error.args:
        error.args = args
    attributes = vars(error)
    attributes.update({name: redact_value(value, redactor) for name, value in attributes.items()})
    # Errors of Python itself keep some in C, such as the name of the file that is missing.
    for name in _slots(type(error)):
        value = getattr(error, name, None)
        if isinstance(value, str):
            with suppress(AttributeError, TypeError):
                redacted = redactor.redact(value)
                if redacted != value:
                    setattr(error, name, redacted)


def _slots(kind: type[BaseException]) -> Iterator[str]:
    for each in kind.__mro__:
        for name, attribute in vars(each).items():
            if isinstance(attribute, MemberDescriptorType | GetSetDescriptorType) and not name.startswith("__"):
                yield name


def _redact_parts(value: Any, redactor: TextRedactor) -> Any:
    """Do as `redact_value`, and change the dataclasses that pytest's representations are made of in place."""
    if type(value) in (list, tuple):
        return type(value)(_redact_parts(item, redactor) for item in value)
    if _is_dataclass_object(value):
        for name, field_value in _field_values(value).items():
            object.__setattr__(value, name, _redact_parts(field_value, redactor))
        return value
    return redact_value(value, redactor)

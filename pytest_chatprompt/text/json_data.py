"""JSON data: how much of it is read, and what of an eval file is sent as it is written, such as a schema."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

from pydantic import GetPydanticSchema, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pytest_chatprompt.errors import Location
from pytest_chatprompt.text.files import LONG_TEXT

# What code raises that reads JSON data of another shape than it knows.
OTHER_SHAPE: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class FrozenDict(dict[str, Any]):
    """A read-only dict; `freeze` makes one, and freezes the values too."""

    def _refuse_change(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a case cannot be changed; make a copy of this with dict()")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse_change

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        # By default a copy is filled item by item, which `__setitem__` refuses.
        return type(self), (dict(self),)


def freeze(value: Any) -> Any:
    """Make JSON data read-only: mappings become `FrozenDict`s, lists become tuples, scalars stay as they are."""
    if isinstance(value, Mapping):
        return FrozenDict({key: freeze(inner) for key, inner in value.items()})
    return tuple(map(freeze, value)) if isinstance(value, list | tuple) else value


def with_scalars(data: Any, change: Callable[[Any], Any]) -> Any:
    """JSON data, frozen or not, as new plain data, in which each text, number, boolean and `None` is changed."""
    # Texts first: they are the most, and to ask whether one is a mapping takes long.
    if isinstance(data, str):
        return change(data)
    if isinstance(data, Mapping):
        return {key: with_scalars(inner, change) for key, inner in data.items()}
    return [with_scalars(inner, change) for inner in data] if isinstance(data, list | tuple) else change(data)


def texts_in(data: Any) -> list[str]:
    """The texts in JSON data, in order; keys are none."""
    scalars: list[Any] = []
    with_scalars(data, scalars.append)
    return [each for each in scalars if isinstance(each, str)]


def thaw(value: Any) -> Any:
    """Frozen JSON data as plain data, which is how templates and validators know it: a tuple is a list again."""
    return with_scalars(value, lambda scalar: scalar)


# Of what an author writes and an API replies. Everything here that walks through data recurses.
MAX_DEPTH: Final = 100
# Of a file, which has keys around such data.
MAX_FILE_DEPTH: Final = 200
# Mappings, lists, keys and scalars: what a file of the largest size may hold if it is no attack.
MAX_VALUES: Final = 2_000_000


def parse_json(text: str, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES, **options: Any) -> Any:
    """Parse JSON within bounds; a `ValueError` if it is not JSON, is nested deeper, or holds more."""
    try:
        data = json.loads(text, **options)
    except RecursionError:
        raise ValueError(f"nested more than {max_depth} levels deep") from None
    # Most texts cannot be beyond them. Of a long one its values are counted sooner than its brackets.
    if len(text) > min(max_values, LONG_TEXT) or text.count("[") + text.count("{") > max_depth:
        check_bounds(data, max_depth=max_depth, max_values=max_values)
    return data


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a mapping of JSON, as its `object_pairs_hook`; a `ValueError` if a key appears twice."""
    # The rows of a dataset share their keys.
    mapping = {sys.intern(key): value for key, value in pairs}
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise ValueError(f"the key {repeated!r} appears twice")
    return mapping


def check_bounds(data: Any, *, max_depth: int = MAX_DEPTH, max_values: int = MAX_VALUES) -> None:
    """Refuse data that is nested too deep or holds too much."""
    level, values = [data], 0
    for _ in range(max_depth + 1):
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
        values += len(level)
        if values > max_values:
            raise ValueError(f"more than {max_values:,} values")
    raise ValueError(f"nested more than {max_depth} levels deep")


def parsed(read: Callable[[Any], Any]) -> GetPydanticSchema:
    """Make a validator that is one function; `PlainValidator` would build the schema of the type too, and twice."""
    return GetPydanticSchema(lambda *_: core_schema.no_info_plain_validator_function(read))


def checked(expected: str, is_valid: Callable[[Any], bool]) -> GetPydanticSchema:
    """Make a validator that accepts or refuses a value, and never converts it; `expected` completes "must be"."""

    def validate(value: Any) -> Any:
        if not is_valid(value):
            raise unexpected(expected)
        return value

    return parsed(validate)


def unexpected(expected: str) -> PydanticCustomError:
    """The error for a value that is not what it must be; `diagnostics` adds where it is, and what it is."""
    return PydanticCustomError("unexpected_value", "must be {expected}", {"expected": expected})


def invalid(text: str) -> PydanticCustomError:
    """The error for an invalid value, with the whole text that its author reads."""
    return PydanticCustomError("invalid_value", "{text}", {"text": text})


def error_at(location: Location, error: PydanticCustomError) -> ValidationError:
    """A validation error about a value inside the one that is validated."""
    return errors_at([(location, error)])


def errors_at(errors: Iterable[tuple[Location, PydanticCustomError]]) -> ValidationError:
    """A validation error about several of them, each by the keys and indexes that lead to it."""
    details = [InitErrorDetails(type=error, loc=location, input=None) for location, error in errors]
    return ValidationError.from_exception_data("data", details)


def check_json(value: Any) -> Any:
    """Return a value that JSON can hold; lists may be tuples."""
    problems = list(json_problems(value))
    if problems:
        raise errors_at(problems)
    return value


def json_problems(value: Any, location: Location = ()) -> Iterator[tuple[Location, PydanticCustomError]]:
    """What of a value JSON cannot hold, with the keys and indexes that lead to it."""
    if len(location) > MAX_DEPTH:
        yield location, invalid(f"nested more than {MAX_DEPTH} levels deep")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from json_problems(inner, (*location, key))
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from json_problems(inner, (*location, index))
    elif isinstance(value, str):
        half = LONE_SURROGATE.search(value)
        if half is not None:
            yield location, invalid(f"half of a character (U+{ord(half[0]):04X}), which is not valid Unicode")
    elif value is not None and not isinstance(value, int | float):
        yield location, invalid(f"JSON has no {type(value).__name__}; put {value} in quotes")
    elif isinstance(value, float) and not math.isfinite(value):
        yield location, invalid("JSON has neither infinity nor NaN; put it in quotes if you mean text")


def require_json_mapping(value: Any) -> Any:
    """Return a mapping that JSON can hold."""
    if not isinstance(value, Mapping):
        raise unexpected("a mapping")
    return check_json(value)


def without_extensions(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a mapping of an eval file without its `x-` keys, which are the author's own."""
    return {key: value for key, value in data.items() if not key.startswith("x-")}


def describe_data(value: Any, text: str | None = None) -> str:
    """Describe data, such as `the number 3`, `a mapping` or `empty`; `text` is how a scalar is written, if it is."""
    match value:
        case None if text is None:
            return "null"
        case None:
            return f"null ({text})" if text else "empty"
        case bool():
            return f"the boolean {str(value).lower()}" + (f" ({text})" if text else "")
        case int() | float():
            return f"the number {text or value}"
        case str():
            return repr(value)
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case other:
            return f"the {type(other).__name__} {text or other}"


def value_at(data: Any, path: Sequence[str]) -> Any:
    """The value at a path of keys in decoded JSON; `None` if there is none."""
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def deep_merge(body: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a mapping into another: mappings key by key, any other value replaces the body's."""
    merged = dict(body)
    for key, value in extra.items():
        current = merged.get(key)
        merged[key] = deep_merge(current, value) if isinstance(current, dict) and isinstance(value, Mapping) else value
    return merged


# Half of a character: half of a surrogate pair.
LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def to_json_text(data: Any) -> str:
    """Write data as JSON: keys in the order of the file, two blanks for each level, text beyond ASCII as it is."""
    return json.dumps(as_in_javascript(data), ensure_ascii=False, indent=2)


def as_in_javascript(value: Any) -> Any:
    """Data in which a number such as `5000.0` is `5000`."""
    return with_scalars(value, lambda each: int(each) if isinstance(each, float) and each.is_integer() else each)

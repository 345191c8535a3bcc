"""The smallest valid instance of a JSON Schema: what a model that is made to write JSON could reply.

For schemas as pydantic, zod and the vendors' SDKs write them; the same for the same schema. "Smallest" means: required
properties alone, no more items than needed, 0, `""`, the first branch of a union that can end, the first value of an
enum. What these rarely write, such as `if` or two different items, has no instance; `not` has no effect.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import count, islice
from typing import Any, Final
from urllib.parse import unquote

from rstr.xeger import Xeger

from pytest_chatprompt.apis.conversation import as_mapping, json_text

# How many references one value may stand below, tried one after the other, the smallest first.
_DEPTHS: Final = (1, 2, 4, 8, 16, 32)
# Limits, so that no schema takes seconds.
_MOST_VALUES: Final = 10_000
_LONGEST: Final = 1_000_000

# By `format`: the formats of JSON Schema (https://json-schema.org/draft/2020-12/json-schema-validation#section-7), and
# those that pydantic and zod write.
_FORMATS: Final[Mapping[str, str]] = {
    name: text
    for names, text in (
        ("date-time", "2025-01-01T00:00:00Z"),
        ("date", "2025-01-01"),
        ("time", "00:00:00Z"),
        ("duration", "PT0S"),
        ("email idn-email", "a@example.com"),
        ("hostname idn-hostname", "a.example.com"),
        ("ipv4 ipvanyaddress", "127.0.0.1"),
        ("ipv4interface ipv4network ipvanyinterface ipvanynetwork cidrv4", "127.0.0.1/32"),
        ("ipv6", "::0"),
        ("ipv6interface ipv6network cidrv6", "::0/128"),
        ("uri url uri-reference iri iri-reference uri-template multi-host-uri", "https://example.com/"),
        ("uuid uuid4", "00000000-0000-4000-8000-000000000000"),
        *((f"uuid{version}", f"00000000-0000-{version}000-8000-000000000000") for version in (1, 3, 5, 6, 7, 8)),
        ("json-pointer", "/"),
        ("relative-json-pointer json-string", "0"),
        ("regex path file-path directory-path", "a"),
        ("color", "#000000"),
    )
    for name in names.split()
}

# Keywords that say nothing about what is valid, and those that no SDK writes.
_NOTES: Final = ("title", "description", "default", "examples", "deprecated", "nullable", "$comment", "$schema", "$id")
_REFUSED: Final = ("if", "contains", "dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef")
_COMBINING: Final = ("$ref", "ref", "allOf", "anyOf", "oneOf")


class NoInstanceError(Exception):
    """No valid instance was found: the schema contradicts itself, has no end, or wants too much."""


def least_instance(schema: Any) -> Any:
    """Make the smallest valid instance of a schema, as JSON data."""
    for depth in _DEPTHS:
        with suppress(NoInstanceError, RecursionError):
            return _Walker(schema).instance(schema, depth)
    raise NoInstanceError


class _Walker:
    """Makes instances of the parts of one schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        self._values = 0

    def instance(self, schema: Any, depth: int) -> Any:
        """An instance of one part, in which `depth` references may be followed."""
        self._values += 1
        rules = as_mapping(schema)
        is_refused = schema is False or any(keyword in rules for keyword in _REFUSED)
        if is_refused or self._values > _MOST_VALUES:
            raise NoInstanceError
        for key in [key for key in _COMBINING if key in rules]:
            rest = {name: value for name, value in rules.items() if name != key}
            value = rules.get(key)
            if key.endswith("ref") and isinstance(value, str):
                if depth == 0:
                    raise NoInstanceError
                return self.instance(_merged(_find(self._root, value), rest), depth - 1)
            if isinstance(value, list) and value:
                if key == "allOf":
                    parts = [_find(self._root, part["$ref"]) if "$ref" in as_mapping(part) else part for part in value]
                    return self.instance(functools.reduce(_merged, parts, rest), depth - 1)
                return self._first_of(rest, [branch for branch in value if branch is not False], depth)
        return self._value(rules, depth)

    def _value(self, rules: Mapping[str, Any], depth: int) -> Any:
        values = [rules["const"]] if "const" in rules else rules.get("enum")
        if isinstance(values, list) and values:
            return values[0]
        types = _types(rules)
        if len(types) > 1:
            rest = {name: value for name, value in rules.items() if name not in ("type", "nullable")}
            return self._first_of(rest, [{"type": kind} for kind in types], depth)
        return self._of_type(types[0], rules, depth)

    def _first_of(self, rest: Mapping[str, Any], branches: Sequence[Any], depth: int) -> Any:
        """An instance of the rest with the first branch that has one."""
        for branch in branches:
            with suppress(NoInstanceError):
                return self.instance(_merged(rest, branch), depth)
        raise NoInstanceError

    def _of_type(self, kind: str, rules: Mapping[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                return self._object(rules, depth)
            case "array":
                return self._array(rules, depth)
            case "string" if rules.get("contentMediaType") == "application/json":
                return json_text(self.instance(rules.get("contentSchema", True), depth))
            case "string":
                return _string(rules)
            case "integer" | "number":
                return _number(rules, is_integer=kind == "integer")
            case "boolean":
                return False
        return None

    def _object(self, rules: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = as_mapping(rules.get("properties"))
        required = rules["required"] if isinstance(rules.get("required"), list) else []
        names = list(dict.fromkeys(name for name in required if isinstance(name, str)))
        least = _size(rules.get("minProperties"))
        names += [name for name in properties if name not in names][: max(least - len(names), 0)]
        others = rules.get("additionalProperties", True)
        if len(names) < least:
            if others is False or "propertyNames" in rules:
                raise NoInstanceError
            names += islice((f"key{n}" for n in count(1) if f"key{n}" not in names), least - len(names))
        # In the order of the properties, as models write them.
        ordered = [name for name in properties if name in names] + [name for name in names if name not in properties]
        return {name: self.instance(properties.get(name, others), depth) for name in ordered}

    def _array(self, rules: Mapping[str, Any], depth: int) -> list[Any]:
        length, items = _size(rules.get("minItems")), rules.get("items", True)
        if length > _size(rules.get("maxItems"), length) or (length > 1 and rules.get("uniqueItems") is True):
            raise NoInstanceError
        # Draft 7 has the schemas of the first items under `items`.
        first = items if isinstance(items, list) else rules.get("prefixItems")
        first = list(first[:length]) if isinstance(first, list) else []
        rest = rules.get("additionalItems", True) if isinstance(items, list) else items
        return [self.instance(schema, depth) for schema in [*first, *[rest] * (length - len(first))]]


def _merged(one: Any, other: Any) -> dict[str, Any]:
    """Two schemas that hold at once: they share their properties, and say the same wherever both say something."""
    one, other = as_mapping(one), as_mapping(other)
    merged = {**one, **other}
    for key in one.keys() & other.keys():
        both = one[key], other[key]
        if all(isinstance(value, Mapping) for value in both):
            merged[key] = {**both[0], **both[1]}
        elif all(isinstance(value, list) for value in both) and key == "required":
            merged[key] = [*both[0], *both[1]]
        elif key == "type" and set(map(str, both)) == {"integer", "number"}:
            merged[key] = "integer"
        elif both[0] != both[1] and key not in _NOTES:
            raise NoInstanceError
    return merged


def _find(root: Any, reference: Any) -> Any:
    """The schema that a reference names, such as `#/$defs/Node`; `True`, which takes all, if it is not in the root."""
    current = root
    for step in str(reference).partition("#")[2].split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(current, list) and key.isdecimal():
            current = dict(enumerate(current)).get(int(key), True)
        else:
            current = as_mapping(current).get(key, True)
    return current


def _types(rules: Mapping[str, Any]) -> list[str]:
    """The types of a schema, in JSON Schema's words; Gemini writes them in capitals."""
    declared = rules.get("type")
    names = [name.lower() for name in (declared if isinstance(declared, list) else [declared]) if isinstance(name, str)]
    is_nullable = rules.get("nullable") is True
    if not names and is_nullable and len(rules) == 1:
        # google-genai writes an optional reference to the model itself as nothing but this.
        return ["null"]
    for kind, keywords in _IMPLIED.items():
        if not names and any(keyword in rules for keyword in keywords):
            names = [kind]
    return [*(names or ["string"]), *(["null"] if is_nullable else [])]


_IMPLIED: Final[Mapping[str, Sequence[str]]] = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
    "array": ("items", "prefixItems", "minItems"),
    "string": ("pattern", "minLength", "maxLength", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


def _as_number(value: Any) -> Fraction | None:
    """A number, also one that OpenAPI writes as text (`minItems: "2"`); `None` for anything else."""
    if isinstance(value, str) and value.isdecimal():
        return Fraction(int(value))
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return Fraction(str(value)) if is_number else None


def _size(value: Any, default: int = 0) -> int:
    """A length; those above the largest one are as good as endless."""
    number = _as_number(value)
    return default if number is None else max(min(math.ceil(number), _LONGEST), 0)


_BOUNDS: Final[Mapping[str, Callable[[Fraction, Fraction], bool]]] = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "exclusiveMaximum": operator.lt,
}


def _number(rules: Mapping[str, Any], *, is_integer: bool) -> int | float:
    """The number nearest to 0 within the bounds."""
    bounds = {keyword: bound for keyword in _BOUNDS if (bound := _as_number(rules.get(keyword))) is not None}
    step = _as_number(rules.get("multipleOf"))
    grid = Fraction(1) if step is None or (is_integer and step.denominator > 1) else step
    is_free = step is None and not is_integer
    starts = [Fraction(0), *bounds.values(), *(math.floor(bound / grid) * grid for bound in bounds.values())]
    near = sorted((start + move for start in starts for move in (0, grid, -grid)), key=lambda n: (abs(n), n < 0))
    # Between two bounds that are closer than 1.
    near.append(sum(bounds.values(), Fraction(0)) / max(len(bounds), 1))
    for number in near:
        is_within = all(_BOUNDS[keyword](number, bound) for keyword, bound in bounds.items())
        if is_within and (is_free or (number / grid).denominator == 1):
            return number.numerator if number.denominator == 1 else float(number)
    raise NoInstanceError


def _string(rules: Mapping[str, Any]) -> str:
    """The simplest text. A `default` serves where none is found for a pattern."""
    least, most = _size(rules.get("minLength")), _size(rules.get("maxLength"), _LONGEST)
    pattern = _compiled(rules["pattern"]) if isinstance(rules.get("pattern"), str) else None
    for text in _texts(rules, pattern, least) if least <= most else ():
        if least <= len(text) <= most and (pattern is None or pattern.search(text)):
            return text
    raise NoInstanceError


def _texts(rules: Mapping[str, Any], pattern: re.Pattern[str] | None, least: int) -> Iterator[str]:
    formatted = _FORMATS.get(str(rules.get("format")), "")
    if pattern is None:
        yield formatted.ljust(least, "a")
        return
    yield formatted
    # `rstr` knows no atomic groups.
    with suppress(KeyError):
        simplest = Xeger(_Simplest(0)).xeger(pattern)  # type: ignore[arg-type]
        yield simplest
        yield from (Xeger(_Simplest(more)).xeger(pattern) for more in (least, max(least - len(simplest), 0)))  # type: ignore[arg-type]
        # Without `^` or `$` there may be more behind it.
        yield simplest.ljust(least, "a")
    yield from (text for text in (rules.get("default"),) if isinstance(text, str))


class _Simplest:
    """What `rstr` asks, in place of `random.Random`, where a pattern leaves a choice: always the simplest.

    Args:
        more: how often a part that may be repeated is repeated more than it must be.
    """

    def __init__(self, more: int) -> None:
        self._more = more
        # Repeats within repeats would explode.
        self._left = 4 * more

    def choice(self, options: Sequence[Any]) -> Any:
        """One of the characters of a set, or of the alternatives."""
        if not isinstance(options[0], str):
            return options[0]
        # `rstr` makes some sets of characters in an order that changes from run to run.
        return min(options, key=lambda each: ("a0A".find(each) % 4, not each.isalnum(), each))

    def randint(self, least: int, most: int) -> int:
        """How often a part is repeated."""
        more = max(min(self._more, self._left, most - least), 0)
        self._left -= more
        return least + more

    def shuffle(self, characters: list[str]) -> None:
        """`rstr` shuffles single characters only."""


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern as Python reads it; ECMAScript writes a named group without the `P`."""
    try:
        return re.compile(re.sub(r"\(\?<(?![=!])", "(?P<", pattern))
    except (re.error, RecursionError, OverflowError, FutureWarning):
        # Such as `\\p{Lu}`; where a project makes errors of warnings, `[[` too.
        raise NoInstanceError from None

"""The smallest valid instance of a JSON Schema: what a model that is made to write JSON could reply.

For schemas as pydantic, zod and the vendors' SDKs write them; the same for the same schema. "Smallest" means: required
properties alone, no more items than needed, 0, `""`, the first branch of a union that can end, the first value of an
enum. What these rarely write, such as `if` or two different items, has no instance; `not` has no effect. Limits that
contradict each other are not looked for.
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from rstr.xeger import Xeger

from pytest_chatprompt.apis.conversation import as_items, as_mapping, json_text

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
        ("json-string", "0"),
        ("regex path file-path directory-path", "a"),
    )
    for name in names.split()
}

# Keywords that say nothing about what is valid, and those that no SDK writes.
_NOTES: Final = ("title", "description", "default", "examples", "deprecated", "nullable", "$comment", "$schema", "$id")
_REFUSED: Final = ("if", "contains", "dependentRequired", "dependentSchemas", "dependencies", "$dynamicRef")


class NoInstanceError(Exception):
    """No valid instance was found: the schema has no end, wants too much, or has what no SDK writes."""


def least_instance(schema: Any) -> Any:
    """Make the smallest valid instance of a schema, as JSON data."""
    # How many references one value may stand below.
    for depth in (1, 2, 4, 8, 16, 32):
        with suppress(NoInstanceError, RecursionError, OverflowError):
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
        if is_refused or depth < 0 or self._values > _MOST_VALUES:
            raise NoInstanceError
        key = next((key for key in ("$ref", "ref", "allOf", "anyOf", "oneOf") if key in rules), None)
        if key is None:
            return self._value(rules, depth)
        rest = {name: value for name, value in rules.items() if name != key}
        if key.endswith("ref"):
            return self.instance(_merged(_find(self._root, rules[key]), rest), depth - 1)
        if key == "allOf":
            return self.instance(functools.reduce(_merged, as_items(rules[key]), rest), depth)
        for branch in as_items(rules[key]):
            with suppress(NoInstanceError):
                return self.instance(_merged(rest, branch), depth)
        raise NoInstanceError

    def _value(self, rules: Mapping[str, Any], depth: int) -> Any:
        values = [rules["const"]] if "const" in rules else rules.get("enum")
        if isinstance(values, list) and values:
            return values[0]
        for kind in _types(rules):
            with suppress(NoInstanceError):
                return self._of_type(kind, rules, depth)
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
        properties, least = as_mapping(rules.get("properties")), _size(rules.get("minProperties"))
        required = [name for name in as_items(rules.get("required")) if isinstance(name, str)]
        # In the order of the properties, as models write them.
        names = [*(name for name in properties if name in required), *(n for n in required if n not in properties)]
        if len(names) < least and "propertyNames" in rules:
            raise NoInstanceError
        names += [f"key{number}" for number in range(len(names) + 1, least + 1)]
        others = rules.get("additionalProperties", True)
        return {name: self.instance(properties.get(name, others), depth) for name in names}

    def _array(self, rules: Mapping[str, Any], depth: int) -> list[Any]:
        length, rest = _size(rules.get("minItems")), rules.get("items", True)
        if length > 1 and rules.get("uniqueItems") is True:
            raise NoInstanceError
        # Draft 7 has the schemas of the first items under `items`.
        first = rest if isinstance(rest, list) else as_items(rules.get("prefixItems"))
        return [self.instance(first[n] if n < len(first) else rest, depth) for n in range(length)]


def _merged(one: Any, other: Any) -> dict[str, Any]:
    """Two schemas that hold at once: they share their properties, and say the same wherever both say something."""
    if other is False or one is False:
        raise NoInstanceError
    one, other = as_mapping(one), as_mapping(other)
    merged = {**one, **other}
    for key in one.keys() & other.keys():
        if isinstance(one[key], Mapping) and isinstance(other[key], Mapping):
            merged[key] = {**one[key], **other[key]}
        elif key == "required":
            merged[key] = [*as_items(one[key]), *as_items(other[key])]
        elif one[key] != other[key] and key not in _NOTES:
            raise NoInstanceError
    return merged


def _find(root: Any, reference: Any) -> Any:
    """The schema that a reference names, such as `#/$defs/Node`; `False`, which takes nothing, if there is none."""
    current = root
    for step in str(reference).partition("#")[2].split("/")[1:]:
        items = {str(index): item for index, item in enumerate(current)} if isinstance(current, list) else current
        current = as_mapping(items).get(step, False)
    return current


def _types(rules: Mapping[str, Any]) -> list[str]:
    """The types of a schema, in JSON Schema's words; Gemini writes them in capitals."""
    names = [name.lower() for name in as_items(rules.get("type")) if isinstance(name, str)]
    is_nullable = rules.get("nullable") is True
    if not names and is_nullable and len(rules) == 1:
        # google-genai writes an optional reference to the model itself as nothing but this.
        return ["null"]
    if not names:
        is_object = "properties" in rules or "required" in rules
        names = ["object" if is_object else "array" if "items" in rules else "string"]
    return [*names, *(["null"] if is_nullable else [])]


def _size(value: Any, default: int = 0) -> int:
    """A length, which OpenAPI writes as text (`minItems: "2"`); those above the largest one are as good as endless."""
    return min(int(value), _LONGEST) if str(value).isdecimal() else default


_BOUNDS: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "minimum": operator.ge,
    "exclusiveMinimum": operator.gt,
    "maximum": operator.le,
    "exclusiveMaximum": operator.lt,
}


def _number(rules: Mapping[str, Any], *, is_integer: bool) -> float:
    """The number nearest to 0 within the bounds."""
    numbers = {keyword: value for keyword, value in rules.items() if isinstance(value, int | float)}
    bounds = {keyword: numbers[keyword] for keyword in _BOUNDS if keyword in numbers}
    step = numbers.get("multipleOf") or int(is_integer)
    grid = step or 1
    starts = [0, *bounds.values(), *(bound // grid * grid for bound in bounds.values())]
    near = sorted((start + move for start in starts for move in (0, grid, -grid)), key=lambda n: (abs(n), n < 0))
    # The last is between two bounds that are closer than 1.
    for number in (*near, sum(bounds.values()) / (len(bounds) or 1)):
        is_within = all(_BOUNDS[keyword](number, bound) for keyword, bound in bounds.items())
        if is_within and not (step and number % step):
            return int(number) if number % 1 == 0 else number
    raise NoInstanceError


def _string(rules: Mapping[str, Any]) -> str:
    """The simplest text."""
    least, most = _size(rules.get("minLength")), _size(rules.get("maxLength"), _LONGEST)
    formatted = _FORMATS.get(str(rules.get("format")), "")
    if not isinstance(rules.get("pattern"), str):
        return formatted.ljust(least, "a")
    pattern = _compiled(rules["pattern"])
    if least <= len(formatted) <= most and pattern.search(formatted):
        return formatted
    # `rstr` knows no atomic groups.
    with suppress(KeyError):
        simplest = Xeger(_Simplest()).xeger(pattern)  # type: ignore[arg-type]
        # There may be more behind it: of the same without a `$`, or after `[a-z]+`.
        text = simplest.ljust(least, simplest[-1:] or "a")
        if len(text) <= most and pattern.search(text):
            return text
    raise NoInstanceError


class _Simplest:
    """What `rstr` asks, in place of `random.Random`, where a pattern leaves a choice: always the simplest."""

    def choice(self, options: Sequence[Any]) -> Any:
        """One of the characters of a set, or of the alternatives."""
        if not isinstance(options[0], str):
            return options[0]
        # `rstr` makes some sets of characters in an order that changes from run to run.
        return min(options, key=lambda each: ("a0A".find(each) % 4, not each.isalnum(), each))

    def randint(self, least: int, most: int) -> int:  # noqa: ARG002 - as `random.Random`
        """How often a part is repeated."""
        return least

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

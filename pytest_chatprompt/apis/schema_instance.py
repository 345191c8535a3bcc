"""The smallest valid instance of a JSON Schema: what a model that is made to write JSON could reply.

For schemas as pydantic, zod and the vendors' SDKs write them; the same for the same schema. "Smallest" means: required
properties alone, no more items than needed, 0, `""`, the first branch of a union that can end, the first value of an
enum. What none of these writes, such as `if`, has no instance; `not` has no effect.
"""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import count, islice, product
from string import ascii_lowercase
from typing import Any, Final
from urllib.parse import unquote

from rstr.xeger import Xeger

from pytest_chatprompt.apis.conversation import as_mapping
from pytest_chatprompt.apis.json_body import json_text

# How many references one value may stand below, tried one after the other, the smallest first.
_DEPTHS: Final = (1, 2, 4, 8, 16, 32)
# Limits, so that no schema takes seconds.
_MOST_TRIES: Final = 64
_MOST_PATTERN_TRIES: Final = 300
_MOST_VALUES: Final = 10_000
_LONGEST: Final = 1_000_000

# By `format`: the formats of JSON Schema (https://json-schema.org/draft/2020-12/json-schema-validation#section-7), and
# those that pydantic and zod write. `n` counts the variants, `pad` is what makes the text longer.
_FORMATS: Final[Mapping[str, str]] = {
    name: template
    for names, template in (
        ("date-time", "2025-01-01T00:{minute:02}:{second:02}Z"),
        ("date", "2025-01-{day:02}"),
        ("time", "00:{minute:02}:{second:02}Z"),
        ("duration", "PT{n}S"),
        ("email idn-email", "{pad}a@example.com"),
        ("hostname idn-hostname", "{pad}a.example.com"),
        ("ipv4 ipvanyaddress", "127.0.0.{byte}"),
        ("ipv4interface ipv4network ipvanyinterface ipvanynetwork", "127.0.0.{byte}/32"),
        ("cidrv4", "127.0.0.{byte}/32"),
        ("ipv6", "::{n:x}"),
        ("ipv6interface ipv6network cidrv6", "::{n:x}/128"),
        ("uri url uri-reference iri iri-reference uri-template multi-host-uri", "https://example.com/{pad}"),
        ("uuid uuid4", "00000000-0000-4000-8000-{n:012x}"),
        *((f"uuid{version}", f"00000000-0000-{version}000-8000-{{n:012x}}") for version in (1, 3, 5, 6, 7, 8)),
        ("json-pointer", "/{pad}"),
        ("relative-json-pointer json-string", "{n}"),
        ("regex", "a{pad}"),
        ("path file-path directory-path", "{pad}a"),
        ("color", "#{n:06x}"),
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
        with suppress(_UnsatisfiableError):
            try:
                return _Walker(schema).instance(schema, depth)
            except RecursionError:
                break
    raise NoInstanceError


class _UnsatisfiableError(Exception):
    """No instance within the allowed depth is valid; another branch of a union is tried then."""


class _Walker:
    """Makes instances of the parts of one schema."""

    def __init__(self, root: Any) -> None:
        self._root = root
        # Which value each leaf takes, for arrays whose items must differ.
        self._variant = 0
        self._values = 0

    def instance(self, schema: Any, depth: int) -> Any:
        """An instance of one part, in which `depth` references may be followed."""
        self._values += 1
        rules = as_mapping(schema)
        if self._values > _MOST_VALUES or any(keyword in rules for keyword in _REFUSED):
            raise NoInstanceError
        if schema is False:
            raise _UnsatisfiableError
        for key in [key for key in _COMBINING if key in rules]:
            rest = {name: value for name, value in rules.items() if name != key}
            value = rules.get(key)
            if key.endswith("ref") and isinstance(value, str):
                if depth == 0:
                    raise _UnsatisfiableError
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
            return values[self._variant % len(values)]
        types = _types(rules)
        if len(types) > 1:
            rest = {name: value for name, value in rules.items() if name not in ("type", "nullable")}
            return self._first_of(rest, [{"type": kind} for kind in types], depth)
        return self._of_type(types[0], rules, depth)

    def _first_of(self, rest: Mapping[str, Any], branches: Sequence[Any], depth: int) -> Any:
        """An instance of the rest with the first branch that has one; another variant begins with another branch."""
        first = self._variant % max(len(branches), 1)
        for branch in (*branches[first:], *branches[:first]):
            with suppress(_UnsatisfiableError):
                return self.instance(_merged(rest, branch), depth)
        raise _UnsatisfiableError

    def _of_type(self, kind: str, rules: Mapping[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                return self._object(rules, depth)
            case "array":
                return self._array(rules, depth)
            case "string" if rules.get("contentMediaType") == "application/json":
                return json_text(self.instance(rules.get("contentSchema", True), depth))
            case "string":
                return _string(rules, self._variant)
            case "integer" | "number":
                return _number(rules, is_integer=kind == "integer", variant=self._variant)
            case "boolean":
                return bool(self._variant % 2)
        return None

    def _object(self, rules: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = as_mapping(rules.get("properties"))
        required = rules["required"] if isinstance(rules.get("required"), list) else []
        names = list(dict.fromkeys(name for name in required if isinstance(name, str)))
        least = _size(rules.get("minProperties"))
        names += [name for name in properties if name not in names][: max(least - len(names), 0)]
        patterns = as_mapping(rules.get("patternProperties"))
        others = rules.get("additionalProperties", True)
        for pattern, schema in patterns.items():
            rules, others = {**rules, "propertyNames": {"pattern": pattern}}, schema
        if len(names) < least and others is False:
            raise _UnsatisfiableError
        missing = max(least - len(names), 0)
        if "propertyNames" in rules:
            names += self._different([rules["propertyNames"]] * missing, depth, names)
        else:
            names += list(islice((f"key{n}" for n in count(1) if f"key{n}" not in names), missing))
        # In the order of the properties, as models write them.
        ordered = [name for name in properties if name in names] + [name for name in names if name not in properties]
        return {name: self.instance(properties.get(name, others), depth) for name in ordered}

    def _array(self, rules: Mapping[str, Any], depth: int) -> list[Any]:
        length, items = _size(rules.get("minItems")), rules.get("items", True)
        if length > _size(rules.get("maxItems"), length):
            raise _UnsatisfiableError
        # Draft 7 has the schemas of the first items under `items`.
        first = items if isinstance(items, list) else rules.get("prefixItems")
        first = list(first[:length]) if isinstance(first, list) else []
        rest = rules.get("additionalItems", True) if isinstance(items, list) else items
        schemas = [*first, *[rest] * (length - len(first))]
        if rules.get("uniqueItems") is True:
            return self._different(schemas, depth)
        return [self.instance(schema, depth) for schema in schemas]

    def _different(self, schemas: Sequence[Any], depth: int, taken: Sequence[Any] = ()) -> list[Any]:
        """Instances that differ from each other and from those that are taken."""
        found: dict[str, Any] = {json_text(each): each for each in taken}
        before = self._variant
        for schema in schemas:
            for self._variant in range(before, before + len(found) + _MOST_TRIES):
                item = self.instance(schema, depth)
                if json_text(item) not in found:
                    found[json_text(item)] = item
                    break
            else:
                raise _UnsatisfiableError
        self._variant = before
        return list(found.values())[len(taken) :]


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
            raise _UnsatisfiableError
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


def _number(rules: Mapping[str, Any], *, is_integer: bool, variant: int) -> int | float:
    """The number nearest to 0 within the bounds; another one for another variant."""
    low, above = _as_number(rules.get("minimum")), _as_number(rules.get("exclusiveMinimum"))
    high, below = _as_number(rules.get("maximum")), _as_number(rules.get("exclusiveMaximum"))
    step = _as_number(rules.get("multipleOf"))
    step = Fraction(1) if is_integer and (step is None or step.denominator > 1) else step
    bounds = [bound for bound in (low, above, high, below) if bound is not None]

    def fits(number: Fraction) -> bool:
        return (
            (low is None or number >= low)
            and (above is None or number > above)
            and (high is None or number <= high)
            and (below is None or number < below)
            and (not step or (number / step).denominator == 1)
        )

    grid = step or Fraction(1)
    near = [Fraction(0), *bounds, *(Fraction(math.floor(bound / grid)) * grid for bound in bounds)]
    near += [start + sign * index * grid for index in range(1, variant + 3) for start in near for sign in (1, -1)]
    near.sort(key=lambda number: (abs(number), number < 0))
    width = max(bounds, default=Fraction(0)) - min(bounds, default=Fraction(0))
    between = (min(bounds) + width / parts for parts in range(2, variant + 4 if bounds else 2))
    found = list(dict.fromkeys(number for number in (*near, *between) if fits(number)))
    if not found:
        raise _UnsatisfiableError
    chosen = found[variant % len(found)]
    return chosen.numerator if chosen.denominator == 1 else float(chosen)


def _string(rules: Mapping[str, Any], variant: int) -> str:
    """The simplest text; another one for another variant. A `default` serves where none is found for a pattern."""
    least, most = _size(rules.get("minLength")), _size(rules.get("maxLength"), _LONGEST)
    pattern = rules.get("pattern")
    compiled = _compiled(pattern) if isinstance(pattern, str) else None
    found: list[str] = []
    for text in _texts(rules, compiled, least, variant) if least <= most else ():
        if least <= len(text) <= most and (compiled is None or compiled.search(text)) and text not in found:
            found.append(text)
            if len(found) > variant:
                break
    if not found:
        raise _UnsatisfiableError
    return found[variant % len(found)]


def _texts(rules: Mapping[str, Any], pattern: re.Pattern[str] | None, least: int, variant: int) -> Iterator[str]:
    template = _FORMATS.get(str(rules.get("format")), "")
    for n in range(variant + 1) if template else ():
        (minute, second), day, byte = divmod(n % 3600, 60), 1 + n % 28, 1 + n % 254
        filled = functools.partial(template.format, n=n, minute=minute, second=second, day=day, byte=byte)
        yield filled(pad="a" * (max(0, least - len(filled(pad=""))) + n))
    if pattern is None:
        # All words of small letters, shorter ones first.
        yield from ("".join(word) for length in count(least) for word in product(ascii_lowercase, repeat=length))
    # `rstr` knows no atomic groups.
    with suppress(KeyError):
        simplest = Xeger(_Choices(0)).xeger(pattern)  # type: ignore[arg-type]
        yield simplest
        yield from (Xeger(_Choices(more)).xeger(pattern) for more in (least, max(least - len(simplest), 0)))  # type: ignore[arg-type]
        # Without `^` or `$` there may be more behind it.
        yield simplest.ljust(least, "a")
        for seed in range(_MOST_PATTERN_TRIES):
            yield Xeger(_Choices(least if seed % 2 else seed // 8, seed)).xeger(pattern)  # type: ignore[arg-type]
    yield from (text for text in (rules.get("default"),) if isinstance(text, str))


class _Choices:
    """What `rstr` asks, in place of `random.Random`, where a pattern leaves a choice: the simplest text, or by chance.

    Args:
        more: how often a part that may be repeated is repeated more than it must be.
        seed: for another text than the simplest; the same text for the same seed.
    """

    def __init__(self, more: int, seed: int | None = None) -> None:
        self._more = more
        # Repeats within repeats would explode.
        self._left = 4 * more
        # No secret: what is chosen must be the same every time.
        self._random = None if seed is None else random.Random(seed)  # noqa: S311

    def choice(self, options: Sequence[Any]) -> Any:
        """One of the characters of a set, or of the alternatives."""
        ordered = options
        if isinstance(options[0], str):
            # `rstr` makes some sets of characters in an order that changes from run to run.
            ordered = sorted(options, key=lambda each: ("a0A".find(each) % 4, not each.isalnum(), each))
        return ordered[0] if self._random is None else self._random.choice(ordered)

    def randint(self, least: int, most: int) -> int:
        """How often a part is repeated."""
        more = self._more if self._random is None else self._random.randint(0, self._more)
        more = max(min(more, self._left, most - least), 0)
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

"""The smallest valid instance of a JSON Schema: what a model that is made to write JSON could reply.

The same for the same schema, of any dialect from draft 4 to 2020-12, with OpenAPI's `nullable` and Gemini's upper-case
types. "Smallest" means: required properties alone, no more items than needed, 0, `""`, the first branch of a union that
can end, the first value of an enum. Ignored are `not`, `dependentSchemas`, `unevaluated...`, references to other
documents, and whether two branches of `oneOf` hold at once.
"""

from __future__ import annotations

import functools
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Final
from urllib.parse import unquote

from rstr.xeger import Xeger

from pytest_chatprompt.apis.json_body import json_text

# How many references one value may stand below, tried one after the other, the smallest first.
_DEPTHS: Final = (1, 2, 4, 8, 16, 32)
_MOST_UNIQUE_TRIES: Final = 64
_MOST_ITEMS: Final = 5_000
# A limit, so that no schema takes seconds.
_MOST_VALUES: Final = 10_000


def least_instance(schema: Any) -> Any:
    """Make the smallest valid instance of a schema.

    Args:
        schema: a JSON Schema.

    Returns:
        JSON data; `{}` if no instance was found, because the schema contradicts itself, has no end, or wants
        too much.
    """
    for depth in _DEPTHS:
        try:
            return _Walker(schema).instance(schema, depth)
        except _Unsatisfiable:
            continue
        except (_TooLargeError, RecursionError):
            break
    return {}


class _TooLargeError(Exception):
    """Even the smallest valid instance has too many values."""


class _Walker:
    """Makes instances of the parts of one schema.

    Args:
        root: the whole schema.
    """

    def __init__(self, root: Any) -> None:
        self._root = root
        # Which value each leaf takes, for arrays whose items must differ.
        self._variant = 0
        # The schemas without an instance, by id and depth: unions would try them again and again.
        self._dead: dict[tuple[int, int], Any] = {}
        self._values = 0

    def instance(self, schema: Any, depth: int) -> Any:
        """An instance of one part.

        Args:
            schema: the part.
            depth: how many references may be followed.

        Raises:
            _Unsatisfiable: no instance within that depth is valid.
        """
        key = (id(schema), depth)
        self._values += 1
        if self._values > _MOST_VALUES:
            raise _TooLargeError
        if key in self._dead:
            raise _Unsatisfiable
        try:
            found = _Rules(self._root, depth)
            found.add(schema)
            return self._choose(found, found.unions)
        except _Unsatisfiable:
            # With the schema itself, so that no other one gets its id.
            self._dead[key] = schema
            raise

    def _choose(self, found: _Rules, unions: Sequence[Sequence[Any]]) -> Any:
        """Choose a branch of each union, the first that has an instance together with all the rest."""
        if not unions:
            return self._value(found.rules, found.depth)
        branches = unions[0]
        first = self._variant % len(branches)
        for branch in (*branches[first:], *branches[:first]):
            chosen = _Rules(self._root, found.depth)
            chosen.rules = {name: list(rule) if isinstance(rule, list) else rule for name, rule in found.rules.items()}
            try:
                chosen.add(branch)
                return self._choose(chosen, [*unions[1:], *chosen.unions])
            except _Unsatisfiable:
                continue
        raise _Unsatisfiable

    def _value(self, rules: Mapping[str, Any], depth: int) -> Any:
        if "enum" in rules:
            values = [value for value in rules["enum"] if "type" not in rules or _type_of(value) in _with_number(rules)]
            if not values:
                raise _Unsatisfiable
            return values[self._variant % len(values)]
        types = rules.get("type") or [_implied_type(rules)]
        for kind in types[:-1]:
            with suppress(_Unsatisfiable):
                return self._of_type(kind, rules, depth)
        return self._of_type(types[-1], rules, depth)

    def _of_type(self, kind: str, rules: Mapping[str, Any], depth: int) -> Any:
        match kind:
            case "object":
                return self._object(rules, depth)
            case "array":
                return self._array(rules, depth)
            case "string":
                if rules.get("contentMediaType") == "application/json":
                    return json_text(self.instance(rules.get("contentSchema", True), depth))
                return _least_string(rules, self._variant)
            case "integer" | "number":
                return _least_number(rules, is_integer=kind == "integer", variant=self._variant)
            case "boolean":
                return bool(self._variant % 2)
        return None

    def _object(self, rules: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = rules.get("properties", {})
        names = _with_dependents(rules.get("required", ()), rules)
        least = int(_as_number(rules.get("minProperties")) or 0)
        for name in properties:
            if len(names) >= least:
                break
            if name not in names and properties[name] is not False:
                names = _with_dependents([*names, name], rules)
        for name in self._other_names(rules, depth) if len(names) < least else ():
            if len(names) >= least:
                break
            if name not in names:
                names.append(name)
        # In the order of the properties, as models write them.
        ordered = [name for name in properties if name in names] + [name for name in names if name not in properties]
        return {name: self.instance(_property_schema(name, rules), depth) for name in ordered}

    def _other_names(self, rules: Mapping[str, Any], depth: int) -> Iterator[str]:
        """Names for properties that the schema does not name."""
        patterns = [pattern for pattern in rules.get("patternProperties", {}) if isinstance(pattern, str)]
        before = self._variant
        for variant in range(_MOST_UNIQUE_TRIES):
            self._variant = variant
            try:
                if rules.get("additionalProperties") is False:
                    names = [_least_string({"patterns": [pattern]}, variant) for pattern in patterns]
                elif isinstance(rules.get("propertyNames"), Mapping):
                    names = [self.instance({"type": "string", "allOf": [rules["propertyNames"]]}, depth)]
                else:
                    names = [f"key{variant + 1}"]
            finally:
                self._variant = before
            yield from names
        raise _Unsatisfiable

    def _array(self, rules: Mapping[str, Any], depth: int) -> list[Any]:
        count = int(_as_number(rules.get("minItems")) or 0)
        contained = int(rules.get("minContains", 1)) if "contains" in rules else 0
        count = max(count, contained)
        if count > _MOST_ITEMS or count > (_as_number(rules.get("maxItems")) or count):
            raise _Unsatisfiable
        items = rules.get("items", True)
        first, rest = (items, rules.get("additionalItems", True)) if isinstance(items, list) else ([], items)
        first = rules.get("prefixItems") or first
        schemas = [first[index] if index < len(first) else rest for index in range(count)]
        # The last ones are those that `contains` wants: what comes first may have a schema of its own.
        for index in range(count - contained, count):
            schemas[index] = {"allOf": [schemas[index], rules["contains"]]}
        if not rules.get("uniqueItems"):
            return [self.instance(schema, depth) for schema in schemas]
        return self._unique(schemas, depth)

    def _unique(self, schemas: Sequence[Any], depth: int) -> list[Any]:
        items: dict[str, Any] = {}
        before = self._variant
        try:
            for schema in schemas:
                for variant in range(before, before + len(items) + _MOST_UNIQUE_TRIES):
                    self._variant = variant
                    item = self.instance(schema, depth)
                    if json_text(item) not in items:
                        items[json_text(item)] = item
                        break
                else:
                    raise _Unsatisfiable
        finally:
            self._variant = before
        return list(items.values())


def _with_dependents(names: Sequence[str], rules: Mapping[str, Any]) -> list[str]:
    """The names of properties, and of those that must stand beside them."""
    wanted = list(names)
    for name in wanted:
        for key in ("dependentRequired", "dependencies"):
            others = rules.get(key, {}).get(name)
            if isinstance(others, list):
                wanted += [other for other in others if other not in wanted]
    return wanted


def _property_schema(name: str, rules: Mapping[str, Any]) -> Any:
    schemas = [rules["properties"][name]] if name in rules.get("properties", {}) else []
    schemas += [schema for pattern, schema in rules.get("patternProperties", {}).items() if _matches(pattern, name)]
    if not schemas:
        return rules.get("additionalProperties", True)
    return schemas[0] if len(schemas) == 1 else {"allOf": schemas}


def _implied_type(rules: Mapping[str, Any]) -> str:
    """Infer the type of a schema that names none from its keywords."""
    for kind, keywords in (
        ("object", ("properties", "required", "additionalProperties", "patternProperties", "minProperties")),
        ("array", ("items", "prefixItems", "minItems", "contains")),
        ("string", ("patterns", "minLength", "maxLength", "format")),
        ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")),
    ):
        if any(keyword in rules for keyword in keywords):
            return kind
    return "string"


def _type_of(value: Any) -> str:
    if value is None:
        return "null"
    for kind, types in (("boolean", bool), ("string", str), ("object", Mapping), ("array", list)):
        if isinstance(value, types):
            return kind
    return "integer" if float(value).is_integer() else "number"


def _with_number(rules: Mapping[str, Any]) -> Sequence[str]:
    types: list[str] = rules["type"]
    return [*types, "integer"] if "number" in types else types


_ALL_TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")
_LOWER_BOUNDS: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER_BOUNDS: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_MAPPINGS: Final = ("properties", "patternProperties", "dependentRequired", "dependencies")
_SCHEMAS: Final = ("items", "additionalProperties", "contains", "propertyNames")
_MERGED_ABOVE: Final = ("type", "enum", "const", "nullable", "allOf", "anyOf", "oneOf", "if", "then", "else")


class _Unsatisfiable(Exception):  # noqa: N818 - no error: another branch of a union is tried then
    """No instance within the allowed depth is valid."""


class _Rules:
    """The rules of one place of a schema.

    Args:
        root: the whole schema, which references look into.
        depth: how many references may be followed from here on.

    Attributes:
        rules: the keywords that hold here, merged.
        unions: for each `anyOf`, `oneOf` and `if` its branches.
        depth: what is left of it.
    """

    def __init__(self, root: Any, depth: int) -> None:
        self.root = root
        self.depth = depth
        self.rules: dict[str, Any] = {}
        self.unions: list[Sequence[Any]] = []

    def add(self, schema: Any) -> None:
        """Add a schema, with all that it refers to.

        Raises:
            _Unsatisfiable: it contradicts what was added before, or refers too deep.
        """
        followed: set[str] = set()
        pending = [schema]
        while pending:
            current = pending.pop()
            if current is False:
                raise _Unsatisfiable
            if not isinstance(current, Mapping):
                continue
            for key in ("$ref", "$dynamicRef", "ref"):
                reference = current.get(key)
                if isinstance(reference, str) and reference not in followed:
                    followed.add(reference)
                    self.depth -= 1
                    if self.depth < 0:
                        raise _Unsatisfiable
                    pending.append(_find_reference(self.root, reference))
            if isinstance(current.get("allOf"), list):
                pending += reversed(current["allOf"])
            self._add_unions(current)
            self._merge(current)

    def _add_unions(self, schema: Mapping[str, Any]) -> None:
        for key in ("anyOf", "oneOf"):
            branches = schema.get(key)
            if isinstance(branches, list) and branches:
                self.unions.append(branches)
        if "if" in schema:
            # What fits both `if` and `then` is valid; `else` alone is too where `if` does not hold.
            self.unions.append([{"allOf": [schema["if"], schema.get("then", True)]}, schema.get("else", True)])

    def _merge(self, schema: Mapping[str, Any]) -> None:
        types = _types(schema)
        if types is not None:
            self._intersect("type", types)
        if "const" in schema:
            self._intersect("enum", [schema["const"]])
        if isinstance(schema.get("enum"), list):
            self._intersect("enum", schema["enum"])
        for key, value in schema.items():
            if key not in _MERGED_ABOVE:
                self._merge_keyword(key, value)

    def _merge_keyword(self, key: str, value: Any) -> None:
        if key in _LOWER_BOUNDS:
            self._bound(key, value, max)
        elif key in _UPPER_BOUNDS:
            self._bound(key, value, min)
        elif key in _MAPPINGS:
            self._merge_mappings(key, value)
        elif key == "required":
            names = map(str, value if isinstance(value, list) else ())
            self.rules[key] = list(dict.fromkeys([*self.rules.get(key, ()), *names]))
        elif key == "pattern":
            self.rules["patterns"] = [*self.rules.get("patterns", ()), value]
        elif key in _SCHEMAS and key in self.rules:
            self.rules[key] = {"allOf": [self.rules[key], value]}
        else:
            self.rules.setdefault(key, value)

    def _intersect(self, key: str, values: Sequence[Any]) -> None:
        before = self.rules.get(key)
        kept = list(values) if before is None else [value for value in before if _holds(values, value)]
        if key == "type" and before is not None and "number" in before and "integer" in values:
            kept = list(dict.fromkeys([*kept, "integer"]))
        if not kept:
            raise _Unsatisfiable
        self.rules[key] = kept

    def _bound(self, key: str, value: Any, choose: Any) -> None:
        number = _as_number(value)
        if isinstance(value, bool):
            # Draft 4: whether `minimum` itself is excluded.
            self.rules[key] = self.rules.get(key) or value
        elif number is not None:
            before = _as_number(self.rules.get(key))
            self.rules[key] = number if before is None else choose(before, number)

    def _merge_mappings(self, key: str, value: Any) -> None:
        if not isinstance(value, Mapping):
            return
        merged = dict(self.rules.get(key, {}))
        for name, schema in value.items():
            merged[name] = {"allOf": [merged[name], schema]} if name in merged and key.endswith("roperties") else schema
        self.rules[key] = merged


def _find_reference(root: Any, reference: str) -> Any:
    """The schema that a reference names, by JSON pointer or by anchor; `True`, which takes all, for one elsewhere.

    Args:
        root: the whole schema.
        reference: such as `#/$defs/Node`.
    """
    _, _, fragment = reference.partition("#")
    if fragment and not fragment.startswith("/"):
        return _find_anchor(root, fragment)
    current = root
    for step in fragment.split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(current, Mapping) and key in current:
            current = current[key]
        elif isinstance(current, list) and key.isdigit() and int(key) < len(current):
            current = current[int(key)]
        else:
            return True
    return current


def _as_number(value: Any) -> int | float | None:
    """A number, also one that OpenAPI writes as text (`minItems: "2"`); `None` for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def _find_anchor(root: Any, name: str) -> Any:
    pending = [root]
    while pending:
        current = pending.pop()
        if isinstance(current, Mapping):
            if name in (current.get("$anchor"), current.get("$dynamicAnchor")):
                return current
            pending += current.values()
        elif isinstance(current, list):
            pending += current
    return True


def _types(schema: Mapping[str, Any]) -> list[str] | None:
    declared = schema.get("type")
    names = [name.lower() for name in (declared if isinstance(declared, list) else [declared]) if isinstance(name, str)]
    types = [name for name in names if name in _ALL_TYPES]
    if not types:
        # google-genai writes an optional reference to the model itself as nothing but this.
        return ["null"] if schema.get("nullable") is True and len(schema) == 1 else None
    return [*types, "null"] if schema.get("nullable") is True and "null" not in types else types


def _holds(values: Sequence[Any], value: Any) -> bool:
    if value == "integer" and "number" in values:
        return True
    # `1 == True` in Python, not in JSON.
    return any(value == other and isinstance(value, bool) == isinstance(other, bool) for other in values)


def _least_number(rules: Mapping[str, Any], *, is_integer: bool, variant: int = 0) -> int | float:
    """Make the number nearest to 0 within the bounds.

    Args:
        rules: the keywords, exclusive bounds as numbers or as draft 4 has them.
        is_integer: whether it must be one.
        variant: another number gives another one, if there is one.

    Raises:
        _Unsatisfiable: none was found within the bounds.
    """
    low, excludes_low = _bound(rules, "minimum", "exclusiveMinimum", max)
    high, excludes_high = _bound(rules, "maximum", "exclusiveMaximum", min)
    step = _fraction(rules.get("multipleOf")) or None
    if is_integer:
        step = Fraction(1) if step is None else Fraction(step.numerator)

    def fits(number: Fraction) -> bool:
        above = low is None or number > low or (number == low and not excludes_low)
        below = high is None or number < high or (number == high and not excludes_high)
        return above and below and (step is None or (number / step).denominator == 1)

    candidates = list(filter(fits, _numbers(low, high, step, variant)))
    if not candidates:
        raise _Unsatisfiable
    return _plain(candidates[variant % len(candidates)])


def _numbers(low: Fraction | None, high: Fraction | None, step: Fraction | None, variant: int) -> Iterator[Fraction]:
    stride = step or Fraction(1)
    yield Fraction(0)
    if low is not None and low > 0:
        first, sign = Fraction(math.ceil(low / stride)) * stride, 1
        yield low
    elif high is not None and high < 0:
        first, sign = Fraction(math.floor(high / stride)) * stride, -1
        yield high
    else:
        first, sign = Fraction(0), 1
    for index in range(variant + 3):
        yield first + sign * index * stride
        yield first - sign * index * stride
    if low is not None and high is not None:
        for parts in range(2, variant + 4):
            yield low + (high - low) / parts
    elif low is not None:
        yield low + Fraction(1, 2)
    elif high is not None:
        yield high - Fraction(1, 2)


def _bound(rules: Mapping[str, Any], key: str, exclusive_key: str, choose: Any) -> tuple[Fraction | None, bool]:
    bound, exclusive = _fraction(rules.get(key)), rules.get(exclusive_key)
    if isinstance(exclusive, bool):
        return bound, exclusive
    exclusive = _fraction(exclusive)
    if bound is None or exclusive is None:
        return (bound, False) if exclusive is None else (exclusive, True)
    chosen = choose(bound, exclusive)
    return chosen, chosen == exclusive


def _fraction(value: Any) -> Fraction | None:
    number = _as_number(value)
    return None if number is None or not math.isfinite(number) else Fraction(str(number))


def _plain(number: Fraction) -> int | float:
    return number.numerator if number.denominator == 1 else float(number)


_LONGEST: Final = 1_000_000
_TRIES: Final = 300

# The formats of JSON Schema 2020-12 (https://json-schema.org/draft/2020-12/json-schema-validation#section-7), and those
# that pydantic writes. `n` counts the variants, `pad` is what makes the string longer.
_FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2025-01-01T00:{minute:02}:{second:02}Z",
    "date": "2025-01-{day:02}",
    "time": "00:{minute:02}:{second:02}Z",
    "duration": "PT{n}S",
    "email": "{pad}a@example.com",
    "idn-email": "{pad}a@example.com",
    "hostname": "{pad}a.example.com",
    "idn-hostname": "{pad}a.example.com",
    "ipv4": "127.0.0.{byte}",
    "ipv6": "::{n:x}",
    "ipvanyaddress": "127.0.0.{byte}",
    "ipv4interface": "127.0.0.{byte}/32",
    "ipv4network": "127.0.0.{byte}/32",
    "ipvanyinterface": "127.0.0.{byte}/32",
    "ipvanynetwork": "127.0.0.{byte}/32",
    "ipv6interface": "::{n:x}/128",
    "ipv6network": "::{n:x}/128",
    "uri": "https://example.com/{pad}",
    "url": "https://example.com/{pad}",
    "uri-reference": "https://example.com/{pad}",
    "iri": "https://example.com/{pad}",
    "iri-reference": "https://example.com/{pad}",
    "uri-template": "https://example.com/{pad}",
    "multi-host-uri": "https://example.com/{pad}",
    "uuid": "00000000-0000-4000-8000-{n:012x}",
    "uuid1": "00000000-0000-1000-8000-{n:012x}",
    "uuid3": "00000000-0000-3000-8000-{n:012x}",
    "uuid4": "00000000-0000-4000-8000-{n:012x}",
    "uuid5": "00000000-0000-5000-8000-{n:012x}",
    "uuid6": "00000000-0000-6000-8000-{n:012x}",
    "uuid7": "00000000-0000-7000-8000-{n:012x}",
    "uuid8": "00000000-0000-8000-8000-{n:012x}",
    "json-pointer": "/{pad}",
    "relative-json-pointer": "{n}",
    "regex": "a{pad}",
    "json-string": "{n}",
    "path": "{pad}a",
    "file-path": "{pad}a",
    "directory-path": "{pad}a",
    "color": "#{n:06x}",
}


def _least_string(rules: Mapping[str, Any], variant: int = 0) -> str:
    """Make the smallest valid string.

    Args:
        rules: the keywords, with `patterns` in place of `pattern`; a `default` or `examples` serve where no string that
            fits the patterns is found otherwise.
        variant: another number gives another string, if there is one.

    Raises:
        _Unsatisfiable: the lengths exclude each other, or no string was found that fits the patterns.
    """
    least = int(_as_number(rules.get("minLength")) or 0)
    most = _as_number(rules.get("maxLength"))
    if least > _LONGEST or (most is not None and most < least):
        raise _Unsatisfiable
    patterns = [pattern for pattern in rules.get("patterns", ()) if isinstance(pattern, str)]

    def fits(text: str) -> bool:
        is_short_enough = most is None or len(text) <= most
        return is_short_enough and len(text) >= least and all(_matches(pattern, text) for pattern in patterns)

    distinct: list[str] = []
    for text in _candidates(rules, patterns, least, variant):
        if fits(text) and text not in distinct:
            distinct.append(text)
            if len(distinct) > variant:
                break
    if not distinct:
        raise _Unsatisfiable
    return distinct[variant % len(distinct)]


def _candidates(rules: Mapping[str, Any], patterns: Sequence[str], least: int, variant: int) -> Iterator[str]:
    template = _FORMATS.get(str(rules.get("format")))
    if template is not None:
        shortest = len(_filled(template, 0, ""))
        for number in range(variant + 1):
            yield _filled(template, number, "a" * (max(0, least - shortest) + number))
    given = [rules.get("default"), *(rules["examples"] if isinstance(rules.get("examples"), list) else ())]
    for pattern in patterns:
        yield from _matching(pattern, least)
    if patterns:
        yield "".join(_write(pattern, _Choices(0)) or "" for pattern in patterns)
        yield from (text for text in given if isinstance(text, str))
    else:
        yield from _words(least)


def _filled(template: str, number: int, pad: str) -> str:
    minute, second = divmod(number % 3600, 60)
    day, byte = 1 + number % 28, 1 + number % 254
    return template.format(n=number, pad=pad, minute=minute, second=second, day=day, byte=byte)


def _matching(pattern: str, least: int) -> Iterator[str]:
    """Strings that a pattern probably matches: the simplest, then longer and other ones."""
    simplest = _write(pattern, _Choices(0))
    if simplest is None:
        return
    yield simplest
    missing = max(least - len(simplest), 0)
    yield from filter(None, (_write(pattern, _Choices(more)) for more in range(least, missing - 1, -1)))
    choices = (_Choices(least if seed % 2 else seed // 8, seed) for seed in range(_TRIES))
    yield from filter(None, (_write(pattern, each) for each in choices))
    # Without `^` or `$` there may be more around it.
    yield simplest + "a" * missing
    yield "a" * missing + simplest


def _write(pattern: str, choices: _Choices) -> str | None:
    """A text that a pattern probably matches; `None` for a pattern that Python or `rstr` cannot read."""
    compiled = _compiled(pattern)
    if compiled is None:
        return None
    # It takes what chooses as `random.Random`, and knows no atomic groups.
    with suppress(KeyError):
        return Xeger(choices).xeger(compiled)  # type: ignore[arg-type]
    return None


class _Choices:
    """What `rstr` asks where a pattern leaves a choice: the simplest text, or by chance from a seed.

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
        if not isinstance(options[0], str):
            return options[0] if self._random is None else self._random.choice(options)
        # `rstr` makes some sets of characters in an order that changes from run to run.
        ordered = sorted(options, key=lambda character: ("a0A".find(character) % 4, not character.isalnum(), character))
        return ordered[0] if self._random is None else self._random.choice(ordered)

    def randint(self, least: int, most: int) -> int:
        """How often a part is repeated."""
        more = min(
            self._more if self._random is None else self._random.randint(0, self._more), self._left, most - least
        )
        self._left -= max(more, 0)
        return least + max(more, 0)

    def shuffle(self, characters: list[str]) -> None:
        """`rstr` shuffles single characters only."""


def _words(least: int) -> Iterator[str]:
    """All words of small letters, shorter ones first."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    yield "a" * least
    number = 0
    while True:
        number += 1
        rest, word = number, ""
        while rest:
            rest, digit = divmod(rest - 1, len(letters))
            word = letters[digit] + word
        yield word.rjust(least, "a")


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    # ECMAScript writes a named group without the `P`, and `$` there never stands before a line break at the end.
    for candidate in (re.sub(r"\(\?<(?![=!])", "(?P<", pattern), pattern):
        try:
            return re.compile(candidate)
        except (re.error, RecursionError, OverflowError, FutureWarning):
            # Where a project makes errors of warnings, `[[` is one.
            continue
    return None


def _matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text; a pattern that Python cannot read counts as found."""
    compiled = _compiled(pattern)
    return compiled is None or compiled.search(text) is not None

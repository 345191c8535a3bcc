"""The smallest valid instance of a JSON Schema: what a model that is made to write JSON could reply.

A schema comes in, JSON data comes out: the same for the same schema. Pure functions; `completion` calls
`least_instance`.

"Smallest" means: required properties alone, no more items than needed, 0, `""`, the first branch of a union that can
end, the first value of an enum. Ignored are `not`, `dependentSchemas`, `unevaluated...`, references to
other documents, and whether two branches of `oneOf` hold at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.schema_numbers import least_number
from pytest_chatprompt.capture.apis.schema_rules import SchemaRules, Unsatisfiable, as_number
from pytest_chatprompt.capture.apis.schema_strings import find_match, least_string

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
        except Unsatisfiable:
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
            Unsatisfiable: no instance within that depth is valid.
        """
        key = (id(schema), depth)
        self._values += 1
        if self._values > _MOST_VALUES:
            raise _TooLargeError
        if key in self._dead:
            raise Unsatisfiable
        try:
            found = SchemaRules(self._root, depth)
            found.add(schema)
            return self._choose(found, found.unions)
        except Unsatisfiable:
            # With the schema itself, so that no other one gets its id.
            self._dead[key] = schema
            raise

    def _choose(self, found: SchemaRules, unions: Sequence[Sequence[Any]]) -> Any:
        """Choose a branch of each union, the first that has an instance together with all the rest."""
        if not unions:
            return self._value(found.rules, found.depth)
        branches = unions[0]
        first = self._variant % len(branches)
        for branch in (*branches[first:], *branches[:first]):
            chosen = SchemaRules(self._root, found.depth)
            chosen.rules = {name: list(rule) if isinstance(rule, list) else rule for name, rule in found.rules.items()}
            try:
                chosen.add(branch)
                return self._choose(chosen, [*unions[1:], *chosen.unions])
            except Unsatisfiable:
                continue
        raise Unsatisfiable

    def _value(self, rules: Mapping[str, Any], depth: int) -> Any:
        if "enum" in rules:
            values = [value for value in rules["enum"] if "type" not in rules or _type_of(value) in _with_number(rules)]
            if not values:
                raise Unsatisfiable
            return values[self._variant % len(values)]
        types = rules.get("type") or [_implied_type(rules)]
        for kind in types[:-1]:
            with suppress(Unsatisfiable):
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
                return least_string(rules, self._variant)
            case "integer" | "number":
                return least_number(rules, is_integer=kind == "integer", variant=self._variant)
            case "boolean":
                return bool(self._variant % 2)
        return None

    def _object(self, rules: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = rules.get("properties", {})
        names = _with_dependents(rules.get("required", ()), rules)
        least = int(as_number(rules.get("minProperties")) or 0)
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
                    names = [least_string({"patterns": [pattern]}, variant) for pattern in patterns]
                elif isinstance(rules.get("propertyNames"), Mapping):
                    names = [self.instance({"type": "string", "allOf": [rules["propertyNames"]]}, depth)]
                else:
                    names = [f"key{variant + 1}"]
            finally:
                self._variant = before
            yield from names
        raise Unsatisfiable

    def _array(self, rules: Mapping[str, Any], depth: int) -> list[Any]:
        count = int(as_number(rules.get("minItems")) or 0)
        contained = int(rules.get("minContains", 1)) if "contains" in rules else 0
        count = max(count, contained)
        if count > _MOST_ITEMS or count > (as_number(rules.get("maxItems")) or count):
            raise Unsatisfiable
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
                    raise Unsatisfiable
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
    schemas += [schema for pattern, schema in rules.get("patternProperties", {}).items() if find_match(pattern, name)]
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

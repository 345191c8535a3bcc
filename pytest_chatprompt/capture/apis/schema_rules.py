"""The rules of a JSON Schema in one mapping: references followed, `allOf` merged, the words of OpenAPI translated.

A schema of any dialect comes in, from draft 4 to 2020-12, with OpenAPI's `nullable` and Gemini's upper-case types. One
mapping without references comes out, and the unions of which one branch each must be chosen. `schema_instance` calls
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

_ALL_TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")
_LOWER_BOUNDS: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER_BOUNDS: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_MAPPINGS: Final = ("properties", "patternProperties", "dependentRequired", "dependencies")
_SCHEMAS: Final = ("items", "additionalProperties", "contains", "propertyNames")
_MERGED_ABOVE: Final = ("type", "enum", "const", "nullable", "allOf", "anyOf", "oneOf", "if", "then", "else")


class Unsatisfiable(Exception):  # noqa: N818 - no error: another branch of a union is tried then
    """No instance within the allowed depth is valid."""


class SchemaRules:
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
            Unsatisfiable: it contradicts what was added before, or refers too deep.
        """
        followed: set[str] = set()
        pending = [schema]
        while pending:
            current = pending.pop()
            if current is False:
                raise Unsatisfiable
            if not isinstance(current, Mapping):
                continue
            for key in ("$ref", "$dynamicRef", "ref"):
                reference = current.get(key)
                if isinstance(reference, str) and reference not in followed:
                    followed.add(reference)
                    self.depth -= 1
                    if self.depth < 0:
                        raise Unsatisfiable
                    pending.append(find_reference(self.root, reference))
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
            raise Unsatisfiable
        self.rules[key] = kept

    def _bound(self, key: str, value: Any, choose: Any) -> None:
        number = as_number(value)
        if isinstance(value, bool):
            # Draft 4: whether `minimum` itself is excluded.
            self.rules[key] = self.rules.get(key) or value
        elif number is not None:
            before = as_number(self.rules.get(key))
            self.rules[key] = number if before is None else choose(before, number)

    def _merge_mappings(self, key: str, value: Any) -> None:
        if not isinstance(value, Mapping):
            return
        merged = dict(self.rules.get(key, {}))
        for name, schema in value.items():
            merged[name] = {"allOf": [merged[name], schema]} if name in merged and key.endswith("roperties") else schema
        self.rules[key] = merged


def find_reference(root: Any, reference: str) -> Any:
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


def as_number(value: Any) -> int | float | None:
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

"""Rules about the tools and formats that a request defines, and about the JSON Schemas in them.

Source for schemas: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas. That `oneOf` is
refused too, the page does not say, but the API does: https://community.openai.com/t/932422.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_chatprompt.apis.preflight.rule import PreflightInput, RuleFunction, RuleLocation, Violation
from pytest_chatprompt.prompt.request import chosen_names, function_tools, named_in, output_schema
from pytest_chatprompt.wording import did_you_mean


def tool_names(pattern: str, allowed: str) -> RuleFunction:
    """Make a rule function that finds definitions of tools whose names the API refuses.

    Args:
        pattern: a regular expression that matches a whole valid name.
        allowed: the same in words, such as `1 to 64 of a-z`.
    """
    valid_name = re.compile(pattern)

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        for index, name in _names(request):
            if not valid_name.fullmatch(name):
                yield (
                    ("tools", index),
                    f"{request.vendor} refuses the tool name {name!r}; a name must be {allowed}",
                )

    return find_violations


def names_defined_twice(request: PreflightInput) -> Iterator[Violation]:
    """Tools with the name of an earlier tool."""
    seen: set[str] = set()
    for index, name in _names(request):
        if name in seen:
            yield (
                ("tools", index),
                f"{request.vendor} refuses two tools of the same name, and {name!r} is defined before; rename one",
            )
        seen.add(name)


def choices_without_tools(request: PreflightInput) -> Iterator[Violation]:
    """A tool choice that names a tool which is not defined, or that stands without any tool."""
    known = [name for _, name in _names(request)]
    for name in chosen_names(request.tool_choice):
        if name not in known:
            hint = did_you_mean(name, known) or "define it under 'tools'"
            yield (
                ("tool_choice",),
                f"{request.vendor} refuses a tool_choice that is not among the tools, and there is no {name!r}; {hint}",
            )
    if request.tool_choice is not None and not request.tools and not chosen_names(request.tool_choice):
        yield ("tool_choice",), f"{request.vendor} refuses a tool_choice without tools; define them, or leave it out"


def choices_ignored(request: PreflightInput) -> Iterator[Violation]:
    """A tool choice other than `auto`, for an API that takes one and does not look at it."""
    if request.tool_choice not in (None, "auto"):
        yield (
            ("tool_choice",),
            f"{request.vendor} ignores tool_choice, so the model may call any tool or none; leave it out",
        )


def json_without_the_word(request: PreflightInput) -> Iterator[Violation]:
    """The response format `json_object` where no message mentions JSON, which the API takes for a mistake."""
    wanted = request.response_format
    if wanted is None or wanted.get("type") != "json_object":
        return
    if not any("json" in message.text.casefold() for message in request.prompt):
        yield (
            ("response_format",),
            f"{request.vendor} refuses the format json_object if no message contains the word JSON; "
            "say in a message what the answer must be",
        )


def schema_name(request: PreflightInput) -> Iterator[Violation]:
    """A response format whose name the API refuses."""
    schema = None if request.response_format is None else output_schema(request.response_format)
    if schema is not None and not re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", schema.name):
        yield (
            ("response_format",),
            f"{request.vendor} refuses the name {schema.name!r} of a response format; "
            "a name must be 1 to 64 of a-z, A-Z, 0-9, _ and -",
        )


def _names(request: PreflightInput) -> Iterator[tuple[int, str]]:
    """The indexes and the names of the tools that have one."""
    for index, tool in enumerate(request.tools):
        name = named_in(tool).get("name")
        if isinstance(name, str):
            yield index, name


_REFUSED_KEYWORDS: Final = (
    *("allOf", "oneOf", "not", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas"),
)
# Keywords whose value is a schema, a list of schemas, or a mapping with schemas as values.
_OF_SCHEMA: Final = ("items", "additionalProperties", *("not", "if", "then", "else"))
_OF_SCHEMA_LIST: Final = ("anyOf", "allOf", "oneOf", "prefixItems")
_OF_SCHEMA_MAPPING: Final = ("properties", "$defs", "definitions", "dependentSchemas")
_MOST_LEVELS: Final = 10
_MOST_PROPERTIES: Final = 5_000
_MOST_ENUM_VALUES: Final = 1_000

# A schema inside another: how messages name its place, the schema, and its depth, counted in objects.
_Inner = tuple[str, Mapping[str, Any], int]


def objects_with_more_properties(request: PreflightInput) -> Iterator[Violation]:
    """Objects of strict schemas without `additionalProperties: false`."""
    for location, name, schema in _strict_schemas(request):
        for place, inner, _ in _walk(schema, name, 1):
            if _is_object(inner) and inner.get("additionalProperties") is not False:
                yield (
                    location,
                    f"{request.vendor}'s strict mode refuses {place} without 'additionalProperties: false'; "
                    "add it, or leave out 'strict'",
                )


def properties_not_required(request: PreflightInput) -> Iterator[Violation]:
    """Properties of strict schemas that are not required."""
    for location, name, schema in _strict_schemas(request):
        for place, inner, _ in _walk(schema, name, 1):
            properties, required = inner.get("properties"), inner.get("required")
            known = required if isinstance(required, list | tuple) else ()
            missing = [key for key in properties if key not in known] if isinstance(properties, Mapping) else []
            if missing:
                yield (
                    location,
                    f"{request.vendor}'s strict mode wants every property in 'required', and {place} leaves out "
                    f"{', '.join(missing)}; add them, with null among the types of what may be missing",
                )


def keywords_refused(request: PreflightInput) -> Iterator[Violation]:
    """Keywords of strict schemas that the API does not support."""
    for location, name, schema in _strict_schemas(request):
        for place, inner, _ in _walk(schema, name, 1):
            found = [keyword for keyword in _REFUSED_KEYWORDS if keyword in inner]
            if found:
                yield (
                    location,
                    f"{request.vendor}'s strict mode refuses {', '.join(found)} in {place}; "
                    "write anyOf where that will do, or leave out 'strict'",
                )


def root_not_an_object(request: PreflightInput) -> Iterator[Violation]:
    """Strict schemas whose root is not an object, or is a union."""
    for location, name, schema in _strict_schemas(request):
        if "anyOf" in schema or ("$ref" not in schema and schema.get("type") != "object"):
            yield (
                location,
                f"{request.vendor}'s strict mode wants an object as the root of {name}; "
                "put what is there now under a property of one",
            )


def schemas_too_large(request: PreflightInput) -> Iterator[Violation]:
    """Strict schemas that are nested too deep, or have too many properties or enum values."""
    for location, name, schema in _strict_schemas(request):
        inner = list(_walk(schema, name, 1))
        sizes = (
            ("levels of nesting", max(level for *_, level in inner), _MOST_LEVELS),
            ("properties", sum(_length(part.get("properties"), Mapping) for _, part, _ in inner), _MOST_PROPERTIES),
            ("enum values", sum(_length(part.get("enum"), list | tuple) for _, part, _ in inner), _MOST_ENUM_VALUES),
        )
        for what, size, most in sizes:
            if size > most:
                yield (
                    location,
                    f"{request.vendor}'s strict mode takes {most:,} {what}, and {name} has {size:,}; split it",
                )


def _strict_schemas(request: PreflightInput) -> Iterator[tuple[RuleLocation, str, Mapping[str, Any]]]:
    """The schemas that the model must follow to the letter, each with its place in the eval file and its name."""
    for tool in function_tools(request.tools):
        if tool.strict and tool.parameters is not None:
            yield ("tools", tool.index), f"the parameters of {tool.name!r}", tool.parameters
    schema = None if request.response_format is None else output_schema(request.response_format)
    if schema is not None and schema.strict:
        yield ("response_format",), f"the schema {schema.name!r}", schema.schema


def _walk(schema: Mapping[str, Any], place: str, level: int) -> Iterator[_Inner]:
    """A schema and all schemas inside it."""
    yield place, schema, level
    inner_level = level + 1 if _is_object(schema) else level
    for keyword in _OF_SCHEMA:
        yield from _walk_if_schema(schema.get(keyword), f"{keyword} of {place}", inner_level)
    for keyword in _OF_SCHEMA_LIST:
        inner = schema.get(keyword)
        for index, one in enumerate(inner if isinstance(inner, list | tuple) else ()):
            yield from _walk_if_schema(one, f"{keyword}[{index}] of {place}", level)
    for keyword in _OF_SCHEMA_MAPPING:
        inner = schema.get(keyword)
        for key, one in (inner if isinstance(inner, Mapping) else {}).items():
            yield from _walk_if_schema(one, f"{key!r} of {place}", inner_level)


def _walk_if_schema(value: Any, place: str, level: int) -> Iterator[_Inner]:
    if isinstance(value, Mapping):
        yield from _walk(value, place, level)


def _is_object(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "object" or (isinstance(kind, list | tuple) and "object" in kind) or "properties" in schema


def _length(value: Any, kind: Any) -> int:
    return len(value) if isinstance(value, kind) else 0

"""Tools, tool choices and formats, in both of OpenAI's shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.request import (
    FunctionTool,
    OutputSchema,
    ToolChoice,
    chosen_names,
    function_tools,
    output_schema,
    read_tool_choice,
    require_functions,
)

FIELDS: Mapping[str, Any] = {"name": "look", "description": "Looks.", "parameters": {"type": "object"}, "strict": True}
# The same function as chat completions and as Responses have it.
NESTED = {"type": "function", "function": FIELDS}
FLAT = {"type": "function", **FIELDS}
# A Responses tool whose type is also one of its keys, as a text.
CUSTOM = {"type": "custom", "custom": "raw", "name": "shell"}


def test_both_shapes_of_a_function_are_one() -> None:
    first, second = function_tools([NESTED, FLAT])
    assert first == FunctionTool(0, "look", "Looks.", {"type": "object"}, strict=True)
    assert second == FunctionTool(1, "look", "Looks.", {"type": "object"}, strict=True)


def test_what_the_author_does_not_say_of_a_function_is_none() -> None:
    assert function_tools([{"type": "function", "function": {"name": "look"}}]) == (
        FunctionTool(0, "look", None, None, None),
    )


def test_tools_of_other_types_are_left_out_and_the_others_keep_their_index() -> None:
    assert [(tool.place, tool.name) for tool in function_tools([{"type": "web_search"}, FLAT])] == [(1, "look")]
    assert function_tools([]) == ()


def test_an_api_that_has_only_functions_gets_them() -> None:
    assert require_functions([NESTED, FLAT], "Gemini") == function_tools([NESTED, FLAT])


def test_a_tool_of_another_type_is_an_error_for_an_api_that_has_only_functions() -> None:
    with pytest.raises(PayloadError) as error:
        require_functions([NESTED, {"type": "web_search"}], "Gemini")
    assert str(error.value) == (
        "Gemini has no tool of OpenAI's type 'web_search'; "
        "write a function, or one of the API's own tools as {type: raw, PROVIDER: {...}}"
    )
    assert error.value.location == ("tools", 1)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", ToolChoice("auto", (), is_list=False)),
        ("none", ToolChoice("none", (), is_list=False)),
        ("required", ToolChoice("required", (), is_list=False)),
        (NESTED, ToolChoice("required", ("look",), is_list=False)),
        (FLAT, ToolChoice("required", ("look",), is_list=False)),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NESTED, FLAT]}},
            ToolChoice("auto", ("look", "look"), is_list=True),
        ),
        (
            {"type": "allowed_tools", "mode": "required", "tools": [FLAT]},
            ToolChoice("required", ("look",), is_list=True),
        ),
    ],
    ids=str,
)
def test_a_tool_choice_has_one_form(choice: str | Mapping[str, Any], expected: ToolChoice) -> None:
    assert read_tool_choice(choice, "Gemini") == expected


@pytest.mark.parametrize(
    "choice",
    [
        CUSTOM,
        {"type": "web_search"},
        {"type": "allowed_tools", "mode": "auto", "tools": [FLAT, CUSTOM]},
    ],
    ids=str,
)
def test_a_tool_choice_of_another_tool_is_an_error(choice: Mapping[str, Any]) -> None:
    with pytest.raises(PayloadError) as error:
        read_tool_choice(choice, "Gemini")
    assert str(error.value) == (
        "Gemini can only be made to call functions, and 'tool_choice' names another tool; choose a function"
    )
    assert error.value.location == ("tool_choice",)


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (None, ()),
        ("required", ()),
        (NESTED, ("look",)),
        (FLAT, ("look",)),
        (CUSTOM, ("shell",)),
        ({"type": "custom", "custom": {"name": "shell"}}, ("shell",)),
        ({"type": "web_search"}, ()),
        ({"type": "allowed_tools", "mode": "auto", "tools": [FLAT, {"type": "web_search"}, CUSTOM]}, ("look", "shell")),
        ({"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NESTED]}}, ("look",)),
    ],
    ids=str,
)
def test_the_names_that_a_tool_choice_names_are_those_of_functions_and_custom_tools(
    choice: str | Mapping[str, Any] | None, names: tuple[str, ...]
) -> None:
    assert chosen_names(choice) == names


SCHEMA = {"type": "object"}


@pytest.mark.parametrize(
    ("response_format", "expected"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, None),
        (
            {
                "type": "json_schema",
                "json_schema": {"name": "a", "description": "An answer.", "schema": SCHEMA, "strict": True},
            },
            OutputSchema("a", "An answer.", SCHEMA, strict=True),
        ),
        (
            {"type": "json_schema", "name": "a", "description": "An answer.", "schema": SCHEMA, "strict": False},
            OutputSchema("a", "An answer.", SCHEMA, strict=False),
        ),
        ({"type": "json_schema", "name": "a", "schema": SCHEMA}, OutputSchema("a", None, SCHEMA, None)),
    ],
    ids=str,
)
def test_a_format_has_a_schema_only_if_its_type_says_so(
    response_format: Mapping[str, Any], expected: OutputSchema | None
) -> None:
    assert output_schema(response_format) == expected

"""`tools` and `tool_choice`: the shapes that are taken, and what a mistake in them says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases.test_diagnostics import case_problems
from tests.conftest import Project

HI = "input_messages: [{role: user, content: hi}]"


def test_tools_are_kept_in_the_shape_in_which_they_are_written_and_frozen(project: Project) -> None:
    case = project.case(
        f"""
tools:
  - {{type: function, x-why: a note, function: {{name: a, x-why: a note, parameters: {{x-kept: [1]}}}}}}
  - {{type: function, name: b, description: B, strict: true}}
  - {{type: custom, name: c, format: {{type: text}}}}
  - {{type: web_search, function: 1}}
tool_choice: {{type: function, name: b, x-why: a note}}
{HI}"""
    )
    assert case.tools == (
        {"type": "function", "function": {"name": "a", "parameters": {"x-kept": (1,)}}},
        {"type": "function", "name": "b", "description": "B", "strict": True},
        {"type": "custom", "name": "c", "format": {"type": "text"}},
        {"type": "web_search", "function": 1},
    )
    assert case.tool_choice == {"type": "function", "name": "b"}
    with pytest.raises(TypeError, match="a case cannot be changed"):
        case.tools[0]["function"]["name"] = "z"  # type: ignore[index]


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        (
            "weather.txt",
            "3:12: case 'a': 'tools' must be a list of tools, the name of a fixture: shop for shop_tools, or the path of a .json, .yaml or .yml file, but is 'weather.txt'",
        ),
        ("{}", "3:12: case 'a': 'tools' must be a list of tools, but is a mapping"),
        ("[weather]", "3:13: case 'a': 'tools[0]' must be a mapping, but is 'weather'"),
        ("[{name: a}]", "3:13: case 'a': missing key 'type'"),
        ("[{type: function}]", "3:13: case 'a': missing key 'name'"),
        ("[{type: function, name: ''}]", "3:36: case 'a': 'tools[0].name' is empty"),
        (
            "[{type: function, name: 3}]",
            "3:36: case 'a': 'tools[0].name' must be a string, but is the number 3; put it in quotes if you mean text",
        ),
        ("[{type: function, nmae: a, name: b}]", "3:30: case 'a': unknown key 'nmae'; did you mean 'name'?"),
        (
            "[{type: function, function: {name: a, paramters: {}}}]",
            "3:50: case 'a': unknown key 'paramters'; did you mean 'parameters'?",
        ),
        (
            "[{type: function, function: {name: a}, name: b}]",
            "3:51: case 'a': unknown key 'name'",
        ),
        ("[{type: function, function: a}]", "3:40: case 'a': 'tools[0].function' must be a mapping, but is 'a'"),
        (
            "[{type: function, name: a, parameters: []}]",
            "3:51: case 'a': 'tools[0].parameters' must be a mapping, but is a list",
        ),
        (
            "[{type: function, name: a, strict: 1}]",
            "3:47: case 'a': 'tools[0].strict' must be true or false, but is the number 1",
        ),
        (
            "[{type: function, name: a, input_schema: {}}]",
            "3:13: case 'a': tools have OpenAI's shape for every API; write 'parameters' for 'input_schema'",
        ),
        pytest.param(
            "[{type: function, name: a, parameters: {default: .inf}}]",
            "3:61: case 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text",
            marks=pytest.mark.beyond_schema("editors take a date for text, since JSON has none"),
        ),
        ("[{type: custom}]", "3:13: case 'a': missing key 'name'; a custom tool has one"),
        ("[{type: custom, custom: c}]", "3:13: case 'a': missing key 'name'; a custom tool has one"),
        ("[{type: [function], name: a}]", "3:20: case 'a': 'tools[0].type' must be a string, but is a list"),
        (
            "[{type: custom, a: .inf}]",
            "3:31: case 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text",
        ),
    ],
)
def test_a_mistake_in_tools_is_told_at_its_place(
    project: Project, tools: str, problem: str, schema_agrees: Callable[[Path], None]
) -> None:
    assert case_problems(project, f"tools: {tools}\n{HI}") == [f"a.eval.yaml:{problem}"]
    schema_agrees(project.root / "a.eval.yaml")


def test_a_tool_without_a_type_is_checked_as_a_function(project: Project) -> None:
    assert case_problems(project, f"tools: [{{function: {{nmae: a}}}}]\n{HI}") == [
        "a.eval.yaml:3:13: case 'a': missing key 'type'",
        "a.eval.yaml:3:24: case 'a': missing key 'name'",
        "a.eval.yaml:3:25: case 'a': unknown key 'nmae'; did you mean 'name'?",
    ]


def test_tool_for_tools_is_a_near_miss(project: Project) -> None:
    assert case_problems(project, f"tool: []\n{HI}") == [
        "a.eval.yaml:3:5: case 'a': unknown key 'tool'; did you mean 'tools'?"
    ]


@pytest.mark.parametrize(
    "choice",
    [
        "auto",
        "none",
        "required",
        {"type": "function", "name": "a"},
        {"type": "function", "function": {"name": "a"}},
        {"type": "custom", "custom": {"name": "a"}},
        {"type": "allowed_tools", "mode": "auto", "tools": ({"type": "function", "name": "a"},)},
        {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": ({"type": "web_search"},)}},
        {"type": "file_search"},
    ],
)
def test_every_shape_of_a_tool_choice_is_kept(project: Project, choice: Any) -> None:
    # JSON is YAML.
    written = str(choice).replace("'", '"').replace("(", "[").replace(",)", "]")
    assert project.case(f"tool_choice: {written}\n{HI}").tool_choice == choice


@pytest.mark.parametrize(
    ("choice", "problem"),
    [
        (
            "any",
            "unknown tool_choice: 'any'; write auto, none, required or {type: function, name: NAME}",
        ),
        ("requierd", "unknown tool_choice: 'requierd'; did you mean 'required'?"),
        *(
            (
                choice,
                "'tool_choice' must be auto, none, required or {type: function, name: NAME}, but is " + shown,
            )
            for choice, shown in (
                ("true", "the boolean true (true)"),
                ("[auto]", "a list"),
                ("{name: a}", "a mapping"),
                ("{type: function}", "a mapping"),
                ("{type: function, function: a}", "a mapping"),
                ("{type: function, name: a, function: a}", "a mapping"),
                ("{type: [function]}", "a mapping"),
                ("{type: function, name: ''}", "a mapping"),
                ("{type: allowed_tools, mode: none, tools: []}", "a mapping"),
                ("{type: allowed_tools, mode: auto}", "a mapping"),
                ("{type: allowed_tools, mode: auto, tools: [a]}", "a mapping"),
                ("{type: allowed_tools, allowed_tools: a}", "a mapping"),
                ("{type: ''}", "a mapping"),
            )
        ),
    ],
)
def test_a_mistake_in_a_tool_choice_is_told_at_its_place(
    project: Project, choice: str, problem: str, schema_agrees: Callable[[Path], None]
) -> None:
    assert case_problems(project, f"tool_choice: {choice}\n{HI}") == [f"a.eval.yaml:3:18: case 'a': {problem}"]
    schema_agrees(project.root / "a.eval.yaml")


TOOL = "{type: function, name: a}"


@pytest.mark.parametrize(
    ("case", "tools", "choice"),
    [
        pytest.param("", 1, "required", id="the file's"),
        pytest.param(f"tools: [{TOOL}, {TOOL}]", 2, "required", id="the case's tools"),
        pytest.param("tool_choice: auto", 1, "auto", id="the case's choice"),
        pytest.param("tools: null\ntool_choice: null", 1, "required", id="null is not set"),
        pytest.param("tools: []", 0, None, id="no tools: none to choose from"),
        pytest.param("tools: []\ntool_choice: none", 0, "none", id="no tools, and a choice of its own"),
    ],
)
def test_a_cases_tools_replace_the_files(project: Project, case: str, tools: int, choice: str | None) -> None:
    merged = project.case(f"{case}\n{HI}", f"tools: [{TOOL}]\ntool_choice: required")
    assert merged.tools is not None
    assert (len(merged.tools), merged.tool_choice) == (tools, choice)

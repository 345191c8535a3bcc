"""`response_format`: the shapes that are taken, and what a mistake in them says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cases.test_diagnostics import case_problems
from tests.conftest import Project

HI = "input_messages: [{role: user, content: hi}]"


@pytest.mark.parametrize(
    ("written", "response_format"),
    [
        ("{type: text}", {"type": "text"}),
        ("{type: json_object, x-why: a note}", {"type": "json_object"}),
        (
            "{type: json_schema, name: n, schema: {x-kept: 1}, strict: true, description: d}",
            {"type": "json_schema", "name": "n", "schema": {"x-kept": 1}, "strict": True, "description": "d"},
        ),
        (
            "{type: json_schema, json_schema: {name: n, schema: {enum: [1]}, x-why: a note}}",
            {"type": "json_schema", "json_schema": {"name": "n", "schema": {"enum": (1,)}}},
        ),
        ("null", None),
    ],
)
def test_a_format_is_kept_in_the_shape_in_which_it_is_written(
    project: Project, written: str, response_format: dict[str, Any] | None
) -> None:
    assert project.case(f"response_format: {written}\n{HI}").response_format == response_format


def test_a_cases_format_replaces_the_files(project: Project) -> None:
    head = "response_format: {type: json_object}"
    assert project.case(HI, head).response_format == {"type": "json_object"}
    assert project.case(f"response_format: {{type: text}}\n{HI}", head).response_format == {"type": "text"}


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        (
            "json_object",
            "3:22: case 'a': 'response_format' must be a mapping with the key 'type', or the path of a .json, .yaml or .yml file, but is 'json_object'",
        ),
        ("[]", "3:22: case 'a': 'response_format' must be a mapping with the key 'type', but is a list"),
        ("{}", "3:22: case 'a': missing key 'type'"),
        (
            "{type: json}",
            "3:29: case 'a': 'response_format.type' must be one of text, json_object, json_schema, but is 'json'",
        ),
        (
            "{type: [text]}",
            "3:29: case 'a': 'response_format.type' must be one of text, json_object, json_schema, but is a list",
        ),
        ("{type: text, name: n}", "3:35: case 'a': unknown key 'name'"),
        ("{type: json_schema, name: n}", "3:22: case 'a': missing key 'schema'"),
        (
            "{type: json_schema, name: n, schema: {}, shcema: {}}",
            "3:63: case 'a': unknown key 'shcema'; did you mean 'schema'?",
        ),
        (
            "{type: json_schema, json_schema: {name: n, schema: {}, strcit: yes}}",
            "3:77: case 'a': unknown key 'strcit'; did you mean 'strict'?",
        ),
        (
            "{type: json_schema, json_schema: n}",
            "3:55: case 'a': 'response_format.json_schema' must be a mapping, but is 'n'",
        ),
        (
            "{type: json_schema, name: n, schema: [1]}",
            "3:59: case 'a': 'response_format.schema' must be a mapping, but is a list",
        ),
        pytest.param(
            "{type: json_schema, name: n, schema: {default: .inf}}",
            "3:69: case 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text",
            marks=pytest.mark.beyond_schema("editors take a date for text, since JSON has none"),
        ),
    ],
)
def test_a_mistake_is_told_at_its_place(
    project: Project, written: str, problem: str, schema_agrees: Callable[[Path], None]
) -> None:
    assert case_problems(project, f"response_format: {written}\n{HI}") == [f"a.eval.yaml:{problem}"]
    schema_agrees(project.root / "a.eval.yaml")

"""Files of JSON or YAML that an eval file names: how they are read, and where an error in them is."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.request import build_request
from tests.conftest import Project

HI = "input_messages: [{role: user, content: hi}]"
TOOL = '[{"type": "function", "name": "a", "parameters": {"n": 1e3, "u": "\\ud83d\\ude00 \\/ \\u2028"}}]'


def problems_of(project: Project, body: str, head: str = "") -> list[str]:
    with pytest.raises(EvalFileError) as caught:
        project.request(f"{body}\n{HI}", head)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("name", "content", "parameters"),
    [
        pytest.param("tools.json", TOOL, {"n": 1000.0, "u": "😀 / \u2028"}, id="JSON, by JSON's own rules"),
        pytest.param(
            "tools.JSON", "\ufeff" + TOOL, {"n": 1000.0, "u": "😀 / \u2028"}, id="JSON with a byte-order mark"
        ),
        pytest.param(
            "tools.json",
            '[\r\n\t{"type":"function",\r\n\t"name":"a","parameters":{"big":12345678901234567890}}]',
            {"big": 12345678901234567890},
            id="JSON with tabs and CRLF",
        ),
        pytest.param(
            "tools.yaml",
            "- type: function\n  name: a\n  parameters: {s: !!str 1}\n".replace("!!str 1", "'1'"),
            {"s": "1"},
            id="YAML",
        ),
        pytest.param("tools.yml", "- {type: function, name: a, parameters: {}}", {}, id="yml"),
    ],
)
def test_tools_are_read_from_a_file(project: Project, name: str, content: str, parameters: dict[str, Any]) -> None:
    project.write(f"evals/{name}", content.encode())
    (tool,) = project.request(f"tools: {name}\n{HI}").tools
    assert tool["parameters"] == parameters


def test_a_format_is_read_from_a_file(project: Project) -> None:
    project.write("evals/format.yaml", "type: json_object")
    assert project.request(f"response_format: format.yaml\n{HI}").response_format == {"type": "json_object"}


def test_f1_the_file_is_looked_for_up_to_the_root_folder_and_a_slash_stands_for_it(project: Project) -> None:
    project.write("tools.json", TOOL)
    assert len(project.request(f"tools: tools.json\n{HI}").tools) == 1
    assert len(project.request(f"tools: /tools.json\n{HI}").tools) == 1
    assert len(project.request(f"tools: ..\\tools.json\n{HI}").tools) == 1


def test_f4_the_file_is_read_when_the_case_runs_and_once_in_a_run(project: Project) -> None:
    case = project.case(f"tools: tools.json\n{HI}")
    assert case.tools == "tools.json"
    path = project.write("tools.json", TOOL)
    reader = FileReader(project.root)
    first = build_request(case, reader)
    path.unlink()
    assert build_request(case, reader).tools == first.tools


@pytest.mark.parametrize(
    ("body", "head", "problem"),
    [
        pytest.param(
            "tools: tools.json",
            "",
            "evals/a.eval.yaml:4:12: case 'a': file tools.json not found; tried evals/tools.json, tools.json",
            id="F3: a missing file",
        ),
        pytest.param(
            "",
            "\ntools: tools.json",
            "evals/a.eval.yaml:2:8: case 'a': file tools.json not found; tried evals/tools.json, tools.json",
            id="F3: a missing file that the eval file names",
        ),
        pytest.param(
            "response_format: ../../x.json",
            "",
            "evals/a.eval.yaml:4:22: case 'a': file ../../x.json not found; tried x.json",
            id="F2: outside the root folder",
        ),
        pytest.param(
            "tools: ./folder.json",
            "",
            "evals/a.eval.yaml:4:12: case 'a': file ./folder.json is a folder; name a file in it",
            id="F3: a folder",
        ),
        pytest.param(
            "tools: bytes.json",
            "",
            "evals/a.eval.yaml:4:12: case 'a': file bytes.json is not valid UTF-8 (byte 0xFF)",
            id="F3: a file that is not text",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_in_the_eval_file(
    project: Project, body: str, head: str, problem: str
) -> None:
    project.write("evals/folder.json/x", "")
    project.write("evals/bytes.json", b"[\xff]")
    assert problems_of(project, body, head) == [problem]


@pytest.mark.parametrize(
    ("name", "content", "problems"),
    [
        ("tools.json", '[\n  {"type": }\n]', ["evals/tools.json:2:12: not valid JSON: Expecting value"]),
        ("tools.json", "", ["evals/tools.json:1:1: not valid JSON: Expecting value"]),
        (
            "tools.json",
            "[" * 100_000,
            ["evals/tools.json:1:1: not valid JSON: nested more than 100 levels deep"],
        ),
        (
            "tools.json",
            '[\n\t{"type": "function",\n\t\t"nmae": "a", "name": "b"}]',
            ["evals/tools.json:3:3: unknown key 'nmae'; did you mean 'name'?"],
        ),
        (
            "tools.json",
            '\t[{"type": "function",\n\t\t"nmae": "a", "name": "b"}]',
            ["evals/tools.json:2:3: unknown key 'nmae'; did you mean 'name'?"],
        ),
        (
            "tools.json",
            '[{"type": "function", "name": "a",\n "name": "b"}]',
            ["evals/tools.json:1:1: not valid JSON: the key 'name' appears twice"],
        ),
        (
            "tools.json",
            '[{"type": "custom", "x": ' + "[" * 200 + "]" * 200 + "}]",
            ["evals/tools.json:1:1: not valid JSON: nested more than 100 levels deep"],
        ),
        (
            "tools.json",
            f'[{{"{"k" * 2000}": 1, "type": "function"}}]',
            [
                "evals/tools.json:1:2005: not valid YAML: did not find expected ',' or '}', "
                "while parsing a flow mapping on line 1"
            ],
        ),
        ("tools.json", "null", ["evals/tools.json:1:1: 'tools' must be a list of tools, but is null (null)"]),
        ("tools.json", '"other.json"', ["evals/tools.json:1:1: 'tools' must be a list of tools, but is 'other.json'"]),
        (
            "tools.json",
            '[{"type": "function", "name": "a", "parameters": {"x": NaN}}]',
            ["evals/tools.json:1:56: JSON has neither infinity nor NaN; put it in quotes if you mean text"],
        ),
        ("tools.yaml", "", ["evals/tools.yaml:1:1: 'tools' must be a list of tools, but is empty"]),
        (
            "tools.yaml",
            "- type: function\n  name: a\n  name: b\n  parameters: {no: 1}\n",
            [
                "evals/tools.yaml:3:3: the key 'name' appears twice, first on line 2",
            ],
        ),
        (
            "tools.yaml",
            "- [",
            [
                "evals/tools.yaml:2:1: not valid YAML: did not find expected node content, while parsing a flow node on line 2"
            ],
        ),
    ],
)
def test_a_broken_file_is_an_error_in_that_file(project: Project, name: str, content: str, problems: list[str]) -> None:
    project.write(f"evals/{name}", content)
    assert problems_of(project, f"tools: {name}") == problems


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "'response_format' must be a mapping with the key 'type', but is empty"),
        ("[]", "'response_format' must be a mapping with the key 'type', but is a list"),
        ("{type: json}", "'response_format.type' must be one of text, json_object, json_schema, but is 'json'"),
    ],
)
def test_a_file_with_something_other_than_a_format_is_an_error(project: Project, content: str, problem: str) -> None:
    project.write("evals/f.yaml", content)
    (line,) = problems_of(project, "response_format: f.yaml")
    assert line.endswith(problem)

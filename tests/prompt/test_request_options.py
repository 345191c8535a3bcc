"""The settings, tools, tool choice and format of a request."""

from __future__ import annotations

import json

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.request import build_request
from tests.conftest import Project

HI = "input_messages: [{role: user, content: hi}]"
LOOK = {"type": "function", "function": {"name": "look"}}


def test_a_case_that_sets_no_option_has_none(project: Project) -> None:
    request = project.request(HI)
    assert (request.settings, request.tools, request.tool_choice, request.response_format) == ({}, (), None, None)


def test_every_option_of_a_case_is_in_its_request(project: Project) -> None:
    request = project.request(
        f"""
settings: {{temperature: 0}}
tools: [{json.dumps(LOOK)}]
tool_choice: required
response_format: {{type: json_object}}
{HI}
"""
    )
    assert request.settings == {"temperature": 0}
    assert request.tools == (LOOK,)
    assert request.tool_choice == "required"
    assert request.response_format == {"type": "json_object"}


def test_the_settings_of_the_provider_that_was_asked_for_win(project: Project) -> None:
    case = project.case(f"settings: {{temperature: 0, openai: {{seed: 1, temperature: 1}}, gemini: {{seed: 2}}}}\n{HI}")
    reader = FileReader(project.root)
    assert build_request(case, reader, provider_name="openai").settings == {"temperature": 1, "seed": 1}
    assert build_request(case, reader, provider_name="gemini").settings == {"temperature": 0, "seed": 2}
    assert build_request(case, reader).settings == {"temperature": 0}


def test_f1_tools_and_a_format_are_read_from_files_beside_the_eval_file(project: Project) -> None:
    project.write("evals/data/tools.json", json.dumps([LOOK]))
    project.write("format.yaml", "type: json_object")
    request = project.request(f"tools: data/tools.json\nresponse_format: ../format.yaml\n{HI}")
    assert request.tools == (LOOK,)
    assert request.response_format == {"type": "json_object"}


def test_the_path_of_tools_may_have_backslashes(project: Project) -> None:
    project.write("evals/data/tools.json", json.dumps([LOOK]))
    assert project.request(rf"tools: data\tools.json{chr(10)}{HI}").tools == (LOOK,)


def test_a_missing_file_is_told_at_the_key_that_names_it(project: Project) -> None:
    with pytest.raises(EvalFileError) as error:
        project.request(f"tools: gone.json\n{HI}")
    assert str(error.value).startswith("evals/a.eval.yaml:4:12: case 'a': ")
    assert "gone.json" in str(error.value)


def test_a_mistake_in_a_file_is_told_at_its_place_in_that_file(project: Project) -> None:
    project.write("evals/tools.yaml", "- type: function\n")
    project.write("evals/format.yaml", "")
    with pytest.raises(EvalFileError, match=r"^evals/tools\.yaml:1:3: "):
        project.request(f"tools: tools.yaml\n{HI}")
    with pytest.raises(EvalFileError, match=r"^evals/format\.yaml:1:1: "):
        project.request(f"response_format: format.yaml\n{HI}")


def test_files_that_one_run_reads_are_not_taken_for_each_other(project: Project) -> None:
    project.write("evals/tools.json", json.dumps([LOOK]))
    project.write("evals/other.json", json.dumps([{"type": "function", "function": {"name": "other"}}]))
    project.write("evals/format.json", '{"type": "json_object"}')
    reader = FileReader(project.root)
    first = build_request(project.case(f"tools: tools.json\nresponse_format: format.json\n{HI}"), reader)
    second = build_request(project.case(f"tools: other.json\n{HI}"), reader)
    assert first.response_format == {"type": "json_object"}
    assert [request.tools[0]["function"]["name"] for request in (first, second)] == ["look", "other"]

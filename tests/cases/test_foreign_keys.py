"""Keys of other tools and of other places: each with its whole message."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.cases.loader import load_eval_file
from tests.conftest import Project

HELLO = "evalcases:\n  - id: a\n    input_messages: [{role: user, content: hi}]\n"


@pytest.fixture
def _refused_by_the_schema(project: Project, schema_agrees: Callable[[Path], None]) -> Iterator[None]:
    """Holds the JSON Schema against each file of a test: it must refuse what the loader refuses."""
    yield
    for path in project.root.rglob("*.eval.yaml"):
        schema_agrees(path)


def problems(project: Project, text: str) -> list[str]:
    """The problems of a file and of its cases, without the name of the file."""
    path = project.write("a.eval.yaml", text)
    try:
        cases = load_eval_file(path, project.root)
    except EvalFileError as error:
        lines = str(error).splitlines()
    else:
        lines = [
            line for case in cases if isinstance(case.written, EvalFileError) for line in str(case.written).splitlines()
        ]
    return [line.removeprefix("a.eval.yaml:") for line in lines]


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("temperature: 0", "1:1: unknown key 'temperature'; write it under 'settings'"),
        ("maxTokens: 5", "1:1: unknown key 'maxTokens'; write 'max_output_tokens' under 'settings'"),
        ("model: gpt", "1:1: unknown key 'model'; write it under 'settings'"),
        ("functions: []", "1:1: unknown key 'functions'; write 'tools'"),
        (
            "assert: []",
            "1:1: unknown key 'assert'; write 'checks', a list of {type: TYPE, value: ...}",
        ),
        (
            "threshold: 1",
            "1:1: unknown key 'threshold'; write 'checks', a list of {type: TYPE, value: ...}",
        ),
        (
            "defaultTest: {}",
            "1:1: unknown key 'defaultTest'; write what all cases share at the top of the file, beside 'evalcases'",
        ),
        ("prompts: [hi]", "1:1: unknown key 'prompts'; write the messages of each case as its 'input_messages'"),
        ("messages: []", "1:1: unknown key 'messages'; write the messages of each case as its 'input_messages'"),
        ("input: hi", "1:1: unknown key 'input'; it belongs in a case, under 'evalcases'"),
        ("id: x", "1:1: unknown key 'id'; it belongs in a case, under 'evalcases'"),
        (
            "system_prompt: Be kind.",
            "1:1: unknown key 'system_prompt'; write 'metadata: {systemPrompt: ...}', or a message with the role system",
        ),
        ("providers: [a]", "1:1: unknown key 'providers'; write 'provider', which may be a list"),
        ("name: x", "1:1: unknown key 'name'; write 'description'"),
        (
            "api_key: x",
            "1:1: unknown key 'api_key'; it is an argument of a provider; override the provider's fixture, such as openai_provider, to set it",
        ),
        (
            "input_files: [a]",
            "1:1: unknown key 'input_files'; write a part {type: file, value: PATH} in the 'content' of a message",
        ),
    ],
)
@pytest.mark.usefixtures("_refused_by_the_schema")
def test_a_foreign_key_at_the_top_says_what_to_write(project: Project, key: str, problem: str) -> None:
    assert problems(project, f"{key}\n{HELLO}") == [problem]


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("prompt: hi", "4:5: case 'a': unknown key 'prompt'; write 'input_messages'"),
        ("question: hi", "4:5: case 'a': unknown key 'question'; write 'input_messages'"),
        ("temperature: 0", "4:5: case 'a': unknown key 'temperature'; write it under 'settings'"),
        ("max_tokens: 1", "4:5: case 'a': unknown key 'max_tokens'; write 'max_output_tokens' under 'settings'"),
        ("model: x", "4:5: case 'a': unknown key 'model'; write it under 'settings'"),
        ("functions: []", "4:5: case 'a': unknown key 'functions'; write 'tools'"),
        ("json_schema: {}", "4:5: case 'a': unknown key 'json_schema'; write 'response_format'"),
        (
            "system: Be kind.",
            "4:5: case 'a': unknown key 'system'; write 'metadata: {systemPrompt: ...}', or a message with the role system",
        ),
        (
            "assertions: []",
            "4:5: case 'a': unknown key 'assertions'; write 'checks', a list of {type: TYPE, value: ...}",
        ),
        ("expected: x", "4:5: case 'a': unknown key 'expected'; write 'expected_messages'"),
        ("ideal: x", "4:5: case 'a': unknown key 'ideal'; write 'expected_messages'"),
        ("criteria: x", "4:5: case 'a': unknown key 'criteria'; write 'outcome'"),
        ("name: x", "4:5: case 'a': unknown key 'name'; write 'id'"),
        ("role: user", "4:5: case 'a': unknown key 'role'; it belongs in a message of 'input_messages'"),
        ("evalcases: []", "4:5: case 'a': unknown key 'evalcases'; it belongs at the top of the file"),
        ("variables: {}", "4:5: case 'a': unknown key 'variables'; write 'vars'"),
        ("rows: []", "4:5: case 'a': unknown key 'rows'; write 'parametrize'"),
        ("skip: true", "4:5: case 'a': unknown key 'skip'; write 'tags: [skip]'"),
        ("only: true", "4:5: case 'a': unknown key 'only'; select the case on the command line: -k, or its node id"),
        (
            "files: [a]",
            "4:5: case 'a': unknown key 'files'; write a part {type: file, value: PATH} in the 'content' of a message",
        ),
        (
            "base_url: x",
            "4:5: case 'a': unknown key 'base_url'; it is an argument of a provider; override the provider's fixture, such as openai_provider, to set it",
        ),
        ("providers: [a]", "4:5: case 'a': unknown key 'providers'; write 'provider', which may be a list"),
        ("generationConfig: {temperature: 0}", "4:5: case 'a': unknown key 'generationConfig'; write 'settings'"),
    ],
)
@pytest.mark.usefixtures("_refused_by_the_schema")
def test_a_foreign_key_of_a_case_says_what_to_write(project: Project, key: str, problem: str) -> None:
    assert problems(project, f"{HELLO}    {key}\n") == [problem]


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ("maxTokens: 5", "4:16: case 'a': unknown key 'maxTokens'; write 'max_output_tokens'"),
        ("max_completion_tokens: 5", "4:16: case 'a': unknown key 'max_completion_tokens'; write 'max_output_tokens'"),
        ("stop_sequences: [a]", "4:16: case 'a': unknown key 'stop_sequences'; write 'stop'"),
        ("deployment: x", "4:16: case 'a': unknown key 'deployment'; write 'model'"),
        ("tools: []", "4:16: case 'a': unknown key 'tools'; write it beside 'settings'"),
        (
            "response_format: {type: json_object}",
            "4:16: case 'a': unknown key 'response_format'; write it beside 'settings'",
        ),
        ("toolChoice: auto", "4:16: case 'a': unknown key 'toolChoice'; write 'tool_choice' beside 'settings'"),
        ("provider: openai", "4:16: case 'a': unknown key 'provider'; it belongs beside 'settings'"),
        (
            "timeout_seconds: 5",
            "4:16: case 'a': unknown key 'timeout_seconds'; it is an argument of a provider; override the provider's fixture, such as openai_provider, to set it",
        ),
        (
            "api_key: x",
            "4:16: case 'a': unknown key 'api_key'; it is an argument of a provider; override the provider's fixture, such as openai_provider, to set it",
        ),
        (
            "system: x",
            "4:16: case 'a': unknown key 'system'; write 'metadata: {systemPrompt: ...}', or a message with the role system",
        ),
    ],
)
@pytest.mark.usefixtures("_refused_by_the_schema")
def test_a_foreign_setting_says_what_to_write(project: Project, setting: str, problem: str) -> None:
    assert problems(project, f"{HELLO}    settings: {{{setting}}}\n") == [problem]


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("text: x", "3:39: case 'a': unknown key 'text'; write 'content'"),
        (
            "temperature: 0",
            "3:39: case 'a': unknown key 'temperature'; write it under 'settings', of the case or of the file",
        ),
        (
            "tools: []",
            "3:39: case 'a': unknown key 'tools'; write it beside 'input_messages', or at the top of the file",
        ),
        ("function_call: {}", "3:39: case 'a': unknown key 'function_call'; write 'tool_calls'"),
        ("tool_use_id: x", "3:39: case 'a': unknown key 'tool_use_id'; write 'tool_call_id'"),
        ("from: user", "3:39: case 'a': unknown key 'from'; write 'role'"),
        (
            "images: []",
            "3:39: case 'a': unknown key 'images'; write a part {type: image, value: PATH} in the 'content' of a message",
        ),
        ("type: text", "3:39: case 'a': unknown key 'type'; it belongs in a part, in the list 'content'"),
        (
            "max_tokens: 1",
            "3:39: case 'a': unknown key 'max_tokens'; write 'max_output_tokens' under 'settings', of the case or of the file",
        ),
        (
            "json_schema: {}",
            "3:39: case 'a': unknown key 'json_schema'; write 'response_format' beside 'input_messages', or at the top of the file",
        ),
    ],
)
@pytest.mark.usefixtures("_refused_by_the_schema")
def test_a_foreign_key_of_a_message_says_what_to_write(project: Project, key: str, problem: str) -> None:
    text = f"evalcases:\n  - id: a\n    input: [{{role: user, content: hi, {key}}}]\n"
    assert problems(project, text) == [problem]


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("text: x", "3:59: case 'a': unknown key 'text'; write 'value'"),
        ("path: x", "3:59: case 'a': unknown key 'path'; write 'value'"),
        ("role: user", "3:59: case 'a': unknown key 'role'; it belongs in the message, beside 'content'"),
        (
            "temperature: 0",
            "3:59: case 'a': unknown key 'temperature'; write it under 'settings', of the case or of the file",
        ),
    ],
)
@pytest.mark.usefixtures("_refused_by_the_schema")
def test_a_foreign_key_of_a_part_says_what_to_write(project: Project, key: str, problem: str) -> None:
    text = f"evalcases:\n  - id: a\n    input: [{{role: user, content: [{{type: file, value: x, {key}}}]}}]\n"
    assert problems(project, text) == [problem]


OTHER_FORMAT = (
    "promptfoo's files have 'prompts' or 'providers' beside it, and AgentV's an 'input' in each test; an eval file has "
    "its cases under 'evalcases', each with an 'id' and its 'input_messages'"
)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("tests: [{vars: {a: b}}]", [f"1:1: unknown key 'tests'; {OTHER_FORMAT}"], id="tests"),
        pytest.param(
            "prompts: [hi]\nscenarios: []",
            ["1:1: missing key 'providers' of a promptfoo file; name at least one"],
            id="a file of promptfoo without providers",
        ),
        pytest.param(
            "eval_cases: []",
            ["1:1: missing key 'evalcases'", "1:1: unknown key 'eval_cases'; write 'evalcases'"],
            id="only another name",
        ),
        pytest.param(f"tests: []\n{HELLO}", [f"1:1: unknown key 'tests'; {OTHER_FORMAT}"], id="both formats"),
    ],
)
@pytest.mark.usefixtures("_refused_by_the_schema")
def test_a_file_of_another_format_is_said_to_be_one(project: Project, text: str, lines: list[str]) -> None:
    assert problems(project, text) == lines


def test_a_key_of_an_extension_may_have_any_name(project: Project) -> None:
    assert problems(project, f"x-tests: []\n{HELLO}    x-temperature: 3\n") == []

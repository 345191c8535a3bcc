"""Problems inside a case: each with its position and its whole message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.cases.loader import load_eval_file
from tests.conftest import Project


def case_problems(project: Project, body: str) -> list[str]:
    """The problems of a file's only case; its body begins on line 3."""
    indented = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    path = project.write("a.eval.yaml", f"evalcases:\n  - id: a\n{indented}")
    (case,) = load_eval_file(path, project.root)
    assert isinstance(case.written, EvalFileError)
    assert case.id == "a"
    assert case.line == 2
    return str(case.written).splitlines()


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        pytest.param("outcome: x", ["2:5: case 'a': missing key 'input_messages'"], id="no messages"),
        pytest.param("input_messages: []", ["3:21: case 'a': 'input_messages' is empty"], id="an empty list"),
        pytest.param(
            "input_messages: hi",
            ["3:21: case 'a': 'input_messages' must be a list, but is 'hi'"],
            id="messages that are not a list",
        ),
        pytest.param(
            "input_messages: [hi]",
            ["3:22: case 'a': 'input_messages[0]' must be a mapping, but is 'hi'"],
            id="a message that is not a mapping",
        ),
        pytest.param(
            "input_message: [{role: user, content: x}]",
            [
                "2:5: case 'a': missing key 'input_messages'",
                "3:5: case 'a': unknown key 'input_message'; did you mean 'input_messages'?",
            ],
            id="a misspelled key",
        ),
        pytest.param(
            "zzz: 1\ninput_messages: [{role: user, content: x}]",
            ["3:5: case 'a': unknown key 'zzz'"],
            id="an unknown key without a similar one",
        ),
        pytest.param(
            "input_messages: [{role: usr, content: x}]",
            ["3:29: case 'a': unknown role: 'usr'; did you mean 'user'?"],
            id="a misspelled role",
        ),
        pytest.param(
            "input_messages: [{role: Human, content: x}, {role: AI, content: x}]",
            [
                "3:29: case 'a': unknown role: 'Human'; write 'user'",
                "3:56: case 'a': unknown role: 'AI'; write 'assistant'",
            ],
            id="roles of other formats",
        ),
        pytest.param(
            "input_messages: [{role: 1, content: x}]",
            ["3:29: case 'a': unknown role: the number 1; the roles are system, developer, user, assistant, tool"],
            id="a role that is not a string",
        ),
        pytest.param(
            "input_messages: [{role: user, contnet: x}]",
            ["3:35: case 'a': unknown key 'contnet'; did you mean 'content'?"],
            id="misspelled content",
        ),
        pytest.param(
            "input_messages: [{role: user}]",
            ["3:22: case 'a': missing key 'content'; only a message with 'tool_calls' or 'tool_call_id' may omit it"],
            id="no content",
        ),
        pytest.param(
            "input_messages: [{role: user, content: 3.12}]",
            [
                "3:44: case 'a': 'input_messages[0].content' must be a string, but is the number 3.12; put it in quotes if you mean text"
            ],
            id="a number for content",
        ),
        pytest.param(
            "input_messages: [{role: user, content: no}]",
            [
                "3:44: case 'a': 'input_messages[0].content' must be a string, but is the boolean false (no); put it in quotes if you mean text"
            ],
            id="a boolean for content",
            marks=pytest.mark.beyond_schema("YAML 1.2, which editors read, takes it for text"),
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: text, value: ~}]}]",
            [
                "3:65: case 'a': 'input_messages[0].content[0].value' must be a string, but is null (~); put it in quotes if you mean text"
            ],
            id="null for text",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: text, value: [x]}]}]",
            ["3:65: case 'a': 'input_messages[0].content[0].value' must be a string, but is a list"],
            id="a list for text",
        ),
        pytest.param(
            "input_messages:\n  - role: user\n    content:\n      - type: text\n        value:",
            ["7:19: case 'a': 'input_messages[0].content[0].value' must be a string, but is empty"],
            id="a text part without a value",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: fiel, value: x}]}]",
            ["3:52: case 'a': unknown part type: 'fiel'; did you mean 'file'?"],
            id="a misspelled type of part",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: video, value: x}, {type: 3, value: x}]}]",
            [
                "3:52: case 'a': unknown part type: 'video'; the part types are text, file, image, document, audio, raw",
                "3:77: case 'a': unknown part type: the number 3; the part types are text, file, image, document, audio, raw",
            ],
            id="an unknown type of part",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [hi]}]",
            ["3:45: case 'a': 'input_messages[0].content[0]' must be a mapping, but is 'hi'"],
            id="a part that is not a mapping",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{value: x}]}]",
            [
                "3:45: case 'a': a part must be {type: text, value: ...}, {type: file, value: PATH}, "
                "{type: image, value: PATH}, {type: document, value: PATH}, {type: audio, value: PATH} or {type: raw, PROVIDER: {...}}"
            ],
            id="a part without type",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: text}, {type: text, value: x, file: y}]}]",
            [
                "3:45: case 'a': missing key 'value'",
                "3:59: case 'a': a text has a 'value' or a 'file', not both; remove one",
            ],
            id="a text without a text, or with two",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: text, file: 3}, {type: text, file: ''}]}]",
            [
                "3:64: case 'a': 'input_messages[0].content[0].file' must be a string, but is the number 3; "
                "put it in quotes if you mean text",
                "3:87: case 'a': 'input_messages[0].content[1].file' is empty",
            ],
            id="a text whose file is not a path",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: image, value: ''}, {type: image, file: x.png}]}]",
            [
                "3:66: case 'a': 'input_messages[0].content[0].value' is empty",
                "3:71: case 'a': missing key 'value'",
                "3:85: case 'a': unknown key 'file'",
            ],
            id="an image without a path",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: file, valeu: x}]}]",
            ["3:45: case 'a': missing key 'value'", "3:58: case 'a': unknown key 'valeu'; did you mean 'value'?"],
            id="a misspelled key of a part",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: file, value: ''}]}]",
            ["3:65: case 'a': 'input_messages[0].content[0].value' is empty"],
            id="an empty path",
        ),
        pytest.param(
            "input_messages: [{role: user, content: x, tool_calls: [{id: c, function: {name: f, arguments: '{}'}}]}]",
            ["3:22: case 'a': 'tool_calls' belongs in an assistant message, but the role is 'user'"],
            id="tool calls of a user",
        ),
        pytest.param(
            "input_messages: [{role: user, content: x, tool_call_id: c}]",
            ["3:22: case 'a': 'tool_call_id' belongs in a tool message, but the role is 'user'"],
            id="a tool result of a user",
        ),
        pytest.param(
            "input_messages: [{role: assistant, tool_calls: [{id: c, function: {name: f, arguments: {a: 1}, nam: x}}]}]",
            [
                "3:92: case 'a': 'input_messages[0].tool_calls[0].function.arguments' must be a string, but is a mapping",
                "3:100: case 'a': unknown key 'nam'; did you mean 'name'?",
            ],
            id="arguments that are a mapping",
        ),
        pytest.param(
            "input_messages: [{role: assistant, tool_calls: [{id: c, type: x, function: {name: f, arguments: '{}'}}]}]",
            ["3:67: case 'a': 'input_messages[0].tool_calls[0].type': Input should be 'function'"],
            id="a tool call that is not a function",
        ),
        pytest.param(
            "metadata: {systemPrompt: 3}\ninput_messages: [{role: user, content: x}]",
            ["3:30: case 'a': 'metadata.systemPrompt' must be a string; put it in quotes"],
            id="a system prompt that is not a string",
        ),
        pytest.param(
            "metadata: {a: b, system_prompt: Be kind.}\ninput_messages: [{role: user, content: x}]",
            ["3:37: case 'a': 'metadata.system_prompt' has no effect; write 'systemPrompt'"],
            id="a misspelled system prompt",
            marks=pytest.mark.beyond_schema("metadata may have any other key"),
        ),
        pytest.param(
            "provider: []\ninput_messages: [{role: user, content: x}]",
            ["3:15: case 'a': 'provider' is empty"],
            id="an empty list of providers",
        ),
        pytest.param(
            "provider: [azure, azure]\ninput_messages: [{role: user, content: x}]",
            ["3:15: case 'a': 'provider' names 'azure' twice"],
            id="a provider named twice",
        ),
        pytest.param(
            "tags: ['a b', _x]\ninput_messages: [{role: user, content: x}]",
            [
                "3:12: case 'a': the tag 'a b' cannot be selected with -m; use letters, digits and _ - . / +, and do not begin with an underscore",
                "3:19: case 'a': the tag '_x' cannot be selected with -m; use letters, digits and _ - . / +, and do not begin with an underscore",
            ],
            id="tags that -m cannot select",
        ),
        pytest.param(
            "input: 3.12",
            [
                "3:12: case 'a': 'input[0].content' must be a string, but is the number 3.12; put it in quotes if you mean text"
            ],
            id="a number for input",
        ),
        pytest.param(
            "input: [{role: user, contnet: x}]",
            ["3:26: case 'a': unknown key 'contnet'; did you mean 'content'?"],
            id="misspelled content in input",
        ),
        pytest.param("input: [hi]", ["3:13: case 'a': 'input[0]' must be a mapping, but is 'hi'"], id="texts in input"),
        pytest.param("input: []", ["3:12: case 'a': 'input' is empty"], id="an empty input"),
        pytest.param("input:", ["2:5: case 'a': missing key 'input_messages'"], id="an input without a value"),
        pytest.param(
            "input: {role: usr, content: x}",
            ["3:19: case 'a': unknown role: 'usr'; did you mean 'user'?"],
            id="a misspelled role in an input that is one message",
            marks=pytest.mark.beyond_schema("a mapping without a valid role may be data to send"),
        ),
    ],
)
def test_a_problem_in_a_case_is_reported_at_its_position(
    project: Project, body: str, lines: list[str], schema_agrees: Callable[[Path], None]
) -> None:
    assert case_problems(project, body) == [f"a.eval.yaml:{line}" for line in lines]
    schema_agrees(project.root / "a.eval.yaml")

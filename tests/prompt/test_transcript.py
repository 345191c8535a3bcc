"""The transcript: rules D, one by one."""

from __future__ import annotations

import pytest

from pytest_chatprompt.prompt.conversion import render_transcript
from tests.conftest import Project


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        pytest.param("[{role: user, content: hi}]", "hi", id="D3: a single turn of the user has no marker"),
        pytest.param(
            r'[{role: user, content: "a\nb\n\n"}]', "a\nb", id="D3: several lines, without empty ones at the end"
        ),
        pytest.param(
            "[{role: assistant, content: hi}]", "[Assistant]: hi", id="D3: a single turn of another role has its marker"
        ),
        pytest.param(
            "[{role: user, content: ' '}, {role: user, content: hi}]",
            "hi",
            id="D3: a dropped message does not count as a turn",
        ),
    ],
)
def test_d3_the_question_of_a_single_user_turn_is_its_content_alone(
    project: Project, messages: str, question: str
) -> None:
    assert project.request(f"input_messages: {messages}").question == question


def test_d1_system_messages_stay_in_their_place(project: Project) -> None:
    messages = "[{role: user, content: one}, {role: system, content: two}, {role: assistant, content: three}]"
    question = "[User]: one\n[System]: two\n[Assistant]: three"
    assert project.request(f"input_messages: {messages}").question == question


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        pytest.param(
            r'[{role: user, content: "first\nsecond"}, {role: user, content: third}]',
            "[User]:\nfirst\nsecond\n[User]: third",
            id="D2: several lines start below the marker",
        ),
        pytest.param(
            r'[{role: user, content: "one\n"}, {role: user, content: "two\r\n\n"}]',
            "[User]: one\n[User]: two",
            id="D2: line breaks at the end of a turn are left out",
        ),
        pytest.param(
            r'[{role: user, content: " one "}, {role: user, content: "\n two"}]',
            "[User]:  one \n[User]:\n\n two",
            id="D2: nothing else is left out",
        ),
        pytest.param(r'[{role: user, content: "XX\nX"}]', "XX\nX", id="D2: letters at the end of a turn stay"),
        pytest.param(
            "[{role: user, content: hi}, {role: assistant, content: Let me see., tool_calls: "
            '[{id: a, function: {name: get_weather, arguments: \'{"city": "Paris"}\'}}, '
            "{id: b, function: {name: now, arguments: ''}}]}, {role: tool, tool_call_id: a, content: sunny}]",
            '[User]: hi\n[Assistant]:\nLet me see.\n<Call get_weather({"city": "Paris"})>\n<Call now()>\n[Tool]: sunny',
            id="D2: each tool call is a line after the text",
        ),
        pytest.param(
            r'[{role: user, content: hi}, {role: assistant, content: "Look.\n", tool_calls: '
            "[{id: a, function: {name: f, arguments: '{}'}}]}]",
            "[User]: hi\n[Assistant]:\nLook.\n<Call f({})>",
            id="D2: a call after a text that ends with a line break",
        ),
        pytest.param(
            "[{role: user, content: hi}, {role: assistant, content: null, tool_calls: "
            "[{id: a, function: {name: f, arguments: '{}'}}]}, {role: tool, tool_call_id: a, content: ''}]",
            "[User]: hi\n[Assistant]: <Call f({})>\n[Tool]:",
            id="D2: a call without text, a result without content",
        ),
    ],
)
def test_d2_a_turn_is_its_role_and_its_content(project: Project, messages: str, question: str) -> None:
    assert project.request(f"input_messages: {messages}").question == question


def test_d1_files_are_written_as_in_the_chat_prompt(project: Project) -> None:
    project.write("evals/x.py", "x = 1\n")
    project.write("evals/a.guide.md", "A")
    body = """
guideline_patterns: ["*.guide.md", "**/*.guide.md"]
input_messages:
  - role: user
    content: [{type: text, value: See}, {type: file, value: x.py}, {type: file, value: a.guide.md}]
  - {role: user, content: [{type: file, value: a.guide.md}]}
  - {role: assistant, content: ok}
"""
    assert project.request(body).question == (
        "[User]:\nSee\n=== x.py ===\nx = 1\n<Attached: a.guide.md>\n[Assistant]: ok"
    )


def test_no_messages_give_an_empty_transcript() -> None:
    assert render_transcript(()) == ""

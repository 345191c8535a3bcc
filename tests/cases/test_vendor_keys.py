"""What an SDK can send beside texts: marks and details of parts, errors of tools, raw parts, messages and tools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_chatprompt import EvalCase, EvalFileError, EvalMessage, RawPart, TextPart
from tests.conftest import Project

THINKING = {"type": "thinking", "thinking": "Hm.", "signature": "abc"}
HELLO = "input_messages: [{role: user, content: hello}]"


def test_parts_have_marks_and_details_as_the_vendors_say_them(project: Project) -> None:
    case = project.case(
        """
input_messages:
  - role: user
    content:
      - {type: text, value: hello, cache_control: {type: ephemeral, ttl: 1h}}
      - {type: file, value: x.py, cache_control: {type: ephemeral}}
      - {type: image, value: x.png, detail: high, cache_control: {type: ephemeral}}
      - {type: document, value: x.pdf, detail: low}
"""
    )
    dumped = [part.model_dump(exclude_defaults=True) for part in case.input_messages[0].parts]
    assert dumped == [
        {"value": "hello", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"value": "x.py", "cache_control": {"type": "ephemeral"}},
        {"value": "x.png", "detail": "high", "cache_control": {"type": "ephemeral"}},
        {"value": "x.pdf", "detail": "low"},
    ]


def test_a_part_and_a_message_may_be_raw_and_are_never_rendered(project: Project) -> None:
    case = project.case(
        """
vars: {name: Ada}
input_messages:
  - role: assistant
    content: [{type: raw, x-mine: 1, anthropic: {type: thinking, thinking: Hm., signature: abc}}]
  - {type: raw, openai_responses: {type: reasoning, summary: ["{{ name }}"]}, x-mine: 1}
"""
    )
    first, second = case.input_messages
    assert first.parts == (RawPart.model_validate({"anthropic": THINKING}),)
    assert (second.role, [part.model_dump() for part in second.parts]) == (
        "raw",
        [{"type": "raw", "openai_responses": {"type": "reasoning", "summary": ["{{ name }}"]}}],
    )


def test_a_case_in_code_has_raw_parts_and_messages() -> None:
    part = RawPart(anthropic=THINKING)  # type: ignore[call-arg] # the names of providers are keys of any name
    message = EvalMessage(role="assistant", content=(part, TextPart(value="hello")))
    assert isinstance(message.parts[0], RawPart)
    assert message.parts[0].by_provider == {"anthropic": THINKING}
    raw = EvalMessage.model_validate({"type": "raw", "gemini": {"parts": []}})
    assert EvalCase(id="a", input_messages=(message, raw)).input_messages == (message, raw)


def test_a_tool_message_may_be_an_error_with_data(project: Project) -> None:
    message = "{role: tool, tool_call_id: c, is_error: true, content: {reason: gone}}"
    (read,) = project.case(f"input_messages: [{message}]").input_messages
    assert (read.is_error, read.content) == (True, {"reason": "gone"})


def test_a_tool_may_be_raw(project: Project) -> None:
    tools = "tools: [{type: raw, anthropic: {type: web_search_20250305, name: web_search}}]"
    assert project.case(f"{tools}\n{HELLO}").tools == (
        {"type": "raw", "anthropic": {"type": "web_search_20250305", "name": "web_search"}},
    )


NO_PROVIDER = "name the provider that it is for: {type: raw, PROVIDER: {...}}"


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            "input_messages: [{type: raw, anthropic: 3}]",
            "4:45: case 'a': 'input_messages[0].anthropic' must be a mapping, but is the number 3",
        ),
        ("input_messages: [{type: raw, x-anthropic: {}}]", f"4:22: case 'a': {NO_PROVIDER}"),
        ("input_messages: [{role: user, content: [{type: raw}]}]", f"4:45: case 'a': {NO_PROVIDER}"),
        ("input_messages: [{role: user, content: [{type: raw, value: {b: 1}}]}]", f"4:45: case 'a': {NO_PROVIDER}"),
        (
            "input_messages: [{role: user, content: [{type: raw, b: [1]}]}]",
            "4:60: case 'a': 'input_messages[0].content[0].b' must be a mapping, but is a list",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: raw, b: {c: .inf}}]}]",
            "4:64: case 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text",
            marks=pytest.mark.beyond_schema("JSON has no infinity"),
        ),
        (
            "input_messages: [{role: raw, content: hello}]",
            "4:22: case 'a': unknown role: 'raw'; write {type: raw, PROVIDER: {...}} in place of the message",
        ),
        (
            "input_messages: [{role: user, content: hello, is_error: true}]",
            "4:22: case 'a': 'is_error' belongs in a tool message, but the role is 'user'",
        ),
        (
            "input_messages: [{role: user, content: [{type: image, value: a.png, detail: hgih}]}]",
            "4:81: case 'a': 'input_messages[0].content[0].detail': Input should be 'auto', 'low', 'high' or 'original'; did you mean 'high'?",
        ),
        (
            "input_messages: [{role: user, content: [{type: text, value: a, cache_control: 1h}]}]",
            "4:83: case 'a': 'input_messages[0].content[0].cache_control' must be a mapping, but is '1h'",
        ),
        (
            f"tools: [{{type: raw, anthropic: web_search}}]\n{HELLO}",
            "4:36: case 'a': 'tools[0].anthropic' must be a mapping, but is 'web_search'",
        ),
        (f"tools: [{{type: raw}}]\n{HELLO}", f"4:13: case 'a': {NO_PROVIDER}"),
    ],
)
def test_a_mistake_is_told_at_its_place(
    project: Project, body: str, problem: str, schema_agrees: Callable[[Path], None]
) -> None:
    with pytest.raises(EvalFileError) as caught:
        project.case(body)
    assert str(caught.value) == f"evals/a.eval.yaml:{problem}"
    schema_agrees(project.root / "evals/a.eval.yaml")

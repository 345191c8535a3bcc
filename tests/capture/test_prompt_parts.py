"""What fills the window of a model: the parts of a request, in the shape of every API."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.capture.prompt_size import count_characters, part_texts, prompt_parts
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.cases.message import EvalMessage, FilePart, Part, TextPart
from pytest_chatprompt.prompt.attachments import Attachment
from pytest_chatprompt.prompt.conversion import convert, render_messages, sent_files

CHAT = "POST /v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}}
FUNCTION = {"name": "find", "description": "Finds.", "parameters": SCHEMA}
CALL = {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}


def sizes(endpoint: str, body: Any, **options: Any) -> dict[str, int]:
    """The characters of each part, whose sum is that of the request."""
    sent = SentRequest(endpoint, body)
    parts = prompt_parts(sent, **options)
    assert sum(part.characters for part in parts) == count_characters(sent)
    assert [part.characters for part in parts] == sorted((part.characters for part in parts), reverse=True)
    return {part.name: part.characters for part in parts}


@pytest.mark.parametrize(
    ("endpoint", "body", "expected"),
    [
        pytest.param(
            CHAT,
            {
                "model": "m",
                "temperature": 1,
                "messages": [
                    {"role": "system", "content": "Be kind."},
                    {"role": "developer", "content": "Now."},
                    {"role": "user", "content": [{"type": "text", "text": "Where is 7?"}]},
                    {"role": "assistant", "content": None, "tool_calls": [CALL]},
                    {"role": "tool", "tool_call_id": "call_1", "content": "shipped"},
                    {"role": "user", "content": "And 8?"},
                ],
                "tools": [{"type": "function", "function": FUNCTION}],
                "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": {}}},
            },
            {
                "system text": 12,
                "earlier turns": 24,
                "tool results": 7,
                "last turn": 6,
                "tools": 12,
                "answer format": 6,
            },
            id="chat completions",
        ),
        pytest.param(
            "POST /v1/responses",
            {
                "instructions": "Be kind.",
                "input": [
                    {"role": "user", "content": "Where is 7?"},
                    {"type": "function_call", "call_id": "call_1", "name": "find", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": "call_1", "output": "shipped"},
                ],
                "tools": [{"type": "function", **FUNCTION}],
                "text": {"format": {"type": "json_schema", "name": "answer", "schema": {}}},
            },
            {"system text": 8, "earlier turns": 17, "tool results": 7, "tools": 12, "answer format": 6},
            id="responses, which end with a result",
        ),
        pytest.param("POST /v1/responses", {"input": "Where?"}, {"last turn": 6}, id="a text alone"),
        pytest.param(
            "POST /v1/messages",
            {
                "system": [{"type": "text", "text": "Be kind."}],
                "messages": [
                    {"role": "user", "content": "Where is 7?"},
                    {
                        "role": "assistant",
                        "content": [{"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"city": "Rome"}}],
                    },
                    {
                        "role": "user",
                        "content": [
                            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "shipped"},
                            {"type": "text", "text": "And 8?"},
                            {"type": "text", "text": "Now."},
                        ],
                    },
                ],
                "tools": [{"name": "find", "description": "Finds.", "input_schema": SCHEMA}],
            },
            {"system text": 8, "earlier turns": 19, "tool results": 7, "last turn": 10, "tools": 12},
            id="anthropic, where a result and a text are one message",
        ),
        pytest.param(
            "POST /v1beta/models/m:generateContent",
            {
                "systemInstruction": {"parts": [{"text": "Be kind."}]},
                "contents": [
                    {"role": "user", "parts": [{"text": "Where?"}]},
                    {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {}}}]},
                    {
                        "role": "user",
                        "parts": [
                            {"functionResponse": {"name": "find", "response": {"result": "shipped"}}},
                            {"text": "And 8?"},
                        ],
                    },
                ],
                "tools": [{"functionDeclarations": [{"name": "find"}]}],
                "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
            },
            {"system text": 8, "earlier turns": 10, "tool results": 11, "last turn": 6, "tools": 4, "answer format": 2},
            id="gemini",
        ),
        pytest.param(
            "POST /model/nova/converse",
            {
                "system": [{"text": "Be kind."}],
                "messages": [{"role": "user", "content": [{"text": "Hi"}, {"text": "you"}]}],
                "toolConfig": {"tools": [{"toolSpec": {"name": "find"}}]},
            },
            {"system text": 8, "last turn": 5, "tools": 4},
            id="bedrock",
        ),
        pytest.param("POST /predict", {"tools": "ab", "text": "abc"}, {"tools": 2, "text": 3}, id="an unknown API"),
        pytest.param("POST /predict", "abc", {"body": 3}, id="a text as body"),
        pytest.param("POST /predict", None, {}, id="no body"),
        pytest.param(CHAT, {"messages": []}, {}, id="nothing said"),
        pytest.param(
            "",
            {"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]},
            {"system text": 8, "last turn": 2},
            id="what a function is given",
        ),
        pytest.param("", {"argv": ["x"], "prompt": "Do it."}, {"argv": 1, "prompt": 6}, id="what an agent is given"),
    ],
)
def test_each_text_belongs_to_a_part(endpoint: str, body: Any, expected: Mapping[str, int]) -> None:
    assert sizes(endpoint, body) == expected


KEYS = st.sampled_from(
    ["messages", "content", "role", "type", "tools", "properties", "text", "system", "input", "parts"]
)
BODIES = st.recursive(
    st.text(max_size=5) | st.integers() | st.sampled_from(["user", "assistant", "tool", "tool_result"]) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=15,
)
ENDPOINTS = ("POST /v1/messages", CHAT, "POST /v1/responses", "POST /models/m:generateContent", "POST /predict", "")


@given(st.sampled_from(ENDPOINTS), BODIES)
def test_the_parts_of_any_body_add_up_to_all_of_it(endpoint: str, body: Any) -> None:
    sent = SentRequest(endpoint, body)
    parts = prompt_parts(sent)
    assert sum(part.characters for part in parts) == count_characters(sent)
    assert sum(part.tokens for part in parts) == round(count_characters(sent) / 4)


def file(name: str, content: str, *, is_guideline: bool = False) -> Attachment:
    return Attachment(name, Path("/", name), content, pattern="*.md" if is_guideline else None)


CODE, STYLE, TONE = file("./a.py", "x = 1"), file("style.md", "# Style\nShort.", is_guideline=True), file("b.py", "z")
OTHER = file("tone.md", "Warm.", is_guideline=True)
BLANK = file("blank.md", " \n", is_guideline=True)


@pytest.mark.parametrize(
    ("files", "replaced", "expected", "grown"),
    [
        pytest.param(
            [CODE], {}, {"system text": 3, "last turn": 16, "file ./a.py": 20}, {}, id="a file, and texts around"
        ),
        pytest.param(
            [CODE],
            {"x = 1": "x = 1\ny = 2"},
            {"system text": 3, "last turn": 16, "file ./a.py": 20},
            {"file ./a.py": 6},
            id="a file that gets longer",
        ),
        pytest.param(
            [CODE],
            {"Sum up.": "Sum it up."},
            {"system text": 3, "last turn": 16, "file ./a.py": 20},
            {"last turn": 3},
            id="the text behind a file",
        ),
        pytest.param(
            [CODE, TONE],
            {"x = 1": "", "z": "zz"},
            {"system text": 3, "last turn": 17, "file ./a.py": 20, "file b.py": 14},
            {"file ./a.py": -6, "last turn": 1, "file b.py": 1},
            id="two files, of which one becomes empty",
        ),
        pytest.param(
            [STYLE],
            {"Short.": "Short, and clear."},
            {"system text": 5, "guideline style.md": 38, "last turn": 36},
            {"guideline style.md": 11},
            id="a guideline",
        ),
        pytest.param(
            [STYLE, OTHER, BLANK],
            {"Warm.": "Warmer."},
            {"system text": 7, "guideline style.md": 55, "guideline tone.md": 21, "last turn": 77},
            {"guideline tone.md": 2},
            id="two guidelines, and a blank one",
        ),
        pytest.param([], {}, {"system text": 3, "last turn": 15}, {}, id="no file"),
    ],
)
def test_the_files_of_a_case_are_parts_and_a_change_is_that_of_its_part(
    files: list[Attachment], replaced: Mapping[str, str], expected: Mapping[str, int], grown: Mapping[str, int]
) -> None:
    named = [FilePart(value=each.name) for each in files]
    content: tuple[Part, ...] = (TextPart(value="Look at"), *named, TextPart(value="Sum up."))
    attachments = {each.name: each for each in files}
    rendered = render_messages([EvalMessage(role="user", content=content)], attachments)
    prompt = convert(rendered, system_prompt="Do.", default_system_prompt=None).chat_prompt
    known = sent_files(attachments, prompt)
    messages = [{"role": message.role, "content": message.text} for message in prompt]
    assert sizes(CHAT, {"messages": messages}, files=known) == expected
    for message in messages:
        for old, new in replaced.items():
            message["content"] = message["content"].replace(old, new)
    # As a snapshot may have it: what the files say now is not what it says.
    texts = part_texts(SentRequest(CHAT, {"messages": messages}), known)
    after = {name: sum(map(len, said)) for name, said in texts.items()}
    assert {
        name: size - expected.get(name, 0) for name, size in after.items() if size != expected.get(name, 0)
    } == grown

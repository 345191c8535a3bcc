"""Parts that stay apart from texts: marked texts, data of tools, what is raw; and messages of developers."""

from __future__ import annotations

import pytest

from pytest_chatprompt.prompt.chat_prompt import ChatMessage, JSONResult, MarkedText, Media, RawContent
from tests.conftest import Project
from tests.media import PNG

EPHEMERAL = {"type": "ephemeral"}


def prompt_of(project: Project, body: str) -> tuple[ChatMessage, ...]:
    prompt = project.request(body).chat_prompt
    assert prompt is not None
    return prompt


def test_a_marked_text_stays_apart_from_those_around_it(project: Project) -> None:
    project.write("evals/x.py", "print()")
    (message,) = prompt_of(
        project,
        """
input_messages:
  - role: user
    content:
      - {type: text, value: one}
      - {type: text, value: two}
      - {type: file, value: x.py, cache_control: {type: ephemeral}}
      - {type: text, value: " ", cache_control: {type: ephemeral}}
      - {type: text, value: three}
""",
    )
    marked = MarkedText("=== x.py ===\nprint()", EPHEMERAL)
    assert message.content == ("one\ntwo", marked, "three")
    assert [part.place for part in message.content if isinstance(part, MarkedText)] == [(1, 3)]
    assert message.text == "one\ntwo\n=== x.py ===\nprint()\nthree"


def test_a_system_text_may_be_marked(project: Project) -> None:
    body = """
input_messages:
  - {role: system, content: [{type: text, value: Be kind., cache_control: {type: ephemeral}}]}
  - {role: system, content: Be short.}
  - {role: user, content: hello}
"""
    system = prompt_of(project, body)[0]
    assert system.content == (MarkedText("Be kind.", EPHEMERAL), "Be short.")


def test_media_keep_their_detail_and_their_mark(project: Project) -> None:
    project.write("evals/x.png", PNG)
    part = "{type: image, value: x.png, detail: low, cache_control: {type: ephemeral}}"
    (message,) = prompt_of(project, f"input_messages: [{{role: user, content: [{part}]}}]")
    assert message.content == (Media("image", "x.png", "image/png", PNG, "low", EPHEMERAL),)
    assert message.as_dict()["content"] == [
        {"type": "image", "value": message.media[0].url, "detail": "low", "cache_control": EPHEMERAL}
    ]


def test_a7_the_result_of_a_tool_may_be_data(project: Project) -> None:
    call = "{role: assistant, content: null, tool_calls: [{id: c, function: {name: f, arguments: '{}'}}]}"
    result = "{role: tool, tool_call_id: c, is_error: true, content: {celsius: 21}}"
    request = project.request(f"input_messages: [{{role: user, content: hi}}, {call}, {result}]")
    assert request.chat_prompt is not None
    message = request.chat_prompt[-1]
    assert (message.content, message.is_error) == ((JSONResult({"celsius": 21}),), True)
    assert message.as_dict() == {
        "role": "tool",
        "content": '{\n  "celsius": 21\n}',
        "tool_call_id": "c",
        "is_error": True,
    }
    assert request.question.endswith('[Tool]:\n<Error>\n{\n  "celsius": 21\n}')


def test_what_is_raw_keeps_its_place(project: Project) -> None:
    request = project.request(
        """
input_messages:
  - {role: user, content: hi}
  - {role: assistant, content: [{type: raw, anthropic: {type: thinking}, bedrock: {}}, {type: text, value: hello}]}
  - {type: raw, openai_responses: {type: reasoning}}
"""
    )
    assert request.chat_prompt is not None
    _, spoken, raw = request.chat_prompt
    thought = RawContent({"anthropic": {"type": "thinking"}, "bedrock": {}})
    assert spoken.content == (thought, "hello")
    assert raw == ChatMessage("raw", (RawContent({"openai_responses": {"type": "reasoning"}}),))
    assert [message.as_dict() for message in (spoken, raw)] == [
        {
            "role": "assistant",
            "content": [
                {"type": "raw", "anthropic": {"type": "thinking"}, "bedrock": {}},
                {"type": "text", "value": "hello"},
            ],
        },
        {"type": "raw", "openai_responses": {"type": "reasoning"}},
    ]
    assert request.question == (
        "[User]: hi\n[Assistant]:\n<Raw: anthropic, bedrock>\nhello\n[Raw]: <Raw: openai_responses>"
    )


@pytest.mark.parametrize("patterns", ["[]", '["*.md"]'])
def test_a_developer_message_stays_in_its_place_and_stands_for_the_default_system_prompt(
    project: Project, patterns: str
) -> None:
    project.write("evals/rules.md", "Be short.")
    request = project.request(
        f"""
guideline_patterns: {patterns}
input_messages:
  - {{role: user, content: [{{type: text, value: hi}}, {{type: file, value: rules.md}}]}}
  - {{role: developer, content: Be kind.}}
"""
    )
    assert request.chat_prompt is not None
    roles = [(message.role, message.text) for message in request.chat_prompt]
    system = [("system", "[[ ## Guidelines ## ]]\n\nBe short.")] if patterns != "[]" else []
    said = "hi\n<Attached: rules.md>" if system else "hi\n=== rules.md ===\nBe short."
    assert roles == [*system, ("user", said), ("developer", "Be kind.")]


def test_a_marked_text_is_data_in_the_shape_of_an_eval_file() -> None:
    message = ChatMessage("user", (MarkedText("hi", EPHEMERAL), JSONResult({"a": 1})))
    assert message.as_dict()["content"] == [
        {"type": "text", "value": "hi", "cache_control": EPHEMERAL},
        {"type": "text", "value": '{\n  "a": 1\n}'},
    ]

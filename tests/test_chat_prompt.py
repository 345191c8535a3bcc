"""The chat prompt: rulings A, B and C, one by one."""

from __future__ import annotations

import pytest

from pytest_chatprompt import ChatMessage, EvalFileError, FunctionCall, ToolCall, convert_to_chat_prompt
from pytest_chatprompt.attachments import FileReader, read_attachments

from .conftest import Project

GUIDES = 'guideline_patterns: ["**/*.guide.md"]'


def prompt_of(project: Project, body: str, head: str = "", default: str | None = None) -> list[tuple[str, str | None]]:
    request = project.request(body, head, project_system_prompt=default)
    assert request.chat_prompt is not None
    return [(message.role, message.content) for message in request.chat_prompt]


def guides(project: Project, **contents: str) -> None:
    for name, content in contents.items():
        project.write(f"evals/{name}.guide.md", content)


def test_a1_parts_are_joined_with_line_breaks_in_order(project: Project) -> None:
    project.write("evals/x.py", "x = 1\n")
    body = """
input_messages:
  - role: user
    content: [{type: file, value: x.py}, {type: text, value: one}, {type: text, value: two}]
"""
    assert prompt_of(project, body) == [("user", "=== x.py ===\nx = 1\none\ntwo")]


def test_a2_text_goes_out_exactly_as_written(project: Project) -> None:
    body = r"""
input_messages:
  - role: user
    content: "  [User]: <Attached: x> \t === y ===\r\n\n"
"""
    assert prompt_of(project, body) == [("user", "  [User]: <Attached: x> \t === y ===\r\n\n")]


def test_a3_a_path_is_shown_as_written(project: Project) -> None:
    project.write("x.py", "1")
    guides(project, a="A")
    body = """
input_messages:
  - role: user
    content: [{type: file, value: ../x.py}, {type: file, value: ./a.guide.md}]
"""
    assert prompt_of(project, body, GUIDES)[1] == ("user", "=== ../x.py ===\n1\n<Attached: ./a.guide.md>")


def test_a5_parts_of_white_space_add_nothing_and_messages_without_parts_are_dropped(project: Project) -> None:
    body = r"""
input_messages:
  - {role: user, content: ""}
  - {role: assistant, content: " \n\t"}
  - {role: user, content: []}
  - {role: user, content: [{type: text, value: " "}, {type: text, value: hi}, {type: text, value: ""}]}
"""
    assert prompt_of(project, body) == [("user", "hi")]


def test_a5_an_empty_file_is_no_white_space(project: Project) -> None:
    project.write("evals/empty", "")
    body = "input_messages: [{role: user, content: [{type: file, value: empty}]}]"
    assert prompt_of(project, body) == [("user", "=== empty ===\n")]


def test_a5_messages_of_tool_calls_always_stay(project: Project) -> None:
    body = """
input_messages:
  - {role: user, content: hi}
  - {role: assistant, content: null, tool_calls: [{id: c, function: {name: f, arguments: "{}"}}]}
  - {role: tool, tool_call_id: c, content: ""}
  - {role: tool, tool_call_id: c, content: null}
"""
    request = project.request(body)
    assert request.chat_prompt == (
        ChatMessage("user", "hi"),
        ChatMessage("assistant", None, tool_calls=(ToolCall(id="c", function=FunctionCall(name="f", arguments="{}")),)),
        ChatMessage("tool", "", tool_call_id="c"),
        ChatMessage("tool", None, tool_call_id="c"),
    )


def test_a_case_with_nothing_left_to_send_is_an_error(project: Project) -> None:
    with pytest.raises(EvalFileError) as caught:
        project.request("input_messages: [{role: user, content: ' '}, {role: system, content: ''}]")
    assert str(caught.value) == (
        "evals/a.eval.yaml:4:21: case 'a': nothing is left to send: no message has more than white space"
    )


def test_a6_roles_and_names_are_kept(project: Project) -> None:
    body = "input_messages: [{role: user, name: bob, content: hi}, {role: assistant, content: ho}]"
    assert project.request(body).chat_prompt == (ChatMessage("user", "hi", name="bob"), ChatMessage("assistant", "ho"))


def test_b2_guidelines_of_every_message_are_collected_once_and_keep_every_marker(project: Project) -> None:
    guides(project, a="A", b="B")
    body = """
input_messages:
  - role: user
    content: [{type: text, value: one}, {type: file, value: b.guide.md}]
  - role: system
    content: [{type: text, value: sys}, {type: file, value: a.guide.md}]
  - role: user
    content: [{type: text, value: two}, {type: file, value: ./b.guide.md}, {type: file, value: b.guide.md}]
"""
    assert prompt_of(project, body, GUIDES) == [
        (
            "system",
            "sys\n<Attached: a.guide.md>\n\n[[ ## Guidelines ## ]]\n\n=== b.guide.md ===\nB\n\n=== a.guide.md ===\nA",
        ),
        ("user", "one\n<Attached: b.guide.md>"),
        ("user", "two\n<Attached: ./b.guide.md>\n<Attached: b.guide.md>"),
    ]


def test_b5_messages_of_guidelines_alone_are_dropped_where_another_stays(project: Project) -> None:
    guides(project, a="A", b="B")
    body = """
input_messages:
  - {role: system, content: [{type: file, value: a.guide.md}]}
  - {role: user, content: [{type: text, value: " "}, {type: file, value: b.guide.md}]}
  - {role: user, content: hi}
"""
    assert prompt_of(project, body, GUIDES) == [
        (
            "system",
            "You are a careful assistant.\n\n[[ ## Guidelines ## ]]\n\n=== a.guide.md ===\nA\n\n=== b.guide.md ===\nB",
        ),
        ("user", "hi"),
    ]


def test_b5_a_message_that_always_stays_is_one_that_stays(project: Project) -> None:
    guides(project, a="A")
    body = """
input_messages:
  - {role: user, content: [{type: file, value: a.guide.md}]}
  - {role: assistant, content: null, tool_calls: [{id: c, function: {name: f, arguments: "{}"}}]}
"""
    assert [role for role, _ in prompt_of(project, body, GUIDES)] == ["system", "assistant"]


def test_b5_where_no_message_would_be_left_all_stay_as_markers(project: Project) -> None:
    guides(project, a="A", b="B")
    body = """
input_messages:
  - {role: system, content: [{type: file, value: a.guide.md}]}
  - {role: user, content: [{type: file, value: b.guide.md}]}
  - {role: user, content: " "}
"""
    assert prompt_of(project, body, GUIDES) == [
        (
            "system",
            "<Attached: a.guide.md>\n\n[[ ## Guidelines ## ]]\n\n=== a.guide.md ===\nA\n\n=== b.guide.md ===\nB",
        ),
        ("user", "<Attached: b.guide.md>"),
    ]


def test_c1_system_messages_are_merged_at_the_start_and_replace_the_system_prompt(project: Project) -> None:
    body = r"""
metadata: {systemPrompt: The author's.}
input_messages:
  - {role: user, content: one}
  - {role: system, content: "first\n"}
  - {role: assistant, content: two}
  - {role: system, content: second}
"""
    assert prompt_of(project, body) == [
        ("system", "first\n\n\nsecond"),
        ("user", "one"),
        ("assistant", "two"),
    ]


def test_c1_a_dropped_system_message_counts_as_none(project: Project) -> None:
    body = """
metadata: {systemPrompt: The author's.}
input_messages: [{role: system, content: " "}, {role: user, content: hi}]
"""
    assert prompt_of(project, body) == [("system", "The author's."), ("user", "hi")]


def test_c1_the_name_of_a_single_system_message_is_kept(project: Project) -> None:
    one = "input_messages: [{role: system, name: boss, content: x}, {role: user, content: hi}]"
    assert project.request(one).chat_prompt == (ChatMessage("system", "x", name="boss"), ChatMessage("user", "hi"))
    two = "input_messages: [{role: system, name: boss, content: x}, {role: system, content: y}, {role: user, content: hi}]"
    assert project.request(two).chat_prompt == (ChatMessage("system", "x\n\ny"), ChatMessage("user", "hi"))


HI = "input_messages: [{role: user, content: hi}]"
HI_WITH_GUIDE = "input_messages: [{role: user, content: [{type: text, value: hi}, {type: file, value: a.guide.md}]}]"
BLOCK = "[[ ## Guidelines ## ]]\n\nA"


@pytest.mark.parametrize(
    ("prompt", "default", "without_guideline", "with_guideline"),
    [
        pytest.param(None, None, None, f"You are a careful assistant.\n\n{BLOCK}", id="nothing set"),
        pytest.param(None, "The ini's.", None, f"The ini's.\n\n{BLOCK}", id="the project's default"),
        pytest.param(None, "", None, BLOCK, id="the project wants none"),
        pytest.param("Mine.", "The ini's.", "Mine.", f"Mine.\n\n{BLOCK}", id="the author's"),
        pytest.param("", "The ini's.", None, BLOCK, id="the author wants none"),
    ],
)
def test_c2_to_c5_the_system_prompt(
    project: Project, prompt: str | None, default: str | None, without_guideline: str | None, with_guideline: str
) -> None:
    guides(project, a="A")
    head = GUIDES if prompt is None else f"{GUIDES}\nmetadata: {{systemPrompt: '{prompt}'}}"
    plain = prompt_of(project, HI, head, default)
    assert plain == ([] if without_guideline is None else [("system", without_guideline)]) + [("user", "hi")]
    assert prompt_of(project, HI_WITH_GUIDE, head, default)[0] == ("system", with_guideline)


def test_c2_without_any_prompt_the_block_stands_alone(project: Project) -> None:
    guides(project, a="A")
    case = project.case(HI_WITH_GUIDE, GUIDES)
    attachments = read_attachments(case, FileReader(project.root))
    assert convert_to_chat_prompt(case.input_messages, attachments)[0] == ChatMessage("system", BLOCK)


def test_no_messages_make_an_empty_prompt() -> None:
    assert convert_to_chat_prompt(()) == ()


def test_what_was_done_to_the_messages_is_told_in_their_order(project: Project) -> None:
    guides(project, a="A", b="B")
    body = """
input_messages:
  - {role: user, content: [{type: text, value: hi}, {type: file, value: ./a.guide.md}]}
  - {role: system, content: one}
  - {role: user, content: ""}
  - {role: system, content: two}
  - {role: user, content: [{type: file, value: b.guide.md}, {type: file, value: a.guide.md}]}
"""
    assert project.request(body, GUIDES).adjustments == (
        "message 1: guideline ./a.guide.md moved to the system message (matched **/*.guide.md)",
        "message 2: system message moved to the start",
        "message 3: dropped, nothing left in it",
        "message 4: system message merged into the first",
        "message 5: guideline b.guide.md moved to the system message (matched **/*.guide.md)",
        "message 5: dropped, it holds nothing but guideline files",
    )


def test_what_is_left_out_of_a_message_that_stays_is_told(project: Project) -> None:
    calls = '[{id: c1, function: {name: f, arguments: "{}"}}]'
    body = f"""
input_messages:
  - {{role: user, content: [{{type: text, value: ""}}, {{type: text, value: hi}}, {{type: text, value: "\\n"}}]}}
  - {{role: assistant, content: " ", tool_calls: {calls}}}
  - {{role: tool, content: "", tool_call_id: c1}}
  - {{role: assistant, content: [{{type: text, value: " "}}], tool_calls: {calls}}}
"""
    told = (
        "message 1: part 1 dropped, nothing left in it",
        "message 1: part 3 dropped, nothing left in it",
        "message 2: content dropped, nothing but white space in it",
        "message 4: part 1 dropped, nothing left in it",
    )
    request = project.request(body)
    assert request.adjustments == told
    assert request.question_adjustments == told


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        pytest.param("{role: system, content: x}", "message 1 stands", id="one system message"),
        pytest.param(
            "{role: system, content: x}, {role: system, content: y}, {role: user, content: u}, {role: system, content: z}",
            "messages 1, 2 and 4 stand",
            id="several system messages",
        ),
    ],
)
def test_a_system_prompt_that_gives_way_to_system_messages_is_told(project: Project, messages: str, told: str) -> None:
    body = f"metadata: {{systemPrompt: Mine.}}\ninput_messages: [{messages}, {{role: user, content: hi}}]"
    assert project.request(body).adjustments[-1] == f"metadata.systemPrompt left out, {told} in its place"


def test_names_of_system_messages_that_are_merged_are_told(project: Project) -> None:
    body = """
input_messages:
  - {role: system, content: one, name: a}
  - {role: system, content: two}
  - {role: user, content: hi, name: b}
"""
    assert project.request(body).adjustments == (
        "message 1: name 'a' left out, the system messages are one",
        "message 2: system message merged into the first",
    )


def test_where_nothing_was_done_nothing_is_told(project: Project) -> None:
    body = "input_messages: [{role: system, content: x}, {role: user, content: hi}]"
    assert project.request(body).adjustments == ()


def test_a_message_as_json_data_has_what_is_set() -> None:
    call = ToolCall(id="c", function=FunctionCall(name="f", arguments="{}"))
    assert ChatMessage("user", "hi").as_dict() == {"role": "user", "content": "hi"}
    assert ChatMessage("assistant", None, name="bob", tool_calls=(call,)).as_dict() == {
        "role": "assistant",
        "content": None,
        "name": "bob",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    assert ChatMessage("tool", "x", tool_call_id="c").as_dict() == {"role": "tool", "content": "x", "tool_call_id": "c"}

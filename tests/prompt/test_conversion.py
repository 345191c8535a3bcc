"""The conversion to a chat prompt: rules A, B and C, one by one."""

from __future__ import annotations

import json

import pytest

from pytest_chatprompt import ChatMessage, EvalFileError, FunctionCall, ToolCall, convert_to_chat_prompt
from pytest_chatprompt.prompt.attachments import FileReader, read_attachments
from tests.conftest import Project

GUIDES = 'guideline_patterns: ["**/*.guide.md"]'


def prompt_of(project: Project, body: str, head: str = "", default: str | None = None) -> list[tuple[str, object]]:
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


def test_a5_blank_parts_add_nothing_and_messages_without_parts_are_dropped(project: Project) -> None:
    body = r"""
input_messages:
  - {role: user, content: ""}
  - {role: assistant, content: " \n\t"}
  - {role: user, content: []}
  - {role: user, content: [{type: text, value: " "}, {type: text, value: hi}, {type: text, value: ""}]}
"""
    assert prompt_of(project, body) == [("user", "hi")]


@pytest.mark.parametrize("blank", ["\ufeff", " \ufeff\n", "\x1c\x85\u2028\u3000"])
def test_a5_white_space_is_what_isspace_says_and_the_byte_order_mark(project: Project, blank: str) -> None:
    body = f"""
input_messages:
  - {{role: user, content: {json.dumps(blank)}}}
  - {{role: user, content: [{{type: text, value: {json.dumps(blank)}}}, {{type: text, value: hi}}]}}
"""
    assert prompt_of(project, body) == [("user", "hi")]


def test_a5_other_invisible_characters_are_content(project: Project) -> None:
    body = r'input_messages: [{role: user, content: "\u200b"}, {role: user, content: "\ufeffhi"}]'
    assert prompt_of(project, body) == [("user", "\u200b"), ("user", "\ufeffhi")]


def test_a5_an_empty_file_is_kept_with_its_path(project: Project) -> None:
    project.write("evals/empty", "")
    body = "input_messages: [{role: user, content: [{type: file, value: empty}]}]"
    assert prompt_of(project, body) == [("user", "=== empty ===\n")]


def test_a5_tool_calls_and_their_results_always_stay(project: Project) -> None:
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


def test_a_case_with_nothing_to_send_is_an_error(project: Project) -> None:
    with pytest.raises(EvalFileError) as caught:
        project.request("input_messages: [{role: user, content: ' '}, {role: system, content: ''}]")
    assert str(caught.value) == (
        "evals/a.eval.yaml:4:21: case 'a': nothing to send: no message contains more than white space"
    )


def test_a6_roles_and_names_are_kept(project: Project) -> None:
    body = "input_messages: [{role: user, name: bob, content: hi}, {role: assistant, content: ho}]"
    assert project.request(body).chat_prompt == (ChatMessage("user", "hi", name="bob"), ChatMessage("assistant", "ho"))


def test_a7_a_mapping_is_sent_as_its_json(project: Project) -> None:
    body = """
input_messages:
  - role: user
    content: {row: {id: aml-1, amount: 5000.0, since: 2025-01-01, note: 'café "A"'}, tags: []}
"""
    text = (
        '{\n  "row": {\n    "id": "aml-1",\n    "amount": 5000,\n    "since": "2025-01-01",\n'
        '    "note": "caf\u00e9 \\"A\\""\n  },\n  "tags": []\n}'
    )
    assert prompt_of(project, body) == [("user", text)]


def test_b2_guidelines_of_all_messages_are_collected_once_and_keep_every_reference(project: Project) -> None:
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


def test_b4_without_a_guideline_that_says_something_there_is_no_block(project: Project) -> None:
    guides(project, a=" \ufeff\n", b="")
    body = """
input_messages:
  - role: user
    content: [{type: text, value: hi}, {type: file, value: a.guide.md}, {type: file, value: b.guide.md}]
"""
    assert prompt_of(project, body, GUIDES) == [("user", "hi\n<Attached: a.guide.md>\n<Attached: b.guide.md>")]
    assert project.request(body, GUIDES).adjustments == (
        "message 1: guideline a.guide.md not added to the system message, nothing but white space in it "
        "(matched **/*.guide.md)",
        "message 1: guideline b.guide.md not added to the system message, nothing but white space in it "
        "(matched **/*.guide.md)",
    )


def test_b5_a_message_of_only_guidelines_is_dropped_if_another_message_stays(project: Project) -> None:
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


def test_b5_a_message_with_tool_calls_counts_as_one_that_stays(project: Project) -> None:
    guides(project, a="A")
    body = """
input_messages:
  - {role: user, content: [{type: file, value: a.guide.md}]}
  - {role: assistant, content: null, tool_calls: [{id: c, function: {name: f, arguments: "{}"}}]}
"""
    assert [role for role, _ in prompt_of(project, body, GUIDES)] == ["system", "assistant"]


def test_b5_messages_of_only_guidelines_stay_as_references_if_no_other_message_stays(project: Project) -> None:
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


def test_c1_a_dropped_system_message_does_not_replace_the_system_prompt(project: Project) -> None:
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
        pytest.param(None, "", None, BLOCK, id="the project's default is none at all"),
        pytest.param("Mine.", "The ini's.", "Mine.", f"Mine.\n\n{BLOCK}", id="the author's prompt"),
        pytest.param("", "The ini's.", None, BLOCK, id="the author's prompt is none at all"),
    ],
)
def test_c2_to_c5_which_system_prompt_is_sent(
    project: Project, prompt: str | None, default: str | None, without_guideline: str | None, with_guideline: str
) -> None:
    guides(project, a="A")
    head = GUIDES if prompt is None else f"{GUIDES}\nmetadata: {{systemPrompt: '{prompt}'}}"
    plain = prompt_of(project, HI, head, default)
    assert plain == ([] if without_guideline is None else [("system", without_guideline)]) + [("user", "hi")]
    assert prompt_of(project, HI_WITH_GUIDE, head, default)[0] == ("system", with_guideline)


def test_c5_without_a_system_prompt_the_block_is_the_whole_system_message(project: Project) -> None:
    guides(project, a="A")
    case = project.case(HI_WITH_GUIDE, GUIDES)
    attachments = read_attachments(case, FileReader(project.root))
    assert convert_to_chat_prompt(case.input_messages, attachments)[0] == ChatMessage("system", BLOCK)


def test_c3_the_guideline_block_follows_the_system_message(project: Project) -> None:
    guides(project, a="A")
    body = HI_WITH_GUIDE.replace("[{role: user", "[{role: system, content: Mine.}, {role: user")
    assert prompt_of(project, body, GUIDES)[0] == ("system", f"Mine.\n\n{BLOCK}")


def test_c4_a_system_message_is_added_only_if_there_is_something_to_say(project: Project) -> None:
    assert prompt_of(project, HI) == [("user", "hi")]
    assert prompt_of(project, HI, "metadata: {systemPrompt: Mine.}") == [("system", "Mine."), ("user", "hi")]


def test_c2_the_authors_system_prompt_is_sent_without_any_guideline(project: Project) -> None:
    case = project.case(HI)
    assert convert_to_chat_prompt(case.input_messages, system_prompt="Mine.", default_system_prompt="Ours.") == (
        ChatMessage("system", "Mine."),
        ChatMessage("user", "hi"),
    )


def test_each_message_has_the_number_of_the_message_that_it_comes_from(project: Project) -> None:
    body = "input_messages: [{role: user, content: ''}, {role: user, content: hi}, {role: system, content: x}]"
    assert [message.number for message in project.request(body).chat_prompt or ()] == [3, 2]
    merged = "input_messages: [{role: system, content: x}, {role: user, content: hi}, {role: system, content: y}]"
    assert [message.number for message in project.request(merged).chat_prompt or ()] == [None, 2]
    prompted = "metadata: {systemPrompt: Mine.}\ninput_messages: [{role: user, content: hi}]"
    assert [message.number for message in project.request(prompted).chat_prompt or ()] == [None, 1]


def test_no_messages_give_an_empty_chat_prompt() -> None:
    assert convert_to_chat_prompt(()) == ()


def test_adjustments_are_listed_in_the_order_of_the_messages(project: Project) -> None:
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


def test_adjustments_list_what_is_left_out_of_a_message_that_stays(project: Project) -> None:
    calls = '[{id: c1, function: {name: f, arguments: "{}"}}]'
    body = f"""
input_messages:
  - {{role: user, content: [{{type: text, value: ""}}, {{type: text, value: hi}}, {{type: text, value: "\\n"}}]}}
  - {{role: assistant, content: " ", tool_calls: {calls}}}
  - {{role: tool, content: "", tool_call_id: c1}}
  - {{role: assistant, content: [{{type: text, value: " "}}], tool_calls: {calls}}}
"""
    adjustments = (
        "message 1: part 1 dropped, nothing left in it",
        "message 1: part 3 dropped, nothing left in it",
        "message 2: content dropped, nothing but white space in it",
        "message 4: part 1 dropped, nothing left in it",
    )
    request = project.request(body)
    assert request.adjustments == adjustments
    assert request.question_adjustments == adjustments


@pytest.mark.parametrize(
    ("messages", "replacement"),
    [
        pytest.param("{role: system, content: x}", "message 1 stands", id="one system message"),
        pytest.param(
            "{role: system, content: x}, {role: system, content: y}", "messages 1 and 2 stand", id="two system messages"
        ),
        pytest.param(
            "{role: system, content: x}, {role: system, content: y}, {role: user, content: u}, {role: system, content: z}",
            "messages 1, 2 and 4 stand",
            id="several system messages",
        ),
    ],
)
def test_adjustments_list_a_system_prompt_that_system_messages_replace(
    project: Project, messages: str, replacement: str
) -> None:
    body = f"metadata: {{systemPrompt: Mine.}}\ninput_messages: [{messages}, {{role: user, content: hi}}]"
    assert project.request(body).adjustments[-1] == f"metadata.systemPrompt left out, {replacement} in its place"


def test_c5_an_empty_system_prompt_beside_system_messages_is_not_reported_as_left_out(project: Project) -> None:
    body = "metadata: {systemPrompt: ''}\ninput_messages: [{role: system, content: x}, {role: user, content: hi}]"
    assert project.request(body).adjustments == ()


def test_the_name_of_a_single_system_message_is_not_reported_as_left_out(project: Project) -> None:
    body = "input_messages: [{role: system, content: x, name: boss}, {role: user, content: hi}]"
    assert project.request(body).adjustments == ()


def test_adjustments_list_the_names_that_merged_system_messages_lose(project: Project) -> None:
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


def test_unchanged_messages_have_no_adjustments(project: Project) -> None:
    body = "input_messages: [{role: system, content: x}, {role: user, content: hi}]"
    assert project.request(body).adjustments == ()

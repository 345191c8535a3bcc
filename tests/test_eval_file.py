"""Eval files: what is read, and what is told of every mistake."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_chatprompt import EvalCase, EvalFileError
from pytest_chatprompt.eval_file import BrokenCase, load_eval_file

from .conftest import Project

HELLO = "    input_messages: [{role: user, content: hello}]\n"


def broken(project: Project, text: str) -> list[str]:
    path = project.write("a.eval.yaml", text)
    with pytest.raises(EvalFileError) as caught:
        load_eval_file(path, project.root)
    return str(caught.value).splitlines()


def case_problems(project: Project, body: str) -> list[str]:
    """What is told of the one case of a file whose body begins in line 3."""
    indented = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    path = project.write("a.eval.yaml", f"evalcases:\n  - id: a\n{indented}")
    (case,) = load_eval_file(path, project.root)
    assert isinstance(case, BrokenCase)
    assert case.id == "a"
    assert case.line == 2
    return str(case.error).splitlines()


def test_a_case_has_what_its_author_wrote(project: Project) -> None:
    case = project.case(
        """
description: a description
outcome: a good answer
tags: [smoke]
provider: [azure, gemini]
metadata: {systemPrompt: Be kind., owner: me}
guideline_patterns: ["*.md"]
input_messages:
  - role: user
    name: bob
    content: [{type: text, value: hi}, {type: file, value: ./x}]
  - role: assistant
    content: null
    tool_calls: [{id: c1, type: function, function: {name: f, arguments: "{}"}}]
  - {role: tool, tool_call_id: c1, content: ""}
expected_messages: [{role: assistant, content: ok}]
x-note: anything
"""
    )
    assert case.id == "a"
    assert case.outcome == "a good answer"
    assert case.tags == ("smoke",)
    assert case.provider == ("azure", "gemini")
    assert case.system_prompt == "Be kind."
    assert case.guideline_patterns == ("*.md",)
    assert [message.role for message in case.input_messages] == ["user", "assistant", "tool"]
    assert [part.value for part in case.input_messages[0].parts] == ["hi", "./x"]
    assert case.input_messages[1].parts == ()
    assert case.input_messages[1].tool_calls[0].function.name == "f"
    assert case.expected_messages[0].content == "ok"
    assert case.path == project.root / "evals/a.eval.yaml"
    assert case.line == 3


def test_a_cases_own_win_over_the_files_and_tags_add_up(project: Project) -> None:
    head = """
provider: azure
tags: [slow, smoke]
metadata: {systemPrompt: The file's., team: a}
guideline_patterns: ["file/*.md"]
"""
    plain = project.case("input_messages: [{role: user, content: hi}]", head)
    assert (plain.provider, plain.tags, plain.guideline_patterns) == ("azure", ("slow", "smoke"), ("file/*.md",))
    assert plain.metadata == {"systemPrompt": "The file's.", "team": "a"}
    own = project.case(
        """
provider: gemini
tags: [smoke, new]
metadata: {systemPrompt: The case's.}
guideline_patterns: []
input_messages: [{role: user, content: hi}]
""",
        head,
    )
    assert (own.provider, own.tags, own.guideline_patterns) == ("gemini", ("slow", "smoke", "new"), ())
    assert own.metadata == {"systemPrompt": "The case's.", "team": "a"}


@pytest.mark.parametrize(
    ("head", "body", "provider"),
    [
        pytest.param("target: x", "", "x", id="the file's target"),
        pytest.param("target: default", "", None, id="default is the default provider"),
        pytest.param("target: x", "target: default", None, id="a case's default beats the file's target"),
        pytest.param("target: x", "execution: {target: y, evaluators: [z]}", "y", id="execution.target"),
        pytest.param("execution: {target: x}", "execution: {evaluators: [z]}", "x", id="an execution without target"),
        pytest.param("", "execution: {target: y}\ntarget: z", "y", id="execution.target before target"),
        pytest.param("", "provider: p\ntarget: z", "p", id="provider before target"),
    ],
)
def test_a_target_of_agentv_is_a_provider(project: Project, head: str, body: str, provider: str | None) -> None:
    case = project.case(f"{body}\ninput_messages: [{{role: user, content: hi}}]", head)
    assert case.provider == provider


def test_a_system_prompt_of_null_is_none_that_is_set(project: Project) -> None:
    body = "metadata: {systemPrompt: null}\ninput_messages: [{role: user, content: hi}]"
    assert project.case(body, "metadata: {systemPrompt: The file's.}").system_prompt == "The file's."


def test_settings_of_agentv_are_read_where_nothing_else_gives_patterns(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: 3")
    body = "input_messages: [{role: user, content: hi}]"
    assert project.case(body, "guideline_patterns: [x]").guideline_patterns == ("x",)
    with pytest.raises(EvalFileError):
        project.case(body)


def test_keys_of_agentv_are_kept(project: Project) -> None:
    case = project.case(
        """
dataset: d
conversation_id: c
note: n
expected_outcome: the later word
rubrics: [r]
evaluator: e
evaluators: [{name: x}]
input_messages: [{role: user, content: hi}]
""",
        "$schema: agentv-eval-v2\ndescription: d\nnote: n\nexpected_outcome: x\nrubrics: [y]",
    )
    assert (case.dataset, case.conversation_id, case.note, case.rubrics) == ("d", "c", "n", ["r"])
    assert (case.evaluator, case.evaluators) == ("e", [{"name": "x"}])
    assert case.outcome == "the later word"


def test_a_case_is_frozen(project: Project) -> None:
    case = project.case("input_messages: [{role: user, content: hi}]")
    with pytest.raises(ValueError, match="frozen"):
        case.id = "b"


def test_a_case_that_was_not_read_from_a_file_has_no_place() -> None:
    case = EvalCase.model_validate({"id": "a", "input_messages": [{"role": "user", "content": "hi"}]})
    with pytest.raises(AttributeError, match="case 'a' was not read from a file"):
        _ = case.path


def test_a_byte_order_mark_is_no_content(project: Project) -> None:
    path = project.write("a.eval.yaml", b"\xef\xbb\xbfevalcases:\n  - id: a\n" + HELLO.encode())
    assert [case.id for case in load_eval_file(path, project.root)] == ["a"]


def test_default_patterns_count_where_the_file_has_none(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: [agentv]\n")
    path = project.write("evals/a.eval.yaml", f"evalcases:\n  - id: a\n{HELLO}")
    (given,) = load_eval_file(path, project.root, ["ini"])
    (not_given,) = load_eval_file(path, project.root)
    assert isinstance(given, EvalCase)
    assert isinstance(not_given, EvalCase)
    assert (given.guideline_patterns, not_given.guideline_patterns) == (("ini",), ("agentv",))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("", ["a.eval.yaml:1:1: an eval file is a mapping with the key 'evalcases'"], id="an empty file"),
        pytest.param("- a\n", ["a.eval.yaml:1:1: an eval file is a mapping with the key 'evalcases'"], id="a list"),
        pytest.param("description: x\n", ["a.eval.yaml:1:1: missing key 'evalcases'"], id="no cases"),
        pytest.param("evalcases: []\n", ["a.eval.yaml:1:12: 'evalcases' is empty"], id="an empty list of cases"),
        pytest.param(
            "evalcases: {a: b}\n", ["a.eval.yaml:1:12: 'evalcases' must be a list, but is a mapping"], id="a mapping"
        ),
        pytest.param(
            "evalcases: hello\n", ["a.eval.yaml:1:12: 'evalcases' must be a list, but is 'hello'"], id="a string"
        ),
        pytest.param(
            f"evalcases:\n  - id: a\n{HELLO}evalcase: 1\n",
            ["a.eval.yaml:4:1: unknown key 'evalcase'; did you mean 'evalcases'?"],
            id="an unknown key",
        ),
        pytest.param(
            f"evalcases:\n  - id: a\n{HELLO}  - id: a\n{HELLO}",
            ["a.eval.yaml:4:9: the id 'a' is used twice, first in line 2"],
            id="an id used twice",
        ),
        pytest.param(
            f"evalcases:\n  - x\n  - outcome: y\n  - id: 3\n  - id: ''\n  - id: a\n{HELLO}",
            [
                "a.eval.yaml:2:5: a case is a mapping with the keys 'id' and 'input_messages'",
                "a.eval.yaml:3:5: a case without 'id'; give it one that is unique in the file",
                "a.eval.yaml:4:9: 'id' is the number 3; quote it if text is meant; an id is text that is not blank",
                "a.eval.yaml:5:9: 'id' is ''; an id is text that is not blank",
            ],
            id="cases that cannot be named, all of them",
        ),
        pytest.param(
            f"tags: smoke\nmetadata: 3\nprovider: yes\nevalcases:\n  - id: a\n{HELLO}    id: b\n",
            [
                "a.eval.yaml:1:7: 'tags' must be a list, but is 'smoke'",
                "a.eval.yaml:2:11: 'metadata' must be a mapping, but is the number 3; quote it if text is meant",
                "a.eval.yaml:3:11: 'provider' must be a string, but is the boolean true (yes); quote it if text is meant",
                "a.eval.yaml:7:5: the key 'id' is given twice, first in line 5",
            ],
            id="all problems of a file at once",
        ),
        pytest.param(
            "a: 1\n---\nb: 2\n",
            ["a.eval.yaml:2:1: a second YAML document begins here; a file holds one"],
            id="two documents",
        ),
    ],
)
def test_a_mistake_of_the_file_is_raised(project: Project, text: str, lines: list[str]) -> None:
    assert broken(project, text) == lines


def test_a_file_that_is_no_utf8_is_told_at_its_byte(project: Project) -> None:
    path = project.write("a.eval.yaml", b"a: x\nb: \xff\n")
    with pytest.raises(EvalFileError) as caught:
        load_eval_file(path, project.root)
    assert str(caught.value) == "a.eval.yaml:2:4: this file is no UTF-8 text (byte 0xFF)"


def test_a_file_outside_of_the_root_is_told_by_its_whole_path(project: Project) -> None:
    path = project.write("a.eval.yaml", "")
    with pytest.raises(EvalFileError) as caught:
        load_eval_file(path, project.root / "elsewhere")
    assert str(caught.value).startswith(f"{path.as_posix()}:1:1: ")


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        pytest.param("outcome: x", ["2:5: case 'a': missing key 'input_messages'"], id="no messages"),
        pytest.param("input_messages: []", ["3:21: case 'a': 'input_messages' is empty"], id="an empty list"),
        pytest.param(
            "input_messages: hi", ["3:21: case 'a': 'input_messages' must be a list, but is 'hi'"], id="no list"
        ),
        pytest.param(
            "input_messages: [hi]",
            ["3:22: case 'a': 'input_messages[0]' must be a mapping, but is 'hi'"],
            id="no message",
        ),
        pytest.param(
            "input_message: [{role: user, content: x}]",
            [
                "2:5: case 'a': missing key 'input_messages'",
                "3:5: case 'a': unknown key 'input_message'; did you mean 'input_messages'?",
            ],
            id="a key misspelt",
        ),
        pytest.param(
            "zzz: 1\ninput_messages: [{role: user, content: x}]",
            ["3:5: case 'a': unknown key 'zzz'"],
            id="a key like no other",
        ),
        pytest.param(
            "input_messages: [{role: usr, content: x}]",
            ["3:29: case 'a': unknown role: 'usr'; did you mean 'user'?"],
            id="a role misspelt",
        ),
        pytest.param(
            "input_messages: [{role: 1, content: x}]",
            [
                "3:29: case 'a': unknown role: the number 1; quote it if text is meant; the roles are system, user, assistant, tool"
            ],
            id="a role that is no string",
        ),
        pytest.param(
            "input_messages: [{role: user, contnet: x}]",
            ["3:35: case 'a': unknown key 'contnet'; did you mean 'content'?"],
            id="content misspelt",
        ),
        pytest.param(
            "input_messages: [{role: user}]",
            ["3:22: case 'a': missing 'content'; only a message with 'tool_calls' or 'tool_call_id' may go without"],
            id="no content",
        ),
        pytest.param(
            "input_messages: [{role: user, content: 3.12}]",
            [
                "3:44: case 'a': 'input_messages[0].content' must be a string, but is the number 3.12; quote it if text is meant"
            ],
            id="a number for content",
        ),
        pytest.param(
            "input_messages: [{role: user, content: no}]",
            [
                "3:44: case 'a': 'input_messages[0].content' must be a string, but is the boolean false (no); quote it if text is meant"
            ],
            id="a boolean for content",
        ),
        pytest.param(
            "input_messages: [{role: user, content: 2024-01-02}]",
            [
                "3:44: case 'a': 'input_messages[0].content' must be a string, but is the date 2024-01-02; quote it if text is meant"
            ],
            id="a date for content",
        ),
        pytest.param(
            "input_messages: [{role: user, content: {a: b}}]",
            ["3:44: case 'a': 'input_messages[0].content' must be a string, but is a mapping"],
            id="a mapping for content",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: text, value: ~}]}]",
            [
                "3:65: case 'a': 'input_messages[0].content[0].value' must be a string, but is null (~); quote it if text is meant"
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
            id="nothing for text",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: fiel, value: x}]}]",
            ["3:45: case 'a': a part is {type: text, value: ...} or {type: file, value: PATH}"],
            id="a type of part misspelt",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{value: x}]}]",
            ["3:45: case 'a': a part is {type: text, value: ...} or {type: file, value: PATH}"],
            id="a part without type",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: file, valeu: x}]}]",
            ["3:45: case 'a': missing key 'value'", "3:58: case 'a': unknown key 'valeu'; did you mean 'value'?"],
            id="a key of a part misspelt",
        ),
        pytest.param(
            "input_messages: [{role: user, content: [{type: file, value: ''}]}]",
            ["3:65: case 'a': 'input_messages[0].content[0].value' is empty"],
            id="an empty path",
        ),
        pytest.param(
            "input_messages: [{role: user, content: x, tool_calls: [{id: c, function: {name: f, arguments: '{}'}}]}]",
            ["3:22: case 'a': 'tool_calls' belong to an assistant message, not to role 'user'"],
            id="tool calls of a user",
        ),
        pytest.param(
            "input_messages: [{role: user, content: x, tool_call_id: c}]",
            ["3:22: case 'a': 'tool_call_id' belongs to a tool message, not to role 'user'"],
            id="a tool result of a user",
        ),
        pytest.param(
            "input_messages: [{role: assistant, tool_calls: [{id: c, function: {name: f, arguments: {a: 1}, nam: x}}]}]",
            [
                "3:92: case 'a': 'input_messages[0].tool_calls[0].function.arguments' must be a string, but is a mapping",
                "3:100: case 'a': unknown key 'nam'; did you mean 'name'?",
            ],
            id="arguments as a mapping",
        ),
        pytest.param(
            "input_messages: [{role: assistant, tool_calls: [{id: c, type: x, function: {name: f, arguments: '{}'}}]}]",
            ["3:67: case 'a': 'input_messages[0].tool_calls[0].type': Input should be 'function'"],
            id="a call that is no function",
        ),
        pytest.param(
            "metadata: {systemPrompt: 3}\ninput_messages: [{role: user, content: x}]",
            ["3:30: case 'a': 'metadata.systemPrompt' is no string; quote it"],
            id="a system prompt that is no string",
        ),
        pytest.param(
            "metadata: {a: b, system_prompt: Be kind.}\ninput_messages: [{role: user, content: x}]",
            ["3:37: case 'a': 'metadata.system_prompt' is not read; write 'systemPrompt'"],
            id="a system prompt misspelt",
        ),
        pytest.param(
            "provider: []\ninput_messages: [{role: user, content: x}]",
            ["3:15: case 'a': 'provider' is empty"],
            id="no provider in a list",
        ),
        pytest.param(
            "provider: [azure, azure]\ninput_messages: [{role: user, content: x}]",
            ["3:15: case 'a': 'provider' names 'azure' twice"],
            id="a provider named twice",
        ),
        pytest.param(
            "tags: ['a b', _x]\ninput_messages: [{role: user, content: x}]",
            [
                "3:12: case 'a': the tag 'a b' cannot be selected with -m; use letters, digits and any of _ - . / +, no underscore first",
                "3:19: case 'a': the tag '_x' cannot be selected with -m; use letters, digits and any of _ - . / +, no underscore first",
            ],
            id="tags that no expression can name",
        ),
        pytest.param(
            "expected_messages: [{role: robot, content: x}]\ninput_messages: [{role: user, content: x}]",
            ["3:32: case 'a': unknown role: 'robot'; the roles are system, user, assistant, tool"],
            id="a role in expected_messages",
        ),
    ],
)
def test_a_mistake_in_a_case_is_that_cases(project: Project, body: str, lines: list[str]) -> None:
    assert case_problems(project, body) == [f"a.eval.yaml:{line}" for line in lines]


@pytest.mark.parametrize("tags", ["1", "x", "{a: b}", "[_x, 'a b', 3]"])
def test_tags_that_cannot_be_read_leave_the_files(project: Project, tags: str) -> None:
    path = project.write("a.eval.yaml", f"tags: [all]\nevalcases:\n  - id: a\n    tags: {tags}\n")
    (case,) = load_eval_file(path, project.root)
    assert case.tags == ("all",)


def test_neighbours_of_a_broken_case_are_read(project: Project) -> None:
    path = project.write("a.eval.yaml", f"tags: [all]\nevalcases:\n  - id: a\n    tags: [own, 3]\n  - id: b\n{HELLO}")
    first, second = load_eval_file(path, project.root)
    assert isinstance(first, BrokenCase)
    assert first.tags == ("all", "own")
    assert isinstance(second, EvalCase)


def test_metadata_cannot_be_changed_but_written_and_copied(project: Project) -> None:
    (case,) = load_eval_file(
        project.write("a.eval.yaml", f"metadata: {{a: {{b: [1]}}}}\nevalcases:\n  - id: a\n{HELLO}"), project.root
    )
    assert isinstance(case, EvalCase)
    change: Any
    for change in (
        lambda data: data.update(c=1),
        lambda data: data.pop("a"),
        lambda data: data.__setitem__("c", 1),
        lambda data: data.__ior__({"c": 1}),
        lambda data: data["a"].clear(),
        lambda data: data["a"].setdefault("c", 1),
        lambda data: data["a"]["b"].append(1),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change(case.metadata)
    assert case.metadata == {"a": {"b": (1,)}}
    assert json.dumps(case.metadata) == '{"a": {"b": [1]}}'
    for copied in (case.model_copy(deep=True), copy.deepcopy(case), pickle.loads(pickle.dumps(case))):
        assert copied == case
        assert type(copied.metadata) is type(case.metadata)
        assert copied.line == case.line
    assert json.loads(case.model_dump_json())["metadata"] == {"a": {"b": [1]}}


def test_what_a_case_has_of_its_file_is_set_and_frozen_as_its_own_is(project: Project) -> None:
    path = project.write(
        "a.eval.yaml",
        "provider: openai\ntags: [b]\nevalcases: [{id: a, expected_outcome: x, input_messages: "
        "[{role: user, content: hi}]}]\n",
    )
    (case,) = load_eval_file(path, project.root)
    (again,) = load_eval_file(path, project.root)
    assert isinstance(case, EvalCase)
    assert case.model_dump(exclude_unset=True) == {
        "provider": "openai",
        "metadata": {},
        "guideline_patterns": (),
        "tags": ("b",),
        "expected_outcome": "x",
        "id": "a",
        "outcome": "x",
        "input_messages": ({"role": "user", "content": "hi"},),
    }
    assert EvalCase(**dict(case)).tags == case.tags
    assert case.model_copy(update={"tags": ("x",)}).line == case.line == 3
    assert case == case.model_copy()
    assert case == again
    for name in ("origin", "provider"):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(case, name, None)

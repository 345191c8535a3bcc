"""Eval files: which cases they give, and how a problem of the file itself is reported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt import EvalCase, EvalFileError
from pytest_chatprompt.cases.loader import load_eval_file
from tests.conftest import Project

HELLO = "    input_messages: [{role: user, content: hello}]\n"


def file_problems(project: Project, text: str) -> list[str]:
    path = project.write("a.eval.yaml", text)
    with pytest.raises(EvalFileError) as caught:
        load_eval_file(path, project.root)
    return str(caught.value).splitlines()


def test_a_case_has_the_values_that_its_author_wrote(project: Project) -> None:
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
    assert [part.model_dump()["value"] for part in case.input_messages[0].parts] == ["hi", "./x"]
    assert case.input_messages[1].parts == ()
    assert case.input_messages[1].tool_calls[0].function.name == "f"
    assert case.expected_messages[0].content == "ok"
    assert case.path == project.root / "evals/a.eval.yaml"
    assert case.line == 3


def test_keys_of_agentv_are_accepted_and_kept(project: Project) -> None:
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


def test_a_byte_order_mark_is_ignored(project: Project) -> None:
    path = project.write("a.eval.yaml", b"\xef\xbb\xbfevalcases:\n  - id: a\n" + HELLO.encode())
    assert [case.id for case in load_eval_file(path, project.root)] == ["a"]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(
            "", ["a.eval.yaml:1:1: an eval file must be a mapping with the key 'evalcases'"], id="an empty file"
        ),
        pytest.param(
            "- a\n", ["a.eval.yaml:1:1: an eval file must be a mapping with the key 'evalcases'"], id="a list"
        ),
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
            ["a.eval.yaml:4:9: the id 'a' is used twice, first on line 2"],
            id="an id used twice",
            marks=pytest.mark.beyond_schema("no keyword compares the items of a list by one of their keys"),
        ),
        pytest.param(
            f"evalcases:\n  - x\n  - outcome: y\n  - id: 3\n  - id: ''\n  - id: a\n{HELLO}",
            [
                "a.eval.yaml:2:5: a case must be a mapping with the keys 'id' and 'input_messages'",
                "a.eval.yaml:3:5: missing key 'id'; give the case an id that is unique in this file",
                "a.eval.yaml:4:9: 'id' must be a string that is not blank, but is the number 3; put it in quotes if you mean text",
                "a.eval.yaml:5:9: 'id' must be a string that is not blank, but is ''",
            ],
            id="all cases without a usable id",
        ),
        pytest.param(
            f"tags: smoke\nmetadata: 3\nprovider: yes\nevalcases:\n  - id: a\n{HELLO}",
            [
                "a.eval.yaml:1:7: 'tags' must be a list, but is 'smoke'",
                "a.eval.yaml:2:11: 'metadata' must be a mapping, but is the number 3",
                "a.eval.yaml:3:11: 'provider' must be a string, but is the boolean true (yes); put it in quotes if you mean text",
            ],
            id="all problems of a file at once",
        ),
        pytest.param(
            f"tags: smoke\ntags: [a]\nevalcases:\n  - id: a\n{HELLO}    id: b\n",
            [
                "a.eval.yaml:2:1: the key 'tags' appears twice, first on line 1",
                "a.eval.yaml:6:5: the key 'id' appears twice, first on line 4",
            ],
            id="problems of YAML, before those of what it says",
        ),
        pytest.param(
            "a: 1\n---\nb: 2\n",
            ["a.eval.yaml:2:1: a second YAML document begins here; only one is allowed in a file"],
            id="two documents",
        ),
        pytest.param(
            f"vars: {{3: x}}\nevalcases:\n  - id: a\n{HELLO}",
            ["a.eval.yaml:1:11: '3' cannot name a variable; use letters, digits and _, and do not begin with a digit"],
            id="a number as the name of a variable",
        ),
    ],
)
def test_problems_of_the_file_raise_an_error_that_lists_all_of_them(
    project: Project, text: str, lines: list[str], schema_agrees: Callable[[Path], None]
) -> None:
    assert file_problems(project, text) == lines
    schema_agrees(project.root / "a.eval.yaml")


def test_a_file_that_is_not_valid_utf8_is_reported_at_the_byte(project: Project) -> None:
    path = project.write("a.eval.yaml", b"a: x\nb: \xff\n")
    with pytest.raises(EvalFileError) as caught:
        load_eval_file(path, project.root)
    assert str(caught.value) == "a.eval.yaml:2:4: this file is not valid UTF-8 (byte 0xFF)"


def test_a_file_outside_the_root_is_reported_with_its_full_path(project: Project) -> None:
    path = project.write("a.eval.yaml", "")
    with pytest.raises(EvalFileError) as caught:
        load_eval_file(path, project.root / "elsewhere")
    assert str(caught.value).startswith(f"{path.as_posix()}:1:1: ")


@pytest.mark.parametrize("tags", ["1", "x", "{a: b}", "[_x, 'a b', 3]"])
def test_an_invalid_case_with_invalid_tags_keeps_the_tags_of_the_file(project: Project, tags: str) -> None:
    path = project.write("a.eval.yaml", f"tags: [all]\nevalcases:\n  - id: a\n    tags: {tags}\n")
    (case,) = load_eval_file(path, project.root)
    assert case.tags == ("all",)


def test_a_valid_case_loads_next_to_an_invalid_one(project: Project) -> None:
    path = project.write("a.eval.yaml", f"tags: [all]\nevalcases:\n  - id: a\n    tags: [own, 3]\n  - id: b\n{HELLO}")
    first, second = load_eval_file(path, project.root)
    assert isinstance(first.written, EvalFileError)
    assert first.tags == ("all", "own")
    assert isinstance(second.written, EvalCase)


def test_an_invalid_row_keeps_the_id_the_tags_and_the_line_of_its_case(project: Project) -> None:
    text = """tags: [of-file]
evalcases:
  - id: a
    tags: [own]
    parametrize: [{id: good}, {id: bad, x: .inf}]
    input_messages: [{role: user, content: hi}]
  - id: b
    parametrize: gone.csv
    input_messages: [{role: user, content: hi}]
"""
    _, bad, gone = load_eval_file(project.write("a.eval.yaml", text), project.root)
    assert isinstance(bad.written, EvalFileError)
    assert (bad.id, bad.row_id, bad.tags, bad.line) == ("a", "bad", ("of-file", "own"), 3)
    assert str(bad.written) == (
        "a.eval.yaml:5:31: case 'a[bad]': the value of 'x': JSON has neither infinity nor NaN; put it in quotes if you mean text"
    )
    assert isinstance(gone.written, EvalFileError)
    assert (gone.id, gone.row_id, gone.tags, gone.line) == ("b", None, ("of-file",), 7)
    assert str(gone.written) == "a.eval.yaml:8:18: case 'b': file gone.csv not found; tried gone.csv"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("null", ()),
        ("ok", ("ok",)),
        ("{answer: 42}", ({"answer": 42},)),
        ("[ok, {answer: 42}]", ("ok", {"answer": 42})),
    ],
)
def test_a7_a_reference_answer_may_be_any_data(project: Project, written: str, expected: tuple[Any, ...]) -> None:
    case = project.case(f"expected_messages: {written}\ninput_messages: [{{role: user, content: hi}}]")
    assert case.expected_messages == expected

"""What nobody reads may be any YAML; what somebody reads may not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_chatprompt import EvalCase, EvalFileError, TextPart
from pytest_chatprompt.cases.loader import load_eval_file
from tests.conftest import Project

HELLO = "    input_messages: [{role: user, content: hello}]\n"
ODD = "{1: a, yes: b, ~: c, 2024-01-02: d, e: =, f: 2024-13-45, g: [{1: =}]}"


@pytest.mark.parametrize(
    "key", ["x-mine", "note", "dataset", "conversation_id", "rubrics", "evaluator", "evaluators", "execution"]
)
@pytest.mark.parametrize("place", ["file", "case"])
def test_data_that_nobody_reads_may_have_keys_and_values_of_any_kind(project: Project, key: str, place: str) -> None:
    in_file, in_case = (f"{key}: {ODD}\n", "") if place == "file" else ("", f"    {key}: {ODD}\n")
    path = project.write("a.eval.yaml", f"$schema: {ODD}\n{in_file}evalcases:\n  - id: a\n{in_case}{HELLO}")
    (case,) = load_eval_file(path, project.root)
    assert isinstance(case.written, EvalCase)


def test_keys_that_begin_with_x_may_have_any_value_within_a_message_and_a_part(project: Project) -> None:
    case = project.case(
        f"input_messages: [{{role: user, x-a: {ODD}, content: [{{type: text, value: hi, x-b: {ODD}}}]}}]"
    )
    assert case.input_messages[0].parts == (TextPart(value="hi"),)


def test_keys_and_dates_are_texts(project: Project) -> None:
    case = project.case(
        "metadata: {scores: {1: low, 2: =}, day: 2024-13-45}\ninput_messages: [{role: user, content: hi}]"
    )
    assert case.metadata == {"scores": {"1": "low", "2": "="}, "day": "2024-13-45"}


def test_the_target_of_an_execution_is_read(project: Project) -> None:
    body = "execution: {1: a, target: x}\ninput_messages: [{role: user, content: hi}]"
    assert project.case(body).provider == "x"


def problems(project: Project, text: str) -> list[str]:
    with pytest.raises(EvalFileError) as caught:
        load_eval_file(project.write("a.eval.yaml", text), project.root)
    return str(caught.value).splitlines()


@pytest.mark.parametrize(
    ("head", "line"),
    [
        pytest.param("1: x", "1:1: unknown key '1'", id="a key of the file"),
        pytest.param(
            "x-a: !t b", "1:6: the YAML tag !t is not allowed here; put it in quotes if you mean text", id="a tag"
        ),
        pytest.param("x-a: {b: 1, b: 2}", "1:13: the key 'b' appears twice, first on line 1", id="a repeated key"),
    ],
)
def test_what_is_read_or_no_valid_yaml_is_reported(
    project: Project, head: str, line: str, schema_agrees: Callable[[Path], None]
) -> None:
    assert problems(project, f"{head}\nevalcases:\n  - id: a\n{HELLO}") == [f"a.eval.yaml:{line}"]
    schema_agrees(project.root / "a.eval.yaml")


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "Yes", "NO", "true", "1", "1.5"])
def test_a_word_that_yaml_does_not_read_as_text_is_an_error_that_says_to_quote_it(project: Project, word: str) -> None:
    with pytest.raises(EvalFileError, match="put it in quotes if you mean text"):
        project.case(f"input_messages: [{{role: user, content: {word}}}]")
    assert project.case(f"input_messages: [{{role: user, content: '{word}'}}]").input_messages[0].content == word

"""The judge's prompt: what a judge is asked, and that no text of an answer gets out of its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt import CheckError, EvalCheck
from pytest_chatprompt.grading.judge_prompt import (
    PROMPT_VERSION,
    VERDICT_FORMAT,
    JudgePrompt,
    PromptFile,
    default_prompt,
    quoted,
)
from pytest_chatprompt.grading.llm_rubric import judge_questions
from pytest_chatprompt.grading.parsing import parse_checks
from pytest_chatprompt.prompt.file_reader import FileReader
from pytest_chatprompt.prompt.request import ProviderRequest
from tests.grading.conftest import case_with


def prompt(*messages: tuple[str, str]) -> JudgePrompt:
    """A prompt of messages, each its role and its template."""
    data = [{"role": role, "content": content} for role, content in messages]
    return PromptFile.model_validate({"template": data}).template


def asked(answer: str, own: JudgePrompt | None = None, variables: Mapping[str, Any] | None = None) -> ProviderRequest:
    """The request about an answer to a case with one rubric."""
    case = case_with(EvalCheck("llm_rubric", {"value": "Is {{ polite }}."})).model_copy(
        update={"vars": variables or {}}
    )
    checks = [check.check for check in parse_checks(case, FileReader(Path("/nowhere")))]
    (question,) = judge_questions(checks, case, "hi\nthere", own)
    return question.request(answer)


def test_the_prompt_has_the_criterion_in_the_system_message_and_the_rest_in_that_of_the_user() -> None:
    request = asked("Good\n\nday.")
    assert request.chat_prompt is not None
    system, user = request.chat_prompt
    assert (system.role, user.role) == ("system", "user")
    assert system.text.splitlines()[2] == "Is {{ polite }}."
    assert user.text == "The conversation:\n| hi\n| there\n\nThe answer:\n| Good\n|\n| day."
    assert request.question == f"{system.text}\n\n{user.text}"
    assert request.metadata == {"systemPrompt": ""}
    assert request.response_format == VERDICT_FORMAT


def test_the_version_of_the_prompt_stands_in_its_file() -> None:
    file = Path(__file__).parents[2] / "pytest_chatprompt/grading/judge_prompt.yaml"
    assert f", version {PROMPT_VERSION}." in file.read_text(encoding="utf-8").partition("\n")[0]
    assert [message.role for message in default_prompt()] == ["system", "user"]


@given(st.text())
def test_each_line_of_any_answer_begins_with_a_bar(answer: str) -> None:
    lines = quoted(answer).splitlines()
    assert all(line == "|" or line.startswith("| ") for line in lines)
    assert [line.removeprefix("|").removeprefix(" ") for line in lines] == (answer.splitlines() or [""])


@given(st.text())
def test_no_answer_changes_anything_but_its_own_lines(answer: str) -> None:
    before, after = asked("x").chat_prompt, asked(answer).chat_prompt
    assert before is not None
    assert after is not None
    assert after[0] == before[0]
    assert after[1].text == before[1].text.removesuffix("| x") + quoted(answer)


def test_a_prompt_of_ones_own_sees_the_variables_of_the_case_but_they_hide_nothing() -> None:
    own = prompt(("user", "{{ place }}: {{ rubric }}\n{{ question }}"), ("assistant", "?"), ("user", "{{ answer }}"))
    request = asked("a", own, {"place": "Rome", "answer": "b", "rubric": "c"})
    assert request.chat_prompt is not None
    assert [(message.role, message.text) for message in request.chat_prompt] == [
        ("user", "Rome: Is {{ polite }}.\n| hi\n| there"),
        ("assistant", "?"),
        ("user", "| a"),
    ]


def test_a_template_that_fails_only_with_an_answer_is_an_error() -> None:
    own = prompt(("user", "{{ answer }}{% if 'x' in answer %}{{ nothing }}{% endif %}"))
    asked("a", own)
    with pytest.raises(CheckError, match=r"^message 1 of the judge's template: line 1, column 38: "):
        asked("x", own)

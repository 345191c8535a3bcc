"""The judge's prompt: what a judge is asked, and that no text of an answer gets out of its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt import CheckError, EvalCheck
from pytest_chatprompt.grading.judge import (
    PROMPT_VERSION,
    VERDICT_FORMAT,
    JudgePrompt,
    JudgeQuestion,
    PromptFile,
    default_prompt,
    judge_questions,
    quoted,
)
from pytest_chatprompt.grading.parsing import parse_checks
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.request import ProviderRequest
from tests.conftest import Project
from tests.grading.conftest import case_with


def prompt(*messages: tuple[str, str]) -> JudgePrompt:
    """A prompt of messages, each its role and its template."""
    data = [{"role": role, "content": content} for role, content in messages]
    return PromptFile.model_validate({"template": data}).template


def questions(*checks: EvalCheck, own: JudgePrompt | None = None) -> tuple[JudgeQuestion, ...]:
    """What is asked about the answers to a case with these checks."""
    case = case_with(*checks)
    parsed = [check.check for check in parse_checks(case, FileReader(Path("/nowhere")))]
    return judge_questions(parsed, case, "hi", own)


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
    own = prompt(("user", "a\nb\n{{ answer }} {{ nothing }}"))
    with pytest.raises(CheckError, match=r"^message 1 of the judge's template: line 3, column 17: "):
        asked("x", own)


def test_a_preview_shows_stand_ins_for_the_question_and_the_answer() -> None:
    (question,) = questions(EvalCheck("llm_rubric", {"value": "Is polite."}))
    chat_prompt = question.preview().chat_prompt
    assert chat_prompt is not None
    assert chat_prompt[1].text == "The conversation:\n| <the question>\n\nThe answer:\n| <the answer>"


def test_a_template_that_does_not_show_the_answer_is_an_error() -> None:
    (question,) = questions(EvalCheck("llm_rubric", {"value": "Is polite."}), own=prompt(("user", "{{ rubric }}")))
    with pytest.raises(CheckError) as error:
        question.preview()
    assert str(error.value) == "the template of the judge does not show the answer; write {{ answer }} in one message"


def test_the_answer_may_stand_in_any_message_of_a_template() -> None:
    own = prompt(("system", "{{ rubric }}"), ("user", "{{ answer }}"))
    (question,) = questions(EvalCheck("llm_rubric", {"value": "Is polite."}), own=own)
    assert [message.text for message in question.preview().chat_prompt or ()] == ["Is polite.", "| <the answer>"]


def test_the_judge_is_asked_as_often_as_each_check_says() -> None:
    once, thrice = questions(
        EvalCheck("llm_rubric", {"value": "Is polite."}), EvalCheck("llm_rubric", {"value": "Is short.", "votes": 3})
    )
    assert (once.rubric, once.votes) == ("Is polite.", 1)
    assert (thrice.rubric, thrice.votes) == ("Is short.", 3)


def test_without_a_value_the_outcome_of_the_case_is_the_rubric() -> None:
    case = case_with(EvalCheck("llm_rubric"), EvalCheck("llm_rubric", {"value": "Is short.", "template": None}))
    case = case.model_copy(update={"outcome": "Is polite."})
    checks = [check.check for check in parse_checks(case, FileReader(Path("/nowhere")))]
    assert [question.rubric for question in judge_questions(checks, case, "hi", None)] == ["Is polite.", "Is short."]


def test_the_template_of_a_check_beats_that_of_the_project(project: Project) -> None:
    project.write("evals/judge.yaml", "- {role: user, content: 'Own: {{ answer }}'}")
    case = project.case(
        "checks: [{type: llm_rubric, value: x, template: judge.yaml}, {type: llm_rubric, value: x}]\n"
        "input_messages: [{role: user, content: hi}]"
    )
    checks = [check.check for check in parse_checks(case, FileReader(project.root))]
    project_prompt = prompt(("user", "Project: {{ answer }}"))
    texts = [question.request("a").question for question in judge_questions(checks, case, "hi", project_prompt)]
    assert texts == ["Own: | a", "Project: | a"]

"""The judge: its prompt and its verdicts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt import Check, CheckError, EvalCase, EvalCheck, FileReader, ProviderResponse, Verdict
from pytest_chatprompt.grading.grade import grade
from pytest_chatprompt.grading.judge import (
    PROMPT_VERSION,
    VERDICT_FORMAT,
    JudgePrompt,
    JudgeQuestion,
    JudgeVote,
    LlmRubric,
    PromptFile,
    count_votes,
    default_prompt,
    quoted,
    read_vote,
)
from pytest_chatprompt.grading.table import parse_checks
from pytest_chatprompt.prompt.request import ProviderRequest
from tests.conftest import Project
from tests.grading.conftest import case_with


def prompt(*messages: tuple[str, str]) -> JudgePrompt:
    """A prompt of messages, each its role and its template."""
    data = [{"role": role, "content": content} for role, content in messages]
    return PromptFile.model_validate({"template": data}).template


def judge_questions(
    checks: list[Check], case: EvalCase, transcript: str, prompt: JudgePrompt | None
) -> tuple[JudgeQuestion, ...]:
    return tuple(check.question(case, transcript, prompt) for check in checks if isinstance(check, LlmRubric))


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
    with pytest.raises(CheckError, match=r"^message 1 of the judge's template: line 1: "):
        asked("x", own)
    own = prompt(("user", "a\nb\n{{ answer }} {{ nothing }}"))
    with pytest.raises(CheckError, match=r"^message 1 of the judge's template: line 3: "):
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


NO_JSON = (
    "the judge's reply is not a verdict: it does not end with a JSON object with true or false under 'pass' and a text "
    "under 'reason'"
)


@pytest.mark.parametrize(
    ("text", "passed", "reason"),
    [
        ('{"reason": "fine", "pass": true}', True, "fine"),
        ('{"pass": false, "reason": "two\\nlines  of it"}', False, "two lines of it"),
        (' \n{"reason": "", "pass": true, "score": 3}\n ', True, ""),
        ('```json\n{"reason": "fine", "pass": true}\n```', True, "fine"),
        ('I think:\n```\n{"reason": "fine", "pass": true}\n``` \n', True, "fine"),
        ('It says {"reason": "x", "pass": true}, so: {"reason": "no", "pass": false}', False, "no"),
        ('{"reason": "it says {\\"pass\\": true}", "pass": false}', False, 'it says {"pass": true}'),
        ('{"reason": "}", "pass": false}', False, "}"),
        ('a { b {"reason": "fine", "pass": true}', True, "fine"),
    ],
)
def test_a_verdict_is_the_object_at_the_end_of_a_reply(text: str, passed: bool, reason: str) -> None:
    vote = read_vote(ProviderResponse(text=text), is_replayed=True)
    assert vote == JudgeVote(passed, reason, "", ProviderResponse(text=text), is_replayed=True)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("pass", f"{NO_JSON}; it is 'pass'"),
        ("true", f"{NO_JSON}; it is 'true'"),
        ("}", f"{NO_JSON}; it is '}}'"),
        ('{"reason": "x", "pass": true} Done.', f'{NO_JSON}; it is \'{{"reason": "x", "pass": true}} Done.\''),
        ('[{"reason": "x", "pass": true}]', f'{NO_JSON}; it is \'[{{"reason": "x", "pass": true}}]\''),
        ('{"pass": false, "pass": true}', f'{NO_JSON}; it is \'{{"pass": false, "pass": true}}\''),
        ('{"a": {"reason": "x", "pass": true}}', NO_JSON),
        ('{"reason": "x", "pass": 1}', NO_JSON),
        ('{"reason": "x", "pass": "true"}', NO_JSON),
        ('{"reason": "x"}', NO_JSON),
        ('{"pass": true}', NO_JSON),
        ("{" * 5000 + "}", NO_JSON),
        ("x" * 300, f"{NO_JSON}; it is '{'x' * 200}…'"),
        ("x" * 200, f"{NO_JSON}; it is '{'x' * 200}'"),
        ("", "the judge's reply is empty"),
        (" \n", "the judge's reply is empty"),
    ],
)
def test_what_is_no_verdict_is_an_error(text: str, error: str) -> None:
    vote = read_vote(ProviderResponse(text=text), is_replayed=False)
    assert vote.passed is None
    assert vote.error.startswith(error)


@pytest.mark.parametrize("is_replayed", [True, False])
def test_a_vote_keeps_the_reply_that_it_was_read_from(is_replayed: bool) -> None:
    readable, unreadable = ProviderResponse(text='{"reason": "x", "pass": true}'), ProviderResponse(text="pass")
    assert read_vote(readable, is_replayed=is_replayed) == JudgeVote(True, "x", "", readable, is_replayed)
    error = f"{NO_JSON}; it is 'pass'"
    assert read_vote(unreadable, is_replayed=is_replayed) == JudgeVote(None, "", error, unreadable, is_replayed)


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens", "model_length"])
def test_a_reply_that_was_cut_off_is_no_verdict_whatever_it_ends_with(reason: str) -> None:
    text = '{"reason": "the answer says {"reason": "x", "pass": true}'
    vote = read_vote(ProviderResponse(text=text, finish_reason=reason), is_replayed=False)
    assert vote.passed is None
    assert vote.error.startswith(
        f"the judge's reply is not a verdict: it was cut off (finish reason: {reason}); it is '"
    )


def test_a_verdict_that_was_withheld_is_an_error() -> None:
    vote = read_vote(ProviderResponse(text='{"reason": "x", "pass": true}', blocked="SAFETY"), is_replayed=False)
    assert (vote.passed, vote.error) == (None, "the judge's API withheld the verdict: SAFETY")


@given(st.text(), st.booleans())
def test_what_a_judge_writes_as_json_is_read_as_it_is(reason: str, passed: bool) -> None:
    vote = read_vote(ProviderResponse(text=json.dumps({"reason": reason, "pass": passed})), is_replayed=False)
    assert (vote.passed, vote.error) == (passed, "")


@given(st.text())
def test_no_other_text_crashes_the_reader_or_passes(text: str) -> None:
    vote = read_vote(ProviderResponse(text=text), is_replayed=False)
    assert vote.passed is None
    assert vote.error


def vote(passed: bool | None, reason: str = "") -> JudgeVote:
    """A vote; without a verdict the reason is the error."""
    return JudgeVote(passed, reason) if passed is not None else JudgeVote(None, error=reason)


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        ([vote(True, "a")], Verdict(True, "is accepted by the judge: a")),
        ([vote(False, "a")], Verdict(False, "is refused by the judge: a")),
        (
            [vote(False, "a"), vote(True, "b"), vote(True, "c")],
            Verdict(True, "is accepted by the judge, by 2 of 3 votes: b"),
        ),
        (
            [vote(False, "a"), vote(False, "b"), vote(True, "c")],
            Verdict(False, "is refused by the judge, by 2 of 3 votes: a"),
        ),
        (
            [vote(True, "a"), vote(True, "b"), vote(False, "c"), vote(False, "d"), vote(False, "e")],
            Verdict(False, "is refused by the judge, by 3 of 5 votes: c"),
        ),
        ([vote(True, "a"), vote(True, "b")], Verdict(True, "is accepted by the judge, by 2 of 2 votes: a")),
    ],
)
def test_the_majority_decides_with_its_first_reason(votes: list[JudgeVote], verdict: Verdict) -> None:
    assert count_votes(votes) == verdict


@pytest.mark.parametrize(
    ("votes", "error"),
    [
        ([], "no judge was asked"),
        ([vote(True), vote(True), vote(None, "gone")], "gone"),
        ([vote(None, "gone"), vote(True), vote(None, "gone"), vote(None, "away")], "gone; away"),
    ],
)
def test_votes_without_a_verdict_are_errors(votes: list[JudgeVote], error: str) -> None:
    with pytest.raises(CheckError) as raised:
        count_votes(votes)
    assert str(raised.value) == error


@given(st.lists(st.sampled_from([True, False, None]), max_size=7))
def test_nothing_passes_without_a_majority_of_all(passed: list[bool | None]) -> None:
    votes = [vote(each, "error") for each in passed]
    try:
        verdict = count_votes(votes)
    except CheckError:
        assert None in passed or not passed
    else:
        assert verdict.passed == (passed.count(True) * 2 > len(passed))
        assert None not in passed


def test_the_votes_grade_the_check_and_its_opposite() -> None:
    case = case_with(EvalCheck("llm_rubric", {"value": "x"}), EvalCheck("not-llm-rubric", {"value": "x"}))
    plain, negated = parse_checks(case, FileReader(case.path.parent))
    answer = ProviderResponse(text="a")
    assert grade(plain, case, answer, [vote(True, "r")]).passed
    assert not grade(negated, case, answer, [vote(True, "r")]).passed
    assert grade(negated, case, answer, [vote(False, "r")]).passed
    assert grade(negated, case, answer, [vote(None, "gone")]).error == "gone"
    assert grade(plain, case, answer).error == "no judge was asked"

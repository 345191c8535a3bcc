"""Why checks do not pass, and how many answers have to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from pytest_chatprompt import EvalCheck, ProviderResponse, SentData
from pytest_chatprompt.grading.check import Check, Verdict, describe_check
from pytest_chatprompt.grading.grade import GradedCheck, RequiredPasses, describe_failures, grade
from pytest_chatprompt.grading.table import CaseCheck, parse_checks
from pytest_chatprompt.prompt.attachments import FileReader
from tests.conftest import Project
from tests.grading.conftest import calling, case_with

MESSAGES = "input_messages: [{role: user, content: hi}]"


def told(project: Project, checks: str, response: ProviderResponse, head: str = "") -> list[str]:
    case = project.case(f"{checks}\n{MESSAGES}", head)
    sent = SentData({"prompt": "Write to me@example.com"})
    graded = [
        grade(check, case, sent if check.of == "request" else response)
        for check in parse_checks(case, FileReader(project.root))
    ]
    return describe_failures(graded, case).splitlines()


def test_each_failure_has_its_place_its_value_the_reason_and_an_excerpt(project: Project) -> None:
    body = """
checks:
- {type: icontains, value: off-by-one}
- {type: contains, value: fine}
- {type: not-contains, value: fine}
- {of: request, type: not_regex, value: '\\w+@\\w+'}
"""
    head = "checks: [{type: max_latency_seconds, value: 2}]"
    response = ProviderResponse(text="All is fine.\nReally.", latency_seconds=3.4)
    assert told(project, body, response, head) == [
        "4 of 5 checks failed: max_latency_seconds 2; icontains 'off-by-one'; not-contains 'fine'; "
        r"not_regex '\w+@\w+' of='request'",
        "",
        "evals/a.eval.yaml:1:10: max_latency_seconds 2: the answer took 3.40 seconds",
        r"  answer: 'All is fine.\nReally.'",
        "",
        "evals/a.eval.yaml:5:7: icontains 'off-by-one': the answer does not contain it",
        r"  answer: 'All is fine.\nReally.'",
        "",
        "evals/a.eval.yaml:7:7: not-contains 'fine': the answer contains it at character 8",
        r"  answer: 'All is fine.\nReally.'",
        "",
        r"evals/a.eval.yaml:8:7: not_regex '\w+@\w+' of='request': the request has the match 'me@example' at character 10",
        "  request: 'Write to me@example.com'",
    ]


def test_a_check_without_a_verdict_is_told_apart(project: Project) -> None:
    body = "checks: [{type: equals, value: a}, {type: max_output_tokens, value: 3}]"
    first, _, failed, _, _, broken = told(project, body, ProviderResponse(text="b"))
    assert first == "1 of 2 checks failed, 1 check could not be graded: equals 'a'; max_output_tokens 3"
    assert failed == "evals/a.eval.yaml:4:14: equals 'a': the answer differs from it at character 1"
    assert broken == (
        "evals/a.eval.yaml:4:40: max_output_tokens 3: the provider does not report how many tokens the answer has"
    )
    body = "checks: [{type: max_output_tokens, value: 3}, {type: max_latency_seconds, value: 3}]"
    assert told(project, body, ProviderResponse(text="b"))[0].startswith("2 checks could not be graded: ")


def test_a_row_is_named(project: Project) -> None:
    body = "parametrize: [{id: one}]\nchecks: [{type: equals, value: 'a{{ id }}'}]"
    _, _, place, _ = told(project, body, ProviderResponse(text="b"))
    assert place == (
        "evals/a.eval.yaml:5:14: equals 'aone': the answer differs from it at character 1 (row at evals/a.eval.yaml:4:19)"
    )


def test_a_check_made_in_code_has_the_place_of_the_case() -> None:
    case = case_with(EvalCheck("equals", {"value": "a"}))
    (check,) = parse_checks(case, FileReader(Path("/nowhere")))
    assert "\na.eval.yaml:2:5: equals 'a': " in describe_failures([grade(check, case, ProviderResponse(text=""))], case)


def test_the_calls_of_an_answer_are_shown(project: Project) -> None:
    body = "checks: [{type: tool_called, value: get_time, arguments: {zone: CET}}]"
    response = calling(("get_weather", '{"city": "Rome"}'), ("get_time", '{"zone": "UTC"}'))
    assert told(project, body, response) == [
        "1 check failed: tool_called 'get_time' arguments={'zone': 'CET'}",
        "",
        "evals/a.eval.yaml:4:14: tool_called 'get_time' arguments={'zone': 'CET'}: the answer calls "
        'get_time({"zone": "UTC"})',
        '  answer: \'\'; calls get_weather({"city": "Rome"}); calls get_time({"zone": "UTC"})',
    ]


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [
        ("x" * 240, repr("x" * 240)),
        ("x" * 241, f"{'x' * 240!r}… (241 characters)"),
        ("needle" + "x" * 300, f"{'needle' + 'x' * 234!r}… (306 characters)"),
        ("x" * 180 + "needle" + "y" * 100, f"{'x' * 180 + 'needle' + 'y' * 54!r}… (286 characters)"),
        ("x" * 181 + "needle" + "y" * 100, f"…{'x' * 60 + 'needle' + 'y' * 100!r} (287 characters)"),
        ("x" * 500 + "needle", f"…{'x' * 60 + 'needle'!r} (506 characters)"),
        ("x" * 500 + "needle" + "y" * 500, f"…{'x' * 60 + 'needle' + 'y' * 174!r}… (1006 characters)"),
    ],
)
def test_an_excerpt_of_a_long_text_is_that_which_the_check_is_about(project: Project, text: str, excerpt: str) -> None:
    name = "not_contains" if "needle" in text else "contains"
    lines = told(project, f"checks: [{{type: {name}, value: needle}}]", ProviderResponse(text=text))
    assert lines[-1] == f"  answer: {excerpt}"


def test_an_excerpt_is_around_the_match_of_a_regular_expression(project: Project) -> None:
    lines = told(project, "checks: [{type: not_regex, value: ne+dle}]", ProviderResponse(text="x" * 500 + "needle"))
    assert lines[-1] == f"  answer: …{'x' * 60 + 'needle'!r} (506 characters)"


@pytest.mark.parametrize(
    ("length", "shown"), [(237, f"f({'x' * 237})"), (238, f"f({'x' * 238}…")], ids=["240 characters", "241 characters"]
)
def test_a_long_call_is_cut(project: Project, length: int, shown: str) -> None:
    body = "checks: [{type: tool_called, value: g}]"
    assert told(project, body, calling(("f", "x" * length)))[-1] == f"  answer: ''; calls {shown}"


@pytest.mark.parametrize(
    ("check", "text"),
    [
        (EvalCheck("is-json"), "is-json"),
        (EvalCheck("regex", {"value": r"\d"}), r"regex '\d'"),
        (EvalCheck("equals", {"value": "it's\n"}), r'equals "it\'s\n"'.replace(r"\'", "'")),
        (EvalCheck("equals", {"value": "it's"}), """equals "it's\""""),
        (EvalCheck("contains_any", {"of": "request", "value": ("a", "b")}), "contains_any ['a', 'b'] of='request'"),
        (EvalCheck("equals", {"value": "x" * 78}), f"equals '{'x' * 78}'"),
        (EvalCheck("equals", {"value": "x" * 200}), f"equals '{'x' * 79}…"),
    ],
)
def test_a_check_is_described_in_a_few_words(check: EvalCheck, text: str) -> None:
    assert describe_check(check) == text


RATES = (0.01, 0.34, 0.5, 0.8, 1.0)


@pytest.mark.parametrize(
    ("planned", "pass_rate", "count"),
    [
        (1, 1.0, 1),
        (1, 0.01, 1),
        (5, 0.8, 4),
        (5, 0.81, 5),
        (5, 1.0, 5),
        (3, 0.5, 2),
        (4, 0.5, 2),
        (10, 0.7, 7),
        # 7.000000000000001 in binary fractions.
        (100, 0.07, 7),
        (100, 0.29, 29),
        (1000, 1e-05, 1),
    ],
)
def test_the_share_of_answers_that_have_to_pass_is_rounded_up_as_the_author_wrote_it(
    planned: int, pass_rate: float, count: int
) -> None:
    assert RequiredPasses(planned, pass_rate).count == count


@pytest.mark.parametrize(
    ("passed", "failed", "errors", "outcome"),
    [
        (0, 0, 0, None),
        (3, 1, 0, None),
        (4, 0, 0, "passed"),
        (4, 1, 0, "passed"),
        (0, 1, 0, None),
        (0, 2, 0, "failed"),
        (3, 2, 0, "failed"),
        # An error leaves an answer unknown.
        (4, 0, 1, "passed"),
        (0, 2, 3, "failed"),
        (3, 1, 1, "error"),
        (3, 0, 2, "error"),
        (0, 0, 5, "error"),
        # It may still fail, but pass no more.
        (0, 0, 2, None),
        (0, 1, 3, None),
        (2, 0, 2, "error"),
        (2, 1, 2, "error"),
    ],
)
def test_four_of_five_have_to_pass(passed: int, failed: int, errors: int, outcome: str | None) -> None:
    assert RequiredPasses(5, 0.8).outcome(passed, failed, errors) == outcome


def test_stopping_early_never_changes_the_outcome_for_any_sequence_of_up_to_six_answers() -> None:
    stopped = 0
    for planned, pass_rate in itertools.product(range(1, 7), RATES):
        required = RequiredPasses(planned, pass_rate)
        for sequence in itertools.product("pfe", repeat=planned):
            # Told apart by what the errors could have been.
            if sequence.count("p") >= pass_rate * planned - 1e-9:
                expected = "passed"
            elif planned - sequence.count("f") < pass_rate * planned - 1e-9:
                expected = "failed"
            else:
                expected = "error"
            outcomes = [outcome_of(required, sequence[:length]) for length in range(planned + 1)]
            first_certain = next(index for index, outcome in enumerate(outcomes) if outcome is not None)
            assert set(outcomes[first_certain:]) == {expected}, (planned, pass_rate, sequence)
            stopped += first_certain < planned
    assert stopped > 1000


def test_sending_goes_on_only_as_long_as_the_outcome_is_open() -> None:
    for planned, pass_rate in itertools.product(range(1, 6), RATES):
        required = RequiredPasses(planned, pass_rate)
        for length in range(planned):
            for sequence in itertools.product("pfe", repeat=length):
                ends = {
                    outcome_of(required, sequence + rest) for rest in itertools.product("pfe", repeat=planned - length)
                }
                outcome = outcome_of(required, sequence)
                assert (outcome is None) == (len(ends) > 1), (planned, pass_rate, sequence)


def outcome_of(required: RequiredPasses, sequence: Sequence[str]) -> str | None:
    return required.outcome(sequence.count("p"), sequence.count("f"), sequence.count("e"))


@pytest.mark.parametrize(
    ("written", "of", "verdict", "sentence"),
    [
        (EvalCheck("not-icontains", {"of": "request", "value": "hi"}), "request", Verdict(True, "does not contain it"),
         "passed: not_icontains 'hi' of='request': the request does not contain it"),
        (EvalCheck("is_json", {"value": None}), "answer", Verdict(False, "is not JSON"),
         "failed: is_json: the answer is not JSON"),
        (EvalCheck("is_json"), "answer", None, "not graded: is_json: it is gone"),
    ],
)  # fmt: skip
def test_a_graded_check_says_in_a_sentence_what_it_said(
    written: EvalCheck, of: Literal["answer", "request"], verdict: Verdict | None, sentence: str
) -> None:
    check = CaseCheck(written, Check(), of=of)
    assert GradedCheck(check, SentData({}), verdict, "" if verdict else "it is gone").sentence == sentence

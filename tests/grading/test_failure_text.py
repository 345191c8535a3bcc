"""What a user reads about checks that do not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt import EvalCheck, ProviderResponse, SentData
from pytest_chatprompt.grading.check import describe_check
from pytest_chatprompt.grading.grade import describe_failures, grade
from pytest_chatprompt.grading.parsing import parse_checks
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

"""Answers in words, and their totals."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from pytest_chatprompt.reports.answers import (
    Rate,
    answer_line,
    answer_section,
    case_line,
    case_section,
    provider_totals,
    table_rows,
    total_of,
)
from pytest_chatprompt.reports.terminal import table_lines
from pytest_chatprompt.results.records import ResponseResult
from tests.reports.results import answered, check, repeated

CALL = {"id": "1", "type": "function", "function": {"name": "find", "arguments": '{"a": 1}'}}
TOOK: dict[str, Any] = {"latency_seconds": 0.414, "input_tokens": 10, "output_tokens": 3}


@pytest.mark.parametrize(
    ("fields", "width", "line"),
    [
        pytest.param({"text": "Yes."}, 80, "'Yes.'", id="nothing is known"),
        pytest.param(
            {"text": "Yes.", **TOOK, "cost_usd": 0.00123, "is_replayed": True},
            80,
            "'Yes.' (0.41 s, 10 input and 3 output tokens, $0.0012, replayed)",
            id="all is known",
        ),
        pytest.param({"text": "Yes.", "output_tokens": 3}, 80, "'Yes.' (3 output tokens)", id="some is known"),
        pytest.param({"text": " two\n\n lines\t"}, 80, "'two lines'", id="several lines"),
        pytest.param({"text": "a\x1b[31m\u202eb"}, 80, r"'a\x1b[31m\u202eb'", id="control characters"),
        pytest.param(
            {"text": "word " * 20, **TOOK},
            70,
            "'word word word word word wor…' (0.41 s, 10 input and 3 output tokens)",
            id="as long as fits",
        ),
        pytest.param(
            {"text": "word " * 20, **TOOK}, 20, f"'{'word ' * 4}w…' (0.41 s, 10 input and 3 output tokens)", id="narrow"
        ),
        pytest.param({"text": "", "tool_calls": (CALL,)}, 80, 'calls find({"a": 1})', id="a call"),
        pytest.param({"text": "Hm.", "tool_calls": (CALL,)}, 80, "'Hm.'; calls find({\"a\": 1})", id="text and a call"),
        pytest.param({"text": "", "tool_calls": (CALL, CALL)}, 30, 'calls find({"a": 1}); calls f…', id="many calls"),
        pytest.param(
            {"text": "word " * 20, "tool_calls": (CALL, CALL)},
            50,
            f"'{'word ' * 9}wo……",
            id="a long text and many calls",
        ),
        pytest.param(
            {"text": "", "tool_calls": ({"name": "f", "arguments": {"a": "ö"}},)}, 80, 'calls f({"a": "ö"})', id="data"
        ),
        pytest.param({"text": "", "tool_calls": ("odd",)}, 80, "calls ?()", id="no call"),
        pytest.param({"text": ""}, 80, "no text", id="nothing"),
    ],
)
def test_an_answer_is_one_line(fields: dict[str, Any], width: int, line: str) -> None:
    assert answer_line(ResponseResult(**fields), width) == line


def test_a_section_has_all_of_the_answer_what_it_took_and_what_the_checks_said() -> None:
    response = ResponseResult(text="One\n\n\ttwo\x00", tool_calls=(CALL,), **TOOK)
    checks = (
        check(passed=False, reason="does not contain it"),
        check("regex", is_negated=True, of="request", reason="has no match"),
        check("python", None, reason="crashed with KeyError"),
    )
    assert answer_section(response, checks).splitlines() == [
        "One",
        "",
        "\ttwo\x00",
        '[calls find({"a": 1})]',
        "(0.41 s, 10 input and 3 output tokens)",
        "failed: contains 'x': the answer does not contain it",
        "passed: not_regex 'x' of='request': the request has no match",
        "not graded: python 'x': crashed with KeyError",
    ]
    assert answer_section(ResponseResult(text="Yes."), ()) == "Yes."


def test_the_section_of_a_repeated_case_has_each_answer() -> None:
    assert case_section(answered("x", checks=(check(),))).splitlines()[0] == "yes"
    assert case_section(answered("x", text=None)) == ""
    result = repeated("x", "passed", "failed", "error").model_copy(update={"checks": (check("regex", of="request"),)})
    assert case_section(result).splitlines() == [
        "50 % (95 % interval 9 % to 91 %)",
        "",
        "answer 1 of 3: passed",
        "answer 1",
        "(1.00 s)",
        "passed: contains 'x': the answer contains it",
        "",
        "answer 2 of 3: failed",
        "answer 2",
        "(1.00 s)",
        "failed: contains 'x': the answer contains it",
        "",
        "answer 3 of 3: error",
        "503: overloaded",
        "",
        "passed: regex 'x' of='request': the request contains it",
    ]


@pytest.mark.parametrize(
    ("outcomes", "line"),
    [
        pytest.param(("passed", "passed"), "2/2 passed; answer 1 passed: 'answer 1' (1.00 s)", id="all pass"),
        pytest.param(
            ("passed", "failed", "failed"), "1/3 passed; answer 2 failed: 'answer 2' (1.00 s)", id="some do not"
        ),
        pytest.param(("error", "passed"), "1/1 passed; answer 1 is unknown: 503: overloaded", id="there is none"),
    ],
)
def test_the_line_of_a_repeated_case_shows_the_first_answer_that_does_not_pass(
    outcomes: tuple[Literal["passed", "failed", "error"], ...], line: str
) -> None:
    assert case_line(repeated("a", *outcomes), 80) == line


def test_the_line_of_a_case_is_that_of_its_answer() -> None:
    assert case_line(answered("a", text="Yes."), 80) == "'Yes.'"
    assert case_line(answered("a", text=None), 80) is None


def test_the_line_of_a_repeated_case_is_as_long_as_fits() -> None:
    result = repeated("a", "passed", "passed")
    assert result.repeats is not None
    long = ResponseResult(text="word " * 40)
    first = result.repeats.attempts[0].model_copy(update={"response": long})
    broken = first.model_copy(update={"outcome": "error", "response": None, "problem": "down " * 40 + "\nmore"})
    for attempt in (first, broken):
        repeats = result.repeats.model_copy(update={"attempts": (attempt, result.repeats.attempts[1])})
        shown = case_line(result.model_copy(update={"repeats": repeats}), 70)
        assert shown is not None
        assert len(shown) == 70
        assert shown.rstrip("'").endswith("…")


RESULTS = [
    answered("a", "one", checks=(check(), check("regex")), latency_seconds=1.0, input_tokens=1000, output_tokens=1),
    answered("b", "one", "failed", checks=(check(passed=False),), latency_seconds=2.0, input_tokens=500),
    answered("c", "one", "error", checks=(check(passed=None),), latency_seconds=4.0),
    answered("a", "two", checks=(check(), check(is_negated=True))),
    answered("b", "two", "error", text=None),
    # Whether it would have passed is not known.
    answered("c", "two", "skipped"),
    # It never answered.
    answered("a", "three", "error", text=None),
]


def test_each_type_of_check_the_cases_and_what_the_answers_took_are_rows() -> None:
    assert list(table_lines(table_rows(provider_totals(RESULTS)))) == [
        "                       one         two",
        "contains         1/3 (33%)  1/1 (100%)",
        "regex           1/1 (100%)           -",
        "not_contains             -  1/1 (100%)",
        "all checks       2/4 (50%)  2/2 (100%)",
        "cases            1/3 (33%)   1/2 (50%)",
        "median latency      2.00 s     unknown",
        "input tokens         1,500     unknown",
        "output tokens            1     unknown",
    ]


def test_a_row_tells_how_many_answers_there_are_if_that_is_not_the_number_of_cases() -> None:
    rows = table_rows(provider_totals([*RESULTS, answered("d", "two", "error", text=None)]))
    assert ("cases", "1/3 (33%)", "1/3 (33%)") in rows
    assert ("answers", "3", "2") in rows


def test_a_row_tells_how_many_requests_there_were_if_that_is_not_the_number_of_answers() -> None:
    rows = table_rows(provider_totals([answered("a"), answered("a", "app", requests=2), answered("b", "app")]))
    assert ("requests", "1", "3") in rows


def test_one_type_of_check_needs_no_sum_and_no_answers_need_no_table() -> None:
    rows = table_rows(provider_totals([answered("a", checks=(check(),))]))
    assert [name for name, *_ in rows] == ["", "contains", "cases", "median latency", "input tokens", "output tokens"]
    assert table_rows(provider_totals([answered("a", text=None)])) == []
    assert total_of("a.json", []) is None


def test_tests_without_a_provider_are_told_as_that() -> None:
    without = answered("a").model_copy(update={"provider": None})
    assert table_rows(provider_totals([without]))[0] == ("", "own code")


def test_a_rate_of_nothing_is_a_dash() -> None:
    assert [str(Rate()), str(Rate(0, 3)), str(Rate(2, 3))] == ["-", "0/3 (0%)", "2/3 (67%)"]

"""The table that puts providers side by side: its rows, its numbers, and how it is laid out."""

from __future__ import annotations

from pytest_chatprompt.reports.answers import Rate, provider_totals, table_rows, total_of
from pytest_chatprompt.reports.terminal import table_lines
from tests.reports.results import answered, check

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


def test_one_type_of_check_needs_no_sum_and_no_answers_need_no_table() -> None:
    rows = table_rows(provider_totals([answered("a", checks=(check(),))]))
    assert [name for name, *_ in rows] == ["", "contains", "cases", "median latency", "input tokens", "output tokens"]
    assert table_rows(provider_totals([answered("a", text=None)])) == []
    assert total_of("a.json", []) is None


def test_tests_without_a_provider_are_told_as_that() -> None:
    without = answered("a").model_copy(update={"provider": None})
    assert table_rows(provider_totals([without]))[0] == ("", "no provider")


def test_a_rate_of_nothing_is_a_dash() -> None:
    assert [str(Rate()), str(Rate(0, 3)), str(Rate(2, 3))] == ["-", "0/3 (0%)", "2/3 (67%)"]

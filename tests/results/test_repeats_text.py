"""What is said of a repeated case: its rate, and the answers that do not pass."""

from __future__ import annotations

from pytest_chatprompt.grading.grade import AttemptOutcome, RequiredPasses
from pytest_chatprompt.results.records import AttemptResult
from pytest_chatprompt.results.texts import (
    describe_rate,
    describe_repeats,
    repeats_result,
    summary_of_rates,
)


def attempt(number: int, outcome: AttemptOutcome, problem: str = "") -> AttemptResult:
    return AttemptResult(number=number, outcome=outcome, problem=problem)


def test_equal_problems_are_shown_once_with_the_numbers_of_their_answers() -> None:
    attempts = [
        attempt(3, "error", "down"),
        attempt(1, "failed", "poor"),
        attempt(4, "error", "down"),
        attempt(2, "passed"),
    ]
    result = repeats_result(RequiredPasses(6, 0.5), attempts)
    assert (result.passed, result.answers, result.needed) == (1, 2, 3)
    assert describe_repeats(result) == (
        "1/2 answers passed: 50 % (95 % interval 9 % to 91 %); 2 could not be obtained or graded; 2 not sent; "
        "3 of 6 must pass\n\n"
        "answer 1 of 6: poor\n\n"
        "answers 3 and 4 of 6: down"
    )


def test_without_answers_no_rate_is_known() -> None:
    result = repeats_result(RequiredPasses(2, 1.0), [attempt(1, "error", "down")])
    assert describe_repeats(result).startswith("1 could not be obtained or graded; 1 not sent; 2 of 2 must pass")
    assert describe_rate(0, 0, result.interval) == "none known"


def test_the_summary_lists_the_lowest_rates_first_and_ten_at_most() -> None:
    cases = {f"c{number}": (number % 4, 5) for number in range(12)}
    head, *lines, last = summary_of_rates({**cases, "good": (5, 5)})
    assert head == "13 cases were sent more than once, and 23/65 answers passed; not all of these:"
    assert [line.split()[0] for line in lines] == ["0/5"] * 3 + ["1/5"] * 3 + ["2/5"] * 3 + ["3/5"]
    assert last == "  and 2 more"
    assert list(summary_of_rates({"good": (5, 5)})) == ["1 case was sent more than once, and 5/5 answers passed."]

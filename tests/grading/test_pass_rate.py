"""The pass rate: how many answers have to pass, when the outcome is certain, and the interval of the rate."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.grading.grade import RequiredPasses, wilson_interval

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
    ("passed", "total", "low", "high"),
    [
        # R. G. Newcombe, Two-sided confidence intervals for the single proportion, Statistics in Medicine 17 (1998).
        pytest.param(81, 263, 0.2553, 0.3662, id="Newcombe's first example"),
        pytest.param(15, 148, 0.0624, 0.1605, id="Newcombe's second example"),
        pytest.param(0, 20, 0.0, 0.1611, id="Newcombe's third example"),
        pytest.param(1, 29, 0.0061, 0.1718, id="Newcombe's fourth example"),
        pytest.param(4, 5, 0.3755, 0.9638, id="4 of 5"),
        pytest.param(5, 5, 0.5655, 1.0, id="5 of 5"),
        pytest.param(0, 1, 0.0, 0.7935, id="0 of 1"),
        pytest.param(0, 0, 0.0, 1.0, id="nothing is known"),
    ],
)
def test_the_interval_is_that_of_the_literature(passed: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(passed, total) == pytest.approx((low, high), abs=5e-5)


counts = st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))


@given(counts)
def test_the_interval_holds_the_rate_and_grows_with_it(pair: tuple[int, int]) -> None:
    passed, total = pair
    low, high = wilson_interval(passed, total)
    assert 0 <= low <= passed / total <= high <= 1
    assert low < high
    if passed < total:
        next_low, next_high = wilson_interval(passed + 1, total)
        assert next_low > low
        assert next_high > high
    # The opposite has the opposite interval.
    assert wilson_interval(total - passed, total) == pytest.approx((1 - high, 1 - low))


@given(counts)
def test_the_interval_is_narrower_with_more_answers_and_with_less_confidence(pair: tuple[int, int]) -> None:
    passed, total = pair
    low, high = wilson_interval(passed, total)
    for other_low, other_high in (wilson_interval(2 * passed, 2 * total), wilson_interval(passed, total, 0.8)):
        assert other_high - other_low < high - low

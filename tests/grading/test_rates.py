"""Rates: their figures beside published ones and those of scipy 1.17.1, and how often a verdict is wrong."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.grading.grade import AttemptOutcome
from pytest_chatprompt.grading.rates import Pairs, mean_interval, shared_words, wilson_interval

OUTCOMES: dict[str, AttemptOutcome] = {"+": "passed", "-": "failed", "?": "error"}


def pairs_of(before: str, after: str) -> Pairs:
    """The pairs of two lists of answers, a sign each."""
    return Pairs.of((OUTCOMES[one], OUTCOMES[other]) for one, other in zip(before, after, strict=True))


def test_the_answers_with_the_same_number_are_a_pair() -> None:
    assert pairs_of("++--+", "+-+--") == Pairs(both=1, only_before=2, only_after=1, neither=1)


def test_a_pair_without_an_answer_is_left_out() -> None:
    assert pairs_of("+?-", "++?") == Pairs(both=1)


def test_the_pairs_of_several_cases_count_together() -> None:
    together = Pairs(1, 2, 3, 4) + Pairs(10, 20, 30, 40)
    assert together == Pairs(11, 22, 33, 44)
    assert (together.total, together.disagreeing, together.difference) == (110, 55, 0.1)


@pytest.mark.parametrize(
    ("only_before", "only_after", "p_value"),
    # scipy.stats.binomtest(only_before, only_before + only_after).pvalue
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (0, 5, 0.0625),
        (0, 6, 0.03125),
        (2, 9, 0.0654296875),
        (9, 2, 0.0654296875),
        (4, 4, 1.0),
        (5, 12, 0.143463134765625),
        (30, 55, 0.008836205876094518),
        (240, 300, 0.011050481081929898),
        (1, 2000, 0.0),
    ],
)
def test_the_exact_test_is_that_of_scipy(only_before: int, only_after: int, p_value: float) -> None:
    assert Pairs(7, only_before, only_after, 3).p_value == pytest.approx(p_value)


def test_the_interval_of_the_difference_is_the_published_one() -> None:
    # Bentur et al. (2009), in Fagerland, Lydersen and Laake, Recommended tests and confidence intervals for paired
    # binomial proportions, Statistics in Medicine 33 (2014): -0.507 to -0.026.
    pairs = Pairs(both=1, only_before=7, only_after=1, neither=12)
    assert pairs.difference == pytest.approx(-0.2857, abs=5e-5)
    assert pairs.interval == pytest.approx((-0.507, -0.026), abs=5e-4)


@pytest.mark.parametrize(
    ("pairs", "low", "high"),
    [
        pytest.param(Pairs(both=5), -0.43, 0.43, id="all pass"),
        pytest.param(Pairs(neither=5), -0.43, 0.43, id="none passes"),
        pytest.param(Pairs(only_after=5), 0.39, 1.0, id="all turned"),
        pytest.param(Pairs(only_before=5), -1.0, -0.39, id="all turned back"),
        pytest.param(Pairs(both=20, only_before=5, only_after=5, neither=20), -0.13, 0.13, id="as many either way"),
    ],
)
def test_the_interval_is_known_at_the_ends_too(pairs: Pairs, low: float, high: float) -> None:
    assert pairs.interval == pytest.approx((low, high), abs=0.01)


def test_the_interval_holds_the_difference_in_95_of_100_runs_whatever_the_rates_of_the_cases() -> None:
    chance = random.Random(1)
    hits = runs = 0
    for rates in ([(0.9, 0.7)] * 8, [(0.2, 0.6), (0.9, 0.9), (0.5, 0.4), (1.0, 0.8)] * 2, [(0.5, 0.5)] * 8):
        truth = sum(after - before for before, after in rates) / len(rates)
        for _ in range(1_500):
            low, high = sum((answers(chance, *each, count=5) for each in rates), Pairs()).interval
            hits += low <= truth <= high
            runs += 1
    assert 0.94 <= hits / runs <= 0.99


def answers(chance: random.Random, before: float, after: float, count: int) -> Pairs:
    """So many pairs of a case whose answers pass at these rates."""
    pairs = [(chance.random() < before, chance.random() < after) for _ in range(count)]
    return Pairs(
        pairs.count((True, True)),
        pairs.count((True, False)),
        pairs.count((False, True)),
        pairs.count((False, False)),
    )


# --- the verdict


@pytest.mark.parametrize(
    ("pairs", "verdict"),
    [
        (Pairs(), "no difference found"),
        (Pairs(both=100), "no difference found"),
        (Pairs(only_after=5), "no difference found"),
        (Pairs(only_after=6), "better"),
        (Pairs(only_before=6), "worse"),
        (Pairs(only_before=30, only_after=30), "no difference found"),
        (Pairs(only_before=30, only_after=55), "better"),
    ],
)
def test_a_fixed_number_of_pairs_is_judged_by_the_exact_test(pairs: Pairs, verdict: str) -> None:
    assert pairs.verdict(is_sequential=False) == verdict


@pytest.mark.parametrize(
    ("only_before", "only_after", "verdict"),
    # 2 ** n / ((n + 1) * comb(n, k)): 16 and 28.4, 22.8 and 21.2
    [
        (0, 7, "no difference found"),
        (0, 8, "better"),
        (8, 0, "worse"),
        (1, 10, "no difference found"),
        (1, 11, "better"),
        (30, 55, "no difference found"),
    ],
)
def test_what_was_looked_at_meanwhile_is_judged_by_evidence(only_before: int, only_after: int, verdict: str) -> None:
    assert Pairs(9, only_before, only_after, 9).verdict(is_sequential=True) == verdict


@pytest.mark.parametrize("runs", [400, pytest.param(10_000, marks=pytest.mark.soak)])
def test_a_run_that_sends_more_where_it_is_undecided_finds_a_difference_by_chance_in_at_most_5_of_100(
    runs: int,
) -> None:
    chance = random.Random(2)
    found = sum(sequential_run(chance, [(0.5, 0.5), (0.8, 0.8), (0.3, 0.3)]) for _ in range(runs))
    assert found <= 0.05 * runs
    # And a large one it finds.
    assert sum(sequential_run(chance, [(0.3, 0.9), (0.5, 0.9), (0.8, 0.8)]) for _ in range(200)) >= 150


def sequential_run(chance: random.Random, rates: list[tuple[float, float]]) -> bool:
    """A run of `--chatprompt-repeat 5..40`; gives whether it finds a difference."""
    return sequential_pairs(chance, rates).verdict(is_sequential=True) != "no difference found"


def sequential_pairs(chance: random.Random, rates: list[tuple[float, float]]) -> Pairs:
    """The pairs of answers of such a run, or of one of its workers."""
    run = Pairs()
    for before, after in rates:
        case = answers(chance, before, after, count=5)
        while case.total < 40 and case.needs_more() and not (run + case).has_evidence:
            case += answers(chance, before, after, count=5)
        run += case
    return run


@pytest.mark.parametrize("runs", [300, pytest.param(3_000, marks=pytest.mark.soak)])
def test_workers_that_each_stop_by_their_own_answers_find_a_difference_by_chance_in_at_most_5_of_100(
    runs: int,
) -> None:
    # The next pair of each is fair whatever all of them have seen, so the evidence of all together is bounded too.
    chance, found = random.Random(5), 0
    for _ in range(runs):
        run = sum((sequential_pairs(chance, [(0.5, 0.5), (0.8, 0.8)]) for _ in range(3)), Pairs())
        found += run.verdict(is_sequential=True) != "no difference found"
    assert found <= 0.05 * runs


def test_even_a_run_that_ends_as_soon_as_a_difference_shows_finds_one_by_chance_in_at_most_5_of_100() -> None:
    chance, found = random.Random(3), 0
    is_certain = cache(lambda after, count: Pairs(only_before=count - after, only_after=after).has_evidence)
    for _ in range(10_000):
        after = count = 0
        while count < 40 and not is_certain(after, count):
            after, count = after + chance.getrandbits(1), count + 1
        found += is_certain(after, count)
    assert found <= 500


def test_an_interval_does_not_contradict_the_verdict() -> None:
    assert Pairs(only_after=5).interval[0] > 0
    assert Pairs(only_after=5).shown_interval(is_sequential=False) == (0.0, 1.0)
    assert Pairs(only_before=5).shown_interval(is_sequential=False) == (-1.0, 0.0)
    assert Pairs(only_after=6).shown_interval(is_sequential=False)[0] > 0
    assert Pairs(only_after=6).shown_interval(is_sequential=True)[0] == 0


@pytest.mark.parametrize(
    ("pairs", "needs_more"),
    [
        pytest.param(Pairs(both=5), False, id="all pass"),
        pytest.param(Pairs(neither=5), False, id="none passes"),
        pytest.param(Pairs(both=4, only_after=1), True, id="one disagrees"),
        pytest.param(Pairs(only_after=8), False, id="it is certain"),
    ],
)
def test_a_case_is_sent_again_where_its_pairs_disagree(pairs: Pairs, needs_more: bool) -> None:
    assert pairs.needs_more() is needs_more


@pytest.mark.parametrize(
    ("pairs", "points", "sequential_points"),
    [
        pytest.param(Pairs(), None, None, id="none"),
        pytest.param(Pairs(both=5), None, None, id="five"),
        pytest.param(Pairs(both=8), 88, None, id="eight"),
        pytest.param(Pairs(both=15), 56, 82, id="fifteen"),
        pytest.param(Pairs(both=20, only_before=5, only_after=5, neither=20), 20, 30, id="fifty that disagree"),
        pytest.param(Pairs(both=5000), 1, 1, id="many"),
    ],
)
def test_the_difference_that_would_have_been_found(
    pairs: Pairs, points: int | None, sequential_points: int | None
) -> None:
    assert pairs.detectable_points(is_sequential=False) == points
    assert pairs.detectable_points(is_sequential=True) == sequential_points


def test_a_difference_that_is_called_detectable_is_found_four_times_of_five() -> None:
    chance = random.Random(4)
    points = Pairs(both=30, only_before=15, only_after=15).detectable_points(is_sequential=False)
    assert points is not None
    found = 0
    for _ in range(1_000):
        # As many disagree as did here, more of them one way.
        disagreeing = sum(chance.random() < 0.5 for _ in range(60))
        after = sum(chance.random() < 0.5 + points / 100 for _ in range(disagreeing))
        found += Pairs(both=60 - disagreeing, only_before=disagreeing - after, only_after=after).p_value <= 0.05
    assert 750 <= found <= 900


# --- what has no verdict


@pytest.mark.parametrize(
    ("numbers", "mean", "low", "high"),
    # scipy.stats.t.interval(0.95, len(numbers) - 1, mean, scipy.stats.sem(numbers))
    [([1, 2, 4, 5], 3.0, 0.0936, 5.9064), (list(range(30)), 14.5, 11.2126, 17.7874), ([2, 2, 2], 2.0, 2.0, 2.0)],
)
def test_a_mean_has_students_interval(numbers: list[float], mean: float, low: float, high: float) -> None:
    found, interval = mean_interval(numbers)
    assert found == mean
    assert interval == pytest.approx((low, high), abs=5e-3)


def test_the_mean_of_one_or_two_numbers_has_no_interval() -> None:
    assert mean_interval([1.0]) == (1.0, None)
    assert mean_interval([1.0, 3.0]) == (2.0, None)


def test_texts_share_the_words_that_stand_in_the_same_order() -> None:
    assert shared_words([("to be or not", "to be\nand not"), ("a b", "c d")]) == 0.375
    assert shared_words([("a", "a")]) == 1.0
    assert shared_words([]) is None


# --- the rate of a case


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
def test_the_interval_is_narrower_with_more_answers(pair: tuple[int, int]) -> None:
    passed, total = pair
    low, high = wilson_interval(passed, total)
    other_low, other_high = wilson_interval(2 * passed, 2 * total)
    assert other_high - other_low < high - low

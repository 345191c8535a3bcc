"""Rates: how sure the rate of a case is, and which of two versions of a request gets better answers.

The first answers to both versions of a case are a pair, then the second ones, and so on. If no version is better in any
case, a pair of which only one answer passes falls either way by an even chance, whatever the rates of the cases are.
"""

from __future__ import annotations

import difflib
import math
import operator
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from pytest_chatprompt.grading.grade import AttemptOutcome

Verdict = Literal["better", "worse", "no difference found"]
Interval = tuple[float, float]

CONFIDENCE: Final = 0.95
_GRADED: Final[tuple[AttemptOutcome, ...]] = ("passed", "failed")
# By Ville's inequality, evidence reaches this by chance in at most 5 % of all runs, whenever they stop.
_ENOUGH_EVIDENCE: Final = 20
_Z: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)


def wilson_interval(passed: int, total: int) -> Interval:
    """Wilson's score interval of a rate, without continuity correction.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if not total:
        return 0.0, 1.0
    rate, weight = passed / total, _Z * _Z / total
    center = rate + weight / 2
    spread = _Z * math.sqrt(rate * (1 - rate) / total + weight / (4 * total))
    low, high = (center - spread) / (1 + weight), (center + spread) / (1 + weight)
    # Rounding must not leave a rate of 0 or 1 outside.
    return (0.0 if passed == 0 else max(low, 0.0)), (1.0 if passed == total else min(high, 1.0))


@dataclass(frozen=True, slots=True)
class Pairs:
    """How many pairs of answers ended how: both pass, only the one before, only the one after, or neither."""

    both: int = 0
    only_before: int = 0
    only_after: int = 0
    neither: int = 0

    @classmethod
    def of(cls, outcomes: Iterable[tuple[AttemptOutcome, AttemptOutcome]]) -> Pairs:
        """Count pairs of outcomes, before and after; one with an error is left out."""
        counts = Counter(outcomes)
        return cls(*(counts[before, after] for before in _GRADED for after in _GRADED))

    def __add__(self, other: Pairs) -> Pairs:
        return Pairs(*map(operator.add, astuple(self), astuple(other)))

    @property
    def total(self) -> int:
        """How many pairs there are."""
        return self.both + self.disagreeing + self.neither

    @property
    def disagreeing(self) -> int:
        """How many have only one answer that passes."""
        return self.only_before + self.only_after

    @property
    def difference(self) -> float:
        """The rate after less the rate before; at least one pair is there."""
        return (self.only_after - self.only_before) / self.total

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the difference; at least one pair is there.

        Source: R. G. Newcombe, Improved confidence intervals for the difference between binomial proportions based on
        paired data, Statistics in Medicine 17 (1998), method 10.
        """
        total, after, before = self.total, self.both + self.only_after, self.both + self.only_before
        (after_low, after_high), (before_low, before_high) = (wilson_interval(each, total) for each in (after, before))
        below, above = after / total - after_low, after_high - after / total
        other_below, other_above = before / total - before_low, before_high - before / total
        shared = 2 * self._correlation()
        low = math.sqrt(max(below**2 - shared * below * other_above + other_above**2, 0))
        high = math.sqrt(max(above**2 - shared * above * other_below + other_below**2, 0))
        return max(self.difference - low, -1.0), min(self.difference + high, 1.0)

    def _correlation(self) -> float:
        """How far the answers of a pair agree, with Newcombe's correction for few pairs."""
        before, after = self.both + self.only_before, self.both + self.only_after
        margins = before * (self.total - before) * after * (self.total - after)
        excess = self.both * self.neither - self.only_after * self.only_before
        corrected = max(excess - self.total / 2, 0) if excess > 0 else excess
        return corrected / math.sqrt(margins) if margins else 0.0

    @property
    def p_value(self) -> float:
        """How often chance alone makes at least this difference, in both directions: McNemar's exact test.

        Source: Q. McNemar, Note on the sampling error of the difference between correlated proportions, Psychometrika
        12 (1947); exact by the binomial distribution.
        """
        count = self.disagreeing
        ways = sum(math.comb(count, number) for number in range(min(self.only_before, self.only_after) + 1))
        return min(2 * ways / (1 << count), 1.0)

    @property
    def has_evidence(self) -> bool:
        """Whether the evidence against an even chance is enough, however often somebody looks.

        It is the mean of the likelihood ratios of all chances, by the number of pairs that disagree. If the chance is
        even, its mean is 1 after any number of pairs, whichever are asked for. Source: J. Ville, Étude critique de la
        notion de collectif (1939).
        """
        count = self.disagreeing
        return (1 << count) >= _ENOUGH_EVIDENCE * (count + 1) * math.comb(count, self.only_after)

    def verdict(self, *, is_sequential: bool) -> Verdict:
        """What the pairs say; `is_sequential` if their number depends on how they ended."""
        is_sure = self.has_evidence if is_sequential else self.p_value <= 1 - CONFIDENCE
        if not is_sure:
            return "no difference found"
        return "better" if self.only_after > self.only_before else "worse"

    def shown_interval(self, *, is_sequential: bool) -> Interval:
        """The interval beside the verdict: where no difference is found, it holds 0.

        Newcombe's is a little narrower than the exact test is sure of.
        """
        low, high = self.interval
        if self.verdict(is_sequential=is_sequential) == "no difference found":
            return min(low, 0.0), max(high, 0.0)
        return low, high

    def detectable_points(self, *, is_sequential: bool) -> int | None:
        """How large a difference, in points of 100, so many pairs show four times of five; `None` if they show none.

        As many pairs disagree as here, or as the difference needs. By the normal approximation with the correction for
        continuity.
        """
        for points in range(1, 101):
            rate = points / 100
            disagreeing = max(self.disagreeing / self.total, rate) if self.total else rate
            count = self.total * disagreeing
            # What the difference has to be of its standard deviation.
            least = _Z
            if is_sequential and count:
                least = math.sqrt(2 * math.log(_ENOUGH_EVIDENCE * (count + 1) / math.sqrt(math.pi * count / 2)))
            spread = math.sqrt(self.total * (disagreeing - rate**2))
            needed = 1 + least * math.sqrt(count) + NormalDist().inv_cdf(0.8) * spread
            if self.total * rate >= needed:
                return points
        return None

    def needs_more(self) -> bool:
        """Whether more pairs of a case are worth their price: some disagree, and it is not certain which way."""
        return self.disagreeing > 0 and not self.has_evidence


def mean_interval(numbers: Sequence[float]) -> tuple[float, Interval | None]:
    """The mean of some numbers, and its 95 % interval by Student's distribution; `None` for fewer than three.

    Source of the quantile: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.5.
    """
    mean, degrees = statistics.fmean(numbers), len(numbers) - 1
    if degrees < 2:  # noqa: PLR2004 - there the series is too far off
        return mean, None
    z = _Z
    quantile = (
        z
        + (z**3 + z) / (4 * degrees)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * degrees**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * degrees**4)
    )
    half = quantile * statistics.stdev(numbers) / math.sqrt(len(numbers))
    return mean, (mean - half, mean + half)


def shared_words(pairs: Iterable[tuple[str, str]]) -> float | None:
    """Which part of their words the texts of pairs share, in order, on average; `None` without pairs."""
    ratios = [difflib.SequenceMatcher(None, one.split(), other.split(), autojunk=False).ratio() for one, other in pairs]
    return statistics.fmean(ratios) if ratios else None

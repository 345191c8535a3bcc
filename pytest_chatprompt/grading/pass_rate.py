"""The pass rate: from which answers on it is certain how a repeated case ends, and how sure its rate is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, Literal

AttemptOutcome = Literal["passed", "failed", "error"]

CONFIDENCE: Final = 0.95


@dataclass(frozen=True, slots=True)
class RequiredPasses:
    """How many answers of a repeated case have to pass."""

    planned: int
    pass_rate: float

    @property
    def count(self) -> int:
        """The least number of answers that is the pass rate, at least 1."""
        # As the author wrote the rate: 0.07 times 100 is a little more than 7 in binary fractions.
        return math.ceil(Fraction(repr(self.pass_rate)) * self.planned)

    def outcome(self, passed: int, failed: int, errors: int) -> AttemptOutcome | None:
        """How the case ends, whatever the answers that are still missing say; `None` as long as it is not certain.

        An error says nothing about the answer, so the case is an error if, and only if, it could have ended either way.
        """
        missing = self.planned - passed - failed - errors
        needed = self.count
        if passed >= needed:
            return "passed"
        if failed > self.planned - needed:
            return "failed"
        can_pass = passed + missing >= needed
        can_fail = failed + missing > self.planned - needed
        return None if can_pass or can_fail else "error"


def wilson_interval(passed: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Wilson's score interval of a rate, without continuity correction.

    Source: E. B. Wilson, Probable inference, the law of succession, and statistical inference, JASA 22 (1927).
    """
    if not total:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate, weight = passed / total, z * z / total
    center = rate + weight / 2
    spread = z * math.sqrt(rate * (1 - rate) / total + weight / (4 * total))
    low, high = (center - spread) / (1 + weight), (center + spread) / (1 + weight)
    # Rounding must not leave a rate of 0 or 1 outside.
    return (0.0 if passed == 0 else max(low, 0.0)), (1.0 if passed == total else min(high, 1.0))

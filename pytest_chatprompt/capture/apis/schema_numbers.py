"""The smallest valid number of a JSON Schema: by its bounds and its step.

The keywords of a schema come in, a number comes out. Pure functions; `schema_instance` calls `least_number`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from pytest_chatprompt.capture.apis.schema_rules import Unsatisfiable, as_number


def least_number(rules: Mapping[str, Any], *, is_integer: bool, variant: int = 0) -> int | float:
    """Make the number nearest to 0 within the bounds.

    Args:
        rules: the keywords, exclusive bounds as numbers or as draft 4 has them.
        is_integer: whether it must be one.
        variant: another number gives another one, if there is one.

    Raises:
        Unsatisfiable: none was found within the bounds.
    """
    low, excludes_low = _bound(rules, "minimum", "exclusiveMinimum", max)
    high, excludes_high = _bound(rules, "maximum", "exclusiveMaximum", min)
    step = _fraction(rules.get("multipleOf")) or None
    if is_integer:
        step = Fraction(1) if step is None else Fraction(step.numerator)

    def fits(number: Fraction) -> bool:
        above = low is None or number > low or (number == low and not excludes_low)
        below = high is None or number < high or (number == high and not excludes_high)
        return above and below and (step is None or (number / step).denominator == 1)

    candidates = list(filter(fits, _numbers(low, high, step, variant)))
    if not candidates:
        raise Unsatisfiable
    return _plain(candidates[variant % len(candidates)])


def _numbers(low: Fraction | None, high: Fraction | None, step: Fraction | None, variant: int) -> Iterator[Fraction]:
    stride = step or Fraction(1)
    yield Fraction(0)
    if low is not None and low > 0:
        first, sign = Fraction(math.ceil(low / stride)) * stride, 1
        yield low
    elif high is not None and high < 0:
        first, sign = Fraction(math.floor(high / stride)) * stride, -1
        yield high
    else:
        first, sign = Fraction(0), 1
    for index in range(variant + 3):
        yield first + sign * index * stride
        yield first - sign * index * stride
    if low is not None and high is not None:
        for parts in range(2, variant + 4):
            yield low + (high - low) / parts
    elif low is not None:
        yield low + Fraction(1, 2)
    elif high is not None:
        yield high - Fraction(1, 2)


def _bound(rules: Mapping[str, Any], key: str, exclusive_key: str, choose: Any) -> tuple[Fraction | None, bool]:
    bound, exclusive = _fraction(rules.get(key)), rules.get(exclusive_key)
    if isinstance(exclusive, bool):
        return bound, exclusive
    exclusive = _fraction(exclusive)
    if bound is None or exclusive is None:
        return (bound, False) if exclusive is None else (exclusive, True)
    chosen = choose(bound, exclusive)
    return chosen, chosen == exclusive


def _fraction(value: Any) -> Fraction | None:
    number = as_number(value)
    return None if number is None or not math.isfinite(number) else Fraction(str(number))


def _plain(number: Fraction) -> int | float:
    return number.numerator if number.denominator == 1 else float(number)

"""The lines of a run's summary about repeated cases: how many answers passed, and which cases have a mixed rate.

The user properties of the cases come in, as `repeat_usage` sets them; lines come out. `usage.UsageSummary` shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_chatprompt.grading.pass_rate import wilson_interval
from pytest_chatprompt.items.repeat_count import RATE_PROPERTY
from pytest_chatprompt.results.repeats_text import describe_rate

_MOST_CASES: Final = 10


def repeat_lines(cases: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The lines about repeated cases.

    Args:
        cases: the properties of the repeated cases, by node id; at least one.
    """
    rates: list[tuple[int, int, str]] = []
    for node_id, usage in cases.items():
        passed, answers = map(int, usage[RATE_PROPERTY].split("/"))
        rates.append((passed, answers, node_id))
    passed, answers = sum(rate[0] for rate in rates), sum(rate[1] for rate in rates)
    nouns = "1 case was" if len(rates) == 1 else f"{len(rates)} cases were"
    mixed = sorted((rate for rate in rates if rate[0] < rate[1]), key=lambda rate: rate[0] / rate[1])
    end = "; not all of these:" if mixed else "."
    yield f"{nouns} sent more than once, and {passed}/{answers} answers passed{end}"
    for passed, answers, node_id in mixed[:_MOST_CASES]:
        yield f"  {passed}/{answers}  {describe_rate(passed, answers, wilson_interval(passed, answers))}  {node_id}"
    if len(mixed) > _MOST_CASES:
        yield f"  and {len(mixed) - _MOST_CASES} more"

"""Cost lines: what the changes of some cases cost, in one short line.

The results of cases come in; `+12 characters (about +3 tokens); the cached prefix ends at request.system` comes out.
Pure; `review_lines`, `terminal_hooks`, `markdown` and `page_changes` show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pytest_chatprompt.results.case_result import CaseResult

_SHOWN_PLACES: Final = 2


def cost_line(results: Iterable[CaseResult], quote: Callable[[str], str] = str) -> str:
    """Say in one line what the changes of some cases cost.

    Args:
        results: of cases that differ.
        quote: makes a place what it is shown as.

    Returns:
        The line; `""` if no request became longer or shorter, and each still begins as it did.
    """
    costs = [result.cost for result in results if result.cost is not None]
    parts = []
    if any(cost.characters for cost in costs):
        tokens = _span([cost.tokens for cost in costs], "token")
        about = f" (about {tokens})" if any(cost.tokens for cost in costs) else ""
        parts.append(f"{_span([cost.characters for cost in costs], 'character')}{about}")
    places = Counter(cost.prefix_break for cost in costs if cost.prefix_break is not None)
    if places:
        parts.append(f"the cached prefix ends at {_listed_places(places, len(costs), quote)}")
    return "; ".join(parts)


def _span(numbers: Sequence[int], noun: str) -> str:
    """The smallest and the largest of some numbers, with their signs."""
    least, most = min(numbers), max(numbers)
    if least == most:
        return f"{_signed(most)} {noun if abs(most) == 1 else f'{noun}s'}"
    return f"{_signed(least)} to {_signed(most)} {noun}s"


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def _listed_places(places: Counter[str], cases: int, quote: Callable[[str], str]) -> str:
    """The most frequent places, each with its number of cases unless all cases have it."""
    shown = [
        quote(place) if count == cases else f"{quote(place)} ({count})"
        for place, count in places.most_common(_SHOWN_PLACES)
    ]
    hidden = len(places) - len(shown)
    if hidden:
        return f"{', '.join(shown)} and {hidden} more {'place' if hidden == 1 else 'places'}"
    return " and ".join(shown)

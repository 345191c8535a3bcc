"""Comparison table: providers, or runs, side by side.

Totals come in; rows of text come out: a row for each type of check, one for all checks, one for the cases, and what the
answers took. Pure; the terminal, the page and Markdown show them, and so does the comparison of two runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pytest_chatprompt.reports.provider_totals import ProviderTotal, Rate

_UNKNOWN = "unknown"
Row = tuple[str, ...]


def table_rows(totals: Sequence[ProviderTotal]) -> list[Row]:
    """The rows of the table, each with its name first.

    Args:
        totals: a column each.

    Returns:
        The rows; the first one has the names of the columns, its own name is `""`. Empty for no totals.
    """
    return [(name, *map(cell, totals)) for name, cell in _rows(totals)] if totals else []


def _rows(totals: Sequence[ProviderTotal]) -> Iterator[tuple[str, Callable[[ProviderTotal], str]]]:
    yield "", lambda total: total.provider or "no provider"
    types = list(dict.fromkeys(name for total in totals for name in total.checks))
    for name in types:
        yield name, _rate_of(name)
    if len(types) > 1:
        yield "all checks", lambda total: str(_all_checks(total))
    yield "cases", lambda total: str(total.cases)
    if any(total.answers != total.cases.total for total in totals):
        yield "answers", lambda total: str(total.answers)
    yield "median latency", lambda total: _seconds(total.median_latency_seconds)
    yield "input tokens", lambda total: _count(total.input_tokens)
    yield "output tokens", lambda total: _count(total.output_tokens)
    if any(total.cost_usd is not None for total in totals):
        yield "cost", lambda total: total.shown_cost


def _rate_of(name: str) -> Callable[[ProviderTotal], str]:
    return lambda total: str(total.checks.get(name, Rate()))


def _all_checks(total: ProviderTotal) -> Rate:
    rates = total.checks.values()
    return Rate(sum(rate.passed for rate in rates), sum(rate.total for rate in rates))


def _seconds(seconds: float | None) -> str:
    return _UNKNOWN if seconds is None else f"{seconds:.2f} s"


def _count(count: int | None) -> str:
    return _UNKNOWN if count is None else f"{count:,}"

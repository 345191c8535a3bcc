"""Totals: how the cases of each provider or run ended and what their answers took, side by side in a table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_chatprompt.results.records import CaseResult
from pytest_chatprompt.wording import dollars


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of some passed."""

    passed: int = 0
    total: int = 0

    def __str__(self) -> str:
        if not self.total:
            return "-"
        return f"{self.passed}/{self.total} ({self.passed / self.total:.0%})"


@dataclass(frozen=True, slots=True)
class ProviderTotal:
    """What the cases of one provider came to.

    Args:
        provider: its name; `""` for tests without one.
        answers: how many answers its cases got.
        cases: how many of those that were not skipped passed, those without an answer included.
        checks: for each type of check, in the order of the run, how many passed; one that could not be graded did not.
        input_tokens: of all answers that say it; `None` if none does.
        output_tokens: likewise.
        cost_usd: of all answers whose cost is known, in US dollars; replayed ones as when they were recorded. `None` if
            none is known.
        unknown_costs: how many answers have no known cost.
        median_latency_seconds: of all answers that have it; `None` if none does.
    """

    provider: str
    answers: int
    cases: Rate
    checks: Mapping[str, Rate]
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    unknown_costs: int
    median_latency_seconds: float | None

    @property
    def shown_cost(self) -> str:
        """The cost as tables show it: `$0.12`, `$0.12 + 3 unknown`, or `unknown`."""
        if self.cost_usd is None:
            return "unknown"
        return (
            f"{dollars(self.cost_usd)} + {self.unknown_costs} unknown" if self.unknown_costs else dollars(self.cost_usd)
        )


def provider_totals(results: Iterable[CaseResult]) -> list[ProviderTotal]:
    """The totals of each provider that answered at least once, in the order of the run."""
    groups: dict[str, list[CaseResult]] = {}
    for result in results:
        groups.setdefault(result.provider or "", []).append(result)
    return [total for provider, group in groups.items() for total in [run_total(provider, group)] if total is not None]


def run_total(name: str, results: Sequence[CaseResult]) -> ProviderTotal | None:
    """The total of some results of any providers, with a name in place of a provider; `None` without answers."""
    responses = [response for result in results for response in result.responses]
    if not responses:
        return None
    verdicts: dict[str, list[bool]] = {}
    for result in results:
        for check in result.all_checks:
            verdicts.setdefault(check.name, []).append(bool(check.passed))
    latencies = [response.latency_seconds for response in responses if response.latency_seconds is not None]
    costs = [response.cost_usd for response in responses if response.cost_usd is not None]
    return ProviderTotal(
        provider=name,
        answers=len(responses),
        cases=_rate([result.outcome == "passed" for result in results if result.outcome != "skipped"]),
        checks={check: _rate(passed) for check, passed in verdicts.items()},
        input_tokens=_sum(response.input_tokens for response in responses),
        output_tokens=_sum(response.output_tokens for response in responses),
        cost_usd=math.fsum(costs) if costs else None,
        unknown_costs=len(responses) - len(costs),
        median_latency_seconds=statistics.median(latencies) if latencies else None,
    )


def _rate(passed: Sequence[bool]) -> Rate:
    return Rate(sum(passed), len(passed))


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


_UNKNOWN = "unknown"
Row = tuple[str, ...]


def table_rows(totals: Sequence[ProviderTotal]) -> list[Row]:
    """The rows of the table, each with its name first; the first one names the columns. Empty for no totals."""
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

"""Totals: how the cases of each provider or run ended and what their answers took, side by side in a table."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from pytest_chatprompt.results.records import CaseResult, ResponseResult
from pytest_chatprompt.wording import dollars

Row = tuple[str, ...]


class Rate(NamedTuple):
    """How many of some passed."""

    passed: int = 0
    total: int = 0

    @classmethod
    def of(cls, passed: Sequence[bool]) -> Rate:
        """The rate of some that passed, or did not."""
        return cls(sum(passed), len(passed))

    def __str__(self) -> str:
        return f"{self.passed}/{self.total} ({self.passed / self.total:.0%})" if self.total else "-"


class Total(NamedTuple):
    """What some cases came to.

    Args:
        name: of their provider or run.
        cases: how many of those that were not skipped passed, those without an answer included.
        checks: for each type of check, in the order of the run, how many passed; one that could not be graded did not.
        responses: the answers that they got.
    """

    name: str
    cases: Rate
    checks: Mapping[str, Rate]
    responses: Sequence[ResponseResult]

    def known(self, field: str) -> list[Any]:
        """The values of a field of the answers that are known."""
        values = (getattr(response, field) for response in self.responses)
        return [value for value in values if value is not None]


def provider_totals(results: Iterable[CaseResult]) -> list[Total]:
    """The totals of each provider that answered at least once, in the order of the run."""
    groups: dict[str, list[CaseResult]] = {}
    for result in results:
        groups.setdefault(result.provider or "no provider", []).append(result)
    return [total for provider, group in groups.items() if (total := total_of(provider, group)) is not None]


def total_of(name: str, results: Sequence[CaseResult]) -> Total | None:
    """The total of some results; `None` without answers."""
    responses = [response for result in results for response in result.responses]
    verdicts: dict[str, list[bool]] = {}
    for result in results:
        for check in result.all_checks:
            verdicts.setdefault(check.name, []).append(bool(check.passed))
    cases = Rate.of([result.outcome == "passed" for result in results if result.outcome != "skipped"])
    checks = {check: Rate.of(passed) for check, passed in verdicts.items()}
    return Total(name, cases, checks, responses) if responses else None


def table_rows(totals: Sequence[Total]) -> list[Row]:
    """The rows of the table, each with its name first; the first one names the columns. Empty for no totals."""
    return [(name, *map(cell, totals)) for name, cell in _rows(totals)] if totals else []


def _rows(totals: Sequence[Total]) -> Iterator[tuple[str, Callable[[Total], str]]]:
    yield "", lambda total: total.name
    types = list(dict.fromkeys(name for total in totals for name in total.checks))
    for check in types:
        yield check, partial(_rate_of, check)
    if len(types) > 1:
        yield "all checks", lambda total: str(Rate(*map(sum, zip(*total.checks.values(), strict=True))))
    yield "cases", lambda total: str(total.cases)
    if any(len(total.responses) != total.cases.total for total in totals):
        yield "answers", lambda total: str(len(total.responses))
    yield "median latency", lambda total: _shown("{:.2f} s", statistics.median, total.known("latency_seconds"))
    yield "input tokens", lambda total: _shown("{:,}", sum, total.known("input_tokens"))
    yield "output tokens", lambda total: _shown("{:,}", sum, total.known("output_tokens"))
    if any(total.known("cost_usd") for total in totals):
        yield "cost", _cost


def _rate_of(check: str, total: Total) -> str:
    return str(total.checks.get(check, Rate()))


def _shown(form: str, combine: Callable[[list[Any]], float], values: list[Any]) -> str:
    return form.format(combine(values)) if values else "unknown"


def _cost(total: Total) -> str:
    """The cost of the answers, replayed ones as when they were recorded: `$0.12`, `$0.12 + 3 unknown`, or `unknown`."""
    costs = total.known("cost_usd")
    unknown = len(total.responses) - len(costs)
    return (dollars(math.fsum(costs)) + (f" + {unknown} unknown" if unknown else "")) if costs else "unknown"

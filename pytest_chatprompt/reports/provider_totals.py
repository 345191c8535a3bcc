"""Provider totals: how the cases of each provider ended in a live or replayed run, and what their answers took.

The results of a run come in; a row for each provider that answered comes out. Pure; `page` and `markdown` show
them as a table.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_chatprompt.results.case_result import CaseResult, ResponseResult
from pytest_chatprompt.wording import dollars


@dataclass(frozen=True, slots=True)
class ProviderTotal:
    """What the answers of one provider took.

    Args:
        provider: its name; `""` for tests without one.
        answers: how many there are.
        passed: how many of their tests passed.
        input_tokens: of all answers that say it; `None` if none does.
        output_tokens: likewise.
        cost_usd: of all answers whose cost is known, in US dollars; replayed ones as when they were recorded. `None` if
            none is known.
        unknown_costs: how many answers have no known cost.
        median_latency_seconds: of all answers that have it; `None` if none does.
    """

    provider: str
    answers: int
    passed: int
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
    """The totals of each provider, in the order of the run; empty without answers."""
    answered: dict[str, list[tuple[CaseResult, ResponseResult]]] = {}
    for result in results:
        if result.response is not None:
            answered.setdefault(result.provider or "", []).append((result, result.response))
    return [_total(provider, answers) for provider, answers in answered.items()]


def _total(provider: str, answers: Sequence[tuple[CaseResult, ResponseResult]]) -> ProviderTotal:
    responses = [response for _, response in answers]
    latencies = [response.latency_seconds for response in responses if response.latency_seconds is not None]
    costs = [response.cost_usd for response in responses if response.cost_usd is not None]
    return ProviderTotal(
        provider=provider,
        answers=len(answers),
        passed=sum(result.outcome == "passed" for result, _ in answers),
        input_tokens=_sum(response.input_tokens for response in responses),
        output_tokens=_sum(response.output_tokens for response in responses),
        cost_usd=math.fsum(costs) if costs else None,
        unknown_costs=len(responses) - len(costs),
        median_latency_seconds=statistics.median(latencies) if latencies else None,
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

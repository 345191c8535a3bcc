"""Cost estimate: what it would cost to send what a case sends.

The exchange of an offline run comes in; tokens and US dollars come out, and why a price is not known. Nothing is sent.
`runs.estimated_run` adds the estimates of a run up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_chatprompt.capture.prompt_cost import count_characters, estimate_tokens
from pytest_chatprompt.capture.recording.metering import billing_of_sent
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.providers.prices import Billing
from pytest_chatprompt.providers.response import TokenUsage

# Where neither the case nor its provider limits the answer.
ASSUMED_OUTPUT_TOKENS: Final = 1_000
# Where the APIs have `max_output_tokens`, and in which objects of a body.
_LIMITS: Final = (
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "maxOutputTokens",
    "maxTokens",
    "num_predict",
)
_CONTAINERS: Final = ("generationConfig", "inferenceConfig", "options")


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What the requests of a case cost about.

    Args:
        input_tokens: of all requests, by their characters.
        output_tokens: the most that the answers may have, or `ASSUMED_OUTPUT_TOKENS` for each.
        cost_usd: US dollars; `None` if a price is not known.
        why_unknown: why it is not; `""` if it is known.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    why_unknown: str = ""


def estimate_cost(exchange: Exchange) -> CostEstimate:
    """Estimate what an exchange would cost.

    Args:
        exchange: what a case sends.
    """
    if not exchange.sent:
        return CostEstimate(
            cost_usd=None, why_unknown="the requests of agents and plain functions are not known beforehand"
        )
    total = CostEstimate()
    for sent in exchange.sent:
        billing = _billing(exchange, sent)
        if billing is not None:
            total = _add(total, billing, sent)
    return total


def _add(total: CostEstimate, billing: Billing, sent: SentRequest) -> CostEstimate:
    output_tokens = _most_output(read_body(sent.body))
    usage = TokenUsage(input_tokens=estimate_tokens(count_characters(sent)), output_tokens=output_tokens)
    cost = billing.cost_usd(usage)
    return CostEstimate(
        total.input_tokens + (usage.input_tokens or 0),
        total.output_tokens + (usage.output_tokens or 0),
        None if cost is None or total.cost_usd is None else total.cost_usd + cost,
        total.why_unknown or billing.why_unknown(),
    )


def _billing(exchange: Exchange, sent: SentRequest) -> Billing | None:
    """Who bills a request; `None` if it is to no API of a model."""
    if exchange.prepared is not None:
        return exchange.prepared.billing
    return billing_of_sent(sent)


def _most_output(body: Any) -> int:
    """The most tokens that an answer may have, as the body says."""
    objects = [body, *(body.get(key) for key in _CONTAINERS)] if isinstance(body, Mapping) else []
    limits = [each[key] for each in objects if isinstance(each, Mapping) for key in _LIMITS if key in each]
    # Ollama takes -1 for no limit.
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), ASSUMED_OUTPUT_TOKENS)

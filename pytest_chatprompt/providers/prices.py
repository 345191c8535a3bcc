"""Prices: what the tokens of a request cost, by a provider's own price or by the list of the package `genai-prices`.

The list is the one that is installed: nothing is fetched. Loading it takes half a second, so it is imported when the
first answer is priced.
Source: `genai_prices.calc_price`, and `genai_prices.types.Usage` for the names of the counts, of genai-prices 0.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib.util import find_spec
from typing import Any, NamedTuple

from pytest_chatprompt.providers.arguments import NonNegativeNumber, check_setting
from pytest_chatprompt.providers.response import TokenUsage
from pytest_chatprompt.wording import INSTALL_PRICES


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrice:
    """The price of a model, in US dollars for a million tokens.

    Args:
        input_usd: of the input that is not cached.
        output_usd: of the output, thinking included.
        cache_read_usd: of input that is read from a cache; `None`, the default, for the price of other input.
        cache_write_usd: of input that is written to a cache; `None`, the default, likewise.

    Raises:
        ValueError: a price is not a number from 0.
    """

    input_usd: float
    output_usd: float
    cache_read_usd: float | None = None
    cache_write_usd: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            price = getattr(self, field.name)
            if price is not None or field.default is not None:
                check_setting(self, field.name, price, NonNegativeNumber)

    def cost_usd(self, usage: TokenUsage) -> float | None:
        """What a request costs in US dollars; `None` if the input or the output is not known."""
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        plain = max(usage.input_tokens - read - written, 0)
        read_usd = self.input_usd if self.cache_read_usd is None else self.cache_read_usd
        write_usd = self.input_usd if self.cache_write_usd is None else self.cache_write_usd
        dollars = plain * self.input_usd + read * read_usd + written * write_usd + usage.output_tokens * self.output_usd
        return dollars / 1_000_000


def has_price_list() -> bool:
    """Whether the package with the prices is installed."""
    return find_spec("genai_prices") is not None


def list_cost_usd(
    usage: TokenUsage, model: str, vendor: str, base_url: str, service_tier: str | None = None
) -> float | None:
    """What a request costs by the list; `None` if that lacks the model, or the counts are unknown or impossible."""
    if usage.input_tokens is None or usage.output_tokens is None or not has_price_list():
        return None
    from genai_prices import Usage, calc_price  # noqa: PLC0415
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

    # The list has our names, but for one. Cached input is a part of the input for both, and thinking one of the output.
    counts = usage.model_dump()
    counts["output_reasoning_tokens"] = counts.pop("reasoning_tokens")
    context = {"service_tier": service_tier} if service_tier else None
    # The vendor that the list knows by the URL.
    with suppress(LookupError):
        vendor = get_snapshot().find_provider(None, None, base_url or None).id
    try:
        price = calc_price(Usage(**counts), model, provider_id=vendor, price_context=context)
    except (LookupError, ValueError):
        # A model that it does not know; or more tokens from the cache than there are.
        return None
    return float(price.total_price)


class Billing(NamedTuple):
    """Who bills a request, and for what model.

    Args:
        account: whose requests cost about the same: the API's name, for messages too.
        model: the model's name, as the request has it.
        vendor: the id of the vendor in the price list; `""` for none.
        base_url: what the request is sent to; `""` if that is not known.
        price: the price that the provider was given; `None` for that of the list.
    """

    account: str
    model: str
    vendor: str = ""
    base_url: str = ""
    price: TokenPrice | None = None

    def cost_usd(self, usage: TokenUsage, reply: Any = None) -> float | None:
        """What a request costs in US dollars; `None` where the price or the usage is not known.

        The body of the `reply` may name a service tier, and the model that counts where the list does not know the one
        that was asked for.
        """
        if self.price is not None:
            return self.price.cost_usd(usage)
        said = reply if isinstance(reply, Mapping) else {}
        models, tier = (self.model, str(said.get("model") or "")), str(said.get("service_tier") or "")
        costs = (list_cost_usd(usage, each, self.vendor, self.base_url, tier) for each in models)
        return next((cost for cost in costs if cost is not None), None)

    def why_unknown(self) -> str:
        """Why the price of a request is not known in advance; `""` if it is known."""
        if self.cost_usd(TokenUsage(input_tokens=1, output_tokens=1)) is not None:
            return ""
        if not has_price_list():
            return f"the price of {self.account} is not known: the price list is not installed ({INSTALL_PRICES})"
        return (
            f"the price of the model {self.model!r} of {self.account} is not known: the price list has none; "
            "pass price=TokenPrice(input_usd=..., output_usd=...) to its provider"
        )

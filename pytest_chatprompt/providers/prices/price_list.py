"""The price list: the prices of the vendors' models, from the package `genai-prices`.

A vendor or a URL, a model and its tokens come in; US dollars come out, or `None` where the list does not know. The list
is the one that is installed: nothing is fetched. Loading it takes half a second, so it is imported when the first
answer is priced. `billing` calls it.
Source: `genai_prices.calc_price`, and `genai_prices.types.Usage` for the names of the counts, of genai-prices 0.2.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.providers.response import TokenUsage

# What the list calls our counts. Cached input is a part of the input for both, and thinking a part of the output.
_COUNTS: Final = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_tokens": "cache_read_tokens",
    "cache_write_tokens": "cache_write_tokens",
    "cache_write_1h_tokens": "cache_write_1h_tokens",
    "reasoning_tokens": "output_reasoning_tokens",
}


def has_price_list() -> bool:
    """Whether the package with the prices is installed."""
    try:
        import genai_prices  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def list_cost_usd(
    usage: TokenUsage, model: str, vendor: str, base_url: str, service_tier: str | None = None
) -> float | None:
    """What a request costs by the list.

    Args:
        usage: its tokens.
        model: the model's name.
        vendor: the vendor's id in the list, which counts where the list does not know the URL; `""` for none.
        base_url: the URL that the request is sent to; `""` if it is not known.
        service_tier: the tier that the reply names; `None` for the usual one.

    Returns:
        US dollars; `None` if the list does not know the model, the input or output is not known, or the counts
        contradict each other.
    """
    if usage.input_tokens is None or usage.output_tokens is None or not has_price_list():
        return None
    from genai_prices import Usage, calc_price  # noqa: PLC0415

    counts: dict[str, Any] = {name: getattr(usage, field) for field, name in _COUNTS.items()}
    context = {"service_tier": service_tier} if service_tier else None
    vendor = _vendor_at(base_url) or vendor
    try:
        price = calc_price(Usage(**counts), model, provider_id=vendor, price_context=context)
    except (LookupError, ValueError):
        # A model that it does not know; or more tokens from the cache than there are.
        return None
    return float(price.total_price)


def _vendor_at(base_url: str) -> str:
    """The id of the vendor that a URL belongs to; `""` if the list knows none."""
    from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415

    try:
        return get_snapshot().find_provider(None, None, base_url or None).id
    except LookupError:
        return ""

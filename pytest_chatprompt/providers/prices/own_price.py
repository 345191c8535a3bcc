"""`TokenPrice`: what the tokens of a model cost, where you know it and the price list does not.

The setting `price` of chat providers takes one. A `TokenUsage` comes in, US dollars come out. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from pytest_chatprompt.providers.response import TokenUsage

_MILLION = 1_000_000


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
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not is_number or not math.isfinite(value) or value < 0:
                raise ValueError(
                    f"TokenPrice: {field.name} must be a number from 0, in US dollars for a million tokens, "
                    f"but is {value!r}"
                )

    def cost_usd(self, usage: TokenUsage) -> float | None:
        """What a request costs.

        Args:
            usage: its tokens.

        Returns:
            US dollars; `None` if the input or the output is not known.
        """
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
        plain = max(usage.input_tokens - read - written, 0)
        read_usd = self.input_usd if self.cache_read_usd is None else self.cache_read_usd
        write_usd = self.input_usd if self.cache_write_usd is None else self.cache_write_usd
        dollars = plain * self.input_usd + read * read_usd + written * write_usd + usage.output_tokens * self.output_usd
        return dollars / _MILLION

"""`Billing`: who bills a request, and for what model.

A chat provider makes one for each request that it prepares; with the usage of the reply it gives the cost. `live` asks
it whether a request has a price before anything is sent, `items` for what a run will cost. Pure but for the price list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pytest_chatprompt.providers.prices.own_price import TokenPrice
from pytest_chatprompt.providers.prices.price_list import has_price_list, list_cost_usd
from pytest_chatprompt.providers.response import TokenUsage
from pytest_chatprompt.wording import INSTALL_PRICES

_ONE_OF_EACH: Final = TokenUsage(input_tokens=1, output_tokens=1)


@dataclass(frozen=True, slots=True)
class Billing:
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

    def cost_usd(self, usage: TokenUsage, replied_model: str = "", service_tier: str | None = None) -> float | None:
        """What a request costs.

        Args:
            usage: its tokens.
            replied_model: the model that the reply names; it counts where the list does not know the one that was
                asked for, such as a deployment.
            service_tier: the tier that the reply names; `None` for the usual one.

        Returns:
            US dollars; `None` where the price or the usage is not known.
        """
        if self.price is not None:
            return self.price.cost_usd(usage)
        for model in (self.model, replied_model):
            cost = list_cost_usd(usage, model, self.vendor, self.base_url, service_tier)
            if cost is not None:
                return cost
        return None

    def why_unknown(self) -> str:
        """Why the price of a request is not known in advance; `""` if it is known."""
        if self.cost_usd(_ONE_OF_EACH) is not None:
            return ""
        if not has_price_list():
            return f"the price of {self.account} is not known: the price list is not installed ({INSTALL_PRICES})"
        return (
            f"the price of the model {self.model!r} of {self.account} is not known: the price list has none; "
            "pass price=TokenPrice(input_usd=..., output_usd=...) to its provider"
        )

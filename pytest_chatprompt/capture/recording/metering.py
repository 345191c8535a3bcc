"""Metering: what the requests of other clients cost, for the budget of a run.

Built-in providers meter theirs in `apis.sending`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

import httpx

from pytest_chatprompt.apis.json_body import read_usage
from pytest_chatprompt.apis.vendor_api import VendorAPI
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.providers.context import Budget, Reservation, current_context
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.providers.prices import Billing
from pytest_chatprompt.providers.response import TokenUsage

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedReply

# Gemini, Bedrock and classic Azure name the model in the path.
_MODEL_IN_PATH: Final = re.compile(r"/(?:models|model|deployments)/([^/:]+|[^/]+(?=/converse))(?=[:/])")
_FIRST_ERROR: Final = 400
_CHARACTERS_PER_TOKEN: Final = 4


def billing_of(request: httpx.Request) -> Billing | None:
    """Who bills a request, and for what model; `None` if it is to no known API of a model, or metered elsewhere."""
    # Most live runs send nothing but what is metered elsewhere.
    from pytest_chatprompt.apis.reply import ModelRequest  # noqa: PLC0415
    from pytest_chatprompt.capture.offline_api import find_offline_api  # noqa: PLC0415

    sender: type[VendorAPI] | None = request.extensions.get(PROVIDER_EXTENSION)
    api = find_offline_api(request)
    if api is None or (sender is not None and current_context().budget is not None):
        return None
    model_request = ModelRequest.from_httpx(request)
    in_path = _MODEL_IN_PATH.search(request.url.raw_path.decode("ascii"))
    model = model_request.body.get("model")
    model = unquote(in_path[1]) if in_path else model if isinstance(model, str) else ""
    if sender is not None:
        account, vendor = sender.vendor, sender.price_vendor
    else:
        account, vendor = getattr(api, "name", ""), getattr(api, "price_vendor", "")
    return Billing(account, model, vendor, str(request.url.copy_with(query=None)))


def billing_of_sent(sent: SentRequest) -> Billing | None:
    """`billing_of` for a request as tests and snapshots see it."""
    return billing_of(httpx.Request("POST", sent.url, json=read_body(sent.body)))


class MeteredRequest:
    """A request of another client that is in flight, and the part of the budget that is reserved for it."""

    def __init__(self, budget: Budget | None, request: httpx.Request) -> None:
        self._billing = None if budget is None else billing_of(request)
        self._size = len(request.content) if self._billing is not None else 0
        self._reservation: Reservation | None = None
        if budget is not None and self._billing is not None:
            # Its own thread may be the one that ends those in flight.
            self._reservation = budget.reserve(self._billing)

    def finish(self, reply: RecordedReply | None, size: int) -> None:
        """Spend what the request has cost: nothing if the API was not reached, or replied with an error.

        Args:
            reply: `None` if there is none that is recorded.
            size: of the reply, as far as it was read, in bytes.
        """
        if self._reservation is None or self._billing is None:
            return
        if reply.status >= _FIRST_ERROR if reply is not None else not size:
            self._reservation.release()
            return
        usage = read_usage(None if reply is None else reply.content)
        if usage.input_tokens is None:
            usage = TokenUsage(
                input_tokens=self._size // _CHARACTERS_PER_TOKEN, output_tokens=size // _CHARACTERS_PER_TOKEN
            )
        # Embeddings have no output.
        usage = usage.model_copy(update={"output_tokens": usage.output_tokens or 0})
        self._reservation.settle(self._billing.cost_usd(usage) or 0.0)

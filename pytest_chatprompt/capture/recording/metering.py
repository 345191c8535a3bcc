"""Metering: what the requests of other clients than the built-in providers cost, for the budget of a run."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

import httpx

from pytest_chatprompt.apis.vendor_api import VendorAPI
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.providers.prices import Billing

# Gemini, Bedrock and classic Azure name the model in the path.
_MODEL_IN_PATH: Final = re.compile(r"/(?:models|model|deployments)/([^/:]+|[^/]+(?=/converse))(?=[:/])")


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

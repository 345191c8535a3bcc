"""Metering: what the requests of other clients than the built-in providers cost, for the budget of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

import httpx

from pytest_chatprompt.apis.vendor_api import VendorAPI
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.providers.prices import Billing
from pytest_chatprompt.providers.response import TokenUsage

# The names of the common APIs. Some count what concerns their cache, or thinking, beside the other tokens.
_KEYS: Final[Mapping[str, str]] = {
    "input_tokens": "input",
    "prompt_tokens": "input",
    "inputTokens": "input",
    "promptTokenCount": "input",
    "prompt_eval_count": "input",
    "output_tokens": "output",
    "completion_tokens": "output",
    "outputTokens": "output",
    "candidatesTokenCount": "output",
    "eval_count": "output",
    "cached_tokens": "read",
    "cachedContentTokenCount": "read",
    "cache_write_tokens": "written",
    "reasoning_tokens": "thoughts",
    "thinking_tokens": "thoughts",
    "cache_read_input_tokens": "read beside",
    "cacheReadInputTokens": "read beside",
    "cache_creation_input_tokens": "written beside",
    "cacheWriteInputTokens": "written beside",
    "toolUsePromptTokenCount": "tools beside",
    "thoughtsTokenCount": "thoughts beside",
    "ephemeral_1h_input_tokens": "written for an hour",
}
# Lists of parts of these counts, under the same names.
_PARTS: Final = frozenset({"cacheDetails"})


def read_usage(content: Mapping[str, Any]) -> TokenUsage:
    """The tokens that a recorded reply says it used; `None` where it does not say."""
    found: dict[str, int] = {}
    _find(content.get("events", content.get("body")), found)

    def total(*kinds: str) -> int | None:
        known = [found[kind] for kind in kinds if kind in found]
        return sum(known) if known else None

    return TokenUsage(
        input_tokens=total("input", "read beside", "written beside", "tools beside"),
        output_tokens=total("output", "thoughts beside"),
        cache_read_tokens=total("read", "read beside"),
        cache_write_tokens=total("written", "written beside"),
        cache_write_1h_tokens=total("written for an hour"),
        reasoning_tokens=total("thoughts", "thoughts beside"),
    )


def _find(data: Any, found: dict[str, int]) -> None:
    """Note the highest count of each kind: streams report how many it was so far."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            kind = _KEYS.get(key)
            if kind is not None and isinstance(value, int) and not isinstance(value, bool):
                found[kind] = max(value, found.get(kind, 0))
            elif key not in _PARTS:
                _find(value, found)
    elif isinstance(data, list):
        for item in data:
            _find(item, found)


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

"""The keyword arguments of chat providers, their defaults, and the check of a base URL.

A user's arguments come in through `ChatSettings`; `ChatProvider` checks them and keeps them as attributes. The modules
of this room call it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypedDict

import httpx
from pydantic import InstanceOf, NonNegativeInt, PositiveInt

from pytest_chatprompt.evalfile.setting_types import ReasoningEffort, Seed, Stop, TopP
from pytest_chatprompt.evalfile.strict_model import NonEmptyString
from pytest_chatprompt.providers.arguments import NonNegativeNumber
from pytest_chatprompt.providers.http.client import parsed_url
from pytest_chatprompt.providers.preflight.models import ModelLimits
from pytest_chatprompt.providers.prices import TokenPrice

# The vendors' own SDKs wait as long by default.
DEFAULT_TIMEOUT_SECONDS: Final = 600.0
# A provider takes these only if its `setting_fields` say where its API has them.
LATER_SETTINGS: Final = frozenset({"top_p", "stop", "seed", "reasoning_effort"})


class ChatSettings(TypedDict, total=False):
    """The keyword arguments that every chat provider takes, beside its own such as `model`.

    Args:
        api_key: the key; `None`, the default, reads it from the environment; `""` sends none.
        temperature: from 0; `None`, the default, leaves it out. 0 is sent.
        max_output_tokens: the largest number of tokens in the answer; `None`, the default, leaves it out, except
            for Anthropic, whose API demands one.
        top_p: from 0 to 1; `None`, the default, leaves it out. So it does in the next three.
        stop: the text, or the texts, before which the model stops.
        seed: makes answers repeatable, if the model supports it.
        reasoning_effort: how long the model thinks: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
        timeout_seconds: how long one try may take: each step of the network, and the whole reply. 600 by default.
        total_timeout_seconds: how long all tries and the waits between them may take; `None`, the default: no limit.
        max_retries: how many times a request is sent again after an error that may pass; 5 by default, 0 for never.
        extra_body: merged into the JSON body: mappings key by key, any other value replaces what is there.
        model_limits: what you know about the model; overrides what preflight knows about it.
        price: what the model costs; `None`, the default, for the price list.
        requests_per_minute: how many requests may be sent in any minute; `None`, the default: no limit.
        tokens_per_minute: how many tokens they may have, input and output together; `None`, the default: no limit.
    """

    api_key: str | None
    temperature: NonNegativeNumber | None
    max_output_tokens: NonNegativeInt | None
    top_p: TopP | None
    stop: Stop | None
    seed: Seed | None
    reasoning_effort: ReasoningEffort | None
    timeout_seconds: NonNegativeNumber
    total_timeout_seconds: NonNegativeNumber | None
    max_retries: NonNegativeInt
    extra_body: InstanceOf[Mapping[str, Any]] | None
    model_limits: InstanceOf[ModelLimits] | None
    price: InstanceOf[TokenPrice] | None
    requests_per_minute: PositiveInt | None
    tokens_per_minute: PositiveInt | None


class ChatProviderArguments(ChatSettings, total=False):
    """What a subclass passes to `ChatProvider`: the user's settings, and values of arguments of its own.

    Args:
        model: the model's name; leave it out for an API that has no models.
        api_version: the API's version; leave it out for an API that has none.
    """

    model: NonEmptyString
    api_version: NonEmptyString


def check_base_url(where: str, base_url: str) -> None:
    """Refuse a base URL that no request can be sent to.

    Args:
        where: the class or the variable that it was given to, for errors.
        base_url: must be http or https, with a host and without a query; a path is fine.

    Raises:
        ValueError: it is not such a URL.
    """
    try:
        url = parsed_url(base_url)
    except httpx.InvalidURL as error:
        raise ValueError(f"{where}: {base_url!r} is not a valid URL: {error}") from error
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise ValueError(f"{where}: {base_url!r} is not an http or https URL with a host and without a query")

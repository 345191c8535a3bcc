"""Calls a provider of your own: an object with `send`, or a plain function, sync or async.

A provider and a request come in; a `ProviderResponse` comes out, also if the provider returns a text or is async.
`provider_capture` and `items.code_case` call it.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from pytest_chatprompt.errors import ProviderError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.response import ProviderResponse

SendFunction = Callable[[ProviderRequest], Any]


def send_function(provider: object) -> SendFunction:
    """The function to call: the provider's `send`, or the provider itself.

    Raises:
        ProviderError: it has none.
    """
    if inspect.isclass(provider):
        raise ProviderError(
            f"the provider is the class {provider.__name__}; make an instance of it: {provider.__name__}(...)"
        )
    send = getattr(provider, "send", provider)
    if not callable(send):
        raise ProviderError(f"the provider is {type(provider).__name__} {provider!r}, which has no send(request)")
    return cast(SendFunction, send)


def call_provider(provider: object, request: ProviderRequest) -> ProviderResponse:
    """Let a provider send a request; an async one is awaited, and a text becomes a response.

    Args:
        provider: an object with `send`, or a plain function.
        request: what to send.

    Raises:
        ProviderError: it is not a provider, or returned something other than a response or a text.
    """
    __tracebackhide__ = True
    response = send_function(provider)(request)
    if inspect.isawaitable(response):
        response = _wait_for(response)
    if isinstance(response, ProviderResponse):
        return response
    if isinstance(response, str):
        return ProviderResponse(text=response)
    sender = f"{type(provider).__name__}.send" if hasattr(provider, "send") else "the provider"
    raise ProviderError(f"{sender} returned {type(response).__name__}, not a ProviderResponse or a str")


def _wait_for(awaitable: Awaitable[Any]) -> Any:
    """The result of an awaitable, from an event loop of its own."""
    __tracebackhide__ = True

    async def wait() -> Any:
        return await awaitable

    if not _is_in_event_loop():
        return asyncio.run(wait())
    # Asked for within an async test: its loop cannot run another one, but a thread can.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(contextvars.copy_context().run, asyncio.run, wait()).result()


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True

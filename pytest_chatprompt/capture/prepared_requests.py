"""Prepared requests: what a built-in provider sends offline, without an HTTP exchange.

A provider, a request and the stand-in of the APIs come in; an `Exchange` comes out. A built-in provider sends what it
prepares, so where nobody reads the reply or the headers, no request and no reply are made: they take most of the time
of a case. `items` asks here first, then `provider_capture`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeGuard

import httpx

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.table import is_built_in_class, is_path_of
from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.network_guard import guard_network, raise_if_blocked
from pytest_chatprompt.capture.sent_request import SentRequest, describe_request
from pytest_chatprompt.errors import CaptureError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import SendContext, use_context
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION, parsed_url
from pytest_chatprompt.providers.http.model_headers import model_headers
from pytest_chatprompt.providers.response import ProviderResponse

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI

_OFFLINE: Final = SendContext(is_offline=True, is_priced=False)
_PLACEHOLDER: Final = ProviderResponse(text="")


def capture_prepared(provider: object, request: ProviderRequest, api: EvalAPI) -> Exchange | None:
    """Capture what a built-in provider would send; `None` if it has to send in order to show that.

    Args:
        provider: any provider; one that is not built in has to send.
        request: what to send.
        api: its redactor learns the provider's key. A test that reads what comes to it needs a whole request.

    Raises:
        ProviderError: the API cannot express the request, or a setting of the provider is invalid.
        CaptureError: nothing answers the provider's URL.
    """
    __tracebackhide__ = True
    if api.is_read or not is_built_in(provider) or not _can_preview_body(provider):
        return None
    with guard_network() as attempts, use_context(_OFFLINE):
        try:
            prepared = provider.preview_body(request)
            credentials = provider.credentials()
            headers = model_headers((name.encode(), value.encode()) for name, value in credentials.items())
            sent = SentRequest.from_post(prepared.url, prepared.body, provider.base_url, headers)
            api.redactor.add_request(credentials, parsed_url(prepared.url))
        finally:
            raise_if_blocked(attempts)
    refusal = _refusal(type(provider), prepared.url)
    if refusal:
        raise CaptureError(refusal)
    response = _PLACEHOLDER
    if prepared.adjustments or prepared.findings:
        changed = {"adjustments": prepared.adjustments, "findings": prepared.findings}
        response = response.model_copy(update=changed)
    return Exchange(request, response, (sent,))


def can_prepare(provider: ChatProvider) -> bool:
    """Whether a provider sends what it prepares: built-in ones, and subclasses that do not override how they send."""
    # The methods of the object, not of its class: a test may have replaced them.
    methods = (getattr(method, "__func__", None) for method in (provider.send, provider.send_prepared))
    return tuple(methods) == (ChatProvider.send, ChatProvider.send_prepared)


def _can_preview_body(provider: ChatProvider) -> bool:
    """Whether what `preview_body` gives is what is sent: nothing is replaced, and nothing is signed."""
    # A signature is made of the whole request.
    methods = (type(provider).authorize, getattr(provider.prepare, "__func__", None))
    return methods == (ChatProvider.authorize, ChatProvider.prepare) and can_prepare(provider)


def is_built_in(provider: object) -> TypeGuard[ChatProvider]:
    """Whether a provider is exactly a built-in class, and its `send` is not replaced."""
    return is_built_in_class(type(provider)) and getattr(provider.send, "__func__", None) is ChatProvider.send  # type: ignore[attr-defined]


@lru_cache(maxsize=256)
def _refusal(sender: type[ChatProvider], url: str) -> str:
    """Why nothing answers the requests of a provider to a URL; `""` if something does."""
    if sender.offline_api and is_path_of(sender.offline_api, parsed_url(url).path):
        return ""
    from pytest_chatprompt.capture.offline_api import find_offline_api  # noqa: PLC0415
    from pytest_chatprompt.capture.refusals import unanswered_message  # noqa: PLC0415

    request = httpx.Request("POST", url, extensions={PROVIDER_EXTENSION: sender})
    return "" if find_offline_api(request) is not None else unanswered_message(describe_request(request))

"""The offline API: what answers a request in place of the API that it is for, and what that API would refuse in it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import httpx

from pytest_chatprompt.apis.chat_provider import ChatProvider, preflight_body
from pytest_chatprompt.apis.conversation import as_mapping
from pytest_chatprompt.apis.model_api import ChatAPI, ModelAPI
from pytest_chatprompt.apis.reply import ModelRequest, Reply
from pytest_chatprompt.apis.table import find_api, get_api, is_path_of, rules_of
from pytest_chatprompt.capture.audit_events import is_loopback
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION
from pytest_chatprompt.providers.http.request_body import decode_body, read_body
from pytest_chatprompt.providers.response import Finding
from pytest_chatprompt.wording import about_message


def find_offline_api(request: httpx.Request) -> ModelAPI | DeclaredReply | None:
    """What answers a request offline, by the class of its provider or by its path; `None` if it is to no known API."""
    sender: type[ChatProvider] | None = request.extensions.get(PROVIDER_EXTENSION)
    if sender is not None and request.method == "POST":
        is_its_path = bool(sender.offline_path) and re.search(sender.offline_path, request.url.path) is not None
        if is_its_path and sender.offline_reply:
            return DeclaredReply(sender)
        if sender.offline_api and (is_its_path or is_path_of(sender.offline_api, request.url.path)):
            return get_api(sender.offline_api)
    api = find_api(request.method, request.url.path, request.url.host)
    # On this machine, it may be the user's own server.
    return api if api is None or not is_loopback(request.url.host) or api.claims(request) else None


class DeclaredReply(NamedTuple):
    """The JSON body that the class of a provider declares, in place of an API of the table."""

    sender: type[ChatProvider]

    def accepts(self, reply: Reply) -> bool:  # noqa: ARG002 - an API of the table looks at it
        """Whether it can give a queued reply, which has the shape of an API of the table."""
        return bool(self.sender.offline_api)

    def answer(self, request: httpx.Request, reply: Reply | None = None) -> httpx.Response:
        """Answer a request: as the reply says, else as the provider declares."""
        if reply is not None:
            return get_api(self.sender.offline_api).answer(request, reply)
        return httpx.Response(200, json=self.sender.offline_reply, request=request)


# Settings of providers, of which your own code has none.
_SETTING_OF_PROVIDER = re.compile(", or set model_limits if .*")
_MAX_TOKENS_PARAMETER = "leave out max_tokens_parameter, so that max_completion_tokens is sent"


def preflight_requests(requests: Iterable[httpx.Request]) -> tuple[Finding, ...]:
    """What preflight finds in requests of any client, each finding once; those of a built-in provider it has seen."""
    findings = (finding for request in requests for finding in _preflight(request))
    return tuple(dict.fromkeys(Finding(each.rule, _text_for_own_code(each), each.source) for each in findings))


def _text_for_own_code(finding: Finding) -> str:
    """What to do about a finding where its place is in a body, not in an eval file."""
    text = _SETTING_OF_PROVIDER.sub("", finding.text)
    text = text.replace(_MAX_TOKENS_PARAMETER, "send max_completion_tokens in its place")
    return about_message(finding.message_number, text)


def _preflight(request: httpx.Request) -> tuple[Finding, ...]:
    api = find_api(request.method, request.url.path, request.url.host)
    if PROVIDER_EXTENSION in request.extensions or not isinstance(api, ChatAPI):
        return ()
    body = as_mapping(read_body(decode_body(request.content, request.headers)))
    model = ModelRequest(request.url.path, {}, body, "").model
    provider_class = rules_of(api.name, request.url.netloc.decode("ascii"), model)
    if provider_class is None:
        return ()
    provider = provider_class()
    provider.use_model(model)
    provider.api_version = api.api_version(request)
    return preflight_body(provider, body, api)

"""The old request: what the snapshot of a git revision shows, made ready to be sent again.

A snapshot shows a request exactly, but for media, of which it has size and hash, and for masks. The bytes of media are
those of the present request, or of a file of the revision, with that hash.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.apis.table import find_api
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.providers.http.request_body import decode_body, encode_body
from pytest_chatprompt.providers.response import OFFLINE_TEXT, Provider, ProviderResponse
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.revision import Revision
from pytest_chatprompt.text.json_data import texts_in, with_scalars
from pytest_chatprompt.text.media_types import decode_base64, has_digest, split_data_url, undescribed

# What a snapshot shows of a request.
_REQUEST_KEYS: Final = ("endpoint", "headers", "request")


class NotComparableError(Exception):
    """An old request cannot be sent again; the text says why, and is for the user."""


def request_part(shown: Mapping[str, Any]) -> dict[str, Any]:
    """A request that a snapshot shows, without what stands beside it."""
    return {key: shown[key] for key in _REQUEST_KEYS if key in shown}


def restored_exchange(
    old: Mapping[str, Any], present: Exchange, provider: Provider, masks: Masks, revision: Revision
) -> Exchange:
    """The exchange of a request that a snapshot of a revision shows; `present` is what the same test sends now.

    Raises:
        NotComparableError: it cannot be sent again.
    """
    sent = present.sent[0]
    method, _, target = old["endpoint"].partition(" ")
    _, _, present_target = sent.endpoint.partition(" ")
    apis = [find_api(method, each.partition("?")[0]) for each in (target, present_target)]
    if apis[0] is not apis[1] or (apis[0] is None and target != present_target):
        raise NotComparableError(f"at {revision.name} it went to another API: {old['endpoint']}")
    if old.get("headers", {}) != dict(sent.headers):
        names = ", ".join(sorted({*old.get("headers", {}), *sent.headers}))
        raise NotComparableError(f"at {revision.name} it had other headers than now: {names}")
    shown = masks.find_shown(texts_in(old["request"]), texts_in(sent.body))
    if shown is not None:
        raise NotComparableError(f"its snapshot at {revision.name} shows what a mask has hidden: {shown!r}")

    def find(size: int, digest: str) -> bytes:
        contents = itertools.chain(_media(sent.body, size), revision.contents(size))
        found = next((each for each in contents if has_digest(each, digest)), None)
        if found is None:
            raise NotComparableError(f"git has no file at {revision.name} with its {size} bytes, sha256:{digest}")
        return found

    body = with_scalars(old["request"], lambda each: undescribed(each, find) if isinstance(each, str) else each)
    response = ProviderResponse(text=OFFLINE_TEXT)
    if isinstance(provider, ChatProvider) and present.prepared is not None:
        prepared = provider.prepare_body(target, body)
        restored = SentRequest.of_post(prepared.url, prepared.content, provider.base_url, sent.headers)
        return Exchange(present.request, response, (restored,), prepared=prepared)
    if decode_body(encode_body(body), {}) != body:
        raise NotComparableError("what it sends is neither JSON nor text")
    if target.partition("?")[2] != present_target.partition("?")[2]:
        raise NotComparableError(f"at {revision.name} it had another query: {old['endpoint']}")
    return present._replace(response=response, sent=(replace(sent, endpoint=old["endpoint"], body=body),))


def _media(data: Any, size: int) -> Iterator[bytes]:
    """The bytes of so many bytes whose base64 stands in JSON data."""
    for text in texts_in(data):
        _, digits = split_data_url(text) or ("", text)
        # Others need not be decoded.
        if len(digits) == len(base64.b64encode(bytes(size))):
            yield decode_base64(digits) or b""

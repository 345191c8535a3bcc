"""The vendors' SDKs against the APIs of this package: transports without a network, and strict checks of their types."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import httpx2
import pydantic

from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import find_api

Answer = Callable[[httpx.Request], httpx.Response]


class Replies:
    """Answers requests, each with the next reply, and keeps them; after the last reply each gets the default one."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.requests: list[httpx.Request] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        api = find_api(request.method, request.url.path, request.url.host)
        assert api is not None, request.url
        return api.answer(request, self.replies.pop(0) if self.replies else None)

    def httpx2(self) -> httpx2.MockTransport:
        """A transport for the sync and the async clients of httpx2."""

        def handle(request: httpx2.Request) -> httpx2.Response:
            url, headers = str(request.url), dict(request.headers)
            response = self.answer(httpx.Request(request.method, url, headers=headers, content=request.content))
            return httpx2.Response(
                response.status_code, headers=dict(response.headers), stream=_Stream(response.stream)
            )

        return httpx2.MockTransport(handle)


class _Stream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._stream)

    def __aiter__(self) -> AsyncIterator[bytes]:
        iterator: AsyncIterator[bytes] = aiter(self._stream)
        return iterator


def unknown_keys(model: Any, place: str = "") -> list[str]:
    """The keys that an SDK's types do not know, wherever they stand."""
    if isinstance(model, pydantic.BaseModel):
        found = [f"{place}.{key}" for key in model.model_extra or {}]
        for name in type(model).model_fields:
            found += unknown_keys(getattr(model, name), f"{place}.{name}")
        return found
    if isinstance(model, list):
        return [key for index, item in enumerate(model) for key in unknown_keys(item, f"{place}[{index}]")]
    return []


@functools.cache
def _adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    return pydantic.TypeAdapter(kind)


def check_strictly(kind: Any, content: bytes | str) -> Any:
    """Validate JSON text by an SDK's type, strictly: right types, nothing missing, nothing unknown."""
    model = _adapter(kind).validate_json(content, strict=True)
    assert unknown_keys(model) == []
    return model


def events(response: httpx.Response) -> list[str]:
    """The data of the server-sent events of a reply."""
    text = b"".join(response.stream).decode()  # type: ignore[arg-type]
    return [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]


def ask(path: str, body: Any, reply: Reply | None = None, host: str = "https://api.example") -> httpx.Response:
    """Answer one request without any SDK."""
    return Replies(*([] if reply is None else [reply])).answer(httpx.Request("POST", f"{host}{path}", json=body))

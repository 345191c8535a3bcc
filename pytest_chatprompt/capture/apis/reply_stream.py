"""`ReplyStream`: the body of a reply that is made while it is read; and the ways in which APIs write events.

Events come in, bytes come out, in a sync or an async loop, as often as needed. `model_api` and
`recording.recorded_exchange` put it into a response.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Final

import httpx

_PIECE: Final = re.compile(r"\s*\S+|\s+$")


class ReplyStream(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The chunks of a streamed reply, made one after the other.

    Args:
        make_chunks: gives the chunks from the first one on.
    """

    def __init__(self, make_chunks: Callable[[], Iterator[bytes]]) -> None:
        self._make_chunks = make_chunks

    def __iter__(self) -> Iterator[bytes]:
        yield from self._make_chunks()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._make_chunks():
            yield chunk


def pieces(text: str) -> Iterator[str]:
    """The pieces in which a text is streamed: words, each with the white space before it."""
    return (match[0] for match in _PIECE.finditer(text))


def json_bytes(data: Any) -> bytes:
    """Compact JSON in ASCII, which can hold half a character too."""
    return json.dumps(data, separators=(",", ":")).encode("ascii")


def server_sent_event(data: Any, event: str = "") -> bytes:
    """One server-sent event (https://html.spec.whatwg.org/multipage/server-sent-events.html).

    Args:
        data: JSON data.
        event: its name; `""` for none.
    """
    return (f"event: {event}\n".encode() if event else b"") + b"data: " + json_bytes(data) + b"\n\n"


def named_events(events: Iterator[Mapping[str, Any]]) -> Iterator[bytes]:
    """Server-sent events whose data name them in `type`."""
    return (server_sent_event(event, event["type"]) for event in events)

"""One connection of a client: HTTP/1.1 in both directions, in the thread that calls `serve`.

A socket comes in. Each request goes, with its body read whole, to the function `answer`, and the response that it gives
is written as it comes, chunk by chunk. `capture_server` calls it. The protocol is h11's; this is its input and output.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

import h11
import httpx

from pytest_chatprompt.capture.clients.raw_reply import RawReply
from pytest_chatprompt.capture.server.error_reply import error_reply

# Headers that are about one connection (https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1).
HOP_BY_HOP: Final = frozenset(
    (b"connection", b"keep-alive", b"proxy-connection", b"te", b"trailer", b"transfer-encoding", b"upgrade")
)
_MAX_HEADER_BYTES: Final = 256 * 1024
_READ_BYTES: Final = 256 * 1024
# How long a refused body is read on, so that its client sees the reply and no reset of the connection.
_DRAIN_SECONDS: Final = 5.0


class ReceivedRequest(NamedTuple):
    """A request as it was received.

    Args:
        method: `POST`.
        target: path and query, or a whole URL.
        headers: names in lower case, and values, as they came.
        body: all of it, without the chunks that it came in.
    """

    method: str
    target: str
    headers: list[tuple[bytes, bytes]]
    body: bytes


class _RefusedRequestError(Exception):
    """A request that is answered without being read to its end."""

    def __init__(self, status: int, text: str) -> None:
        self.status = status
        super().__init__(text)


class _HungUpError(Exception):
    """The client closed the connection during a response."""


class ServerConnection:
    """A connection that a client has opened.

    Args:
        client: its socket.
        answer: gives the response to a request; raises nothing.
        on_error: gets the errors of responses whose stream broke off.
        max_body_bytes: a request with a longer body is refused with status 413.
    """

    def __init__(
        self,
        client: socket.socket,
        answer: Callable[[ReceivedRequest], httpx.Response],
        on_error: Callable[[Exception], None],
        max_body_bytes: int,
    ) -> None:
        self._client = client
        self._answer = answer
        self._on_error = on_error
        self._max_body_bytes = max_body_bytes
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEADER_BYTES)

    def serve(self) -> None:
        """Answer requests until the client or the server closes the connection."""
        with suppress(OSError, _HungUpError):
            while self._serve_request():
                pass

    def _serve_request(self) -> bool:
        """Answer one request; return whether the connection stays open."""
        try:
            request = self._read_request()
        except _RefusedRequestError as error:
            return self._refuse(error.status, str(error))
        except h11.RemoteProtocolError as error:
            return self._refuse(error.error_status_hint, f"this is not HTTP/1.1: {error}")
        if request is None:
            return False
        response = self._answer(request)
        try:
            self._write(RawReply(response, request.method))
        except _HungUpError:
            return False
        except Exception as error:
            self._on_error(error)
            return False
        finally:
            response.close()
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    # --- reading

    def _read_request(self) -> ReceivedRequest | None:
        """The next request; `None` if the client sends no more.

        Raises:
            _RefusedRequestError: its body is too long, or it asks for another protocol or host.
            h11.RemoteProtocolError: it is not HTTP/1.1.
        """
        head = self._next_event()
        if not isinstance(head, h11.Request):
            return None
        headers = list(head.headers)
        # The first of them, as a dict would keep the last: h11 has refused two that differ.
        length = next((int(value) for name, value in headers if name == b"content-length"), 0)
        if length > self._max_body_bytes:
            raise self._too_long()
        if head.http_version not in (b"1.0", b"1.1"):
            # The first bytes of HTTP/2 look like a request (https://www.rfc-editor.org/rfc/rfc9113#section-3.4).
            raise _RefusedRequestError(505, "HTTP/2 cannot be captured: let the client send HTTP/1.1")
        if head.method == b"CONNECT":
            raise _RefusedRequestError(
                403, "only requests to the APIs of models are captured: this server is not a proxy for other hosts"
            )
        if any(name == b"upgrade" and value.lower() == b"websocket" for name, value in headers):
            raise _RefusedRequestError(426, "WebSockets cannot be captured: send plain HTTP requests")
        chunks: list[bytes] = []
        size = 0
        while isinstance(event := self._next_event(), h11.Data):
            chunks.append(bytes(event.data))
            size += len(event.data)
            if size > self._max_body_bytes:
                raise self._too_long()
        return ReceivedRequest(head.method.decode("ascii"), head.target.decode("ascii"), headers, b"".join(chunks))

    def _next_event(self) -> object:
        while True:
            event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            if self._http.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(self._client.recv(_READ_BYTES))

    def _too_long(self) -> _RefusedRequestError:
        return _RefusedRequestError(
            413, f"the body of a captured request may have at most {self._max_body_bytes:,} bytes; send a shorter one"
        )

    # --- writing

    def _write(self, reply: RawReply) -> None:
        headers = [(name, value) for name, value in reply.headers if name.lower() not in HOP_BY_HOP]
        if reply.closes_connection:
            headers.append((b"Connection", b"close"))
        self._send(h11.Response(status_code=reply.status, headers=headers, reason=reply.reason))
        for chunk in reply.chunks() if reply.body is None else (reply.body,):
            if chunk:
                self._send(h11.Data(data=chunk))
        self._send(h11.EndOfMessage())

    def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            try:
                self._client.sendall(data)
            except OSError as error:
                raise _HungUpError from error

    def _refuse(self, status: int, text: str) -> bool:
        """Answer a request that was not read to its end, and close the connection."""
        with suppress(h11.LocalProtocolError):
            # Nothing can be answered where the reply has begun already.
            reply = RawReply(error_reply(status, text), "")
            reply.close_connection()
            self._write(reply)
        self._client.shutdown(socket.SHUT_WR)
        deadline = time.monotonic() + _DRAIN_SECONDS
        self._client.settimeout(_DRAIN_SECONDS)
        while time.monotonic() < deadline and self._client.recv(_READ_BYTES):
            pass
        return False

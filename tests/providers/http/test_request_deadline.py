"""The limits of the request that a thread sends: the connection that a cancellation ends."""

from __future__ import annotations

import socket

from pytest_chatprompt.providers.cancellation import Cancellation
from pytest_chatprompt.providers.http.request_deadline import RequestDeadline


def test_only_a_connection_that_is_used_within_a_limit_is_cancelled() -> None:
    limits, cancellation = RequestDeadline(), Cancellation()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(60)
        limits.use(ours)
        with limits.apply(60, cancellation):
            cancellation.cancel()
            ours.send(b"1")
            assert theirs.recv(1) == b"1"
            limits.use(ours)
            assert theirs.recv(1) == b""

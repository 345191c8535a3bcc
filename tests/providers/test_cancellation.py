"""The cancellation of one request, and of several that run at once."""

from __future__ import annotations

import socket

from pytest_chatprompt.providers.context import Cancellation


def test_each_of_several_requests_has_a_cancellation_of_its_own_and_all_end_with_the_whole() -> None:
    whole = Cancellation()
    first, first_peer = socket.socketpair()
    second, second_peer = socket.socketpair()
    with first, first_peer, second, second_peer, whole.part() as one, whole.part() as other:
        one.use(first)
        other.use(second)
        one.cancel()
        assert (one.cancelled.is_set(), other.cancelled.is_set(), whole.cancelled.is_set()) == (True, False, False)
        whole.cancel()
        assert other.cancelled.is_set()
        # The other side sees the end of both connections.
        assert (first_peer.recv(1), second_peer.recv(1)) == (b"", b"")


def test_a_request_that_begins_after_the_end_of_the_whole_ends_at_once() -> None:
    whole = Cancellation()
    whole.cancel()
    with whole.part() as part:
        assert part.cancelled.is_set()

"""The limits of the request that a thread sends: the connection that a cancellation ends, and the compute lock."""

from __future__ import annotations

import socket
import threading

from pytest_chatprompt.providers.cancellation import Cancellation
from pytest_chatprompt.providers.context import SendContext, use_context
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


def test_the_compute_lock_is_held_between_what_was_read_and_the_next_step() -> None:
    limits, lock = RequestDeadline(), threading.Lock()
    with use_context(SendContext(compute_lock=lock)), limits.apply(60, Cancellation()):
        assert not lock.locked()
        limits.begin_to_compute()
        assert lock.locked()
        limits.seconds_left(1, TimeoutError)
        assert not lock.locked()
        limits.begin_to_compute()
    assert not lock.locked()


def test_a_thread_without_a_compute_lock_computes_at_once() -> None:
    limits = RequestDeadline()
    with limits.apply(60, Cancellation()):
        limits.begin_to_compute()
        assert limits.seconds_left(1, TimeoutError) == 1

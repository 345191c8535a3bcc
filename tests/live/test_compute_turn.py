"""The turn to compute: threads that send one after the other, tests between them, and neither kept waiting for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from pytest_chatprompt.live import compute_turn
from pytest_chatprompt.live.compute_turn import ComputeTurn


class Turns:
    """A turn, and threads that take it once each: `took` has their names in the order in which they did."""

    def __init__(self) -> None:
        self.turn = ComputeTurn()
        self.took: list[str] = []
        self.threads: list[threading.Thread] = []

    def start(self, name: str) -> None:
        """Start a thread that sends, and wait until it has had the turn or waits for it."""
        waiting = len(self.turn._senders)
        self._start(lambda: self._send(name))
        wait_until(lambda: name in self.took or len(self.turn._senders) > waiting)

    def start_test(self, name: str) -> None:
        """Start a thread that runs a test, and wait until it has had the turn or waits for it."""
        self._start(lambda: self._run_test(name))
        wait_until(lambda: name in self.took or self.turn._test is not None)

    def end(self) -> list[str]:
        """Wait for all threads; gives `took`."""
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()
        return self.took

    def _start(self, target: Callable[[], None]) -> None:
        self.threads.append(threading.Thread(target=target, daemon=True))
        self.threads[-1].start()

    def _send(self, name: str) -> None:
        with self.turn:
            self.took.append(name)

    def _run_test(self, name: str) -> None:
        with self.turn.test_runs():
            self.took.append(name)


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Iterator[Turns]:
    """A turn that nobody has, and that is waited for as long as it takes."""
    monkeypatch.setattr(compute_turn, "_MOST_SECONDS_OF_TEST", 60.0)
    monkeypatch.setattr(compute_turn, "_MOST_SECONDS_BEFORE_TEST", 60.0)
    turns = Turns()
    yield turns
    turns.end()


def test_threads_that_send_have_the_turn_one_after_the_other_in_their_order(turns: Turns) -> None:
    with turns.turn:
        for name in ("a", "b", "c"):
            turns.start(name)
        assert turns.took == []
    assert turns.end() == ["a", "b", "c"]


def test_a_test_comes_after_the_threads_that_wait(turns: Turns) -> None:
    with turns.turn:
        turns.start_test("test")
        turns.start("a")
        turns.start("b")
    assert turns.end() == ["a", "b", "test"]


def test_threads_that_send_wait_for_the_end_of_a_test(turns: Turns) -> None:
    with turns.turn.test_runs():
        turns.start("a")
        turns.start("b")
        assert turns.took == []
    assert turns.end() == ["a", "b"]


def test_a_test_that_waits_lets_others_compute_and_goes_on_with_the_turn(turns: Turns) -> None:
    with turns.turn.test_runs():
        turns.start("a")
        with turns.turn.test_waits():
            assert turns.end() == ["a"]
            turns.start("b")
            assert turns.end() == ["a", "b"]
        turns.start("c")
        assert turns.took == ["a", "b"]
    assert turns.end() == ["a", "b", "c"]


def test_what_waits_outside_of_a_test_takes_no_turn(turns: Turns) -> None:
    with turns.turn.test_waits():
        pass
    turns.start("a")
    assert turns.end() == ["a"]


def test_a_wait_that_is_interrupted_leaves_the_turn_to_others(turns: Turns) -> None:
    with turns.turn.test_runs():
        with suppress(KeyboardInterrupt), turns.turn.test_waits():
            raise KeyboardInterrupt
        turns.start("a")
        assert turns.end() == ["a"]


def test_a_test_within_a_test_has_the_turn_at_once(turns: Turns) -> None:
    with turns.turn.test_runs():
        turns.start_test("inner")
        assert turns.end() == ["inner"]


def test_a_test_that_fails_gives_up_the_turn(turns: Turns) -> None:
    with suppress(ValueError), turns.turn.test_runs():
        raise ValueError
    turns.start("a")
    assert turns.end() == ["a"]


def test_a_long_test_keeps_no_thread_that_sends_waiting(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_turn, "_MOST_SECONDS_OF_TEST", 0.05)
    with turns.turn.test_runs():
        for name in ("a", "b", "c"):
            turns.start(name)
        assert sorted(turns.end()) == ["a", "b", "c"]
        # From now on nobody waits for it.
        turns.start("d")
        assert turns.end()[3:] == ["d"]


def test_only_one_thread_takes_the_turn_from_a_long_test(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_turn, "_MOST_SECONDS_OF_TEST", 0.2)
    take_from_test = ComputeTurn._take_from_test
    tried: list[bool] = []
    both_tried = threading.Event()

    def take_and_note(turn: ComputeTurn, granted: threading.Lock) -> bool:
        """Take it, and let the first thread keep it until the other has tried too."""
        has_turn = take_from_test(turn, granted)
        tried.append(has_turn)
        if len(tried) > 1:
            both_tried.set()
        assert both_tried.wait(60)
        return has_turn

    monkeypatch.setattr(ComputeTurn, "_take_from_test", take_and_note)
    with turns.turn.test_runs():
        turns.start("a")
        turns.start("b")
        assert sorted(turns.end()) == ["a", "b"]
    assert tried == [True, False]


def test_a_long_test_gives_up_no_turn_that_another_thread_has(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_turn, "_MOST_SECONDS_OF_TEST", 0.0)
    with turns.turn.test_runs():
        turns.turn.acquire()
    turns.start("a")
    assert turns.took == []
    turns.turn.release()
    assert turns.end() == ["a"]


def test_a_test_does_not_wait_for_long(turns: Turns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compute_turn, "_MOST_SECONDS_BEFORE_TEST", 0.01)
    with turns.turn:
        turns.start_test("test")
        assert turns.end() == ["test"]
        turns.start("a")
        assert turns.took == ["test"]
    assert turns.end() == ["test", "a"]

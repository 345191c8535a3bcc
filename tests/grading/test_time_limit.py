"""Patterns that would be searched for hours."""

from __future__ import annotations

import signal
import threading

import pytest

from pytest_chatprompt import CheckError
from pytest_chatprompt.grading import checks
from pytest_chatprompt.grading.checks import limited_time
from tests.grading.conftest import graded


@pytest.fixture(autouse=True)
def _short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_SECONDS", 0.05)


@pytest.mark.parametrize(
    ("data", "answer", "what"),
    [
        ({"type": "regex", "value": "(a+)+$"}, "a" * 60 + "b", "the regular expression"),
        ({"type": "is_json", "value": {"pattern": "(a+)+$"}}, f'"{"a" * 60}b"', "the JSON Schema"),
    ],
)
def test_a_search_that_takes_too_long_is_an_error(data: dict[str, object], answer: str, what: str) -> None:
    result = graded(data, answer)
    assert result.error == f"{what} takes more than 0.05 seconds on this text; write it so that it backtracks less"
    assert signal.getsignal(signal.SIGVTALRM) == signal.SIG_DFL
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_what_is_fast_is_not_ended() -> None:
    with limited_time("this"):
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


def test_without_a_timer_there_is_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[float] = []

    def look() -> None:
        with limited_time("this"):
            timers.append(signal.getitimer(signal.ITIMER_VIRTUAL)[0])

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    with monkeypatch.context() as context:
        context.delattr(signal, "setitimer")
        look()
    assert timers == [0.0, 0.0]


def test_the_limit_is_ten_seconds_of_computing_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    with pytest.raises(CheckError, match="this takes more than 10 seconds"), limited_time("this"):
        signal.raise_signal(signal.SIGVTALRM)

"""Functions that `python` checks name."""

from __future__ import annotations

from typing import Any

CONSTANT = 3


class Callable:
    """Made, not called."""

    def __init__(self, case: Any, response: Any) -> None:
        self.case, self.response = case, response


class Politeness:
    """Holds a function."""

    @staticmethod
    def holds(_case: Any, response: Any) -> bool:
        return "please" in response.text


def accept(case: Any, response: Any) -> bool:
    return bool(case.id == "a" and response.text == "x")


def accept_without_a_word(case: Any, response: Any) -> None:
    """Nothing to say."""


def refuse(_case: Any, _response: Any) -> bool:
    return False


def assert_that_it_is_short(_case: Any, response: Any) -> None:
    assert len(response.text) < 100, "too long"


def assert_in_silence(_case: Any, _response: Any) -> None:
    raise AssertionError


def assert_that_it_is_cold(_case: Any, sent: Any) -> None:
    assert sent.data["temperature"] == 0


def crash(_case: Any, _response: Any) -> None:
    raise KeyError("colour")


def give_a_number(_case: Any, _response: Any) -> float:
    return 0.7


async def be_asynchronous(_case: Any, _response: Any) -> bool:
    return True


def take_too_few() -> bool:
    return True


def refuse_with_words(_case: Any, _response: Any) -> None:
    raise AssertionError("too polite")


def give_200_characters(_case: Any, _response: Any) -> str:
    return "x" * 198


def give_201_characters(_case: Any, _response: Any) -> str:
    return "x" * 199

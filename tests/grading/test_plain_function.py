"""Which functions may be called in a thread, and which checks."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.grading.answer_checks import Python
from pytest_chatprompt.grading.check import Check, Verdict
from pytest_chatprompt.grading.parsing import is_project_check, may_run_in_thread
from pytest_chatprompt.grading.plain_function import is_plain
from pytest_chatprompt.grading.text_checks import Regex


def plain(case: object, response: object) -> None:
    """Do nothing."""


@functools.wraps(plain)
def wrapped(*arguments: object) -> None:
    """Do nothing."""


@pytest.mark.thread_unsafe
def unsafe() -> None:
    """Do nothing."""


@pytest.mark.soak
def marked() -> None:
    """Do nothing."""


def generator() -> Iterator[None]:
    yield


@functools.wraps(generator)
def wrapped_generator() -> object:
    return generator()


async def coroutine() -> None:
    """Do nothing."""


async def async_generator() -> AsyncIterator[None]:
    yield


class Grader:
    def method(self) -> None:
        """Do nothing."""

    def __call__(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    "function", [plain, wrapped, marked, lambda: None], ids=["plain", "wrapped", "with another mark", "lambda"]
)
def test_a_function_is_plain(function: object) -> None:
    assert is_plain(function)


@pytest.mark.parametrize(
    "function",
    [
        unsafe,
        generator,
        wrapped_generator,
        coroutine,
        async_generator,
        Grader().method,
        Grader(),
        Grader,
        functools.partial(plain),
        functools.cache(plain),
        print,
        None,
    ],
    ids=[
        "with the mark",
        "generator",
        "that gives a generator",
        "coroutine",
        "async generator",
        "method",
        "callable object",
        "class",
        "partial",
        "cached",
        "built-in",
        "nothing",
    ],
)
def test_anything_else_is_not(function: object) -> None:
    assert not is_plain(function)


class Own(Check):
    def grade(self, case: EvalCase, response: Any) -> Verdict:  # noqa: ARG002
        return Verdict(True, "is graded")


class Unsafe(Own):
    @pytest.mark.thread_unsafe
    def grade(self, case: EvalCase, response: Any) -> Verdict:
        return super().grade(case, response)


def test_checks_that_call_code_of_others_are_python_and_those_of_packages() -> None:
    assert is_project_check(Python)
    assert is_project_check(Own)
    assert not is_project_check(Regex)


def test_a_check_may_run_in_a_thread_if_what_it_calls_is_plain() -> None:
    assert may_run_in_thread(Own())
    assert not may_run_in_thread(Unsafe())
    assert may_run_in_thread(Python(value=f"{__name__}:plain"))
    assert not may_run_in_thread(Python(value=f"{__name__}:unsafe"))
    # The case reports what is wrong with these.
    assert not may_run_in_thread(Python(value=f"{__name__}:missing"))
    assert not may_run_in_thread(Python(value="no_such_module:grade"))

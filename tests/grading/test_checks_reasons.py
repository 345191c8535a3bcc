"""The reasons that checks give."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import ProviderResponse, Verdict
from tests.grading.conftest import calling, graded, taking

THIS = "tests.grading.python_functions"
SCHEMA = {"type": "integer"}
CALLS = calling(("f", '{"a": 1}'), ("g", "{}"), ("f", '{"a": 2}'))


@pytest.mark.parametrize(
    ("check", "answer", "verdict"),
    [
        (("equals", "a"), "a", Verdict(True, "equals it")),
        (("equals", "abc"), "abd", Verdict(False, "differs from it at character 3", 2)),
        (("equals", "abc"), "ab", Verdict(False, "differs from it at character 3", 2)),
        (("equals", "ab"), "abc", Verdict(False, "differs from it at character 3", 2)),
        (("equals", "a"), "", Verdict(False, "differs from it at character 1", 0)),
        (("contains", "b"), "abab", Verdict(True, "contains it at character 2", 1)),
        (("contains", "a"), "aa", Verdict(True, "contains it at character 1", 0)),
        (("contains", "c"), "ab", Verdict(False, "does not contain it")),
        (("icontains", "B"), "abab", Verdict(True, "contains it at character 2", 1)),
        (("icontains", "b"), "ABAB", Verdict(True, "contains it at character 2", 1)),
        (("icontains", "c"), "ab", Verdict(False, "does not contain it")),
        (("contains_any", ["c", "b", "a"]), "abab", Verdict(True, "contains 'b' at character 2", 1)),
        (("contains_any", ["c", "d"]), "ab", Verdict(False, "contains none of them")),
        (("icontains_any", ["C", "B"]), "abab", Verdict(True, "contains 'B' at character 2", 1)),
        (("icontains_any", ["c"]), "ab", Verdict(False, "contains none of them")),
        (("contains_all", ["a", "b"]), "ab", Verdict(True, "contains all of them")),
        (("contains_all", ["c", "b", "d"]), "ab", Verdict(False, "does not contain 'c', 'd'")),
        (("icontains_all", ["A", "B"]), "ab", Verdict(True, "contains all of them")),
        (("icontains_all", ["C", "B", "D"]), "ab", Verdict(False, "does not contain 'C', 'D'")),
        (("starts_with", "a"), "ab", Verdict(True, "starts with it")),
        (("starts_with", "b"), "ab", Verdict(False, "does not start with it")),
        (("regex", "b+"), "abbabb", Verdict(True, "has the match 'bb' at character 2", 1)),
        (("regex", "x+"), "x" * 60, Verdict(True, f"has the match '{'x' * 60}' at character 1", 0)),
        (("regex", "x+"), "x" * 61, Verdict(True, f"has the match '{'x' * 60}…' at character 1", 0)),
        (("regex", "c"), "ab", Verdict(False, "has no match")),
        (("is_json", None), "1", Verdict(True, "is JSON")),
        (("is_json", None), "", Verdict(False, "is not JSON: Expecting value: line 1 column 1 (char 0)")),
        (("is_json", None), "NaN", Verdict(False, "is not JSON: JSON has no NaN")),
        (("is_json", None), "\n```json\n1\n```", Verdict(False, "is not JSON: around it is a code fence")),
        (("is_json", SCHEMA), "1", Verdict(True, "is JSON that fits the schema")),
        (("is_json", SCHEMA), '"a"', Verdict(False, "does not fit the schema at $: 'a' is not of type 'integer'")),
        (("tool_called", "f"), CALLS, Verdict(True, 'calls f({"a": 1})')),
        (("tool_called", "f", {"a": 2}), CALLS, Verdict(True, 'calls f({"a": 2})')),
        (("tool_called", "f", {"a": 3}), CALLS, Verdict(False, 'calls f({"a": 1}), f({"a": 2})')),
        (("tool_called", "h"), CALLS, Verdict(False, "calls f, g and not h")),
        (("tool_called", "h"), "h", Verdict(False, "calls no tool")),
        (("max_latency_seconds", 2), taking(seconds=1.987), Verdict(True, "took 1.99 seconds")),
        (("max_latency_seconds", 2), taking(seconds=2.5), Verdict(False, "took 2.50 seconds")),
        (("max_output_tokens", 2), taking(tokens=2), Verdict(True, "has 2 tokens")),
        (("max_output_tokens", 2), taking(tokens=3), Verdict(False, "has 3 tokens")),
        (("max_cost_usd", 2), taking(dollars=1.5), Verdict(True, "cost $1.50")),
        (("max_cost_usd", 1), taking(dollars=1.5), Verdict(False, "cost $1.50")),
        (("python", f"{THIS}:accept"), "x", Verdict(True, "is accepted: the function returned True")),
        (("python", f"{THIS}:accept_without_a_word"), "x", Verdict(True, "is accepted: the function returned None")),
        (("python", f"{THIS}:refuse"), "x", Verdict(False, "is refused: the function returned False")),
        (("python", f"{THIS}:assert_in_silence"), "x", Verdict(False, "is refused by an assertion")),
        (("python", f"{THIS}:refuse_with_words"), "x", Verdict(False, "is refused: too polite")),
    ],
)
def test_the_words_of_a_verdict(check: tuple[Any, ...], answer: Any, verdict: Verdict) -> None:
    assert graded(check_data(*check), answer).verdict == verdict


@pytest.mark.parametrize(
    ("check", "error"),
    [
        (("max_latency_seconds", 2), "the provider does not report how long the answer took"),
        (("max_output_tokens", 2), "the provider does not report how many tokens the answer has"),
        (
            ("max_cost_usd", 2),
            "it is not known what the answer cost: its provider does not say how many tokens it took, or no price of "
            "its model is known; prices come with pip install 'pytest-chatprompt[prices]'",
        ),
        (
            ("python", f"{THIS}:give_a_number"),
            "the function returned 0.7; return True or None to pass, False to fail",
        ),
        (
            ("python", f"{THIS}:be_asynchronous"),
            "the function returned a coroutine; return True or None to pass, False to fail",
        ),
        (
            ("python", f"{THIS}:give_200_characters"),
            f"the function returned '{'x' * 198}'; return True or None to pass, False to fail",
        ),
        (
            ("python", f"{THIS}:give_201_characters"),
            f"the function returned '{'x' * 199}…; return True or None to pass, False to fail",
        ),
        (("python", f"{THIS}:CONSTANT"), f"{THIS}:CONSTANT is not a function"),
        (
            ("python", f"{THIS}:nothing"),
            f"the function cannot be imported: AttributeError: module '{THIS}' has no attribute 'nothing'",
        ),
    ],
)
def test_the_words_of_a_check_that_cannot_be_graded(check: tuple[Any, ...], error: str) -> None:
    answer = ProviderResponse(text="x")
    result = graded(check_data(*check), answer)
    assert (result.error, result.verdict, result.passed, result.subject) == (error, None, False, answer)
    assert result.check.written.type == check[0]


def test_a_crash_is_told_with_its_place() -> None:
    answer = ProviderResponse(text="x")
    result = graded(check_data("python", f"{THIS}:crash"), answer)
    assert result.error.startswith("crashed with KeyError: 'colour' (python_functions.py, line ")
    assert (result.verdict, result.subject, result.check.written.type) == (None, answer, "python")


def check_data(name: str, value: Any, arguments: Any = None) -> dict[str, Any]:
    """A check as an author writes it."""
    data = {"type": name, "value": value, "arguments": arguments}
    return {key: each for key, each in data.items() if each is not None}

"""`max_characters` and `max_tokens`: how long what is sent may be."""

from __future__ import annotations

import pytest

from pytest_chatprompt import SentData
from pytest_chatprompt.apis.conversation import PromptPart
from pytest_chatprompt.errors import EvalFileError
from tests.grading.conftest import graded

TOOLS, SYSTEM = PromptPart("tools", 1200, 300, True), PromptPart("system text", 4, 1, True)
COUNTED = PromptPart("last turn", 10, 3, False)


@pytest.mark.parametrize(
    ("name", "value", "requests", "passed", "reason"),
    [
        ("max_characters", 1204, [[TOOLS, SYSTEM]], True, "has 1,204 characters: tools 1,200, system text 4"),
        ("max_characters", 1203, [[TOOLS, SYSTEM]], False, "has 1,204 characters: tools 1,200, system text 4"),
        ("max_tokens", 301, [[TOOLS, SYSTEM]], True, "has about 301 tokens: tools 300, system text 1"),
        ("max_tokens", 300, [[TOOLS, SYSTEM]], False, "has about 301 tokens: tools 300, system text 1"),
        ("max_tokens", 2, [[COUNTED]], False, "has 3 tokens: last turn 3"),
        ("max_characters", 9, [[SYSTEM], [COUNTED], [SYSTEM]], False, "has 10 characters in request 2: last turn 10"),
        ("not_max_characters", 9, [[COUNTED]], True, "has 10 characters: last turn 10"),
        ("max_tokens", 1, [], True, "has 0 tokens"),
        ("max_characters", 1, [[]], True, "has 0 characters"),
    ],
)
def test_the_longest_request_counts_and_the_reason_says_what_fills_it(
    name: str, value: int, requests: list[list[PromptPart]], passed: bool, reason: str
) -> None:
    verdict = graded({"type": name, "of": "request", "value": value}, SentData({}, lambda: requests)).verdict
    assert verdict is not None
    assert (verdict.passed, verdict.reason) == (passed, reason)


@pytest.mark.parametrize("name", ["max_tokens", "max-characters"])
@pytest.mark.parametrize("of", [{}, {"of": "answer"}])
def test_they_look_at_what_is_sent_alone(name: str, of: dict[str, str]) -> None:
    with pytest.raises(EvalFileError) as caught:
        graded({"type": name, **of, "value": 1}, "an answer")
    assert f"'{name}' looks at what is sent only; add 'of: request'" in str(caught.value)


@pytest.mark.parametrize("value", [0, -1, 1.5, "1000", True, None])
def test_the_value_is_a_whole_number(value: object) -> None:
    with pytest.raises(EvalFileError, match="'value' must be a whole number, 1 or more, but is "):
        graded({"type": "max_tokens", "of": "request", "value": value}, SentData({}))

"""The cost of changes: what a snapshot and what is sent now have to show for it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from pytest_chatprompt.reports.review import change_cost
from pytest_chatprompt.results.records import ChangeCost
from tests.runs.conftest import HELLO, Run


def request(text: str, *more: str, endpoint: str = "POST /v1/messages") -> dict[str, Any]:
    contents = [{"role": "user", "content": each} for each in ("hi", *more)]
    return {"endpoint": endpoint, "request": {"model": "m", "system": text, "messages": contents}}


@pytest.mark.parametrize(
    ("stored", "sent", "expected"),
    [
        pytest.param(
            request("Keep 14 days."),
            request("Keep 30 days at most."),
            ChangeCost(
                characters=8, tokens=2, parts={"system text": 8}, prefix_break="request.system", prefix_characters=5
            ),
            id="a text that changed",
        ),
        pytest.param(
            request("x"),
            request("x", "more"),
            ChangeCost(characters=4, tokens=1, parts={"earlier turns": 2, "last turn": 2}),
            id="a longer conversation",
        ),
        pytest.param(
            request("x"),
            request("x", endpoint="POST /v2/messages"),
            # Of an API that nobody knows the keys of the body are the parts.
            ChangeCost(parts={"messages": 2, "system": 1, "system text": -1, "last turn": -2}, prefix_break="endpoint"),
            id="elsewhere",
        ),
        pytest.param(
            {"requests": [request("x"), request("y")]},
            {"requests": [request("x"), request("z")]},
            ChangeCost(prefix_break="requests[1].request.system"),
            id="the second of several requests",
        ),
        pytest.param(
            {"requests": [request("x"), request("yyyy")]},
            {"requests": [request("x")]},
            ChangeCost(characters=-6, tokens=-2, parts={"system text": -4, "last turn": -2}),
            id="a request that is gone",
        ),
        pytest.param(
            {"question": "a", "messages": [{"role": "user", "content": "a"}]},
            {"question": "a", "messages": [{"role": "user", "content": "bbbbb"}]},
            ChangeCost(characters=4, tokens=1, parts={"last turn": 4}),
            id="a plain function, which sends nothing itself",
        ),
        pytest.param(
            {"argv": ["agent"], "prompt": "a", "requests": "?"},
            {"argv": ["agent"], "prompt": "bbbbb"},
            ChangeCost(characters=4, tokens=1, parts={"prompt": 4}),
            id="the document of an agent",
        ),
        pytest.param(
            {"argv": ["agent", "--rules=Be kind."], "prompt": "a", "files": ["a.md"]},
            {"argv": ["agent", "--rules=Be kind and brief."], "prompt": "a", "files": ["a.md", "b.md"]},
            ChangeCost(characters=14, tokens=4, parts={"argv": 10, "files": 4}),
            id="the arguments and files of an agent",
        ),
        pytest.param(
            {"argv": ["agent"]},
            {"argv": ["agent", "--fast"]},
            ChangeCost(characters=6, tokens=2, parts={"argv": 6}),
            id="arguments alone",
        ),
        pytest.param({"a": 1}, {"a": 2}, None, id="other data"),
        pytest.param("a: [", request("x"), None, id="a snapshot that cannot be read"),
        pytest.param({"requests": ["x", {"endpoint": 1}]}, request("x"), None, id="no requests"),
    ],
)
def test_the_cost_is_of_what_both_show(stored: Any, sent: Any, expected: ChangeCost | None) -> None:
    assert change_cost(stored, sent) == expected


def test_a_snapshot_with_keys_that_are_no_texts_has_a_cost() -> None:
    stored = {"endpoint": "POST /own", "request": {1: "a", "prompt": "b", date(2020, 1, 1): "c"}}
    assert change_cost(stored, {"endpoint": "POST /own", "request": {"prompt": "bb"}}) == ChangeCost(
        characters=-1, parts={"1": -1, "2020-01-01": -1, "prompt": 1}, prefix_break="request.[1]"
    )


def test_the_one_case_that_differs_has_a_line_below_its_failure(run: Run) -> None:
    run.write({"a.eval.yaml": f"provider: openai{HELLO}"})
    run.update()
    run.write({"a.eval.yaml": f"provider: openai{HELLO}".replace("content: hello", "content: hello there")})
    cost = "This is change 19e0: +6 characters (about +2 tokens): last turn"
    # The new text begins with all of the old one: nothing breaks.
    assert cost in run().outlines
    assert cost not in run("--no-summary").outlines

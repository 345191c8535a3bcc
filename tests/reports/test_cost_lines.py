"""Cost lines: what is said of the costs of cases, and where nothing is to be said."""

from __future__ import annotations

import pytest

from pytest_chatprompt.reports.review import cost_line
from pytest_chatprompt.results.records import CaseResult, ChangeCost, SnapshotResult


def result(cost: ChangeCost | None) -> CaseResult:
    snapshot = SnapshotResult(path="s", state="different", cost=cost)
    return CaseResult(node_id="n", path="p", line=1, outcome="failed", snapshot=snapshot)


def cost(characters: int, place: str | None = None) -> ChangeCost:
    return ChangeCost(characters=characters, tokens=round(characters / 4), prefix_break=place)


@pytest.mark.parametrize(
    ("costs", "line"),
    [
        ([], ""),
        ([None], ""),
        ([cost(0)], ""),
        ([cost(1)], "+1 character"),
        ([cost(-4)], "-4 characters (about -1 token)"),
        ([cost(40_000), cost(40_000)], "+40,000 characters (about +10,000 tokens)"),
        ([cost(-3), cost(0), cost(40)], "-3 to +40 characters (about -1 to +10 tokens)"),
        ([cost(0, "request.system")], "the cached prefix ends at request.system"),
        ([cost(1, "a"), cost(1, "a")], "+1 character; the cached prefix ends at a"),
        ([cost(0, "a"), cost(0, "b"), cost(0, "b"), None], "the cached prefix ends at b (2) and a (1)"),
        ([cost(0, "a"), cost(0)], "the cached prefix ends at a (1)"),
        (
            [cost(0, place) for place in "aab"] + [cost(0, "c")],
            "the cached prefix ends at a (2), b (1) and 1 more place",
        ),
        ([cost(0, place) for place in "abcd"], "the cached prefix ends at a (1), b (1) and 2 more places"),
    ],
)
def test_the_line_says_what_is_to_be_said(costs: list[ChangeCost | None], line: str) -> None:
    assert cost_line(map(result, costs)) == line


def test_places_are_quoted_as_the_caller_wants() -> None:
    assert cost_line([result(cost(0, "a"))], lambda place: f"`{place}`") == "the cached prefix ends at `a`"


def test_a_case_that_compared_nothing_has_no_cost() -> None:
    assert cost_line([CaseResult(node_id="n", path="p", line=1, outcome="error")]) == ""

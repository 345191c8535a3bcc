"""The terminal: what stands in place of a failure that was shown already."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest._io import TerminalWriter

from pytest_chatprompt.reports.review import Review
from pytest_chatprompt.reports.terminal_hooks import shortened
from tests.reports.test_review_changes import differs

FIRST, SECOND = (differs(name, {"a": 1}, {"a": 2}) for name in ("first", "x"))
DIFFERS = """\
a.yaml:1:1: case 'x': what is sent to openai is not what it was

__snapshots__/x.yaml
- a whole diff

To accept it: pytest"""
TOLD = "nothing but change 8e3d, shown with a.eval.yaml::first and at the end"
MARKED = DIFFERS.replace("- a whole diff", "@@ a @@\n- a: 1\n+ a: 2")


def failure(text: str, style: str = "value") -> Any:
    """What pytest has to show of a failure."""
    entry = SimpleNamespace(style=style, lines=text.split("\n"))
    crash = SimpleNamespace(message="a: 1 → 2")
    traceback = SimpleNamespace(reprentries=[entry])
    return SimpleNamespace(reprcrash=crash, reprtraceback=traceback, sections=[("captured", "output", "-")])


@pytest.mark.parametrize(
    ("results", "text", "shown"),
    [
        pytest.param([FIRST, SECOND], DIFFERS, f"a.yaml:1:1: case 'x': {TOLD}", id="one line"),
        pytest.param([SECOND], DIFFERS, MARKED, id="marked lines"),
        pytest.param([FIRST, SECOND], "something\nelse", "something\nelse", id="another failure, told"),
        pytest.param([SECOND], "something\nelse", "something\nelse", id="another failure, with lines"),
    ],
)
def test_a_failure_is_shown_by_what_is_new_in_it(results: list[Any], text: str, shown: str) -> None:
    file = io.StringIO()
    writer = TerminalWriter(file)
    writer.fullwidth = 20
    representation = failure(text)
    shown_case = shortened(representation, Review(results), SECOND)
    shown_case.toterminal(writer)
    assert file.getvalue().splitlines()[:-2] == shown.splitlines()
    assert shown_case.reprcrash.message == ("change 8e3d" if len(results) > 1 else "a: 1 → 2")
    # What other plugins have got stays as it is.
    assert representation.reprcrash.message == "a: 1 → 2"


@pytest.mark.parametrize("representation", ["a text", SimpleNamespace(reprtraceback=None), failure(DIFFERS, "long")])
def test_what_is_no_failure_of_a_comparison_stays(representation: Any) -> None:
    assert shortened(representation, Review([SECOND]), SECOND) is representation

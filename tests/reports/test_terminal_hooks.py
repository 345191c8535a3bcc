"""The terminal: what stands in place of a failure that was shown already."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest._io import TerminalWriter

from pytest_chatprompt.reports.review import StyledLine
from pytest_chatprompt.reports.terminal_hooks import _shown
from tests.reports.test_review_changes import differs

PATH = "__snapshots__/x.yaml"
DIFFERS = f"a.yaml:1:1: case 'x': what is sent to openai is not what it was\n\n{PATH}\n- a\n+ b\n\nTo accept it: pytest"
LINES: list[StyledLine] = [(("- A", "removed"),), (("+ B", "added"),)]


def written(text: str, shown: list[StyledLine] | str) -> list[str]:
    entry = SimpleNamespace(style="value", lines=text.split("\n"))
    representation: Any = SimpleNamespace(
        reprcrash=None, reprtraceback=SimpleNamespace(reprentries=[entry]), sections=[("captured", "output", "-")]
    )
    file = io.StringIO()
    writer = TerminalWriter(file)
    writer.fullwidth = 20
    _shown(representation, differs("x", {"a": 1}, {"a": 2}), shown).toterminal(writer)
    return file.getvalue().splitlines()[:-2]


@pytest.mark.parametrize(
    ("text", "shown", "lines"),
    [
        pytest.param(DIFFERS, "told", ["a.yaml:1:1: case 'x': told"], id="one line"),
        pytest.param(
            DIFFERS, LINES, [*DIFFERS.split("\n")[:3], "- A", "+ B", "", "To accept it: pytest"], id="marked lines"
        ),
        pytest.param("something\nelse", "told", ["something", "else"], id="another failure, told"),
        pytest.param("something\nelse", LINES, ["something", "else"], id="another failure, with lines"),
    ],
)
def test_a_failure_is_shown_by_what_is_new_in_it(text: str, shown: Any, lines: list[str]) -> None:
    assert written(text, shown) == lines


@pytest.mark.parametrize("representation", ["a text", SimpleNamespace(reprtraceback=None)])
def test_what_is_no_failure_of_a_comparison_stays(representation: Any) -> None:
    shown: Any = "told" if isinstance(representation, str) else []
    assert _shown(representation, differs("x", {"a": 1}, {"a": 2}), shown) is representation

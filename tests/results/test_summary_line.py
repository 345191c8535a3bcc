"""The summary line: what changed, in one short line."""

from __future__ import annotations

import pytest

from pytest_chatprompt.results.texts import summary_line
from pytest_chatprompt.snapshots.stored import Change


def changed(place: str, removed: str, added: str) -> Change:
    return Change(place, (removed,), (added,))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (changed("a", "Send it back within 14 days.", "Send it back within 30 days."), 'a: "14 days" → "30 days"'),
        (changed("a", "Be kind.", "Be very kind."), 'a: "Be" → "Be very"'),
        (changed("a", "before something after", "before anything after"), 'a: "something" → "anything"'),
        (changed("a", "one", "two"), 'a: "one" → "two"'),
        (changed("request.n[0].top_p", "top_p: 1", "top_p: 0.5"), "request.n[0].top_p: 1 → 0.5"),
        (Change("a", ("x 1", "y"), ("x 2", "z")), 'a: "x 1…" → "x 2…"'),
        (Change("a", (), ("Be kind.",)), 'a: added "Be kind."'),
        (Change("a", ("", "Be kind.", "Be brief."), ()), 'a: removed "Be kind.…"'),
        (Change("a.seed", (), ("seed: 1",)), "a.seed: added 1"),
        (Change("a.seed", ("seed: 1",), ()), "a.seed: removed 1"),
        (Change("messages", moved=("one", "two")), 'messages: moved "one…"'),
        (Change("", moved=("a", "b")), 'the snapshot: moved "a…"'),
        (Change("a", (), ("x" * 50,)), f'a: added "{"x" * 39}…"'),
        (Change("a", (), ("x\ty\u200b",)), 'a: added "x\\ty\\u200b"'),
        (Change("a", (), ("",)), 'a: added ""'),
        (Change("a", ("x", "y"), ("x", "z")), 'a: "x…" → "x…"'),
    ],
)
def test_a_change_is_one_line(change: Change, line: str) -> None:
    assert summary_line([change]) == line


def test_the_first_is_shown_and_others_are_counted_once() -> None:
    first = [changed(place, "in 14 days", "in 30 days") for place in ("question", "request.system")]
    others = [changed(place, "a", "b") for place in ("question", "request.messages[0].content")]
    assert summary_line(first) == 'request.system: "14 days" → "30 days"'
    assert summary_line(first[::-1]) == summary_line(first)
    assert summary_line([*first, *others]) == 'request.system: "14 days" → "30 days" and 1 more'

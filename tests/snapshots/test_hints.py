"""Hints: what a difference may come from, beside a change of the prompt."""

from __future__ import annotations

import ast
import re
from typing import Any

import pytest

from pytest_chatprompt.snapshots.diff import Comparison, compare_snapshots
from pytest_chatprompt.snapshots.hints import KINDS, mask_hint, order_hint
from pytest_chatprompt.snapshots.layout import dump

ADVICE = "If it differs from run to run, mask it: let the fixture eval_masks give "


def hint_for(stored: str, sent: str) -> str:
    before, after = ({"request": {"messages": [{"role": "user", "content": text}]}} for text in (stored, sent))
    return mask_hint(compare_snapshots(dump(before), dump(after)).changes)


@pytest.mark.parametrize(
    ("stored", "sent", "noun"),
    [
        pytest.param("Today is 2026-11-22.", "Today is 2026-11-23.", "a date", id="a date"),
        pytest.param("Today is 22.11.2026.", "Today is 23.11.2026.", "a date", id="a date with points"),
        pytest.param("It is 11/22/2026", "It is 1/3/2027", "a date", id="a date with slashes"),
        pytest.param("Sunday, November 22, 2026", "Monday, November 23, 2026", "a date", id="a date in words"),
        pytest.param("on 22 Nov 2026", "on 1 December 2026", "a date", id="the day first"),
        pytest.param("at 10:15", "at 9:05 PM", "a time", id="a time"),
        pytest.param("2026-11-22T10:15:01.5Z", "2026-11-23 09:00:00+00:00", "a time", id="a date with its time"),
        pytest.param("now: 1764000000", "now: 1764000123", "a time", id="seconds since 1970"),
        pytest.param("now 1764000000123", "now 1764000123456", "a time", id="milliseconds"),
        pytest.param(
            "id 2f1c6b1e-6f0e-4f5e-9a55-0d1f5ad0a0aa",
            "id 0b0c6b1e-6f0e-4f5e-9a55-0d1f5ad0a0bb",
            "an id",
            id="a uuid",
        ),
        pytest.param("commit 9f8e7d6c", "commit 00ab12cd34", "an id", id="hex digits"),
        pytest.param("see req_a1B2c3D4", "see req_Z9y8X7w6", "an id", id="an id with a prefix"),
        pytest.param("order #1041 came", "order #1042 came", "a number that counts", id="a number sign"),
        pytest.param("ticket-7: late", "ticket-8: late", "a number that counts", id="a counter"),
        pytest.param("session 9", "session 10", "a number that counts", id="a counter after a blank"),
        pytest.param("in /tmp/ab12/x.txt:", "in /tmp/zz/x.txt:", "a path", id="a temporary path"),
        pytest.param("in C:\\Users\\a\\x", "in C:\\Users\\b\\x", "a path", id="a path of Windows"),
    ],
)
def test_what_looks_like_chance_is_named_with_its_mask(stored: str, sent: str, noun: str) -> None:
    hint = hint_for(stored, sent)
    head, advice, masks_text = hint.partition(ADVICE)
    assert (head, advice) == (f"Only what looks like {noun} differs. ", ADVICE)
    # The mask that it shows is one that makes both the same.
    masks: dict[str, str] = ast.literal_eval(masks_text)
    for pattern, shown in masks.items():
        stored, sent = (re.sub(pattern, shown, text) for text in (stored, sent))
    assert stored == sent


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        pytest.param("Keep 14 days.", "Keep 30 days.", id="a number"),
        pytest.param("Use gpt-5.", "Use gpt-6.", id="a model"),
        pytest.param("Today is 2026-11-22.", "Now it is 2026-11-23.", id="another word too"),
        pytest.param("Today is 2026-11-22.", "Today is Sunday.", id="no date any more"),
        pytest.param("Today is 2026-11-22.", "Today is <date>.", id="a date that has a mask by now"),
        pytest.param("a\n2026-11-22", "a\n2026-11-23\nb", id="a line more"),
        pytest.param("Read docs/a.md", "Read docs/b.md", id="a path of the project"),
        pytest.param("a decade", "a facade", id="words of hex digits"),
        pytest.param("at most 1000000 tokens", "at most 2000000 tokens", id="a large number"),
    ],
)
def test_what_may_be_a_change_of_the_prompt_has_no_hint(stored: str, sent: str) -> None:
    assert hint_for(stored, sent) == ""


@pytest.mark.parametrize("key", ["model", "endpoint"])
def test_another_version_of_a_model_has_no_hint(key: str) -> None:
    before, after = {key: "gpt-4o-2024-05-13"}, {key: "gpt-4o-2024-08-06"}
    assert mask_hint(compare_snapshots(dump(before), dump(after)).changes) == ""


def test_several_kinds_have_one_hint_and_each_mask_once() -> None:
    hint = hint_for(
        "2026-11-22: 2f1c6b1e-6f0e-4f5e-9a55-0d1f5ad0a0aa", "2026-11-23: 0b0c6b1e-6f0e-4f5e-9a55-0d1f5ad0a0bb"
    )
    assert hint.startswith(f"Only what looks like a date and an id differs. {ADVICE}")
    assert hint.count('": "<date>"') == hint.count('": "<id>"') == 1


def test_a_difference_that_also_moves_something_or_has_no_change_has_no_hint() -> None:
    one, two = {"role": "user", "content": "2026-11-22"}, {"role": "user", "content": "x"}
    moved = {"messages": [two, one | {"content": "2026-11-22"}]}
    assert mask_hint(compare_snapshots(dump({"messages": [one, two]}), dump(moved)).changes) == ""
    assert mask_hint(()) == ""


def test_every_mask_is_a_pattern_without_quotes() -> None:
    for kind in KINDS:
        assert re.compile(kind.pattern)
        assert '"' not in kind.pattern


ORDER = "The requests are the same, in another order. If the order is chance, compare sorted(eval_api.sent)."


def requests(*texts: str) -> dict[str, Any]:
    return {"requests": [{"endpoint": "POST /v1/chat/completions", "request": {"input": text}} for text in texts]}


@pytest.mark.parametrize(
    ("stored", "sent", "is_told"),
    [
        pytest.param(requests("a", "b"), requests("b", "a"), True, id="another order"),
        pytest.param(requests("a", "b", "a"), requests("b", "a", "a"), True, id="equal ones too"),
        pytest.param(requests("a", "b"), requests("b", "c"), False, id="another request"),
        pytest.param(requests("a", "b"), requests("b"), False, id="one less"),
        pytest.param(requests("a", "b"), requests("a", "b"), False, id="the same"),
        pytest.param(
            {"provider": "x", **requests("a", "b")}, {"provider": "x", **requests("b", "a")}, False, id="a case"
        ),
        pytest.param(["a"], requests("a"), False, id="other data"),
        pytest.param({"requests": 1}, requests("a"), False, id="no list"),
    ],
)
def test_the_same_requests_in_another_order_have_a_hint(stored: Any, sent: Any, is_told: bool) -> None:
    assert order_hint(stored, sent) == (ORDER if is_told else "")


def test_a_failure_says_the_hint_before_the_path(tmp_path: Any) -> None:
    path = tmp_path / "a.yaml"
    lines = Comparison(path, dump(requests("a", "b")), dump(requests("b", "a"))).lines("a.yaml", "pytest")
    assert lines[:3] == [
        ORDER,
        "",
        "a.yaml",
    ]
    dated = Comparison(path, dump({"question": "on 2026-11-22"}), dump({"question": "on 2026-11-23"}))
    assert dated.lines("a.yaml", "")[0] == (
        f'Only what looks like a date differs. {ADVICE}{{r"\\b\\d{{4}}-\\d\\d-\\d\\d\\b": "<date>"}}'
    )
    assert Comparison(path, "a: 1\n", "a: 2\n").lines("a.yaml", "")[0] == "a.yaml"

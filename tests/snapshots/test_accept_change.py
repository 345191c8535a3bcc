"""One change of a snapshot is taken over, and the others stay."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings, strategies as st

from pytest_chatprompt.snapshots.changes import Content
from pytest_chatprompt.snapshots.diff import accept_changes, compare_snapshots
from pytest_chatprompt.snapshots.layout import dump

LINES = st.sampled_from(["", "a", "b", "c", "- a", "[User]: a", "x y", "a ", "ä\u200b"])
# A message with nothing but white space is not sent.
TEXTS = st.lists(LINES, max_size=4).map("\n".join).filter(str.strip)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"]), "content": TEXTS}), max_size=4
)
TOOLS = st.lists(st.fixed_dictionaries({"name": st.sampled_from("fgh"), "description": TEXTS}), max_size=3)
BODIES = st.fixed_dictionaries(
    {"model": st.sampled_from(["m", "n"])},
    optional={"system": TEXTS, "messages": MESSAGES, "tools": TOOLS, "n": st.integers(0, 2)},
)
TURNS = st.lists(st.tuples(st.sampled_from(["System", "User", "Assistant"]), TEXTS), min_size=1, max_size=3)


def transcript(turns: list[tuple[str, str]]) -> str:
    return "\n".join(f"[{role}]:\n{text}" if "\n" in text else f"[{role}]: {text}" for role, text in turns)


def with_keys_in_any_order(data: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.permutations(list(data["request"])).map(
        lambda keys: {**data, "request": {key: data["request"][key] for key in keys}}
    )


SNAPSHOTS = st.fixed_dictionaries({"question": TURNS.map(transcript), "request": BODIES}).flatmap(
    with_keys_in_any_order
)


def contents(stored: Any, sent: Any) -> list[Content]:
    return [change.content for change in compare_snapshots(dump(stored), dump(sent)).changes]


@settings(max_examples=settings().max_examples // 4)
@given(SNAPSHOTS, SNAPSHOTS, st.randoms(use_true_random=False))
def test_all_changes_one_after_the_other_give_what_is_sent(stored: Any, sent: Any, random: Any) -> None:
    for _ in range(50):
        left = contents(stored, sent)
        if not left:
            break
        stored = accept_changes(dump(stored), sent, [random.choice(left)])
    assert dump(stored) == dump(sent)


LONG = st.lists(LINES, max_size=9).map("\n".join)
# Of items that are the same, which one a change is about may change.
DIFFERENT = st.lists(st.tuples(st.sampled_from("fgh"), LONG), max_size=3, unique_by=lambda item: item[0])
REQUESTS = st.fixed_dictionaries(
    {"model": st.sampled_from(["m", "n"])},
    optional={
        "system": LONG,
        "messages": DIFFERENT.map(lambda items: [{"role": "user", "content": "\n".join(item)} for item in items]),
        "tools": DIFFERENT.map(lambda items: [{"name": name, "description": text} for name, text in items]),
        "n": st.integers(0, 2),
    },
)
WITHOUT_REPEATED_ITEMS = st.fixed_dictionaries({"request": REQUESTS}).flatmap(with_keys_in_any_order)


@settings(max_examples=settings().max_examples // 3)
@given(WITHOUT_REPEATED_ITEMS, WITHOUT_REPEATED_ITEMS, st.randoms(use_true_random=False))
def test_each_change_stays_as_it_is_until_it_is_accepted(stored: Any, sent: Any, random: Any) -> None:
    left = set(contents(stored, sent))
    while left:
        accepted = random.choice(sorted(left))
        stored = accept_changes(dump(stored), sent, [accepted])
        left.remove(accepted)
        assert set(contents(stored, sent)) == left
    assert dump(stored) == dump(sent)


@settings(max_examples=settings().max_examples // 4)
@given(SNAPSHOTS, SNAPSHOTS, st.randoms(use_true_random=False))
def test_the_other_changes_stay(stored: Any, sent: Any, random: Any) -> None:
    before = contents(stored, sent)
    if before:
        accepted = random.choice(before)
        after = contents(accept_changes(dump(stored), sent, [accepted]), sent)
        assert set(after) == set(before) - {accepted}

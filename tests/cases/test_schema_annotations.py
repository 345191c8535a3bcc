"""Patterns of the JSON Schema: what they match, in Python and where a pattern knows nothing of Unicode."""

from __future__ import annotations

import re

import pytest

from pytest_chatprompt.cases.fields import path_pattern, pattern


@pytest.mark.parametrize(
    ("path", "matches"),
    [
        ("a.json", True),
        ("./b/c.YML", True),
        ("a.jsonl", False),
        ("json", False),
        ("a.json/b", False),
        ("axjson", False),
    ],
)
def test_a_path_ends_in_a_suffix_of_any_case(path: str, matches: bool) -> None:
    assert bool(re.search(path_pattern([".json", ".yml"]), path)) is matches


def test_a_pattern_is_made_only_when_it_is_asked_for() -> None:
    texts = iter(["x"])
    keywords = pattern(lambda: next(texts))
    assert keywords.make_keywords() == {"pattern": "x"}
    with pytest.raises(StopIteration):
        keywords.make_keywords()

"""Patterns of the JSON Schema: what they match, in Python and where a pattern knows nothing of Unicode."""

from __future__ import annotations

import re

import pytest

from pytest_chatprompt.cases.fields import characters_pattern, path_pattern, pattern, word_pattern


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


@pytest.mark.parametrize(
    ("text", "matches"),
    [("aword", False), ("word", True), ("w_o-R.D", True), ("_Word1", True), ("words", False), ("wrod", False)],
)
def test_a_word_is_its_letters_whatever_stands_between_them(text: str, matches: bool) -> None:
    assert bool(re.search(word_pattern("word"), text)) is matches


def test_a_class_of_characters_lists_what_is_refused_in_ranges_of_ascii() -> None:
    assert characters_pattern(str.isalnum) == r"[^\x00-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]"
    assert re.fullmatch(characters_pattern(str.isalnum), "é")
    assert re.fullmatch(characters_pattern(lambda character: character != "b"), "a")
    assert not re.fullmatch(characters_pattern(lambda character: character != "b"), "b")


def test_a_pattern_is_made_only_when_it_is_asked_for() -> None:
    texts = iter(["x"])
    keywords = pattern(lambda: next(texts))
    assert keywords.make_keywords() == {"pattern": "x"}
    with pytest.raises(StopIteration):
        keywords.make_keywords()

"""Texts that a pattern matches."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.capture.apis.pattern_text import PatternTextGenerator
from pytest_chatprompt.capture.apis.schema_strings import find_match


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", ""),
        ("^abc$", "abc"),
        (r"^\d{3}-\d{4}$", "000-0000"),
        ("^[a-f]+$", "a"),
        ("^[^a-z]+$", "0"),
        (r"^[^\s\d]$", "a"),
        ("(foo|bar){2,}", "foofoo"),
        ("a{,3}", "a{,3}"),
        ("a{0,3}b{2}c{1,}?", "bbc"),
        (r"^(a)(?:b)(?P<x>c)(?<y>d)\1\k<x>\k<y>\k<z>$", "abcdacd"),
        (r"\x41\u0042\u{43}\n\t\.\/\\", "ABC\n\t./\\"),
        (r"^\S+@\S+\.\S+$", "a@a.a"),
        (r"^\w\W\s\S\D$", "a- aa"),
        (r"\p{L}\p{Lu}\p{N}\P{L}\p{Script=Latin}\P{P}", "aA0-aa"),
        (r"[\p{L}-]", "a"),
        ("[]a]+", "]"),
        ("[^]a]", "0"),
        (r"[\b]", "\b"),
        (r"[a-]", "a"),
        (r"[\d-z]", "0"),
        ("(?=x)y(?!z)*", "y"),
        (r"\A\bfoo\b\Z", "foo"),
        ("[\U0001f600-\U0001f64f]", "\U0001f600"),
        ("(?i:A)b", "Ab"),
        ("(a", "a"),
        ("[a", "a"),
        ("[", ""),
        ("a)", "a)"),
        ("\\", "\\"),
        ("+a", "+a"),
        (".", "a"),
    ],
)
def test_the_least_text(pattern: str, text: str) -> None:
    assert PatternTextGenerator(pattern).least() == text
    assert find_match(pattern, text) or pattern in ("[", "(?=x)y(?!z)*")


@given(st.integers(0, 1000), st.sampled_from([r"^[A-Z]{2}\d{2,4}(-(x|y)+)?$", "^(a|bc)*[^a-c]$", r"^(\w)\1?\.$"]))
def test_samples_match_too(seed: int, pattern: str) -> None:
    assert re.search(pattern, PatternTextGenerator(pattern).sample(random.Random(seed), 3))


@given(st.text(alphabet="ab01()[]{}|*+?^$\\.,-:<>=!dDwsSpPkxu", max_size=12))
def test_any_pattern_has_a_text(pattern: str) -> None:
    text = PatternTextGenerator(pattern)
    assert isinstance(text.least(), str)
    assert isinstance(text.sample(random.Random(0), 2), str)
    find_match(pattern, text.least())


def test_a_pattern_that_python_warns_about_is_no_error() -> None:
    assert find_match("[[", "a")

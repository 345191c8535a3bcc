"""Types of checks that other packages bring."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.grading.parsing import MistakeError, _installed, find_type
from tests.grading.conftest import graded

MODULE = """
from typing import Annotated
from pytest_chatprompt import Check, CheckError, Verdict

class MaxWords(Check):
    value: int

    def grade(self, case, response):
        if not response.text:
            raise CheckError("there is no text to count")
        count = len(response.text.split())
        return Verdict(count <= self.value, f"has {count} words")

class NoCheck:
    pass
"""
ENTRY_POINTS = """
[pytest_chatprompt.checks]
max-words = word_checks_for_tests:MaxWords
contains = word_checks_for_tests:MaxWords
no_check = word_checks_for_tests:NoCheck
gone = word_checks_for_tests:Gone
"""


@pytest.fixture
def _installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs a package with types of checks."""
    info = tmp_path / "word_checks-1.0.dist-info"
    info.mkdir()
    (tmp_path / "word_checks_for_tests.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: word-checks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    _installed.cache_clear()
    yield
    _installed.cache_clear()
    sys.modules.pop("word_checks_for_tests", None)


@pytest.mark.usefixtures("_installed_package")
def test_a_package_brings_a_type_with_its_opposite() -> None:
    assert graded({"type": "max_words", "value": 2}, "two words").passed
    result = graded({"type": "not-max-words", "value": 2}, "two words")
    assert not result.passed
    assert result.verdict is not None
    assert result.verdict.reason == "has 2 words"
    assert graded({"type": "max_words", "value": 2}, "").error == "there is no text to count"


@pytest.mark.usefixtures("_installed_package")
def test_the_mistakes_of_its_checks_are_told_as_those_of_all_others() -> None:
    with pytest.raises(EvalFileError) as raised:
        graded({"type": "max_words", "value": "two"}, "x")
    assert str(raised.value) == "a.eval.yaml:2:5: case 'a': 'value': Input should be a valid integer"


@pytest.mark.usefixtures("_installed_package")
def test_a_type_of_this_package_cannot_be_replaced() -> None:
    assert graded({"type": "contains", "value": "x"}, "x").passed


@pytest.mark.usefixtures("_installed_package")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "no_check",
            "the check type 'no_check' is not a subclass of pytest_chatprompt.Check: word_checks_for_tests:NoCheck",
        ),
        ("gone", "the check type 'gone' cannot be loaded from word_checks_for_tests:Gone: AttributeError: "),
        ("max_word", "unknown check type: 'max_word'; did you mean 'max_words'?"),
    ],
)
def test_a_type_that_cannot_be_used_is_told(name: str, text: str) -> None:
    with pytest.raises(MistakeError) as raised:
        find_type(name)
    assert str(raised.value).startswith(text)

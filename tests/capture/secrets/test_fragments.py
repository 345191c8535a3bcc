"""Secret fragments: both ends of a shortened secret are found, and words are not."""

from __future__ import annotations

import reprlib

import pytest

from pytest_chatprompt.capture.secrets.fragments import find_fragments
from pytest_chatprompt.capture.secrets.redaction import Redactor

KEY = "sk-live-0123456789abcdefghij"


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        pytest.param("'sk-live-0...ghij'", "'[secret]'", id="both ends"),
        pytest.param("'sk-...hij'", "'[secret]'", id="three characters of both ends"),
        pytest.param("'sk-live-0…ghij'", "'[secret]'", id="an ellipsis of one character"),
        pytest.param("'sk-live[18 chars]ghij'", "'[secret]'", id="the mark of unittest"),
        pytest.param(
            "'a text, sk-live-0 [truncated]...", "'a text, [secret] [truncated]...", id="a longer mark of unittest"
        ),
        pytest.param("'a text, sk-liv...another text'", "'a text, [secret]...another text'", id="the beginning"),
        pytest.param("'a text...efghij, a text'", "'a text...[secret], a text'", id="the end"),
        pytest.param("sk-sk-live-0...ij", "sk-[secret]...ij", id="the beginning twice"),
        pytest.param("...fghijghij", "...fghijghij", id="the end twice, and something in front"),
        pytest.param("...efghijxghij", "...[secret]xghij", id="the end twice, and something behind"),
        pytest.param("sk-live-0...hij and sk-live-0...hij", "[secret] and [secret]", id="two fragments"),
        pytest.param(reprlib.repr(KEY), "'[secret]'", id="reprlib"),
    ],
)
def test_a_fragment_is_redacted(text: str, redacted: str) -> None:
    assert Redactor({"API_KEY": KEY}).redact(text) == redacted


@pytest.mark.parametrize(
    "text",
    [
        "use your sk-... key",
        "sk-l...ij",
        "sk-live-0 ...ghij",
        "loading...",
        "...",
        "live-0...defg",
        KEY[:-1],
    ],
)
def test_other_text_stays(text: str) -> None:
    assert Redactor({"API_KEY": KEY}).redact(text) == text


def test_without_secrets_there_are_no_fragments() -> None:
    assert list(find_fragments("a...b", [])) == []

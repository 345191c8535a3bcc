"""Encodings: the forms of a secret, and texts without escapes."""

from __future__ import annotations

import base64
import json
import os
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt.capture.secrets.encodings import (
    TracedText,
    decoded,
    encoded_forms,
    lines_with_escapes,
    without_line_breaks,
)

SECRET = 'k3y+/~é"\\ 0123456789'


@pytest.mark.parametrize("offset", range(3))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode], ids=["standard", "URL-safe"])
@given(st.binary(max_size=4), st.text(st.characters(codec="utf-8"), min_size=8, max_size=30), st.binary(max_size=4))
def test_a_form_stands_in_the_base64_of_every_text_around_a_secret(
    encode: object, offset: int, before: bytes, secret: str, after: bytes
) -> None:
    assert callable(encode)
    secret = f"k{secret}k"
    text = encode(bytes(offset) + before + secret.encode() + after).decode()
    assert any(form in text for form in encoded_forms(secret))


def test_hexadecimal_digits_are_forms_in_both_cases() -> None:
    assert {SECRET.encode().hex(), SECRET.encode().hex().upper()} <= set(encoded_forms(SECRET))


def test_a_secret_with_blanks_has_the_form_of_a_query() -> None:
    assert quote_plus("correct horse") in encoded_forms("correct horse")


def test_white_space_and_quotes_around_a_secret_are_no_part_of_it() -> None:
    assert encoded_forms('\n "k3y-0123456789" \n')[0] == "k3y-0123456789"


def test_a_secret_may_hold_half_a_surrogate() -> None:
    assert "k3y-0123456789\ud83d" in encoded_forms("k3y-0123456789\ud83d")


def test_a_variable_that_is_not_valid_utf_8_is_encoded_as_its_bytes() -> None:
    data = b"k3y-0123456789\xff"
    assert data.hex() in encoded_forms(os.fsdecode(data))


def test_a_secret_may_be_shown_as_bytes() -> None:
    assert any(form in next(decoded(repr("pässwörd-1".encode()))) for form in encoded_forms("pässwörd-1"))


def test_a_form_is_never_short() -> None:
    assert encoded_forms('"abcdefg"')[0] != "abcdefg"


def test_a_secret_of_several_lines_has_a_form_in_one() -> None:
    assert encoded_forms("one-1\n  two-2\n")[0] == "one-1two-2"


@pytest.mark.parametrize("text", ["one-1\n two-2 three-3", "one-1 two-2\nthree-3", "one-1\n  two-2\n  three-3"])
def test_a_secret_may_be_broken_at_its_blanks(text: str) -> None:
    assert any(form in without_line_breaks(text) for form in encoded_forms("one-1 two-2 three-3"))


def test_two_words_that_are_one_without_the_blank_are_not_searched_as_one() -> None:
    assert "everyone" not in encoded_forms("every one")


def test_a_document_of_many_words_is_searched_as_it_is() -> None:
    assert "b1" * 12 + "end" in encoded_forms("b1 " * 12 + "end")
    assert "b1" * 13 + "end" not in encoded_forms("b1 " * 13 + "end")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("one line ", "one line ", id="one line"),
        pytest.param("ab\ncd", "abcd", id="a line break"),
        pytest.param("ab \r\n\t cd\r\n\r\nef", "abcdef", id="white space around it"),
        pytest.param('x = (\n  "ab"\n  "cd"\n)', "x = (abcd)", id="strings of Python"),
        pytest.param("ab\\\ncd", "abcd", id="a line that goes on"),
    ],
)
def test_a_text_without_line_breaks(text: str, line: str) -> None:
    assert without_line_breaks(text) == line


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(json.dumps(SECRET), id="JSON"),
        pytest.param(json.dumps(SECRET, ensure_ascii=False), id="JSON that is not ASCII"),
        pytest.param(json.dumps(json.dumps(json.dumps(SECRET))), id="JSON in JSON in JSON"),
        pytest.param(repr(SECRET), id="a repr"),
        pytest.param(ascii(SECRET), id="an ascii"),
        pytest.param(quote(SECRET), id="a path"),
        pytest.param(quote(SECRET, safe=""), id="a query"),
        pytest.param(quote(quote(SECRET)), id="a query in a query"),
        pytest.param("".join(f"\\u{ord(character):04x}" for character in SECRET), id="escapes of JavaScript"),
        pytest.param("".join(f"\\U{ord(character):08X}" for character in SECRET), id="escapes of Python"),
        pytest.param("".join(f"%{byte:02x}" for byte in SECRET.encode()), id="every byte percent-encoded"),
        pytest.param(json.dumps({"url": quote(SECRET)}), id="a query in JSON"),
        pytest.param(json.dumps({"a": f"%41 {SECRET}"}), id="JSON beside a percent sign"),
    ],
)
def test_a_text_is_decoded_level_by_level(text: str) -> None:
    assert any(SECRET in version for version in decoded(text))


def test_a_secret_that_looks_like_an_escape_is_found_in_json() -> None:
    assert "k3y-%41-012345" in next(decoded(json.dumps('"k3y-%41-012345')))


def test_no_more_than_three_levels_of_an_encoding_are_decoded() -> None:
    assert list(decoded("%25252541")) == ["%252541", "%2541", "%41"]


@pytest.mark.parametrize("text", ["plain", "50 % of C:\\dir and \\d+", "100%", "\\"])
def test_a_text_without_escapes_has_no_levels(text: str) -> None:
    assert list(decoded(text)) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param("no\nescapes", "", id="none"),
        pytest.param("one \\n line", "one \\n line", id="one line"),
        pytest.param("a\nb\nc\\\nd\ne\nf\ng%\nh\ni\nj", "b\nc\\\nd\nf\ng%\nh", id="with the lines beside them"),
        pytest.param("a\\\nb\nc\nd%", "a\\\nb\nc\nd%", id="at the edges"),
        pytest.param("a\\\nb%\nc", "a\\\nb%\nc", id="all of it"),
        pytest.param("a%\n\n\n\n" * 20, "a%\n\n\n\n" * 20, id="all of it, if it has very many escapes"),
    ],
)
def test_the_lines_with_escapes(text: str, lines: str) -> None:
    assert lines_with_escapes(text) == lines


FRAGMENTS = st.lists(
    st.sampled_from(
        ["a", "b", " ", "\n", "\r\n", "\\n", '\\"', '"', "\\\\", "\\u0041", "\\x41", "%41", "%C3%A9", "é", "%"]
    )
)


@given(FRAGMENTS.map("".join))
def test_a_traced_text_is_the_decoded_text(text: str) -> None:
    for levels, version in enumerate([text, *decoded(text)]):
        traced = TracedText.of(text)
        traced.decode(levels)
        assert traced.text == version
        assert len(traced.text) == len(traced.starts) == len(traced.ends)
        traced.join_lines()
        if "\n" in version:
            assert traced.text == without_line_breaks(version)
        assert len(traced.text) == len(traced.starts) == len(traced.ends)


def test_a_traced_text_knows_the_original_place() -> None:
    text = "a\\u0062%63\n  d e"
    traced = TracedText.of(text)
    traced.decode(2)
    traced.join_lines()
    assert traced.text == "abcd e"
    start, end = traced.original_span(1, 4)
    assert text[start:end] == "\\u0062%63\n  d"

"""Texts and data of a reply: half a character, other character sets, and JSON that is nested deeply."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from pytest_chatprompt import ProviderResponse
from pytest_chatprompt.providers.response import load_json, replace_surrogates


@pytest.mark.parametrize(
    ("content", "data"),
    [
        pytest.param(rb'"\ud800"', "\ufffd", id="the first half"),
        pytest.param(rb'"a\uDFFFb"', "a\ufffdb", id="the second half"),
        pytest.param(rb'"\ud83d\ude00"', "😀", id="both halves are one character"),
        pytest.param(rb'"\ud83d\ud83d\ude00"', "\ufffd😀", id="a half before a character"),
        pytest.param(rb'"\ude00\ud83d"', "\ufffd\ufffd", id="the halves in the wrong order"),
        pytest.param(rb'"\\ud800"', "\\ud800", id="a backslash and a word"),
        pytest.param(rb'"\\\ud800"', "\\\ufffd", id="a backslash and a half"),
        pytest.param(rb'"\"\ud800\n"', '"\ufffd\n', id="other escapes stay"),
        pytest.param(b'"\xed\xa0\x80"', "\ufffd", id="a half in its bytes"),
        pytest.param(rb'{"\ud800": ["\udc00"]}', {"\ufffd": ["\ufffd"]}, id="keys and items"),
        pytest.param('"ä"'.encode("utf-16"), "ä", id="UTF-16"),
        pytest.param(r'"\ud800"', "\ufffd", id="text"),
    ],
)
def test_half_a_character_in_json_is_replaced(content: bytes | str, data: object) -> None:
    assert load_json(content) == data


@given(st.text(st.characters(exclude_categories=())), st.booleans())
def test_any_text_in_json_is_read_as_it_is_but_for_half_characters(text: str, ensure_ascii: bool) -> None:
    # Python writes a pair of halves as the escape of one character.
    expected = replace_surrogates(text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass"))
    if ensure_ascii:
        assert load_json(json.dumps({"a": text})) == {"a": expected}
    else:
        written = json.dumps(text, ensure_ascii=False)
        assert load_json(written.encode("utf-8", "surrogatepass")) == replace_surrogates(text)


@pytest.mark.parametrize(
    "content", [b"{", b"\xff\xff", b"[" * 100_000, b'{"a":' * 100_000], ids=["cut", "not UTF-8", "lists", "mappings"]
)
def test_what_cannot_be_read_is_a_value_error(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        load_json(content)


def test_a_response_of_any_provider_holds_no_half_character() -> None:
    response = ProviderResponse(text="a\ud800", finish_reason="\udfff", blocked="\ud800")
    assert (response.text, response.finish_reason, response.blocked) == ("a\ufffd", "\ufffd", "\ufffd")

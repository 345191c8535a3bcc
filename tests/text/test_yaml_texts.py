"""Texts that YAML 1.1 and libyaml read in another way than YAML 1.2 says are read as YAML 1.2 says."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.text.yaml import YamlError, parse_yaml


def parse(text: str) -> Any:
    return parse_yaml(text).data()


@pytest.mark.parametrize(
    ("text", "data"),
    [
        pytest.param("{role: user, content: vert ?}", {"role": "user", "content": "vert ?"}, id="? ends flow text"),
        pytest.param("{aX: X:X, b: a X}", {"aX": "X:X", "b": "a X"}, id="capital letters in flow text"),
        pytest.param("aX: X:X  X\n  X y\n", {"aX": "X:X  X X y"}, id="capital letters in text over several lines"),
        pytest.param("[a ? b, what?, c?d]", ["a ? b", "what?", "c?d"], id="? within flow text"),
        pytest.param("{url: http://x, b: c:d}", {"url": "http://x", "b": "c:d"}, id=": within flow text"),
        pytest.param("a: x#y # z\nb: x  y\n", {"a": "x#y", "b": "x  y"}, id="# within text and before a comment"),
        pytest.param("a:\tb\t# c\nd: e\tf\n", {"a": "b", "d": "e\tf"}, id="tabs between tokens and in text"),
        pytest.param("[\n\ta,\n\tb ]\n", ["a", "b"], id="tabs in a list over several lines"),
        pytest.param("a: |2\n  \tx\n  y\n", {"a": "\tx\ny\n"}, id="a block text that begins with a tab"),
        pytest.param("a: x\n  y\n\n\n  z\nb: c\n", {"a": "x y\n\nz", "b": "c"}, id="text over several lines"),
        pytest.param("a: x\n  \ty\n", {"a": "x y"}, id="a tab behind the indentation of a text's second line"),
        pytest.param("a: x\r\n  y\r\n", {"a": "x y"}, id="CRLF"),
        pytest.param("a: ! [x]\nb: ! {c: d}\n", {"a": ["x"], "b": {"c": "d"}}, id="tags without a name"),
        pytest.param("a\n...\n", "a", id="the end of a document below text"),
        pytest.param("a\n---b \n", "a ---b", id="a line of text that begins like a new document"),
        pytest.param("a\n---X\n", "a ---X", id="a line of text that begins like a new document, with a capital letter"),
        pytest.param('"\\ud83d\\ude00 \\U0001F600"', "😀 😀", id="a character as two surrogates"),
        pytest.param("'\\ud83d\\ude00'", "\\ud83d\\ude00", id="single quotes know no escapes"),
        pytest.param('"\\\\ud83d \\uD83D\\uDE00"', "\\ud83d 😀", id="a backslash before what would be half of one"),
        pytest.param("|-\n  \\ud83d\\ude00 \\ue000\n", "\\ud83d\\ude00 \\ue000", id="a block text knows no escapes"),
        pytest.param(
            "a: '\\ud83d'\nb: \"\\ud83d\\ude00\"",
            {"a": "\\ud83d", "b": "😀"},
            id="a character as two surrogates behind half of one in single quotes",
        ),
        pytest.param("a: x\x85y\u2028z\u2029\n", {"a": "x\x85y\u2028z\u2029"}, id="line breaks of YAML 1.1 in text"),
        pytest.param('"x\x85y\u2028z"', "x\x85y\u2028z", id="line breaks of YAML 1.1 in double quotes"),
        pytest.param("a: |\n  x\x85y\n  z\n", {"a": "x\x85y\nz\n"}, id="line breaks of YAML 1.1 in a block text"),
        pytest.param("x\u2028: 1", {"x\u2028": 1}, id="line breaks of YAML 1.1 in a key"),
        pytest.param('"\x85 \ue000 \\ue001 \\U0000E002"', "\x85 \ue000 \ue001 \ue002", id="with private characters"),
        pytest.param("\ufeffa: b\n", {"a": "b"}, id="a byte-order mark at the start"),
    ],
)
def test_a_text_is_read_as_yaml_1_2_says(text: str, data: Any) -> None:
    assert parse(text) == data


def test_a_second_document_below_a_text_is_refused() -> None:
    with pytest.raises(YamlError) as caught:
        parse("a\n---\nb\n")
    expected = ((2, 1), "a second YAML document begins here; only one is allowed in a file")
    assert caught.value.problems == (expected,)


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_a_line_break_of_yaml_1_1_does_not_count_as_a_line(character: str) -> None:
    assert parse(f"a: |\n  x{character}y\nb: z\n") == {"a": f"x{character}y\n", "b": "z"}
    root = parse_yaml(f"a: |\n  x{character}y\nb: z\n")
    assert root.find(("b",)).position == (3, 4)
    with pytest.raises(YamlError) as caught:
        parse(f"a: |\n  x{character}y\nb: @z\n")
    assert caught.value.problems[0][0] == (3, 4)


def test_a_text_without_unused_private_characters_is_parsed_as_it_is() -> None:
    text = "\u2028" + "".join(map(chr, range(0xE000, 0xF900)))
    assert parse(f"'{text}'") == text

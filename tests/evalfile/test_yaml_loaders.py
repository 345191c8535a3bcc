"""Both loaders read a text alike, and as YAML 1.2 says where YAML 1.1 differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from pytest_chatprompt.evalfile import yaml_parser
from pytest_chatprompt.evalfile.yaml_loaders import hide_former_line_breaks
from pytest_chatprompt.evalfile.yaml_parser import parse_yaml
from pytest_chatprompt.evalfile.yaml_problem import YamlError
from pytest_chatprompt.evalfile.yaml_tree import Node

EXAMPLES = sorted((Path(__file__).parents[2] / "example_project").rglob("*.eval.yaml"))
LOADERS = {"libyaml": getattr(yaml, "CSafeLoader", None), "PyYAML's own": None}


@pytest.fixture(params=LOADERS)
def parse(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Parses a text with one of the loaders; gives its data."""
    monkeypatch.setattr(yaml_parser, "FastLoader", LOADERS[request.param])

    def data(text: str) -> Any:
        root, problems = parse_yaml(text)
        assert problems == []
        return root.data()

    return data


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
        pytest.param("a: |\n  \tx\n  y\n", {"a": "\tx\ny\n"}, id="a block text that begins with a tab"),
        pytest.param("a: |\n\n  \tx\n", {"a": "\n\tx\n"}, id="a block text with a tab below an empty line"),
        pytest.param("a: >\n  \tx\n  y\n", {"a": "\tx\ny\n"}, id="a folded text that begins with a tab"),
        pytest.param("a: x\n  y\n\n\n  z\nb: c\n", {"a": "x y\n\nz", "b": "c"}, id="text over several lines"),
        pytest.param("a: x\n  \ty\n", {"a": "x y"}, id="a tab behind the indentation of a text's second line"),
        pytest.param("a: x\r\n  y\r\n", {"a": "x y"}, id="CRLF"),
        pytest.param("a: ! [x]\nb: ! {c: d}\n", {"a": ["x"], "b": {"c": "d"}}, id="tags without a name"),
        pytest.param("a\n...\n", "a", id="the end of a document below text"),
        pytest.param("a\n---b \n", "a ---b", id="a line of text that begins like a new document"),
        pytest.param("a\n---X\n", "a ---X", id="a line of text that begins like a new document, with a capital letter"),
        pytest.param('"\\ud83d\\ude00 \\U0001F600"', "😀 😀", id="a character as two surrogates"),
        pytest.param("'\\ud83d\\ude00'", "\\ud83d\\ude00", id="single quotes know no escapes"),
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
def test_a_text_is_read_as_yaml_1_2_says(parse: Callable[[str], Any], text: str, data: Any) -> None:
    assert parse(text) == data


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_example_project_loads_alike_without_libyaml(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text(encoding="utf-8")
    expected = parse_yaml(text)[0].data()
    monkeypatch.setattr(yaml_parser, "FastLoader", None)
    assert parse_yaml(text)[0].data() == expected


def test_a_second_document_below_a_text_is_refused(parse: Callable[[str], Any]) -> None:
    with pytest.raises(YamlError) as caught:
        parse("a\n---\nb\n")
    expected = ((2, 1), "a second YAML document begins here; only one is allowed in a file")
    assert tuple(caught.value.problem) == expected


@pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
def test_a_line_break_of_yaml_1_1_does_not_count_as_a_line(parse: Callable[[str], Any], character: str) -> None:
    assert parse(f"a: |\n  x{character}y\nb: z\n") == {"a": f"x{character}y\n", "b": "z"}
    root, _ = parse_yaml(f"a: |\n  x{character}y\nb: z\n")
    assert root.find(("b",)).position == (3, 4)
    with pytest.raises(YamlError) as caught:
        parse(f"a: |\n  x{character}y\nb: @z\n")
    assert caught.value.problem.position == (3, 4)


def test_a_text_without_unused_private_characters_is_parsed_as_it_is() -> None:
    text = "\u2028" + "".join(map(chr, range(0xE000, 0xF900)))
    assert hide_former_line_breaks(text) == (text, {})


PIECES = (
    [
        "a",
        "1",
        "yes",
        "~",
        "what?",
        "key: value\n",
        "x: |\n  text\n",
        "b: ",
        "- ",
        ": ",
        "\n",
        "\n  ",
        "\n\t",
        "\t",
        " ",
    ],
    [
        '"',
        "'",
        "|\n",
        ">\n",
        "[",
        "]",
        "{",
        "}",
        ",",
        "#",
        " #",
        "&x ",
        "*x",
        "!t ",
        "@",
        "%",
        "---",
        "=",
        "<<: ",
        "\r\n",
    ],
    ["\\", "\\ud83d\\ude00", "\\ud83d", "\\U00110000", "\u2028", "\x85"],
)


def outcome(text: str) -> Any:
    """What a text is read as: its data and all positions, or `None` if it is refused."""
    try:
        root, problems = parse_yaml(text)
    except YamlError:
        return None
    return (repr(root.data()), problems, list(positions(root)) if root.size < 1000 else [])


def positions(node: Node) -> Any:
    # A value that is left out has no place of its own: libyaml gives it the end of the text.
    yield node.position if node.text or not isinstance(node.value, None | str) else None
    if isinstance(node.value, dict):
        for entry in node.value.values():
            yield from positions(entry.key)
            yield from positions(entry.node)
    elif isinstance(node.value, tuple):
        for item in node.value:
            yield from positions(item)


@given(st.lists(st.sampled_from([*PIECES[0], *PIECES[1], *PIECES[2]]), max_size=12).map("".join))
def test_both_loaders_read_any_text_alike(text: str) -> None:
    fast = outcome(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_parser, "FastLoader", None)
        assert outcome(text) == fast

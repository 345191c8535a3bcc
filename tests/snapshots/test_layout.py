"""The layout of a snapshot."""

from __future__ import annotations

import difflib
import math
import unicodedata
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings, strategies as st
from ruamel.yaml import YAML

from pytest_chatprompt.snapshots.layout import dump

LOADERS: list[Any] = [yaml.SafeLoader, *([yaml.CSafeLoader] if hasattr(yaml, "CSafeLoader") else [])]

# Texts like those in prompts, with many difficult characters: line breaks, blanks, controls, quotes, YAML's indicators.
lines = st.text(
    st.one_of(
        st.sampled_from(" \t\r\"'\\:#-|>[]{}&*!%@`abc\x00\x7f\x85\xa0\u200b\u2028\ufeff😀"),
        st.characters(codec="utf-8", exclude_characters="\n"),
    ),
    max_size=12,
)
texts = st.lists(lines, min_size=1, max_size=6).map("\n".join)
visible_lines = st.text(st.sampled_from("abc :#-'\"é漢😀"), max_size=12).map(str.rstrip)
json_data = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param({"a": "plain text"}, "a: plain text\n", id="a plain string"),
        pytest.param({"a": "one\ntwo"}, "a: |-\n  one\n  two\n", id="several lines"),
        pytest.param({"a": "one\n\ntwo\n"}, "a: |\n  one\n\n  two\n", id="a line break at the end"),
        pytest.param({"a": "  one\ntwo"}, "a: |2-\n    one\n  two\n", id="leading blanks"),
        pytest.param({"a": "one \ntwo"}, 'a: "\\\n  one \\n\\\n  two"\n', id="a trailing blank"),
        pytest.param({"a": "one\n  \ttwo\n"}, 'a: "\\\n  one\\n\\\n  \\  \\ttwo\\n"\n', id="a tab after blanks"),
        pytest.param({"a": "one\r\ntwo"}, 'a: "\\\n  one\\r\\n\\\n  two"\n', id="a carriage return"),
        pytest.param({"a": "one\n\n"}, 'a: "\\\n  one\\n\\\n  \\n"\n', id="several line breaks at the end"),
        pytest.param({"a": "\n"}, 'a: "\\\n  \\n"\n', id="only a line break"),
        pytest.param({"a": ""}, 'a: ""\n', id="the empty string"),
        pytest.param({"a": " x"}, 'a: " x"\n', id="a leading blank"),
        pytest.param(
            {"a": "\u200b\x1b\u2028\U000e0041\xa0"},
            'a: "\\u200B\\e\\u2028\\U000E0041\\xA0"\n',
            id="invisible characters",
        ),
        pytest.param({"a": "ä漢😀❤️"}, "a: ä漢😀❤️\n", id="visible characters"),
        pytest.param({"a": "a: b"}, 'a: "a: b"\n', id="a colon"),
        pytest.param({"a": "a #b"}, 'a: "a #b"\n', id="a comment sign"),
        pytest.param({"a": "3.12"}, 'a: "3.12"\n', id="text that looks like a number"),
        pytest.param(
            {"a": ["--json", "-", "- x", "-1", "---"]}, 'a:\n- --json\n- "-"\n- "- x"\n- "-1"\n- "---"\n', id="dashes"
        ),
        pytest.param(
            {"a": "yes", "b": "null", "c": "y"}, 'a: "yes"\nb: "null"\nc: "y"\n', id="text that looks like a constant"
        ),
        pytest.param(
            {"a": ["null or void", "2001-01-01 1:02:03"]}, 'a:\n- null or void\n- "2001-01-01 1:02:03"\n', id="words"
        ),
        pytest.param({"a": 'say "hi" \\ now'}, 'a: say "hi" \\ now\n', id="quotes within plain text"),
        pytest.param({"a": '{"b": "it\'s"}'}, "a: '{\"b\": \"it''s\"}'\n", id="JSON"),
        pytest.param({"a": '"\t'}, 'a: "\\"\\t"\n', id="quotes and a tab"),
        pytest.param({"a": [1, 2.0, True, None, 1e16]}, "a:\n- 1\n- 2.0\n- true\n- null\n- 1.0e+16\n", id="scalars"),
        pytest.param({"a": [math.inf, -math.inf]}, "a:\n- .inf\n- -.inf\n", id="infinities"),
        pytest.param({"a": {}, "b": []}, "a: {}\nb: []\n", id="empty collections"),
        pytest.param({"a": [{"b": 1, "c": [2]}]}, "a:\n- b: 1\n  c:\n  - 2\n", id="a list of mappings"),
        pytest.param({"a": [[1, [2]], "x\ny"]}, "a:\n-\n  - 1\n  -\n    - 2\n- |-\n  x\n  y\n", id="a list of lists"),
        pytest.param({"a b": {"c: d": 1}}, 'a b:\n  "c: d": 1\n', id="keys that need quotes"),
        pytest.param({}, "", id="an empty mapping"),
    ],
)
def test_data_is_written_as_readable_yaml(data: dict[str, Any], text: str) -> None:
    assert dump(data) == text


def test_nan_can_be_written() -> None:
    assert math.isnan(yaml.safe_load(dump({"a": math.nan}))["a"])


def test_a_value_that_is_not_json_is_an_error() -> None:
    with pytest.raises(TypeError, match="a snapshot cannot hold set"):
        dump({"a": {1}})


@settings(max_examples=settings().max_examples // 2)
@given(st.dictionaries(texts, json_data, max_size=4))
@example({"a": "\n indented after an empty line\nb"})
def test_loading_gives_back_the_same_data(data: dict[str, Any]) -> None:
    for loader in LOADERS:
        assert yaml.load(dump(data), Loader=loader) == (data or None)


# Words and numbers that YAML 1.1 and 1.2 read differently.
OLD_WORDS = (
    [
        "yes",
        "No",
        "ON",
        "off",
        "y",
        "n",
        "=",
        "<<",
        "~",
        "0o17",
        "017",
        "0b1",
        "1_000",
        "1:30",
        "12:30:45",
        "1e3",
        "+1",
    ],
    [".5", "0x1F", ".inf", "2024-01-02", "null", "Null", "True", "-", "?", "!", "&a", "*a", "%a", "@a", "`a"],
)
old_words = st.sampled_from([*OLD_WORDS[0], *OLD_WORDS[1]])


@settings(max_examples=30)
@given(st.dictionaries(st.one_of(old_words, texts), st.one_of(old_words, json_data), max_size=4))
@example({"yes": ["no", "on", "off", "=", "017", "1:30"], "=": "<<"})
def test_yaml_1_2_loads_the_same_data(data: dict[str, Any]) -> None:
    yaml_1_2 = YAML(typ="safe", pure=True)
    yaml_1_2.version = (1, 2)
    assert yaml_1_2.load(dump(data)) == (data or None)
    assert yaml.safe_load(dump(data)) == (data or None)


@given(texts)
@example("a\n \n")
@example("\n\n a")
def test_one_line_of_text_is_one_line_of_the_snapshot(text: str) -> None:
    count = len(text.removesuffix("\n").split("\n"))
    heading = 1 if "\n" in text else 0
    assert dump({"a": text}).count("\n") == count + heading


@given(texts)
def test_a_snapshot_contains_no_invisible_characters(text: str) -> None:
    for line in dump({"a": text}).split("\n"):
        assert line == line.rstrip()
        categories = {unicodedata.category(character) for character in line if character != " "}
        assert not categories & {"Cc", "Cs", "Zl", "Zp", "Zs"}


def changed_lines(before: str, after: str) -> list[str]:
    diff = difflib.ndiff(dump({"q": before, "z": 1}).split("\n"), dump({"q": after, "z": 1}).split("\n"))
    return [line for line in diff if line[0] in "+-"]


def escaped_text(block: list[str]) -> str:
    """A text that is written with escapes, whatever its lines are, because it ends with empty lines."""
    return "\n".join(block) + "\n\n"


@given(st.lists(lines, min_size=2, max_size=6), lines, st.data())
def test_a_changed_line_of_escaped_text_is_a_changed_line_of_the_snapshot(
    block: list[str], line: str, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(block) - 1))
    after = [*block[:index], line, *block[index + 1 :]]
    assert len(changed_lines(escaped_text(block), escaped_text(after))) == (0 if line == block[index] else 2)


@given(st.lists(visible_lines, min_size=2, max_size=6), visible_lines, st.data())
def test_a_changed_line_of_plain_text_is_a_changed_line_of_the_snapshot(
    block: list[str], line: str, data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(block) - 1))
    start, after = ["start", *block, "end"], ["start", *block, "end"]
    after[index + 1] = line
    assert len(changed_lines("\n".join(start), "\n".join(after))) == (0 if line == block[index] else 2)


@given(st.lists(visible_lines, min_size=2, max_size=6), visible_lines)
def test_an_added_line_is_an_added_line_of_the_snapshot(block: list[str], line: str) -> None:
    before, after = ["start", *block, "end"], ["start", line, *block, "end"]
    assert len(changed_lines("\n".join(before), "\n".join(after))) == 1


@pytest.mark.parametrize("number", range(128))
def test_the_same_ascii_characters_are_visible_in_ascii_texts_and_in_others(number: int) -> None:
    for text in (f"x{chr(number)}y\nz", f"x{chr(number)}\nz", f"x\nz{chr(number)}"):
        styles = [dump({"a": content}).splitlines()[0] for content in (text, f"é{text}")]
        assert styles[0] == styles[1]


def test_a_lone_surrogate_is_escaped_and_loaded_again() -> None:
    assert dump({"a": "\ud83d"}) == 'a: "\\uD83D"\n'
    assert yaml.safe_load(dump({"a": "\ud83d"})) == {"a": "\ud83d"}


@pytest.mark.parametrize("ending", ["", "\n", " ", "\n\n"])
@pytest.mark.parametrize("before", ["ask", "ask ", "", "\n", "  ask", "ask\n", "a\x07k"])
def test_a_long_file_is_laid_out_as_a_short_one(before: str, ending: str) -> None:
    def layout(count: int) -> str:
        lines = "line\n" * count
        text = f"{before}\n=== a.txt ===\n{lines}\n=== b.txt ===\nend{ending}"
        return dump({"one": text, "more": {"two": text}})

    # Apart from lines that are repeated; a text of 65,536 characters is written in parts.
    assert list(dict.fromkeys(layout(14_000).split("\n"))) == list(dict.fromkeys(layout(3).split("\n")))
    assert yaml.safe_load(layout(3))["one"].startswith(before)

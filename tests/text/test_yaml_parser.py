"""The YAML parser: values, their positions, problems, and which texts are refused."""

from __future__ import annotations

import pytest

from pytest_chatprompt.text import yaml as yaml_parser
from pytest_chatprompt.text.json_data import MAX_FILE_DEPTH
from pytest_chatprompt.text.yaml import Position, YamlError, load_yaml, parse_yaml


def refusal(text: str) -> tuple[int, int, str]:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    ((position, reason),) = caught.value.problems
    assert str(caught.value) == reason
    return position.line, position.column, reason


def problems_of(text: str) -> list[tuple[int, int, str]]:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    return [(position.line, position.column, reason) for position, reason in caught.value.problems]


def test_values_are_read_as_yaml_defines_them() -> None:
    root = parse_yaml("a: [1, 2.5, yes, null, ~, '3', \"4\", x]\nb: {c: 2024-01-02}\nd: !!str 5\n")
    data = root.data()
    assert data["a"] == [1, 2.5, True, None, None, "3", "4", "x"]
    assert data["b"]["c"] == "2024-01-02"
    assert data["d"] == "5"


@pytest.mark.parametrize("text", ['a: "12"\n', "a: '12'\n", "a: ! 12\n", "a: !!str 12\n"])
def test_a_value_that_is_marked_as_text_is_text(text: str) -> None:
    root = parse_yaml(text)
    assert (root.find(("a",)).value, root.find(("a",)).text) == ("12", "12")


@pytest.mark.parametrize("text", ["a: [{b: {c: [1, x]}}, {}]\n", "a: [{b: &1 {c: [1, x]}}, {}, *1]\n"])
def test_below_the_levels_that_are_wanted_the_data_is_the_same(text: str) -> None:
    root = parse_yaml(text, levels=2)
    assert root.data() == parse_yaml(text).data()
    assert root.find(("a", 0, "b")).position == Position(1, 5 if "&" not in text else 9)
    assert root.find(("a", 1)).position.column == text.index("{}") + 1


def test_an_alias_of_a_text_has_its_value() -> None:
    assert parse_yaml("a: &x 1\nb: *x\n").data() == {"a": 1, "b": 1}


def test_the_value_of_an_empty_text_is_none() -> None:
    assert parse_yaml("").data() is None
    assert parse_yaml("# only a comment\n").data() is None


def test_every_value_has_its_position() -> None:
    root = parse_yaml("a:\n  - b: x\n    c: y\n")
    assert root.find(("a", 0, "c")).position == Position(3, 8)
    entry = root.find(("a", 0)).find_entry(("c",))
    assert entry is not None
    assert entry.key.position == Position(3, 5)


def test_keys_and_indexes_that_do_not_exist_are_skipped() -> None:
    root = parse_yaml("a: [x]\n")
    assert root.find(("string", "a", "parts", 0, 3, "b")).data() == "x"
    assert root.find(("a", 1)).data() == ["x"]


def test_columns_count_characters() -> None:
    root = parse_yaml("ä: {ö: ü}\n")
    assert root.find(("ä", "ö")).position == Position(1, 8)


def test_an_alias_has_the_value_of_its_anchor() -> None:
    root = parse_yaml("a: &x {k: v}\nb: *x\n")
    assert root.data() == {"a": {"k": "v"}, "b": {"k": "v"}}


def test_a_mappings_own_keys_override_merged_ones() -> None:
    text = "base: &b {x: 1, y: 1}\nmore: &m {y: 2, z: 2}\nc: {<<: [*b, *m], x: 0}\nd: {<<: *b}\n"
    data = parse_yaml(text).data()
    assert data["c"] == {"x": 0, "y": 1, "z": 2}
    assert data["d"] == {"x": 1, "y": 1}


def test_merging_a_value_that_is_not_a_mapping_is_a_problem() -> None:
    assert problems_of("a: {<<: x}\n") == [(1, 9, "the value of << must be a mapping or a list of mappings")]


def test_a_repeated_key_is_a_problem_at_any_depth() -> None:
    assert problems_of("a:\n  - b: 1\n    c: 2\n    b: 3\n") == [(4, 5, "the key 'b' appears twice, first on line 2")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("? [a]\n: 1", "the key is a list; a key must be a string", id="a list"),
        pytest.param(
            "x: {{ name }}",
            "the key is a mapping; a key must be a string, and text that begins with { must be in quotes",
            id="a mapping, which is mostly a template",
        ),
    ],
)
def test_a_key_that_is_not_a_string_is_a_problem(text: str, reason: str) -> None:
    assert [problem[2] for problem in problems_of(text)] == [reason]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a: !!python/object/apply:os.system [x]", "!!python/object/apply:os.system", id="python"),
        pytest.param("a: !!set {x}", "!!set", id="a tagged mapping"),
    ],
)
def test_a_tag_is_a_problem(text: str, shown: str) -> None:
    assert [problem[2] for problem in problems_of(text)] == [f"the YAML tag {shown} is not allowed here"]


@pytest.mark.parametrize("tag", ["!include", "!!binary"])
def test_a_tag_of_a_text_is_a_problem_that_quotes_may_solve(tag: str) -> None:
    assert problems_of(f"a: {tag} x") == [
        (1, 4, f"the YAML tag {tag} is not allowed here; put it in quotes if you mean text")
    ]


def test_dates_and_what_is_no_number_are_text() -> None:
    data = {"a": "2024-13-45", "b": "2024-01-02 10:00:00", "c": "0x_", "d": "1:30", "e": "9" * 1001}
    assert parse_yaml("".join(f"{key}: {text}\n" for key, text in data.items())).data() == data


def test_invalid_yaml_is_reported_at_its_position() -> None:
    assert refusal("a: [1, 2\nb: 3\n") == (
        2,
        2,
        "not valid YAML: did not find expected ',' or ']', while parsing a flow sequence on line 1",
    )


def test_a_character_that_yaml_does_not_allow_is_reported_at_its_position() -> None:
    assert refusal("ä: x\nb: y\x00z\x01\n") == (2, 5, "not valid YAML: the character U+0000 is not allowed")
    assert refusal("ä: x\n\nb: y\x7fz\n") == (3, 5, "not valid YAML: the character U+007F is not allowed")


def test_a_second_document_is_refused() -> None:
    assert refusal("a: 1\n---\nb: 2\n") == (2, 1, "a second YAML document begins here; only one is allowed in a file")


def test_an_alias_without_anchor_is_refused() -> None:
    assert refusal("a: *x\n") == (1, 4, "the alias *x has no anchor &x before it; put it in quotes if you mean text")


def test_an_alias_inside_its_own_anchor_is_refused() -> None:
    assert refusal("a: &x [*x]\n") == (1, 8, "the alias *x is inside the value that it refers to")


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_depth_is_limited(opening: str) -> None:
    assert refusal(opening * 300) == (1, 200 * len(opening) + 1, "nested more than 200 levels deep")
    # libyaml may stop by itself, and somewhat later.
    assert refusal(opening * 100_000)[2] == "nested more than 200 levels deep"


def test_what_an_alias_stands_for_counts_as_deep_as_it_is() -> None:
    half = "[" * 100 + "]" * 100
    parse_yaml(f"a: &a {half[1:-1]}\nb: {'[' * 100}*a{']' * 100}")
    assert refusal(f"a: &a {half}\nb: {'[' * 100}*a{']' * 100}")[2] == "nested more than 200 levels deep"
    chain = "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 1000))])
    assert refusal(chain) == (200, 14, "nested more than 200 levels deep")


def test_a_file_at_the_limit_of_depth_is_read() -> None:
    root = parse_yaml("[" * MAX_FILE_DEPTH + "]" * MAX_FILE_DEPTH)
    assert str(root.data()) == "[" * MAX_FILE_DEPTH + "]" * MAX_FILE_DEPTH


def test_values_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_parser, "MAX_VALUES", 10)
    parse_yaml("- a\n" * 9)
    assert refusal("- a\n" * 10) == (10, 3, "more than 10 values up to here")
    assert refusal("- []\n" * 10) == (10, 3, "more than 10 values up to here")
    assert refusal("a: &a [1, 2, 3]\nb: *a\nc: x") == (2, 4, "more than 10 values up to here")


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ('a: "x \\ud83d y"', "d83d"),
        ('a: "\\\\\\ud83d"', "d83d"),
        ('a: "\\ud83d\\ude00 \\\\\n  a line\n\n  \\t \\uDE00 \\t y"', "de00"),
        ('a: "\\ud83d\\ud83d\\ude00"', "d83d"),
    ],
)
def test_half_a_character_is_a_problem(text: str, half: str) -> None:
    reason = f"\\u{half} is not a whole character; write the character itself"
    assert problems_of(text) == [(1, 4, reason)]


def test_plain_data_is_read_if_there_is_no_problem_at_all() -> None:
    assert load_yaml("") is None
    assert load_yaml('a: [1, "\\ud800 \\ud83d\\ude00"]\n') == {"a": [1, "\ud800 😀"]}
    for text in ("a: 1\na: 2\n", "a: !!binary eA==\n", "a: [", "a: 1\n---\n"):
        with pytest.raises(YamlError):
            load_yaml(text)


def test_a_key_in_quotes_merges_nothing() -> None:
    assert load_yaml('"<<": {a: 1}\n') == {"<<": {"a": 1}}


def test_an_alias_bomb_is_refused_and_never_expanded() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{later}: &{later} [{', '.join([f'*{earlier}'] * 10)}]"
        for earlier, later in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    assert (
        refusal("\n".join(lines))[2]
        == "the aliases up to here expand to more than 100,000 values or 256,000,000 characters"
    )


def test_what_all_aliases_together_repeat_is_limited() -> None:
    thousand = f"a: &a [{', '.join(['x'] * 999)}]\n"
    parse_yaml(f"{thousand}b: [{', '.join(['*a'] * 100)}]")
    assert refusal(f"{thousand}b: [{', '.join(['*a'] * 101)}]") == (
        2,
        405,
        "the aliases up to here expand to more than 100,000 values or 256,000,000 characters",
    )


@pytest.mark.parametrize(
    "anchored",
    [
        pytest.param("&a " + "x" * 100, id="a text"),
        pytest.param("&a {" + "k" * 40 + ": [" + "x" * 60 + "]}", id="a mapping that holds a text"),
    ],
)
def test_the_characters_that_aliases_repeat_are_limited(anchored: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_parser, "MAX_ALIASED_CHARACTERS", 900)
    parse_yaml(f"a: {anchored}\nb: [{', '.join(['*a'] * 9)}]")
    assert refusal(f"a: {anchored}\nb: [{', '.join(['*a'] * 10)}]") == (
        2,
        41,
        "the aliases up to here expand to more than 100,000 values or 900 characters",
    )


@pytest.mark.parametrize("text", ["=", "<<", "a = b"])
def test_signs_that_only_yaml_1_1_knows_are_text(text: str) -> None:
    root = parse_yaml(f"a: {text}\nb: [{text}]\n=: x\n")
    assert root.data() == {"a": text, "b": [text], "=": "x"}


@pytest.mark.parametrize("key", ["1", "yes", "~", "2024-01-02", "1.5", "''"])
def test_every_key_is_text(key: str) -> None:
    root = parse_yaml(f"a: {{{key}: x}}\n")
    assert root.data() == {"a": {key.strip("'"): "x"}}

"""YAML with places: values, places, problems, and what is refused."""

from __future__ import annotations

import pytest

from pytest_chatprompt.yaml_source import MAX_DEPTH, SourceError, read_yaml
from pytest_chatprompt.yaml_tree import Place


def refused(text: str) -> tuple[int, int, str]:
    with pytest.raises(SourceError) as caught:
        read_yaml(text)
    place, told = caught.value.problem
    return place.line, place.column, told


def problems_of(text: str) -> list[tuple[int, int, str]]:
    return [(place.line, place.column, told) for place, told in read_yaml(text)[1]]


def test_values_are_those_of_yaml() -> None:
    root, problems = read_yaml("a: [1, 2.5, yes, null, ~, '3', \"4\", x]\nb: {c: 2024-01-02}\nd: !!str 5\n")
    assert problems == []
    data = root.data()
    assert data["a"] == [1, 2.5, True, None, None, "3", "4", "x"]
    assert str(data["b"]["c"]) == "2024-01-02"
    assert data["d"] == "5"


def test_an_empty_text_is_a_root_of_none() -> None:
    assert read_yaml("")[0].data() is None
    assert read_yaml("# only a comment\n")[0].data() is None


def test_every_value_knows_its_place() -> None:
    root, _ = read_yaml("a:\n  - b: x\n    c: y\n")
    assert root.find(("a", 0, "c")).place == Place(3, 8)
    assert root.find(("a", 0)).key_place("c") == Place(3, 5)
    assert root.find(("a", 0)).key_place("nope") == Place(2, 5)
    assert root.find(("a",)).key_place("b") == Place(2, 3)


def test_steps_that_lead_nowhere_are_passed_over() -> None:
    root, _ = read_yaml("a: [x]\n")
    assert root.find(("string", "a", "parts", 0, 3, "b")).data() == "x"


def test_columns_count_characters() -> None:
    root, _ = read_yaml("ä: {ö: ü}\n")
    assert root.find(("ä", "ö")).place == Place(1, 8)


def test_an_alias_is_its_anchor() -> None:
    root, problems = read_yaml("a: &x {k: v}\nb: *x\n")
    assert problems == []
    assert root.data() == {"a": {"k": "v"}, "b": {"k": "v"}}


def test_merge_keys_lie_below_the_mappings_own() -> None:
    text = "base: &b {x: 1, y: 1}\nmore: &m {y: 2, z: 2}\nc: {<<: [*b, *m], x: 0}\nd: {<<: *b}\n"
    data = read_yaml(text)[0].data()
    assert data["c"] == {"x": 0, "y": 1, "z": 2}
    assert data["d"] == {"x": 1, "y": 1}


def test_merging_something_else_is_a_problem() -> None:
    assert problems_of("a: {<<: x}\n") == [(1, 9, "<< takes a mapping, or a list of mappings")]


def test_a_key_given_twice_is_a_problem_at_any_depth() -> None:
    assert problems_of("a:\n  - b: 1\n    c: 2\n    b: 3\n") == [(4, 5, "the key 'b' is given twice, first in line 2")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("yes: 1", "the key yes is no string; quote it", id="a boolean"),
        pytest.param("12: 1", "the key 12 is no string; quote it", id="a number"),
        pytest.param("? [a]\n: 1", "the key a mapping or list is no string; quote it", id="a list"),
    ],
)
def test_a_key_that_is_no_string_is_a_problem(text: str, told: str) -> None:
    assert [problem[2] for problem in problems_of(text)] == [told]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("a: !!python/object/apply:os.system [x]", "!!python/object/apply:os.system", id="python"),
        pytest.param("a: !include x.yaml", "!include", id="local"),
        pytest.param("a: !!binary eA==", "!!binary", id="binary"),
        pytest.param("a: !!set {x}", "!!set", id="a tagged mapping"),
    ],
)
def test_a_tag_is_a_problem(text: str, shown: str) -> None:
    assert [problem[2] for problem in problems_of(text)] == [f"the YAML tag {shown} is not allowed here"]


def test_a_scalar_that_looks_like_a_date_and_is_none_is_a_problem() -> None:
    assert problems_of("a: 2024-13-45\n") == [
        (1, 4, "YAML cannot make a value of 2024-13-45: month must be in 1..12; quote it")
    ]


def test_what_is_no_yaml_is_told_at_its_place() -> None:
    line, column, told = refused("a: [1, 2\nb: 3\n")
    assert (line, column) == (2, 2)
    assert told.startswith("this is no YAML: while parsing a flow sequence, ")


def test_a_character_that_yaml_does_not_allow_is_told_at_its_place() -> None:
    assert refused("ä: x\nb: y\x00z\n") == (2, 5, "this is no YAML: the character U+0000 is not allowed")


def test_a_second_document_is_refused() -> None:
    assert refused("a: 1\n---\nb: 2\n") == (2, 1, "a second YAML document begins here; a file holds one")


def test_an_alias_without_anchor_is_refused() -> None:
    assert refused("a: *x\n") == (1, 4, "the alias *x has no anchor &x before it")


def test_an_alias_inside_of_its_anchor_is_refused() -> None:
    assert refused("a: &x [*x]\n") == (1, 8, "the alias *x stands inside of what it names")


def test_depth_is_bounded() -> None:
    assert read_yaml("[" * MAX_DEPTH + "]" * MAX_DEPTH)[1] == []
    assert refused("[" * 100_000) == (1, 101, "nested more than 100 levels deep")


def test_an_alias_bomb_is_refused_instead_of_unfolded() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{later}: &{later} [{', '.join([f'*{earlier}'] * 10)}]"
        for earlier, later in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    assert refused("\n".join(lines))[2] == "the aliases up to here unfold to more than 100,000 values"

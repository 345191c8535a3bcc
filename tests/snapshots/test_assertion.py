"""`EvalSnapshot` and its extension: names of files, filters, requests after a reply."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.filters import paths, props
from syrupy.matchers import path_type

from pytest_chatprompt.snapshots.assertion import ChatPromptSnapshotExtension, filtered, settle_requests_after_reply

FOLDER = Path("/project/evals/__snapshots__/a.eval")


def location(**names: object) -> Any:
    """The location of a test whose item has these attributes."""
    item = SimpleNamespace(**names)
    return SimpleNamespace(item=item, basename="a.eval", filepath="/project/evals/a.eval.yaml", snapshot_name="it")


class Moved(ChatPromptSnapshotExtension):
    """Keeps its snapshots in another folder, named in a roundabout way."""

    @classmethod
    def dirname(cls, *, test_location: Any) -> str:
        return f"{super().dirname(test_location=test_location)}/../moved//a.eval"


@pytest.mark.parametrize(
    ("index", "name"),
    [(0, "hi[openai].yaml"), (1, "hi[openai].1.yaml"), ("a/../b", "hi[openai][a%2F..%2Fb].yaml")],
    ids=["the first assertion", "a later one", "one with a name"],
)
def test_a_snapshot_is_where_the_item_says(index: int | str, name: str) -> None:
    test = location(snapshot_folder=FOLDER, snapshot_stem="hi[openai]")
    found = ChatPromptSnapshotExtension.get_location(test_location=test, index=index)
    assert found == str(FOLDER / name)


@pytest.mark.parametrize("names", [{}, {"snapshot_folder": FOLDER}], ids=["no name", "a folder alone"])
def test_without_names_of_the_item_it_is_where_syrupy_says(names: dict[str, Path]) -> None:
    found = ChatPromptSnapshotExtension.get_location(test_location=location(**names), index=0)
    assert found == "/project/evals/__snapshots__/a.eval/it.yaml"


def test_a_subclass_may_move_its_snapshots() -> None:
    test = location(snapshot_folder=FOLDER, snapshot_stem="hi[openai]")
    assert Path(Moved.get_location(test_location=test, index=0)) == Path(f"{FOLDER}/../moved/a.eval/hi[openai].yaml")


def test_syrupy_finds_no_unused_snapshots() -> None:
    test = location(snapshot_folder=FOLDER, snapshot_stem="hi[openai]")
    assert list(ChatPromptSnapshotExtension().discover_snapshots(test_location=test)) == []


DATA = {"a": 1, "list": [{"id": 5, "at": "now"}, ("x", None)]}


def test_without_functions_the_data_is_the_same() -> None:
    assert filtered(DATA) == {"a": 1, "list": [{"id": 5, "at": "now"}, ["x", None]]}


def test_keys_are_left_out_at_any_depth() -> None:
    assert filtered(DATA, exclude=props("at", "a")) == {"list": [{"id": 5}, ["x", None]]}
    assert filtered(DATA, exclude=paths("list.0.at")) == {"a": 1, "list": [{"id": 5}, ["x", None]]}


def test_only_the_keys_that_are_included_are_shown() -> None:
    assert filtered(DATA, include=props("list", "id")) == {"list": [{"id": 5}, ["x", None]]}
    assert filtered(DATA, include=props("list", "id"), exclude=props("id")) == {"list": [{}, ["x", None]]}


def test_values_are_shown_as_the_matcher_says() -> None:
    matched = filtered(DATA, matcher=path_type({"list.0.id": (int,)}))
    assert matched == {"a": 1, "list": [{"id": "int", "at": "now"}, ["x", None]]}


@pytest.mark.parametrize(
    ("shown", "expected"),
    [(None, None), (5, 5), ({"b": (1,)}, {"b": [1]}), ([object], [object]), (object, "<class 'object'>"), (b"", "b''")],
)
def test_a_value_that_is_no_json_becomes_its_repr(shown: Any, expected: Any) -> None:
    def matcher(*, data: Any, path: Any) -> Any:
        return shown if path == (("a", int),) else data

    assert filtered({"a": 1}, matcher=matcher) == {"a": expected}


def test_a_path_has_each_key_and_index_with_the_type_of_its_value() -> None:
    seen = []

    def matcher(*, data: Any, path: Any) -> Any:
        seen.append(path)
        return data

    filtered({"a": [5]}, matcher=matcher)
    assert seen == [(), (("a", list),), (("a", list), (0, int))]


@pytest.mark.parametrize(
    ("requests", "late", "stored", "settled"),
    [
        pytest.param("ab", "01", "ac", "ac", id="a late one stays as it is stored"),
        pytest.param("xb", "01", "ac", "xc", id="an early one is compared"),
        pytest.param("abc", "011", "ad", "ad", id="more late ones than stored"),
        pytest.param("ab", "01", "acd", "acd", id="fewer late ones than stored"),
        pytest.param("abc", "010", "adc", "adc", id="one that is not late among them"),
        pytest.param("abc", "010", "ad", "adc", id="one more that is not late is a difference"),
        pytest.param("ab", "11", "", "", id="nothing is stored"),
    ],
)
def test_late_requests_are_as_the_snapshot_shows_them(requests: str, late: str, stored: str, settled: str) -> None:
    assert settle_requests_after_reply(requests, [flag == "1" for flag in late], stored) == list(settled)

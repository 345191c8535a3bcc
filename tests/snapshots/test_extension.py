"""The extension: where the snapshots of a test are, and what a subclass may change about it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_chatprompt.snapshots.assertion import ChatPromptSnapshotExtension

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
    assert Moved.discovery_dirname(test_location=test) == f"{FOLDER}/../moved"


def test_syrupy_finds_no_unused_snapshots() -> None:
    test = location(snapshot_folder=FOLDER, snapshot_stem="hi[openai]")
    assert list(ChatPromptSnapshotExtension().discover_snapshots(test_location=test)) == []

"""Pauses of the garbage collector: it runs again afterwards, unless it was off before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pytest_chatprompt.garbage_collection import (
    freeze_objects,
    importing_without_collections,
    paused_garbage_collection,
    unfreeze_objects,
)

pytestmark = pytest.mark.usefixtures("garbage_collection")


def test_no_garbage_is_collected_meanwhile() -> None:
    with paused_garbage_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_garbage_is_collected_again_after_an_error() -> None:
    with pytest.raises(ImportError), paused_garbage_collection():
        raise ImportError
    assert gc.isenabled()


def test_a_process_that_collects_no_garbage_goes_on_so() -> None:
    gc.disable()
    with paused_garbage_collection():
        assert not gc.isenabled()
    assert not gc.isenabled()


@pytest.fixture
def _frozen_objects() -> Iterator[None]:
    """Freezes all objects again, as the tests of this project do."""
    yield
    gc.freeze()


def _is_young(wanted: object) -> bool:
    return any(found is wanted for generation in (0, 1) for found in gc.get_objects(generation))


@pytest.mark.usefixtures("_frozen_objects")
def test_what_was_imported_is_left_to_full_collections() -> None:
    gc.unfreeze()
    with importing_without_collections():
        assert not gc.isenabled()
        imported: list[object] = []
        assert _is_young(imported)
    assert gc.isenabled()
    assert not _is_young(imported)
    assert gc.get_freeze_count() == 0


def test_what_somebody_has_frozen_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with importing_without_collections():
        imported: list[object] = []
    assert gc.get_freeze_count() >= frozen > 0
    assert _is_young(imported)


def test_objects_are_left_as_they_are_where_the_collector_cannot_freeze(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(gc, "freeze")
    with importing_without_collections():
        imported: list[object] = []
    assert _is_young(imported)


def _is_visited(wanted: object) -> bool:
    return any(found is wanted for found in gc.get_objects())


@pytest.mark.usefixtures("_frozen_objects")
def test_no_collection_visits_what_is_frozen() -> None:
    gc.unfreeze()
    frozen: list[object] = []
    assert freeze_objects()
    with importing_without_collections():
        imported: list[object] = []
    later: list[object] = []
    assert [_is_visited(found) for found in (frozen, imported, later)] == [False, False, True]
    unfreeze_objects()
    assert all(_is_visited(found) for found in (frozen, imported, later))


@pytest.mark.usefixtures("_frozen_objects")
def test_nothing_is_frozen_again_after_the_end() -> None:
    gc.unfreeze()
    freeze_objects()
    unfreeze_objects()
    with importing_without_collections():
        imported: list[object] = []
    assert _is_visited(imported)


def test_what_somebody_has_frozen_is_not_frozen_anew() -> None:
    gc.freeze()
    later: list[object] = []
    assert not freeze_objects()
    assert _is_visited(later)


@pytest.mark.usefixtures("_frozen_objects")
def test_what_python_begins_with_may_be_frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.unfreeze()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: 375)
    frozen: list[object] = []
    assert freeze_objects()
    assert not _is_visited(frozen)
    unfreeze_objects()


def test_nothing_is_frozen_where_the_collector_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(gc, "freeze")
    assert not freeze_objects()

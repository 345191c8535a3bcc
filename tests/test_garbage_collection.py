"""Pauses of the garbage collector: it runs again afterwards, unless it was off before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from pytest_chatprompt.garbage_collection import importing_without_collections, paused_garbage_collection

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

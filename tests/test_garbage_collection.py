"""Pauses of the garbage collector: it runs again afterwards, unless it was off before."""

from __future__ import annotations

import gc

import pytest

from pytest_chatprompt.garbage_collection import paused_garbage_collection

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

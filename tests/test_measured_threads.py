"""Threads that begin together while coverage is measured."""

from __future__ import annotations

import pytest

from tests.conftest import trying_again


@pytest.mark.parametrize("refusals", [0, 1, 5])
def test_a_trace_function_is_installed_once_no_other_thread_installs_one(refusals: int) -> None:
    installed: list[object] = []

    def install(function: object) -> None:
        installed.append(function)
        if len(installed) <= refusals:
            raise RuntimeError("Cannot install a trace function while another trace function is being installed")

    trying_again(install)(None)
    assert installed == [None] * (refusals + 1)


def test_a_trace_function_that_is_always_refused_is_an_error() -> None:
    def install(function: object) -> None:
        raise RuntimeError(function)

    with pytest.raises(RuntimeError, match="refused"):
        trying_again(install)("refused")

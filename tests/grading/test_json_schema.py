"""Where data does not fit a JSON Schema."""

from __future__ import annotations

import pytest

from pytest_chatprompt.grading.checks import find_misfit


@pytest.mark.parametrize(
    ("length", "shown"),
    [
        pytest.param(173, f"'{'x' * 173}' is not of type 'integer'", id="200 characters"),
        pytest.param(174, f"'{'x' * 174}' is not of type 'integer…", id="201 characters"),
    ],
)
def test_a_long_reason_is_cut(length: int, shown: str) -> None:
    assert find_misfit(["x" * length], {"items": {"type": "integer"}}) == f"$[0]: {shown}"


def test_data_that_fits_has_no_misfit() -> None:
    assert not find_misfit([1], {"items": {"type": "integer"}})

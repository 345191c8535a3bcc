"""Phrases that messages share."""

from __future__ import annotations

import pytest

from pytest_chatprompt.wording import dollars


@pytest.mark.parametrize(
    ("amount", "expected"),
    [
        (0, "$0.00"),
        (5, "$5.00"),
        (1234.567, "$1234.57"),
        (0.5, "$0.50"),
        (0.05, "$0.05"),
        (0.051, "$0.051"),
        (0.0512, "$0.051"),
        (0.0005, "$0.0005"),
        (0.00014, "$0.00014"),
        (0.000000123, "$0.00000012"),
    ],
)
def test_amounts_of_dollars(amount: float, expected: str) -> None:
    assert dollars(amount) == expected

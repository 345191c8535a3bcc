"""Late requests: which are compared, and which stay as the snapshot shows them."""

from __future__ import annotations

import pytest

from pytest_chatprompt.snapshots.assertion import settle_requests_after_reply


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

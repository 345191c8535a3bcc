"""The usage of a recorded reply: cached and thinking tokens of each API, in the same words."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.providers.response import read_usage
from tests.apis.test_token_counts import ROWS


@pytest.mark.parametrize(("reply", "usage", "expected"), [row.values[1:] for row in ROWS], ids=[row.id for row in ROWS])
def test_it_is_what_the_provider_reads(reply: Any, usage: Any, expected: Any) -> None:
    found = read_usage({"body": reply(usage)})
    assert found == expected
    assert read_usage({"events": [{"data": {"message": reply(usage)}}]}) == found

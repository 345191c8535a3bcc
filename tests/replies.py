"""The replies of the APIs, for tests that need one that is valid and says nothing."""

from __future__ import annotations

from typing import Any

import httpx

from pytest_chatprompt.apis.table import get_api


def plain_reply(api: str) -> dict[str, Any]:
    """The body of an API's reply to a request that demands nothing.

    Args:
        api: its name in the table of APIs.
    """
    body: dict[str, Any] = get_api(api).answer(httpx.Request("POST", "https://api.example/", json={})).json()
    return body

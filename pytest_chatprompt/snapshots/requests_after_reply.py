"""Late requests: those made after the first real reply of a live or replayed test, which may hold that reply.

The requests that a test compares with its snapshot come in, each late or not, and those that the snapshot shows. Out
come the requests to compare, in which the late ones are as the snapshot shows them. Pure; `assertion` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def settle_requests_after_reply(requests: Sequence[Any], is_late: Sequence[bool], stored: Sequence[Any]) -> list[Any]:
    """Replace late requests by what the snapshot shows in their place.

    Args:
        requests: as they were sent.
        is_late: for each of them whether it is late; at least one is.
        stored: the requests that the snapshot shows.

    Returns:
        The requests that are not late, in their places; for the others those of the snapshot, be they more or fewer.
    """
    settled = [
        stored[index] if late else request
        for index, (request, late) in enumerate(zip(requests, is_late, strict=True))
        if not late or index < len(stored)
    ]
    return [*settled, *stored[len(requests) :]]

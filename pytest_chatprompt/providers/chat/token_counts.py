"""Reads the counts of tokens in the replies of APIs.

The usage of a reply comes in, a count or the sum of some comes out; `None` where the API says nothing that is a count.
Pure; the modules of this room call it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def count_at(usage: Any, *path: str) -> int | None:
    """The count at a path of keys; `None` if there is none.

    Args:
        usage: decoded from JSON, of any type.
        path: the keys, from the outermost.
    """
    for key in path:
        usage = usage.get(key) if isinstance(usage, Mapping) else None
    return usage if isinstance(usage, int) and not isinstance(usage, bool) and usage >= 0 else None


def total(*counts: int | None) -> int | None:
    """The sum of the counts that are known; `None` if none is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

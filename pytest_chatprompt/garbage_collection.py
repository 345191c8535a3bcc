"""Garbage collection: none while modules are imported that stay until the process ends.

Python starts a collection by the number of new objects, and each full one visits all objects that there are. What an
import makes is no garbage, so these collections find nothing. `plugin` calls it around the import of the rooms.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Collect no garbage meanwhile; afterwards as before: a process that has switched collection off keeps it off."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

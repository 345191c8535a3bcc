"""Pauses of the garbage collector, for code that makes many objects which stay.

Python starts a collection by the number of new objects, and each full one visits all objects that there are. Imported
modules and a loaded eval file are no garbage, so these collections find nothing. `plugin` pauses them around the import
of the rooms, and `evalfile.loader` around the loading of a file.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector inside the block; leave it off if it was off before."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

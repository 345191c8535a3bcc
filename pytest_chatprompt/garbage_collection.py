"""Pauses of the garbage collector, for code that makes many objects which stay.

Python starts a collection by the number of new objects, and each full one visits all objects that there are. Imported
modules and a loaded eval file are no garbage, so these collections find nothing. `plugin` and `items.running_imports`
pause them around the import of the rooms, `evalfile.loader` around the loading of a file, and `items.prefetch_planner`
while it queues requests.
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


@contextmanager
def importing_without_collections() -> Iterator[None]:
    """Pause the garbage collector while modules are imported, and leave them to full collections afterwards.

    Else the first collections after the pause would visit all new objects, those of the young generations.
    """
    with paused_garbage_collection():
        yield
        # What somebody has frozen stays frozen. PyPy does not have these functions.
        if hasattr(gc, "freeze") and not gc.get_freeze_count():
            gc.freeze()
            # To the oldest generation.
            gc.unfreeze()

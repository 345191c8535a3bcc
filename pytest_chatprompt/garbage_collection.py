"""What the garbage collector need not look at: objects that stay.

Python starts a collection by the number of new objects, and each full one visits all objects that there are. Imported
modules, a loaded eval file and the items of a run are no garbage, so these collections find nothing. `plugin` and
`items.running_imports` pause them around the import of the rooms, `evalfile.loader` around the loading of a file, and
`items.kept_objects` freezes what a run of eval items keeps.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

# Python 3.12 begins with some hundred frozen objects. Whoever freezes some has imported modules before: thousands.
_FEW_OBJECTS: Final = 1000
# Whether `freeze_objects` has frozen what is frozen in this process.
_is_frozen = False


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
        if _is_frozen:
            gc.freeze()
        elif _can_freeze():
            gc.freeze()
            # To the oldest generation.
            gc.unfreeze()


def freeze_objects() -> bool:
    """Have no collection visit the objects that exist now, until `unfreeze_objects` is called.

    Returns:
        Whether they are frozen, and not because of somebody else.
    """
    global _is_frozen  # noqa: PLW0603 - the collector is one for the process
    if not _can_freeze():
        return False
    gc.freeze()
    _is_frozen = True
    return True


def unfreeze_objects() -> None:
    """Undo what `freeze_objects` did."""
    global _is_frozen  # noqa: PLW0603 - as above
    _is_frozen = False
    gc.unfreeze()


def _can_freeze() -> bool:
    """Whether objects can be frozen, and nobody has done so: what somebody has frozen stays frozen."""
    # PyPy does not have these functions.
    return hasattr(gc, "freeze") and gc.get_freeze_count() < _FEW_OBJECTS

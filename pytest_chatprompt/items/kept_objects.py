"""Kept objects: what a run keeps to its end is left out of collections of garbage.

The tests that a run has collected come in. If all of them are eval items, the objects that exist now are frozen, and
`plugin` gives them back at the end, after pytest has collected garbage for the last time. `session` registers it.
"""

from __future__ import annotations

import pytest

from pytest_chatprompt.garbage_collection import freeze_objects
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.options import keeps_objects_key


class KeptObjects:
    """Freezes the objects of a run of eval items, once they are collected."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Freeze them, unless tests of the project run: one may ask the collector for its objects, or their users."""
        if session.items and all(isinstance(item, EvalItem) for item in session.items):
            session.config.stash[keeps_objects_key] = freeze_objects()

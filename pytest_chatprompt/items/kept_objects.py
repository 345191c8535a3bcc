"""Kept objects: what a run keeps to its end is left out of collections of garbage.

The tests that a run has collected come in. If all of them are eval items, the objects that exist now are frozen, and
`plugin` gives them back at the end, after pytest has collected garbage for the last time. Where the project asks for
warnings, nothing is frozen: pytest warns of what the finalizer of an object raises, and of files that nobody closed,
when it collects them. `session` registers it.
"""

from __future__ import annotations

import sys

import pytest

from pytest_chatprompt.garbage_collection import freeze_objects
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.options import keeps_objects_key


class KeptObjects:
    """Freezes the objects of a run of eval items, once they are collected."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Freeze them, unless tests of the project run: one may ask the collector for its objects, or their users."""
        if not session.items or not all(isinstance(item, EvalItem) for item in session.items):
            return
        if not _asks_for_warnings(session.config):
            session.config.stash[keeps_objects_key] = freeze_objects()


def _asks_for_warnings(config: pytest.Config) -> bool:
    """Whether a filter of warnings shows some that are hidden by default, or makes them errors."""
    filters = [*sys.warnoptions, *(config.getoption("pythonwarnings") or ()), *config.getini("filterwarnings")]
    actions = (each.partition(":")[0].strip() for each in filters)
    # Python also takes the beginning of a word; an action that is left out stands for `default`.
    return any(not action or not "ignore".startswith(action) for action in actions)

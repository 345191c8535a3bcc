"""Upcoming items: what this process runs next, and which fixture gives each item its provider.

The item that has its turn comes in; the items after it come out, and for an item the definition of its provider's
fixture, if that is known without running the item's setup. `live_run` calls it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.parametrize import PROVIDER_PARAMETER

# A case whose fixtures these are, and not overrides of them, can be sent without running its setup.
_OWN_FIXTURES: Final = ("eval_case", "eval_request", "eval_provider", "eval_response", "eval_snapshot")
_FIXTURES_MODULE: Final = "pytest_chatprompt.fixtures"


class UpcomingItems:
    """What this process runs next.

    Args:
        config: the run's configuration.
        concurrency: how many requests may be in flight at once.
    """

    def __init__(self, config: pytest.Config, concurrency: int) -> None:
        self._config = config
        self._concurrency = concurrency
        self._positions: dict[str, int] = {}
        self._definitions: dict[tuple[pytest.Item | pytest.Collector | None, str], Any] = {}

    @property
    def is_partial(self) -> bool:
        """Whether `after` gives a few items at a time, and has to be asked again at each item."""
        return bool(self._config.getoption("maxfail", 0)) or hasattr(self._config, "workerinput")

    def after(self, item: EvalItem, next_item: pytest.Item | None) -> list[pytest.Item]:
        """The items that this process runs after an item, as far as their requests may be sent before their turn.

        Args:
            item: the item that has its turn.
            next_item: what pytest says comes next. For a worker of pytest-xdist nothing beyond it is certain.
        """
        if hasattr(self._config, "workerinput"):
            return [] if next_item is None else [next_item]
        items = item.session.items
        self._positions = self._positions or {each.nodeid: position for position, each in enumerate(items, start=1)}
        upcoming = items[self._positions[item.nodeid] :]
        # A run that stops at the first failure must not pay for everything behind it.
        return upcoming[: self._concurrency] if self._config.getoption("maxfail", 0) else upcoming

    def provider_definition(self, item: EvalItem) -> Any:
        """The definition of the session-scoped fixture that gives an item its provider.

        Returns:
            `None` if only the item's setup can tell: its fixtures are overridden or parametrized, or the project's own.
        """
        if set(getattr(getattr(item, "callspec", None), "params", ())) - {PROVIDER_PARAMETER}:
            return None
        key = (item.parent, item.provider_name)
        if key not in self._definitions:
            self._definitions[key] = self._find_definition(item)
        return self._definitions[key]

    def _find_definition(self, item: EvalItem) -> Any:
        # pytest has no public way to ask which fixtures apply to a node before the node is set up.
        manager = item.session._fixturemanager
        for name in _OWN_FIXTURES:
            definitions = manager.getfixturedefs(name, item)
            if not definitions or definitions[-1].func.__module__ != _FIXTURES_MODULE:
                return None
        # A fixture of the project may skip the case, or set something that sending it needs.
        if any(self._is_from_project(manager.getfixturedefs(name, item)) for name in item.fixturenames):
            return None
        definitions = manager.getfixturedefs(f"{item.provider_name}_provider", item)
        if not definitions or definitions[-1].scope != "session" or definitions[-1].params is not None:
            return None
        return definitions[-1]

    def _is_from_project(self, definitions: Sequence[Any] | None) -> bool:
        """Whether a fixture is the project's own and is set up for each case, file or folder."""
        if not definitions or definitions[-1].scope == "session":
            return False
        file = Path(inspect.getfile(inspect.unwrap(definitions[-1].func)))
        is_ours = definitions[-1].func.__module__.startswith("pytest_chatprompt.")
        return not is_ours and "site-packages" not in file.parts and file.is_relative_to(self._config.rootpath)

"""The coming cases of a live run: which there are, and through which fixture's provider they go.

The item that has its turn comes in; the items after it come out, and for each the definition of the fixture that gives
it its provider, if that is known without running its setup. `live` calls it.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_chatprompt import fixtures
from pytest_chatprompt.eval_item import EvalItem
from pytest_chatprompt.templates import PROVIDER_PARAMETER

# A case whose fixtures are these can be sent without running its setup.
_OWN_FIXTURES: Final = ("eval_case", "eval_request", "eval_provider", "eval_response", "eval_snapshot")


class ComingCases:
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
    def is_seen_in_part(self) -> bool:
        """Whether the coming cases are known a few at a time only."""
        return bool(self._config.getoption("maxfail", 0)) or hasattr(self._config, "workerinput")

    def after(self, item: EvalItem, next_item: pytest.Item | None) -> list[pytest.Item]:
        """The cases that this process runs after an item, as far as they may be sent ahead."""
        if hasattr(self._config, "workerinput"):
            coming = self._assigned(item, next_item)
        else:
            items = item.session.items
            self._positions = self._positions or {one.nodeid: place for place, one in enumerate(items, start=1)}
            coming = items[self._positions[item.nodeid] :]
        # A run that stops at the first failure is not to have paid for all that comes after it.
        return coming[: self._concurrency] if self._config.getoption("maxfail", 0) else coming

    def _assigned(self, item: EvalItem, next_item: pytest.Item | None) -> list[pytest.Item]:
        """What pytest-xdist has assigned to this worker for good."""
        nexts = [] if next_item is None else [next_item]
        queue = next(
            filter(None, (getattr(one, "torun", None) for one in self._config.pluginmanager.get_plugins())), None
        )
        # What is assigned may be taken back when workers steal from one another.
        is_stolen_from = self._config.workerinput["chatprompt_is_stolen_from"]  # type: ignore[attr-defined]
        if queue is None or not hasattr(queue, "lock") or is_stolen_from:
            return nexts
        with queue.lock() as indices:
            assigned = [index for index in indices if isinstance(index, int)]
        return [*nexts, *(item.session.items[index] for index in assigned)]

    def provider_definition(self, item: EvalItem) -> Any:
        """The definition of the session's fixture that gives an item its provider; `None` if it is not that simple."""
        if set(getattr(getattr(item, "callspec", None), "params", ())) - {PROVIDER_PARAMETER}:
            return None
        key = (item.parent, item.provider_name)
        if key not in self._definitions:
            self._definitions[key] = self._looked_up(item)
        return self._definitions[key]

    def _looked_up(self, item: EvalItem) -> Any:
        # The fixtures that are in force at a node: pytest has no public way to ask before the node is set up.
        manager = item.session._fixturemanager
        for name in _OWN_FIXTURES:
            definitions = manager.getfixturedefs(name, item)
            if not definitions or definitions[-1].func.__module__ != fixtures.__name__:
                return None
        # A project's own fixture may skip the case, or set what sending it takes.
        if any(self._is_setup_of_the_project(manager.getfixturedefs(name, item)) for name in item.fixturenames):
            return None
        definitions = manager.getfixturedefs(f"{item.provider_name}_provider", item)
        if not definitions or definitions[-1].scope != "session" or definitions[-1].params is not None:
            return None
        return definitions[-1]

    def _is_setup_of_the_project(self, definitions: Sequence[Any] | None) -> bool:
        """Whether a fixture is set up for each case, file or folder anew by code of the project."""
        if not definitions or definitions[-1].scope == "session":
            return False
        file = Path(inspect.getfile(inspect.unwrap(definitions[-1].func)))
        is_of_plugin = definitions[-1].func.__module__.startswith(f"{__package__}.")
        return not is_of_plugin and "site-packages" not in file.parts and file.is_relative_to(self._config.rootpath)

"""Upcoming items: what this process runs next.

The item that runs comes in; the items after it come out that are certain enough to run for their requests to be sent
now. `prefetch_planner` calls it.
"""

from __future__ import annotations

import pytest

from pytest_chatprompt.items.item import EvalItem


class UpcomingItems:
    """The order of this process's items, and how far ahead of the running one requests may be sent.

    Args:
        config: the run's configuration.
        concurrency: how many requests may be in flight at once.
    """

    def __init__(self, config: pytest.Config, concurrency: int) -> None:
        self._is_worker = hasattr(config, "workerinput")
        self._stops_early = bool(config.getoption("maxfail", 0) or config.getoption("stepwise", False))
        self._concurrency = concurrency
        self._positions: dict[str, int] = {}
        # How many items of the run `newly_after` has given, or passed over.
        self._given = 0

    @property
    def is_partial(self) -> bool:
        """Whether `after` gives a few items at a time, and has to be asked again at each item."""
        return self._stops_early or self._is_worker

    def after(self, item: EvalItem, next_item: pytest.Item | None, limit: int | None = None) -> list[pytest.Item]:
        """The items that run after an item, and whose requests may be sent now.

        Args:
            item: the item that runs.
            next_item: what pytest says comes next. For a worker of pytest-xdist nothing beyond it is certain.
            limit: how many items at most; `None` for all.
        """
        if self._is_worker:
            return [] if next_item is None else [next_item]
        items = item.session.items
        self._positions = self._positions or {each.nodeid: position for position, each in enumerate(items, start=1)}
        position = self._positions[item.nodeid]
        # A run that stops at the first failure must not pay for everything behind it.
        if self._stops_early:
            limit = self._concurrency
        return items[position : None if limit is None else position + limit]

    def newly_after(self, item: EvalItem, next_item: pytest.Item | None, limit: int) -> list[tuple[int, pytest.Item]]:
        """Those of `after` that it has not given yet, each with its distance from the first: none is looked at twice.

        Args:
            item: the item that runs.
            next_item: as for `after`.
            limit: as for `after`.
        """
        following = list(enumerate(self.after(item, next_item, limit)))
        if self._is_worker:
            return following
        position = self._positions[item.nodeid]
        new = following[max(self._given - position, 0) :]
        self._given = max(self._given, position + len(following))
        return new

    def give_again(self) -> None:
        """Let `newly_after` give all items again, since more of them may be sent now."""
        self._given = 0

"""Upcoming items: what this process runs next.

The item that runs comes in; the items after it come out that are certain enough to run for their requests to be sent
now. `prefetch_planner` calls it.
"""

from __future__ import annotations

from typing import Final

import pytest

from pytest_chatprompt.items.item import EvalItem

# How far ahead requests may be sent, in items, and in rounds of what may be in flight; the larger counts. Answers that
# wait for their tests take memory, and so do requests that wait for a thread.
_LEAST_AHEAD: Final = 1_000
_ROUNDS_AHEAD: Final = 16


class UpcomingItems:
    """The order of this process's items, and how far ahead of the running one requests may be sent.

    Args:
        config: the run's configuration.
        concurrency: how many requests may be in flight at once.
    """

    def __init__(self, config: pytest.Config, concurrency: int) -> None:
        self._is_worker = hasattr(config, "workerinput")
        self._stops_early = bool(config.getoption("maxfail", 0) or config.getoption("stepwise", False))
        self._most_ahead = concurrency if self._stops_early else max(_LEAST_AHEAD, _ROUNDS_AHEAD * concurrency)
        self._positions: dict[str, int] = {}
        # The position of the item from which requests were sent ahead last.
        self._looked_at = 0
        # How many items of the run `newly_after` has given, or passed over.
        self._given = 0

    def look_again(self, item: EvalItem) -> bool:
        """Return whether to ask `after` again at an item, and remember the item if so.

        Under `-x` and in a worker, which look few items ahead, that is every item. Otherwise, half of the items that it
        looked ahead last time must have run.

        Args:
            item: the item that runs.
        """
        if self._stops_early or self._is_worker:
            return True
        position = self._position(item)
        if position - self._looked_at < self._most_ahead // 2:
            return False
        self._looked_at = position
        return True

    def after(self, item: EvalItem, next_item: pytest.Item | None, limit: int | None = None) -> list[pytest.Item]:
        """The items that run after an item, and whose requests may be sent now.

        Args:
            item: the item that runs.
            next_item: what pytest says comes next. For a worker of pytest-xdist nothing beyond it is certain.
            limit: how many items at most; `None` for as many as may be sent ahead.
        """
        if self._is_worker:
            return [] if next_item is None else [next_item]
        position = self._position(item)
        return item.session.items[position : self._end(position, item, limit)]

    def _end(self, position: int, item: EvalItem, limit: int | None) -> int:
        # A run that stops at the first failure must not pay for everything behind it.
        most = self._most_ahead if limit is None else min(limit, self._most_ahead)
        return min(position + most, len(item.session.items))

    def _position(self, item: EvalItem) -> int:
        """The place of an item in the run, from 1."""
        if not self._positions:
            self._positions = {each.nodeid: position for position, each in enumerate(item.session.items, start=1)}
        return self._positions[item.nodeid]

    def newly_after(self, item: EvalItem, next_item: pytest.Item | None, limit: int) -> list[tuple[int, pytest.Item]]:
        """Those of `after` that it has not given yet, each with its distance from the first: none is looked at twice.

        Args:
            item: the item that runs.
            next_item: as for `after`.
            limit: as for `after`.
        """
        if self._is_worker:
            return list(enumerate(self.after(item, next_item, limit)))
        position = self._position(item)
        first = max(self._given, position)
        self._given = max(first, self._end(position, item, limit))
        return list(enumerate(item.session.items[first : self._given], start=first - position))

    def give_again(self) -> None:
        """Let `newly_after` give all items again, since more of them may be sent now."""
        self._given = 0

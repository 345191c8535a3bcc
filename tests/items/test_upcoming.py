"""Upcoming items: which of them are looked at, and how often."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_chatprompt.items.upcoming import UpcomingItems


def config_of(**facts: Any) -> Any:
    """A configuration, of a worker of pytest-xdist if it has `workerinput`."""
    return SimpleNamespace(getoption=lambda _, default: default, **facts)


@pytest.fixture
def items() -> list[Any]:
    items: list[Any] = []
    session = SimpleNamespace(items=items)
    items += [SimpleNamespace(nodeid=str(number), session=session) for number in range(6)]
    return items


def numbers(new: list[tuple[int, Any]]) -> list[tuple[int, int]]:
    return [(distance, int(item.nodeid)) for distance, item in new]


def test_each_item_is_given_once(items: list[Any]) -> None:
    upcoming = UpcomingItems(config_of(), 2)
    given = [numbers(upcoming.newly_after(item, None, 3)) for item in items]
    assert given == [[(0, 1), (1, 2), (2, 3)], [(2, 4)], [(2, 5)], [], [], []]


def test_an_item_that_runs_again_gives_none_again(items: list[Any]) -> None:
    upcoming = UpcomingItems(config_of(), 2)
    upcoming.newly_after(items[2], None, 2)
    assert numbers(upcoming.newly_after(items[2], None, 2)) == []
    assert numbers(upcoming.newly_after(items[1], None, 2)) == []


def test_all_are_given_again_once_more_may_be_sent(items: list[Any]) -> None:
    upcoming = UpcomingItems(config_of(), 2)
    upcoming.newly_after(items[0], None, 3)
    upcoming.give_again()
    assert numbers(upcoming.newly_after(items[1], None, 3)) == [(0, 2), (1, 3), (2, 4)]


def test_items_that_were_passed_over_are_not_given(items: list[Any]) -> None:
    upcoming = UpcomingItems(config_of(), 2)
    upcoming.newly_after(items[0], None, 1)
    assert numbers(upcoming.newly_after(items[3], None, 1)) == [(0, 4)]


def test_a_worker_looks_at_its_next_item_only(items: list[Any]) -> None:
    upcoming = UpcomingItems(config_of(workerinput={}), 2)
    assert numbers(upcoming.newly_after(items[0], items[4], 3)) == [(0, 4)]
    assert upcoming.newly_after(items[4], None, 3) == []


def many_items(count: int) -> list[Any]:
    items: list[Any] = []
    session = SimpleNamespace(items=items)
    items += [SimpleNamespace(nodeid=str(number), session=session) for number in range(count)]
    return items


@pytest.mark.parametrize(("concurrency", "most"), [(2, 1_000), (100, 1_600)])
def test_no_more_than_so_many_items_may_be_sent_ahead(concurrency: int, most: int) -> None:
    items = many_items(3_000)
    upcoming = UpcomingItems(config_of(), concurrency)
    assert upcoming.after(items[10], None) == items[11 : 11 + most]
    assert upcoming.after(items[10], None, 3) == items[11:14]


def test_more_are_due_each_time_half_of_them_have_run() -> None:
    items = many_items(3_000)
    upcoming = UpcomingItems(config_of(), 2)
    assert [number for number, item in enumerate(items, start=1) if upcoming.look_again(item)] == list(
        range(500, 3_001, 500)
    )
    # An item that runs again.
    assert not upcoming.look_again(items[0])


def test_a_run_that_may_stop_early_looks_at_a_few_items_each_time(items: list[Any]) -> None:
    config = SimpleNamespace(getoption=lambda name, default: 1 if name == "maxfail" else default)
    upcoming = UpcomingItems(config, 2)  # type: ignore[arg-type]
    assert upcoming.look_again(items[0])
    assert upcoming.look_again(items[1])
    assert upcoming.after(items[1], None) == items[2:4]
    assert upcoming.after(items[1], None, 3) == items[2:4]


def test_a_worker_is_asked_for_each_item(items: list[Any]) -> None:
    upcoming = UpcomingItems(config_of(workerinput={}), 2)
    assert upcoming.look_again(items[0])
    assert upcoming.look_again(items[0])

"""Environment: what was set since the last look comes out once."""

from __future__ import annotations

import os
from collections.abc import Mapping

import pytest

from pytest_chatprompt.capture.secrets.redaction import WatchedEnvironment


def test_each_variable_comes_out_once_and_again_when_it_is_changed() -> None:
    variables = {"A": "1", "B": "2"}
    environment = WatchedEnvironment(variables)
    assert list(environment.changes()) == [("A", "1"), ("B", "2")]
    assert list(environment.changes()) == []
    variables["B"] = "3"
    variables["C"] = "4"
    assert list(environment.changes()) == [("B", "3"), ("C", "4")]
    assert list(environment.changes()) == []


def test_a_variable_that_was_removed_comes_out_when_it_is_set_again() -> None:
    variables = {"A": "1", "B": "2"}
    environment = WatchedEnvironment(variables)
    list(environment.changes())
    del variables["A"]
    assert list(environment.changes()) == []
    variables["A"] = "1"
    assert list(environment.changes()) == [("A", "1")]


def test_until_all_changes_were_used_others_get_them_too() -> None:
    environment = WatchedEnvironment({"A": "1", "B": "2"})
    next(environment.changes())
    assert list(environment.changes()) == [("A", "1"), ("B", "2")]


def test_the_variables_of_this_process_come_out_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = WatchedEnvironment(os.environ)
    list(environment.changes())
    monkeypatch.setenv("A_LATE_ONE", "a value ä")
    assert list(environment.changes()) == [("A_LATE_ONE", "a value ä")]


@pytest.mark.parametrize("variables", [{}, os.environ], ids=["a dict", "this process"])
def test_the_name_of_the_running_test_never_comes_out(
    variables: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = WatchedEnvironment(variables)
    list(environment.changes())
    monkeypatch.setitem(variables, "PYTEST_CURRENT_TEST", "a.eval.yaml::hello (call)")
    monkeypatch.setitem(variables, "A_LATE_ONE", "a value")
    assert list(environment.changes()) == [("A_LATE_ONE", "a value")]

"""Subinterpreters: to create one is an audit event that may be refused, on every Python."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from pytest_chatprompt.capture.network_guard import guard_network
from pytest_chatprompt.capture.subinterpreters import audit_creation


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was created by the modules that create subinterpreters; they are a stand-in here."""
    found: list[object] = []

    def create(*args: object, **kwargs: object) -> int:
        """Create one."""
        found.append((args, kwargs))
        return len(found)

    module = ModuleType("_interpreters")
    vars(module)["create"] = create
    # The latter until Python 3.12.
    for name in ("_interpreters", "_xxsubinterpreters"):
        monkeypatch.setitem(sys.modules, name, module)
    return found


@pytest.mark.parametrize("version", [(3, 12), (3, 13), (3, 14)])
def test_the_event_comes_before_the_creation(created: list[object], version: tuple[int, int]) -> None:
    audit_creation(version)
    create = sys.modules["_interpreters"].create
    with guard_network() as attempts, pytest.raises(Exception, match="a subinterpreter"):
        create("isolated", reqrefs=True)
    assert (attempts.programs, created) == (["python (a subinterpreter)"], [])
    assert create("isolated", reqrefs=True) == 1
    assert created == [(("isolated",), {"reqrefs": True})]
    assert create.__doc__ == "Create one."


def test_python_3_11_does_it_by_itself(created: list[object]) -> None:
    create = sys.modules["_interpreters"].create
    audit_creation((3, 11))
    assert sys.modules["_interpreters"].create is create
    assert not created


def test_a_python_without_subinterpreters_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_interpreters", None)
    audit_creation((3, 13))
    assert sys.modules["_interpreters"] is None

"""Runs of pytest inside the tests, at the cost of what they test: the rest is looked up in a shorter way.

Each run registers fifty plugins anew. For each of them pluggy and pytest ask every attribute whether it is a hook or a
fixture, and read for its version what is installed: half the time of a run that has one small test. What a module
defines stands in its `__dict__`, so these functions ask only those attributes that can be one, and give what the
original functions give. Only `tests/conftest.py` asks for the fixture.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from types import FunctionType, MethodType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import pluggy
import pytest
from _pytest.compat import getfuncargnames
from _pytest.fixtures import FixtureFunctionDefinition
from pluggy import _manager
from pluggy._decorators import varnames

# An older pluggy looks hooks up in another way; then nothing is replaced.
_find_hook: Callable[[object, str], Any] | None = getattr(_manager, "_static_hook_attr", None)


def hook_names(plugin: object) -> list[str]:
    """The attributes of a plugin that pytest may take for hooks, as `dir` orders them."""
    names = vars(plugin) if isinstance(plugin, ModuleType) else dir(plugin)
    return sorted(name for name in names if name.startswith("pytest_"))


def fixture_names(holder: object) -> list[str]:
    """The attributes of a plugin, a module or an object that may be fixtures, as `dir` orders them."""
    if inspect.isclass(holder):
        return dir(holder)
    # Fixtures of an object are those of its class.
    spaces = [holder] if isinstance(holder, ModuleType) else type(holder).__mro__
    kinds = (FixtureFunctionDefinition, staticmethod, classmethod)
    return sorted({name for space in spaces for name, value in vars(space).items() if isinstance(value, kinds)})


def find_hook(plugin: object, name: str) -> Any:
    """What pluggy finds under the name of a hook: the object that may have its options, and the function."""
    assert _find_hook is not None
    if isinstance(plugin, ModuleType):
        function = vars(plugin).get(name)
        return (function, function) if type(function) is FunctionType else _find_hook(plugin, name)
    if not inspect.isclass(plugin) and name not in getattr(plugin, "__dict__", ()):
        function = next((vars(base)[name] for base in type(plugin).__mro__ if name in vars(base)), None)
        if type(function) is FunctionType:
            return function, function.__get__(plugin)
    return _find_hook(plugin, name)


def remember_names(look_up: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which looks up the parameters of each function once, as long as that exists."""
    of_functions: WeakKeyDictionary[FunctionType, Any] = WeakKeyDictionary()
    of_methods: WeakKeyDictionary[FunctionType, Any] = WeakKeyDictionary()

    @wraps(look_up)
    def names(function: Any, **arguments: Any) -> Any:
        is_method = type(function) is MethodType
        key = function.__func__ if is_method else function
        # What pytest does with a class depends on the class too.
        if type(key) is not FunctionType or arguments.get("cls") is not None:
            return look_up(function, **arguments)
        known = of_methods if is_method else of_functions
        if key not in known:
            known[key] = look_up(function, **arguments)
        return known[key]

    return names


_quick_varnames = remember_names(varnames)
_quick_getfuncargnames = remember_names(getfuncargnames)


@pytest.fixture
def _quick_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets runs of pytest in the test look at those attributes of plugins only that can be hooks or fixtures."""
    monkeypatch.setattr("pluggy._manager.dir", hook_names, raising=False)
    monkeypatch.setattr("_pytest.fixtures.dir", fixture_names, raising=False)
    if _find_hook is not None:
        monkeypatch.setattr(_manager, "_static_hook_attr", find_hook)
    monkeypatch.setattr("pluggy._impl.varnames", _quick_varnames)
    monkeypatch.setattr("_pytest.fixtures.getfuncargnames", _quick_getfuncargnames)
    # Otherwise each run reads it from the disk.
    monkeypatch.setattr(pluggy, "__version__", pluggy.__version__, raising=False)

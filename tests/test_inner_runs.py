"""The shorter ways of `tests.inner_runs` find in each plugin of this run what pluggy and pytest find."""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

import pytest
from _pytest.compat import getfuncargnames
from _pytest.fixtures import FixtureFunctionDefinition
from pluggy import _manager
from pluggy._decorators import varnames

from tests import inner_runs


class Base:
    @pytest.fixture
    def inherited(self) -> None: ...

    def pytest_inherited(self) -> None: ...


class Plugin(Base):
    def __init__(self) -> None:
        self.pytest_of_instance = lambda: None

    @staticmethod
    def pytest_static() -> None: ...

    @classmethod
    def pytest_of_class(cls) -> None: ...

    @property
    def pytest_property(self) -> None:
        raise AssertionError

    @pytest.fixture
    def own(self) -> None: ...


@pytest.fixture
def plugins(pytestconfig: pytest.Config) -> list[Any]:
    """Those of this run, and plugins of each other kind."""
    return [*pytestconfig.pluginmanager.get_plugins(), Plugin(), Plugin]


def test_every_hook_is_found(plugins: list[Any], pytestconfig: pytest.Config) -> None:
    parse = pytestconfig.pluginmanager.parse_hookimpl_opts
    for plugin in plugins:
        found = [name for name in dir(plugin) if name.startswith("pytest_")]
        assert inner_runs.hook_names(plugin) == found
        assert [inner_runs.find_hook(plugin, name) for name in found] == [
            _manager._static_hook_attr(plugin, name) for name in found
        ]
        assert not [name for name in set(dir(plugin)) - set(found) if parse(plugin, name)]


def test_every_fixture_is_found(plugins: list[Any]) -> None:
    for plugin in plugins:
        owner = plugin if isinstance(plugin, type | ModuleType) else type(plugin)
        names = inner_runs.fixture_names(plugin)
        fixtures = [name for name in dir(plugin) if isinstance(getattr(owner, name, None), FixtureFunctionDefinition)]
        assert [name for name in names if name in fixtures] == fixtures
        assert names == [name for name in dir(plugin) if name in names]


def test_the_parameters_of_every_hook_and_fixture_are_found(plugins: list[Any]) -> None:
    names = inner_runs.remember_names(varnames)
    argument_names = inner_runs.remember_names(getfuncargnames)
    for _ in range(2):
        for plugin in plugins:
            for _, function in filter(None, map(partial(inner_runs.find_hook, plugin), inner_runs.hook_names(plugin))):
                assert names(function) == varnames(function)
                assert argument_names(function, name="") == getfuncargnames(function, name="")
    assert argument_names(Plugin.pytest_inherited, name="pytest_inherited", cls=Plugin) == ()
    assert argument_names(Plugin.pytest_inherited) == ("self",)
    assert argument_names(Plugin().pytest_inherited) == ()

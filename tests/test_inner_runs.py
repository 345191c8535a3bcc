"""The shorter ways of `tests.inner_runs` find in each plugin of this run what pluggy and pytest find."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from _pytest.fixtures import FixtureFunctionDefinition
from pluggy import _manager

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

"""Prefetch rules: whether a case may be sent before its turn, and if not, why.

An eval item comes in; the definition of the session-scoped fixture that gives it its provider comes out, or the reason
why only the item's own turn can tell what it sends, and whether it is sent at all. `look_ahead` calls it.
"""

from __future__ import annotations

import inspect
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.parametrize import PROVIDER_PARAMETER
from pytest_chatprompt.wording import shown_path

# A case whose fixtures these are, and not overrides of them, can be sent without running its setup.
_OWN_FIXTURES: Final = ("eval_case", "eval_request", "eval_provider", "eval_response", "eval_snapshot")
_OWN_PACKAGE: Final = "pytest_chatprompt."
_PYTEST_PACKAGE: Final = "_pytest."
# Packages that are installed as they come are trusted not to skip cases, but for what `_MARKS` names.
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
# What runs before a case is sent. Pytest calls the first with the conftests of the item's folders, the second with all.
_ITEM_HOOKS: Final = ("pytest_runtest_setup", "pytest_fixture_setup", "pytest_runtest_call", "pytest_pyfunc_call")
_RUN_HOOKS: Final = ("pytest_runtestloop", "pytest_runtest_protocol")
# Marks by which pytest and its plugins skip a test or refuse its connections: pytest-dependency, pytest-depends,
# pytest-socket, pytest-recording.
_MARKS: Final = ("skip", "skipif", "xfail", "dependency", "depends", "disable_socket", "allow_hosts", "block_network")
# The options of pytest-socket and pytest-recording that refuse the connections of tests.
_SOCKET_OPTIONS: Final = ("disable_socket", "allow_hosts", "block_network")


class Verdict(NamedTuple):
    """Whether the cases of a file that go through a provider may be sent before their turn.

    Args:
        definition: the definition of their provider's fixture; `None` if they may not.
        reason: why they may not; `None` also if it is not known yet.
    """

    definition: Any = None
    reason: str | None = None


class PrefetchRules:
    """Decides which cases may be sent before their turn.

    Args:
        config: the run's configuration.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._verdicts: dict[tuple[pytest.Item | pytest.Collector | None, str], Verdict] = {}
        # Fixtures with session scope that have to run before some cases.
        self._awaited: list[Any] = []

    def verdict(self, item: EvalItem) -> Verdict:
        """Whether an item may be sent before its turn, by its fixtures and by the hooks that run before it."""
        parameters = set(getattr(getattr(item, "callspec", None), "params", ())) - {PROVIDER_PARAMETER}
        if parameters:
            return Verdict(reason=f"the fixture {min(parameters)} is parametrized")
        key = (item.parent, item.provider_name)
        if key not in self._verdicts:
            self._verdicts[key] = self._find_verdict(item)
        return self._verdicts[key]

    def mark_reason(self, item: EvalItem) -> str | None:
        """Why an item has to be sent in its turn, by its marks; `None` if they do not matter."""
        mark = next((name for name in _MARKS if item.get_closest_marker(name)), None)
        return None if mark is None else f"the mark {mark} may skip or refuse them"

    def socket_reason(self) -> str | None:
        """Why nothing may be sent between two tests, by what this process does to sockets now; `None` if it may.

        Tools that refuse the connections of a test do it for the time of the test, so that a request from a thread of
        ours would evade them as soon as the test is over.
        """
        if not self._config.getoption("force_enable_socket", False):
            for name in _SOCKET_OPTIONS:
                if self._config.getoption(name, None):
                    return f"--{name.replace('_', '-')} may refuse their connections"
        return _replaced_socket_function()

    def has_timeout(self, item: EvalItem) -> bool:
        """Whether pytest-timeout may end the item's test while it waits."""
        if not self._config.pluginmanager.hasplugin("timeout"):
            return False
        settings = (self._config.getoption("timeout", None), os.environ.get("PYTEST_TIMEOUT"))
        return bool(any(settings) or item.get_closest_marker("timeout") or self._config.getini("timeout"))

    def take_news(self) -> bool:
        """Whether a fixture with session scope, for which some cases had to wait, has run since the last call."""
        if all(definition.cached_result is None for definition in self._awaited):
            return False
        self._awaited.clear()
        self._verdicts = {key: verdict for key, verdict in self._verdicts.items() if verdict != Verdict()}
        return True

    def _find_verdict(self, item: EvalItem) -> Verdict:
        # pytest has no public way to ask which fixtures apply to a node before the node is set up.
        manager: Any = item.session._fixturemanager
        for name in _OWN_FIXTURES:
            function = manager.getfixturedefs(name, item)[-1].func
            if not _module(function).startswith(_OWN_PACKAGE):
                return Verdict(reason=f"the fixture {name} is overridden in {self._place(function)}")
        verdict = self._provider_verdict(manager.getfixturedefs(f"{item.provider_name}_provider", item))
        reason = verdict.reason or next(self._hooks_that_may_skip(item), None)
        if reason is not None:
            return Verdict(reason=reason)
        from_ini = self._config.getini("usefixtures")
        for name in item.fixturenames:
            definition = next(reversed(manager.getfixturedefs(name, item) or ()), None)
            if definition is not None and (name in from_ini or self._is_from_project(definition.func)):
                fixture = f"the fixture {name} in {self._place(definition.func)}"
                if definition.scope != "session":
                    # It may skip the case, or set something that sending it needs.
                    return Verdict(reason=f"{fixture} may skip them")
                if definition.cached_result is None:
                    self._awaited.append(definition)
                    return Verdict()
                if definition.cached_result[2] is not None:
                    return Verdict(reason=f"{fixture} has failed")
        return verdict

    def _provider_verdict(self, definitions: Any) -> Verdict:
        if not definitions:
            return Verdict(reason="their provider has no fixture")
        definition = definitions[-1]
        fixture = f"the fixture {definition.argname} in {self._place(definition.func)}"
        if definition.scope != "session":
            return Verdict(reason=f"{fixture} does not have session scope")
        if definition.params is not None:
            return Verdict(reason=f"{fixture} is parametrized")
        return Verdict(definition)

    def _hooks_that_may_skip(self, item: EvalItem) -> Iterator[str]:
        for names, hooks in ((_ITEM_HOOKS, item.ihook), (_RUN_HOOKS, item.config.hook)):
            for name in names:
                for implementation in getattr(hooks, name).get_hookimpls():
                    if self._is_from_project(implementation.function):
                        yield f"the hook {name} in {self._place(implementation.function)} may skip them"

    def _is_from_project(self, function: Callable[..., Any]) -> bool:
        """Whether a fixture or a hook is the project's own, and neither pytest's nor of an installed package."""
        if _module(function).startswith((_OWN_PACKAGE, _PYTEST_PACKAGE)):
            return False
        file = _source_file(function)
        return file is None or not _INSTALLED.intersection(file.parts)

    def _place(self, function: Callable[..., Any]) -> str:
        file = _source_file(function)
        return _module(function) if file is None else shown_path(file, self._config.rootpath)


def _source_file(function: Callable[..., Any]) -> Path | None:
    """The file in which a function is written; `None` if it is not written in Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Path(code.co_filename)


def _module(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__module__", ""))


def _replaced_socket_function() -> str | None:
    module = getattr(socket.socket, "__module__", "")
    if module != "socket":
        return f"{module} has replaced socket.socket"
    for name in ("connect", "connect_ex"):
        if getattr(socket.socket, name) is not getattr(socket.SocketType, name):
            return f"{_module(getattr(socket.socket, name))} has replaced socket.socket.{name}"
    return None

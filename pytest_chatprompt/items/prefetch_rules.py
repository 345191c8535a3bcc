"""Prefetch rules: whether a case may be sent before pytest runs it, and if not, why.

An eval item comes in; the definition of the session-scoped fixture that gives it its provider comes out, or the reason
why only running the item tells whether it is sent, and what. `prefetch_planner` calls it.
"""

from __future__ import annotations

import inspect
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.items.item import MASKS_FIXTURE, EvalItem
from pytest_chatprompt.items.parametrize import PROVIDER_PARAMETER, ROW_PARAMETER
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.wording import shown_path

# A case can be sent without running its setup if these fixtures are not overridden.
_OWN_FIXTURES: Final = ("eval_case", "eval_request", "eval_provider", "eval_response", "eval_snapshot")
_OWN_PACKAGE: Final = "pytest_chatprompt."
_PYTEST_PACKAGE: Final = "_pytest."
# Packages that are installed as they come are trusted not to skip cases, but for what `_MARKS` names.
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
# What runs before a case is sent. Pytest calls the first with the conftests of the item's folders, the second with all.
_ITEM_HOOKS: Final = ("pytest_runtest_setup", "pytest_fixture_setup", "pytest_runtest_call", "pytest_pyfunc_call")
_RUN_HOOKS: Final = ("pytest_runtestloop", "pytest_runtest_protocol")
# Marks by which pytest and its plugins skip a test, refuse its connections or answer them: pytest-dependency,
# pytest-depends, pytest-socket, pytest-recording.
_MARKS: Final = (
    "skip",
    "skipif",
    "xfail",
    "dependency",
    "depends",
    "disable_socket",
    "allow_hosts",
    "block_network",
    "vcr",
)


class PrefetchDecision(NamedTuple):
    """Whether the cases of a file that go through a provider may be sent ahead: yes, no, or not known yet.

    Args:
        definition: the definition of their provider's fixture if they may, else `None`.
        reason: why they may not, else `None`. Without both, some fixtures have to run before it is known.
    """

    definition: Any = None
    reason: str | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it is not known yet."""
        return self.definition is None and self.reason is None


class PrefetchRules:
    """Decides which cases may be sent ahead: nothing of the project may come before them that could stop them.

    Args:
        config: the run's configuration.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        # By file, provider and the fixtures that are set up before the item.
        self._decisions: dict[tuple[Any, str, tuple[str, ...]], PrefetchDecision] = {}
        # Fixtures with session scope that have to run before some cases.
        self._awaited: list[Any] = []

    def decide(self, item: EvalItem) -> PrefetchDecision:
        """Whether an item may be sent ahead, by its fixtures and by the hooks that run before it."""
        # The fixtures of a single item can differ: hooks of a project may add some to its list.
        key = (item.parent, item.provider_name, tuple(item.fixturenames))
        if key not in self._decisions:
            self._decisions[key] = self._decide(item)
        return self._decisions[key]

    def masks(self, item: EvalItem) -> Masks:
        """The masks of an item that may be sent ahead: they come from a fixture with session scope.

        Raises:
            MaskError: they are invalid.
        """
        manager: Any = item.session._fixturemanager
        cached = manager.getfixturedefs(MASKS_FIXTURE, item)[-1].cached_result
        return Masks.from_mapping(cached[0] if cached else {})

    def mark_reason(self, item: EvalItem) -> str | None:
        """Why an item may not be sent ahead, by its marks; `None` if they do not matter."""
        mark = next((name for name in _MARKS if item.get_closest_marker(name)), None)
        return None if mark is None else f"the mark {mark} may skip or refuse them"

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
        self._decisions = {key: decision for key, decision in self._decisions.items() if not decision.is_pending}
        return True

    def _decide(self, item: EvalItem) -> PrefetchDecision:
        # pytest has no public way to ask which fixtures apply to a node before the node is set up.
        manager: Any = item.session._fixturemanager
        provider = _last(manager.getfixturedefs(f"{item.provider_name}_provider", item))
        reasons = itertools.chain(
            self._parameters(item, manager),
            self._overrides(item, manager),
            self._unknown_provider(provider),
            self._hooks_that_may_skip(item),
        )
        reason = next(reasons, None)
        if reason is not None:
            return PrefetchDecision(reason=reason)
        return self._decision_of_fixtures(item, manager) or PrefetchDecision(provider)

    def _parameters(self, item: EvalItem, manager: Any) -> Iterator[str]:
        """A reason for each parameter of an item, but for those of installed plugins, such as pytest-repeat's."""
        for name in getattr(getattr(item, "callspec", None), "params", ()):
            definition = _last(manager.getfixturedefs(name, item))
            if name not in (PROVIDER_PARAMETER, ROW_PARAMETER) and (
                definition is None or self._is_from_project(definition.func)
            ):
                yield f"the fixture {name} is parametrized"

    def _overrides(self, item: EvalItem, manager: Any) -> Iterator[str]:
        for name in _OWN_FIXTURES:
            function = manager.getfixturedefs(name, item)[-1].func
            if not _module(function).startswith(_OWN_PACKAGE):
                yield f"the fixture {name} is overridden in {self._place(function)}"

    def _unknown_provider(self, definition: Any) -> Iterator[str]:
        """Why the instance of a provider is not known before the item runs."""
        if definition is None:
            yield "their provider has no fixture"
        elif definition.scope != "session":
            yield f"the fixture {definition.argname} in {self._place(definition.func)} does not have session scope"

    def _decision_of_fixtures(self, item: EvalItem, manager: Any) -> PrefetchDecision | None:
        """The decision if the project's own fixtures stand in the way of an item; `None` if they do not."""
        from_ini = self._config.getini("usefixtures")
        for name in item.fixturenames:
            definition = _last(manager.getfixturedefs(name, item))
            if definition is None or not (name in from_ini or self._is_from_project(definition.func)):
                continue
            fixture = f"the fixture {name} in {self._place(definition.func)}"
            if definition.scope != "session":
                # It may skip the case, or set something that sending it needs.
                return PrefetchDecision(reason=f"{fixture} may skip them")
            if definition.cached_result is None:
                self._awaited.append(definition)
                return PrefetchDecision()
            if definition.cached_result[2] is not None:
                return PrefetchDecision(reason=f"{fixture} has failed")
        return None

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


def _last(definitions: Sequence[Any] | None) -> Any:
    """The definition of a fixture that counts, of those that override each other; `None` if there is none."""
    return definitions[-1] if definitions else None


def _source_file(function: Callable[..., Any]) -> Path | None:
    """The file in which a function is written; `None` if it is not written in Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else Path(code.co_filename)


def _module(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__module__", ""))

"""Prefetch rules: whether a case may be sent before pytest runs it, and if not, why.

An eval item comes in; the definition of the session-scoped fixture that gives it its provider comes out, or the reason
why only running the item tells whether it is sent, and what. `prefetch_planner` calls it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.items.early_fixtures import EarlyFixtures
from pytest_chatprompt.items.fixture_origin import is_from_plugin, is_from_project, place_of
from pytest_chatprompt.items.item import MASKS_FIXTURE, PROVIDER_PARAMETER, ROW_PARAMETER, EvalItem
from pytest_chatprompt.snapshots.masks import Masks

# An override of these sends or compares in its own way.
_SENDING_FIXTURES: Final = ("eval_response", "eval_snapshot")
# What runs before a case is sent. Pytest calls the first with the conftests of the item's folders, the second with all.
_ITEM_HOOKS: Final = ("pytest_runtest_setup", "pytest_fixture_setup", "pytest_runtest_call", "pytest_pyfunc_call")
_RUN_HOOKS: Final = ("pytest_runtestloop", "pytest_runtest_protocol")
# Marks by which pytest and its plugins skip a test, refuse its connections or answer them: pytest-dependency,
# pytest-depends, pytest-socket, pytest-recording. For all else, installed packages are trusted not to skip cases.
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
        definition: the definition of their provider's fixture if they may and it has session scope, else `None`.
        is_early: whether they may, but fixtures of theirs run first, for each of them.
        reason: why they may not, else `None`. Without all three, some fixtures have to run before it is known.
    """

    definition: Any = None
    is_early: bool = False
    reason: str | None = None

    @property
    def is_pending(self) -> bool:
        """Whether it is not known yet."""
        return self == PrefetchDecision()


class PrefetchRules:
    """Decides which cases may be sent ahead: nothing of the project may come before them that could stop them.

    Args:
        config: the run's configuration.
        early: the fixtures that run before their items do.
    """

    def __init__(self, config: pytest.Config, early: EarlyFixtures) -> None:
        self._config = config
        self._early = early
        # By file, provider, the fixtures that are set up before the item, and whether that of a judge is one of them.
        self._decisions: dict[tuple[Any, str, tuple[str, ...], bool], PrefetchDecision] = {}
        # The definitions of the fixture `eval_masks`, by file.
        self._masks: dict[Any, Any] = {}
        # Fixtures with session scope that have to run before some cases.
        self._awaited: list[Any] = []

    def decide(self, item: EvalItem) -> PrefetchDecision:
        """Whether an item may be sent ahead, by its fixtures and by the hooks that run before it."""
        # The fixtures of a single item can differ: hooks of a project may add some to its list.
        key = (item.parent, item.provider_name, tuple(item.fixturenames), self._early.has_own_judge(item))
        if key not in self._decisions:
            self._decisions[key] = self._decide(item)
        return self._decisions[key]

    def masks(self, item: EvalItem) -> Masks:
        """The masks of an item that may be sent ahead: they come from a fixture with session scope.

        Raises:
            MaskError: they are invalid.
        """
        definition = self._masks.get(item.parent)
        if definition is None:
            definition = self._masks[item.parent] = find_fixture(item, MASKS_FIXTURE)
        cached = definition.cached_result
        return Masks.from_mapping(cached[0] if cached else {})

    def skip_mark_reason(self, item: EvalItem) -> str | None:
        """Why an item may not be sent ahead, by its marks; `None` if they do not matter."""
        # As `iter_markers` does, without a generator at each level.
        marks = {mark.name for node in item.listchain() for mark in node.own_markers}
        mark = next((name for name in _MARKS if name in marks), None)
        return None if mark is None else f"the mark {mark} may skip or refuse them"

    def has_timeout(self, item: EvalItem) -> bool:
        """Whether pytest-timeout may end the item's test while it waits."""
        if not self._config.pluginmanager.hasplugin("timeout"):
            return False
        settings = (self._config.getoption("timeout", None), os.environ.get("PYTEST_TIMEOUT"))
        return bool(any(settings) or item.get_closest_marker("timeout") or self._config.getini("timeout"))

    def has_new_fixtures(self) -> bool:
        """Whether a session-scoped fixture that cases were waiting for has run since the last call."""
        if all(definition.cached_result is None for definition in self._awaited):
            return False
        self._awaited.clear()
        self._decisions = {key: decision for key, decision in self._decisions.items() if not decision.is_pending}
        return True

    def reconsider(self) -> None:
        """Decide anew about items whose fixtures run early: one of these fixtures must not."""
        self._decisions = {key: decision for key, decision in self._decisions.items() if not decision.is_early}

    def _decide(self, item: EvalItem) -> PrefetchDecision:
        # pytest has no public way to ask which fixtures apply to a node before the node is set up.
        manager: Any = item.session._fixturemanager
        reasons = itertools.chain(
            self._parameters(item, manager),
            self._overrides(item, manager),
            self._early.reasons(item),
            self._hooks_that_may_skip(item),
        )
        reason = next(reasons, None)
        if reason is not None:
            return PrefetchDecision(reason=reason)
        decision = self._decision_of_fixtures(item, manager)
        if decision is not None:
            return decision
        if self._early.is_overridden(item):
            return PrefetchDecision(is_early=True)
        return PrefetchDecision(_last(manager.getfixturedefs(f"{item.provider_name}_provider", item)))

    def _parameters(self, item: EvalItem, manager: Any) -> Iterator[str]:
        """A reason for each parameter of an item, except those of installed plugins, such as pytest-repeat's."""
        for name in getattr(getattr(item, "callspec", None), "params", ()):
            definition = _last(manager.getfixturedefs(name, item))
            if name not in (PROVIDER_PARAMETER, ROW_PARAMETER) and (
                definition is None or is_from_project(definition.func)
            ):
                yield f"the fixture {name} is parametrized"

    def _overrides(self, item: EvalItem, manager: Any) -> Iterator[str]:
        for name in _SENDING_FIXTURES:
            function = manager.getfixturedefs(name, item)[-1].func
            if not is_from_plugin(function):
                yield f"the fixture {name} is overridden in {self._place(function)}"

    def _decision_of_fixtures(self, item: EvalItem, manager: Any) -> PrefetchDecision | None:
        """The decision if fixtures stand in the way of an item; `None` if they do not."""
        for definition in self._fixtures_that_matter(item, manager):
            fixture = f"the fixture {definition.argname} in {self._place(definition.func)}"
            if definition.scope != "session":
                # It may skip the case, or set something that sending it needs.
                return PrefetchDecision(reason=f"{fixture} may skip them")
            if definition.cached_result is None:
                self._awaited.append(definition)
                return PrefetchDecision()
            if definition.cached_result[2] is not None:
                return PrefetchDecision(reason=f"{fixture} has failed")
        return None

    def _fixtures_that_matter(self, item: EvalItem, manager: Any) -> Iterator[Any]:
        """The definitions of an item's fixtures that may skip it, or have to run before its early fixtures can."""
        early = self._early.definitions(item) if self._early.is_overridden(item) else []
        yield from (definition for definition in early if definition.scope == "session")
        from_ini = self._config.getini("usefixtures")
        for name in item.fixturenames:
            definition = _last(manager.getfixturedefs(name, item))
            if definition is None or definition in early:
                continue
            if name in from_ini or is_from_project(definition.func):
                yield definition

    def _hooks_that_may_skip(self, item: EvalItem) -> Iterator[str]:
        for names, hooks in ((_ITEM_HOOKS, item.ihook), (_RUN_HOOKS, item.config.hook)):
            for name in names:
                for implementation in getattr(hooks, name).get_hookimpls():
                    if is_from_project(implementation.function):
                        yield f"the hook {name} in {self._place(implementation.function)} may skip them"

    def _place(self, function: Callable[..., Any]) -> str:
        return place_of(function, self._config.rootpath)


def find_fixture(item: EvalItem, name: str) -> Any:
    """The definition of a fixture that counts for an item; `None` if there is none."""
    manager: Any = item.session._fixturemanager
    return _last(manager.getfixturedefs(name, item))


def _last(definitions: Sequence[Any] | None) -> Any:
    """The definition of a fixture that overrides all others of its name; `None` if there is none."""
    return definitions[-1] if definitions else None

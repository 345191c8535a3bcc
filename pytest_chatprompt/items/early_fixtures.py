"""Early fixtures: overrides of the fixtures of a case, its provider and its judge that run before their item does.

An upcoming item comes in; what its fixtures return comes out, or the reason why they can only run with the item. Each
fixture is called once: when pytest sets the item up, it gets the value from here. `prefetch_rules` asks for reasons,
`prefetch_planner` for values, and `live_run` hands the values to pytest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.items.fixture_origin import is_from_plugin, is_from_project, place_of
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.options import options_key
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.response import Provider

CASE_FIXTURE: Final = "eval_case"
REQUEST_FIXTURE: Final = "eval_request"
PROVIDER_FIXTURE: Final = "eval_provider"
JUDGE_FIXTURE: Final = "eval_judge"
EARLY_FIXTURES: Final = (CASE_FIXTURE, REQUEST_FIXTURE, PROVIDER_FIXTURE)


_CHANGES: Final = "changes what other cases use"


class EarlyValues(NamedTuple):
    """What the fixtures of an upcoming item return.

    Args:
        case: the fixture `eval_case`.
        request: the fixture `eval_request`; `None` if it is not overridden.
        provider: the fixture `eval_provider`.
        judge: the fixture `eval_judge`; `None` if no judge is asked, or if it does not have to run for the item.
    """

    case: EvalCase
    request: ProviderRequest | None
    provider: Provider
    judge: Provider | None

    def load_case(self) -> EvalCase:
        """The case."""
        return self.case


class _Use(NamedTuple):
    """A fixture that an item uses: its definition, `None` if there is none, and the name by which it is asked for."""

    name: str
    definition: Any
    asked_by: Any = None


class _ChangedError(Exception):
    """A fixture changed what other items use."""


class Outcome(NamedTuple):
    """What a fixture returned, or the error that it raised.

    Args:
        value: what it returned.
        error: what it raised; `None` if it returned.
    """

    value: Any = None
    error: BaseException | None = None

    def get(self) -> Any:
        """Return the value, or raise the error."""
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(frozen=True, slots=True)
class EarlyFixtures:
    """Calls the fixtures of upcoming items, each once.

    Args:
        config: the run's configuration.
        build_request: makes the request of a case, as the fixture `eval_request` of this plugin does.
        asks_judge: whether a check of an item asks a judge.
    """

    config: pytest.Config
    build_request: Callable[[EvalItem, EvalCase], ProviderRequest]
    asks_judge: Callable[[EvalItem], bool]
    # What the project's fixtures returned, by node id and definition, until pytest sets the item up.
    _outcomes: dict[str, dict[Any, Outcome]] = field(default_factory=dict)
    # The definitions of fixtures that set attributes of what other items use too.
    _changing: set[Any] = field(default_factory=set)

    def is_overridden(self, item: EvalItem) -> bool:
        """Whether the case, the request or the provider of an item comes from a fixture that has to run for it."""
        if self.has_own_judge(item):
            return True
        definitions = (self._definition(item, name) for name in EARLY_FIXTURES)
        if not all(is_from_plugin(definition.func) for definition in definitions):
            return True
        provider = self._definition(item, f"{item.provider_name}_provider")
        return provider is not None and provider.scope != "session"

    def has_own_judge(self, item: EvalItem) -> bool:
        """Whether an item asks a judge that comes from a fixture which has to run for it."""
        if not self.asks_judge(item):
            return False
        definition = self._definition(item, JUDGE_FIXTURE)
        if is_from_plugin(definition.func):
            (name,) = self._arguments(item, definition)
            definition = self._definition(item, name)
        return definition is not None and definition.scope != "session"

    def definitions(self, item: EvalItem) -> list[Any]:
        """The definitions of the fixtures from which an item's case, request and provider come."""
        return [use.definition for use in self._uses(item) if use.definition is not None]

    def reasons(self, item: EvalItem) -> Iterator[str]:
        """Why fixtures of an item without parameters can only run when it does; nothing if all can run before."""
        for use in self._uses(item):
            if use.definition is None or not self._can_be_asked_for(use):
                yield (
                    "their provider has no fixture"
                    if use.asked_by is None
                    else (f"{self._describe(use.asked_by)} asks for the fixture {use.name}")
                )
            elif use.definition.scope != "session" and not is_from_plugin(use.definition.func):
                reason = _CHANGES if use.definition in self._changing else _reason_of_definition(use.definition)
                if reason is not None:
                    yield f"{self._describe(use.definition)} {reason}"

    def set_up(self, item: EvalItem) -> EarlyValues | None:
        """Call the fixtures of an item that has no reasons, and whose fixtures with session scope have returned.

        Returns:
            their values; `None` if one of them failed or skipped the item, which is reported when the item runs.
        """
        is_overridden = not is_from_plugin(self._definition(item, REQUEST_FIXTURE).func)
        try:
            return EarlyValues(
                self._value(item, CASE_FIXTURE),
                self._value(item, REQUEST_FIXTURE) if is_overridden else None,
                self._value(item, PROVIDER_FIXTURE),
                self._value(item, JUDGE_FIXTURE) if self.has_own_judge(item) else None,
            )
        except (KeyboardInterrupt, SystemExit, pytest.exit.Exception):
            raise
        except BaseException:
            return None

    @property
    def is_empty(self) -> bool:
        """Whether no fixture was called that pytest has still to set up."""
        return not self._outcomes

    def take(self, item: pytest.Item, definition: Any) -> Outcome | None:
        """What a fixture returned for an item that pytest sets up now; `None` if it was not called before."""
        return self._outcomes.get(item.nodeid, {}).pop(definition, None)

    def keep(self, item: pytest.Item, definition: Any, get: Callable[[], Any]) -> None:
        """Keep what a fixture of an item that runs has returned elsewhere, until pytest sets the fixture up.

        Args:
            item: the item.
            definition: of the fixture.
            get: returns its value, or raises what it has raised.
        """
        self._outcomes.setdefault(item.nodeid, {})[definition] = _call(get, {})

    def discard(self, node_id: str) -> None:
        """Forget an item that has run."""
        self._outcomes.pop(node_id, None)

    def _uses(self, item: EvalItem) -> Iterator[_Use]:
        """The fixtures from which an item's case, request and provider come, each once."""
        seen: set[Any] = set()
        names = (*EARLY_FIXTURES, JUDGE_FIXTURE) if self.has_own_judge(item) else EARLY_FIXTURES
        open_uses: list[tuple[str, tuple[str, ...], Any]] = [(name, (), None) for name in reversed(names)]
        while open_uses:
            name, chain, asked_by = open_uses.pop()
            definition = self._definition(item, name, chain)
            if definition in seen:
                continue
            yield _Use(name, definition, asked_by)
            if definition is None or definition.scope == "session":
                continue
            seen.add(definition)
            asked_by = None if is_from_plugin(definition.func) else definition
            open_uses += [(each, (*chain, name), asked_by) for each in self._arguments(item, definition)]

    def _value(self, item: EvalItem, name: str, chain: tuple[str, ...] = ()) -> Any:
        definition = self._definition(item, name, chain)
        if definition.scope == "session":
            return definition.cached_result[0]
        kept = self._outcomes.setdefault(item.nodeid, {})
        if definition in kept:
            return kept[definition].get()
        arguments = {each: self._value(item, each, (*chain, name)) for each in self._arguments(item, definition)}
        if is_from_plugin(definition.func):
            return self._own_value(item, name, arguments)
        shared = [(value, _public_attributes(value)) for value in arguments.values()]
        outcome = _call(definition.func, arguments)
        changed = [(value, before) for value, before in shared if _public_attributes(value) != before]
        if changed:
            # The case that runs now is not sent yet, and needs them as they were. The fixture is called again later.
            for value, before in changed:
                _restore(value, before)
            self._changing.add(definition)
            raise _ChangedError
        kept[definition] = outcome
        return outcome.get()

    def _own_value(self, item: EvalItem, name: str, arguments: dict[str, Any]) -> Any:
        """What the fixture of this plugin returns."""
        if name == CASE_FIXTURE:
            return item.valid_case()
        if name == REQUEST_FIXTURE:
            return self.build_request(item, arguments[CASE_FIXTURE])
        (provider,) = arguments.values()
        return provider

    def _arguments(self, item: EvalItem, definition: Any) -> tuple[str, ...]:
        """The names of the fixtures that a fixture asks for; this plugin's `eval_provider` finds its own by name."""
        if not is_from_plugin(definition.func):
            return tuple(definition.argnames)
        if definition.argname == JUDGE_FIXTURE:
            return (f"{self.config.stash[options_key].judge}_provider",)
        if definition.argname == PROVIDER_FIXTURE:
            return (f"{item.provider_name}_provider",)
        return (CASE_FIXTURE,) if definition.argname == REQUEST_FIXTURE else ()

    def _can_be_asked_for(self, use: _Use) -> bool:
        """Whether a fixture is one that can run, or has run, before the item."""
        is_known = use.name in (*EARLY_FIXTURES, JUDGE_FIXTURE)
        return use.definition.scope == "session" or is_known or is_from_project(use.definition.func)

    def _definition(self, item: EvalItem, name: str, chain: tuple[str, ...] = ()) -> Any:
        """The definition of a fixture for which a chain of fixtures asks; one that asks for its own name overrides."""
        # pytest has no public way to ask which fixtures apply to a node before the node is set up.
        manager: Any = item.session._fixturemanager
        definitions = manager.getfixturedefs(name, item) or ()
        level = chain.count(name)
        return definitions[-1 - level] if level < len(definitions) else None

    def _describe(self, definition: Any) -> str:
        return f"the fixture {definition.argname} in {place_of(definition.func, self.config.rootpath)}"


def _call(function: Callable[..., Any], arguments: dict[str, Any]) -> Outcome:
    try:
        return Outcome(function(**arguments))
    except (KeyboardInterrupt, SystemExit, pytest.exit.Exception):
        raise
    except BaseException as error:  # such as pytest.skip
        return Outcome(error=error)


def _public_attributes(value: Any) -> dict[str, Any]:
    """The attributes that a fixture may set; private ones may change while other requests are in flight."""
    attributes = getattr(value, "__dict__", {})
    return {name: attribute for name, attribute in attributes.items() if not name.startswith("_")}


def _restore(value: Any, attributes: dict[str, Any]) -> None:
    for name in _public_attributes(value).keys() - attributes:
        delattr(value, name)
    value.__dict__.update(attributes)


def _reason_of_definition(definition: Any) -> str | None:
    """Why a fixture can only run when the item does; `None` if it can run before."""
    function = inspect.unwrap(definition.func)
    if definition.scope != "function":
        return "does not have session scope"
    if inspect.isgeneratorfunction(function):
        return "has code after its yield"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return "is async"
    return None

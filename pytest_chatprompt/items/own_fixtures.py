"""Own fixtures: sets up those fixtures of an eval item that a project does not override, all at once.

The definitions of an item's fixtures come in; the values of this package's own ones, and of syrupy's `snapshot`, come
out. Pytest's set-up of a fixture takes longer than most of these fixtures themselves, and an item has eight of them.
What a project overrides, and what its own fixtures ask for, is set up by pytest; the values of a session's fixtures are
handed on as soon as they are there. `file` finds the definitions, `item` calls `set_up`, and `case_runner` calls
`set_up_response` in live and replayed runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import pytest

from pytest_chatprompt.items.late_snapshot import late_snapshot

_MODULE: Final = "pytest_chatprompt.fixtures"
_SYRUPYS: Final = "snapshot"
_PROVIDER: Final = "eval_provider"
# The module of each, in an order in which none needs a later one.
_MODULES: Final = {
    "eval_case": _MODULE,
    "eval_masks": _MODULE,
    "eval_request": _MODULE,
    _PROVIDER: _MODULE,
    "eval_api": _MODULE,
    _SYRUPYS: "syrupy",
    "eval_snapshot": _MODULE,
}
# Those of a case of its own. Items share an `eval_api` that only they ask for: who asks later gets another.
_KEPT: Final = ("eval_case", "eval_request", _PROVIDER, _SYRUPYS, "eval_snapshot")
_RESPONSE: Final = "eval_response"
# They leave fixtures that are neither async nor shown as they are. This package's hook gives pytest what fixtures of
# the project have returned early.
_HARMLESS_PLUGINS: Final = ("_pytest.", "anyio.", "pytest_asyncio.", "pytest_chatprompt.")
_SHOWING_OPTIONS: Final = ("setupshow", "setuponly", "setupplan")


class OwnFixtures(NamedTuple):
    """The definitions of an item's fixtures that pytest need not set up for it.

    Args:
        definitions: of those of this package and of syrupy that nothing overrides, by name.
        of_session: of the other fixtures of the item that are set up once in a session and use no others, by name.
        provider: of the fixture that gives its provider, if it is one like these.
    """

    definitions: Mapping[str, Any] = {}
    of_session: Mapping[str, Any] = {}
    provider: Any = None


def own_fixtures(definitions: Mapping[str, Sequence[Any]], item: pytest.Function, provider_name: str) -> OwnFixtures:
    """Find the definitions of the fixtures that need no set-up by pytest.

    Args:
        definitions: of all fixtures of an item, by name; those that override others last.
        item: one that has these fixtures.
        provider_name: the provider that it goes through.

    Returns:
        None of them where the options of pytest or a hook of another plugin show the set-up of fixtures.
    """
    if any(item.config.getoption(name, False) for name in _SHOWING_OPTIONS):
        return OwnFixtures()
    implementations = item.ihook.pytest_fixture_setup.get_hookimpls()
    if not all(_module(implementation.plugin).startswith(_HARMLESS_PLUGINS) for implementation in implementations):
        return OwnFixtures()
    named = ((name, module, definitions.get(name, ())) for name, module in _MODULES.items())
    own = {name: found[0] for name, module, found in named if len(found) == 1 and found[0].func.__module__ == module}
    manager: Any = item.session._fixturemanager
    provider = f"{provider_name}_provider"
    # The provider is looked up when the case runs, unless it has parameters.
    others = {name: definitions.get(name) for name in item.fixturenames if name not in own}
    found_once = {
        name: found[-1]
        for name, found in {provider: manager.getfixturedefs(provider, item), **others}.items()
        if found and _is_set_up_once(found[-1], item)
    }
    return OwnFixtures(own, {name: found_once[name] for name in others if name in found_once}, found_once.get(provider))


def _is_set_up_once(definition: Any, item: pytest.Function) -> bool:
    """Whether pytest sets up a fixture once in a session, whatever item asks for it."""
    # Only parametrized items have it; a `pytest_generate_tests` may give values to any fixture.
    callspec: Any = getattr(item, "callspec", None)
    return (
        definition.scope == "session"
        and {"request"}.issuperset(definition.argnames)
        and (callspec is None or definition.argname not in callspec.params)
    )


def reserve(own: OwnFixtures, item: pytest.Function) -> None:
    """Keep pytest from setting up the own fixtures of an item: it sets up what has no value yet.

    Args:
        own: as `own_fixtures` gives them.
        item: it is about to be set up.
    """
    if not own.definitions:
        return
    # What pytest itself gives for it, after it has made a definition of a fixture and read its signature.
    item.funcargs["request"] = item._request
    item.funcargs |= dict.fromkeys(own.definitions)
    for name, definition in own.of_session.items():
        if _has_value(definition):
            item.funcargs[name] = definition.cached_result[0]


def _has_value(definition: Any) -> bool:
    """Whether a fixture of the session is set up, without an error."""
    if definition.cached_result is None:
        return False
    _, parameter, error = definition.cached_result
    # By identity: pytest too allows for parameters that cannot be compared, such as arrays.
    return parameter is None and error is None


def set_up(own: OwnFixtures, values: dict[str, Any]) -> None:
    """Set up the own fixtures of an item. Whoever asks pytest for one of a case later gets the same value.

    Args:
        own: as `own_fixtures` gives them.
        values: of all fixtures of the item, by name; those of the own ones are filled in.
    """
    __tracebackhide__ = True
    request: Any = values["request"]
    for name, definition in own.definitions.items():
        if definition.cached_result is not None:
            # A fixture of the project has asked for it.
            values[name] = request.getfixturevalue(name)
            continue
        value = None
        if name == _SYRUPYS:
            value = late_snapshot(request.node, request.node.snapshot_folder.parent)
        elif name == _PROVIDER and own.provider is not None and _has_value(own.provider):
            value = own.provider.cached_result[0]
        if value is None:
            value = definition.func(**{argument: values[argument] for argument in definition.argnames})
        values[name] = value
        if name in _KEPT:
            _keep(definition, request, value)


def set_up_response(item: pytest.Function) -> Any:
    """Set up the fixture `eval_response` of an item that has own fixtures, and of which no fixture uses the response.

    Args:
        item: it has been set up.

    Returns:
        The response. Whoever asks pytest for it later gets the same, or the error that was raised.

    Raises:
        Exception: as the fixture does.
    """
    __tracebackhide__ = True
    manager: Any = item.session._fixturemanager
    # There is exactly one: a project that overrides it leaves an item without own fixtures.
    (definition,) = manager.getfixturedefs(_RESPONSE, item)
    request: Any = item.funcargs["request"]
    if definition.cached_result is not None:
        return request.getfixturevalue(_RESPONSE)
    item.addfinalizer(partial(_forget, definition))
    try:
        value = definition.func(**{argument: item.funcargs[argument] for argument in definition.argnames})
    except (pytest.fail.Exception, pytest.skip.Exception, Exception) as error:
        # As pytest does, so that nothing is sent again.
        if isinstance(error, pytest.skip.Exception):
            error._use_item_location = True
        definition.cached_result = (None, definition.cache_key(request), (error, error.__traceback__))
        raise
    _keep(definition, request, value)
    return value


def _keep(definition: Any, request: Any, value: object) -> None:
    """Note the value of a fixture as pytest does for those that it sets up itself."""
    definition.cached_result = (value, None, None)
    request._fixture_defs[definition.argname] = definition


def tear_down(own: OwnFixtures) -> None:
    """Forget the values of the own fixtures of an item, at the end of its teardown: the definitions are of all items.

    Args:
        own: as `own_fixtures` gives them.
    """
    for definition in own.definitions.values():
        if definition.argname in _KEPT:
            _forget(definition)


def _forget(definition: Any) -> None:
    definition.cached_result = None
    # Those of fixtures that asked for it: they have ended.
    definition._finalizers.clear()


def _module(plugin: object) -> str:
    """The module of a plugin, which is one itself, or an instance of a class."""
    return str(getattr(plugin, "__name__", type(plugin).__module__))

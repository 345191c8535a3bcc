"""Own fixtures: sets up those fixtures of an eval item that a project does not override, all at once.

The definitions of an item's fixtures come in; the values of this package's own ones come out. Pytest's set-up of a
fixture takes longer than most of these fixtures themselves, and an item has six of them. What a project overrides, and
what its own fixtures ask for, is set up by pytest. `file` finds the definitions, `item` calls `set_up`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from pytest_chatprompt.options import options_key

_NAMES: Final = ("eval_case", "eval_masks", "eval_request", "eval_provider", "eval_api", "eval_snapshot")
_MODULE: Final = "pytest_chatprompt.fixtures"
# They leave fixtures that are neither async nor shown as they are.
_HARMLESS_PLUGINS: Final = ("_pytest.", "anyio.", "pytest_asyncio.")
_SHOWING_OPTIONS: Final = ("setupshow", "setuponly", "setupplan")


def own_fixtures(definitions: Mapping[str, Sequence[Any]], item: pytest.Item) -> dict[str, Any]:
    """The definitions of the fixtures that need no set-up by pytest, by name.

    Args:
        definitions: of all fixtures of an item, by name; those that override others last.
        item: one that has these fixtures.

    Returns:
        Those of this package, if nothing overrides them. None in live and replayed runs, and where the options of
        pytest or a hook of another plugin show the set-up of fixtures.
    """
    config = item.config
    options = config.stash[options_key]
    if options.live or options.replay or any(config.getoption(name, False) for name in _SHOWING_OPTIONS):
        return {}
    implementations = item.ihook.pytest_fixture_setup.get_hookimpls()
    if not all(_module(implementation.plugin).startswith(_HARMLESS_PLUGINS) for implementation in implementations):
        return {}
    named = ((name, definitions.get(name, ())) for name in _NAMES)
    return {name: found[0] for name, found in named if len(found) == 1 and found[0].func.__module__ == _MODULE}


def set_up(definitions: Mapping[str, Any], values: dict[str, Any]) -> None:
    """Set up the own fixtures of an item.

    Args:
        definitions: as `own_fixtures` gives them.
        values: of all other fixtures of the item, by name, `request` included; those of the own ones are added.
    """
    __tracebackhide__ = True
    request: pytest.FixtureRequest = values["request"]
    for name, definition in definitions.items():
        if definition.cached_result is not None:
            # A fixture of the project has asked for it.
            values[name] = request.getfixturevalue(name)
        else:
            values[name] = definition.func(**{argument: values[argument] for argument in definition.argnames})


def _module(plugin: object) -> str:
    """The module of a plugin, which is one itself, or an instance of a class."""
    return str(getattr(plugin, "__name__", type(plugin).__module__))

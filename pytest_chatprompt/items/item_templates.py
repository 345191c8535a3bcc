"""Item templates: the function items that pytest makes of the test function, parametrized fixtures included.

An eval file, the test function and a provider's name come in. Templates come out, one for each combination of
parameters; `file` takes the parameters and fixtures of each case's item from them. Templates never run themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any, Final, cast

import pytest

from pytest_chatprompt.items.item import RESPONSE_FIXTURE

# The parameter of a case that has several providers, so that pytest puts the provider's name into the node id.
PROVIDER_PARAMETER: Final = "_eval_provider_name"
# The parameter of a case with rows. One template serves all of them: its place in the node id is kept by one value.
ROW_PARAMETER: Final = "_eval_row"
# pytest-repeat numbers the runs of a test with this parameter, the last of all.
_REPEAT_PARAMETER: Final = "__pytest_repeat_step_number"
_Templates = dict[tuple[str, bool, bool], list[pytest.Function]]
_templates_key: Final = pytest.StashKey[_Templates]()
_response_fixtures_key: Final = pytest.StashKey[tuple[str, ...]]()


class ItemTemplates:
    """The templates of an eval file.

    Cases that go through the same provider have the same combinations of parameters, and so have the files of one
    folder, where the same fixtures apply. So pytest is asked once for each folder and provider.

    Args:
        file: the eval file.
        test_function: what every item runs.
        provider_fixture: finds the fixture that gives a provider, by the name that was asked for.
    """

    def __init__(
        self, file: pytest.Module, test_function: Callable[..., None], provider_fixture: Callable[[str], str]
    ) -> None:
        self._file = file
        self._provider_fixture = provider_fixture
        self._test_function = cast(FunctionType, test_function)
        owner = file if file.parent is None or _may_differ_between_files(file) else file.parent
        self._templates: _Templates = owner.stash.setdefault(_templates_key, {})

    def get(self, provider_name: str, *, in_id: bool, has_row: bool = False) -> list[pytest.Function]:
        """The templates of a case, at least one.

        Args:
            provider_name: the provider that the case goes through.
            in_id: whether its name is part of the node id, as it is where the case has several.
            has_row: whether a row is part of the node id; `callspec_of_row` puts it there.
        """
        key = (provider_name, in_id, has_row)
        if key not in self._templates:
            # In this order, in front of all other parameters.
            in_front = {PROVIDER_PARAMETER: provider_name} if in_id else {}
            in_front |= {ROW_PARAMETER: ROW_PARAMETER} if has_row else {}
            without_provider = self._make(in_front, [*in_front])
            # The provider's fixture is looked up when the case runs. If it is parametrized, pytest has to know before.
            with_provider = self._make(in_front, [*in_front, self._provider_fixture(provider_name)])
            is_parametrized = _count_parameters(with_provider) > _count_parameters(without_provider)
            self._templates[key] = with_provider if is_parametrized else without_provider
        return self._templates[key]

    def _make(self, in_front: Mapping[str, str], fixture_names: Sequence[str]) -> list[pytest.Function]:
        """Let pytest collect a copy of the test function that uses more fixtures."""
        name = self._test_function.__name__
        function = FunctionType(self._test_function.__code__, self._test_function.__globals__, name)
        function.__dict__.update(
            __test__=True,
            pytestmark=[pytest.mark.usefixtures(*fixture_names).mark] if fixture_names else [],
            parameters_in_front=in_front,
        )
        setattr(self._file.obj, name, function)
        return list(self._file.ihook.pytest_pycollect_makeitem(collector=self._file, name=name, obj=function))


def callspec_id(template: pytest.Function) -> str:
    """What pytest puts into the bracket of a function item's name; `""` for no bracket."""
    # Only parametrized items have it, and pytest has no public name for it.
    callspec = getattr(template, "callspec", None)
    return "" if callspec is None else str(callspec.id)


def callspec_of_row(template: pytest.Function, row_name: str | None) -> Any:
    """The parameters of a template, with the name of a row in their id.

    Args:
        template: made with `has_row`, unless the name is `None`.
        row_name: the name of the row; `None` for an item without one.

    Returns:
        What the constructor of a function item takes; `None` for no parameters.
    """
    callspec: Any = getattr(template, "callspec", None)
    if row_name is None:
        return callspec
    # Not public: asking pytest for each row would make another item for it, and take as long again.
    names = [row_name if name == ROW_PARAMETER else name for name in callspec._idlist]
    # Reports of other plugins tell the items of rows apart by their parameters.
    return replace(callspec, params={**callspec.params, ROW_PARAMETER: row_name}, _idlist=names)


def snapshot_parameters(template: pytest.Function) -> str:
    """What the parameters of a function item add to the name of its snapshot; `""` for nothing.

    The same as `callspec_id`, without the step of pytest-repeat: all runs of one case compare with one snapshot.
    """
    whole = callspec_id(template)
    step: Any = template.callspec.params.get(_REPEAT_PARAMETER) if whole else None
    if step is None:
        return whole
    repeat_id = f"{step + 1}-{template.config.getoption('count')}"
    return whole.removesuffix(repeat_id).removesuffix("-")


def fixture_info(template: pytest.Function) -> Any:
    """What pytest knows of the fixtures of a template: names, and definitions by name.

    It has no public attribute. The constructor of a function item takes it, and without it the values that a
    `pytest_generate_tests` puts in place of a fixture would be lost.
    """
    return template._fixtureinfo


def response_fixtures(template: pytest.Function) -> tuple[str, ...]:
    """The names of the fixtures that use the response, themselves or through other fixtures."""
    if _response_fixtures_key not in template.stash:
        # Not public either; it has every definition of a fixture, also of overridden ones, and what each of them uses.
        definitions = fixture_info(template).name2fixturedefs
        users = {RESPONSE_FIXTURE}
        while True:
            more = {
                name
                for name, overrides in definitions.items()
                if name not in users and any(users & set(definition.argnames) for definition in overrides)
            }
            if not more:
                break
            users |= more
        template.stash[_response_fixtures_key] = tuple(
            name for name in template.fixturenames if name in users - {RESPONSE_FIXTURE}
        )
    return template.stash[_response_fixtures_key]


def _may_differ_between_files(file: pytest.Module) -> bool:
    """Whether files of one folder may need different templates.

    They may if a file has marks of its own, or if a `pytest_generate_tests` that is neither pytest's nor ours looks
    at the file.
    """
    if file.own_markers:
        return True
    plugins = (implementation.plugin for implementation in file.ihook.pytest_generate_tests.get_hookimpls())
    # pytest does not mark the plugins that are its own; the name of its private package does.
    modules = (getattr(plugin, "__name__", type(plugin).__module__) for plugin in plugins)
    return any(not module.startswith(("_pytest.", "pytest_chatprompt.")) for module in modules)


def _count_parameters(templates: Sequence[pytest.Function]) -> int:
    callspec = getattr(templates[0], "callspec", None)
    return 0 if callspec is None else len(callspec.params)

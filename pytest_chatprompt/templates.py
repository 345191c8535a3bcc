"""The test function of every eval item, and its templates: the function items that pytest makes of it.

An eval file and a provider's name come in; function items come out, one for each combination of parameters, of which
`collection` takes parameters and fixtures for the item of each case. They never run themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.case import EvalCase
    from pytest_chatprompt.eval_api import EvalAPI
    from pytest_chatprompt.requests import Provider, ProviderRequest

# The parameter of a case that has several providers, so that its name stands in the node id.
PROVIDER_PARAMETER: Final = "_eval_provider_name"
RESPONSE: Final = "eval_response"
_NAME: Final = "check_case"
_Made = dict[tuple[str, bool], list[pytest.Function]]
_made_key: Final = pytest.StashKey[_Made]()
_graders_key: Final = pytest.StashKey[tuple[str, ...]]()


def check_case(  # noqa: PLR0913, PLR0917 - a test function asks for what it needs
    request: pytest.FixtureRequest,
    eval_case: EvalCase,
    eval_request: ProviderRequest,
    eval_provider: Provider,
    eval_api: EvalAPI,
    eval_snapshot: SnapshotAssertion,
) -> None:
    """Compare what the case sends with its snapshot; then, where there are answers, get one and let it be looked at."""
    __tracebackhide__ = True
    # All that only a case that runs needs, the providers among it, comes with the first.
    from pytest_chatprompt.check import check  # noqa: PLC0415

    check(request, eval_case, eval_request, eval_provider, eval_api, eval_snapshot)


class Templates:
    """The templates of an eval file.

    Cases that go through the same provider have the same combinations, and so have the files of a folder, where the
    same fixtures are in force; pytest is asked once.

    Args:
        file: the eval file.
    """

    def __init__(self, file: pytest.Module) -> None:
        self._file = file
        owner = file if file.parent is None or _tells_files_apart(file) else file.parent
        self._made: _Made = owner.stash.setdefault(_made_key, {})

    def of(self, provider_name: str, *, in_id: bool) -> list[pytest.Function]:
        """Those of a case, at least one.

        Args:
            provider_name: what it goes through.
            in_id: whether that stands in the node id, as it does where the case has several.
        """
        key = (provider_name, in_id)
        if key not in self._made:
            in_bracket = provider_name if in_id else None
            asked = [PROVIDER_PARAMETER] if in_id else []
            alone = self._made_by_pytest(in_bracket, asked)
            # The provider's fixture is looked up when the case runs. If it is parametrized, pytest has to know before.
            looked_up = self._made_by_pytest(in_bracket, [*asked, f"{provider_name}_provider"])
            self._made[key] = looked_up if _parameters(looked_up) > _parameters(alone) else alone
        return self._made[key]

    def _made_by_pytest(self, provider_in_id: str | None, used_fixtures: Sequence[str]) -> list[pytest.Function]:
        function = FunctionType(check_case.__code__, check_case.__globals__, _NAME)
        function.__dict__.update(
            __test__=True,
            pytestmark=[pytest.mark.usefixtures(*used_fixtures).mark] if used_fixtures else [],
            provider_in_id=provider_in_id,
        )
        setattr(self._file.obj, _NAME, function)
        return list(self._file.ihook.pytest_pycollect_makeitem(collector=self._file, name=_NAME, obj=function))


def id_of(template: pytest.Function) -> str:
    """What pytest puts into the bracket of a function item's name; `""` for no bracket."""
    callspec = getattr(template, "callspec", None)
    return "" if callspec is None else str(callspec.id)


def graders(template: pytest.Function) -> tuple[str, ...]:
    """The fixtures of a function item that ask for the answer, themselves or through others."""
    if _graders_key not in template.stash:
        definitions = template._fixtureinfo.name2fixturedefs
        waiting = {RESPONSE}
        while True:
            more = {
                name
                for name, found in definitions.items()
                if name not in waiting and any(waiting & set(definition.argnames) for definition in found)
            }
            if not more:
                break
            waiting |= more
        template.stash[_graders_key] = tuple(name for name in template.fixturenames if name in waiting - {RESPONSE})
    return template.stash[_graders_key]


def _tells_files_apart(file: pytest.Module) -> bool:
    """Whether a file has marks of its own, or a hook of somebody else's makes parameters and may look at the file."""
    if file.own_markers:
        return True
    makers = (implementation.plugin for implementation in file.ihook.pytest_generate_tests.get_hookimpls())
    names = (getattr(maker, "__name__", type(maker).__module__) for maker in makers)
    return any(not name.startswith(("_pytest.", f"{__package__}.")) for name in names)


def _parameters(templates: Sequence[pytest.Function]) -> int:
    """How many parameters each of them has."""
    callspec = getattr(templates[0], "callspec", None)
    return 0 if callspec is None else len(callspec.params)

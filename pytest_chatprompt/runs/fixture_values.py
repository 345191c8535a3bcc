"""What the fixtures give: the case, its request, the provider, and in an ordinary test the response.

A test or a conftest may return an `EvalCase` made in code from `eval_case`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from pytest_chatprompt.cases.case import EvalCase, case_diagnostic, case_in_test
from pytest_chatprompt.cases.fields import split_provider_name
from pytest_chatprompt.cases.origin import CaseTest
from pytest_chatprompt.errors import EvalFileError, ProviderError
from pytest_chatprompt.options import options_key
from pytest_chatprompt.runs.item import EvalItem
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.wording import data_place, did_you_mean

if TYPE_CHECKING:
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import Provider, ProviderResponse

# pytest shows no frame of this module.
__tracebackhide__ = True

_TOOLS: Final = "_tools"
_no_case_key: Final[pytest.StashKey[bool]] = pytest.StashKey()


def case_of(item: pytest.Item) -> EvalCase:
    """The case of an eval item, with its variables filled in; an ordinary test has none, and fails."""
    if not isinstance(item, EvalItem):
        item.stash[_no_case_key] = True
        _fail(f"eval_case: {item.nodeid} is not a case of an eval file; override eval_case to use it here")
    return item.case.render()


def request_of_case(request: pytest.FixtureRequest, case: EvalCase) -> ProviderRequest:
    """The request that is built from the fixture `eval_case`.

    The files of a case that was made in code are looked for beside the module of its test, and the guideline patterns
    of the ini value count if it has none of its own.
    """
    from pytest_chatprompt.prompt.request import build_request  # noqa: PLC0415

    if not isinstance(case, EvalCase):
        _fail(f"eval_case: {case!r} is not an EvalCase; return EvalCase(id=..., input_messages=[...])")
    config = request.config
    options = config.stash[options_key]
    if not case.has_origin:
        if case.guideline_patterns is None:
            case = case.model_copy(update={"guideline_patterns": options.guideline_patterns})
        item: Any = request.node
        case = case_in_test(case, CaseTest(item.nodeid, item.path.parent, config.rootpath))
    name = None
    if case.settings is not None:
        name = provider_name(request)
        _check_setting_names(request, case, name)
    if isinstance(case.tools, str) and case.tools.isidentifier():
        case = case.model_copy(update={"tools": _tools_named(request, case, case.tools)})
    reader = SharedByRun.of(config).reader
    if case.request is not None:
        from pytest_chatprompt.capture.captured_request import captured_request  # noqa: PLC0415 - few cases send one

        return captured_request(case, reader, provider_name(request))
    return build_request(case, reader, project_system_prompt=options.system_prompt, provider_name=name)


def _tools_named(request: pytest.FixtureRequest, case: EvalCase, name: str) -> Any:
    """The tools of the fixture `<name>_tools`: a list, or what an MCP server shows."""
    from pydantic import ValidationError  # noqa: PLC0415 - few cases have such tools
    from pydantic_core import PydanticCustomError  # noqa: PLC0415

    from pytest_chatprompt.capture.mcp_server import tools_of_listing  # noqa: PLC0415
    from pytest_chatprompt.cases.request_options import read_tools  # noqa: PLC0415
    from pytest_chatprompt.runs.named_providers import existing_names  # noqa: PLC0415

    fixture_name = f"{name}{_TOOLS}"
    try:
        value = request.getfixturevalue(fixture_name)
    except pytest.FixtureLookupError as error:
        if error.argname != fixture_name:
            raise
        known = sorted(existing_names(request, _TOOLS) - {"mcp"})
        hint = did_you_mean(name, known) or "write one, or a list of tools, or the path of a .json, .yaml or .yml file"
        problem = f"there is no fixture {fixture_name}; {hint}"
        raise EvalFileError([case_diagnostic(case, problem, "tools")]) from None
    try:
        return read_tools(tools_of_listing(value) if isinstance(value, Mapping) and "tools" in value else value)
    except PydanticCustomError as error:
        problem = str(error)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # Names of models stand in angle brackets.
        place = data_place(part for part in first["loc"] if not str(part).startswith("<"))
        problem = f"{place}: {first['msg']}"
    text = f"the fixture {fixture_name} gives no list of tools: {problem}"
    raise EvalFileError([case_diagnostic(case, text, "tools")])


def provider_name(request: pytest.FixtureRequest) -> str:
    """The name of the provider that the case, the command line or the ini asks for."""
    item, options = request.node, request.config.stash[options_key]
    name = item.provider_name if isinstance(item, EvalItem) else options.provider or _provider_named_by_case(request)
    return name or options.default_provider


def provider_named(request: pytest.FixtureRequest, name: str) -> Provider:
    """The provider of a name: the fixture `<name>_provider`, a variant of one, or a target of AgentV."""
    plain = getattr(request.node.parent, "plain_providers", ())
    if name in plain and not request.config.getoption("setupshow", False):
        # Nobody overrides the fixture, and pytest takes as long for it as reading a snapshot.
        return built_in_provider(request.config, name)
    from pytest_chatprompt.runs.named_providers import provider_of_target, value_of_fixture  # noqa: PLC0415

    provider = value_of_fixture(request, name)
    if provider is not None:
        return provider
    from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

    # Its hooks show an error as text, also if this test is the first that needs them.
    EvalSession.get(request.config)
    return provider_of_target(request, name)


def built_in_provider(config: pytest.Config, name: str) -> Provider:
    """The built-in provider of a name with its defaults, one for the run."""
    providers = SharedByRun.of(config).providers
    if name not in providers:
        from pytest_chatprompt.apis.table import get_provider  # noqa: PLC0415

        providers[name] = get_provider(name)()
    return providers[name]


def _provider_named_by_case(request: pytest.FixtureRequest) -> str | None:
    """The provider that the case of an ordinary test names; `None` if there is no case, or it names none."""
    try:
        case = request.getfixturevalue("eval_case")
    except pytest.fail.Exception:
        if request.node.stash.get(_no_case_key, False):
            return None
        raise
    names: str | tuple[str, ...] | None = getattr(case, "provider", None)
    if not isinstance(names, tuple):
        return names
    if len(names) > 1:
        raise ProviderError(
            f"case {case.id!r} names several providers ({', '.join(names)}), but a test sends through one; parametrize "
            "the fixture eval_case, so that it returns the case once with each: "
            'eval_case.model_copy(update={"provider": request.param})'
        )
    return names[0]


def response_of(
    request: pytest.FixtureRequest, provider_request: ProviderRequest, provider: Provider, api: EvalAPI
) -> ProviderResponse:
    """The response of an eval item; an ordinary test sends the request for it."""
    if isinstance(request.node, EvalItem):
        return request.node.response()
    from pytest_chatprompt.capture.provider_capture import (  # noqa: PLC0415
        call_provider,
        capture_live,
        capture_offline,
    )
    from pytest_chatprompt.providers.agents.base import AgentProvider  # noqa: PLC0415

    if not api.is_live:
        response = capture_offline(provider, provider_request, api).response
    elif isinstance(provider, AgentProvider):
        from pytest_chatprompt.runs.live_run import LiveRun  # noqa: PLC0415 - most runs are not live

        response = capture_live(provider, provider_request, LiveRun.of(request.config).router_here()).response
    else:
        response = call_provider(provider, provider_request)
    for finding in response.findings:
        request.node.warn(finding.to_warning())
    return response


def _fail(text: str) -> NoReturn:
    """Fail with this text only."""
    # If all frames are hidden, pytest says so below the text.
    __tracebackhide__ = False
    pytest.fail(text, pytrace=False)


def _check_setting_names(request: pytest.FixtureRequest, case: EvalCase, used_name: str) -> None:
    """Refuse settings under the name of an unknown provider; the one that is used need not have a fixture."""
    from pytest_chatprompt.apis.table import PROVIDERS  # noqa: PLC0415
    from pytest_chatprompt.cases.request_options import provider_names  # noqa: PLC0415
    from pytest_chatprompt.runs.named_providers import existing_providers  # noqa: PLC0415

    names = {*provider_names(case.settings or {})} - PROVIDERS.keys() - {used_name}
    known = sorted(existing_providers(request)) if names else []
    diagnostics = []
    for name in sorted(names):
        provider, _ = split_provider_name(name)
        if provider not in known:
            hint = did_you_mean(provider, known) or f"the providers are {', '.join(known)}"
            text = f"settings for an unknown provider {name!r}; {hint}"
            diagnostics.append(case_diagnostic(case, text, "settings", name))
    if diagnostics:
        raise EvalFileError(diagnostics)

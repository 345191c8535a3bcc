"""The fixtures: what users override and ask for.

Each is a place where a conftest, a plugin or one case can put something of its own. They are registered in
every run, so this module imports no more than pytest; what a fixture needs comes when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.options import settings_key

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.case import EvalCase
    from pytest_chatprompt.eval_api import EvalAPI
    from pytest_chatprompt.providers import (
        AnthropicProvider,
        AzureProvider,
        CLIProvider,
        CodexProvider,
        GeminiProvider,
        OpenAIProvider,
        VSCodeProvider,
    )
    from pytest_chatprompt.requests import Provider, ProviderRequest, ProviderResponse

_SUFFIX: Final = "_provider"


@pytest.fixture
def eval_case(request: pytest.FixtureRequest) -> EvalCase:
    """The case of an eval file that is running (EvalCase, frozen)."""
    __tracebackhide__ = True
    from pytest_chatprompt.eval_item import EvalItem  # noqa: PLC0415

    if not isinstance(request.node, EvalItem):
        pytest.fail(
            f"eval_case: {request.node.nodeid} is no case of an eval file; override eval_case to use it here",
            pytrace=False,
        )
    return request.node.readable_case()


@pytest.fixture
def eval_request(request: pytest.FixtureRequest, eval_case: EvalCase) -> ProviderRequest:
    """The ProviderRequest made of the case."""
    __tracebackhide__ = True
    from pytest_chatprompt.requests import build_request  # noqa: PLC0415
    from pytest_chatprompt.session import EvalSession  # noqa: PLC0415

    settings = request.config.stash[settings_key]
    reader = EvalSession.of(request.config).reader()
    return build_request(eval_case, reader, project_system_prompt=settings.system_prompt)


@pytest.fixture
def eval_provider(request: pytest.FixtureRequest) -> Provider:
    """The provider that a case goes through; by default the fixture `<name>_provider`."""
    __tracebackhide__ = True
    name = _provider_name(request)
    wanted = f"{name}{_SUFFIX}"
    try:
        provider: Provider = request.getfixturevalue(wanted)
    except pytest.FixtureLookupError as error:
        if error.argname != wanted:
            raise
        from pytest_chatprompt.errors import UnknownProviderError  # noqa: PLC0415

        known = sorted(_available_providers(error))
        close = get_close_matches(name, known, n=1)
        raise UnknownProviderError(
            f"unknown provider {name!r}: no fixture {wanted!r} can be asked for; "
            + (f"did you mean {close[0]!r}? " if close else "")
            + f"The providers here are {', '.join(known)}"
        ) from None
    return provider


def _provider_name(request: pytest.FixtureRequest) -> str:
    """The name of the provider that was asked for."""
    settings = request.config.stash[settings_key]
    return getattr(request.node, "provider_name", None) or settings.provider or settings.default_provider


def _available_providers(error: pytest.FixtureLookupError) -> set[str]:
    """The names of the providers that can be asked for, out of the fixtures that pytest lists."""
    listed = re.search(r"available fixtures: (.*)", str(getattr(error.formatrepr(), "errorstring", "")))
    names = re.split(r",\s*", listed[1]) if listed else []
    return {name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)} - {"eval"}


@pytest.fixture(scope="session")
def azure_provider() -> Iterator[AzureProvider]:
    """Azure OpenAI with its defaults; key and endpoint come from the environment."""
    from pytest_chatprompt.providers import AzureProvider  # noqa: PLC0415

    yield from _closing(AzureProvider())


@pytest.fixture(scope="session")
def openai_provider() -> Iterator[OpenAIProvider]:
    """OpenAI with its defaults; the key comes from the environment."""
    from pytest_chatprompt.providers import OpenAIProvider  # noqa: PLC0415

    yield from _closing(OpenAIProvider())


@pytest.fixture(scope="session")
def anthropic_provider() -> Iterator[AnthropicProvider]:
    """Anthropic with its defaults; the key comes from the environment."""
    from pytest_chatprompt.providers import AnthropicProvider  # noqa: PLC0415

    yield from _closing(AnthropicProvider())


@pytest.fixture(scope="session")
def gemini_provider() -> Iterator[GeminiProvider]:
    """Gemini with its defaults; the key comes from the environment."""
    from pytest_chatprompt.providers import GeminiProvider  # noqa: PLC0415

    yield from _closing(GeminiProvider())


@pytest.fixture(scope="session")
def vscode_provider() -> VSCodeProvider:
    """VS Code's agent with its defaults."""
    from pytest_chatprompt.providers import VSCodeProvider  # noqa: PLC0415

    return VSCodeProvider()


@pytest.fixture(scope="session")
def codex_provider() -> CodexProvider:
    """Codex with its defaults."""
    from pytest_chatprompt.providers import CodexProvider  # noqa: PLC0415

    return CodexProvider()


@pytest.fixture(scope="session")
def cli_provider() -> CLIProvider:
    """A command line that runs an agent; override it to set the command."""
    from pytest_chatprompt.providers import CLIProvider  # noqa: PLC0415

    return CLIProvider()


def _closing(provider: Any) -> Iterator[Any]:
    yield provider
    provider.close()


@pytest.fixture
def eval_api(request: pytest.FixtureRequest) -> EvalAPI:
    """The offline stand-in of the APIs: a respx router, to which a test adds routes and replies."""
    from pytest_chatprompt.session import EvalSession  # noqa: PLC0415

    return EvalSession.of(request.config).fresh_api()


@pytest.fixture
def eval_response(
    request: pytest.FixtureRequest, eval_request: ProviderRequest, eval_provider: Provider, eval_api: EvalAPI
) -> ProviderResponse:
    """The ProviderResponse; asking for it is what sends."""
    __tracebackhide__ = True
    settings = request.config.stash[settings_key]
    if hasattr(request.node, "readable_case"):
        from pytest_chatprompt.check import answer_to  # noqa: PLC0415

        return answer_to(request.node, eval_provider, eval_api)
    from pytest_chatprompt.recording import record, record_live  # noqa: PLC0415
    from pytest_chatprompt.session import EvalSession  # noqa: PLC0415

    if settings.live:
        recording = record_live(eval_provider, eval_request, EvalSession.of(request.config).tap())
    else:
        recording = record(eval_provider, eval_request, eval_api)
    for finding in recording.response.findings:
        request.node.warn(finding.as_warning())
    return recording.response


@pytest.fixture
def eval_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """Syrupy's `snapshot` with this plugin's serializer: exact and readable YAML, one file each."""
    from pytest_chatprompt.snapshot import ChatPromptSnapshotExtension  # noqa: PLC0415

    return snapshot.use_extension(ChatPromptSnapshotExtension)

"""The fixtures: what you ask for and override.

Pytest imports this module in every run, so it imports nothing but pytest; what a fixture needs is imported when the
fixture is set up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from pytest_chatprompt.options import options_key

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.apis.anthropic import AnthropicProvider
    from pytest_chatprompt.apis.azure import AzureProvider
    from pytest_chatprompt.apis.bedrock import BedrockProvider
    from pytest_chatprompt.apis.gemini import GeminiProvider
    from pytest_chatprompt.apis.mistral import MistralProvider
    from pytest_chatprompt.apis.ollama import OllamaProvider
    from pytest_chatprompt.apis.openai import OpenAIProvider
    from pytest_chatprompt.apis.openai_responses import OpenAIResponsesProvider
    from pytest_chatprompt.apis.openrouter import OpenRouterProvider
    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.capture.sent_request import SentRequest
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.agents.cli import CLIProvider
    from pytest_chatprompt.providers.agents.codex import CodexProvider
    from pytest_chatprompt.providers.agents.vscode import VSCodeProvider
    from pytest_chatprompt.providers.response import Provider, ProviderResponse


T = TypeVar("T")

_SUFFIX: Final = "_provider"
_NO_COMMAND: Final = """\
the provider 'cli' has no command; write the one of your agent into conftest.py:

    import pytest

    from pytest_chatprompt import CLIProvider

    @pytest.fixture(scope="session")
    def cli_provider():
        return CLIProvider(["my-agent", "--task", "{prompt_file}"])
"""


def _once(request: pytest.FixtureRequest, name: str, make: Callable[[], T]) -> T:
    """The value of a fixture; an eval item keeps it for all who ask, since pytest does not make all of its fixtures."""
    __tracebackhide__ = True
    from pytest_chatprompt.runs.item import EvalItem  # noqa: PLC0415

    if not isinstance(request.node, EvalItem):
        return make()
    value: T = request.node.once(name, make)
    return value


@pytest.fixture
def eval_case(request: pytest.FixtureRequest) -> EvalCase:
    """The case of the eval file that is running (EvalCase, frozen)."""
    __tracebackhide__ = True
    from pytest_chatprompt.runs.item import EvalItem  # noqa: PLC0415

    if not isinstance(request.node, EvalItem):
        from pytest_chatprompt.runs.code_case import fail_without_case  # noqa: PLC0415

        fail_without_case(request.node)
    case: EvalCase = request.node.once("eval_case", request.node.valid_case)
    return case


@pytest.fixture
def eval_request(request: pytest.FixtureRequest, eval_case: EvalCase) -> ProviderRequest:
    """The ProviderRequest made from the case."""
    __tracebackhide__ = True
    from pytest_chatprompt.runs.code_case import request_of_case  # noqa: PLC0415

    return _once(
        request, "eval_request", lambda: request_of_case(request, eval_case, _provider_name, _existing_providers)
    )


@pytest.fixture
def eval_provider(request: pytest.FixtureRequest) -> Provider:
    """The provider that the case is sent through; by default the fixture `<name>_provider`."""
    __tracebackhide__ = True
    return _once(request, "eval_provider", lambda: _provider_named(request, _provider_name(request)))


@pytest.fixture
def eval_judge(request: pytest.FixtureRequest) -> Provider:
    """The provider that `llm_rubric` asks: that of chatprompt_judge, else the default one."""
    __tracebackhide__ = True
    from pytest_chatprompt.errors import CheckError, UnknownProviderError  # noqa: PLC0415

    try:
        return _provider_named(request, request.config.stash[options_key].judge)
    except UnknownProviderError as error:
        raise CheckError(f"there is no judge: {error}") from error


def _provider_named(request: pytest.FixtureRequest, name: str) -> Provider:
    """The provider of a name: the fixture `<name>_provider`, or a target of AgentV."""
    __tracebackhide__ = True
    fixture_name = f"{name}{_SUFFIX}"
    try:
        provider: Provider = request.getfixturevalue(fixture_name)
    except pytest.FixtureLookupError as error:
        if error.argname != fixture_name:
            raise
        from pytest_chatprompt.runs.agentv_providers import provider_of_target  # noqa: PLC0415
        from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

        # Its hooks show an error as text, also if this test is the first that needs them.
        EvalSession.get(request.config)
        available = _available_providers(error)
    else:
        return provider
    return provider_of_target(request, name, available)


def _provider_name(request: pytest.FixtureRequest) -> str:
    """The name of the provider that the case, the command line or the ini asks for."""
    __tracebackhide__ = True
    options = request.config.stash[options_key]
    name: str | None = getattr(request.node, "provider_name", None) or options.provider
    if name is None:
        from pytest_chatprompt.runs.code_case import provider_named_by_case  # noqa: PLC0415

        name = provider_named_by_case(request)
    return name or options.default_provider


def _existing_providers(request: pytest.FixtureRequest) -> set[str]:
    """The names of all providers that exist here."""
    names: set[str] = set()
    try:
        # There is no such fixture: the error lists those that there are.
        request.getfixturevalue(_SUFFIX)
    except pytest.FixtureLookupError as error:
        names = _available_providers(error)
    return names


def _available_providers(error: pytest.FixtureLookupError) -> set[str]:
    """The names of the providers that exist here, read from the fixtures that pytest's error lists."""
    # pytest has no public way to list the fixtures that a node can use, but the text of its error lists them.
    listed = re.search(r"available fixtures: (.*)", str(getattr(error.formatrepr(), "errorstring", "")))
    names = re.split(r",\s*", listed[1]) if listed else []
    return {name.removesuffix(_SUFFIX) for name in names if name.endswith(_SUFFIX)} - {"eval"}


def _built_in(name: str) -> Iterator[Any]:
    """Make a built-in provider with its defaults."""
    from pytest_chatprompt.apis.table import get_provider  # noqa: PLC0415

    yield get_provider(name)()


@pytest.fixture(scope="session")
def azure_provider() -> Iterator[AzureProvider]:
    """Azure OpenAI with its defaults; key and endpoint come from the environment."""
    yield from _built_in("azure")


@pytest.fixture(scope="session")
def openai_provider() -> Iterator[OpenAIProvider]:
    """OpenAI with its defaults; the key comes from the environment."""
    yield from _built_in("openai")


@pytest.fixture(scope="session")
def openai_responses_provider() -> Iterator[OpenAIResponsesProvider]:
    """OpenAI's Responses API with its defaults; the key comes from the environment."""
    yield from _built_in("openai_responses")


@pytest.fixture(scope="session")
def anthropic_provider() -> Iterator[AnthropicProvider]:
    """Anthropic with its defaults; the key comes from the environment."""
    yield from _built_in("anthropic")


@pytest.fixture(scope="session")
def gemini_provider() -> Iterator[GeminiProvider]:
    """Gemini with its defaults; the key comes from the environment."""
    yield from _built_in("gemini")


@pytest.fixture(scope="session")
def bedrock_provider() -> Iterator[BedrockProvider]:
    """Amazon Bedrock with its defaults; key or credentials, and the region, are those of AWS's tools."""
    yield from _built_in("bedrock")


@pytest.fixture(scope="session")
def ollama_provider() -> Iterator[OllamaProvider]:
    """Ollama on this machine with its defaults; it needs no key."""
    yield from _built_in("ollama")


@pytest.fixture(scope="session")
def openrouter_provider() -> Iterator[OpenRouterProvider]:
    """OpenRouter with its defaults; the key comes from the environment."""
    yield from _built_in("openrouter")


@pytest.fixture(scope="session")
def mistral_provider() -> Iterator[MistralProvider]:
    """Mistral with its defaults; the key comes from the environment."""
    yield from _built_in("mistral")


@pytest.fixture(scope="session")
def vscode_provider() -> Iterator[VSCodeProvider]:
    """VS Code's agent with its defaults."""
    yield from _built_in("vscode")


@pytest.fixture(scope="session")
def codex_provider() -> Iterator[CodexProvider]:
    """Codex with its defaults."""
    yield from _built_in("codex")


@pytest.fixture(scope="session")
def cli_provider() -> CLIProvider:
    """An agent that a command line runs; override it to set the command, which has no default."""
    __tracebackhide__ = True
    from pytest_chatprompt.errors import MissingSettingError  # noqa: PLC0415

    raise MissingSettingError(_NO_COMMAND)


@pytest.fixture
def eval_api(request: pytest.FixtureRequest) -> EvalAPI:
    """The offline stand-in of the APIs: a respx router, to which a test adds routes and replies."""
    from pytest_chatprompt.runs.item import EvalItem  # noqa: PLC0415
    from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

    session = EvalSession.get(request.config)
    if isinstance(request.node, EvalItem):
        # Without a name, the item asks for it, and no fixture of the project.
        return request.node.eval_api(is_read=request.fixturename is not None)
    from pytest_chatprompt.runs.own_code import OwnCodeCapture  # noqa: PLC0415

    capture = OwnCodeCapture(request, session.redactor, session.network.tell)
    request.addfinalizer(capture.stop)  # noqa: PT021 - an eval item, of which there are many, has nothing to stop
    capture.start()
    return capture.api


@pytest.fixture
def eval_response(
    request: pytest.FixtureRequest, eval_request: ProviderRequest, eval_provider: Provider, eval_api: EvalAPI
) -> ProviderResponse:
    """The ProviderResponse; asking for it sends the request."""
    __tracebackhide__ = True
    from pytest_chatprompt.runs.item import EvalItem  # noqa: PLC0415

    if isinstance(request.node, EvalItem):
        return request.node.response()
    from pytest_chatprompt.runs.code_case import response_in_test  # noqa: PLC0415

    return response_in_test(request, eval_request, eval_provider, eval_api)


@pytest.fixture(scope="session")
def eval_masks() -> Mapping[str, str | Callable[[re.Match[str]], str]]:
    r"""What snapshots show in place of what differs from run to run, such as `{r"\d{4}-\d\d-\d\d": "<date>"}`."""
    return {}


@pytest.fixture(scope="session")
def eval_cache_prefix() -> Callable[[Sequence[SentRequest]], None]:
    """Asserts that each request begins with all of the one before: `eval_cache_prefix(eval_api.sent)`."""
    from pytest_chatprompt.capture.prompt_cost import assert_conversation  # noqa: PLC0415

    return assert_conversation


@pytest.fixture
def eval_snapshot(
    request: pytest.FixtureRequest, snapshot: SnapshotAssertion, eval_masks: Mapping[Any, Any]
) -> SnapshotAssertion:
    """Syrupy's `snapshot` for what is sent: exact and readable YAML, one file each."""
    __tracebackhide__ = True
    from pytest_chatprompt.runs.code_snapshots import wrap_snapshot  # noqa: PLC0415
    from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

    EvalSession.get(request.config)
    return _once(request, "eval_snapshot", lambda: wrap_snapshot(request, snapshot, eval_masks))

"""The fixtures: what you ask for and override.

Pytest imports this module in every run, so it imports nothing but pytest; what a fixture needs is imported when the
fixture is set up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_chatprompt.options import options_key

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

    from pytest_chatprompt.capture.eval_api import EvalAPI
    from pytest_chatprompt.capture.sent_request import SentRequest
    from pytest_chatprompt.cases.case import EvalCase
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.agents.cli import CLIProvider
    from pytest_chatprompt.providers.response import Provider, ProviderResponse

# pytest shows no frame of this module.
__tracebackhide__ = True


T = TypeVar("T")


def _once(request: pytest.FixtureRequest, name: str, make: Callable[[], T]) -> T:
    """The value of a fixture; an eval item keeps it for all who ask, since pytest does not make all of its fixtures."""
    from pytest_chatprompt.runs.item import EvalItem  # noqa: PLC0415

    value: T = request.node.once(name, make) if isinstance(request.node, EvalItem) else make()
    return value


@pytest.fixture
def eval_case(request: pytest.FixtureRequest) -> EvalCase:
    """The case of the eval file that is running (EvalCase, frozen)."""
    from pytest_chatprompt.runs.fixture_values import case_of  # noqa: PLC0415

    return _once(request, "eval_case", lambda: case_of(request.node))


@pytest.fixture
def eval_request(request: pytest.FixtureRequest, eval_case: EvalCase) -> ProviderRequest:
    """The ProviderRequest made from the case."""
    from pytest_chatprompt.runs.fixture_values import request_of_case  # noqa: PLC0415

    return _once(request, "eval_request", lambda: request_of_case(request, eval_case))


@pytest.fixture
def eval_provider(request: pytest.FixtureRequest) -> Provider:
    """The provider that the case is sent through; by default the fixture `<name>_provider`."""
    from pytest_chatprompt.runs.fixture_values import provider_name, provider_named  # noqa: PLC0415

    return _once(request, "eval_provider", lambda: provider_named(request, provider_name(request)))


@pytest.fixture
def eval_judge(request: pytest.FixtureRequest) -> Provider:
    """The provider that `llm_rubric` asks: that of chatprompt_judge, else the default one."""
    from pytest_chatprompt.errors import CheckError, UnknownProviderError  # noqa: PLC0415
    from pytest_chatprompt.runs.fixture_values import provider_named  # noqa: PLC0415

    try:
        return provider_named(request, request.config.stash[options_key].judge)
    except UnknownProviderError as error:
        raise CheckError(f"there is no judge: {error}") from error


def _built_in(name: str, text: str) -> Any:
    """The fixture of a built-in provider, with the text that `pytest --fixtures` shows of it."""

    def provider(request: pytest.FixtureRequest) -> Any:
        from pytest_chatprompt.runs.fixture_values import built_in_provider  # noqa: PLC0415

        return built_in_provider(request.config, name)

    vars(provider)["is_built_in"] = True
    provider.__doc__ = text
    return pytest.fixture(scope="session")(provider)


azure_provider = _built_in("azure", "Azure OpenAI with its defaults; key and endpoint come from the environment.")
openai_provider = _built_in("openai", "OpenAI with its defaults; the key comes from the environment.")
openai_responses_provider = _built_in(
    "openai_responses", "OpenAI's Responses API with its defaults; the key comes from the environment."
)
anthropic_provider = _built_in("anthropic", "Anthropic with its defaults; the key comes from the environment.")
gemini_provider = _built_in("gemini", "Gemini with its defaults; the key comes from the environment.")
bedrock_provider = _built_in(
    "bedrock", "Amazon Bedrock with its defaults; key or credentials, and the region, are those of AWS's tools."
)
ollama_provider = _built_in("ollama", "Ollama on this machine with its defaults; it needs no key.")
openrouter_provider = _built_in("openrouter", "OpenRouter with its defaults; the key comes from the environment.")
mistral_provider = _built_in("mistral", "Mistral with its defaults; the key comes from the environment.")
vscode_provider = _built_in("vscode", "VS Code's agent with its defaults.")
codex_provider = _built_in("codex", "Codex with its defaults.")
claude_provider = _built_in("claude", "Claude Code with its defaults.")


@pytest.fixture(scope="session")
def cli_provider() -> CLIProvider:
    """An agent that a command line runs; override it to set the command, which has no default."""
    from pytest_chatprompt.errors import MissingSettingError  # noqa: PLC0415

    raise MissingSettingError(
        "the provider 'cli' has no command; write the one of your agent into conftest.py, in a fixture cli_provider of "
        'the session: return CLIProvider(["my-agent", "--task", "{prompt_file}"])'
    )


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
    return capture.api


@pytest.fixture
def eval_response(
    request: pytest.FixtureRequest, eval_request: ProviderRequest, eval_provider: Provider, eval_api: EvalAPI
) -> ProviderResponse:
    """The ProviderResponse; asking for it sends the request."""
    from pytest_chatprompt.runs.fixture_values import response_of  # noqa: PLC0415

    return response_of(request, eval_request, eval_provider, eval_api)


@pytest.fixture(scope="session")
def mcp_tools(request: pytest.FixtureRequest) -> Callable[..., dict[str, Any]]:
    """Reads what an MCP server shows: `mcp_tools(command=[...])`, or a `url=`, or a server object."""
    from pytest_chatprompt.capture.mcp_server import read_mcp_server  # noqa: PLC0415
    from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

    # Its hooks show an error as text.
    EvalSession.get(request.config)
    options = request.config.stash[options_key]
    allowed_hosts = None if options.live else options.allowed_hosts
    return partial(read_mcp_server, root=request.config.rootpath, allowed_hosts=allowed_hosts)


@pytest.fixture(scope="session")
def eval_masks() -> Mapping[str, str | Callable[[re.Match[str]], str]]:
    r"""What snapshots show in place of what differs from run to run, such as `{r"\d{4}-\d\d-\d\d": "<date>"}`."""
    return {}


@pytest.fixture(scope="session")
def eval_cache_prefix() -> Callable[[Sequence[SentRequest]], None]:
    """Asserts that each request begins with all of the one before: `eval_cache_prefix(eval_api.sent)`."""
    from pytest_chatprompt.capture.prompt_size import assert_conversation  # noqa: PLC0415

    return assert_conversation


@pytest.fixture
def eval_snapshot(
    request: pytest.FixtureRequest, snapshot: SnapshotAssertion, eval_masks: Mapping[Any, Any]
) -> SnapshotAssertion:
    """Syrupy's `snapshot` for what is sent: exact and readable YAML, one file each."""
    from pytest_chatprompt.runs.code_snapshots import wrap_snapshot  # noqa: PLC0415
    from pytest_chatprompt.runs.session import EvalSession  # noqa: PLC0415

    EvalSession.get(request.config)
    return _once(request, "eval_snapshot", lambda: wrap_snapshot(request, snapshot, eval_masks))

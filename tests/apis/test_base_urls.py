"""Base URLs: in a live run a provider sends to where the vendor's own SDK sends, also through a gateway."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anthropic
import boto3
import google.genai
import openai
import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    BedrockProvider,
    CompatibleProvider,
    GeminiProvider,
    OllamaProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    OpenRouterProvider,
)
from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.errors import MissingSettingError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.context import SendContext, use_context

HI = ProviderRequest(question="hi")
MESSAGES: list[dict[str, str]] = [{"role": "user", "content": "hi"}]


def ask_gemini() -> None:
    client = google.genai.Client(api_key="k")
    client.models.generate_content(model="m", contents="hi")


def ask_bedrock() -> None:
    session = boto3.session.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="eu-west-1")
    session.client("bedrock-runtime").converse(modelId="m", messages=[{"role": "user", "content": [{"text": "hi"}]}])


SDKS: dict[str, tuple[Callable[[], ChatProvider], Callable[[], object], tuple[str, ...]]] = {
    "openai": (
        lambda: OpenAIProvider(model="m"),
        lambda: openai.OpenAI(api_key="k").chat.completions.create(model="m", messages=MESSAGES),  # type: ignore[arg-type]
        ("OPENAI_BASE_URL",),
    ),
    "openai_responses": (
        lambda: OpenAIResponsesProvider(model="m"),
        lambda: openai.OpenAI(api_key="k").responses.create(model="m", input="hi"),
        ("OPENAI_BASE_URL",),
    ),
    "anthropic": (
        lambda: AnthropicProvider(model="m"),
        lambda: anthropic.Anthropic(api_key="k").messages.create(model="m", max_tokens=5, messages=MESSAGES),  # type: ignore[arg-type]
        ("ANTHROPIC_BASE_URL",),
    ),
    "gemini": (lambda: GeminiProvider(model="m"), ask_gemini, ("GOOGLE_GEMINI_BASE_URL",)),
    "bedrock": (
        lambda: BedrockProvider(model="m", region="eu-west-1"),
        ask_bedrock,
        ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
    ),
}
EACH_VARIABLE = [(name, variable) for name, (_, _, variables) in SDKS.items() for variable in variables]


def url_of_sdk(ask: Callable[[], object]) -> str:
    api = EvalAPI()
    with api.intercept():
        ask()
    (sent,) = api.sent
    return sent.url


def url_of_provider(provider: ChatProvider) -> str:
    return provider.prepare(HI).url


@pytest.fixture(autouse=True)
def no_profile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No profile of AWS."""
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


@pytest.mark.parametrize(
    "base_url",
    [
        pytest.param("https://gateway.example/team/v1", id="with a path"),
        pytest.param("https://gateway.example/team/v1/", id="with a slash at its end"),
        pytest.param("http://127.0.0.1:8000", id="host and port"),
        pytest.param("https://user:pass@gateway.example", id="with a password"),
    ],
)
@pytest.mark.parametrize(("name", "variable"), EACH_VARIABLE)
def test_the_variable_of_the_vendor_leads_the_provider_to_where_it_leads_the_sdk(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str, base_url: str
) -> None:
    make, ask, _ = SDKS[name]
    provider = make()
    monkeypatch.setenv(variable, base_url)
    assert url_of_provider(provider).replace("user:pass@", "") == url_of_sdk(ask).replace("user:pass@", "")
    assert url_of_provider(provider).startswith(base_url)


@pytest.mark.parametrize("name", SDKS)
def test_without_it_both_send_to_the_vendor(name: str) -> None:
    make, ask, _ = SDKS[name]
    assert url_of_provider(make()) == url_of_sdk(ask)


@pytest.mark.parametrize(("name", "variable"), EACH_VARIABLE)
def test_an_argument_beats_it_an_empty_one_counts_as_not_set_and_offline_it_is_not_read(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str
) -> None:
    make, _, _ = SDKS[name]
    default = make().base_url
    monkeypatch.setenv(variable, "")
    assert make().base_url == default
    monkeypatch.setenv(variable, "https://gateway.example/v1")
    assert type(make())(base_url="https://mine.example").base_url == "https://mine.example"
    with use_context(SendContext(is_offline=True)):
        assert make().base_url == default


@pytest.mark.parametrize(
    "value", ["gateway.example", "ftp://gateway.example", "https://", "https://g.example?a=b", "http://g:x"]
)
@pytest.mark.parametrize(("name", "variable"), EACH_VARIABLE)
def test_a_value_that_is_no_url_is_an_error_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(MissingSettingError, match=f"{variable}: '"):
        SDKS[name][0]().prepare(HI)


# --- Ollama: the examples of `_parse_host` in the package ollama 0.6 (`_client.py`), which `make test-clients` compares


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("1.2.3.4", "http://1.2.3.4:11434"),
        (":56789", "http://127.0.0.1:56789"),
        ("1.2.3.4:56789", "http://1.2.3.4:56789"),
        ("http://1.2.3.4", "http://1.2.3.4:80"),
        ("https://1.2.3.4", "https://1.2.3.4:443"),
        ("https://1.2.3.4:56789", "https://1.2.3.4:56789"),
        ("example.com", "http://example.com:11434"),
        ("https://example.com", "https://example.com:443"),
        ("example.com/", "http://example.com:11434"),
        ("example.com:56789/path/", "http://example.com:56789/path"),
        ("https://example.com:56789/path", "https://example.com:56789/path"),
        ("[0001:002:003:0004::1]", "http://[0001:002:003:0004::1]:11434"),
        ("https://[0001:002:003:0004::1]:56789/path", "https://[0001:002:003:0004::1]:56789/path"),
        ("0.0.0.0", "http://0.0.0.0:11434"),
    ],
)
def test_ollama_is_where_its_own_variable_says(monkeypatch: pytest.MonkeyPatch, host: str, url: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert OllamaProvider().base_url == f"{url}/v1"
    assert OllamaProvider(base_url="https://mine.example").base_url == "https://mine.example"
    with use_context(SendContext(is_offline=True)):
        assert OllamaProvider().base_url == "http://localhost:11434/v1"
    monkeypatch.setenv("OLLAMA_BASE_URL", "https://other.example/v1/")
    assert OllamaProvider().base_url == "https://other.example/v1"


@pytest.mark.parametrize("host", ["ftp://1.2.3.4", "1.2.3.4:port", "[::1"])
def test_a_host_of_ollama_that_is_none_is_an_error(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", host)
    with pytest.raises(MissingSettingError, match="OLLAMA_HOST: "):
        OllamaProvider().prepare(HI)


# --- whose variable it is


def test_a_subclass_with_a_key_of_its_own_does_not_take_the_variable_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Acme(OpenAIProvider):
        key_variable = "ACME_KEY"

    class AcmeWithURL(OpenAIProvider):
        key_variable = "ACME_KEY"
        base_url_variable = "ACME_URL"

    class Vendor(CompatibleProvider):
        default_base_url = "https://vendor.example/v1"

    class OwnOllama(OllamaProvider):
        key_variable = "ACME_KEY"

    class Quiet(OpenAIProvider):
        """Ours: it has OpenAI's key."""

    for variable in ("OPENAI_BASE_URL", "OLLAMA_HOST", "OLLAMA_BASE_URL"):
        monkeypatch.setenv(variable, "https://gateway.example/v1")
    monkeypatch.setenv("ACME_URL", "https://acme.example/v1")
    assert Acme().base_url == "https://api.openai.com/v1"
    assert AcmeWithURL().base_url == "https://acme.example/v1"
    assert Vendor(model="m").base_url == "https://vendor.example/v1"
    assert OwnOllama().base_url == "http://localhost:11434/v1"
    assert OpenRouterProvider().base_url == "https://openrouter.ai/api/v1"
    assert Quiet().base_url == "https://gateway.example/v1"

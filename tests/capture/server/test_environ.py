"""The environment variables that lead SDKs to the server."""

from __future__ import annotations

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.server.table import (
    REDIRECTED_APIS,
    build_environ,
    find_target,
    seal_environ,
    url_variables,
)

URL = "http://127.0.0.1:5000"
KEY = "placeholder-0123"


def built(environment: dict[str, str], *, is_live: bool = False) -> dict[str, str]:
    return build_environ(URL, KEY, environment, is_live=is_live)


def test_nothing_but_urls_and_placeholders_is_set() -> None:
    assert built({}) == {
        "OPENAI_BASE_URL": f"{URL}/openai/v1",
        "OPENAI_API_BASE": f"{URL}/openai/v1",
        "OPENAI_API_KEY": KEY,
        "AZURE_OPENAI_ENDPOINT": f"{URL}/azure",
        "AZURE_API_BASE": f"{URL}/azure",
        "AZURE_OPENAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": f"{URL}/anthropic",
        "ANTHROPIC_API_BASE": f"{URL}/anthropic",
        "ANTHROPIC_API_URL": f"{URL}/anthropic",
        "ANTHROPIC_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": f"{URL}/gemini",
        "GEMINI_API_BASE": f"{URL}/gemini/v1beta",
        "GEMINI_API_KEY": KEY,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"{URL}/bedrock",
        "ANTHROPIC_BEDROCK_BASE_URL": f"{URL}/bedrock",
        "AWS_BEDROCK_RUNTIME_ENDPOINT": f"{URL}/bedrock",
        "AWS_ACCESS_KEY_ID": "placeholder",
        "AWS_SECRET_ACCESS_KEY": "placeholder",
        "AWS_SESSION_TOKEN": "placeholder",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "OLLAMA_HOST": f"{URL}/ollama",
        "OLLAMA_API_BASE": f"{URL}/ollama",
        "OLLAMA_BASE_URL": f"{URL}/ollama/v1",
        "OLLAMA_API_KEY": KEY,
        "CO_API_URL": f"{URL}/cohere",
        "CO_BASE_URL": f"{URL}/cohere",
        "COHERE_API_BASE": f"{URL}/cohere/v2/chat",
        "CO_API_KEY": KEY,
        "MISTRAL_API_BASE": f"{URL}/mistral/v1",
        "MISTRAL_AZURE_API_BASE": f"{URL}/mistral/v1",
        "MISTRAL_API_KEY": KEY,
        "GROQ_BASE_URL": f"{URL}/groq",
        "GROQ_API_BASE": f"{URL}/groq/openai/v1",
        "GROQ_API_KEY": KEY,
        "TOGETHER_BASE_URL": f"{URL}/together",
        "TOGETHER_API_KEY": KEY,
        "CEREBRAS_BASE_URL": f"{URL}/cerebras",
        "CEREBRAS_API_KEY": KEY,
        "FIREWORKS_BASE_URL": f"{URL}/fireworks",
        "FIREWORKS_API_BASE": f"{URL}/fireworks/inference/v1",
        "FIREWORKS_API_KEY": KEY,
        "DEEPSEEK_API_BASE": f"{URL}/deepseek/beta",
        "DEEPSEEK_API_KEY": KEY,
        "OPENROUTER_API_BASE": f"{URL}/openrouter/api/v1",
        "OPENROUTER_API_KEY": KEY,
        "XAI_API_BASE": f"{URL}/xai/v1",
        "XAI_API_KEY": KEY,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def test_a_second_key_is_replaced_where_it_is_set_so_that_no_real_key_is_left() -> None:
    real = {key: "real" for api in REDIRECTED_APIS for key in api.keys}
    assert "real" not in {**real, **built(real)}.values()
    assert built({"GOOGLE_API_KEY": ""}).get("GOOGLE_API_KEY") is None


def test_proxies_are_emptied_offline_and_kept_live() -> None:
    environment = {"https_proxy": "http://proxy:1", "ALL_PROXY": "http://proxy:2", "NO_PROXY": "intern, 127.0.0.1"}
    offline, live = built(environment), built(environment, is_live=True)
    assert (offline["https_proxy"], offline["ALL_PROXY"]) == ("", "")
    assert "http_proxy" not in offline
    assert "https_proxy" not in live
    assert offline["NO_PROXY"] == live["no_proxy"] == "127.0.0.1,localhost,intern, 127.0.0.1"


def test_a_live_child_keeps_its_credentials_for_other_services_of_aws() -> None:
    live = built({"AWS_ACCESS_KEY_ID": "real", "AWS_BEARER_TOKEN_BEDROCK": "real"}, is_live=True)
    assert "AWS_ACCESS_KEY_ID" not in live
    assert live["AWS_BEARER_TOKEN_BEDROCK"] == KEY
    assert "AWS_BEARER_TOKEN_BEDROCK" not in built({}, is_live=True)


def test_a_sealed_environment_has_the_server_as_its_proxy_for_all_but_itself() -> None:
    sealed = seal_environ(built({"NO_PROXY": "intern"}), URL)
    assert sealed["OPENAI_BASE_URL"] == f"{URL}/openai/v1"
    proxies = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
    assert {name: sealed[name] for name in proxies} == dict.fromkeys(proxies, URL)
    assert (sealed["NO_PROXY"], sealed["no_proxy"]) == ("127.0.0.1,localhost",) * 2


def test_the_placeholder_is_no_secret_that_a_snapshot_would_be_searched_for() -> None:
    redactor = Redactor(built({}) | {"OPENAI_API_KEY": "placeholder"})
    assert redactor.find({"content": "a placeholder in us-east-1 at 127.0.0.1,localhost"}) is None


@pytest.mark.parametrize(("variable", "url"), url_variables(URL).items())
def test_each_url_names_an_api(variable: str, url: str) -> None:
    api = find_target(f"{url.removeprefix(URL)}/x", URL).api
    assert api is not None
    assert variable in api.urls

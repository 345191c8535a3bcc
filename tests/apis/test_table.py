"""The table of the APIs: which path is whose."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_chatprompt.apis import table
from pytest_chatprompt.apis.table import find_api, get_api, rules_of


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/chat/completions", "openai-chat"),
        ("/chat/completions", "openai-chat"),
        ("/api/v1/chat/completions", "openai-chat"),
        ("/openai/v1/chat/completions", "openai-chat"),
        ("/v1beta/openai/chat/completions", "openai-chat"),
        ("/openai/deployments/my-gpt/chat/completions", "azure-chat"),
        ("/v1/responses", "openai-responses"),
        ("/openai/responses", "openai-responses"),
        ("/backend-api/codex/responses", "openai-responses"),
        ("/responses", "openai-responses"),
        ("/v1/embeddings", "openai-embeddings"),
        ("/openai/deployments/my-gpt/embeddings", "openai-embeddings"),
        ("/v1/messages", "anthropic"),
        ("/anthropic/v1/messages", "anthropic"),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/claude@1:streamRawPredict", "anthropic"),
        ("/v1/models/gemini-x:generateContent", "gemini"),
        ("/v1beta/models/gemini-x:streamGenerateContent", "gemini"),
        ("/v1beta/tunedModels/mine:generateContent", "gemini"),
        ("/v1beta1/projects/p/locations/l/publishers/google/models/gemini-x:generateContent", "gemini"),
        ("/model/anthropic.claude/converse", "bedrock"),
        ("/model/arn:aws:bedrock:a/b/converse-stream", "bedrock"),
        ("/api/chat", "ollama-chat"),
        ("/api/generate", "ollama-generate"),
        ("/v2/chat", "cohere"),
        ("/proxy/cohere/v2/chat", "cohere"),
    ],
)
def test_a_path_belongs_to_its_api_whatever_stands_before_it(path: str, name: str) -> None:
    assert find_api("post", path) is get_api(name)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/responses"),
        ("POST", "/v1/models"),
        ("POST", "/surveys/1/responses"),
        ("POST", "/v1/messages/count_tokens"),
        ("POST", "/mychat/completions"),
        ("POST", "/v1/models/gemini-x:countTokens"),
        ("POST", "/"),
    ],
)
def test_any_other_path_belongs_to_none(method: str, path: str) -> None:
    assert find_api(method, path) is None


def test_the_host_tells_apis_of_the_same_path_apart() -> None:
    for host, name in (
        ("api.mistral.ai", "mistral"),
        ("api.openai.com", "openai-chat"),
        ("notmistral.ai", "openai-chat"),
    ):
        assert find_api("POST", "/v1/chat/completions", host) is get_api(name)


def test_an_unknown_name_lists_those_that_are_there() -> None:
    with pytest.raises(
        LookupError, match="no API is called 'openai'; there are azure-chat, mistral, mistral-embeddings, "
    ):
        get_api("openai")


def test_each_api_is_in_a_module_of_its_own_and_none_imports_an_sdk() -> None:
    folder = Path(table.__file__).parent
    imported = {
        name.partition(".")[0]
        for path in folder.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
        if name
    }
    assert not imported & {
        "openai",
        "anthropic",
        "google",
        "boto3",
        "botocore",
        "mistralai",
        "ollama",
        "cohere",
        "jsonschema",
    }


@pytest.mark.parametrize(
    ("api", "host", "model", "provider"),
    [
        ("openai-chat", "api.openai.com", "new", "OpenAIProvider"),
        ("openai-chat", "gateway.example:8080", "gpt-5-mini", "OpenAIProvider"),
        ("openai-chat", "api", "qwen", None),
        ("openai-chat", "openrouter.ai", "qwen/qwen3", "OpenRouterProvider"),
        ("openai-chat", "localhost:11434", "qwen3", "OllamaProvider"),
        ("openai-chat", "eu.openai.azure.com", "reviews", "AzureProvider"),
        ("openai-responses", "gateway.example", "qwen3", None),
        ("anthropic", "api.anthropic.com", "new", "AnthropicProvider"),
        ("anthropic", "api.deepseek.com", "deepseek-chat", None),
        ("gemini", "aiplatform.googleapis.com", "new", "GeminiProvider"),
        ("bedrock", "vpce-1.bedrock-runtime.example", "amazon.nova", "BedrockProvider"),
        ("cohere", "api.cohere.com", "command", None),
    ],
)
def test_whose_rules_hold_for_a_request_of_any_client(api: str, host: str, model: str, provider: str | None) -> None:
    found = rules_of(api, host, model)
    assert (found and found.__name__) == provider

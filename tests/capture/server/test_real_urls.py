"""Targets: the URL at the real API of a request to the server."""

from __future__ import annotations

import pytest

from pytest_chatprompt.capture.server.table import find_real_url, find_target

URL = "http://127.0.0.1:5000"


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("/openai/v1/chat/completions?a=%20b", "https://api.openai.com/v1/chat/completions?a=%20b"),
        ("/openai", "https://api.openai.com/"),
        ("/openai/", "https://api.openai.com/"),
        ("/openai?a=b/c", "https://api.openai.com/?a=b/c"),
        ("/openai//other.example/x", "https://api.openai.com//other.example/x"),
        ("/openai/@other.example", "https://api.openai.com/@other.example"),
        (
            "/azure/openai/deployments/d/chat/completions?api-version=1",
            "https://azure-openai.invalid/openai/deployments/d/chat/completions?api-version=1",
        ),
        (
            "/bedrock/model/a.b-v1%3A0/converse",
            "https://bedrock-runtime.us-east-1.amazonaws.com/model/a.b-v1%3A0/converse",
        ),
        (
            "/gemini/v1/models/m:generateContent",
            "https://generativelanguage.googleapis.com/v1/models/m:generateContent",
        ),
        # None of these names an API.
        ("/v1/chat/completions", f"{URL}/v1/chat/completions"),
        ("/openai2/v1", f"{URL}/openai2/v1"),
        ("/", f"{URL}/"),
        ("*", URL),
        ("http://other.example/openai/v1", "http://other.example/openai/v1"),
        # A whole URL of the server is as good as its path.
        (f"{URL}/openai/v1", "https://api.openai.com/v1"),
    ],
)
def test_the_url_at_the_public_address(target: str, url: str) -> None:
    assert str(find_target(target, URL).url) == url


@pytest.mark.parametrize(
    ("target", "environment", "url"),
    [
        pytest.param("/openai/v1/models?a=b", {}, "https://api.openai.com/v1/models?a=b", id="the public address"),
        pytest.param(
            "/openai/v1/models",
            {"OPENAI_BASE_URL": "https://gw.example/llm/v1/"},
            "https://gw.example/llm/v1/models",
            id="a gateway",
        ),
        pytest.param(
            "/openai/v1/models", {"OPENAI_BASE_URL": "https://gw.example/x"}, "https://gw.example/x/models", id="no v1"
        ),
        pytest.param(
            "/openai/other",
            {"OPENAI_BASE_URL": "https://gw.example/a/v1"},
            "https://gw.example/a/other",
            id="beside the variable's path",
        ),
        pytest.param(
            "/openai/other",
            {"OPENAI_BASE_URL": "https://gw.example/a"},
            "https://api.openai.com/other",
            id="beside a path that the gateway does not have",
        ),
        pytest.param(
            "/openai/v1/models", {"OPENAI_API_BASE": " "}, "https://api.openai.com/v1/models", id="an empty variable"
        ),
        pytest.param(
            "/azure/openai/v1/x", {"AZURE_OPENAI_ENDPOINT": "https://r.openai.azure.com/"},
            "https://r.openai.azure.com/openai/v1/x",
            id="azure",
        ),
        pytest.param("/azure/openai/v1/x", {}, None, id="azure without its endpoint"),
        pytest.param(
            "/bedrock/model/m/converse",
            {"AWS_REGION": "", "AWS_DEFAULT_REGION": "eu-west-1"},
            "https://bedrock-runtime.eu-west-1.amazonaws.com/model/m/converse",
            id="the region",
        ),
        pytest.param(
            "/bedrock/x", {}, "https://bedrock-runtime.us-east-1.amazonaws.com/x", id="bedrock without a region"
        ),
        pytest.param("/ollama/api/chat", {"OLLAMA_HOST": "box:11434"}, "http://box:11434/api/chat", id="no scheme"),
    ],
)  # fmt: skip
def test_the_url_to_forward_to(target: str, environment: dict[str, str], url: str | None) -> None:
    to = find_target(target, URL)
    assert to.api is not None
    found = find_real_url(to.api, to.path, environment)
    assert (None if found is None else str(found)) == url

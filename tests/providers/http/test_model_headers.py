"""Model headers: which headers of a request change what the model does."""

from __future__ import annotations

import pytest

from pytest_chatprompt.providers.http.client import model_headers


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("anthropic-beta", "context-1m-2025-08-07"),
        ("x-anthropic-beta", "interleaved-thinking-2025-05-14"),
        ("anthropic-version", "2023-01-01"),
        ("openai-beta", "assistants=v2"),
        ("groq-model-version", "latest"),
        ("extra-parameters", "pass-through"),
        ("azureml-model-deployment", "blue"),
        ("x-ms-oai-image-generation-deployment", "gpt-image-1"),
        ("x-amzn-bedrock-guardrailidentifier", "g1"),
        ("x-amzn-bedrock-guardrailversion", "DRAFT"),
        ("x-amzn-bedrock-performanceconfig-latency", "optimized"),
        ("x-amzn-bedrock-service-tier", "flex"),
        ("x-amzn-bedrock-trace", "ENABLED"),
        ("x-vertex-ai-llm-request-type", "shared"),
        ("x-vertex-ai-llm-shared-request-type", "priority"),
    ],
)
def test_a_header_that_changes_what_the_model_does_counts_as_it_was_sent(name: str, value: str) -> None:
    assert model_headers([(name.upper().encode(), value.encode())]) == {name: value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("anthropic-version", "2023-06-01"),
        ("anthropic-version", "2026-10-21"),
        ("authorization", "Bearer x"),
        ("x-api-key", "x"),
        ("openai-organization", "org-1"),
        ("openai-project", "proj-1"),
        ("user-agent", "OpenAI/Python 3"),
        ("x-stainless-retry-count", "0"),
        ("x-goog-api-client", "google-genai-sdk/3"),
        ("x-server-timeout", "60"),
        ("http-referer", "https://x.example"),
        ("x-title", "An app"),
        ("content-type", "application/json"),
        ("idempotency-key", "1"),
    ],
)
def test_other_headers_and_constants_do_not_count(name: str, value: str) -> None:
    assert model_headers([(name.encode(), value.encode())]) == {}


def test_headers_are_sorted_and_those_of_one_name_are_one() -> None:
    headers = [(b"openai-beta", b"a"), (b"Anthropic-Beta", b"c"), (b"anthropic-beta", b"b,\xff"), (b"\xff", b"x")]
    found = model_headers(headers)
    assert list(found.items()) == [("anthropic-beta", "c, b,\xff"), ("openai-beta", "a")]

"""The team's own providers, and its settings of others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_chatprompt import AnthropicProvider, CLIProvider, EvalCase, OllamaProvider, Provider


@pytest.fixture(scope="session")
def ollama_provider() -> Iterator[OllamaProvider]:
    """A model on the developer's own machine; an eval file asks for it as `ollama`."""
    provider = OllamaProvider(model="llama3.3", max_output_tokens=500)
    yield provider
    provider.close()


@pytest.fixture(scope="session")
def cli_provider() -> CLIProvider:
    """The team's own agent, as its command line runs it."""
    return CLIProvider(
        ["kettle-agent", "--task", "{prompt_file}", "--attach={files}", "--rules={guidelines}", "--id", "{eval_id}"],
        healthcheck=["kettle-agent", "--version"],
        timeout_seconds=300,
    )


@pytest.fixture
def eval_provider(eval_case: EvalCase, eval_provider: Provider) -> Provider:
    """One case is about a long answer, so it gets a model and a cap of its own."""
    if eval_case.id == "whole-module":
        return AnthropicProvider(model="claude-opus-5-5", max_output_tokens=16_000)
    return eval_provider

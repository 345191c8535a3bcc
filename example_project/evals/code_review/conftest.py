"""Code reviews: the same model and cap for all of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_chatprompt import AnthropicProvider


@pytest.fixture(scope="session")
def anthropic_provider() -> Iterator[AnthropicProvider]:
    """A review is short: two thousand tokens are enough."""
    provider = AnthropicProvider(model="claude-sonnet-5-5", max_output_tokens=2000)
    yield provider
    provider.close()

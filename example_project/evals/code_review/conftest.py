"""Code reviews: the same model and temperature for all of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_chatprompt import AnthropicProvider


@pytest.fixture(scope="session")
def anthropic_provider() -> Iterator[AnthropicProvider]:
    """Reviews are to be the same each time."""
    provider = AnthropicProvider(temperature=0, max_output_tokens=2000)
    yield provider
    provider.close()

"""Settings of clients, before they are imported, and what they leave behind."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Iterator

import pytest

# Otherwise litellm fetches a list of prices when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"


@pytest.fixture(autouse=True)
def _close_event_loop() -> Iterator[None]:
    """Close the event loop that litellm's sync calls make for the main thread, and leave open."""
    yield
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            loop = asyncio.get_event_loop_policy().get_event_loop()
        except RuntimeError:
            return
    loop.close()
    asyncio.set_event_loop(None)

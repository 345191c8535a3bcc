"""The clients of the environment `older`."""

from __future__ import annotations

import pytest

from tests.capture.clients.checks import ClientTests


# litellm's own.
@pytest.mark.filterwarnings("ignore:Item .summary. on TypedDict class:UserWarning")
class TestClients(ClientTests):
    environment = "older"

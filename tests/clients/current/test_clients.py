"""The clients of the environment `current`."""

from __future__ import annotations

from tests.capture.clients.checks import ClientTests


class TestClients(ClientTests):
    environment = "current"

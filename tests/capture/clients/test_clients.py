"""The clients that `make test` installs."""

from __future__ import annotations

from tests.capture.clients.checks import ClientTests


class TestClients(ClientTests):
    environment = "test"

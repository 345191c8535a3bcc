"""Offline: while a provider sends, nothing leaves this machine and nothing of it shows in what is sent.

`offline()` is entered by `recording` around one send by code that is not this package's. Within it the environment
holds placeholders for keys and endpoints and no proxies, and `sockets` are guarded. Nothing stays changed afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pytest_chatprompt.providers import CHAT_PROVIDERS, AzureProvider
from pytest_chatprompt.sockets import Connections, guarded_sockets

PLACEHOLDERS: Final = {provider.key_variable: "offline" for provider in CHAT_PROVIDERS} | {
    AzureProvider.endpoint_variable: "https://azure-openai.invalid"
}
# What httpx reads when a client is made (httpx, "Environment Variables").
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_UNSET: Final = (*_PROXIES, *(name.lower() for name in _PROXIES))


@contextmanager
def offline() -> Iterator[Connections]:
    """Keep this process offline; yields what its sockets try."""
    with _placeholder_environment(), guarded_sockets() as connections:
        yield connections


@contextmanager
def _placeholder_environment() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in (*PLACEHOLDERS, *_UNSET)}
    for name in _UNSET:
        os.environ.pop(name, None)
    os.environ.update(PLACEHOLDERS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

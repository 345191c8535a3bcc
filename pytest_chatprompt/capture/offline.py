"""Offline: placeholders in place of keys, no proxies, and no way to the network.

`recorder` enters `offline()` around one send by code that is not this package's, such as a provider of your own that
uses a vendor's SDK. The environment is restored afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pytest_chatprompt.capture.network_guard import ConnectionAttempts, guard_network
from pytest_chatprompt.providers.registry import CHAT_PROVIDERS

# What httpx reads when a client is made (https://www.python-httpx.org/environment_variables/).
_PROXY_VARIABLES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR")
_REMOVED_VARIABLES: Final = (*_PROXY_VARIABLES, *(name.lower() for name in _PROXY_VARIABLES))


@contextmanager
def offline(placeholders: Mapping[str, str] | None = None) -> Iterator[ConnectionAttempts]:
    """Keep this process offline; yields what its sockets try to reach.

    Args:
        placeholders: environment variables to set, beside those of the built-in providers.
    """
    variables: dict[str, str] = {}
    for provider in CHAT_PROVIDERS:
        variables |= provider.placeholders()
    with _environment({**variables, **(placeholders or {})}), guard_network() as attempts:
        yield attempts


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, and remove those that name proxies and certificates."""
    before = {name: os.environ.get(name) for name in (*variables, *_REMOVED_VARIABLES)}
    for name in _REMOVED_VARIABLES:
        os.environ.pop(name, None)
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

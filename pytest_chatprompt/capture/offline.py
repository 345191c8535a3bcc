"""Offline: placeholders in place of keys, no proxies, and no way to the network.

`provider_capture` enters `offline()` around one send by code that is not this package's, such as a provider of your own
that uses a vendor's SDK; `items.own_code` enters it for a whole test. The environment is restored afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Final

from pytest_chatprompt.capture.network_guard import ConnectionAttempts, guard_network
from pytest_chatprompt.capture.proxy_variables import NO_PROXY, PROXIES
from pytest_chatprompt.capture.server.table import REDIRECTED_APIS
from pytest_chatprompt.providers.registry import chat_providers

# What clients read when they are made (https://www.python-httpx.org/environment_variables/).
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "ssl_cert_file", "ssl_cert_dir")
_REMOVED_VARIABLES: Final = (*PROXIES, *NO_PROXY, *_CERTIFICATES)


@contextmanager
def offline(
    placeholders: Mapping[str, str] | None = None,
    *,
    allows_programs: bool = False,
    allowed_hosts: Collection[str] = (),
) -> Iterator[ConnectionAttempts]:
    """Keep this process offline; yields what its sockets try to reach.

    Args:
        placeholders: environment variables to set, beside those that the built-in providers and the vendors' SDKs need.
        allows_programs: see `guard_network`.
        allowed_hosts: see `guard_network`.
    """
    variables = _placeholder_variables() | dict(placeholders or {})
    guard = guard_network(allows_programs=allows_programs, allowed_hosts=allowed_hosts)
    with _environment(variables), guard as attempts:
        yield attempts


@cache
def _placeholder_variables() -> dict[str, str]:
    """Placeholders for the variables without which SDKs send nothing, such as keys."""
    variables: dict[str, str] = {}
    for api in REDIRECTED_APIS:
        variables |= {api.keys[0]: "offline", **api.offline}
    for provider in chat_providers():
        variables |= provider.placeholders()
    return variables


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

"""The environment variables that point a child process to the server.

The server's URL and its placeholder key come in, with the variables of this process; variables to put over those come
out. Pure functions; `capture_server` and `agent_requests` call them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_chatprompt.capture.server.table import REDIRECTED_APIS

# Whose value is a proxy; clients read either case
# (https://docs.python.org/3/library/urllib.request.html#urllib.request.getproxies, curl(1)).
PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
# Whose value is the hosts that are reached without one.
NO_PROXY: Final = ("NO_PROXY", "no_proxy")
_LOOPBACK: Final = ("127.0.0.1", "localhost")


def url_variables(server_url: str) -> dict[str, str]:
    """The variables with the URLs at which SDKs find the server.

    Args:
        server_url: `http://127.0.0.1:PORT`.
    """
    return {
        variable: f"{server_url}/{api.name}{path}" for api in REDIRECTED_APIS for variable, path in api.urls.items()
    }


def seal_environ(environ: Mapping[str, str], server_url: str) -> dict[str, str]:
    """Make the server the proxy for all other hosts, which refuses these requests: so a program stays offline.

    That holds for clients that respect such variables, as most do; Node's own `fetch` does not.

    Args:
        environ: made by `build_environ`.
        server_url: `http://127.0.0.1:PORT`.
    """
    return {**environ, **dict.fromkeys(PROXIES, server_url), **dict.fromkeys(NO_PROXY, ",".join(_LOOPBACK))}


def build_environ(
    server_url: str, placeholder: str, environment: Mapping[str, str], *, is_live: bool
) -> dict[str, str]:
    """All variables to set for a child process: URLs, placeholder keys, no proxies.

    Args:
        server_url: `http://127.0.0.1:PORT`.
        placeholder: stands for the keys.
        environment: the variables that the child has otherwise.
        is_live: whether requests are forwarded. Then the child keeps its proxies, for what it does otherwise, and its
            credentials for AWS.
    """
    variables = url_variables(server_url)
    for api in REDIRECTED_APIS:
        # SDKs warn of two keys, and some prefer the other one: it is replaced only where it is set.
        is_needed = {api.keys[0]: not api.offline}
        variables |= {key: placeholder for key in api.keys if is_needed.get(key) or environment.get(key)}
        variables |= {} if is_live else api.offline
    # Empty: variables can be set here, not removed. Every client takes an empty one for none.
    variables |= {} if is_live else {name: "" for name in PROXIES if name in environment}
    hosts = [host for name in NO_PROXY for host in environment.get(name, "").split(",") if host.strip()]
    return variables | dict.fromkeys(NO_PROXY, ",".join(dict.fromkeys((*_LOOPBACK, *hosts))))

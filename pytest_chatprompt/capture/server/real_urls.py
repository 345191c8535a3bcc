"""Targets: which URL a request to the server has at the real API.

The path of a request comes in. Its URL at the API's public address comes out, as captures show it; and its URL where
the API of this very user is, to forward it to. Pure functions; `capture_server` and `forwarding` call them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import httpx

from pytest_chatprompt.capture.server.table import REDIRECTED_APIS, RedirectedAPI

_BY_NAME: Final = {api.name: api for api in REDIRECTED_APIS}
# Every user has an endpoint of their own at Azure, and this is the one that is captured.
_UNKNOWN_HOST: Final = "https://{name}-openai.invalid"


class Target(NamedTuple):
    """Where a request was meant to go.

    Args:
        api: the API that the first segment of its path names; `None` if it names none.
        path: the path and the query at the API.
        url: the URL at the API's public address; on the server itself if there is no such API.
    """

    api: RedirectedAPI | None
    path: str
    url: httpx.URL


def find_target(target: str, server_url: str) -> Target:
    """Find out where a request was meant to go.

    Args:
        target: of its request line: path and query, or a whole URL.
        server_url: `http://127.0.0.1:PORT`.
    """
    path = target.removeprefix(server_url)
    if not path.startswith("/"):
        # A whole URL, as clients send to a proxy; or the `*` of OPTIONS.
        url = httpx.URL(path) if "://" in path else httpx.URL(server_url)
        return Target(None, path, url)
    name, separator, rest = path[1:].partition("/")
    name, question_mark, query = name.partition("?")
    api = _BY_NAME.get(name)
    if api is None:
        return Target(None, path, _join(server_url, path))
    path = f"/{rest}" if separator and not question_mark else f"/{question_mark}{query}{separator}{rest}"
    return Target(api, path, _join(api.find_base_url({}) or _UNKNOWN_HOST.format(name=name), path))


def find_real_url(target: Target, environment: Mapping[str, str], server_url: str) -> httpx.URL | None:
    """The URL to forward a request to; `None` if no variable says where this API is.

    Args:
        target: where the request was meant to go; its API is known.
        environment: the variables of this process: a team's own gateway counts in place of the public address.
        server_url: variables that lead to this server do not count.
    """
    api = target.api
    assert api is not None  # noqa: S101 - for mypy: the callers know
    for variable, path in api.urls.items():
        url = environment.get(variable, "").strip().rstrip("/")
        if not url or url.startswith(server_url):
            continue
        url = url if "://" in url else f"http://{url}"
        if target.path.startswith(path):
            return _join(url, target.path.removeprefix(path))
        if url.endswith(path):
            return _join(url.removesuffix(path), target.path)
    base_url = api.find_base_url(environment)
    return _join(base_url, target.path) if base_url else None


def _join(base_url: str, path: str) -> httpx.URL:
    """Join a base URL with a path and a query, which cannot change its host."""
    base = httpx.URL(base_url)
    return base.copy_with(raw_path=base.raw_path.rstrip(b"/") + path.encode("ascii"))

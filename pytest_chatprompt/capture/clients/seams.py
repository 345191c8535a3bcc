"""Give the requests of every HTTP client of this process to an interceptor, for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pytest_chatprompt.capture.clients import aiohttp_connector, httpcore_pool, stdlib_http
from pytest_chatprompt.capture.clients.interceptor import Interceptor, Patching, Seam, interceptors

# By the module that has to be imported before there is anything to patch.
SEAMS: Final[Mapping[str, Seam]] = {
    "httpcore": httpcore_pool.patches,  # httpx
    "httpcore2": httpcore_pool.patches,  # httpx2
    "http.client": stdlib_http.patches,  # http.client, urllib.request
    "urllib3.connection": stdlib_http.urllib3_patches,  # urllib3, requests, botocore
    "aiohttp": aiohttp_connector.patches,
}

PATCHING: Final = Patching(SEAMS)


@contextmanager
def intercept_clients(interceptor: Interceptor) -> Iterator[None]:
    """Give the requests of all clients of this process to an interceptor; of several, the last one gets them.

    They may end in any order.
    """
    PATCHING.start()
    interceptors.append(interceptor)
    try:
        yield
    finally:
        interceptors.remove(interceptor)
        PATCHING.stop()

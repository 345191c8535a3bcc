"""Give the requests of every HTTP client of this process to an interceptor, for a while.

Not seen: requests that an in-memory transport or a mock answers above the seams, and what sends through no HTTP library
of the table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from pytest_chatprompt.capture.clients import aiohttp_connector, httpcore_pool, stdlib_http, urllib3_pool
from pytest_chatprompt.capture.clients.interceptor import Interceptor, Patching, Seam, interceptor_entered

# By the module that has to be imported before there is anything to patch.
SEAMS: Final[Mapping[str, Seam]] = {
    "httpcore": httpcore_pool.patches,  # httpx
    "httpcore2": httpcore_pool.patches,  # httpx2
    "urllib3.connectionpool": urllib3_pool.patches,  # urllib3, requests, botocore
    "http.client": stdlib_http.patches,  # http.client, urllib.request
    "aiohttp": aiohttp_connector.patches,
}

PATCHING: Final = Patching(SEAMS)


@contextmanager
def intercept_clients(interceptor: Interceptor) -> Iterator[None]:
    """Give the requests of all clients of this process to an interceptor, also of clients that were made before.

    Nothing is imported, and nothing stays patched. If several are entered, the last one gets the requests; what it lets
    pass goes to the network.
    """
    PATCHING.start()
    try:
        with interceptor_entered(interceptor):
            yield
    finally:
        PATCHING.stop()

"""The table of the HTTP libraries that are captured: one line each, and the patches of this process.

To add a library: a module with a function `patches`, and one line in the table. `interception` starts and stops them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_chatprompt.capture.clients import aiohttp_connector, httpcore_pool, stdlib_http, urllib3_pool
from pytest_chatprompt.capture.clients.patching import Patching, Seam

# By the module that has to be imported before there is anything to patch.
SEAMS: Final[Mapping[str, Seam]] = {
    "httpcore": httpcore_pool.patches,  # httpx
    "httpcore2": httpcore_pool.patches,  # httpx2
    "urllib3.connectionpool": urllib3_pool.patches,  # urllib3, requests, botocore
    "http.client": stdlib_http.patches,  # http.client, urllib.request
    "aiohttp": aiohttp_connector.patches,
}

PATCHING: Final = Patching(SEAMS)

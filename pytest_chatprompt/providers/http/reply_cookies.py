"""`ReplyCookies`: the cookies of an HTTP client, which come from replies.

`HTTPClient` gives them to the httpx client for the network. They are sent and kept as httpx does it.
"""

from __future__ import annotations

from typing import Final

import httpx

# The headers that Python's `CookieJar` reads.
_HEADERS: Final = ("set-cookie", "set-cookie2")


class ReplyCookies(httpx.Cookies):
    """The cookies of a client; a reply that sets none, as most do, is not translated for Python's `CookieJar`."""

    def extract_cookies(self, response: httpx.Response) -> None:
        """Keep the cookies that a reply sets."""
        if any(name in response.headers for name in _HEADERS):
            super().extract_cookies(response)

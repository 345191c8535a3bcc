"""The environment variables that name proxies.

Nothing comes in. `offline` removes them, and `server.environ` sets them for child processes. Clients read either case
(https://docs.python.org/3/library/urllib.request.html#urllib.request.getproxies, curl(1)).
"""

from __future__ import annotations

from typing import Final

# Whose value is a proxy.
PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
# Whose value is the hosts that are reached without one.
NO_PROXY: Final = ("NO_PROXY", "no_proxy")

"""`PerThreadPool`: a connection pool of httpcore for each thread, all with the same settings.

httpx opens one pool for a client, and hands its requests over here instead. For each request a pool of httpcore looks
at all of its connections, under a lock, so that requests would wait for each other where many are in flight.
`network_backend` makes one for each transport.
"""

from __future__ import annotations

import copy
import threading
import weakref
from typing import Final, Self

import httpcore

# What a pool of httpcore changes while it sends: the names since 1.0.4, and those before.
_POOL_STATE: Final = ("_connections", "_requests", "_optional_thread_lock", "_pool", "_pool_lock")


class PerThreadPool:
    """Sends the requests of each thread through a connection pool of its own. Safe between threads.

    Args:
        pool: has the settings, proxies included; has sent nothing yet.
    """

    def __init__(self, pool: httpcore.ConnectionPool) -> None:
        self._pool = pool
        self._own = threading.local()
        self._pools: weakref.WeakSet[httpcore.ConnectionPool] = weakref.WeakSet()
        self._lock = threading.Lock()

    def handle_request(self, request: httpcore.Request) -> httpcore.Response:
        """Send a request through the pool of the calling thread."""
        pool: httpcore.ConnectionPool | None = getattr(self._own, "pool", None)
        if pool is None:
            pool = self._own.pool = self._new_pool()
        return pool.handle_request(request)

    def _new_pool(self) -> httpcore.ConnectionPool:
        pool = copy.copy(self._pool)
        state = vars(httpcore.ConnectionPool(network_backend=self._pool._network_backend))
        vars(pool).update({name: state[name] for name in _POOL_STATE if name in state})
        with self._lock:
            self._pools.add(pool)
        return pool

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            pools = list(self._pools)
        for pool in pools:
            pool.close()

"""The reply queue: what a test wants the model to reply, in the order of the requests.

`Reply`s come in from `eval_api.reply`; each goes out to the first request of an API that can give such a reply.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_chatprompt.apis.reply import Reply


@dataclass(eq=False, slots=True)
class ReplyQueue:
    """The replies that a test has queued. Safe between threads."""

    _replies: list[Reply] = field(default_factory=list)
    _taken: list[Reply] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, reply: Reply) -> None:
        """Put a reply at the end."""
        with self._lock:
            self._replies.append(reply)

    def take(self, accepts: Callable[[Reply], bool]) -> Reply | None:
        """Take the first reply that a request can be answered with; `None` if there is none."""
        if not self._replies:
            return None
        with self._lock:
            for index, reply in enumerate(self._replies):
                if accepts(reply):
                    self._taken.append(reply)
                    return self._replies.pop(index)
        return None

    def taken(self) -> tuple[Reply, ...]:
        """The replies that were given, in order."""
        with self._lock:
            return tuple(self._taken)

    def unused(self) -> tuple[Reply, ...]:
        """The replies that are still waiting."""
        with self._lock:
            return tuple(self._replies)

"""`ReplyQueue`: the replies that a test has queued, and which request takes which."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_chatprompt.errors import CaptureError
from pytest_chatprompt.text.json_data import texts_in
from pytest_chatprompt.wording import first_lines

if TYPE_CHECKING:
    from pytest_chatprompt.apis.reply import Reply
    from pytest_chatprompt.capture.sent_request import SentRequest

# pytest shows no frame of this module.
__tracebackhide__ = True

When = str | Callable[["SentRequest"], object]

_SHOWN_CHARACTERS: Final = 40
_SHOWN_REPLIES: Final = 10


class QueuedReply(NamedTuple):
    """A reply that waits for its request, numbered from 1 in the order of the calls of `eval_api.reply`."""

    reply: Reply
    number: int = 1
    when: When | None = None

    def fits(self, sent: SentRequest) -> bool:
        """Whether the reply is one for this request."""
        if self.when is None or isinstance(self.when, str):
            return self.when is None or any(self.when in text for text in (sent.endpoint, *texts_in(sent.body)))
        try:
            fits = self.when(sent)
            if inspect.isawaitable(fits):
                raise TypeError("its answer has to be awaited, and nobody does; make it an ordinary one")
            return bool(fits)
        except Exception as error:
            raise CaptureError(
                f"reply {self.number} of eval_api.reply cannot tell whether {sent.endpoint} is its request: "
                f"{_shown(self.when)} raised {type(error).__name__}: {error}"
            ) from error

    def describe(self) -> str:
        """What it is, as its call says it: `reply 2: 'Hello, Ada', when='Ada'`."""
        given = {**vars(self.reply), "when": self.when}
        shown = [f"{name}={_shown(value)}" for name, value in given.items() if value not in (None, ())]
        return f"reply {self.number}: {', '.join(shown).removeprefix('text=')}"


def _shown(value: Any) -> str:
    text = getattr(value, "__name__", type(value).__name__) if callable(value) else repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}..."


class ReplyQueue:
    """The replies that a test has queued, and those that requests took. Safe between threads."""

    def __init__(self) -> None:
        self.waiting: list[QueuedReply] = []
        self.taken: list[QueuedReply] = []
        self._lock = threading.Lock()

    def add(self, reply: Reply, when: When | None) -> None:
        """Queue a reply; an error if `when` is neither a text nor an ordinary function."""
        if when == "":
            raise ValueError("when is an empty text, which every request holds; leave it out")
        if when is not None and not isinstance(when, str) and not callable(when):
            raise TypeError(f"when must be a text that the request holds, or a function of the request, not {when!r}")
        if inspect.iscoroutinefunction(when):
            raise TypeError("when is an async function, which nobody awaits here; make it an ordinary one")
        with self._lock:
            self.waiting.append(QueuedReply(reply, len(self.waiting) + len(self.taken) + 1, when))

    def take(self, accepts: Callable[[Reply], bool], describe: Callable[[], SentRequest]) -> Reply | None:
        """Take the reply for a request: the first whose `when` fits, else the first without; `None` if there is none.

        Which thread sends first is chance: a reply for any request must not go to one that has its own. A function of
        the test that fails is a `CaptureError`.
        """
        with self._lock:
            waiting = sorted(self.waiting, key=lambda each: each.when is None)
        if not waiting:
            return None
        sent = describe()
        for queued in waiting:
            # Without the lock: a function of the test may send a request itself.
            if accepts(queued.reply) and queued.fits(sent):
                with self._lock:
                    if queued in self.waiting:
                        self.waiting.remove(queued)
                        self.taken.append(queued)
                        return queued.reply
        return None

    def describe_waiting(self) -> str:
        """The error text for the replies that no request has taken; `""` if there are none."""
        if not self.waiting:
            return ""
        count = len(self.waiting)
        lines = [f"  {queued.describe()}" for queued in self.waiting]
        what, them, requests = (
            ("a reply", "it", "its request") if count == 1 else (f"{count} replies", "them", "their requests")
        )
        head = f"eval_api.reply queued {what} that no request has taken; remove {them}, or send {requests}:"
        return "\n".join([head, *first_lines(lines, _SHOWN_REPLIES, "  and {} more")])

"""Thread output: what a grader prints, logs and warns of in a thread, kept until its case runs.

A thread enters `OutputKeeper.keep`; what it puts out meanwhile comes out as `KeptOutput`, which puts it out again where
`emit` is called. All other threads go on as ever. `items.thread_graders` uses it: pytest shows what is put out while a
test runs with that test, whatever thread it comes from.
"""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import TracebackType
from typing import Any, Final

_STREAMS: Final = ("stdout", "stderr")


@dataclass(slots=True)
class KeptOutput:
    """What one thread has put out, in its order."""

    _entries: list[Callable[[], object]] = field(default_factory=list)

    def add(self, put_out: Callable[[], object]) -> None:
        """Keep what a function puts out.

        Args:
            put_out: called by `emit`.
        """
        self._entries.append(put_out)

    def emit(self) -> None:
        """Put all of it out in the calling thread; a second call puts out nothing.

        Raises:
            Warning: the first warning that is an error by the filters that count now.
        """
        errors: list[Warning] = []
        while self._entries:
            try:
                self._entries.pop(0)()
            except Warning as error:
                errors.append(error)
        if errors:
            raise errors[0]


# Where the calling thread's output is kept; `None` if it is put out at once.
_kept: Final[ContextVar[KeptOutput | None]] = ContextVar("_kept", default=None)


class OutputKeeper:
    """Keeps the output of threads apart, while at least one asks for it.

    Writes to `sys.stdout` and `sys.stderr` are kept, messages of `logging`, and warnings by `warnings.warn`. What is
    written to file descriptors, as by child processes, is not.
    """

    def __init__(self) -> None:
        self._streams: dict[int, tuple[str, Any]] = {}
        self._count = 0
        self._patches = ExitStack()
        self._lock = threading.Lock()

    def note_streams(self) -> None:
        """Note the streams that count now: pytest has some for while a test runs, and others for between tests."""
        for name in _STREAMS:
            for stream in (getattr(sys, name), getattr(sys, f"__{name}__")):
                self._streams.setdefault(id(stream), (name, stream))

    @contextmanager
    def keep(self) -> Iterator[KeptOutput]:
        """Keep what the calling thread puts out."""
        output = KeptOutput()
        with self._lock:
            self._count += 1
            if self._count == 1:
                self._patch()
        token = _kept.set(output)
        try:
            yield output
        finally:
            _kept.reset(token)
            with self._lock:
                self._count -= 1
                if not self._count:
                    self._patches.close()

    def _patch(self) -> None:
        self.note_streams()
        for name, stream in self._streams.values():
            # A stream of its own kind may refuse, and `None` does, as in a process without a console.
            with suppress(AttributeError):
                self._replace(stream, "write", partial(_write, name, stream.write))
        handle = logging.Logger.handle
        self._replace(logging.Logger, "handle", lambda *args: _handle(handle, *args))
        self._replace(warnings, "warn", partial(_warn, warnings.warn))

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        is_own, former = name in getattr(owner, "__dict__", ()), getattr(owner, name)
        setattr(owner, name, value)
        self._patches.callback(partial(setattr, owner, name, former) if is_own else partial(delattr, owner, name))


def _write(name: str, write: Callable[[str], int], text: str) -> int:
    kept = _kept.get()
    if kept is None:
        return write(text)
    kept.add(lambda: getattr(sys, name).write(text))
    return len(text)


def _handle(handle: Callable[..., None], logger: logging.Logger, record: logging.LogRecord) -> None:
    kept = _kept.get()
    if kept is None:
        handle(logger, record)
    else:
        kept.add(partial(handle, logger, record))


def _warn(
    warn: Callable[..., None],
    message: Warning | str,
    category: type[Warning] | None = None,
    stacklevel: int = 1,
    source: object = None,
    **options: Any,
) -> None:
    kept = _kept.get()
    if kept is None:
        # This function is one more on the stack.
        warn(message, category, stacklevel + 1, source, **options)
        return
    caller = frame = sys._getframe(1)
    for _ in range(stacklevel - 1):
        frame = frame.f_back or frame
    traceback = TracebackType(None, caller, caller.f_lasti, caller.f_lineno)
    place = frame.f_code.co_filename, frame.f_lineno
    kept.add(partial(_warn_again, message, category or UserWarning, place, frame.f_globals, traceback))


def _warn_again(
    message: Warning | str,
    category: type[Warning],
    place: tuple[str, int],
    names: dict[str, Any],
    traceback: TracebackType,
) -> None:
    registry = names.setdefault("__warningregistry__", {})
    try:
        warnings.warn_explicit(message, category, *place, names.get("__name__"), registry)
    except Warning as error:
        raise error.with_traceback(traceback) from None

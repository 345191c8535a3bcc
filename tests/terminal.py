"""A pseudo-terminal for processes that ask: what they show is read from it, and keys are typed into it."""

from __future__ import annotations

import os
import select
import signal
import termios
import time

from tests.forked_pytest import PytestProcess

_LONGEST_WAIT_SECONDS = 60.0
_PAUSE_SECONDS = 0.02


class Terminal:
    """A terminal of some columns, for one process.

    Attributes:
        descriptor: what the process reads and writes.
        text: what it has shown so far.
    """

    def __init__(self, columns: int = 80) -> None:
        self._keys, self.descriptor = os.openpty()
        termios.tcsetwinsize(self.descriptor, (50, columns))
        self.text = ""
        self._awaited = 0

    def read_until(self, end: str) -> None:
        """Read what the process shows, until it shows a text that was not awaited yet."""
        deadline = time.monotonic() + _LONGEST_WAIT_SECONDS
        while (found := self.text.find(end, self._awaited)) < 0:
            assert self._read(deadline - time.monotonic()), self.text
        self._awaited = found + len(end)

    def read_rest(self, process: PytestProcess) -> int:
        """Read what the process shows until it ends; gives its exit status."""
        deadline = time.monotonic() + _LONGEST_WAIT_SECONDS
        while (status := process.poll()) is None or self._read(0):
            assert status is not None or time.monotonic() < deadline, self.text
            self._read(_PAUSE_SECONDS)
        return status

    def _read(self, seconds: float) -> bool:
        """Read what there is after some time at most; whether there was anything."""
        is_there = bool(select.select([self._keys], [], [], max(seconds, 0))[0])
        if is_there:
            self.text += os.read(self._keys, 65536).decode().replace("\r\n", "\n")
        return is_there

    def type(self, keys: str) -> None:
        """Type keys."""
        os.write(self._keys, keys.encode())

    def interrupt(self, process: PytestProcess) -> None:
        """Send SIGINT until the process shows something: one that comes just before it reads is noticed with a key."""
        deadline = time.monotonic() + _LONGEST_WAIT_SECONDS
        process.send_signal(signal.SIGINT)
        while not self._read(1):
            assert time.monotonic() < deadline, self.text
            process.send_signal(signal.SIGINT)

    def close(self) -> None:
        """Close both ends."""
        os.close(self._keys)
        os.close(self.descriptor)

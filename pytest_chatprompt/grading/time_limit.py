"""A limit of CPU time, for patterns whose search could take very long.

In: what is about to be done. Out: `CheckError` if it takes longer than `MAX_SECONDS`. A search for a regular expression
cannot be stopped from another thread, but it handles signals, as it does for Ctrl-C: so a timer of the process ends it.
That works in the main thread, where pytest runs tests, on systems that have such a timer: all but Windows.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

from pytest_chatprompt.errors import CheckError

# Of computing time of this process, however busy the machine is.
MAX_SECONDS: Final = 10.0


@contextmanager
def limited_time(what: str) -> Iterator[None]:
    """Stop the block after a limit of CPU time, where the thread and the system allow it.

    Args:
        what: what takes the time, such as `the regular expression`, for the error.

    Raises:
        CheckError: the time is over.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> NoReturn:
        raise CheckError(
            f"{what} takes more than {MAX_SECONDS:g} seconds on this text; write it so that it backtracks less"
        )

    # The timer of CPU time: timeouts of other plugins are not touched, since they use the clock.
    previous = signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)

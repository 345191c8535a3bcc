"""Refused connections: whether something refuses the connections of tests, and so those of a live run.

The run's configuration comes in; what refuses connections comes out, as a reason that the summary shows.
`prefetch_planner` asks before it plans ahead.
"""

from __future__ import annotations

import socket
from typing import Final

import pytest

# The options of pytest-socket and pytest-recording that refuse the connections of tests.
_OPTIONS: Final = ("disable_socket", "allow_hosts", "block_network")


def reason_not_to_send(config: pytest.Config) -> str | None:
    """Why nothing may be sent between two tests; `None` if nothing refuses connections now.

    A tool that refuses the connections of a test does so while the test runs. A request from a thread of ours would
    evade it as soon as the test is over.
    """
    if not config.getoption("force_enable_socket", False):
        for name in _OPTIONS:
            if config.getoption(name, None):
                return f"--{name.replace('_', '-')} may refuse their connections"
    return _replaced_function()


def _replaced_function() -> str | None:
    """What has replaced a function of `socket` that opens connections; `None` if all of them are Python's own."""
    if socket.socket.__module__ != "socket":
        return f"{socket.socket.__module__} has replaced socket.socket"
    for name in ("connect", "connect_ex"):
        function = getattr(socket.socket, name)
        if function is not getattr(socket.SocketType, name):
            return f"{getattr(function, '__module__', 'something')} has replaced socket.socket.{name}"
    return None

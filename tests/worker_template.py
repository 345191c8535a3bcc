"""A process that has imported what workers of pytest-xdist import, and is forked for each of them.

`tests.forked_workers` starts it as a script, with the number of a Unix socket. Each message on it is the JSON of the
folder, the environment and whether to write bytecode, with the worker's standard streams; the answer is a file
descriptor of the new process. It ends when the socket is closed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

CASE = "evalcases:\n  - id: a\n    input_messages: [{role: user, content: hello}]\n"
MAX_BYTES = 2**20


def warm_up() -> None:
    """Run one eval case, as a worker would, so that everything is imported as pytest imports it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("a.eval.yaml").write_text(CASE, encoding="utf-8")
        Path("pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        assert pytest.main(["-q", "-p", "no:cacheprovider", "--snapshot-update"]) == 0
        os.chdir("/")
    # Not before pytest has registered its plugins, whose asserts it rewrites as they are imported.
    importlib.import_module("xdist.remote")

    gc.collect()
    # A collection in a worker would copy the pages of all of this.
    gc.freeze()


def become_worker(message: bytes, streams: list[int]) -> None:
    """Be the process that `python -u -c` with execnet's line would be."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    data = json.loads(message)
    os.chdir(data["folder"])
    os.environ.clear()
    os.environ.update(data["environment"])
    # Both remember what the template found.
    tempfile.tempdir = None
    importlib.invalidate_caches()
    sys.dont_write_bytecode = data["dont_write_bytecode"]
    sys.argv[:] = ["-c"]
    sys.modules["__main__"] = main = ModuleType("__main__")
    exec(eval(sys.stdin.readline()), vars(main))


def serve(connection: socket.socket) -> None:
    """Fork a worker for each message."""
    connection.send(b"ready")
    while True:
        message, streams, _, _ = socket.recv_fds(connection, MAX_BYTES, 3)
        # Their time counts as that of this process from then on.
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            connection.close()
            become_worker(message, streams)
            return
        process = os.pidfd_open(pid)
        socket.send_fds(connection, [str(pid).encode()], [process])
        for descriptor in (process, *streams):
            os.close(descriptor)


if __name__ == "__main__":
    requests = socket.socket(fileno=int(sys.argv[1]))
    warm_up()
    serve(requests)

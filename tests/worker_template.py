"""A process that has imported what runs of pytest import, and is forked for each worker of pytest-xdist and for more.

`tests.forked_workers` starts it as a script, with the number of a Unix socket. Each message on it is the JSON of the
folder, the environment and whether to write bytecode, with the new process's standard streams; the answer is a file
descriptor of the new process. If the message has arguments as well, this is not a worker but `python -m pytest` with
these, and how it ends and what it took is written to one more stream. The template ends when the socket is closed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import inspect
import json
import os
import pkgutil
import runpy
import signal
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

CASE = "evalcases:\n  - id: a\n    input_messages: [{role: user, content: hello}]\n"
MAX_BYTES = 2**20
# Without the folder of this script, and the folders that the variable adds.
INSTALLED = [path for path in sys.path[1:] if path not in os.environ.get("PYTHONPATH", "").split(os.pathsep)]


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
    # What a live run needs as well.
    package = importlib.import_module("pytest_chatprompt")
    for module in pkgutil.walk_packages(package.__path__, "pytest_chatprompt."):
        importlib.import_module(module.name)
    for name in ("genai_prices.data", "encodings.idna"):
        importlib.import_module(name)
    # The environments of `make test-clients` do not have all of these.
    for name in ("mcp", "openai"):
        with suppress(ImportError):
            importlib.import_module(name)

    # What shows a traceback asks this, which looks at the files of all modules when it is asked first.
    inspect.getmodule(warm_up.__code__)
    gc.collect()
    # A collection in a worker would copy the pages of all of this.
    gc.freeze()


def adopt(data: dict[str, Any], streams: list[int]) -> None:
    """Take over the folder, the environment and the standard streams of the process that this shall be."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(data["folder"])
    os.environ.clear()
    os.environ.update(data["environment"])
    # Both remember what the template found.
    tempfile.tempdir = None
    importlib.invalidate_caches()
    sys.dont_write_bytecode = data["dont_write_bytecode"]


def become_worker() -> None:
    """Be the process that `python -u -c` with execnet's line would be."""
    # Before Python takes all modules down, which takes a third of such a process, since it copies all of their memory.
    atexit.register(os._exit, 0)
    sys.argv[:] = ["-c"]
    sys.modules["__main__"] = main = ModuleType("__main__")
    exec(eval(sys.stdin.readline()), vars(main))


def become_pytest(arguments: list[str]) -> None:
    """Be the process that `python -m pytest` with these arguments would be."""
    added = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [str(Path.cwd()), *added, *INSTALLED]
    sys.argv[1:] = arguments
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def report_end(pid: int, ended: int) -> None:
    """Wait for a process; write its exit status, its CPU seconds and the peak of its memory in KiB as JSON."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _, status, usage = os.wait4(pid, 0)
    end = [os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss]
    os.write(ended, json.dumps(end).encode())
    os._exit(0)


def send_process(connection: socket.socket, pid: int) -> None:
    """Answer with the new process, which is a child of this one."""
    process = os.pidfd_open(pid)
    socket.send_fds(connection, [str(pid).encode()], [process])
    os.close(process)


def serve(connection: socket.socket) -> None:
    """Fork a process for each message."""
    connection.send(b"ready")
    while True:
        message, streams, _, _ = socket.recv_fds(connection, MAX_BYTES, 4)
        # Their time counts as that of this process from then on.
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not message:
            return
        data = json.loads(message)
        pid = os.fork()
        if pid == 0:
            serve_one(connection, data, streams)
            return
        if "arguments" not in data:
            send_process(connection, pid)
        for descriptor in streams:
            os.close(descriptor)


def serve_one(connection: socket.socket, data: dict[str, Any], streams: list[int]) -> None:
    """Be the process of a message, or be its parent, if somebody wants to know how it ends."""
    if "arguments" in data:
        ended = streams.pop()
        pid = os.fork()
        if pid:
            send_process(connection, pid)
            for descriptor in streams:
                os.close(descriptor)
            report_end(pid, ended)
        os.close(ended)
    connection.close()
    adopt(data, streams)
    if "arguments" in data:
        become_pytest(data["arguments"])
    else:
        become_worker()


if __name__ == "__main__":
    requests = socket.socket(fileno=int(sys.argv[1]))
    warm_up()
    serve(requests)

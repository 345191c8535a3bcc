"""How long a live run of many repeated cases takes, beside the least that it can take: run it by hand.

`python -m tests.benchmarks.repeats` sends 1,000 cases five times each to a server on loopback, 64 requests at once, with
faults in a third of the replies. The least is the time that the server waits before its replies, divided by the number of
requests in flight. All verdicts have to be those of the replies that the server gave.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.project import Project

_ROOT: Final = Path(__file__).parents[2]
_BUDGET: Final = 1.25
_CONFTEST: Final = """
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture(scope="session")
def openai_provider():
    provider = OpenAIProvider(base_url="{url}", api_key="k", max_retries=0)
    yield provider
    provider.close()
"""
# What every third reply is, by turns, and what its answer counts as.
_FAULTS: Final = ((200, "poor", "failed"), (500, "", "error"), (200, "", "failed"))


@dataclass(frozen=True)
class Contest:
    """What one run took.

    Args:
        requests: how many requests the server answered.
        seconds: of the whole process.
        cpu_seconds: that it computed.
        least_seconds: the least that so many requests can take.
        outcomes: how many answers passed, failed or were errors, by the report.
        given: the same, by the server.
    """

    requests: int
    seconds: float
    cpu_seconds: float
    least_seconds: float
    outcomes: Counter[str]
    given: Counter[str]

    @property
    def ratio(self) -> float:
        """How many times the least it took."""
        return self.seconds / self.least_seconds


def run_contest(cases: int, repeat: int, concurrency: int, latency_seconds: float) -> Contest:
    """Run the cases once.

    Args:
        cases: how many.
        repeat: how often each is sent.
        concurrency: how many requests may be in flight.
        latency_seconds: how long the server waits before each reply.
    """
    with tempfile.TemporaryDirectory() as name, _server(latency_seconds) as (url, connection):
        folder = Path(name).resolve()
        Project(cases).write(folder)
        path = folder / "f0.eval.yaml"
        head = f"repeat: {repeat}\npass_rate: 0.8\nchecks: [{{type: contains, value: good}}]\n"
        path.write_text(head + path.read_text(encoding="utf-8"), encoding="utf-8")
        (folder / "conftest.py").write_text(_CONFTEST.format(url=url), encoding="utf-8")
        _pytest(folder, "--snapshot-update")
        started, cpu_before = time.perf_counter(), _cpu_seconds()
        _pytest(folder, "--chatprompt-live", f"--chatprompt-concurrency={concurrency}", "--chatprompt-report=r.json")
        seconds, cpu_seconds = time.perf_counter() - started, _cpu_seconds() - cpu_before
        connection.send("end")
        given: Counter[str] = connection.recv()
        results = json.loads((folder / "r.json").read_text(encoding="utf-8"))["results"]
    attempts = [attempt for result in results for attempt in result["repeats"]["attempts"]]
    outcomes = Counter(attempt["outcome"] for attempt in attempts)
    requests = given.total()
    return Contest(requests, seconds, cpu_seconds, requests * latency_seconds / concurrency, outcomes, given)


def _pytest(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)


def _cpu_seconds() -> float:
    """What the processes that have ended computed."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _server(latency_seconds: float) -> Iterator[tuple[str, Connection]]:
    """A server in a process of its own; gives its URL, and the connection that ends it."""
    context = multiprocessing.get_context("spawn")
    connection, other = context.Pipe()
    process = context.Process(target=_serve, args=(other, latency_seconds), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{connection.recv()}", connection
    finally:
        process.terminate()
        process.join()


def _serve(connection: Connection, latency_seconds: float) -> None:
    given: Counter[str] = Counter()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(int(length.partition(b":")[2]))
        number = given.total()
        status, text, outcome = _FAULTS[number // 3 % len(_FAULTS)] if number % 3 == 0 else (200, "good", "passed")
        given[outcome] += 1
        await asyncio.sleep(latency_seconds)
        body = json.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]}).encode()
        writer.write(b"HTTP/1.1 %d X\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % (status, len(body)) + body)
        await writer.drain()
        writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=256)
        connection.send(server.sockets[0].getsockname()[1])
        await asyncio.to_thread(connection.recv)
        connection.send(given)

    asyncio.run(serve())


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the contest, and print what it took."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.repeats", description=__doc__)
    for name, default in (("cases", 1000), ("repeat", 5), ("concurrency", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long the server waits before each reply")
    options: Any = parser.parse_args(arguments)
    contest = run_contest(options.cases, options.repeat, options.concurrency, options.seconds)
    print(f"{contest.requests} requests in {contest.seconds:.1f} s; the least is {contest.least_seconds:.1f} s")
    print(f"ratio {contest.ratio:.2f}, budget {_BUDGET}; {contest.cpu_seconds:.1f} s of computing")
    print(f"verdicts: {dict(contest.outcomes)}; replies: {dict(contest.given)}")
    if contest.outcomes != contest.given:
        raise SystemExit("not every reply has its verdict")


if __name__ == "__main__":
    main()

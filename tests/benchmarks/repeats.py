"""How long a live run of many repeated cases takes, beside the least that it can take.

A row of `make bench` runs it. By itself, `python -m tests.benchmarks.repeats` sends 1,000 cases five times each to a
server on loopback, 64 requests at once, with faults in a third of the replies. The least is the time that the server
waits before its replies, divided by the number of requests in flight. All verdicts have to be those of the replies that
the server gave.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.project import Project
from tests.benchmarks.stub_server import stub_server

_ROOT: Final = Path(__file__).parents[2]
_BUDGET: Final = 1.25


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
    with tempfile.TemporaryDirectory() as name, stub_server(latency_seconds, has_faults=True) as server:
        folder = Path(name).resolve()
        Project(cases, goes_live=True).write(folder)
        path = folder / "f0.eval.yaml"
        head = f"repeat: {repeat}\npass_rate: 0.8\nchecks: [{{type: contains, value: good}}]\n"
        path.write_text(head + path.read_text(encoding="utf-8"), encoding="utf-8")
        _pytest(folder, server.url, "--snapshot-update")
        started, cpu_before = time.perf_counter(), _cpu_seconds()
        live = ("--chatprompt-live", f"--chatprompt-concurrency={concurrency}", "--chatprompt-report=r.json")
        _pytest(folder, server.url, *live)
        seconds, cpu_seconds = time.perf_counter() - started, _cpu_seconds() - cpu_before
        given = server.end()
        results = json.loads((folder / "r.json").read_text(encoding="utf-8"))["results"]
    attempts = [attempt for result in results for attempt in result["repeats"]["attempts"]]
    outcomes = Counter(attempt["outcome"] for attempt in attempts)
    requests = given.total()
    return Contest(requests, seconds, cpu_seconds, requests * latency_seconds / concurrency, outcomes, given)


def _pytest(folder: Path, url: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT), "OPENAI_BASE_URL": url}
    subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)


def _cpu_seconds() -> float:
    """What the processes that have ended computed."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


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

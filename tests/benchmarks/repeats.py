"""How long a live run of many repeated and judged cases takes, beside the least that it can take.

A row of `make bench` runs it. By itself, `python -m tests.benchmarks.repeats` sends 1,000 cases five times each to a
server on loopback, 64 requests at once, with faults in a third of the replies. Two rubrics are judged for each answer.
The least is the time that the server waits before its replies, divided by the number of requests in flight. All
verdicts have to be those that the replies call for.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.process import Measurement, measure_process
from tests.benchmarks.project import Project
from tests.benchmarks.stub_server import Replies, stub_server

_ROOT: Final = Path(__file__).parents[2]
_BUDGET: Final = 1.25
RUBRICS: Final = ("It is right.", "It is polite.")
_CONFTEST: Final = """
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture(scope="session")
def openai_provider():
    provider = OpenAIProvider(base_url="{url}", api_key="k", max_retries=0)
    yield provider
    provider.close()

@pytest.fixture(scope="session")
def eval_judge():
    provider = OpenAIProvider(base_url="{url}", api_key="k", max_retries=0, model="judge")
    yield provider
    provider.close()
"""
_VERDICT: Final = json.dumps({"reason": "So it is.", "pass": True})
_REFUSAL: Final = json.dumps({"reason": "It is not.", "pass": False})
_ANSWER: Final = re.compile(rb"answer (\d+)")


@dataclass(frozen=True)
class _Fault:
    """What becomes of an answer, and what it counts as.

    Args:
        outcome: of the answer.
        status: of the reply with the answer.
        text: of the answer, before its number.
        judged: the status and the text of the judge's reply about the last rubric.
    """

    outcome: str
    status: int = 200
    text: str = "good"
    judged: tuple[int, str] = (200, _VERDICT)


_NO_FAULT: Final = _Fault("passed")
# Every third answer has one of them, by turns; those of the judge only if it is asked.
_FAULTS: Final = (_Fault("failed", text="poor"), _Fault("error", status=500), _Fault("failed", text=""))
_FAULTS_OF_JUDGE: Final = (
    _Fault("failed", judged=(200, _REFUSAL)),
    _Fault("error", judged=(500, "")),
    _Fault("error", judged=(200, "So it is, I think.")),
)


@dataclass
class _FaultyReplies(Replies):
    """Answers, and judges answers, with faults.

    Attributes:
        rubrics: what the judge is asked about each answer.
        outcomes: how many answers pass, fail or are errors.
        to_judge: how many questions about these answers the judge is due to be asked.
        judged: how many it was asked about each answer, by its number.
    """

    rubrics: tuple[str, ...] = RUBRICS
    outcomes: Counter[str] = field(default_factory=Counter)
    to_judge: int = 0
    judged: Counter[int] = field(default_factory=Counter)

    def reply(self, body: bytes) -> tuple[int, str]:
        self.requests += 1
        if b'"model":"judge"' in body.replace(b" ", b""):
            return self._judge(body)
        number = self.outcomes.total()
        fault = self._fault(number)
        self.outcomes[fault.outcome] += 1
        if fault.status != 200 or not fault.text:
            return fault.status, fault.text
        self.to_judge += len(self.rubrics)
        return 200, f"{fault.text} answer {number}"

    def _judge(self, body: bytes) -> tuple[int, str]:
        found = _ANSWER.search(body)
        if found is None:
            return 500, "no answer to judge"
        number = int(found[1])
        self.judged[number] += 1
        return self._fault(number).judged if self.rubrics[-1].encode() in body else (200, _VERDICT)

    def _fault(self, number: int) -> _Fault:
        faults = _FAULTS + (_FAULTS_OF_JUDGE if self.rubrics else ())
        return _NO_FAULT if number % 3 else faults[number // 3 % len(faults)]


@dataclass(frozen=True)
class Contest:
    """What one run took.

    Args:
        replies: what the server replied.
        run: the process of pytest.
        server_cpu_seconds: what the server took of the machine.
        least_seconds: the least that so many requests can take.
        outcomes: how many answers passed, failed or were errors, by the report.
    """

    replies: _FaultyReplies
    run: Measurement
    server_cpu_seconds: float
    least_seconds: float
    outcomes: Counter[str]

    @property
    def ratio(self) -> float:
        """How many times the least it took."""
        return self.run.wall_seconds / self.least_seconds

    @property
    def is_complete(self) -> bool:
        """Whether each answer has its verdict, and the judge was asked once about each rubric of each answer."""
        judged = self.replies.judged
        once = set(judged.values()) <= {len(self.replies.rubrics)} and judged.total() == self.replies.to_judge
        return once and self.outcomes == self.replies.outcomes


def run_contest(
    cases: int, repeat: int, concurrency: int, latency_seconds: float, rubrics: tuple[str, ...] = RUBRICS
) -> Contest:
    """Run the cases once.

    Args:
        cases: how many.
        repeat: how often each is sent.
        concurrency: how many requests may be in flight.
        latency_seconds: how long the server waits before each reply.
        rubrics: what a judge is asked about each answer; none for no judge.
    """
    replies = _FaultyReplies(rubrics=rubrics)
    with tempfile.TemporaryDirectory() as name, stub_server(replies, latency_seconds) as server:
        folder = Path(name).resolve()
        Project(cases).write(folder)
        path = folder / "f0.eval.yaml"
        checks = [{"type": "contains", "value": "good"}, *({"type": "llm_rubric", "value": each} for each in rubrics)]
        head = f"repeat: {repeat}\npass_rate: 0.8\nchecks: {json.dumps(checks)}\n"
        path.write_text(head + path.read_text(encoding="utf-8"), encoding="utf-8")
        (folder / "conftest.py").write_text(_CONFTEST.format(url=server.url), encoding="utf-8")
        _run_pytest(folder, f"{cases} passed", "--snapshot-update")
        live = ("--tb=no", "--chatprompt-live", f"--chatprompt-concurrency={concurrency}", "--chatprompt-report=r.json")
        # The first answer is a poor one, so at least one case fails.
        run = _run_pytest(folder, " failed", *live, expected_exit=1)
        replies, server_cpu_seconds = server.end()
        results = json.loads((folder / "r.json").read_text(encoding="utf-8"))["results"]
    attempts = [attempt for result in results for attempt in result["repeats"]["attempts"]]
    outcomes = Counter(attempt["outcome"] for attempt in attempts)
    least_seconds = replies.requests * latency_seconds / concurrency
    return Contest(replies, run, server_cpu_seconds, least_seconds, outcomes)


def _run_pytest(folder: Path, expected_output: str, *arguments: str, expected_exit: int = 0) -> Measurement:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return measure_process(command, folder, {"PYTHONPATH": str(_ROOT)}, expected_output, expected_exit)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the contest, and print what it took."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.repeats", description=__doc__)
    for name, default in (("cases", 1000), ("repeat", 5), ("concurrency", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long the server waits before each reply")
    options: Any = parser.parse_args(arguments)
    contest = run_contest(options.cases, options.repeat, options.concurrency, options.seconds)
    run, replies = contest.run, contest.replies
    print(f"{replies.requests} requests in {run.wall_seconds:.1f} s; the least is {contest.least_seconds:.1f} s")
    print(f"ratio {contest.ratio:.2f}, budget {_BUDGET}; {run.cpu_seconds:.1f} s of CPU, {run.peak_mib:.0f} MiB")
    print(f"the server took {contest.server_cpu_seconds:.1f} s of CPU")
    print(f"verdicts: {dict(contest.outcomes)}; by the replies: {dict(replies.outcomes)}")
    print(f"questions to the judge: {replies.judged.total()}; due: {replies.to_judge}")
    if not contest.is_complete:
        raise SystemExit("not every reply has its verdict")


if __name__ == "__main__":
    main()

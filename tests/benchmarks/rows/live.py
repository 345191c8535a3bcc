"""Live runs: what a case costs beside an offline one, and how long a run takes beside the waiting alone."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.benchmarks.comparison import COLLECTED, Comparison, Side, Waiting, with_other_project, with_plugin
from tests.benchmarks.process import Measurement
from tests.benchmarks.project import Project
from tests.benchmarks.repeats import run_contest

_REPEAT: Final = 5
_REPEAT_LATENCY_SECONDS: Final = 0.2


def _live(concurrency: int, latency_seconds: float, *more: str) -> Side:
    """A live run with so many requests in flight."""
    arguments = ("--chatprompt-live", f"--chatprompt-concurrency={concurrency}", *more)
    return with_plugin(*arguments, latency_seconds=latency_seconds)


def _collecting_and_waiting(requests: int, concurrency: int, latency_seconds: float) -> Waiting:
    collecting = with_plugin("--collect-only", expected_output=COLLECTED)
    return Waiting(
        collecting.program,
        collecting.arguments,
        collecting.expected_output,
        waiting_seconds=requests / concurrency * latency_seconds,
    )


@dataclass(frozen=True)
class _Repeats(Side):
    """A live run of cases that are sent several times, with faults, whose verdicts have to be those of the replies."""

    concurrency: int = field(kw_only=True)

    def prepare(self, _folder: Path, _project: Project) -> None:
        """Each run has a folder of its own."""

    def run(self, _folder: Path, items: int) -> Measurement:
        """Run it once."""
        contest = run_contest(items, _REPEAT, self.concurrency, _REPEAT_LATENCY_SECONDS, rubrics=())
        if not contest.is_complete:
            raise RuntimeError(f"not every reply has its verdict: {contest.outcomes}, {contest.replies}")
        return contest.run


def _commit_and_change(folder: Path) -> None:
    """Commit a project to the branch `main`, change what each of its cases sends, and let its answers be graded."""
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    for arguments in (("init", "-q", "-b", "main"), ("add", "--all"), (*author, "commit", "-q", "-m", "all")):
        subprocess.run(("git", "-C", str(folder), *arguments), check=True)
    for file in folder.rglob("*.eval.yaml"):
        text = file.read_text(encoding="utf-8").replace("question", "demand")
        file.write_text(f"checks: [{{type: contains, value: good}}]\n{text}", encoding="utf-8")


ROWS: Final = [
    Comparison(
        "live 5,000 at N=64, against comparing them offline",
        Project(5_000, goes_live=True),
        _live(64, 0.05),
        with_plugin(),
        budget=2.0,
    ),
    Comparison(
        "live 300 at N=64, against comparing them offline",
        Project(300, goes_live=True),
        _live(64, 0.02),
        with_plugin(),
        budget=2.0,
        is_quick=True,
    ),
    Comparison(
        "live 2,000 at N=256, against N=32",
        Project(2_000, goes_live=True),
        _live(256, 0.05),
        _live(32, 0.05),
        budget=1.05,
    ),
    Comparison(
        "live 1,000 of 200 ms at N=128, against collecting and waiting (seconds)",
        Project(1_000, goes_live=True),
        _live(128, 0.2),
        _collecting_and_waiting(1_000, 128, 0.2),
        budget=1.5,
        of="wall",
        most_mib=150,
    ),
    *(
        Comparison(
            f"live 200 of 200 ms at N=50 with an override of {name}{words}, against none (seconds)",
            Project(200, goes_live=True, override=name, parameters=parameters),
            _live(50, 0.2),
            with_other_project(
                *_live(50, 0.2).arguments, latency_seconds=0.2, differs_in={"override": "", "parameters": None}
            ),
            budget=1.3,
            of="wall",
        )
        for name in ("eval_case", "eval_request", "eval_provider")
        for words, parameters in (("", None), (" with a parameter", ("one",)))
    ),
    Comparison(
        "1,000 cases repeated 5 times of 200 ms at N=64, against collecting and waiting (seconds)",
        Project(1_000),
        _Repeats((sys.executable,), concurrency=64),
        _collecting_and_waiting(1_000 * _REPEAT, 64, _REPEAT_LATENCY_SECONDS),
        budget=1.25,
        of="wall",
        runs=2,
    ),
    Comparison(
        "1,000 cases in two versions 5 times of 200 ms at N=64, against collecting and waiting (seconds)",
        Project(1_000, goes_live=True),
        replace(
            _live(64, _REPEAT_LATENCY_SECONDS, "--chatprompt-ab=main", f"--chatprompt-repeat={_REPEAT}"),
            alter=_commit_and_change,
        ),
        _collecting_and_waiting(1_000 * 2 * _REPEAT, 64, _REPEAT_LATENCY_SECONDS),
        budget=1.25,
        of="wall",
        runs=2,
    ),
]

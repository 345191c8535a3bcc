"""`make bench`: measures every contest, and prints a table of medians and ratios.

Whole processes, the two of a contest in alternation, so that what else the machine does falls on both.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

from tests.benchmarks.contests import COMPARE, CONTESTS, Contest
from tests.benchmarks.process import Taken


@dataclass(frozen=True)
class Result:
    """What a contest gave.

    Args:
        contest: the contest.
        ours: what each run of ours took.
        other: what each run of the other took, in the same order.
    """

    contest: Contest
    ours: Sequence[Taken]
    other: Sequence[Taken]

    @property
    def ratio(self) -> float:
        """The median of the ratios of CPU seconds, pair by pair."""
        return median(ours.cpu_seconds / other.cpu_seconds for ours, other in zip(self.ours, self.other, strict=True))

    def row(self) -> str:
        """A row of the table."""
        cells = [self.contest.name]
        for runs in (self.ours, self.other):
            cells += [f"{cpu_seconds(runs):.2f}", f"{peak_mib(runs):.0f}"]
        budget = self.contest.budget
        cells += [f"{self.ratio:.2f}", "" if budget is None else f"{budget:g}"]
        return f"| {' | '.join(cells)} |"


def cpu_seconds(runs: Sequence[Taken]) -> float:
    """The median."""
    return median(run.cpu_seconds for run in runs)


def peak_mib(runs: Sequence[Taken]) -> float:
    """The median."""
    return median(run.peak_mib for run in runs)


def measure(contest: Contest, runs: int) -> Result:
    """Run both sides of a contest in alternation."""
    with _folders() as (one, two):
        contest.ours.prepare(one, contest.project)
        contest.other.prepare(two, contest.project)
        pairs = [(contest.ours.run(one, contest.items), contest.other.run(two, contest.items)) for _ in range(runs)]
    return Result(contest, *zip(*pairs, strict=True))


@contextmanager
def _folders() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        yield Path(one).resolve(), Path(two).resolve()


def growth(results: Sequence[Result]) -> Iterator[str]:
    """What the contests of several sizes say of one case more, beyond the start of the process."""
    found = {result.contest.project.cases: result for result in results if result.contest in COMPARE.values()}
    for few, many in ((100, 1_000), (1_000, 5_000), (1_000, 20_000)):
        if few in found and many in found:
            cells = [f"one case more, {few:,} to {many:,}"]
            for side in ("ours", "other"):
                low, high = getattr(found[few], side), getattr(found[many], side)
                milliseconds = (cpu_seconds(high) - cpu_seconds(low)) / (many - few) * 1e3
                kib = (peak_mib(high) - peak_mib(low)) / (many - few) * 1024
                cells += [f"{milliseconds:.2f} ms", f"{kib:.1f} KiB"]
            yield f"| {' | '.join(cells)} | | |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for, and print the table as it comes."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=", description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of the names of contests; without any all of them")
    parser.add_argument("--runs", type=int, help="how often each side runs; else each contest has its own number")
    parser.add_argument("--list", action="store_true", help="print the names of the contests")
    options = parser.parse_args(arguments)
    chosen = [one for one in CONTESTS if not options.only or any(part in one.name for part in options.only)]
    if options.list:
        print(*(one.name for one in chosen), sep="\n")
        return
    versions = ", ".join(f"{name} {version(name)}" for name in ("pytest", "syrupy", "respx", "httpx"))
    print(f"{date.today()}, {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, ", end="")
    print(f"Python {platform.python_version()}, {versions}; medians\n")
    print("| run | CPU s | MiB | the other: CPU s | MiB | CPU ratio | budget |\n|---|---|---|---|---|---|---|")
    results = []
    for contest in chosen:
        if not contest.other.is_installed:
            print(f"| {contest.name} | | | not installed: make peers | | | |")
            continue
        results.append(measure(contest, options.runs or contest.runs))
        print(results[-1].row(), flush=True)
    for row in growth(results):
        print(row)


if __name__ == "__main__":
    main()

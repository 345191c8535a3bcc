"""`make bench`: measures all comparisons, and prints a table of medians and ratios.

It measures whole processes. The two sides of a comparison alternate, so that other load of the machine affects both.
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

from tests.benchmarks.comparisons import COMPARE_BY_SIZE, COMPARISONS, Comparison
from tests.benchmarks.process import Measurement


@dataclass(frozen=True)
class Result:
    """The measurements of a comparison.

    Args:
        comparison: the comparison.
        subject: a measurement for each run of the subject.
        baseline: a measurement for each run of the baseline, in the same order.
    """

    comparison: Comparison
    subject: Sequence[Measurement]
    baseline: Sequence[Measurement]

    @property
    def ratio(self) -> float:
        """The median of the ratios of CPU seconds, pair by pair."""
        pairs = zip(self.subject, self.baseline, strict=True)
        return median(subject.cpu_seconds / baseline.cpu_seconds for subject, baseline in pairs)

    def row(self) -> str:
        """The row of the table."""
        cells = [self.comparison.name]
        for runs in (self.subject, self.baseline):
            cells += [f"{cpu_seconds(runs):.2f}", f"{peak_mib(runs):.0f}"]
        budget = self.comparison.budget
        cells += [f"{self.ratio:.2f}", "" if budget is None else f"{budget:g}"]
        return f"| {' | '.join(cells)} |"


def cpu_seconds(runs: Sequence[Measurement]) -> float:
    """The median of the CPU seconds."""
    return median(run.cpu_seconds for run in runs)


def peak_mib(runs: Sequence[Measurement]) -> float:
    """The median of the peaks of memory."""
    return median(run.peak_mib for run in runs)


def measure(comparison: Comparison, runs: int) -> Result:
    """Run both sides of a comparison in alternation.

    Args:
        comparison: what to run.
        runs: how many times each side runs.
    """
    subject, baseline = comparison.subject, comparison.baseline
    with _two_folders() as (subject_folder, baseline_folder):
        subject.prepare(subject_folder, comparison.project)
        baseline.prepare(baseline_folder, comparison.project)
        pairs = [
            (subject.run(subject_folder, comparison.items), baseline.run(baseline_folder, comparison.items))
            for _ in range(runs)
        ]
    return Result(comparison, *zip(*pairs, strict=True))


@contextmanager
def _two_folders() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        yield Path(first).resolve(), Path(second).resolve()


def growth(results: Sequence[Result]) -> Iterator[str]:
    """Rows for the cost of one more case, computed from the comparisons of several sizes."""
    by_size = {
        result.comparison.project.cases: result for result in results if result.comparison in COMPARE_BY_SIZE.values()
    }
    for few, many in ((100, 1_000), (1_000, 5_000), (1_000, 20_000)):
        if few in by_size and many in by_size:
            cells = [f"one case more, {few:,} to {many:,}"]
            for side in ("subject", "baseline"):
                low, high = getattr(by_size[few], side), getattr(by_size[many], side)
                milliseconds = (cpu_seconds(high) - cpu_seconds(low)) / (many - few) * 1e3
                kib = (peak_mib(high) - peak_mib(low)) / (many - few) * 1024
                cells += [f"{milliseconds:.2f} ms", f"{kib:.1f} KiB"]
            yield f"| {' | '.join(cells)} | | |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen comparisons, and print each row as soon as it is measured."""
    parser = argparse.ArgumentParser(prog="make bench ARGS=", description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of the names of comparisons; all comparisons if there is none")
    parser.add_argument(
        "--runs", type=int, help="how many times each side runs; by default each comparison has its own number"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the comparisons")
    options = parser.parse_args(arguments)
    chosen = [
        comparison
        for comparison in COMPARISONS
        if not options.only or any(part in comparison.name for part in options.only)
    ]
    if options.list:
        print(*(comparison.name for comparison in chosen), sep="\n")
        return
    versions = ", ".join(f"{name} {version(name)}" for name in ("pytest", "syrupy", "respx", "httpx"))
    print(f"{date.today()}, {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, ", end="")
    print(f"Python {platform.python_version()}, {versions}; medians\n")
    print("| run | CPU s | MiB | the other: CPU s | MiB | CPU ratio | budget |\n|---|---|---|---|---|---|---|")
    results = []
    for comparison in chosen:
        if not comparison.baseline.is_installed:
            print(f"| {comparison.name} | | | not installed: make peers | | | |")
            continue
        results.append(measure(comparison, options.runs or comparison.runs))
        print(results[-1].row(), flush=True)
    for row in growth(results):
        print(row)


if __name__ == "__main__":
    main()

"""Results: what the runs of a comparison took, as a row of the table, and whether it keeps its budget."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tests.benchmarks.comparison import Comparison
from tests.benchmarks.process import Measurement
from tests.benchmarks.rows.sizes import COMPARE_BY_SIZE

HEAD = "| run | s | MiB | the other: s | MiB | ratio | budget |\n|---|---|---|---|---|---|---|"


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
        """How much more the subject took: the lower of two estimates that other load of the machine makes too large.

        They are the median of the ratios pair by pair, and the ratio of the two fastest runs.
        """
        subject, baseline = (list(map(self.seconds, runs)) for runs in (self.subject, self.baseline))
        pairs = median(one / other for one, other in zip(subject, baseline, strict=True))
        return min(pairs, min(subject) / min(baseline))

    def seconds(self, run: Measurement) -> float:
        """What the comparison compares of a run."""
        return run.cpu_seconds if self.comparison.of == "cpu" else run.wall_seconds

    @property
    def broken(self) -> str:
        """What is above its budget, in words; `""` if nothing is."""
        budget, most_mib = self.comparison.budget, self.comparison.most_mib
        found = []
        # What rounds to the budget is within it.
        if budget is not None and round(self.ratio, 2) > budget:
            found.append(f"ratio {self.ratio:.2f}, budget {budget:g}")
        if most_mib is not None and peak_mib(self.subject) > most_mib:
            found.append(f"{peak_mib(self.subject):.0f} MiB, budget {most_mib:g} MiB")
        return "; ".join(found)

    def row(self) -> str:
        """The row of the table."""
        cells = [self.comparison.name]
        for runs in (self.subject, self.baseline):
            cells += [f"{median(map(self.seconds, runs)):.2f}", f"{peak_mib(runs):.0f}"]
        budgets = [f"{self.comparison.budget:g}"] if self.comparison.budget is not None else []
        budgets += [f"{self.comparison.most_mib:g} MiB"] if self.comparison.most_mib is not None else []
        cells += [f"{self.ratio:.2f}", ", ".join(budgets)]
        return f"| {' | '.join(cells)} |"


def peak_mib(runs: Sequence[Measurement]) -> float:
    """The median of the peaks of memory."""
    return median(run.peak_mib for run in runs)


def measure(comparison: Comparison, runs: int) -> Result:
    """Run both sides of a comparison in alternation; twice as often if it does not keep its budget.

    Args:
        comparison: what to run.
        runs: how many times each side runs at first.
    """
    with _prepared(comparison) as run_pair:
        pairs = [run_pair() for _ in range(runs)]
        result = Result(comparison, *zip(*pairs, strict=True))
        if result.broken:
            pairs += [run_pair() for _ in range(runs)]
            result = Result(comparison, *zip(*pairs, strict=True))
    return result


@contextmanager
def _prepared(comparison: Comparison) -> Iterator[Callable[[], tuple[Measurement, Measurement]]]:
    """Write both projects; gives a function that measures each side once."""
    subject, baseline = comparison.subject, comparison.baseline
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        folders = Path(first).resolve(), Path(second).resolve()
        for side, folder in zip((subject, baseline), folders, strict=True):
            side.prepare(folder, comparison.project)
        yield lambda: (subject.run(folders[0], comparison.items), baseline.run(folders[1], comparison.items))


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
                seconds = [median(run.cpu_seconds for run in runs) for runs in (low, high)]
                milliseconds = (seconds[1] - seconds[0]) / (many - few) * 1e3
                kib = (peak_mib(high) - peak_mib(low)) / (many - few) * 1024
                cells += [f"{milliseconds:.2f} ms", f"{kib:.1f} KiB"]
            yield f"| {' | '.join(cells)} | | |"

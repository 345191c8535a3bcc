"""`make bench`: measures all comparisons, prints the table of the page on speed, and fails if a budget is not kept.

It measures whole processes. The two sides of a comparison alternate, so that other load of the machine affects both.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from typing import Final

from tests.benchmarks.comparison import Comparison
from tests.benchmarks.result import HEAD, Result, growth, measure
from tests.benchmarks.table import COMPARISONS

# A third of the runs has to do, and two at least.
_QUICK_SHARE: Final = 3
_QUICK_LEAST: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen comparisons, and print each row as soon as it is measured.

    Returns:
        0 if all budgets are kept, else 1.
    """
    options = _parser().parse_args(arguments)
    chosen = [comparison for comparison in COMPARISONS if _is_chosen(comparison, options)]
    if options.list:
        print(*(comparison.name for comparison in chosen), sep="\n")
        return 0
    if not chosen:
        sys.exit(f"no comparison has {' or '.join(options.only)} in its name; --list prints the names")
    versions = ", ".join(f"{name} {version(name)}" for name in ("pytest", "syrupy", "respx", "httpx"))
    print(f"{date.today()}, {platform.system()} {platform.machine()}, {os.cpu_count()} CPUs, ", end="")
    print(f"Python {platform.python_version()}, {versions}; medians\n\n{HEAD}", flush=True)
    results: list[Result] = []
    broken = []
    for comparison in chosen:
        if not comparison.baseline.is_installed:
            print(f"| {comparison.name} | | | not installed: make peers | | | |")
            continue
        try:
            results.append(measure(comparison, options.runs or _runs(comparison, options)))
        except RuntimeError as error:
            # The other rows are measured all the same.
            print(f"| {comparison.name} | | | it failed | | | |", flush=True)
            broken.append(f"{comparison.name}: {error}")
            continue
        print(results[-1].row(), flush=True)
        if results[-1].broken:
            broken.append(f"{comparison.name}: {results[-1].broken}")
    for row in growth(results):
        print(row)
    if broken:
        print("\nNot within the budget:", *broken, sep="\n  ")
    return int(bool(broken))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make bench ARGS=", description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of the names of comparisons; all comparisons if there is none")
    parser.add_argument("--quick", action="store_true", help="only the small comparisons of `make bench-quick`")
    parser.add_argument(
        "--runs", type=int, help="how many times each side runs; by default each comparison has its own number"
    )
    parser.add_argument("--list", action="store_true", help="print the names of the comparisons")
    return parser


def _runs(comparison: Comparison, options: argparse.Namespace) -> int:
    return max(comparison.runs // _QUICK_SHARE, _QUICK_LEAST) if options.quick else comparison.runs


def _is_chosen(comparison: Comparison, options: argparse.Namespace) -> bool:
    is_named = not options.only or any(part in comparison.name for part in options.only)
    return is_named and (comparison.is_quick or not options.quick)


if __name__ == "__main__":
    sys.exit(main())

"""The benchmarks: they run, and they measure what they say. These tests look at no durations."""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import repeats
from tests.benchmarks.__main__ import main
from tests.benchmarks.comparison import Comparison, Side, Waiting
from tests.benchmarks.process import KIB, Measurement, measure_process, run_process
from tests.benchmarks.project import Project
from tests.benchmarks.result import Result, growth, measure
from tests.benchmarks.rows.sizes import COMPARE_BY_SIZE
from tests.benchmarks.table import COMPARISONS
from tests.forked_pytest import ForkPytest
from tests.forked_workers import CAN_FORK

MEASUREMENT = Measurement(cpu_seconds=2.0, wall_seconds=3.0, peak_mib=64.0)


@pytest.fixture
def _forked_runs(fork_pytest: ForkPytest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forks the runs of pytest that are measured: those of so few cases mostly import."""

    def fork(
        command: Sequence[str], folder: Path, environment: Mapping[str, str], output: int
    ) -> tuple[int, Measurement]:
        if tuple(command[:3]) != (sys.executable, "-m", "pytest"):
            return run_process(command, folder, environment, output)
        started = time.perf_counter()
        process = fork_pytest(list(command[3:]), folder, environment, output)
        status = process.wait()
        return status, Measurement(process.cpu_seconds, time.perf_counter() - started, process.peak_kib / KIB)

    if CAN_FORK:
        monkeypatch.setattr("tests.benchmarks.process.run_process", fork)


# The fixture `pytester` says which plugins the process that is forked imports.
forked_runs = pytest.mark.usefixtures("pytester", "_forked_runs")


@pytest.mark.parametrize(
    ("subject", "baseline"),
    [
        ("collect 5,000", "collect 5,000"),
        ("compare 5,000 rows, against as many cases", "compare 5,000 rows, against as many cases"),
        (
            "the page of 5,000 failing cases, against the run without it",
            "500 failing cases with distinct changes, against as many failures of the floor",
        ),
        (
            "live 200 of 200 ms at N=50 with an override of eval_request, against none (seconds)",
            "live 1,000 of 200 ms at N=128, against collecting and waiting (seconds)",
        ),
    ],
)
@forked_runs
def test_a_comparison_runs_both_sides(subject: str, baseline: str) -> None:
    # The other sides of these rows do no more than these.
    run_comparison(replace(row(subject), baseline=row(baseline).baseline))


@forked_runs
def test_a_comparison_runs_with_checks_and_through_several_providers() -> None:
    checked, several = row("compare 1,000 with three checks each"), row("compare 1,250 through four providers")
    run_comparison(replace(checked, project=replace(checked.project, providers=several.project.providers)))


def test_a_side_runs_in_a_process_that_starts_anew(tmp_path: Path) -> None:
    collect = row("collect 5,000").subject
    project = Project(4)
    collect.prepare(tmp_path, project)
    assert collect.run(tmp_path, project.items).cpu_seconds > 0


def row(name: str) -> Comparison:
    (comparison,) = (each for each in COMPARISONS if each.name == name)
    return comparison


def run_comparison(comparison: Comparison) -> None:
    result = measure(
        replace(comparison, project=replace(comparison.project, cases=4), budget=None, most_mib=None), runs=1
    )
    assert [len(result.subject), len(result.baseline)] == [1, 1]
    assert result.subject[0].cpu_seconds > 0
    assert result.baseline[0].peak_mib > 1


def test_a_row_that_breaks_its_budget_is_measured_once_more_before_that_counts(tmp_path: Path) -> None:
    count = tmp_path / "count"
    side = Side(
        (sys.executable, "-S", "-c", f"open({str(count)!r}, 'a').write('x'); print('4 passed')"),
        starts_without_snapshots=True,
    )
    comparison = Comparison(
        "row", Project(4), side, replace(side, program=(sys.executable, "-S", "-c", "print('4 passed')"))
    )
    for budget, runs in ((1e9, 2), (1e-9, 4)):
        count.write_text("")
        result = measure(replace(comparison, budget=budget), runs=2)
        assert len(result.subject) == len(result.baseline) == len(count.read_text()) == runs


def test_waiting_is_added_to_the_seconds_of_a_run_and_not_to_its_cpu(tmp_path: Path) -> None:
    program = (sys.executable, "-S", "-c", "print('4 passed')")
    measurement = Waiting(program, starts_without_snapshots=True, waiting_seconds=100).run(tmp_path, 4)
    assert measurement.wall_seconds > 100 > measurement.cpu_seconds


def test_a_run_without_the_expected_output_is_an_error() -> None:
    subject = Side((sys.executable, "-S", "-c", "print('4 passed')"))
    comparison = Comparison("greet", Project(4), subject, replace(subject, expected_output="4 passed"))
    assert measure(comparison, runs=1).ratio > 0
    comparison = replace(comparison, baseline=replace(subject, expected_output="5 passed"))
    with pytest.raises(RuntimeError, match="ended with 0"):
        measure(comparison, runs=1)


def test_a_process_that_fails_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="ended with 3"):
        measure_process(("sh", "-c", "exit 3"), tmp_path, {}, "")


def result(comparison: Comparison, subject: list[float], baseline: list[float]) -> Result:
    """A result with these CPU seconds."""
    return Result(
        comparison, *([replace(MEASUREMENT, cpu_seconds=seconds) for seconds in side] for side in (subject, baseline))
    )


def test_a_row_has_the_medians_and_the_median_of_the_ratios() -> None:
    measured = result(replace(COMPARE_BY_SIZE[5_000], budget=1.5), [1.0, 4.0, 9.0], [0.4, 2.0, 4.0])
    assert measured.row() == "| compare 5,000 | 4.00 | 64 | 2.00 | 64 | 2.25 | 1.5 |"


def test_other_load_of_the_machine_makes_no_ratio_larger_than_that_of_the_fastest_runs() -> None:
    assert result(COMPARE_BY_SIZE[5_000], [3.0, 3.0, 1.5], [1.0, 1.0, 1.0]).ratio == 1.5


def test_what_waits_is_compared_by_the_clock_and_memory_has_a_budget_of_its_own() -> None:
    comparison = replace(COMPARE_BY_SIZE[100], of="wall", budget=1.0, most_mib=63.9)
    measured = result(comparison, [1.0], [8.0])
    assert measured.row() == "| compare 100 | 3.00 | 64 | 3.00 | 64 | 1.00 | 1, 63.9 MiB |"
    assert measured.broken == "64 MiB, budget 63.9 MiB"
    assert replace(measured, comparison=replace(comparison, most_mib=64)).broken == ""


@pytest.mark.parametrize(("seconds", "broken"), [(2.314, "ratio 1.16, budget 1.15"), (2.308, "")])
def test_what_rounds_to_the_budget_is_within_it(seconds: float, broken: str) -> None:
    assert result(replace(COMPARE_BY_SIZE[100], budget=1.15), [seconds], [2.0]).broken == broken


def test_budgets_that_are_not_kept_are_printed_and_make_the_exit_status(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    good = Side((sys.executable, "-S", "-c", "print('4 passed')"), starts_without_snapshots=True)
    bad, missing = replace(good, expected_output="5 passed"), replace(good, program=("/none",))
    kept = Comparison("kept", Project(4), good, good, budget=1e9, is_quick=True)
    rows = [
        kept,
        replace(kept, name="broken", budget=1e-9),
        replace(kept, name="failed", subject=bad),
        replace(kept, name="other", baseline=missing, is_quick=False),
    ]
    monkeypatch.setattr("tests.benchmarks.__main__.COMPARISONS", rows)
    assert main(["--runs=1", "kept", "other"]) == 0
    output = capsys.readouterr().out
    assert "| other | | | not installed: make peers | | | |\n" in output
    assert "Not within" not in output
    assert main(["--runs=1", "--quick"]) == 1
    table, _, problems = capsys.readouterr().out.partition("\nNot within the budget:\n")
    assert [line.split(" | ")[0] for line in table.splitlines()[4:]] == ["| kept", "| broken", "| failed"]
    assert problems.startswith("  broken: ratio ")
    assert "  failed: " in problems
    with pytest.raises(SystemExit, match="no comparison has none in its name"):
        main(["none"])


def test_growth_is_the_cost_of_one_more_case() -> None:
    few, many = (Result(COMPARE_BY_SIZE[size], [MEASUREMENT], [MEASUREMENT]) for size in (100, 1_000))
    larger = [replace(MEASUREMENT, cpu_seconds=2.9, peak_mib=73.0)]
    (row,) = growth([few, replace(many, subject=larger)])
    assert row == "| one case more, 100 to 1,000 | 1.00 ms | 10.2 KiB | 0.00 ms | 0.0 KiB | | |"


def test_list_prints_the_names_of_the_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "5,000 in 500"]) == 0
    assert capsys.readouterr().out == "compare 5,000 in 500 files\ncollect 5,000 in 500 files\n"
    assert all(isinstance(comparison, Comparison) for comparison in COMPARISONS)
    assert len({comparison.name for comparison in COMPARISONS}) == len(COMPARISONS)


def test_a_project_has_the_size_that_it_was_given(tmp_path: Path) -> None:
    project = Project(5, files=2, turns=4, providers=("openai", "azure"), attachment_bytes=1_000)
    project.write(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "document.txt",
        "f0.eval.yaml",
        "f1.eval.yaml",
        "pytest.ini",
    ]
    text = (tmp_path / "f0.eval.yaml").read_text(encoding="utf-8")
    assert (text.count('"id"'), text.count('"role"'), text.count('"half"'), project.items) == (3, 12, 2, 10)
    assert Project(0).items == 1


def test_the_rows_of_a_project_are_a_dataset(tmp_path: Path) -> None:
    project = Project(3, has_rows=True)
    project.write(tmp_path)
    assert len((tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()) == project.items == 3


@forked_runs
def test_each_reply_in_the_contest_of_repeated_cases_has_its_verdict() -> None:
    contest = repeats.run_contest(6, 3, 4, 0.01, rubrics=())
    assert contest.is_complete
    assert set(contest.outcomes) == {"passed", "failed", "error"}
    assert contest.replies.judged.total() == 0
    assert not replace(contest, outcomes=Counter()).is_complete
    contest.replies.judged[1] += 1
    assert not contest.is_complete


@forked_runs
def test_the_contest_of_judged_cases_prints_its_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    # It fails if a reply has no verdict.
    repeats.main(["--cases=6", "--repeat=3", "--concurrency=4", "--seconds=0.01"])
    output = capsys.readouterr().out
    assert re.search(r"^verdicts: {(?=.*'passed': )(?=.*'failed': )(?=.*'error': )", output, re.MULTILINE)
    assert re.search(r"^questions to the judge: ([1-9]\d*); due: \1$", output, re.MULTILINE)

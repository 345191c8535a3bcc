"""The benchmarks: they run, and they measure what they say. These tests look at no durations."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import repeats
from tests.benchmarks.__main__ import Result, growth, main, measure
from tests.benchmarks.comparisons import COMPARE_BY_SIZE, COMPARISONS, Comparison, Side
from tests.benchmarks.process import Measurement, measure_process
from tests.benchmarks.project import Project

MEASUREMENT = Measurement(cpu_seconds=2.0, wall_seconds=3.0, peak_mib=64.0)


@pytest.mark.parametrize(
    "name",
    [
        "compare 100",
        "update 100",
        "collect 5,000",
        "compare 1,250 through four providers",
        "compare 5,000 rows, against as many cases",
    ],
)
def test_a_comparison_runs_both_sides(name: str) -> None:
    (comparison,) = (each for each in COMPARISONS if each.name == name)
    result = measure(replace(comparison, project=replace(comparison.project, cases=4)), runs=1)
    assert [len(result.subject), len(result.baseline)] == [1, 1]
    assert result.subject[0].cpu_seconds > 0
    assert result.baseline[0].peak_mib > 1


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


def test_a_row_has_the_medians_and_the_median_of_the_ratios() -> None:
    subject = [replace(MEASUREMENT, cpu_seconds=seconds) for seconds in (1.0, 4.0, 9.0)]
    result = Result(
        replace(COMPARE_BY_SIZE[5_000], budget=1.5),
        subject,
        [MEASUREMENT, MEASUREMENT, replace(MEASUREMENT, cpu_seconds=3.0)],
    )
    assert result.row() == "| compare 5,000 | 4.00 | 64 | 2.00 | 64 | 2.00 | 1.5 |"


def test_growth_is_the_cost_of_one_more_case() -> None:
    few, many = (Result(COMPARE_BY_SIZE[size], [MEASUREMENT], [MEASUREMENT]) for size in (100, 1_000))
    larger = [replace(MEASUREMENT, cpu_seconds=2.9, peak_mib=73.0)]
    (row,) = growth([few, replace(many, subject=larger)])
    assert row == "| one case more, 100 to 1,000 | 1.00 ms | 10.2 KiB | 0.00 ms | 0.0 KiB | | |"


def test_list_prints_the_names_of_the_comparisons(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list", "5,000 in 500"])
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


def test_the_contest_of_repeated_cases_has_a_verdict_for_each_reply(capsys: pytest.CaptureFixture[str]) -> None:
    repeats.main(["--cases=6", "--repeat=3", "--concurrency=4", "--seconds=0.01"])
    output = capsys.readouterr().out
    assert "'passed'" in output
    assert "'failed'" in output

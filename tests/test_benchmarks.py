"""The benchmarks: that they still run, and run what they say. How long that takes is no matter here."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks.__main__ import Result, growth, main, measure
from tests.benchmarks.contests import COMPARE, CONTESTS, Contest
from tests.benchmarks.process import Taken, take
from tests.benchmarks.project import Project

TAKEN = Taken(cpu_seconds=2.0, wall_seconds=3.0, peak_mib=64.0)


@pytest.mark.parametrize("name", ["compare 100", "update 100", "collect 5,000", "compare 1,250 through four providers"])
def test_a_contest_runs_both_sides(name: str) -> None:
    (contest,) = (one for one in CONTESTS if one.name == name)
    result = measure(replace(contest, project=replace(contest.project, cases=4)), runs=1)
    assert [len(result.ours), len(result.other)] == [1, 1]
    assert result.ours[0].cpu_seconds > 0
    assert result.other[0].peak_mib > 1


def test_what_did_not_run_is_not_measured(tmp_path: Path) -> None:
    for expected in ("5 passed", "4 passed"):
        contest = replace(COMPARE[100], project=Project(4), other=replace(COMPARE[100].other, expected=expected))
        if expected == "4 passed":
            assert measure(contest, runs=1).ratio > 0
        else:
            with pytest.raises(RuntimeError, match="ended with 0"):
                measure(contest, runs=1)
    with pytest.raises(RuntimeError, match="ended with 3"):
        take(("sh", "-c", "exit 3"), tmp_path, {}, "")


def test_a_row_holds_medians_and_the_median_of_the_ratios() -> None:
    ours = [replace(TAKEN, cpu_seconds=seconds) for seconds in (1.0, 4.0, 9.0)]
    result = Result(replace(COMPARE[5_000], budget=1.5), ours, [TAKEN, TAKEN, replace(TAKEN, cpu_seconds=3.0)])
    assert result.row() == "| compare 5,000 | 4.00 | 64 | 2.00 | 64 | 2.00 | 1.5 |"


def test_growth_is_told_between_sizes() -> None:
    few, many = (Result(COMPARE[size], [TAKEN], [TAKEN]) for size in (100, 1_000))
    more = [replace(TAKEN, cpu_seconds=2.9, peak_mib=73.0)]
    (row,) = growth([few, replace(many, ours=more)])
    assert row == "| one case more, 100 to 1,000 | 1.00 ms | 10.2 KiB | 0.00 ms | 0.0 KiB | | |"


def test_the_contests_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list", "5,000 in 500"])
    assert capsys.readouterr().out == "compare 5,000 in 500 files\ncollect 5,000 in 500 files\n"
    assert all(isinstance(contest, Contest) for contest in CONTESTS)
    assert len({contest.name for contest in CONTESTS}) == len(CONTESTS)


def test_a_project_has_the_size_that_it_says(tmp_path: Path) -> None:
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

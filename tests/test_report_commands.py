"""`python -m pytest_chatprompt`: what its commands print, write and exit with."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_chatprompt.report_commands import main
from pytest_chatprompt.reports.report_formats import FORMATS
from pytest_chatprompt.results.case_result import CaseResult
from pytest_chatprompt.results.run_results import RunResults
from tests.items.conftest import Run, case_ids, eval_file, run
from tests.reports.results import answered

__all__ = ["run"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, *results: CaseResult) -> None:
    path.write_text(FORMATS[".json"](RunResults(results=results)), encoding="utf-8")


@pytest.mark.parametrize(
    ("outcome", "status", "headline"),
    [
        ("passed", 0, "a.json → b.json: 0 worse, 0 better, 0 changed, 1 the same, 1 new, 0 gone"),
        ("failed", 1, "a.json → b.json: 1 worse, 0 better, 0 changed, 0 the same, 1 new, 0 gone"),
    ],
)
def test_compare_exits_with_1_where_a_case_got_worse(
    folder: Path, capsys: pytest.CaptureFixture[str], outcome: str, status: int, headline: str
) -> None:
    write(folder / "a.json", answered("x"))
    write(folder / "b.json", answered("x").model_copy(update={"outcome": outcome}), answered("new", outcome="failed"))
    assert main(["compare", "a.json", "b.json"]) == status
    assert capsys.readouterr().out.splitlines()[0] == headline


def test_what_is_no_report_is_an_error_on_the_standard_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.json")
    assert main(["compare", "a.json", "none.json"]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "error: none.json: cannot be read: No such file or directory\n")


def test_merge_writes_one_report_in_each_format(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "1.json", answered("x"))
    write(folder / "2.json", answered("y"))
    outputs = [word for name in ("out/all.json", "out/all.md", "out/all.html") for word in ("-o", name)]
    assert main(["merge", "1.json", "2.json", *outputs]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "wrote out/all.json: 2 tests of 2 reports"
    merged = json.loads((folder / "out/all.json").read_text(encoding="utf-8"))
    assert [result["case_id"] for result in merged["results"]] == ["x", "y"]
    assert "2 tests of prompts: 2 passed." in (folder / "out/all.md").read_text(encoding="utf-8")
    assert (folder / "out/all.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_merge_says_what_it_cannot_merge_or_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "1.json", answered("x"))
    (folder / "file").write_text("")
    assert main(["merge", "1.json", "1.json", "-o", "all.json"]) == 2
    assert main(["merge", "1.json", "-o", "file/all.json"]) == 2
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first.startswith("error: a test is in more than one report")
    assert last.startswith("error: cannot write file/all.json: ")
    assert not (folder / "all.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["compare", "a.json"], "the following arguments are required: AFTER.json"),
        (["merge", "a.json"], "the following arguments are required: -o"),
        (["merge", "a.json", "-o", "a.txt"], "'a.txt' has the suffix of no report; end it with .html, .md, .json"),
    ],
)
def test_what_is_no_command_is_a_usage_error(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.measures_processes
def test_the_package_is_a_command_and_a_console_that_cannot_show_a_character_shows_the_rest(folder: Path) -> None:
    write(folder / "a.json", answered("x", text="ö"))
    write(folder / "b.json", answered("x", text="\ud800"))
    command = [sys.executable, "-m", "pytest_chatprompt", "compare", "a.json", "b.json"]
    environ = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    result = subprocess.run(command, env=environ, capture_output=True, check=True, text=True)
    assert r"    - \xf6" in result.stdout.splitlines()
    assert r"    + \ud800" in result.stdout.splitlines()


def test_the_reports_of_four_shards_are_that_of_one_run(run: Run) -> None:
    ids = case_ids(6)
    run.write({"one/a.eval.yaml": eval_file(ids), "two/b.eval.yaml": eval_file(ids), "two/c.eval.yaml": eval_file(ids)})
    run.write({"pytest.ini": "[pytest]\n"})
    run.update()
    changed = eval_file(ids).replace("content: c0", "content: changed")
    run.write({"one/a.eval.yaml": changed, "two/b.eval.yaml": changed})
    shards = [["one", "-k", "c0 or c1"], ["one", "-k", "not (c0 or c1)"], ["two/b.eval.yaml"], ["two/c.eval.yaml"]]
    for number, words in enumerate(shards):
        run(*words, f"--chatprompt-report={number}.json")
    run("--chatprompt-report=whole.json")
    reports = [str(run.path / f"{number}.json") for number in range(4)]
    assert main(["merge", *reports, "-o", str(run.path / "all.json"), "-o", str(run.path / "all.md")]) == 0
    whole, merged = (json.loads((run.path / name).read_text(encoding="utf-8")) for name in ("whole.json", "all.json"))
    assert len(merged["results"]) == 18
    assert merged["results"] == whole["results"]
    comment = (run.path / "all.md").read_text(encoding="utf-8")
    assert comment.startswith("## 1 distinct change in 2 snapshots")
    assert "To accept all: `pytest one/a.eval.yaml::c0 two/b.eval.yaml::c0 --snapshot-update`\n" in comment

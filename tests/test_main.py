"""The command line of reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.__main__ import main
from pytest_chatprompt.reports.formats import FORMATS
from pytest_chatprompt.reports.merge import MergeError, merge_runs, unsettled_lines, unused_lines
from pytest_chatprompt.reports.run_commands import accept_all
from pytest_chatprompt.results.records import CaseResult, RunResults, SnapshotResult, SnapshotUses
from tests.git_repository import Git, commit_all
from tests.reports.results import answered
from tests.runs.conftest import Run, case_ids, eval_file, run

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


def test_compare_writes_a_page(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "a.json", answered("x", text="In 14 days."))
    write(folder / "b.json", answered("x", text="In 30 days."))
    assert main(["compare", "a.json", "b.json", "-o", "new/compare.html"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "wrote new/compare.html"
    page = (folder / "new/compare.html").read_text(encoding="utf-8")
    assert "<h1>0 worse, 0 better, 1 changed, 0 the same, 0 new, 0 gone</h1>" in page
    assert main(["compare", "a.json", "b.json", "-o", "compare.md"]) == 2
    assert capsys.readouterr().err == (
        "error: compare.md has another suffix than .html, and a comparison is written as a page\n"
    )


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


def test_a_shard_that_is_not_there_is_told_before_what_may_come_of_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", "recordings", "-o", str(folder)]) == 2
    assert capsys.readouterr().err == "error: recordings: cannot be read: No such file or directory\n"


def test_merge_says_what_it_cannot_merge_or_write(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder / "1.json", answered("x"))
    (folder / "file").write_text("")
    assert main(["merge", "1.json", "1.json", "-o", "all.json"]) == 2
    assert main(["merge", "1.json", "-o", "file/all.json"]) == 2
    assert main(["merge", "1.json", "-o", "a.txt"]) == 2
    first, *_, second, last = capsys.readouterr().err.splitlines()
    assert first.startswith("error: a test is in more than one report")
    assert second.startswith("error: cannot write file/all.json: ")
    assert last == "error: a.txt has an unknown suffix; end it with .html, .md, .json"
    assert not (folder / "all.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["compare", "a.json"], "the following arguments are required: AFTER.json"),
        (["merge", "a.json"], "the following arguments are required: -o"),
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


@pytest.mark.measures_processes
def test_who_reads_only_the_beginning_sees_no_error(folder: Path) -> None:
    write(folder / "a.json", *[answered(f"c{number}", outcome="failed") for number in range(5_000)])
    write(folder / "b.json")
    command = [sys.executable, "-m", "pytest_chatprompt", "compare", "a.json", "b.json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 0


@pytest.mark.measures_processes
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
def test_an_output_that_cannot_be_written_does_not_say_that_a_case_is_worse(folder: Path) -> None:
    write(folder / "a.json")
    command = [sys.executable, "-m", "pytest_chatprompt", "compare", "a.json", "a.json"]
    with Path("/dev/full").open("wb") as full:
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, text=True, timeout=60)
    assert process.stderr == "error: cannot write to the standard output: No space left on device\n"
    assert process.returncode == 2


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


UNUSED = "__snapshots__/a.eval/gone[openai].yaml"


def write_shards(folder: Path, *left_out: str, unused: tuple[str, ...] = (UNUSED,)) -> list[str]:
    """The reports of shards, each of which left out a test of the same file; gives their names."""
    for number, name in enumerate(left_out):
        uses = SnapshotUses(path="a.eval.yaml", left_out=(name,), unused=unused)
        run = RunResults(results=(answered(f"c{number}"),), snapshots=(uses,))
        (folder / f"{number}.json").write_text(FORMATS[".json"](run), encoding="utf-8")
    return [f"{number}.json" for number in range(len(left_out))]


def write_unused(folder: Path) -> Path:
    path = folder / UNUSED
    path.parent.mkdir(parents=True)
    path.write_text("provider: openai\n")
    return path


@pytest.mark.parametrize(("options", "status"), [([], 1), (["--snapshot-warn-unused"], 0)])
def test_merge_reports_what_no_shard_uses_and_exits_with_1(
    folder: Path, capsys: pytest.CaptureFixture[str], options: list[str], status: int
) -> None:
    path = write_unused(folder)
    assert main(["merge", *write_shards(folder, "c0", "c1"), "-o", "all.json", *options]) == status
    assert capsys.readouterr().out.splitlines() == [
        "wrote all.json: 2 tests of 2 reports",
        "1 snapshot unused: no test of these reports uses it.",
        f"  {UNUSED}",
        "Run all tests at once with --chatprompt-remove-unused to remove it.",
    ]
    assert path.exists()
    assert json.loads((folder / "all.json").read_text())["snapshots"] == [
        {"path": "a.eval.yaml", "left_out": [], "unused": [UNUSED]}
    ]


def test_merge_calls_nothing_unused_while_a_test_is_in_no_report(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["merge", *write_shards(folder, "c1", "c1"), "-o", "all.json"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "The unused snapshots of 1 file are not known: 1 test ran in none of these reports, "
        "or did not pass, such as a.eval.yaml::c1"
    ]


def test_unused_recordings_alone_are_no_failure_of_merge(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shards = write_shards(folder, "c0", "c1", unused=(RECORDING.format("gone"),))
    assert main(["merge", *shards, "-o", "all.json"]) == 0
    assert "1 snapshot unused" in capsys.readouterr().out


def test_merge_tells_what_four_shards_do_not_use(
    run: Run, capsys: pytest.CaptureFixture[str], use_plugin: Callable[[str], None]
) -> None:
    use_plugin("pytest-split")
    own = (
        "import httpx\n\ndef ask(eval_api, eval_snapshot):\n    httpx.post('https://api.openai.com/v1/embeddings', json={})\n"
        "    assert eval_api.sent == eval_snapshot\n\ntest_a = test_b = ask\n"
    )
    run.write({"a.eval.yaml": eval_file(case_ids(6)), "test_own.py": own})
    run.update()
    before = run.snapshots()
    extra = ["__snapshots__/a.eval/gone[openai].yaml", "__snapshots__/test_own/test_gone.yaml"]
    run.write(dict.fromkeys(extra, "requests: []\n"))
    reports = [f"{group}.json" for group in (1, 2, 3, 4)]
    for group, name in enumerate(reports, start=1):
        run("--splits=4", f"--group={group}", f"--chatprompt-report={name}", "--snapshot-update").assert_outcomes(
            passed=2, deselected=6
        )
    assert run.snapshots() == sorted([*before, *extra])
    *first, fourth, merged = [str(run.path / name) for name in (*reports, "all.json")]
    capsys.readouterr()
    assert main(["merge", *first, "-o", merged]) == 1
    # The fourth shard has the two tests, and so their unused snapshot is not known yet.
    assert f"  {extra[0]}" in (told := capsys.readouterr().out.splitlines())
    assert f"  {extra[1]}" not in told
    assert main(["merge", merged, fourth, "-o", merged]) == 1
    assert {f"  {name}" for name in extra} <= {*capsys.readouterr().out.splitlines()}


RECORDING = "__snapshots__/a.eval/{}[openai].recording.yaml"


def write_recordings(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / RECORDING.format(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def test_the_recordings_of_shards_are_put_into_the_folder_of_the_project(
    folder: Path, capsys: pytest.CaptureFixture[str], git: Git
) -> None:
    write_recordings(folder / "project", a="old a", b="old b", kept="kept")
    commit_all(git, folder)
    # Each has a copy of those that it did not record.
    write_recordings(folder / "1", a="new a", b="old b", kept="kept", both="same")
    write_recordings(folder / "2", a="old a", b="new b ö", kept="kept", both="same")
    (folder / "2" / RECORDING.format("link")).symlink_to(folder / "2" / RECORDING.format("a"))
    names = [RECORDING.format(name) for name in ("a", "b", "both")]
    # A second time it does the same.
    for _ in range(2):
        assert main(["merge", "1", "2", "-o", "project"]) == 0
        assert capsys.readouterr().out.splitlines() == [*names, "put 3 recordings of 2 shards into project"]
        texts = [
            (folder / "project" / RECORDING.format(name)).read_text("utf-8") for name in ("a", "b", "both", "kept")
        ]
        assert texts == ["new a", "new b ö", "same", "kept"]
    assert len(list((folder / "project").rglob("*.yaml"))) == 4


def test_a_test_that_two_shards_recorded_differently_is_a_conflict_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in ("1", "2"):
        write_recordings(folder / number, **{name: f"{name}{number}" for name in "abcdef"}, **{f"new{number}": "x"})
    (folder / "project").mkdir()
    assert main(["merge", "1", "2", "-o", "project"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: several shards have recorded 6 tests, with different replies; give each test to one shard:",
        *(f"  {RECORDING.format(name)}" for name in "abcde"),
        "  and 1 more",
    ]
    assert list((folder / "project").iterdir()) == []
    write_recordings(folder / "2", **{name: f"{name}1" for name in "bcdef"})
    assert main(["merge", "1", "2", "-o", "project"]) == 2
    assert "several shards have recorded a test, with" in capsys.readouterr().err
    (folder / "1" / RECORDING.format("z")).write_bytes(b"\xff")
    assert main(["merge", "1", "-o", "project"]) == 2
    assert "can't decode" in capsys.readouterr().err


def test_without_a_commit_all_that_shards_hold_is_taken(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_recordings(folder / "1", a="a")
    write_recordings(folder / "2", b="b")
    (folder / "project").mkdir()
    assert main(["merge", "1", "2", "-o", "project"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "put 2 recordings of 2 shards into project"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["1", "a.json", "-o", "."],
            "a.json: not a folder; merge reports, or folders with recordings, not both",
        ),
        (["1", "-o", "a.json"], "recordings are put into the folder of the project: name that folder once, as in -o ."),
        (
            ["1", "-o", ".", "-o", "."],
            "recordings are put into the folder of the project: name that folder once, as in -o .",
        ),
    ],
)
def test_folders_of_recordings_are_merged_alone_and_into_one_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    (folder / "1").mkdir()
    assert main(["merge", *arguments]) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def shard(number: int, *command: str, **more: Any) -> RunResults:
    return RunResults(command=command, results=(answered(f"c{number}"),), **more)


def test_all_results_are_in_the_merged_run_in_the_order_of_the_shards() -> None:
    merged = merge_runs([("b", shard(2)), ("a", shard(1)), ("c", RunResults())])
    assert [result.case_id for result in merged.results] == ["c2", "c1"]
    assert merged == RunResults(results=merged.results)


def test_a_command_that_all_shards_share_is_that_of_the_merged_run() -> None:
    shards = [shard(number, "evals", "--chatprompt-live", f"--chatprompt-report={number}.json") for number in range(2)]
    merged = merge_runs([(f"{number}.json", run) for number, run in enumerate(shards)])
    assert merged.command == ("evals", "--chatprompt-live")
    assert merged.shards == ()
    assert accept_all(merged, merged.results) == "pytest evals --snapshot-update"


def test_of_different_commands_the_options_that_decide_what_is_sent_are_kept_and_cases_are_named() -> None:
    differing = SnapshotResult(path="s", state="new")
    shards = [
        shard(number, "-k", f"c{number}", "--rootdir", "x", "--chatprompt-live", is_live=number == 1, folder="evals")
        for number in range(2)
    ]
    merged = merge_runs([(f"{number}.json", run) for number, run in enumerate(shards)])
    assert merged.command == ("--rootdir", "x", "--chatprompt-live")
    assert merged.shards == tuple(run.command for run in shards)
    assert (merged.is_live, merged.folder) == (True, "evals")
    results = [result.model_copy(update={"snapshot": differing}) for result in merged.results]
    assert accept_all(merged, results) == (
        "pytest '../a.eval.yaml::c0[openai]' '../a.eval.yaml::c1[openai]' --rootdir x --snapshot-update"
    )
    # Merged once more, with one that was started elsewhere and with other options.
    again = merge_runs([("all.json", merged), ("2.json", shard(2, "-c", "y.ini"))])
    assert again.shards == (*merged.shards, ("-c", "y.ini"))
    assert (again.command, again.folder) == ((), ".")


def test_a_test_in_two_shards_is_a_conflict_whatever_it_came_to() -> None:
    one = RunResults(results=tuple(answered(f"c{number}") for number in range(7)))
    with pytest.raises(MergeError) as conflict:
        merge_runs([("a.json", one), ("b.json", one)])
    lines = str(conflict.value).splitlines()
    assert lines[0] == ("7 tests are in more than one report; merge reports of shards, each of which ran other tests:")
    assert lines[1] == "  a.eval.yaml::c0[openai] in a.json and b.json"
    assert lines[6:] == ["  and 2 more"]
    with pytest.raises(MergeError, match=r"^a test is in more than one report; .*\n  a\.eval\.yaml::c1"):
        merge_runs([("a.json", shard(1)), ("b.json", shard(1))])
    # A report that has a test twice is of a run that ran it twice.
    twice = RunResults(results=(answered("x", outcome="failed"), answered("x")))
    assert len(merge_runs([("a.json", twice)]).results) == 2


def test_runs_that_compared_with_different_snapshots_are_not_merged() -> None:
    with pytest.raises(MergeError) as conflict:
        merge_runs([("a.json", shard(1, against="main")), ("b.json", shard(2))])
    assert str(conflict.value) == (
        "the reports compare with different snapshots: a.json with main, b.json with the files on disk"
    )


def test_unused_snapshots_are_named_with_what_removes_them() -> None:
    assert list(unused_lines(["a.yaml"])) == [
        "1 snapshot unused: no test of these reports uses it.",
        "  a.yaml",
        "Run all tests at once with --chatprompt-remove-unused to remove it.",
    ]
    assert list(unused_lines(["a.yaml", "b.yaml"]))[-1].endswith("to remove them.")
    assert list(unused_lines([])) == []


def test_files_that_no_reports_have_whole_are_one_line_with_an_example() -> None:
    files = [SnapshotUses(path=path, left_out=("x", "y"), unused=("x.yaml",)) for path in ("a.eval.yaml", "b.py")]
    assert list(unsettled_lines(files)) == [
        "The unused snapshots of 2 files are not known: 4 tests ran in none of these reports, "
        "or did not pass, such as a.eval.yaml::x"
    ]
    (line,) = unsettled_lines([files[0].model_copy(update={"left_out": ("x",)})])
    assert line.startswith("The unused snapshots of 1 file are not known: 1 test ran in none of these reports, ")
    assert list(unsettled_lines([])) == []

"""Shards: what a run of a part of the tests writes down of unused snapshots, and that it neither reports nor removes them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.runs.conftest import Run, case_ids, eval_file

UsePlugin = Callable[[str], None]
FOLDER = "__snapshots__/a.eval"
GONE = f"{FOLDER}/gone[openai].yaml"
TESTS = """
import httpx
import pytest

URL = "https://api.openai.com/v1/chat/completions"

@pytest.mark.parametrize("name", ["one", "two", "three"])
def test_it(name, eval_api, eval_snapshot):
    httpx.post(URL, json={"model": "m", "messages": [{"role": "user", "content": name}]})
    assert eval_api.sent == eval_snapshot
"""
OWN_GONE = "__snapshots__/test_own/test_gone.yaml"


@pytest.fixture
def project(run: Run) -> Run:
    """Six cases and three tests with their snapshots, and one more snapshot of each kind."""
    run.write({"a.eval.yaml": eval_file(case_ids(6)), "test_own.py": TESTS})
    run.update()
    text = (run.path / FOLDER / "c0[openai].yaml").read_text(encoding="utf-8")
    run.write({GONE: text.replace("c0", "gone"), OWN_GONE: "requests: []\n"})
    return run


def report(run: Run, *arguments: str) -> list[dict[str, Any]]:
    """Run pytest, and read what its report says of snapshots."""
    run(*arguments, "--chatprompt-report=r.json")
    snapshots: list[dict[str, Any]] = json.loads((run.path / "r.json").read_text(encoding="utf-8"))["snapshots"]
    return snapshots


def names(*ids: str) -> list[str]:
    return [f"{FOLDER}/{name}[openai].yaml" for name in ids]


WHOLE = [
    {"path": "a.eval.yaml", "left_out": [], "unused": [GONE]},
    {"path": "test_own.py", "left_out": [], "unused": [OWN_GONE]},
]


def test_a_report_has_the_unused_snapshots_of_files_that_were_selected_whole(project: Run) -> None:
    assert report(project) == WHOLE
    assert report(project, "a.eval.yaml") == WHOLE[:1]


@pytest.mark.measures_processes
def test_the_report_of_a_run_with_workers_has_the_same(project: Run) -> None:
    assert report(project, "-n", "2") == WHOLE


def test_a_report_has_what_a_selection_left_out_and_does_not_use(project: Run) -> None:
    assert report(project, "-k", "c0 or c1 or one or three") == [
        {"path": "a.eval.yaml", "left_out": ["c2", "c3", "c4", "c5"], "unused": [GONE]},
        {
            "path": "test_own.py",
            "left_out": ["test_it[two]"],
            "unused": [OWN_GONE, "__snapshots__/test_own/test_it[two].yaml"],
        },
    ]


def test_a_report_has_tests_that_did_not_pass_among_those_left_out(project: Run) -> None:
    failing = TESTS.replace("assert eval_api", "assert name == 'one'\n    assert eval_api")
    project.write({"test_own.py": failing})
    for arguments in ([], ["-k", "one"], ["test_own.py::test_it[one]"]):
        (uses,) = report(project, *(arguments or ["test_own.py"]), "--ignore=a.eval.yaml")
        assert uses["left_out"] == ["test_it[three]", "test_it[two]"]


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--chatprompt-provider=openai", "a.eval.yaml"], id="names the provider"),
        pytest.param(["--snapshot-disable-unused"], id="was told not to look"),
        pytest.param(["--collect-only"], id="only collects"),
        pytest.param(["-k", "nothing"], id="has no test"),
    ],
)
def test_a_report_says_nothing_of_unused_snapshots_if_the_run(project: Run, arguments: list[str]) -> None:
    assert report(project, *arguments) == []


def test_a_run_that_ended_early_knows_nothing(project: Run) -> None:
    project.write({"test_a.py": "def test_it():\n    assert 0\n"})
    assert report(project, "-x", "test_a.py", "a.eval.yaml") == []


def test_a_file_with_an_invalid_case_has_no_record(project: Run) -> None:
    project.append("a.eval.yaml", "  - id: invalid\n    provider: []\n")
    assert report(project, "a.eval.yaml") == []


def test_what_an_update_removed_is_not_in_its_report(project: Run) -> None:
    assert report(project, "--snapshot-update", "a.eval.yaml") == []
    assert GONE not in project.snapshots()


@pytest.mark.parametrize("splits", [1, 3])
def test_no_shard_of_pytest_split_fails_for_or_removes_what_it_does_not_use(
    project: Run, use_plugin: UsePlugin, splits: int
) -> None:
    use_plugin("pytest-split")
    before = project.snapshots()
    for group in range(1, splits + 1):
        words = [f"--splits={splits}", f"--group={group}"]
        result = project(*words)
        assert (result.ret, "unused" in result.stdout.str()) == (0, False)
        assert report(project, *words, "--snapshot-update") != []
    assert project.snapshots() == before

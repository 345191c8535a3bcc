"""Runs with several workers of pytest-xdist."""

from __future__ import annotations

import pytest

from tests.runs.conftest import HELLO, Run
from tests.runs.test_unused import ALL, SYRUPY_TEST, TWO, eval_snapshots


@pytest.mark.measures_processes
def test_workers_share_the_cases(run: Run) -> None:
    run.write({"a.eval.yaml": TWO, "test_b.py": SYRUPY_TEST})
    run.update("-n", "2").assert_outcomes(passed=4)
    assert eval_snapshots(run) == ALL
    result = run("-n", "2")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["4 snapshots passed."])


def test_workers_without_eval_files_run_as_usual(run: Run) -> None:
    run.write({"test_b.py": SYRUPY_TEST})
    run.update("-n", "1").assert_outcomes(passed=1)


def test_a_failure_in_a_worker_is_reported_as_without_workers(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    result = run("-n", "1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': what is sent to openai has no snapshot yet",
            "FAILED a.eval.yaml::hello - what is sent to openai has no snapshot yet",
        ]
    )


def test_unused_snapshots_are_reported_and_removed_once(run: Run) -> None:
    run.write({"a.eval.yaml": TWO})
    run.with_snapshots()
    run.write({"a.eval.yaml": HELLO})
    result = run("-n", "2")
    assert result.ret == 1
    assert result.stdout.str().count("2 eval snapshots unused") == 1
    run.update("-n", "2").stdout.fnmatch_lines(["2 eval snapshots removed: *"])
    assert eval_snapshots(run) == ALL[:1]


def test_a_file_that_fails_to_load_in_the_workers_keeps_its_snapshots(run: Run) -> None:
    run.write({"a.eval.yaml": TWO, "test_b.py": SYRUPY_TEST})
    run.with_snapshots()
    run.write({"a.eval.yaml": "evalcases: ["})
    run("-n", "1", "--snapshot-update", "--continue-on-collection-errors")
    assert run.snapshots() == [*ALL, "__snapshots__/test_b.ambr"]


def test_a_run_of_some_cases_keeps_all_snapshots(run: Run) -> None:
    run.write({"a.eval.yaml": TWO})
    run.with_snapshots()
    run.write({"a.eval.yaml": HELLO + "  - id: third\n    input_messages: [{role: user, content: x}]\n"})
    run.update("-n", "1", "-k", "hello")
    assert eval_snapshots(run) == ALL


HALVES = """
import pytest

HALF = "half a \\ud83d character"

@pytest.fixture
def own_provider(eval_case):
    def send(request):
        if eval_case.id == "raises":
            raise ValueError(HALF)
        return HALF
    return send
"""
HALVES_IN_TESTS = """
import logging
from conftest import HALF

def test_compares(eval_api):
    assert HALF == "\\udc00"

def test_logs(eval_api, record_property):
    logging.error(HALF)
    record_property("half", HALF)
    raise ExceptionGroup(HALF, [KeyError(HALF)])
"""
OWN = """
provider: own
evalcases:
  - {id: raises, outcome: x, input_messages: [{role: user, content: hi}]}
  - {id: answers, outcome: x, input_messages: [{role: user, content: hi}]}
"""


@pytest.mark.parametrize("arguments", [(), ("-n", "1")], ids=["one process", "a worker"])
def test_halves_of_characters_do_not_end_the_run(run: Run, arguments: tuple[str, ...]) -> None:
    run.write({"conftest.py": HALVES, "test_halves.py": HALVES_IN_TESTS, "a.eval.yaml": OWN})
    # In a process of its own: what it logs would end the worker that runs this test.
    options = ["--snapshot-update", "-Wdefault", "--junitxml=junit.xml", "--chatprompt-report=all.html"]
    result = run.apart(*options, *arguments)
    result.assert_outcomes(failed=3, passed=1)
    result.stdout.fnmatch_lines_random(
        [
            "E*ValueError: half a \N{REPLACEMENT CHARACTER} character",
            "ERROR * half a \N{REPLACEMENT CHARACTER} character",
        ]
    )
    assert "half a \N{REPLACEMENT CHARACTER} character" in (run.path / "junit.xml").read_text(encoding="utf-8")

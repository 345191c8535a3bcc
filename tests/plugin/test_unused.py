"""Unused snapshots: which are told and removed, and which never are."""

from __future__ import annotations

import pytest

from .conftest import HELLO, Run

TWO = HELLO + "  - id: second\n    provider: [azure, gemini]\n    input_messages: [{role: user, content: x}]\n"
HELLO_SNAPSHOT = "__snapshots__/a.eval/hello[azure].yaml"
GEMINI_SNAPSHOT = "__snapshots__/a.eval/second[gemini].yaml"
SECOND_SNAPSHOTS = ["__snapshots__/a.eval/second[azure].yaml", GEMINI_SNAPSHOT]
ALL = [HELLO_SNAPSHOT, *SECOND_SNAPSHOTS]

AMBER_TEST = "def test_one(snapshot):\n    assert 'x' == snapshot\n"


@pytest.fixture
def written(run: Run) -> Run:
    """A folder with an eval file and an ordinary test, their snapshots written."""
    run.write({"a.eval.yaml": TWO, "test_b.py": AMBER_TEST})
    run.update().assert_outcomes(passed=4)
    return run


def evals(run: Run) -> list[str]:
    return [name for name in run.snapshots() if name.endswith(".yaml")]


def ambers(run: Run) -> list[str]:
    return [name for name in run.snapshots() if name.endswith(".ambr")]


def test_a_case_that_is_gone_leaves_unused_snapshots_that_are_told(written: Run) -> None:
    written.write({"a.eval.yaml": HELLO})
    result = written()
    assert result.ret == 1
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*- eval snapshots -*",
            "2 eval snapshots unused: the case or the provider is no longer defined.",
            "  __snapshots__/a.eval/second[[]azure[]].yaml",
            "  __snapshots__/a.eval/second[[]gemini[]].yaml",
            "Re-run pytest with --snapshot-update to remove them.",
        ],
        consecutive=True,
    )
    assert evals(written) == ALL


def test_a_provider_that_is_gone_leaves_one_that_an_update_removes(written: Run) -> None:
    written.write({"a.eval.yaml": TWO.replace("[azure, gemini]", "azure")})
    result = written.update()
    result.stdout.fnmatch_lines(["1 eval snapshot removed: the case or the provider is no longer defined."])
    assert evals(written) == ALL[:2]
    assert ambers(written) == ["__snapshots__/test_b.ambr"]


@pytest.mark.parametrize(
    ("arguments", "ret", "told"),
    [
        pytest.param(["--snapshot-warn-unused"], 0, True, id="warned of only"),
        pytest.param(["--snapshot-update", "--snapshot-no-cleanup"], 0, True, id="updated without cleaning up"),
        pytest.param(["--snapshot-disable-unused"], 0, False, id="not looked for"),
    ],
)
def test_syrupys_options_for_unused_snapshots_hold(written: Run, arguments: list[str], ret: int, told: bool) -> None:
    written.write({"a.eval.yaml": HELLO})
    result = written(*arguments)
    assert result.ret == ret
    assert ("2 eval snapshots unused" in result.stdout.str()) is told
    assert evals(written) == ALL


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["-k", "hello"], id="by keyword"),
        pytest.param(["-m", "smoke"], id="by a tag that none has"),
        pytest.param(["a.eval.yaml::hello"], id="by node id"),
        pytest.param(["--deselect", "a.eval.yaml::hello"], id="with one deselected"),
        pytest.param(["--chatprompt-provider", "azure"], id="with a provider named"),
        pytest.param(["-o", "chatprompt_provider=openai"], id="with the ini overridden"),
        pytest.param(["test_b.py"], id="of another file"),
        pytest.param(["--ignore=a.eval.yaml"], id="without the file"),
        pytest.param([".", "--ignore=a.eval.yaml"], id="of the folder without the file"),
        pytest.param(["--collect-only"], id="that only collects"),
        pytest.param(["--setup-plan"], id="that only plans"),
        pytest.param(["-o", "chatprompt_files=nothing.yaml"], id="that collects other files"),
    ],
)
def test_a_run_that_did_not_select_all_of_a_file_leaves_its_snapshots(written: Run, arguments: list[str]) -> None:
    written.write({"a.eval.yaml": HELLO + "  - id: third\n    input_messages: [{role: user, content: x}]\n"})
    result = written("--snapshot-update", *arguments)
    assert set(ALL) <= set(evals(written))
    assert "eval snapshot" not in result.stdout.str()
    assert ambers(written) == ["__snapshots__/test_b.ambr"]


def test_a_file_that_fails_to_load_loses_nothing(written: Run) -> None:
    written.write({"a.eval.yaml": "evalcases: ["})
    for arguments in ([], ["--continue-on-collection-errors"], ["a.eval.yaml"]):
        result = written("--snapshot-update", *arguments)
        assert result.ret != 0
        assert evals(written) == ALL
        assert ambers(written) == ["__snapshots__/test_b.ambr"]


def test_a_file_with_a_broken_case_loses_nothing(written: Run) -> None:
    written.write({"a.eval.yaml": HELLO + "  - id: second\n    provider: []\n"})
    written("--snapshot-update").assert_outcomes(passed=2, errors=1)
    assert evals(written) == ALL


def test_another_file_that_fails_to_load_costs_no_snapshots(written: Run) -> None:
    written.write({"test_b.py": "syntax error"})
    written("--snapshot-update", "--continue-on-collection-errors")
    assert evals(written) == ALL
    assert ambers(written) == ["__snapshots__/test_b.ambr"]


def test_a_run_that_stops_early_loses_nothing(written: Run) -> None:
    written.write({"a.eval.yaml": HELLO, "test_a.py": "def test_it():\n    assert 0\n"})
    written("--snapshot-update", "-x", "test_a.py", "a.eval.yaml", "test_b.py").assert_outcomes(failed=1)
    assert evals(written) == ALL
    assert ambers(written) == ["__snapshots__/test_b.ambr"]


def test_an_interrupted_run_loses_nothing(written: Run) -> None:
    written.write({"a.eval.yaml": HELLO, "test_c.py": "def test_it():\n    raise KeyboardInterrupt\n"})
    result = written.pytester.runpytest_subprocess("--snapshot-update")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert evals(written) == ALL
    assert ambers(written) == ["__snapshots__/test_b.ambr"]
    assert "Unused snapshot detection is disabled" not in result.stdout.str()


def test_skipped_cases_lose_nothing(written: Run) -> None:
    written.write(
        {"conftest.py": "import pytest\n@pytest.fixture\ndef eval_provider():\n    pytest.skip('not today')\n"}
    )
    written("--snapshot-update").assert_outcomes(passed=1, skipped=3)
    written("--snapshot-update", "a.eval.yaml").assert_outcomes(skipped=3)
    assert evals(written) == ALL
    assert ambers(written) == ["__snapshots__/test_b.ambr"]


def test_syrupy_still_removes_its_own_unused_snapshots(written: Run) -> None:
    written.write({"test_b.py": "def test_other(snapshot):\n    assert 'x' == snapshot\n"})
    written.update()
    assert "test_one" not in (written.path / "__snapshots__/test_b.ambr").read_text()
    assert evals(written) == ALL


def test_without_eval_files_syrupy_does_as_ever(run: Run) -> None:
    run.write({"test_b.py": AMBER_TEST, "__snapshots__/test_gone/x.yaml": "a: 1\n", "__snapshots__/test_gone.ambr": ""})
    run.update()
    assert run.snapshots() == ["__snapshots__/test_b.ambr"]

"""The check of eval files without a run, and the hooks of pre-commit that the package offers."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pytest_chatprompt.eval_file_check import main
from tests.conftest import Project

ROOT = Path(__file__).parent.parent
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
GOOD = "evalcases:\n  - id: a\n    input_messages: [{role: user, content: hello}]\n"


@pytest.fixture
def in_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty root folder, which is the working folder."""
    monkeypatch.chdir(project.root)
    return project


def test_valid_files_give_no_output(in_project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    in_project.write("evals/good.eval.yaml", GOOD)
    assert main(["evals/good.eval.yaml"]) == 0
    assert main([]) == 0
    assert capsys.readouterr() == ("", "")


def test_every_problem_of_every_file_is_reported_as_pytest_reports_it(
    in_project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    in_project.write("good.eval.yaml", GOOD)
    in_project.write("evals/case.eval.yaml", GOOD.replace("content", "contnet") + GOOD.replace("evalcases:\n", ""))
    in_project.write(
        "evals/cases.eval.yaml",
        GOOD.replace("content", "contnet") + GOOD.partition("\n")[2].replace("id: a", "id: b").replace("user", "usr"),
    )
    in_project.write("evals/file.eval.yaml", "evalcases: []\n")
    template = GOOD.replace("hello", '"{{ nmae }}"').replace("id: a", "id: a\n    parametrize: [{name: Ada}]")
    in_project.write("evals/rows.eval.yaml", template)
    names = ["evals/case.eval.yaml", "evals/cases.eval.yaml", "evals/file.eval.yaml", "evals/rows.eval.yaml"]
    assert main(["good.eval.yaml", *names]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "evals/case.eval.yaml:4:9: the id 'a' is used twice, first on line 2",
        "evals/cases.eval.yaml:3:35: case 'a': unknown key 'contnet'; did you mean 'content'?",
        "evals/cases.eval.yaml:5:29: case 'b': unknown role: 'usr'; did you mean 'user'?",
        "evals/file.eval.yaml:1:12: 'evalcases' is empty",
        "evals/rows.eval.yaml:4:44: case 'a[0]': unknown variable 'nmae'; did you mean 'name'? "
        "(row at evals/rows.eval.yaml:3:19)",
    ]


@pytest.mark.measures_processes
def test_the_hook_is_a_command_that_exists(in_project: Project) -> None:
    in_project.write("good.eval.yaml", GOOD)
    in_project.write("bad.eval.yaml", "evalcases: []\n")
    python, *arguments = shlex.split(HOOKS["chatprompt-eval-files"]["entry"])
    assert python == "python"
    for name, status in (("good", 0), ("bad", 1)):
        result = subprocess.run([sys.executable, *arguments, f"{name}.eval.yaml"], capture_output=True, check=False)
        assert (result.returncode, result.stderr) == (status, b"")


@pytest.mark.parametrize(
    ("path", "is_checked"),
    [
        ("a.eval.yaml", True),
        ("evals/a.eval.yml", True),
        ("a.yaml", False),
        ("a.eval.yaml.orig", False),
        ("evals/__snapshots__/a.eval/a.eval.yaml", False),
    ],
)
def test_the_hook_checks_what_pytest_collects_by_default(path: str, is_checked: bool) -> None:
    hook = HOOKS["chatprompt-eval-files"]
    assert bool(re.search(hook["files"], path) and not re.search(hook["exclude"], path)) is is_checked


def test_the_other_hook_runs_all_of_pytest_in_the_environment_of_the_project() -> None:
    hook = HOOKS["chatprompt-snapshots"]
    assert (hook["language"], hook["entry"], hook["pass_filenames"]) == ("system", "python -m pytest", False)

"""Which files are eval files, and what the options do that need no eval file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_chatprompt.eval_schema import SCHEMA_FILE
from pytest_chatprompt.options import is_eval_file

ROOT = Path("/home/evals/project")


@pytest.mark.parametrize(
    ("path", "pattern", "matches"),
    [
        pytest.param("evals/a.eval.yaml", "*.eval.yaml", True, id="the name"),
        pytest.param("evals/a.yaml", "*.eval.yaml", False, id="another name"),
        pytest.param("evals/a.yaml", "evals/*.yaml", True, id="the end of the path"),
        pytest.param("x/evals/a.yaml", "evals/*.yaml", True, id="the end of a longer path"),
        pytest.param("evals/x/a.yaml", "evals/*.yaml", False, id="one star stays inside a folder"),
        pytest.param("evals/a.yaml", "evals/**/*.yaml", True, id="two stars match no folder"),
        pytest.param("evals/x/a.yaml", "evals/**/*.yaml", True, id="two stars match a folder"),
        pytest.param("evals/x/y/z/a.yaml", "evals/**/*.yaml", True, id="two stars match several folders"),
        pytest.param("x/evals/y/a.yaml", "evals/**/*.yaml", True, id="two stars in the end of a path"),
        pytest.param("other/x/a.yaml", "evals/**/*.yaml", False, id="two stars do not replace what is before them"),
        pytest.param("evals/x/a.yml", "evals/**/*.yaml", False, id="two stars do not replace what is behind them"),
        pytest.param("a.yaml", "**/*.yaml", True, id="two stars at the start"),
        pytest.param("evals/x/a.yaml", "./evals/**/*.yaml", True, id="a leading ./ says nothing"),
        pytest.param("evals/x/a.yaml", "evals/**", True, id="two stars at the end match any file"),
        pytest.param("evals", "evals/**", False, id="two stars at the end need a file"),
        pytest.param("evals/x/cases/y/a.yaml", "evals/**/cases/**/*.yaml", True, id="two stars twice"),
        pytest.param("evals/x/y/a.yaml", "evals/**/cases/**/*.yaml", False, id="two stars twice without the folder"),
        pytest.param("x/a.yaml", "evals/**/*.yaml", False, id="folders above the root do not count"),
    ],
)
def test_a_glob_is_compared_with_the_name_or_with_the_end_of_the_path(path: str, pattern: str, matches: bool) -> None:
    assert is_eval_file(ROOT / path, [pattern], ROOT) is matches
    assert is_eval_file(ROOT / path, ["nothing", pattern], ROOT) is matches


def test_a_file_outside_of_the_root_is_compared_with_its_whole_path() -> None:
    assert is_eval_file(Path("/elsewhere/evals/x/a.yaml"), ["evals/**/*.yaml"], ROOT)
    assert not is_eval_file(Path("/elsewhere/evals/x/a.yaml"), [], ROOT)


def test_the_schema_is_printed_and_nothing_is_collected(pytester: pytest.Pytester) -> None:
    pytester.makefile(".eval.yaml", broken="evalcases: 3")
    pytester.makepyfile("def test_it():\n    raise AssertionError")
    result = pytester.runpytest("--chatprompt-schema", "-p", "no:syrupy", "missing.py")
    assert result.ret == pytest.ExitCode.OK
    assert "\n".join([*result.outlines, ""]) == SCHEMA_FILE.read_text(encoding="utf-8")
    assert result.errlines == []


def test_the_schema_is_printed_outside_of_a_project_where_only_this_plugin_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    command = [sys.executable, "-m", "pytest", "-p", "pytest_chatprompt.plugin", "--chatprompt-schema"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert result.stdout.splitlines() == SCHEMA_FILE.read_bytes().splitlines()
    assert list(tmp_path.iterdir()) == []

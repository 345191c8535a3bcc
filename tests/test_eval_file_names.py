"""Which files are eval files."""

from __future__ import annotations

from pathlib import Path

import pytest

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

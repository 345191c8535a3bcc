"""The guideline patterns of AgentV's settings."""

from __future__ import annotations

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.cases.loader import find_guideline_patterns
from tests.conftest import Project


def test_without_settings_there_are_no_patterns(project: Project) -> None:
    assert find_guideline_patterns(project.root / "evals", project.root) == ()


def test_the_nearest_settings_apply(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: [far]\n")
    project.write("evals/.agentv/config.yaml", "$schema: agentv-config-v2\nguideline_patterns: [near]\n")
    assert find_guideline_patterns(project.root / "evals" / "deep", project.root) == ("near",)
    assert find_guideline_patterns(project.root, project.root) == ("far",)


def test_the_nearest_settings_apply_even_if_they_have_no_patterns(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: [far]\n")
    for content in ("eval_patterns: [x]\n", "guideline_patterns:\n", "guideline_patterns: []\n", ""):
        project.write("evals/.agentv/config.yaml", content)
        assert find_guideline_patterns(project.root / "evals", project.root) == ()


def test_settings_above_the_root_folder_are_ignored(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: [outside]\n")
    assert find_guideline_patterns(project.root / "repo" / "evals", project.root / "repo") == ()


def test_above_a_folder_outside_the_root_nothing_is_looked_for(project: Project) -> None:
    project.write("x/.agentv/config.yaml", "guideline_patterns: [outside]\n")
    assert find_guideline_patterns(project.root / "x" / "deep", project.root / "y") == ()


def test_settings_without_patterns_give_none(project: Project) -> None:
    project.write(".agentv/config.yaml", "eval_patterns: [x]\n")
    assert find_guideline_patterns(project.root, project.root) == ()
    project.write(".agentv/config.yaml", "")
    assert find_guideline_patterns(project.root, project.root) == ()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            b"guideline_patterns: x\n",
            ".agentv/config.yaml:1:21: 'guideline_patterns' must be a list, but is 'x'",
            id="not a list",
        ),
        pytest.param(
            b"guideline_patterns: [1]\n",
            ".agentv/config.yaml:1:22: 'guideline_patterns[0]' must be a string, but is the number 1;"
            " put it in quotes if you mean text",
            id="not strings",
        ),
        pytest.param(b"\xff", ".agentv/config.yaml:1:1: this file is not valid UTF-8 (byte 0xFF)", id="not UTF-8"),
        pytest.param(
            b"a: *x\n",
            ".agentv/config.yaml:1:4: the alias *x has no anchor &x before it; put it in quotes if you mean text",
            id="not YAML",
        ),
    ],
)
def test_a_problem_in_the_settings_is_reported_at_its_position(project: Project, content: bytes, message: str) -> None:
    project.write(".agentv/config.yaml", content)
    with pytest.raises(EvalFileError) as caught:
        find_guideline_patterns(project.root, project.root)
    assert str(caught.value) == message


def test_settings_outside_the_root_are_reported_with_their_full_path(project: Project) -> None:
    path = project.write("x/.agentv/config.yaml", "guideline_patterns: x\n")
    with pytest.raises(EvalFileError) as caught:
        find_guideline_patterns(project.root / "x", project.root / "y")
    assert str(caught.value).startswith(path.as_posix())

"""AgentV's project settings."""

from __future__ import annotations

import pytest

from pytest_chatprompt import EvalFileError
from pytest_chatprompt.agentv import guideline_patterns

from .conftest import Project


def test_without_settings_there_are_no_patterns(project: Project) -> None:
    assert guideline_patterns(project.root / "evals", project.root) == ()


def test_the_nearest_settings_count(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: [far]\n")
    project.write("evals/.agentv/config.yaml", "$schema: agentv-config-v2\nguideline_patterns: [near]\n")
    assert guideline_patterns(project.root / "evals" / "deep", project.root) == ("near",)
    assert guideline_patterns(project.root, project.root) == ("far",)


def test_settings_above_the_root_folder_do_not_count(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: [outside]\n")
    assert guideline_patterns(project.root / "repo" / "evals", project.root / "repo") == ()


def test_settings_without_patterns_give_none(project: Project) -> None:
    project.write(".agentv/config.yaml", "eval_patterns: [x]\n")
    assert guideline_patterns(project.root, project.root) == ()
    project.write(".agentv/config.yaml", "")
    assert guideline_patterns(project.root, project.root) == ()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        pytest.param(
            b"guideline_patterns: x\n",
            ".agentv/config.yaml:1:21: 'guideline_patterns' must be a list of strings",
            id="no list",
        ),
        pytest.param(
            b"guideline_patterns: [1]\n",
            ".agentv/config.yaml:1:21: 'guideline_patterns' must be a list of strings",
            id="no strings",
        ),
        pytest.param(b"\xff", ".agentv/config.yaml:1:1: this file is no UTF-8 text (byte 0xFF)", id="no UTF-8"),
        pytest.param(b"a: *x\n", ".agentv/config.yaml:1:4: the alias *x has no anchor &x before it", id="no YAML"),
    ],
)
def test_a_mistake_in_the_settings_is_told_at_its_place(project: Project, content: bytes, told: str) -> None:
    project.write(".agentv/config.yaml", content)
    with pytest.raises(EvalFileError) as caught:
        guideline_patterns(project.root, project.root)
    assert str(caught.value) == told


def test_settings_beside_a_file_outside_of_the_root_are_told_by_their_whole_path(project: Project) -> None:
    path = project.write("x/.agentv/config.yaml", "guideline_patterns: x\n")
    with pytest.raises(EvalFileError) as caught:
        guideline_patterns(project.root / "x", project.root / "y")
    assert str(caught.value).startswith(path.as_posix())

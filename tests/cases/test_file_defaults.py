"""What a case takes over from its file, and from the settings behind it."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pytest_chatprompt import EvalCase, EvalFileError
from pytest_chatprompt.cases.loader import load_eval_file
from tests.conftest import Project

HELLO = "    input_messages: [{role: user, content: hello}]\n"


def test_a_cases_own_values_override_the_files_and_tags_add_up(project: Project) -> None:
    head = """
provider: azure
tags: [slow, smoke]
metadata: {systemPrompt: The file's., team: a}
guideline_patterns: ["file/*.md"]
"""
    plain = project.case("input_messages: [{role: user, content: hi}]", head)
    assert (plain.provider, plain.tags, plain.guideline_patterns) == ("azure", ("slow", "smoke"), ("file/*.md",))
    assert plain.metadata == {"systemPrompt": "The file's.", "team": "a"}
    own = project.case(
        """
provider: gemini
tags: [smoke, new]
metadata: {systemPrompt: The case's.}
guideline_patterns: []
input_messages: [{role: user, content: hi}]
""",
        head,
    )
    assert (own.provider, own.tags, own.guideline_patterns) == ("gemini", ("slow", "smoke", "new"), ())
    assert own.metadata == {"systemPrompt": "The case's.", "team": "a"}


@pytest.mark.parametrize(
    ("head", "body", "provider"),
    [
        pytest.param("target: x", "", "x", id="the file's target"),
        pytest.param("target: default", "", None, id="default means the default provider"),
        pytest.param("target: x", "target: default", None, id="default in a case overrides the file's target"),
        pytest.param("target: x", "execution: {target: y, evaluators: [z]}", "y", id="execution.target"),
        pytest.param("execution: {target: x}", "execution: {evaluators: [z]}", "x", id="an execution without target"),
        pytest.param("", "execution: {target: y}\ntarget: z", "y", id="execution.target before target"),
        pytest.param("", "provider: p\ntarget: z", "p", id="provider before target"),
    ],
)
def test_a_target_of_agentv_names_the_provider(project: Project, head: str, body: str, provider: str | None) -> None:
    case = project.case(f"{body}\ninput_messages: [{{role: user, content: hi}}]", head)
    assert case.provider == provider


def test_a_system_prompt_of_null_does_not_override_the_files(project: Project) -> None:
    body = "metadata: {systemPrompt: null}\ninput_messages: [{role: user, content: hi}]"
    assert project.case(body, "metadata: {systemPrompt: The file's.}").system_prompt == "The file's."


def test_settings_of_agentv_are_read_only_if_nothing_else_sets_patterns(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: 3")
    body = "input_messages: [{role: user, content: hi}]"
    assert project.case(body, "guideline_patterns: [x]").guideline_patterns == ("x",)
    with pytest.raises(EvalFileError):
        project.case(body)


def test_default_patterns_apply_if_the_file_sets_none(project: Project) -> None:
    project.write(".agentv/config.yaml", "guideline_patterns: [agentv]\n")
    path = project.write("evals/a.eval.yaml", f"evalcases:\n  - id: a\n{HELLO}")
    (given,) = load_eval_file(path, project.root, ["ini"])
    (not_given,) = load_eval_file(path, project.root)
    assert (given.render().guideline_patterns, not_given.render().guideline_patterns) == (("ini",), ("agentv",))


def test_values_from_the_file_are_set_and_frozen_like_the_cases_own(project: Project) -> None:
    path = project.write(
        "a.eval.yaml",
        "provider: openai\ntags: [b]\nevalcases: [{id: a, expected_outcome: x, input_messages: "
        "[{role: user, content: hi}]}]\n",
    )
    case, again = (load_eval_file(path, project.root)[0].render() for _ in range(2))
    assert case.model_dump(exclude_unset=True) == {
        "provider": "openai",
        "metadata": {},
        "guideline_patterns": (),
        "tags": ("b",),
        "expected_outcome": "x",
        "id": "a",
        "outcome": "x",
        "input_messages": ({"role": "user", "content": "hi"},),
    }
    assert EvalCase(**dict(case)).tags == case.tags
    assert case.model_copy(update={"tags": ("x",)}).line == case.line == 3
    assert case == case.model_copy()
    assert case == again
    for name in ("origin", "provider"):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(case, name, None)


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        pytest.param("", "", (None, None), id="neither is set"),
        pytest.param("repeat: 5\npass_rate: 0.8", "", (5, 0.8), id="of the file"),
        pytest.param("", "repeat: 3\npass_rate: 1", (3, 1.0), id="of the case"),
        pytest.param("repeat: 5\npass_rate: 0.8", "repeat: 1", (1, 0.8), id="each by itself"),
        pytest.param("repeat: 5\npass_rate: 0.8", "repeat: null\npass_rate: 0.25", (5, 0.25), id="null is not set"),
    ],
)
def test_repeat_and_pass_rate_of_a_case_win_over_those_of_its_file(
    project: Project, head: str, body: str, expected: tuple[int | None, float | None]
) -> None:
    case = project.case(f"{body}\ninput_messages: [{{role: user, content: hi}}]", head)
    assert (case.repeat, case.pass_rate) == expected

"""Keys that are valid and have no effect: which are warned about, where, and how often."""

from __future__ import annotations

import pytest

from pytest_chatprompt.cases.loader import load_eval_file
from tests.conftest import Project

HELLO = "    input_messages: [{role: user, content: hi}]\n"
CHECKS = "check answers with 'checks', in the hook pytest_chatprompt_response, or in a fixture that takes eval_response"


def warnings(project: Project, head: str, *bodies: str) -> list[str]:
    """What is said about a file with a case for each body; the cases begin below the head."""
    cases = "".join(
        f"  - id: {name}\n{HELLO}" + "".join(f"    {line}\n" for line in body.splitlines())
        for name, body in zip("ab", bodies, strict=False)
    )
    path = project.write("a.eval.yaml", f"{head}\nevalcases:\n{cases}")
    found: list[str] = []
    load_eval_file(path, project.root, warn=lambda diagnostic: found.append(str(diagnostic)))
    return [text.removeprefix("a.eval.yaml:") for text in found]


@pytest.mark.parametrize(
    ("head", "body", "warning"),
    [
        ("", "evaluators: [{name: x}]", f"5:5: case 'a': 'evaluators' grades nothing here; {CHECKS}"),
        ("rubrics: [x]", "", f"1:1: 'rubrics' grades nothing here; {CHECKS}"),
        ("", "evaluator: llm_judge", f"5:5: case 'a': 'evaluator' grades nothing here; {CHECKS}"),
        (
            "execution: {evaluators: [{name: x}]}",
            "",
            f"1:13: 'execution.evaluators' grades nothing here; {CHECKS}",
        ),
        (
            "rubrics: [x]",
            "evaluators: [y]\nrubrics: [z]",
            f"1:1: 'rubrics' and 'evaluators' grade nothing here; {CHECKS}",
        ),
        (
            "metadata: {temperature: 0}",
            "",
            "1:12: 'metadata.temperature' does not change what is sent; write it under 'settings'",
        ),
        (
            "",
            "metadata: {owner: me, maxTokens: 5}",
            "5:27: case 'a': 'metadata.maxTokens' does not change what is sent; "
            "write 'max_output_tokens' under 'settings'",
        ),
        (
            "",
            "metadata: {tools: []}",
            "5:16: case 'a': 'metadata.tools' does not change what is sent; write it beside 'metadata'",
        ),
        (
            "",
            "metadata: {functions: []}",
            "5:16: case 'a': 'metadata.functions' does not change what is sent; write 'tools' beside 'metadata'",
        ),
        (
            "execution: {model: gpt}",
            "",
            "1:13: 'execution.model' does not change what is sent; write it under 'settings'",
        ),
    ],
)
def test_a_key_without_effect_is_warned_about(project: Project, head: str, body: str, warning: str) -> None:
    assert warnings(project, head, body) == [warning]


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("dataset: d\nnote: n\nconversation_id: c\ndescription: d", "dataset: d\nnote: n\nconversation_id: c"),
        ("execution: {target: x}\ntarget: y\nexpected_outcome: z", "expected_output: x"),
        ("evaluators: []\nrubrics:\nevaluator: {}", "metadata: {systemPrompt: x, owner: me}\nexecution: {3: y}"),
        ("", "outcome:\nexpected_outcome: y"),
        ("x-evaluators: [a]", "metadata:"),
    ],
)
def test_documentation_and_empty_keys_are_not_warned_about(project: Project, head: str, body: str) -> None:
    assert warnings(project, head, body) == []


def test_each_key_is_warned_about_once_for_a_file(project: Project) -> None:
    body = "rubrics: [x]\nmetadata: {seed: 1}"
    found = warnings(project, "", body, body)
    assert [text.partition(": ")[0] for text in found] == ["5:5", "6:16"]


def test_each_of_several_keys_is_warned_about(project: Project) -> None:
    body = "metadata: {seed: 1, tools: []}"
    found = warnings(project, "execution: {seed: 1}", body)
    assert [text.partition(" ")[2].removeprefix("case 'a': ").partition(" ")[0] for text in found] == [
        "'execution.seed'",
        "'metadata.seed'",
        "'metadata.tools'",
    ]

"""Texts that look like templates in cases without variables."""

from __future__ import annotations

import pytest

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.lint import find_literal_template
from pytest_chatprompt.cases.loader import load_eval_file
from tests.conftest import Project

ADVICE = (
    "is sent as it is, because neither the case nor its file has 'vars' or 'parametrize'; "
    "define the variable there, or filter this warning"
)


def found(project: Project, text: str) -> str | None:
    loaded = load_eval_file(project.write("a.eval.yaml", text), project.root)
    diagnostic = find_literal_template([case.written for case in loaded if isinstance(case.written, EvalCase)])
    return None if diagnostic is None else str(diagnostic)


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        pytest.param("[{role: user, content: 'Hi {{ name }}'}]", "3:44: case 'a': {{ name }}", id="a text"),
        pytest.param(
            "[{role: user, content: [{type: text, value: x}, {type: file, value: 'x/{{name|lower}}'}]}]",
            "3:89: case 'a': {{name|lower}}",
            id="a path with a filter",
        ),
        pytest.param(
            "[{role: user, content: [{type: text, file: '{{ name }}.txt'}]}]",
            "3:64: case 'a': {{ name }}",
            id="the file of a text",
        ),
        pytest.param(
            "[{role: user, content: [{type: text, value: x}]}, {role: user, content: 'Hi {{ name }}'}]",
            "3:93: case 'a': {{ name }}",
            id="a later message",
        ),
        pytest.param("[{role: user, content: '{{- city.name -}}'}]", "3:44: case 'a': {{- city.name -}}", id="an attribute"),
    ],
)  # fmt: skip
def test_a_variable_is_found(project: Project, messages: str, place: str) -> None:
    assert found(project, f"evalcases:\n  - id: a\n    input_messages: {messages}\n") == f"a.eval.yaml:{place} {ADVICE}"


def test_a_variable_in_the_system_prompt_is_found(project: Project) -> None:
    text = "evalcases:\n  - id: a\n    metadata: {systemPrompt: 'I am {{ me }}'}\n    input_messages: [{role: user, content: hi}]\n"
    assert found(project, text) == f"a.eval.yaml:3:30: case 'a': {{{{ me }}}} {ADVICE}"


@pytest.mark.parametrize(
    "case",
    [
        pytest.param("input_messages: [{role: user, content: 'no'}]", id="no braces"),
        pytest.param("input_messages: [{role: user, content: 'f({{}}) {{ 1 }} {{a: 1}} {{ a b }}'}]", id="code"),
        pytest.param("outcome: '{{ x }}'\n    input_messages: [{role: user, content: no}]", id="what is not sent"),
        pytest.param(
            "vars: {x: 1}\n    input_messages: [{role: user, content: '{{ x }}'}]", id="a case with variables"
        ),
    ],
)
def test_nothing_else_is(project: Project, case: str) -> None:
    assert found(project, f"evalcases:\n  - id: a\n    {case}\n") is None


def test_a_case_with_variables_beside_one_without(project: Project) -> None:
    hello = "input_messages: [{role: user, content: '{{ x }}'}]"
    text = f"evalcases:\n  - id: a\n    vars: {{x: 1}}\n    {hello}\n  - id: b\n    {hello}\n"
    project.write("a.eval.yaml", text)
    loaded = load_eval_file(project.root / "a.eval.yaml", project.root)
    written = [case.written for case in loaded if isinstance(case.written, EvalCase)]
    diagnostic = find_literal_template(written)
    assert diagnostic is not None
    assert diagnostic.case_id == "b"


def test_a_file_whose_cases_are_all_invalid_has_none() -> None:
    assert find_literal_template([]) is None

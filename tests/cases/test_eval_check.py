"""`checks` as authors write them: read, added up, and filled in."""

from __future__ import annotations

import json

import pytest

from pytest_chatprompt import EvalCase, EvalCheck, EvalFileError, EvalMessage
from tests.conftest import Project

MESSAGES = "input_messages: [{role: user, content: hi}]"


def test_a_check_is_its_type_and_the_rest_as_written(project: Project) -> None:
    case = project.case(
        f"checks: [{{type: not-contains, value: [1, {{a: b}}], of: request, x-note: mine}}]\n{MESSAGES}"
    )
    (check,) = case.checks
    assert check == EvalCheck("not-contains", {"value": (1, {"a": "b"}), "of": "request"})
    assert check.location == ("evalcases", 0, "checks", 0)
    with pytest.raises(TypeError, match="cannot be changed"):
        check.arguments["value"] = 1  # type: ignore[index]


def test_checks_of_the_file_come_before_those_of_the_case(project: Project) -> None:
    head = "checks: [{type: one}, {type: two}]"
    own, other = project.cases(
        f"{head}\nevalcases:\n- {{id: a, checks: [{{type: three}}], {MESSAGES}}}\n- {{id: b, {MESSAGES}}}\n"
    )
    assert [(check.type, check.location) for check in own.checks] == [
        ("one", ("checks", 0)),
        ("two", ("checks", 1)),
        ("three", ("evalcases", 0, "checks", 0)),
    ]
    assert [check.type for check in other.checks] == ["one", "two"]


def test_a_case_without_checks_has_none(project: Project) -> None:
    assert project.case(MESSAGES).checks == ()
    assert "checks" not in project.case(MESSAGES).model_fields_set


@pytest.mark.parametrize(
    ("checks", "error"),
    [
        ("3", "3:13: case 'a': 'checks' must be a list of checks, but is the number 3"),
        ("{type: contains}", "3:13: case 'a': 'checks' must be a list of checks, but is a mapping"),
        ("[contains]", "3:14: case 'a': a check must be {type: TYPE, value: ...}"),
        ("[{contains: x}]", "3:14: case 'a': a check must be {type: TYPE, value: ...}"),
        ("[{type: 3}]", "3:21: case 'a': 'checks[0].type' must be the name of a type, but is the number 3"),
        ("[{type: ''}]", "3:21: case 'a': 'checks[0].type' must be the name of a type, but is ''"),
        (
            "[{type: a, value: .inf}]",
            "3:31: case 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text",
        ),
    ],
)
def test_a_check_that_is_none_is_an_error_at_its_place(project: Project, checks: str, error: str) -> None:
    with pytest.raises(EvalFileError) as raised:
        project.cases(f"evalcases:\n- id: a\n  checks:   {checks}\n  {MESSAGES}\n")
    assert str(raised.value) == f"evals/a.eval.yaml:{error}"


def test_all_that_is_wrong_is_told(project: Project) -> None:
    with pytest.raises(EvalFileError) as raised:
        project.cases(f"checks: [a, {{type: 1}}]\nevalcases:\n- {{id: a, {MESSAGES}}}\n")
    assert str(raised.value).splitlines() == [
        "evals/a.eval.yaml:1:10: a check must be {type: TYPE, value: ...}",
        "evals/a.eval.yaml:1:20: 'checks[1].type' must be the name of a type, but is the number 1",
    ]


def test_the_texts_of_a_check_are_templates_but_for_its_words(project: Project) -> None:
    checks = (
        "[{type: contains, of: request, value: '{{ a }}', arguments: {'{{ a }}': ['{{ a }}!', 3, {b: '{{ a }}'}]}}]"
    )
    case = project.case(f"vars: {{a: x}}\nchecks: {checks}\n{MESSAGES}")
    assert case.checks == (
        EvalCheck("contains", {"of": "request", "value": "x", "arguments": {"{{ a }}": ("x!", 3, {"b": "x"})}}),
    )


def test_a_template_that_fails_is_told_at_the_check_that_has_it(project: Project) -> None:
    project.write("evals/rows.jsonl", '{"id": "one", "a": "x"}\n')
    with pytest.raises(EvalFileError) as raised:
        project.cases(
            "checks:\n- {type: contains, value: 'so: {{ b }}'}\nevalcases:\n- id: a\n  parametrize: rows.jsonl\n"
            f"  checks:\n  - {{type: contains, value: 'so: {{{{ b }}}}'}}\n  - {{type: contains, value: ['{{{{ c }}}}']}}\n"
            f"  {MESSAGES}\n"
        )
    assert [line.split("; ")[0] for line in str(raised.value).splitlines()] == [
        "evals/a.eval.yaml:2:27: case 'a[one]': unknown variable 'b'",
        "evals/a.eval.yaml:7:29: case 'a[one]': unknown variable 'b'",
        "evals/a.eval.yaml:8:30: case 'a[one]': unknown variable 'c'",
    ]


def test_a_fixture_may_add_checks() -> None:
    added = EvalCheck("contains", {"value": "x"})
    case = EvalCase(id="a", input_messages=[EvalMessage(role="user", content="hi")], checks=[added, {"type": "b"}])  # type: ignore[arg-type]
    assert case.checks == (added, EvalCheck("b"))


def test_checks_can_be_serialized(project: Project) -> None:
    case = project.case(f"checks: [{{type: contains_any, value: [a, b]}}]\n{MESSAGES}")
    data = json.loads(case.model_dump_json())
    arguments = {"value": ["a", "b"]}
    assert data["checks"] == [
        {"type": "contains_any", "arguments": arguments, "location": ["evalcases", 0, "checks", 0]}
    ]
    assert case.model_dump()["checks"][0]["type"] == "contains_any"

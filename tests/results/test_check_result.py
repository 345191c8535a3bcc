"""What a check said, as a record: its words, its place, and how it is made of a graded check."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import FileReader, ProviderResponse, SentData
from pytest_chatprompt.grading.grade import grade
from pytest_chatprompt.grading.parsing import parse_checks
from pytest_chatprompt.results.records import CheckResult, check_result
from tests.conftest import Project

BODY = """
checks:
- {type: not-icontains, value: hello}
- {type: tool_called, value: find, arguments: {ids: [1]}}
- {type: is_json, of: request}
- {type: max_output_tokens, value: 3}
input_messages: [{role: user, content: hi}]
"""


def results(project: Project, *, with_place: bool) -> list[CheckResult]:
    case = project.case(BODY)
    subjects: dict[str, ProviderResponse | SentData] = {
        "answer": ProviderResponse(text="Hello!"),
        "request": SentData({"a": 1}),
    }
    graded = [grade(check, case, subjects[check.of]) for check in parse_checks(case, FileReader(project.root))]
    return [check_result(each, case, with_place=with_place) for each in graded]


def test_a_graded_check_is_a_record_with_its_value_verdict_reason_and_place(project: Project) -> None:
    assert [result.model_dump(exclude_defaults=True) for result in results(project, with_place=True)] == [
        {
            "type": "icontains",
            "is_negated": True,
            "value": "hello",
            "passed": False,
            "reason": "contains it at character 1",
            "path": "evals/a.eval.yaml",
            "line": 5,
            "column": 7,
        },
        {
            "type": "tool_called",
            "value": "find",
            "arguments": {"arguments": {"ids": [1]}},
            "passed": False,
            "reason": "calls no tool",
            "path": "evals/a.eval.yaml",
            "line": 6,
            "column": 7,
        },
        {
            "type": "is_json",
            "of": "request",
            "passed": True,
            "reason": "is JSON",
            "path": "evals/a.eval.yaml",
            "line": 7,
            "column": 7,
        },
        {
            "type": "max_output_tokens",
            "value": 3,
            "passed": None,
            "reason": "the provider does not report how many tokens the answer has",
            "path": "evals/a.eval.yaml",
            "line": 8,
            "column": 7,
        },
    ]


def test_without_places_only_that_of_a_check_that_does_not_pass_is_looked_up(project: Project) -> None:
    assert [result.place for result in results(project, with_place=False)] == [
        "evals/a.eval.yaml:5:7",
        "evals/a.eval.yaml:6:7",
        "",
        "evals/a.eval.yaml:8:7",
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"type": "contains", "value": "x", "passed": True}, ("contains", "contains 'x'", "passed")),
        (
            {"type": "contains", "is_negated": True, "value": "x", "passed": False},
            ("not_contains", "not_contains 'x'", "failed"),
        ),
        ({"type": "is_json", "of": "request", "passed": None}, ("is_json", "is_json of='request'", "not graded")),
        (
            {"type": "tool_called", "value": "t", "arguments": {"arguments": {"a": [1]}}, "passed": True},
            ("tool_called", "tool_called 't' arguments={'a': [1]}", "passed"),
        ),
    ],
)
def test_a_record_says_in_words_what_was_checked_and_what_came_of_it(
    fields: dict[str, Any], words: tuple[str, str, str]
) -> None:
    result = CheckResult(reason="r", **fields)
    assert (result.name, result.description, result.verdict) == words

"""Checks made from what their author wrote."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from pytest_chatprompt import EvalCheck, EvalFileError
from pytest_chatprompt.grading.table import CHECKS, _installed, find_type, parse_checks
from pytest_chatprompt.prompt.attachments import FileReader
from tests.conftest import Project
from tests.grading.conftest import case_with, graded

ALL_TYPES = f"{', '.join(CHECKS)}, and not_... of each"
ODD = "must be an odd whole number, 1 or more, so that there is a majority"
MESSAGES = "input_messages: [{role: user, content: hi}]"


def parse(project: Project, body: str, head: str = "") -> list[str]:
    """The errors of the checks of a case."""
    case = project.case(f"{body}\n{MESSAGES}", head)
    try:
        parse_checks(case, FileReader(project.root))
    except EvalFileError as error:
        return str(error).splitlines()
    return []


@pytest.mark.parametrize(
    ("check", "column", "text"),
    [
        ("type: contain, value: x", 14, "unknown check type: 'contain'; did you mean 'contains'?"),
        ("type: not-contain, value: x", 14, "unknown check type: 'not-contain'; did you mean 'contains'?"),
        ("type: zzz", 14, f"unknown check type: 'zzz'; the types are {ALL_TYPES}"),
        ("type: latency, value: 2", 14, "unknown check type: 'latency'; here this is 'max_latency_seconds'"),
        (
            "type: llm-rubric",
            14,
            "'llm_rubric' needs a 'value', or an 'outcome' of its case, that says what a good answer does",
        ),
        (
            "type: llm_rubric, value: ' '",
            33,
            "'value' must be a text that says what a good answer does, but is ' '",
        ),
        (
            "type: llm_rubric, value: 3",
            33,
            "'value' must be a text that says what a good answer does, but is the number 3",
        ),
        ("type: llm_rubric, value: a, votes: 2", 43, f"'votes' {ODD}, but is the number 2"),
        ("type: llm_rubric, value: a, votes: -1", 43, f"'votes' {ODD}, but is the number -1"),
        ("type: llm_rubric, value: a, votes: true", 43, f"'votes' {ODD}, but is the boolean true (true)"),
        ("type: llm_rubric, value: a, votes: '3'", 43, f"'votes' {ODD}, but is '3'"),
        ("type: llm_rubric, value: a, votse: 3", 36, "unknown key 'votse'; did you mean 'votes'?"),
        (
            "type: llm_rubric, value: a, template: judge.txt",
            46,
            "'template' must be a list of messages, or the path of a .json, .yaml or .yml file, but is 'judge.txt'",
        ),
        (
            "type: llm_rubric, value: a, template: 3",
            46,
            "'template' must be the path of a .json, .yaml or .yml file, but is the number 3",
        ),
        ("type: llm_rubric, value: a, template: no.yaml", 46, "file no.yaml not found; tried evals/no.yaml, no.yaml"),
        ("type: contains", 7, "missing key 'value'"),
        ("type: contains, valeu: x, value: y", 24, "unknown key 'valeu'; did you mean 'value'?"),
        (
            "type: contains, value: 3",
            31,
            "'value' must be a string, but is the number 3; put it in quotes if you mean text",
        ),
        ("type: contains, value: [a]", 31, "'value' must be a string, but is a list"),
        ("type: contains, value: ''", 31, "'value' is empty"),
        (
            "type: equals, value: 3",
            29,
            "'value' must be a string, but is the number 3; put it in quotes if you mean text",
        ),
        ("type: contains_any, value: a", 35, "'value' must be a list, but is 'a'"),
        ("type: contains_any, value: []", 35, "'value' is empty"),
        (
            "type: contains_any, value: [a, 3]",
            39,
            "'value[1]' must be a string, but is the number 3; put it in quotes if you mean text",
        ),
        ("type: contains_any, value: [a, '']", 39, "'value[1]' is empty"),
        (
            "type: regex, value: '(a'",
            28,
            "not a valid regular expression: missing ), unterminated subpattern at position 0",
        ),
        ("type: regex, value: ''", 28, "'value' is empty"),
        (
            "type: regex, value: 3",
            28,
            "'value' must be a string, but is the number 3; put it in quotes if you mean text",
        ),
        ("type: is_json, value: 3", 30, "'value' must be a JSON Schema, as a mapping, but is the number 3"),
        (
            "type: is_json, value: schema.txt",
            30,
            "'value' must be a JSON Schema, or the path of a .json, .yaml or .yml file, but is 'schema.txt'",
        ),
        ("type: is_json, value: no.json", 30, "file no.json not found; tried evals/no.json, no.json"),
        (
            "type: is_json, value: {properties: {a: {type: txt}}}",
            54,
            "not a valid JSON Schema: 'txt' is not valid under any of the given schemas",
        ),
        ("type: is_json, value: {pattern: '(a'}", 40, "not a valid JSON Schema: '(a' is not a 'regex'"),
        ("type: tool_called, value: ''", 34, "'value' is empty"),
        ("type: tool_called, value: f, arguments: [a]", 48, "'arguments' must be a mapping, but is a list"),
        ("type: tool_called, value: f, of: request", 41, "'tool_called' looks at answers only; remove 'of'"),
        ("type: contains, value: a, of: requst", 38, "'of' must be answer or request, but is 'requst'"),
        ("type: contains, value: a, of: 3", 38, "'of' must be answer or request, but is 3"),
        ("type: contains, value: a, of: [request]", 38, "'of' must be answer or request, but is ('request',)"),
        ("type: cost, value: 2", 14, "unknown check type: 'cost'; here this is 'max_cost_usd'"),
        ("type: max_cost_usd, value: 0", 35, "'value' must be a number above 0, in US dollars, but is the number 0"),
        ("type: max_latency_seconds, value: 0", 42, "'value' must be a number above 0, but is the number 0"),
        (
            "type: max_latency_seconds, value: true",
            42,
            "'value' must be a number above 0, but is the boolean true (true)",
        ),
        ("type: max_output_tokens, value: 2.5", 40, "'value' must be a whole number, 1 or more, but is the number 2.5"),
        (
            "type: python, value: os.path",
            29,
            "'value' must be a function as 'package.module:function', but is 'os.path'",
        ),
        ("type: python, value: 'a:b()'", 29, "'value' must be a function as 'package.module:function', but is 'a:b()'"),
    ],
)
def test_a_mistake_is_told_at_its_place(project: Project, check: str, column: int, text: str) -> None:
    errors = parse(project, f"checks:\n- {{{check}}}")
    assert errors == [f"evals/a.eval.yaml:5:{column}: case 'a': {text}"]


def test_the_mistakes_of_all_checks_are_told_those_of_the_file_too(project: Project) -> None:
    assert parse(project, "checks: [{type: b}]", "checks: [{type: a}, {type: regex, value: '*'}]") == [
        f"evals/a.eval.yaml:1:17: case 'a': unknown check type: 'a'; the types are {ALL_TYPES}",
        "evals/a.eval.yaml:1:42: case 'a': not a valid regular expression: nothing to repeat at position 0",
        f"evals/a.eval.yaml:4:21: case 'a': unknown check type: 'b'; the types are {ALL_TYPES}",
    ]


def test_words_of_other_tools_are_the_same_words(project: Project) -> None:
    body = "checks: [{type: not-icontains-any, value: [a]}, {type: not_is-json}, {type: contains, value: a, x-why: b}]"
    case = project.case(f"{body}\n{MESSAGES}")
    negated, plain, third = parse_checks(case, FileReader(project.root))
    assert (type(negated.check), negated.is_negated, negated.of) == (CHECKS["icontains_any"], True, "answer")
    assert (type(plain.check), plain.is_negated) == (CHECKS["is_json"], True)
    assert not third.is_negated


def test_a_rendered_value_that_is_wrong_is_told_with_its_row(project: Project) -> None:
    body = "parametrize: [{id: one, word: ok}, {id: two, word: '('}]\nchecks: [{type: regex, value: '{{ word }}'}]"
    first, second = project.cases(f"evalcases:\n- id: a\n  {MESSAGES}\n  " + body.replace("\n", "\n  ") + "\n")
    assert len(parse_checks(first, FileReader(project.root))) == 1
    with pytest.raises(EvalFileError) as raised:
        parse_checks(second, FileReader(project.root))
    assert str(raised.value) == (
        "evals/a.eval.yaml:5:33: case 'a[two]': not a valid regular expression: missing ), unterminated subpattern at "
        "position 0 (row at evals/a.eval.yaml:4:38)"
    )


@pytest.mark.parametrize("name", ["schema.json", "schema.yaml"])
def test_a_schema_in_a_file_is_read_once(project: Project, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    project.write(f"evals/{name}", '{"type": "object"}')
    case = project.case(f"checks: [{{type: is_json, value: ./{name}}}]\n{MESSAGES}")
    reader = FileReader(project.root)
    (check,) = parse_checks(case, reader)
    assert check.check.value == {"type": "object"}  # type: ignore[attr-defined]
    monkeypatch.setattr("pytest_chatprompt.cases.diagnostics.parse_definition_file", None)
    assert parse_checks(case, reader) == (check,)


def test_a_mistake_in_the_file_of_a_schema_is_told_there(project: Project) -> None:
    project.write("evals/schema.json", '{\n  "type": "objct"\n}')
    project.write("evals/list.yaml", "- a\n")
    assert parse(project, "checks: [{type: is_json, value: schema.json}, {type: is_json, value: list.yaml}]") == [
        "evals/list.yaml:1:1: 'value' must be a JSON Schema, as a mapping, but is a list",
        "evals/schema.json:2:11: not a valid JSON Schema: 'objct' is not valid under any of the given schemas",
    ]


def test_a_schema_in_a_file_holds_only_what_json_can_hold(project: Project) -> None:
    project.write("evals/schema.yaml", "properties:\n  day: {const: .inf}\n")
    assert parse(project, "checks: [{type: is_json, value: schema.yaml}]") == [
        "evals/schema.yaml:2:16: JSON has neither infinity nor NaN; put it in quotes if you mean text",
    ]


def test_a_file_of_a_schema_that_is_not_text_is_named(project: Project) -> None:
    project.write("evals/schema.json", b"\xff")
    assert parse(project, "checks: [{type: is_json, value: schema.json}]") == [
        "evals/a.eval.yaml:4:37: case 'a': file schema.json is not valid UTF-8 (byte 0xFF)",
    ]


def test_a_mistake_in_a_check_made_in_code_is_told_at_the_case() -> None:
    case = case_with(EvalCheck("contains", {"value": 3}), EvalCheck("contains_any", {"value": ["a", None]}))
    with pytest.raises(EvalFileError) as raised:
        parse_checks(case, FileReader(Path("/nowhere")))
    assert str(raised.value).splitlines() == [
        "a.eval.yaml:2:5: case 'a': 'value' must be a string, but is the number 3; put it in quotes if you mean text",
        "a.eval.yaml:2:5: case 'a': 'value[1]' must be a string, but is null (None); put it in quotes if you mean text",
    ]


@pytest.mark.filterwarnings("error")
def test_an_expression_that_python_warns_of_is_wrong_where_warnings_are_errors(project: Project) -> None:
    (error,) = parse(project, "checks: [{type: regex, value: '[[a]'}]")
    assert "not a valid regular expression: Possible nested set at position 1" in error


def test_mistakes_in_a_check_made_in_code_are_told_at_the_case_whatever_they_are_about() -> None:
    case = case_with(
        EvalCheck("contains", {"valeu": "a"}),
        EvalCheck("contians"),
        EvalCheck("contains", {"value": ["a"]}),
        EvalCheck("contains_any", {"value": ["a", 3]}),
    )
    with pytest.raises(EvalFileError) as raised:
        parse_checks(case, FileReader(Path("/nowhere")))
    assert str(raised.value).splitlines() == [
        "a.eval.yaml:2:5: case 'a': 'value' must be a string, but is a list",
        "a.eval.yaml:2:5: case 'a': 'value[1]' must be a string, but is the number 3; put it in quotes if you mean text",
        "a.eval.yaml:2:5: case 'a': missing key 'value'",
        "a.eval.yaml:2:5: case 'a': unknown check type: 'contians'; did you mean 'contains'?",
        "a.eval.yaml:2:5: case 'a': unknown key 'valeu'; did you mean 'value'?",
    ]


def test_null_is_the_same_as_no_value(project: Project) -> None:
    body = "checks: [{type: is_json, value: null}, {type: llm_rubric, value: a, votes: 1, template: null}]"
    assert parse(project, body) == []


@pytest.mark.parametrize("votes", [1, 3, 5, 9])
def test_an_odd_number_of_votes_is_fine(project: Project, votes: int) -> None:
    assert parse(project, f"checks: [{{type: llm_rubric, value: a, votes: {votes}}}]") == []


def test_files_that_checks_name_are_found_with_backslashes_and_not_taken_for_each_other(project: Project) -> None:
    project.write("evals/deep/a.json", '{"type": "object"}')
    project.write("evals/deep/b.json", '{"type": "array"}')
    project.write("evals/deep/judge.yaml", "- {role: user, content: '{{ answer }}'}")
    body = (
        "checks:\n- {type: is_json, value: 'deep\\a.json'}\n- {type: is_json, value: deep/b.json}\n"
        "- {type: llm_rubric, value: a, template: deep/judge.yaml}"
    )
    case = project.case(f"{body}\n{MESSAGES}")
    first, second, judged = (check.check for check in parse_checks(case, FileReader(project.root)))
    assert first.value == {"type": "object"}  # type: ignore[attr-defined]
    assert second.value == {"type": "array"}  # type: ignore[attr-defined]
    assert [message.content for message in judged.template] == ["{{ answer }}"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("role", "suggestion"),
    [
        ("tool", "the roles are system, user, assistant"),
        ("function", "the roles are system, user, assistant"),
        ("human", "write 'user'"),
        ("usre", "did you mean 'user'?"),
    ],
)
def test_a_mistake_in_the_file_of_a_template_is_told_there(project: Project, role: str, suggestion: str) -> None:
    project.write("evals/judge.yaml", f"- {{role: {role}, content: '{{{{ answer }}}}'}}")
    assert parse(project, "checks: [{type: llm_rubric, value: a, template: judge.yaml}]") == [
        f"evals/judge.yaml:1:10: unknown role: '{role}'; {suggestion}"
    ]


MODULE = """
from typing import Annotated
from pytest_chatprompt import Check, CheckError, Verdict

class MaxWords(Check):
    value: int

    def grade(self, case, response):
        if not response.text:
            raise CheckError("there is no text to count")
        count = len(response.text.split())
        return Verdict(count <= self.value, f"has {count} words")

class NoCheck:
    pass
"""
ENTRY_POINTS = """
[pytest_chatprompt.checks]
max-words = word_checks_for_tests:MaxWords
contains = word_checks_for_tests:MaxWords
no_check = word_checks_for_tests:NoCheck
gone = word_checks_for_tests:Gone
"""


@pytest.fixture
def _installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs a package with types of checks."""
    info = tmp_path / "word_checks-1.0.dist-info"
    info.mkdir()
    (tmp_path / "word_checks_for_tests.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: word-checks\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    _installed.cache_clear()
    yield
    _installed.cache_clear()
    sys.modules.pop("word_checks_for_tests", None)


@pytest.mark.usefixtures("_installed_package")
def test_a_package_brings_a_type_with_its_opposite() -> None:
    assert graded({"type": "max_words", "value": 2}, "two words").passed
    result = graded({"type": "not-max-words", "value": 2}, "two words")
    assert not result.passed
    assert result.verdict is not None
    assert result.verdict.reason == "has 2 words"
    assert graded({"type": "max_words", "value": 2}, "").error == "there is no text to count"


@pytest.mark.usefixtures("_installed_package")
def test_the_mistakes_of_its_checks_are_told_as_those_of_all_others() -> None:
    with pytest.raises(EvalFileError) as raised:
        graded({"type": "max_words", "value": "two"}, "x")
    assert str(raised.value) == "a.eval.yaml:2:5: case 'a': 'value': Input should be a valid integer"


@pytest.mark.usefixtures("_installed_package")
def test_a_type_of_this_package_cannot_be_replaced() -> None:
    assert graded({"type": "contains", "value": "x"}, "x").passed


@pytest.mark.usefixtures("_installed_package")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "no_check",
            "the check type 'no_check' cannot be loaded from word_checks_for_tests:NoCheck: TypeError: it is not a "
            "subclass of pytest_chatprompt.Check",
        ),
        ("gone", "the check type 'gone' cannot be loaded from word_checks_for_tests:Gone: AttributeError: "),
        ("max_word", "unknown check type: 'max_word'; did you mean 'max_words'?"),
    ],
)
def test_a_type_that_cannot_be_used_is_told(name: str, text: str) -> None:
    with pytest.raises(ValidationError) as raised:
        find_type(name)
    (mistake,) = raised.value.errors()
    assert mistake["msg"].startswith(text)

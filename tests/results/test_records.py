"""Records: as JSON data, by their schema, and merged."""

from __future__ import annotations

import itertools
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_chatprompt import FileReader, ProviderResponse, SentData
from pytest_chatprompt.grading.check import verdict_word
from pytest_chatprompt.grading.grade import grade
from pytest_chatprompt.grading.table import parse_checks
from pytest_chatprompt.results.records import (
    CaseResult,
    ChangeCost,
    CheckResult,
    ErrorResult,
    ResponseResult,
    RunResults,
    SnapshotResult,
    SnapshotUses,
    check_result,
    merge_uses,
    unsettled_files,
    unused_snapshots,
)
from pytest_chatprompt.snapshots.diff import compare_snapshots
from tests.conftest import Project
from tests.results.report_schema import SCHEMA_FILE, report_schema, report_validator, write_schema


def test_a_result_is_the_same_after_its_way_as_json() -> None:
    result = CaseResult(
        node_id="a.eval.yaml::x",
        path="a.eval.yaml",
        line=3,
        case_id="x",
        provider="openai",
        outcome="failed",
        snapshot=SnapshotResult(
            path="__snapshots__/a.eval/x[openai].yaml",
            state="different",
            difference=compare_snapshots("a: 1\n", "a: 2\n"),
            stored_sha256="1",
            sent_sha256="2",
            stored={"a": 1},
            sent={"a": 2},
        ),
        findings=("f",),
        adjustments=("b",),
        response=ResponseResult(text="hi", tool_calls=({"id": "1"},), latency_seconds=0.5),
        checks=(CheckResult(type="contains", value="x", passed=None, reason="r"),),
        error=ErrorResult(message="m", path="a.eval.yaml", line=3),
    )
    assert CaseResult.model_validate(json.loads(json.dumps(result.as_data()))) == result
    assert [change.place for change in result.difference.changes] == ["a"]


def test_what_is_not_set_is_left_out() -> None:
    result = CaseResult(node_id="n", path="p", line=1, outcome="passed")
    assert result.as_data() == {"node_id": "n", "path": "p", "line": 1, "outcome": "passed"}
    assert result.difference.changes == ()


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
    assert (result.name, result.description, verdict_word(result.passed)) == words


WHOLE = RunResults(
    command=("evals",),
    shards=(("evals", "-k", "a"), ("evals", "-k", "b")),
    is_live=True,
    against="main",
    results=(
        CaseResult(
            node_id="a.eval.yaml::x",
            path="a.eval.yaml",
            line=3,
            outcome="failed",
            snapshot=SnapshotResult(
                path="x.yaml",
                state="different",
                difference=compare_snapshots("a: 1\nb: 2\nc: [x, y]\n", "a: 2\n"),
                cost=ChangeCost(characters=-3, tokens=-1, prefix_break="request.system"),
                stored={"a": 1},
            ),
            response=ResponseResult(text="hi", latency_seconds=0.5),
            checks=(
                CheckResult(
                    type="is_json", value={"type": "object"}, passed=False, reason="r", path="a", line=1, column=2
                ),
                CheckResult(type="tool_called", value="t", arguments={"arguments": {"a": 1}}, passed=None, reason="r"),
            ),
            error=ErrorResult(message="m", path="a.eval.yaml", line=3),
        ),
        CaseResult(node_id="test_x.py::test_x", path="test_x.py", line=1, outcome="passed", requests=({"request": 1},)),
    ),
)


def test_the_file_is_what_the_models_say(tmp_path: Path) -> None:
    shipped = files("pytest_chatprompt.results").joinpath("report.schema.json").read_text(encoding="utf-8")
    write_schema(tmp_path / "x.json")
    assert shipped == (tmp_path / "x.json").read_text(encoding="utf-8"), "run `make schema`"


@pytest.mark.parametrize("run", [WHOLE, RunResults()], ids=["a run", "an empty run"])
def test_a_report_fits_it_and_is_read_back(run: RunResults) -> None:
    data = json.loads(json.dumps(run.as_data()))
    jsonschema.Draft202012Validator.check_schema(report_schema())
    report_validator().validate(data)
    assert RunResults.model_validate(data) == run
    assert next(iter(data)) == "version"


@pytest.mark.parametrize("change", [{"version": 2}, {"results": [{"node_id": "x"}]}, {"more": 1}, {"command": "x"}])
def test_what_is_no_report_does_not_fit_and_is_not_read(change: dict[str, Any]) -> None:
    data = {**RunResults().as_data(), **change}
    with pytest.raises(jsonschema.ValidationError):
        report_validator().validate(data)
    with pytest.raises(ValueError, match="validation error"):
        RunResults.model_validate(data)


def test_every_field_has_a_description() -> None:
    schema = report_schema()
    for name, model in {"run": schema, **schema["$defs"]}.items():
        assert "Args" not in model["description"], name
        for field, value in model["properties"].items():
            assert value["description"].endswith("."), f"{name}.{field}"


def test_it_is_written_as_it_is_shipped(tmp_path: Path) -> None:
    write_schema(tmp_path / "a.json")
    assert (tmp_path / "a.json").read_bytes() == SCHEMA_FILE.read_bytes()


def uses(path: str, left_out: str, unused: str) -> SnapshotUses:
    return SnapshotUses(path=path, left_out=tuple(left_out.split()), unused=tuple(unused.split()))


SHARDS = (
    uses("a", "y z", "y.yaml z.yaml gone.yaml"),
    uses("a", "x z", "x.yaml z.yaml gone.yaml"),
    uses("a", "x y", "x.yaml y.yaml gone.yaml"),
)


@pytest.mark.parametrize("shards", list(itertools.permutations(SHARDS)))
def test_a_snapshot_is_unused_if_no_shard_uses_it_in_whatever_order_they_are_merged(
    shards: tuple[SnapshotUses, ...],
) -> None:
    merged = merge_uses(shards)
    assert merged == (uses("a", "", "gone.yaml"),)
    assert unused_snapshots(merged) == ["gone.yaml"]
    assert unsettled_files(merged) == []
    # A merged report can be merged again.
    assert merge_uses((*merge_uses(shards[:2]), *merge_uses(shards[2:]))) == merged


def test_while_a_test_is_in_no_shard_nothing_of_its_file_is_unused() -> None:
    merged = merge_uses(SHARDS[:2])
    assert merged == (uses("a", "z", "gone.yaml z.yaml"),)
    assert unused_snapshots(merged) == []
    assert unsettled_files(merged) == list(merged)


def test_a_file_whose_left_out_tests_have_no_snapshot_yet_is_not_worth_a_word() -> None:
    assert unsettled_files([uses("a", "x", "")]) == []


def test_files_are_settled_each_by_itself_and_those_that_are_used_whole_have_no_record() -> None:
    merged = merge_uses((uses("b", "", "b.yaml"), uses("c", "x", "x.yaml"), uses("c", "y", "y.yaml"), *SHARDS[:1]))
    assert [each.path for each in merged] == ["a", "b"]
    assert unused_snapshots(merged) == ["b.yaml"]
    assert merge_uses(()) == ()

"""`CaseResult`: a record that survives its way as JSON."""

from __future__ import annotations

import json

from pytest_chatprompt.results.records import CaseResult, CheckResult, ErrorResult, ResponseResult, SnapshotResult
from pytest_chatprompt.snapshots.diff import compare_snapshots


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

"""The schema of reports: it stands in the package as the models say it, and reports fit it."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_chatprompt.results.records import (
    SCHEMA_FILE,
    CaseResult,
    ChangeCost,
    CheckResult,
    ErrorResult,
    ResponseResult,
    RunResults,
    SnapshotResult,
    report_schema,
    write_schema,
)
from pytest_chatprompt.snapshots.diff import compare_snapshots

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
    jsonschema.validate(data, report_schema(), jsonschema.Draft202012Validator)
    assert RunResults.model_validate(data) == run
    assert next(iter(data)) == "version"


@pytest.mark.parametrize("change", [{"version": 2}, {"results": [{"node_id": "x"}]}, {"more": 1}, {"command": "x"}])
def test_what_is_no_report_does_not_fit_and_is_not_read(change: dict[str, Any]) -> None:
    data = {**RunResults().as_data(), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, report_schema())
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

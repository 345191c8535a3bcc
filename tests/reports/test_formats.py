"""Reports, written and read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_chatprompt.reports.formats import FORMATS, ReportError, read_report
from pytest_chatprompt.results.records import RunResults
from tests.reports.results import answered, check

HINT = "; name a file that --chatprompt-report wrote with the suffix .json"


def test_a_report_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = RunResults(command=("evals",), results=(answered("x", text="\ud800 ö", checks=(check(),)),))
    (tmp_path / "a.json").write_text(FORMATS[".json"](run), encoding="utf-8")
    assert read_report(tmp_path / "a.json") == run


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(
            b"## No snapshot differs", f"not valid JSON (Expecting value: line 1 column 1 (char 0)){HINT}", id="no JSON"
        ),
        pytest.param(b"[]", f"not a report{HINT}", id="a list"),
        pytest.param(b'{"version": 1}', f"not a report{HINT}", id="other data"),
        pytest.param(
            b'{"version": 2, "results": []}',
            "a report of version 2, and this pytest-chatprompt reads version 1; "
            "use the version of the package that wrote it, or write it again",
            id="another version",
        ),
        pytest.param(
            json.dumps(
                {"version": 1, "results": [{"node_id": "x", "path": "x", "line": "y", "outcome": "passed"}]}
            ).encode(),
            "not a report of this version: results[0].line: Input should be a valid integer, "
            f"unable to parse string as an integer{HINT}",
            id="a wrong value",
        ),
        pytest.param(
            b'{"version": 1, "results": [{"node_id": "x", "path": "x", "line": 1, "outcome": "passed", '
            b'"response": {"text": "", "cost_usd": Infinity}}]}',
            f"not a report of this version: results[0].response.cost_usd: Input should be a finite number{HINT}",
            id="an infinite cost",
        ),
    ],
)
def test_a_file_that_is_no_report_is_an_error_that_says_why(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ReportError) as error:
        read_report(path)
    assert str(error.value) == f"{path}: {message}"


def test_json_that_is_nested_too_deeply_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(ReportError, match="not valid JSON"):
        read_report(tmp_path / "a.json")


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"none\.json: cannot be read: No such file or directory$"):
        read_report(tmp_path / "none.json")

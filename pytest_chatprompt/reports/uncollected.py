"""Uncollected files: the record of a file whose tests a run lacks, since it could not be collected.

Pytest's report of the failed collection comes in; a `CaseResult` comes out. `report_files` puts it into the reports.
"""

from __future__ import annotations

import re

import pytest

from pytest_chatprompt.results.case_result import CaseResult, ErrorResult


def uncollected_result(report: pytest.CollectReport) -> CaseResult:
    """The result of a file that could not be collected, at the line that its error names.

    Args:
        report: of the failed collection.
    """
    path = report.nodeid.partition("::")[0] or "."
    lines = report.longreprtext.splitlines() or [""]
    # Of a module pytest shows the traceback; its error begins with an E.
    errors = [line[1:].strip() for line in lines if line.startswith("E  ")]
    place = re.match(rf"{re.escape(path)}:(\d+):\d+: ", lines[0])
    line = int(place[1]) if place else 0
    message = errors[-1] if errors else lines[0][place.end() if place else 0 :]
    error = ErrorResult(message=message, path=path, line=line)
    return CaseResult(node_id=report.nodeid or path, path=path, line=max(line, 1), outcome="error", error=error)

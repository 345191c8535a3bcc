"""What is printed of a run: requests, and providers side by side."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_chatprompt.reports.result_collectors import ProviderComparison, shown_lines
from pytest_chatprompt.results.records import CaseResult, SnapshotResult
from tests.reports.results import answered

CHAT = {"endpoint": "POST /v1/chat/completions", "request": {"messages": [{"role": "user", "content": "hi"}]}}
CHAT_LINES = [
    "POST /v1/chat/completions",
    "",
    "hi",
    "",
    "request:",
    "  messages:",
    "  - role: user",
    "    content: hi",
]
OTHER = {"endpoint": "GET /own", "request": None}
OTHER_LINES = ["GET /own", "", "request:"]


def shown(sent: Any, *requests: Any) -> list[str]:
    snapshot = None if sent is None else SnapshotResult(path="s", state="same", sent=sent)
    result = CaseResult(node_id="n", path="p", line=1, outcome="passed", requests=requests, snapshot=snapshot)
    return [line.removesuffix(" null") for line in shown_lines(result)]


@pytest.mark.parametrize(
    ("sent", "requests", "expected"),
    [
        pytest.param({"provider": "x", "question": "hi", **CHAT}, (), CHAT_LINES, id="a case"),
        pytest.param(
            {"endpoint": "GET /own", "headers": {"openai-beta": "a"}, "question": "hi", "request": None},
            (),
            ["GET /own", "", "headers:", "  openai-beta: a", "request:"],
            id="a case with headers",
        ),
        pytest.param(
            {"requests": [CHAT, OTHER]},
            (),
            [
                *("request 1 of 2: POST /v1/chat/completions", "", "1. [User]: hi", "", "request 2 of 2: GET /own", ""),
                *("request 1 of 2: POST /v1/chat/completions", "", *CHAT_LINES[4:], ""),
                *("request 2 of 2: GET /own", "", "request:"),
            ],
            id="a case of several requests",
        ),
        pytest.param(None, (OTHER,), OTHER_LINES, id="a test"),
        pytest.param({"other": "data"}, (OTHER,), OTHER_LINES, id="a test that compares something else"),
        pytest.param(
            {"question": "hi", "argv": ["agent"], "requests": [CHAT], "adjustments": ["a"]},
            (),
            ["hi", "", "argv:", "- agent", "requests:", "- endpoint: POST /v1/chat/completions"],
            id="an agent",
        ),
        pytest.param(None, (), ["(nothing)"], id="nothing"),
        pytest.param({}, (), ["(nothing)"], id="an empty snapshot"),
    ],
)
def test_what_is_sent_is_shown(sent: Any, requests: tuple[Any, ...], expected: list[str]) -> None:
    assert shown(sent, *requests)[: len(expected)] == expected


def report_of(result: CaseResult, when: str = "call") -> Any:
    return SimpleNamespace(chatprompt_result=json.dumps(result.as_data()), when=when, nodeid=result.node_id)


def summary(*reports: Any) -> list[str]:
    """What the terminal shows after these reports."""
    lines: list[str] = []
    terminal: Any = SimpleNamespace(write_sep=lambda _, title: lines.append(f"- {title} -"), write_line=lines.append)
    comparison = ProviderComparison()
    for report in reports:
        comparison.pytest_runtest_logreport(report)
    comparison.pytest_terminal_summary(terminal)
    return lines


def test_two_providers_that_answered_are_put_side_by_side() -> None:
    lines = summary(report_of(answered("a")), report_of(answered("a", "gemini", "failed")))
    assert lines[0] == "- providers side by side -"
    assert lines[1].split() == ["openai", "gemini"]
    assert lines[2].split() == ["cases", "1/1", "(100%)", "0/1", "(0%)"]


UNANSWERED = CaseResult(node_id="b", path="b", line=1, case_id="b", provider="gemini", outcome="error")


@pytest.mark.parametrize(
    "reports",
    [
        pytest.param([], id="no test"),
        pytest.param([SimpleNamespace(when="call", nodeid="a")], id="a test without a result"),
        pytest.param([report_of(answered("a")), report_of(answered("b"))], id="one provider"),
        pytest.param([report_of(answered("a")), report_of(UNANSWERED)], id="a second one that gave no answer"),
    ],
)
def test_nothing_is_shown_of(reports: list[Any]) -> None:
    assert summary(*reports) == []


def test_of_a_case_that_ran_twice_the_last_run_counts() -> None:
    first, last = answered("a", outcome="failed"), answered("a")
    again = SimpleNamespace(when="setup", nodeid=first.node_id)
    lines = summary(report_of(first), again, report_of(last), report_of(answered("b", "gemini")))
    assert any("1/1 (100%)" in line for line in lines)
    assert not any("1/2" in line for line in lines)

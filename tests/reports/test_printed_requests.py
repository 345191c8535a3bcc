"""Shown requests: the lines that `--chatprompt-show` prints of a test, whatever it sends."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.reports.run_hooks import shown_lines
from pytest_chatprompt.results.records import CaseResult, SnapshotResult

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
        pytest.param({"requests": [CHAT, OTHER]}, (), [*CHAT_LINES, "", *OTHER_LINES], id="a case of several requests"),
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

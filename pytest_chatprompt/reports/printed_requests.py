"""Shown requests: what the selected tests send, printed as a conversation and as it is.

The results of the tests come in with pytest's reports; lines of the terminal come out when the run ends. `plugin`
registers a `ShownRequests` where `--chatprompt-show` is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.reports.terminal import write_line, write_title
from pytest_chatprompt.results.case_result import CaseResult
from pytest_chatprompt.snapshots.serializer import dump

# What a snapshot holds beside what is sent.
_OTHER_KEYS: Final = frozenset({"provider", "question", "adjustments", "judge"})


class ShownRequests:
    """Collects what tests send, and prints it when the run ends."""

    def __init__(self) -> None:
        self._results: dict[str, CaseResult] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what a test has sent; of one that ran several times, the last."""
        text: str | None = getattr(report, "chatprompt_result", None)
        if text is not None and report.when == "call":
            result = CaseResult.from_data(json.loads(text))
            self._results[result.node_id] = result

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what the tests sent."""
        write_title(terminalreporter, "=", "what is sent")
        for result in self._results.values():
            name = result.node_id if result.provider is None else f"{result.node_id} ({result.provider})"
            write_title(terminalreporter, "_", name)
            for line in shown_lines(result):
                write_line(terminalreporter, line)


def shown_lines(result: CaseResult) -> Iterator[str]:
    """What a test sends, a line each: of each request its endpoint, the conversation and the body.

    Args:
        result: of the test, with what it sent.
    """
    data = {} if result.snapshot is None else result.snapshot.sent
    requests = list(result.requests) or list(_requests(data))
    if not requests and isinstance(data, Mapping) and data:
        # An agent, or a plain function.
        yield from str(data.get("question", "")).splitlines()
        yield ""
        yield from dump({key: value for key, value in data.items() if key not in _OTHER_KEYS}).splitlines()
    elif not requests:
        yield "(nothing)"
    for number, request in enumerate(requests):
        if number:
            yield ""
        yield request["endpoint"]
        yield ""
        conversation = SentRequest(request["endpoint"], request["request"]).question
        if conversation:
            yield from conversation.splitlines()
            yield ""
        yield from dump({key: request[key] for key in ("headers", "request") if key in request}).splitlines()
    for asked in data.get("judge", ()) if isinstance(data, Mapping) else ():
        yield ""
        yield "to the judge:"
        yield from dump(asked).splitlines()


def _requests(data: Any) -> Iterator[Mapping[str, Any]]:
    """The HTTP requests that a snapshot shows."""
    if isinstance(data, Mapping) and "endpoint" in data:
        yield {"request": None, **data}
    elif isinstance(data, Mapping) and isinstance(data.get("requests"), list) and "argv" not in data:
        yield from data["requests"]

"""The answer of an eval item, in its report: a section for pytest's `-rP`, and properties for JUnit's XML.

The record of a test and its report come in, or in an offline run only what the checks of its request said; the item and
the report get what other tools read. `case_results` calls it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pytest

from pytest_chatprompt.reports.answer_text import case_section, check_line
from pytest_chatprompt.results.records import CaseResult
from pytest_chatprompt.wording import visible

_SECTION: Final = "answer"
_ANSWER: Final = "chatprompt_answer"
_TOOL_CALLS: Final = "chatprompt_tool_calls"
_CHECK: Final = "chatprompt_check"
_NAMES: Final = frozenset({_ANSWER, _TOOL_CALLS, _CHECK})


def add_answer(item: pytest.Item, report: pytest.TestReport, result: CaseResult) -> None:
    """Put the answer of an item, and what its checks said, into its report and its user properties.

    Args:
        item: the item; one that runs again loses the properties of its run before.
        report: of its call. Only the report of a passing test gets a section: a failure shows what it is about.
        result: its record, without secrets.
    """
    _set_properties(item, report, list(_properties(result)))
    if report.passed and result.response is not None:
        report.sections.append((_SECTION, visible(case_section(result))))


def add_check_lines(item: pytest.Item, report: pytest.TestReport, lines: Iterable[str]) -> None:
    """Put what the checks of an item said into its report and its user properties, where it got no answer.

    Args:
        item: the item, as for `add_answer`.
        report: of its call.
        lines: one for each check, without secrets.
    """
    _set_properties(item, report, [(_CHECK, line) for line in lines])


def _set_properties(item: pytest.Item, report: pytest.TestReport, properties: list[tuple[str, Any]]) -> None:
    # Pytest has copied those of the item into the report, and copies them again when it is torn down.
    for kept in (item.user_properties, report.user_properties):
        kept[:] = [entry for entry in kept if entry[0] not in _NAMES] + properties


def _properties(result: CaseResult) -> Iterator[tuple[str, Any]]:
    for response in result.responses:
        yield _ANSWER, response.text
        if response.tool_calls:
            yield _TOOL_CALLS, json.dumps(response.tool_calls, ensure_ascii=False)
    for check in result.all_checks:
        yield _CHECK, check_line(check)

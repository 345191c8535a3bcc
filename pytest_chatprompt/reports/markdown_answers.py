"""The answers of a run as Markdown: case by case, those of its providers side by side.

The results of a run come in; folded sections come out, as many as there is room for. Pure; `markdown` puts them below
what changed.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Final

from pytest_chatprompt.reports.answer_text import answer_facts, answer_line, called_tools
from pytest_chatprompt.reports.answers_by_case import AnsweredCase, answers_by_case
from pytest_chatprompt.reports.markdown_text import html_code
from pytest_chatprompt.results.case_result import AttemptResult, CaseResult, ResponseResult
from pytest_chatprompt.results.repeats_text import describe_passes
from pytest_chatprompt.results.run_results import RunResults
from pytest_chatprompt.wording import count

_MOST_LINES: Final = 20
_LONGEST_LINE: Final = 400
_LONGEST_CHECK: Final = 300
_MOST_CHECKS: Final = 20
_MOST_COLUMNS: Final = 6
_END: Final = "\n</details>\n"


def markdown_answers(run: RunResults, room: int) -> Iterator[str]:
    """Show the answers of a live or replayed run.

    Args:
        run: the run.
        room: how many characters there are for it.

    Returns:
        One folded section with a folded section for each case; nothing without answers or room.
    """
    cases = answers_by_case(run.results)
    head = f"<details><summary>Answers to {count(len(cases), 'case')}</summary>\n"
    room -= len(head) + len(_END) + len(f"… and {count(len(cases), 'more case')}.\n") + 3
    shown = list(_fitting(cases, room))
    if shown:
        left = len(cases) - len(shown)
        note = [f"… and {count(left, 'more case')}.\n"] if left else []
        yield "\n".join([head, *shown, *note]) + _END


def _fitting(cases: list[AnsweredCase], room: int) -> Iterator[str]:
    for case in cases:
        text = _section(case)
        room -= len(text) + 1
        if room < 0:
            return
        yield text


def _section(case: AnsweredCase) -> str:
    shown = case.answers[:_MOST_COLUMNS]
    outcomes = ", ".join(f"{html_code(_provider(result))} {result.outcome}" for result, _ in shown)
    hidden = len(case.answers) - len(shown)
    if hidden:
        outcomes += f" and {count(hidden, 'more provider')}"
    # Without an empty line in it, all of this is one block of HTML: nothing is read as Markdown.
    return "\n".join(
        [
            f"<details><summary>{html_code(case.name)}: {outcomes}</summary>",
            "<table>",
            _row("th", (html_code(_provider(result)) for result, _ in shown)),
            _row("td", (_facts(result, response) for result, response in shown)),
            _row("td", (_answers(result, response) for result, response in shown)),
            "</table>",
            "</details>",
            "",
        ]
    )


def _provider(result: CaseResult) -> str:
    return result.provider or "no provider"


def _row(tag: str, cells: Iterator[str]) -> str:
    return f'<tr valign="top">{"".join(f"<{tag}>{cell}</{tag}>" for cell in cells)}</tr>'


def _facts(result: CaseResult, response: ResponseResult) -> str:
    """How it ended, what it took, and which checks do not pass."""
    all_checks = result.all_checks
    passed = sum(check.passed is True for check in all_checks)
    checks = f", {passed} of {count(len(all_checks), 'check')} passed" if all_checks else ""
    lines = [f"{result.outcome}{checks}", html.escape(", ".join(answer_facts(response)))]
    lines += [
        f"{check.verdict}: {html_code(check.description, _LONGEST_CHECK)} {html_code(check.reason, _LONGEST_CHECK)}"
        for check in all_checks
        if not check.passed
    ][:_MOST_CHECKS]
    if result.repeats is not None:
        lines.insert(1, describe_passes(result.repeats))
    return "<br>".join(line for line in lines if line)


def _answers(result: CaseResult, response: ResponseResult) -> str:
    """The answer; of a repeated case the beginning of each."""
    if result.repeats is None:
        return _answer(response)
    return "<br>".join(
        f"{attempt.number} {attempt.outcome}: {html_code(_beginning(attempt), _LONGEST_CHECK)}"
        for attempt in result.repeats.attempts[:_MOST_LINES]
    )


def _beginning(attempt: AttemptResult) -> str:
    return attempt.problem if attempt.response is None else answer_line(attempt.response, _LONGEST_CHECK)


def _answer(response: ResponseResult) -> str:
    lines = [*response.text.splitlines(), *called_tools(response)]
    shown = [html_code(line, _LONGEST_LINE) if line else "" for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(f"… and {count(len(lines) - _MOST_LINES, 'more line')}")
    return "<br>".join(shown) or "no text"

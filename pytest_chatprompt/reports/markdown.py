"""The review as Markdown: for the comment of a pull request, or the summary of a job.

The results of a run come in; Markdown as GitHub and GitLab show it comes out, never longer than GitHub takes. What
prompts and names hold is text in it, never markup. Pure; `report_files` writes it.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_chatprompt.reports.comparison_table import table_rows
from pytest_chatprompt.reports.cost_lines import cost_line
from pytest_chatprompt.reports.distinct_changes import (
    DistinctChange,
    describe_changes,
    distinct_changes,
    renamed_cases,
)
from pytest_chatprompt.reports.markdown_answers import markdown_answers
from pytest_chatprompt.reports.markdown_text import LONGEST_NAME, code, cut, longest_run, shortened, table
from pytest_chatprompt.reports.provider_totals import provider_totals
from pytest_chatprompt.reports.run_commands import accept_all
from pytest_chatprompt.results.case_result import CaseResult, Outcome
from pytest_chatprompt.results.run_results import RunResults
from pytest_chatprompt.results.summary_line import describe_change
from pytest_chatprompt.snapshots.difference import Change
from pytest_chatprompt.snapshots.scalars import visible_line
from pytest_chatprompt.wording import count

# The longest comment that GitHub takes has 65,536 characters; the rest is for a mark by which a workflow finds its own.
LIMIT: Final = 65_000
# What follows the changes: it says what was left out, and how to accept the rest.
_RESERVED: Final = 4_000
_MOST_LINES: Final = (200, 40, 8)
_LONGEST_LINE: Final = 600
_MOST_NAMES: Final = 10

_OUTCOMES: Final[Mapping[Outcome, str]] = {
    "passed": "passed",
    "failed": "failed",
    "error": "with errors",
    "skipped": "skipped",
}


def render_markdown(run: RunResults, limit: int = LIMIT) -> str:
    """Write the review of a run as Markdown, shortened to a number of characters.

    Args:
        run: what its tests did.
        limit: how many characters it may have, at least 8,000.
    """
    renamed = renamed_cases(run.results)
    changes = distinct_changes(result for result in run.results if result.node_id not in renamed)
    parts = [_head(run, changes)]
    parts += _table(run)
    parts += _failures(run.results)
    parts += _listed_cases("Renamed", [f"{code(new)}, formerly {code(old)}" for new, old in renamed.items()])
    parts += _listed_cases("New", [code(result.node_id) for result in run.results if _is_new(result, renamed)])
    foot = _foot(run)
    room = limit - sum(len(part) + 1 for part in (*parts, foot)) - LONGEST_NAME
    shown = list(_fitting(changes, room))
    left = len(changes) - len(shown)
    note = [f"… and {count(left, 'more change')}, of fewer snapshots.\n"] if left else []
    answers = markdown_answers(run, room - sum(len(part) + 1 for part in shown))
    return "\n".join([*parts, *shown, *note, *answers, foot])


def _head(run: RunResults, changes: Sequence[DistinctChange]) -> str:
    against = f" against {code(run.against)}" if run.against is not None else ""
    title = f"{describe_changes(changes) if changes else 'No snapshot differs'}{against}"
    outcomes = Counter(result.outcome for result in run.results)
    counts = ", ".join(f"{outcomes[outcome]} {noun}" for outcome, noun in _OUTCOMES.items() if outcomes[outcome])
    return f"## {title}\n\n{count(len(run.results), 'test')} of prompts: {counts or 'none ran'}.\n"


def _table(run: RunResults) -> Iterator[str]:
    """The providers of a live or replayed run, a column each."""
    rows = table_rows(provider_totals(run.results))
    if rows:
        yield f"{table(rows)}\n"


def _failures(results: Sequence[CaseResult]) -> Iterator[str]:
    """The tests that failed for a reason other than their snapshot."""
    failed = [(result.node_id, result.error) for result in results if not _differs(result)]
    lines = [f"{code(node_id)}: {code(error.message)}" for node_id, error in failed if error is not None]
    yield from _listed_cases("Failed otherwise", lines)


def _listed_cases(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    shown = [f"- {line}" for line in lines[:_MOST_NAMES]]
    if len(lines) > _MOST_NAMES:
        shown.append(f"- … and {len(lines) - _MOST_NAMES} more")
    yield "\n".join([f"**{title}** ({len(lines)})\n", *shown, ""])


def _fitting(changes: Sequence[DistinctChange], room: int) -> Iterator[str]:
    """The largest changes, as many as there is room for, each as long as it fits."""
    for number, change in enumerate(changes, start=1):
        for most_lines in _MOST_LINES:
            text = _change(number, change, most_lines)
            if len(text) + 1 <= room:
                break
        else:
            return
        room -= len(text) + 1
        yield text


def _change(number: int, distinct: DistinctChange, most_lines: int) -> str:
    counts = [count(len(distinct.results), "snapshot")]
    for noun, names in (("provider", distinct.providers), ("file", distinct.files)):
        counts += [count(len(names), noun)] if len(names) > 1 else []
    summary = html.escape(shortened(describe_change(distinct.change)))
    opened = " open" if number == 1 else ""
    lines = _diff_lines(distinct.change)
    shown = [cut(line, _LONGEST_LINE) for line in lines[:most_lines]]
    if len(lines) > most_lines:
        shown.append(f"  … and {len(lines) - most_lines} more lines")
    fence = "`" * max(3, longest_run("\n".join(shown)) + 1)
    places = ", ".join(f"{code(place or 'the snapshot')} ({count})" for place, count in distinct.places[:_MOST_NAMES])
    names = [code(result.node_id) for result in distinct.results[:_MOST_NAMES]]
    hidden = len(distinct.results) - len(names)
    cost = cost_line(distinct.results, code)
    cases = ", ".join(names) + (f" and {hidden} more" if hidden else "")
    return "\n".join(
        [
            f"<details{opened}><summary>{number}. {', '.join(counts)}: <code>{summary}</code></summary>",
            "",
            f"{fence}diff",
            *shown,
            fence,
            "",
            f"In {places}.",
            "",
            *([f"What is sent: {cost}.", ""] if cost else []),
            f"Snapshots: {cases}.",
            "",
            "</details>",
            "",
        ]
    )


def _diff_lines(change: Change) -> list[str]:
    removed = [f"- {visible_line(line)}" for line in change.removed]
    added = [f"+ {visible_line(line)}" for line in change.added]
    return [*removed, *added, *(f"! moved: {visible_line(line)}" for line in change.moved)]


def _foot(run: RunResults) -> str:
    differing = [result for result in run.results if _differs(result)]
    command = accept_all(run, differing) if differing else ""
    return f"To accept all: {code(command, _RESERVED // 2)}\n" if command else ""


def _is_new(result: CaseResult, renamed: dict[str, str]) -> bool:
    return result.snapshot is not None and result.snapshot.state == "new" and result.node_id not in renamed


def _differs(result: CaseResult) -> bool:
    return result.snapshot is not None and result.snapshot.state != "same"

"""The review as Markdown: for the comment of a pull request, or the summary of a job.

It is never longer than GitHub takes. What prompts, answers and names hold is text in it, never markup.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pytest_chatprompt.reports.answers import (
    answer_facts,
    answer_line,
    called_tools,
    pass_rate,
    provider_totals,
    table_rows,
)
from pytest_chatprompt.reports.review import DistinctChange, Review, cost_line, describe_changes
from pytest_chatprompt.reports.run_commands import accept_all
from pytest_chatprompt.results.records import CaseResult, Outcome, ResponseResult, RunResults
from pytest_chatprompt.results.texts import changed_words, describe_change, describe_passes, excerpt
from pytest_chatprompt.snapshots.layout import visible_line
from pytest_chatprompt.wording import count, cut

LONGEST_NAME: Final = 200
_PLAIN_CELL: Final = re.compile(r"[A-Za-z\d]?|[A-Za-z\d$][\w ,.()/%+-]*[A-Za-z\d)]", re.ASCII)


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """A text as code, in which nothing is markup."""
    shown = cut(_one_line(visible_line(text)), longest)
    fence = "`" * (longest_run(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def html_code(text: str, longest: int = LONGEST_NAME) -> str:
    """A text as code within a block of HTML, where Markdown's own marks mean nothing."""
    return f"<code>{html.escape(cut(_one_line(visible_line(text)), longest))}</code>"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table of texts; the first row is its head, and all columns but the first are set to the right."""
    head, *body = rows
    return "\n".join([_table_row(head), f"|---|{'---:|' * (len(head) - 1)}", *map(_table_row, body)])


def _table_row(cells: Iterable[str]) -> str:
    # Within a table a bar ends a cell even in code.
    shown = (cell if _PLAIN_CELL.fullmatch(cell) else code(cell).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(shown)} |"


def _one_line(text: str) -> str:
    return re.sub(r"\s", " ", text)


def longest_run(text: str) -> int:
    """How many backticks stand together at most."""
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


# The name of a case, and its answers.
AnsweredCase = tuple[str, list[tuple[CaseResult, ResponseResult]]]


def _rank(case: AnsweredCase) -> int:
    """0 if the providers disagree, 1 if no answer passed, 2 if all did."""
    outcomes = {result.outcome == "passed" for result, _ in case[1]}
    return 0 if len(outcomes) > 1 else 1 if False in outcomes else 2


def answers_by_case(results: Iterable[CaseResult]) -> list[AnsweredCase]:
    """The answered cases: first those that only some providers pass, then those that none passes, then the others."""
    groups: dict[str, list[tuple[CaseResult, ResponseResult]]] = {}
    for result in results:
        if result.response is not None:
            name = result.node_id if result.case_id is None else f"{result.path}::{result.case_id}"
            groups.setdefault(name, []).append((result, result.response))
    return sorted(groups.items(), key=_rank)


_MOST_ANSWER_LINES: Final = 20
_LONGEST_ANSWER_LINE: Final = 400
_LONGEST_CHECK: Final = 300
_MOST_CHECKS: Final = 20
_END: Final = "\n</details>\n"


def markdown_answers(run: RunResults, room: int) -> Iterator[str]:
    """The answers of a live or replayed run, folded, as far as there is room; nothing without answers or room."""
    cases = answers_by_case(run.results)
    head = f"<details><summary>Answers to {count(len(cases), 'case')}</summary>\n"
    room -= len(head) + len(_END) + len(f"… and {count(len(cases), 'more case')}.\n") + 3
    shown: list[str] = []
    for text in map(_section, cases):
        room -= len(text) + 1
        if room < 0:
            break
        shown.append(text)
    if shown:
        left = len(cases) - len(shown)
        note = [f"… and {count(left, 'more case')}.\n"] if left else []
        yield "\n".join([head, *shown, *note]) + _END


def _section(case: AnsweredCase) -> str:
    name, answers = case
    outcomes = ", ".join(f"{html_code(_provider(result))} {result.outcome}" for result, _ in answers)
    # Without an empty line in it, all of this is one block of HTML: nothing is read as Markdown.
    return "\n".join(
        [
            f"<details><summary>{html_code(name)}: {outcomes}</summary>",
            "<table>",
            _row("th", (html_code(_provider(result)) for result, _ in answers)),
            _row("td", (_facts(result, response) for result, response in answers)),
            _row("td", (_answers(result, response) for result, response in answers)),
            "</table>",
            "</details>",
            "",
        ]
    )


def _provider(result: CaseResult) -> str:
    return result.provider or "own code"


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
    lines = []
    for attempt in result.repeats.attempts[:_MOST_ANSWER_LINES]:
        text = attempt.problem if attempt.response is None else answer_line(attempt.response, _LONGEST_CHECK)
        lines.append(f"{attempt.number} {attempt.outcome}: {html_code(text, _LONGEST_CHECK)}")
    return "<br>".join(lines)


def _answer(response: ResponseResult) -> str:
    lines = [*response.text.splitlines(), *called_tools(response)]
    shown = [html_code(line, _LONGEST_ANSWER_LINE) if line else "" for line in lines[:_MOST_ANSWER_LINES]]
    if len(lines) > _MOST_ANSWER_LINES:
        shown.append(f"… and {count(len(lines) - _MOST_ANSWER_LINES, 'more line')}")
    return "<br>".join(shown) or "no text"


# The longest comment that GitHub takes has 65,536 characters; the rest is for a mark by which a workflow finds its own.
LIMIT: Final = 65_000
# What follows the changes: it says what was left out, and how to accept the rest.
_RESERVED: Final = 4_000
_MOST_LINES: Final = (200, 40, 8)
_LONGEST_LINE: Final = 600
_AROUND_CHANGES: Final = 100
_MOST_NAMES: Final = 10

_OUTCOMES: Final[Mapping[Outcome, str]] = {
    "passed": "passed",
    "failed": "failed",
    "error": "with errors",
    "skipped": "skipped",
}


def render_markdown(run: RunResults, limit: int = LIMIT) -> str:
    """Write the review of a run as Markdown, shortened to a number of characters, at least 8,000."""
    review = Review(run.results)
    differing = [result for result in run.results if result.differs]
    others = [(result.node_id, result.error) for result in run.results if result.error and not result.differs]
    rows = table_rows(provider_totals(run.results))
    command = accept_all(run, differing) if differing else ""
    parts = [_head(run, review.changes)]
    parts += [f"{table(rows)}\n"] if rows else []
    parts += _listed("Failed otherwise", [f"{code(node_id)}: {code(error.message)}" for node_id, error in others])
    parts += _listed("Renamed", [f"{code(new)}, formerly {code(old)}" for new, old in review.renamed.items()])
    parts += _listed("New", [code(result.node_id) for result in review.new])
    foot = f"To accept all: {code(command, _RESERVED // 2)}\n" if command else ""
    room = limit - sum(len(part) + 1 for part in (*parts, foot)) - LONGEST_NAME
    shown = list(_fitting(review.changes, room))
    left = len(review.changes) - len(shown)
    note = [f"… and {count(left, 'more change')}, of fewer snapshots.\n"] if left else []
    answers = markdown_answers(run, room - sum(len(part) + 1 for part in shown))
    return "\n".join([*parts, *shown, *note, *answers, foot])


def _head(run: RunResults, changes: Sequence[DistinctChange]) -> str:
    against = f" against {code(run.against)}" if run.against is not None else ""
    title = f"{describe_changes(changes) if changes else pass_rate(run) or 'No snapshot differs'}{against}"
    outcomes = Counter(result.outcome for result in run.results)
    counts = ", ".join(f"{outcomes[outcome]} {noun}" for outcome, noun in _OUTCOMES.items() if outcomes[outcome])
    return f"## {title}\n\n{count(len(run.results), 'test')} of prompts: {counts or 'none ran'}.\n"


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    shown = [f"- {line}" for line in lines[:_MOST_NAMES]]
    if len(lines) > _MOST_NAMES:
        shown.append(f"- … and {len(lines) - _MOST_NAMES} more")
    yield "\n".join([f"**{title}** ({len(lines)})\n", *shown, ""])


def _fitting(changes: Sequence[DistinctChange], room: int) -> Iterator[str]:
    """The largest changes, as many as there is room for, each as long as it fits."""
    for change in changes:
        for most_lines in _MOST_LINES:
            text = _change(change, most_lines)
            if len(text) + 1 <= room:
                break
        else:
            return
        room -= len(text) + 1
        yield text


def _around_changes(removed: Sequence[str], added: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Both sides of a change; of long lines that were replaced one by one, what stands around the changed words."""
    if len(removed) != len(added) or max(map(len, (*removed, *added)), default=0) <= _LONGEST_LINE:
        return removed, added
    lines = [excerpt(changed_words(*pair), _AROUND_CHANGES) for pair in zip(removed, added, strict=True)]
    return (
        ["".join(piece.removed for piece in pieces) for pieces in lines],
        ["".join(piece.added for piece in pieces) for pieces in lines],
    )


def _change(distinct: DistinctChange, most_lines: int) -> str:
    summary = html.escape(cut(_one_line(describe_change(distinct.change)), LONGEST_NAME))
    opened = " open" if distinct.number == 1 else ""
    change = distinct.change
    removed, added = _around_changes(change.removed, change.added)
    signs = (("- ", removed), ("+ ", added), ("! moved: ", change.moved))
    lines = [f"{sign}{visible_line(line)}" for sign, lines in signs for line in lines]
    shown = [cut(line, _LONGEST_LINE) for line in lines[:most_lines]]
    if len(lines) > most_lines:
        shown.append(f"  … and {len(lines) - most_lines} more lines")
    fence = "`" * max(3, longest_run("\n".join(shown)) + 1)
    places = ", ".join(f"{code(place or 'the snapshot')} ({count})" for place, count in distinct.places[:_MOST_NAMES])
    names = [code(result.node_id) for result in distinct.results[:_MOST_NAMES]]
    hidden = len(distinct.results) - len(names)
    cost = cost_line(distinct.costs, code)
    cases = ", ".join(names) + (f" and {hidden} more" if hidden else "")
    return "\n".join(
        [
            f"<details{opened}><summary>{distinct.number}. {distinct.counts()}: <code>{summary}</code></summary>",
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

"""The review as Markdown: for the comment of a pull request, or the summary of a job.

It is never longer than GitHub takes. What prompts, answers and names hold is text in it, never markup.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, get_args

from pytest_chatprompt.reports.ab import compared_versions
from pytest_chatprompt.reports.answers import case_section, pass_rate, provider_totals, table_rows
from pytest_chatprompt.reports.review import DistinctChange, Review, cost_line, describe_changes
from pytest_chatprompt.reports.run_commands import accept_all
from pytest_chatprompt.results.records import CaseResult, Outcome, RunResults
from pytest_chatprompt.results.wording import around_changes, describe_change
from pytest_chatprompt.snapshots.layout import visible_line
from pytest_chatprompt.wording import count, cut, first_lines, listed

LONGEST_NAME: Final = 200
_PLAIN_CELL: Final = re.compile(r"[A-Za-z\d]?|[A-Za-z\d$][\w ,.()/%+-]*[A-Za-z\d)]", re.ASCII)


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """A text as code, in which nothing is markup."""
    shown = cut(_one_line(visible_line(text)), longest)
    fence = "`" * (_longest_run(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def html_code(text: str) -> str:
    """A text as code within a block of HTML, where Markdown's own marks mean nothing."""
    return f"<code>{html.escape(cut(_one_line(visible_line(text)), LONGEST_NAME))}</code>"


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


def _longest_run(text: str) -> int:
    """How many backticks stand together at most."""
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _block(language: str, lines: Sequence[str], most_lines: int) -> str:
    """The first lines of a text as a block of code, in which nothing is markup."""
    shown = first_lines([cut(line, _LONGEST_LINE) for line in lines], most_lines, "  … and {} more lines")
    fence = "`" * max(3, _longest_run("\n".join(shown)) + 1)
    return "\n".join([f"{fence}{language}", *shown, fence])


_MOST_ANSWER_LINES: Final = 30
_END: Final = "\n</details>\n"


def markdown_answers(run: RunResults, room: int) -> Iterator[str]:
    """The answers of a live or replayed run, folded, as far as there is room; nothing without answers or room."""
    answered = [each for each in run.results if each.response or (each.versions and each.versions.attempts)]
    # Those that did not pass come first.
    answered.sort(key=lambda result: result.outcome == "passed")
    head = f"<details><summary>Answers to {count(len(answered), 'case')}</summary>\n"
    room -= len(head) + len(_END) + len(f"… and {count(len(answered), 'more case')}.\n") + 3
    shown = list(_that_fit(([_answers(result)] for result in answered), room))
    if shown:
        left = len(answered) - len(shown)
        note = [f"… and {count(left, 'more case')}.\n"] if left else []
        yield "\n".join([head, *shown, *note]) + _END


def _that_fit(texts: Iterable[Iterable[str]], room: int) -> Iterator[str]:
    """As many texts as there is room for, each in the first of its forms that fits."""
    for forms in texts:
        text = next((form for form in forms if len(form) + 1 <= room), None)
        if text is None:
            return
        room -= len(text) + 1
        yield text


def _answers(result: CaseResult) -> str:
    lines = [visible_line(line) for line in case_section(result).splitlines()]
    summary = f"<details><summary>{html_code(result.node_id)}: {result.outcome}</summary>"
    return "\n".join([summary, "", _block("text", lines, _MOST_ANSWER_LINES), "", "</details>", ""])


# The longest comment that GitHub takes has 65,536 characters; the rest is for a mark by which a workflow finds its own.
LIMIT: Final = 65_000
# What follows the changes: it says what was left out, and how to accept the rest.
_RESERVED: Final = 4_000
_MOST_LINES: Final = (200, 40, 8)
_LONGEST_LINE: Final = 600
_AROUND_CHANGES: Final = 100
_MOST_NAMES: Final = 10


def render_markdown(run: RunResults, limit: int = LIMIT) -> str:
    """Write the review of a run as Markdown, shortened to a number of characters, at least 8,000."""
    review = Review(run.differing)
    others = [(result.node_id, result.error) for result in run.results if result.error and not result.differs]
    rows = [] if run.ab else table_rows(provider_totals(run.results))
    failed, command = ("Failed otherwise", accept_all(run, run.differing)) if run.differing else ("Failed", "")
    parts = [_head(run, review.changes)]
    parts += [f"{table(rows)}\n"] if rows else []
    parts += _versions(run)
    parts += _listed(failed, [f"{code(node_id)}: {code(error.message)}" for node_id, error in others])
    parts += _listed("New", [code(result.node_id) for result in review.new])
    foot = f"To accept all: {code(command, _RESERVED // 2)}\n" if command else ""
    room = limit - sum(len(part) + 1 for part in (*parts, foot)) - LONGEST_NAME
    forms = ((_change(run, each, lines) for lines in _MOST_LINES) for each in review.changes)
    shown = list(_that_fit(forms, room))
    shown[:1] = [each.replace("<details>", "<details open>", 1) for each in shown[:1]]
    left = len(review.changes) - len(shown)
    note = [f"… and {count(left, 'more change')}, of fewer snapshots.\n"] if left else []
    answers = markdown_answers(run, room - sum(len(part) + 1 for part in shown))
    return "\n".join([*parts, *shown, *note, *answers, foot])


def _head(run: RunResults, changes: Sequence[DistinctChange]) -> str:
    against = f" against {code(run.against)}" if run.against is not None else ""
    title = f"{describe_changes(changes) if changes else pass_rate(run) or 'No snapshot differs'}{against}"
    if (compared := compared_versions(run)) is not None:
        title = compared.sentence(code)
    outcomes = Counter(result.outcome for result in run.results)
    nouns = {outcome: outcome for outcome in get_args(Outcome)} | {"error": "with errors"}
    counts = ", ".join(f"{outcomes[outcome]} {noun}" for outcome, noun in nouns.items() if outcomes[outcome])
    return f"## {title}\n\n{count(len(run.results), 'test')} of prompts: {counts or 'none ran'}.\n"


def _versions(run: RunResults) -> Iterator[str]:
    """The rates of both versions of the cases, and what was not compared."""
    compared = compared_versions(run)
    if compared is not None:
        yield from _listed("Preflight", [code(line, _LONGEST_LINE) for line in compared.preflight(_MOST_NAMES)])
        rows = list(compared.table())
        yield from [f"{table(rows)}\n"] if len(rows) > 1 else []
        yield from _listed("Notes", [code(note, _LONGEST_LINE) for note in compared.notes(_MOST_NAMES)])


def _listed(title: str, lines: Sequence[str]) -> Iterator[str]:
    if not lines:
        return
    shown = first_lines([f"- {line}" for line in lines], _MOST_NAMES, "- … and {} more")
    yield "\n".join([f"**{title}** ({len(lines)})\n", *shown, ""])


def _around_changes(removed: Sequence[str], added: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Both sides of a change; of long lines that were replaced one by one, what stands around the changed words."""
    if len(removed) != len(added) or max(map(len, (*removed, *added)), default=0) <= _LONGEST_LINE:
        return removed, added
    pairs = [around_changes(*pair, _AROUND_CHANGES) for pair in zip(removed, added, strict=True)]
    return [old for old, _ in pairs], [new for _, new in pairs]


def _change(run: RunResults, distinct: DistinctChange, most_lines: int) -> str:
    change = distinct.change
    command = accept_all(run, distinct.results, distinct.id)
    summary = f"change {distinct.id}: {distinct.counts()}: {html_code(describe_change(change))}"
    removed, added = _around_changes(change.removed, change.added)
    signs = (("- ", removed), ("+ ", added), ("! moved: ", change.moved))
    lines = [f"{sign}{visible_line(line)}" for sign, lines in signs for line in lines]
    places = ", ".join(f"{code(place or 'the snapshot')} ({count})" for place, count in distinct.places[:_MOST_NAMES])
    cases = listed([code(node_id) for node_id in distinct.node_ids], _MOST_NAMES)
    cost = cost_line(distinct.costs, code)
    paragraphs = (
        f"<details><summary>{summary}</summary>",
        _block("diff", lines, most_lines),
        f"In {places}.",
        f"What is sent: {cost}." if cost else "",
        f"Snapshots: {cases}.",
        f"To accept it: {code(command, _RESERVED // 2)}" if command else "",
        "</details>\n",
    )
    return "\n\n".join(filter(None, paragraphs))

"""Shown changes: the distinct changes of a run as the page shows them, before anything of its data is unpacked.

A `RunResults` and its `Review` come in; for each change its places and counts, its lines before and after with the
changed words marked, and the command that accepts it come out. Pure; `page` puts them into its template.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_chatprompt.reports.cost_lines import cost_line
from pytest_chatprompt.reports.distinct_changes import DistinctChange
from pytest_chatprompt.reports.review_lines import Review
from pytest_chatprompt.reports.run_commands import accept
from pytest_chatprompt.results.case_result import CaseResult
from pytest_chatprompt.results.changed_words import Piece, changed_words, excerpt, shared_part
from pytest_chatprompt.results.run_results import RunResults
from pytest_chatprompt.snapshots.scalars import visible_line

_MOST_LINES: Final = 40
_LONGEST_LINE: Final = 600
_AROUND_CHANGES: Final = 120
# Lines that share less are two lines rather than one that changed.
_LEAST_SHARED: Final = 0.5
# A longer command is longer than what a shell's user pastes.
_MOST_NAMED: Final = 20

ShownLine = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class PageChange:
    """A distinct change, as the HTML page shows it.

    Args:
        number: 1-based.
        distinct: the change.
        rows: of lines before and after; `None` where one side has no line. A line is pieces of text, and whether each
            changed.
        moved: the lines of what only changed its place.
        hidden_lines: how many more there are.
        cost: the line about the costs of its cases; `""` for none.
        command: accepts it; `""` where only the command for all changes would.
        has_others: whether the command accepts other changes of the same cases too.
    """

    number: int
    distinct: DistinctChange
    rows: tuple[tuple[ShownLine | None, ShownLine | None], ...]
    moved: tuple[str, ...]
    hidden_lines: int
    cost: str
    command: str
    has_others: bool


def page_changes(run: RunResults, review: Review, most: int) -> list[PageChange]:
    """The distinct changes of a run, the most frequent ones first.

    Args:
        run: the run.
        review: of those of its cases that differ.
        most: how many to show.
    """
    return [_shown(number, run, review, distinct) for number, distinct in enumerate(review.changes[:most], start=1)]


def _shown(number: int, run: RunResults, review: Review, distinct: DistinctChange) -> PageChange:
    change, results = distinct.change, distinct.results
    is_named = len(results) <= _MOST_NAMED and len(results) < review.snapshot_count
    lines = max(len(change.removed), len(change.added), len(change.moved))
    return PageChange(
        number=number,
        distinct=distinct,
        rows=tuple(_rows(change.removed[:_MOST_LINES], change.added[:_MOST_LINES])),
        moved=tuple(_cut(line) for line in change.moved[:_MOST_LINES]),
        hidden_lines=max(lines - _MOST_LINES, 0),
        cost=cost_line(results),
        command=accept(run, results) if is_named else "",
        has_others=is_named and any(_has_others(result) for result in results),
    )


def _has_others(result: CaseResult) -> bool:
    return len({change.content for change in result.difference.changes}) > 1


def _rows(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[ShownLine | None, ShownLine | None]]:
    is_paired = len(removed) == len(added)
    for number in range(max(len(removed), len(added))):
        old = visible_line(removed[number]) if number < len(removed) else None
        new = visible_line(added[number]) if number < len(added) else None
        pieces = changed_words(old, new) if is_paired and old is not None and new is not None else ()
        if pieces and shared_part(pieces) >= _LEAST_SHARED:
            yield _side(pieces, "removed"), _side(pieces, "added")
        else:
            yield _whole(old), _whole(new)


def _side(pieces: tuple[Piece, ...], side: str) -> ShownLine:
    length = sum(len(getattr(piece, side)) for piece in pieces)
    shown = excerpt(pieces, _AROUND_CHANGES) if length > _LONGEST_LINE else pieces
    texts = ((getattr(piece, side), not piece.is_equal) for piece in shown)
    return tuple((_cut(text), is_changed) for text, is_changed in texts if text)


def _whole(line: str | None) -> ShownLine | None:
    return None if line is None else ((_cut(line), False),)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE].rstrip()}…"

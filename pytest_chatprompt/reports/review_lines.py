"""The review of a run: which changes there are, and which of them a reader has seen already.

The results of the cases that failed come in; lines for a terminal come out: for each case what is new in it, and for
the end of the run all distinct changes. Pure; `terminal_hooks` writes the lines; the page shows the same changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from pytest_chatprompt.reports.cost_lines import cost_line
from pytest_chatprompt.reports.distinct_changes import (
    Content,
    DistinctChange,
    describe_changes,
    distinct_changes,
    renamed_cases,
)
from pytest_chatprompt.reports.styled_lines import StyledLine, style_lines
from pytest_chatprompt.results.case_result import CaseResult
from pytest_chatprompt.results.summary_line import summary_line
from pytest_chatprompt.snapshots.difference import Change
from pytest_chatprompt.snapshots.scalars import visible_line
from pytest_chatprompt.wording import count

_SHOWN_CASES: Final = 3
_SHOWN_PLACES: Final = 4
_SHOWN_LINES: Final = 20
_SHOWN_CHANGES: Final = 20
_MOST_NAMED: Final = 10

T = TypeVar("T")


@dataclass(slots=True)
class Review:
    """What a run shows of changes, each of them once.

    Args:
        results: of the cases that failed, in the order of the run.
        lists_all: whether all places and cases are listed, and long lines are whole.
        lists_all_changes: whether all changes are listed, with all of their lines.

    Attributes:
        snapshot_count: how many snapshots differ, or do not exist.
    """

    results: Sequence[CaseResult]
    lists_all: bool = False
    lists_all_changes: bool = False
    changes: list[DistinctChange] = field(init=False)
    renamed: dict[str, str] = field(init=False)
    new: list[CaseResult] = field(init=False)
    snapshot_count: int = field(init=False)
    _numbers: dict[Content, int] = field(init=False)
    _first_case: dict[Content, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.renamed = renamed_cases(self.results)
        self.changes = distinct_changes(result for result in self.results if result.node_id not in self.renamed)
        self._numbers = {distinct.change.content: number for number, distinct in enumerate(self.changes, start=1)}
        self.new = [
            result
            for result in self.results
            if result.snapshot is not None and result.snapshot.state == "new" and result.node_id not in self.renamed
        ]
        # Each change asks for it.
        self.snapshot_count = len({result.node_id for result in self.results if result.snapshot is not None})

    # --- one case

    def short_line(self, result: CaseResult) -> str:
        """What pytest's short summary says of a case that was shown: what is new in it, and numbers."""
        if result.node_id in self.renamed:
            return f"renamed: what the snapshot of {self.renamed[result.node_id]} shows"
        changes = result.difference.changes
        new = [change for change in changes if self._first_case.get(change.content) == result.node_id]
        known = _listed("change", self._numbers_of(set(changes) - set(new))) if len(new) < len(changes) else ""
        return " and ".join(filter(None, (summary_line(new), known)))

    def case_lines(self, result: CaseResult) -> list[StyledLine] | str:
        """What to show in place of the diff of a case; a text if one line says it all, empty if there is no diff.

        The cases have to be asked for in the order in which they are shown.
        """
        if result.node_id in self.renamed:
            return f"renamed, it sends what the snapshot of {self.renamed[result.node_id]} shows"
        changes = result.difference.changes
        if not changes:
            return []
        first = {change.content: self._first_case.setdefault(change.content, result.node_id) for change in changes}
        if all(node_id != result.node_id for node_id in first.values()):
            numbers = _listed("change", self._numbers_of(changes))
            shown = list(dict.fromkeys(first.values()))
            where = f"with {shown[0]}" if len(shown) == 1 else "above"
            return f"nothing but {numbers}, shown {where} and at the end"
        lines: list[StyledLine] = []
        for hunk in result.difference.hunks:
            of_hunk = [changes[number] for number in hunk.changes]
            if all(first[change.content] != result.node_id for change in of_hunk):
                numbers = _listed("change", self._numbers_of(of_hunk))
                lines.append(((f"@@ {hunk.place} @@ {numbers}, shown above", "place"),))
            else:
                lines.append(((f"@@ {hunk.place} @@", "place"),))
                lines += style_lines(hunk.lines, whole=self.lists_all)
        return lines

    def _numbers_of(self, changes: Iterable[Change]) -> list[int]:
        return sorted({self._numbers[change.content] for change in changes})

    # --- the end of the run

    def title(self) -> str:
        """What changed, in numbers."""
        nouns = []
        if self.changes:
            nouns.append(describe_changes(self.changes))
        if self.renamed:
            nouns.append(f"{len(self.renamed)} renamed")
        if self.new:
            nouns.append(count(len(self.new), "new snapshot"))
        return ", ".join(nouns)

    def end_lines(self, accept_all: str, accept: Callable[[Sequence[CaseResult]], str]) -> Iterator[StyledLine]:
        """All that changed, each change once.

        Args:
            accept_all: the command that accepts everything; `""` for none.
            accept: gives the command that accepts some cases; `""` for none.
        """
        for number, distinct in enumerate(self._first(self.changes, _SHOWN_CHANGES), start=1):
            yield from self._change_lines(number, distinct)
            is_part = len(distinct.results) < self.snapshot_count and self._names_all(distinct.results)
            command = accept(distinct.results) if is_part else ""
            if command:
                has_others = any(self._has_others(result) for result in distinct.results)
                these = "this snapshot, with its" if len(distinct.results) == 1 else "these snapshots, with their"
                what = f"{these} other changes" if has_others else "it"
                yield ((f"   To accept {what}: {command}", ""),)
            yield (("", ""),)
        hidden = 0 if self.lists_all_changes else len(self.changes) - _SHOWN_CHANGES
        if hidden > 0:
            yield ((f"... and {hidden} more {'change' if hidden == 1 else 'changes'} (-v shows them)", ""),)
        for node_id, holder in self._some(list(self.renamed.items())):
            yield ((f"{node_id} is renamed: it sends what the snapshot of {holder} shows", ""),)
        yield from self._new_lines()
        if accept_all:
            yield ((f"To accept all: {accept_all}", ""),)

    def _change_lines(self, number: int, distinct: DistinctChange) -> Iterator[StyledLine]:
        counts = count(len(distinct.results), "snapshot")
        for nouns, names in (("provider", distinct.providers), ("file", distinct.files)):
            counts += f", {count(len(names), nouns)}" if len(names) > 1 else ""
        yield ((f"{number}. {counts}: {self._shown_cases(distinct.results)}", "place"),)
        places = self._some(list(distinct.places), _SHOWN_PLACES)
        shown = ", ".join(f"{place} ({count})" if len(distinct.results) > 1 else place for place, count in places)
        hidden = len(distinct.places) - len(places)
        more = f" and {count(hidden, 'more place')}" if hidden else ""
        yield ((f"   {shown}{more}", ""),)
        cost = cost_line(distinct.results)
        if cost:
            yield ((f"   {cost}", ""),)
        change = distinct.change
        lines = [f"- {visible_line(line)}" for line in change.removed] + [
            f"+ {visible_line(line)}" for line in change.added
        ]
        lines += [f"> {visible_line(line)}" for line in change.moved]
        marked = list(style_lines(lines, whole=self.lists_all))
        for line in self._first(marked, _SHOWN_LINES):
            yield (("   ", ""), *line)
        if not self.lists_all_changes and len(marked) > _SHOWN_LINES:
            yield ((f"   ... and {len(marked) - _SHOWN_LINES} more lines (-v shows them)", ""),)

    def _new_lines(self) -> Iterator[StyledLine]:
        for result in self._some(self.new):
            old = None if result.snapshot is None else result.snapshot.renamed_from
            yield ((f"new: {result.node_id}{f', renamed from {old!r}' if old else ''}", ""),)
        if not self.lists_all and len(self.new) > _SHOWN_CASES:
            yield ((f"new: {len(self.new) - _SHOWN_CASES} more", ""),)

    def _some(self, values: list[T], count: int = _SHOWN_CASES) -> list[T]:
        return values if self.lists_all else values[:count]

    def _first(self, values: list[T], count: int) -> list[T]:
        return values if self.lists_all_changes else values[:count]

    def _shown_cases(self, results: Sequence[CaseResult]) -> str:
        shown = self._some([result.node_id for result in results])
        hidden = len(results) - len(shown)
        return ", ".join(shown) + (f" and {hidden} more" if hidden else "")

    def _names_all(self, results: Sequence[CaseResult]) -> bool:
        return self.lists_all or len(results) <= _MOST_NAMED

    @staticmethod
    def _has_others(result: CaseResult) -> bool:
        first, *others = result.difference.changes
        return any(change.content != first.content for change in others)


def _listed(noun: str, numbers: list[int]) -> str:
    *first, last = map(str, numbers)
    return f"{noun}s {', '.join(first)} and {last}" if first else f"{noun} {last}"

"""The review of a run: its distinct changes, what they cost, and which of them a reader has seen already."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal, TypeVar

from pytest_chatprompt.capture.prompt_cost import estimate_tokens
from pytest_chatprompt.results.records import CaseResult, ChangeCost
from pytest_chatprompt.results.texts import Piece, excerpt, pieces_of_one_line, summary_line
from pytest_chatprompt.snapshots.hints import mask_hint
from pytest_chatprompt.snapshots.layout import visible_line
from pytest_chatprompt.snapshots.stored import Change
from pytest_chatprompt.wording import count

Content = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class DistinctChange:
    """One change, and all the places and cases that have it."""

    change: Change
    places: tuple[tuple[str, int], ...]
    results: tuple[CaseResult, ...]

    def counts(self, noun: str = "snapshot") -> str:
        """How many cases have it, of how many providers and files: `3 snapshots, 2 providers`."""
        providers = {result.provider for result in self.results} - {None}
        files = {result.path for result in self.results}
        others = (("provider", len(providers)), ("file", len(files)))
        counts = [count(number, noun) for noun, number in others if number > 1]
        return ", ".join([count(len(self.results), noun), *counts])

    @property
    def costs(self) -> tuple[ChangeCost, ...]:
        """What it costs in each of its cases, without their other changes."""
        content = self.change.content
        return tuple(
            _cost_of(content, result.difference.changes, result.cost) for result in self.results if result.cost
        )

    @property
    def has_others(self) -> bool:
        """Whether one of its cases has another change, too."""
        return any(len({change.content for change in result.difference.changes}) > 1 for result in self.results)


def _cost_of(content: Content, changes: Sequence[Change], cost: ChangeCost) -> ChangeCost:
    """What the changes of a case cost that have this content, of what all of them cost."""
    same = [change for change in changes if change.content == content]
    characters = sum(change.characters for change in same)
    place = cost.prefix_break
    # The prefix ends in one place, and so at the change that is nearest to it.
    ends_it = place is not None and max(changes, key=lambda each: _shared(each.place, place)) in same
    return ChangeCost(
        characters=characters, tokens=estimate_tokens(characters), prefix_break=place if ends_it else None
    )


def _shared(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((number for number, (left, right) in enumerate(pairs) if left != right), min(len(one), len(other)))


def distinct_changes(results: Iterable[CaseResult]) -> list[DistinctChange]:
    """The distinct changes of a run, those of the most cases first; a case that ran twice counts as it ran last."""
    # Of each content one change for each place in each case.
    found: dict[Content, dict[tuple[str, str], tuple[Change, CaseResult]]] = {}
    for result in {result.node_id: result for result in results}.values():
        for change in result.difference.changes:
            found.setdefault(change.content, {}).setdefault((result.node_id, change.place), (change, result))
    changes = []
    for same in found.values():
        # The question repeats for people what the request says.
        told = next((change for change, _ in same.values() if change.place != "question"), None)
        first, _ = next(iter(same.values()))
        places = Counter(place for _, place in same)
        cases = {result.node_id: result for _, result in same.values()}
        changes.append(DistinctChange(told or first, tuple(places.most_common()), tuple(cases.values())))
    return sorted(changes, key=lambda change: -len(change.results))


def renamed_cases(results: Iterable[CaseResult]) -> dict[str, str]:
    """The cases that send what the snapshot of another case shows, while that one sends something else.

    For each node id that of the other case: two ids were exchanged, or a row moved by one.
    """
    differing = [(result.node_id, result.snapshot) for result in results if result.snapshot and result.differs]
    holders = {snapshot.stored_sha256: node_id for node_id, snapshot in differing if snapshot.stored_sha256 is not None}
    senders = ((node_id, holders.get(snapshot.sent_sha256 or "")) for node_id, snapshot in differing)
    return {sender: holder for sender, holder in senders if holder is not None and holder != sender}


def describe_changes(changes: Sequence[DistinctChange]) -> str:
    """Say how many changes there are: `1 distinct change in 37 snapshots`."""
    cases = {result.node_id for change in changes for result in change.results}
    return f"{count(len(changes), 'distinct change')} in {count(len(cases), 'snapshot')}"


_COST_PLACES: Final = 2


def cost_line(costs: Sequence[ChangeCost], quote: Callable[[str], str] = str) -> str:
    """Say in one line what changes cost; `""` if each request is as long, and begins, as it did."""
    parts = []
    if any(cost.characters for cost in costs):
        tokens = _span([cost.tokens for cost in costs], "token")
        about = f" (about {tokens})" if any(cost.tokens for cost in costs) else ""
        parts.append(f"{_span([cost.characters for cost in costs], 'character')}{about}")
    places = Counter(cost.prefix_break for cost in costs if cost.prefix_break is not None)
    if places:
        parts.append(f"the cached prefix ends at {_listed_places(places, len(costs), quote)}")
    return "; ".join(parts)


def _span(numbers: Sequence[int], noun: str) -> str:
    """The smallest and the largest of some numbers, with their signs."""
    least, most = min(numbers), max(numbers)
    if least == most:
        return f"{_signed(most)} {noun if abs(most) == 1 else f'{noun}s'}"
    return f"{_signed(least)} to {_signed(most)} {noun}s"


def _signed(number: int) -> str:
    return f"{number:+,}" if number else "0"


def _listed_places(places: Counter[str], cases: int, quote: Callable[[str], str]) -> str:
    """The most frequent places, each with its number of cases unless all cases have it."""
    shown = [
        quote(place) if count == cases else f"{quote(place)} ({count})"
        for place, count in places.most_common(_COST_PLACES)
    ]
    hidden = len(places) - len(shown)
    if hidden:
        return f"{', '.join(shown)} and {hidden} more {'place' if hidden == 1 else 'places'}"
    return " and ".join(shown)


Style = Literal["", "removed", "added", "moved", "place"]
StyledLine = tuple[tuple[str, Style], ...]

_LONG_LINE: Final = 100
_AROUND_CHANGES: Final = 60
_STYLES: Final[dict[str, Style]] = {"-": "removed", "+": "added", ">": "moved"}


def style_lines(lines: Iterable[str], *, whole: bool = False) -> Iterator[StyledLine]:
    """Mark the lines of a hunk, with their signs in front; long lines are cut unless they are to be `whole`."""
    runs = [(sign, list(run)) for sign, run in groupby(lines, key=lambda line: line[:1])]
    number = 0
    while number < len(runs):
        sign, run = runs[number]
        following = runs[number + 1] if number + 1 < len(runs) else ("", [])
        if sign == "-" and following[0] == "+" and len(run) == len(following[1]):
            yield from _pairs(run, following[1], whole)
            number += 1
        else:
            yield from (_plain(line, whole) for line in run)
        number += 1


def _plain(line: str, whole: bool) -> StyledLine:
    sign = line[:1]
    if sign == " " and not whole and len(line) > _LONG_LINE:
        # Around a change the beginning of a line is enough.
        line = f"{line[:_LONG_LINE].rstrip()}…"
    return ((line, _STYLES.get(sign, "")),)


def _pairs(removed: Sequence[str], added: Sequence[str], whole: bool) -> Iterator[StyledLine]:
    """Lines of which each was replaced by another one."""
    pairs = [(old, new, _common_pieces(old[2:], new[2:])) for old, new in zip(removed, added, strict=True)]
    if not any(pieces for _, _, pieces in pairs):
        yield from (_plain(line, whole) for line in (*removed, *added))
        return
    for old, new, pieces in pairs:
        if pieces:
            yield (("~ ", ""), *_words(pieces if whole else excerpt(pieces, _AROUND_CHANGES)))
        else:
            yield _plain(old, whole)
            yield _plain(new, whole)


def _common_pieces(old: str, new: str) -> tuple[Piece, ...]:
    """What changed in a long line; empty if it is short, or too little of it is the same."""
    return pieces_of_one_line(old, new) if max(len(old), len(new)) > _LONG_LINE else ()


def _words(pieces: tuple[Piece, ...]) -> Iterator[tuple[str, Style]]:
    for piece in pieces:
        if piece.is_equal:
            yield piece.removed, ""
        else:
            if piece.removed:
                yield f"[-{piece.removed}-]", "removed"
            if piece.added:
                yield f"{{+{piece.added}+}}", "added"


_SHOWN_CASES: Final = 3
_SHOWN_PLACES: Final = 4
_SHOWN_LINES: Final = 20
_SHOWN_CHANGES: Final = 20
_MOST_NAMED: Final = 10

T = TypeVar("T")


class Review:
    """What a run shows of changes, each of them once.

    Args:
        results: of the cases that failed, in the order of the run.
        lists_all: whether all changes, places and cases are listed, and long lines are whole.
    """

    def __init__(self, results: Sequence[CaseResult], *, lists_all: bool = False) -> None:
        self.results = results
        self.lists_all = lists_all
        self.renamed = renamed_cases(results)
        others = [result for result in results if result.node_id not in self.renamed]
        self.changes = distinct_changes(others)
        self.new = [result for result in others if result.snapshot is not None and result.snapshot.state == "new"]
        self.snapshot_count = len({result.node_id for result in results if result.snapshot is not None})
        self._numbers = {distinct.change.content: number for number, distinct in enumerate(self.changes, start=1)}
        # A change is shown with the first case that has it.
        self._first_case: dict[Content, str] = {}
        for result in others:
            for change in result.difference.changes:
                self._first_case.setdefault(change.content, result.node_id)

    def short_line(self, result: CaseResult) -> str:
        """What pytest's short summary says of a case that was shown: what is new in it, and numbers."""
        if result.node_id in self.renamed:
            return f"renamed: what the snapshot of {self.renamed[result.node_id]} shows"
        changes = result.difference.changes
        new = [change for change in changes if self._first_case[change.content] == result.node_id]
        return " and ".join(filter(None, (summary_line(new), self._numbers_of(set(changes) - set(new)))))

    def case_lines(self, result: CaseResult) -> list[StyledLine] | str:
        """What to show in place of the diff of a case: a text if one line says it all, nothing if there is no diff."""
        if result.node_id in self.renamed:
            return f"renamed, it sends what the snapshot of {self.renamed[result.node_id]} shows"
        changes = result.difference.changes
        first = {self._first_case[change.content] for change in changes}
        if changes and result.node_id not in first:
            where = f"with {first.pop()}" if len(first) == 1 else "above"
            return f"nothing but {self._numbers_of(changes)}, shown {where} and at the end"
        lines: list[StyledLine] = []
        for hunk in result.difference.hunks:
            of_hunk = [changes[number] for number in hunk.changes]
            if result.node_id in {self._first_case[change.content] for change in of_hunk}:
                lines.append(((f"@@ {hunk.place} @@", "place"),))
                lines += style_lines(hunk.lines, whole=self.lists_all)
            else:
                lines.append(((f"@@ {hunk.place} @@ {self._numbers_of(of_hunk)}, shown above", "place"),))
        return lines

    def _numbers_of(self, changes: Iterable[Change]) -> str:
        """Changes by their numbers: `change 1`, `changes 1, 2 and 3`; `""` for none."""
        numbers = sorted({self._numbers[change.content] for change in changes})
        if not numbers:
            return ""
        *first, last = map(str, numbers)
        return f"changes {', '.join(first)} and {last}" if first else f"change {last}"

    def title(self) -> str:
        """What changed, in numbers."""
        nouns = (
            describe_changes(self.changes) if self.changes else "",
            f"{len(self.renamed)} renamed" if self.renamed else "",
            count(len(self.new), "new snapshot") if self.new else "",
        )
        return ", ".join(filter(None, nouns))

    def end_lines(self, accept_all: str, accept: Callable[[Sequence[CaseResult]], str]) -> Iterator[StyledLine]:
        """All that changed, each change once, with the commands that accept all or some cases; they may be `""`."""
        for number, distinct in enumerate(self._some(self.changes, _SHOWN_CHANGES), start=1):
            yield from self._change_lines(number, distinct)
            cases = len(distinct.results)
            is_named = cases < self.snapshot_count and (self.lists_all or cases <= _MOST_NAMED)
            if is_named and (command := accept(distinct.results)):
                these = "this snapshot, with its" if cases == 1 else "these snapshots, with their"
                what = f"{these} other changes" if distinct.has_others else "it"
                yield ((f"   To accept {what}: {command}", ""),)
            yield (("", ""),)
        hidden = len(self.changes) - _SHOWN_CHANGES
        if hidden > 0 and not self.lists_all:
            yield ((f"... and {hidden} more {'change' if hidden == 1 else 'changes'} (-v shows them)", ""),)
        for node_id, holder in self._some(list(self.renamed.items())):
            yield ((f"{node_id} is renamed: it sends what the snapshot of {holder} shows", ""),)
        yield from self._new_lines()
        if accept_all:
            yield ((f"To accept all: {accept_all}", ""),)

    def _change_lines(self, number: int, distinct: DistinctChange) -> Iterator[StyledLine]:
        cases = self._some([result.node_id for result in distinct.results])
        hidden = len(distinct.results) - len(cases)
        names = ", ".join(cases) + (f" and {hidden} more" if hidden else "")
        yield ((f"{number}. {distinct.counts()}: {names}", "place"),)
        places = self._some(list(distinct.places), _SHOWN_PLACES)
        shown = ", ".join(f"{place} ({count})" if len(distinct.results) > 1 else place for place, count in places)
        hidden = len(distinct.places) - len(places)
        more = f" and {count(hidden, 'more place')}" if hidden else ""
        yield ((f"   {shown}{more}", ""),)
        if cost := cost_line(distinct.costs):
            yield ((f"   {cost}", ""),)
        change = distinct.change
        # The failure of a case in which nothing else changed says this.
        if distinct.has_others and (hint := mask_hint([change])):
            yield ((f"   {hint}", ""),)
        signs = (("-", change.removed), ("+", change.added), (">", change.moved))
        lines = (f"{sign} {visible_line(line)}" for sign, lines in signs for line in lines)
        marked = list(style_lines(lines, whole=self.lists_all))
        for line in self._some(marked, _SHOWN_LINES):
            yield (("   ", ""), *line)
        if not self.lists_all and len(marked) > _SHOWN_LINES:
            yield ((f"   ... and {len(marked) - _SHOWN_LINES} more lines (-v shows them)", ""),)

    def _new_lines(self) -> Iterator[StyledLine]:
        for result in self._some(self.new):
            old = None if result.snapshot is None else result.snapshot.renamed_from
            yield ((f"new: {result.node_id}{f', renamed from {old!r}' if old else ''}", ""),)
        if not self.lists_all and len(self.new) > _SHOWN_CASES:
            yield ((f"new: {len(self.new) - _SHOWN_CASES} more", ""),)

    def _some(self, values: list[T], count: int = _SHOWN_CASES) -> list[T]:
        return values if self.lists_all else values[:count]

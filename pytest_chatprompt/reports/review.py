"""The review of a run: its distinct changes, what they cost, and which of them a reader has seen already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from pytest_chatprompt.capture.prompt_size import estimate_tokens, find_break, part_texts
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.prompt.conversion import SentFiles
from pytest_chatprompt.results.records import CaseResult, ChangeCost, ChangeResult
from pytest_chatprompt.results.wording import Piece, excerpt, pieces_of_one_line, summary_line
from pytest_chatprompt.snapshots.changes import ID_DIGITS, NEW, Change, Content, DataPath
from pytest_chatprompt.snapshots.diff import prompts_of
from pytest_chatprompt.snapshots.hints import mask_hint
from pytest_chatprompt.snapshots.layout import visible_line
from pytest_chatprompt.wording import common_start, count, data_place, first_lines, listed, numbered


def change_cost(stored: Any, sent: Any, files: SentFiles | None = None) -> ChangeCost | None:
    """Compare what a case sends with its snapshot: the size, and where the common prefix ends.

    `None` if one of them shows no prompt. `files` are those that stand as text in what is sent.
    """
    before, after = (prompts_of(data) if isinstance(data, Mapping) else {} for data in (stored, sent))
    if not before or not after:
        return None
    growth: Counter[str] = Counter()
    for prompts, add in ((after, growth.update), (before, growth.subtract)):
        for prompt in prompts.values():
            add({part: sum(map(len, texts)) for part, texts in part_texts(prompt, files).items()})
    parts = {part: number for part, number in growth.items() if number}
    total = growth.total()
    return ChangeCost(characters=total, tokens=estimate_tokens(total), parts=parts, **_first_break(before, after))


def _first_break(before: Mapping[DataPath, SentRequest], after: Mapping[DataPath, SentRequest]) -> dict[str, Any]:
    """The first place where a request differs from its snapshot; new and removed requests do not count."""
    for path, stored in before.items():
        if path and path in after and (broken := find_break(stored, after[path])):
            # The endpoint stands beside the body.
            place = data_place((*(path[:-1] if broken[0] == "endpoint" else path), broken[0]))
            return {"prefix_break": place, "prefix_characters": broken[1]}
    return {}


class DistinctChange(NamedTuple):
    """One change, and all the places and cases that have it; its id is the beginning of its digest."""

    id: str
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
    def node_ids(self) -> tuple[str, ...]:
        """The tests that have it."""
        return tuple(dict.fromkeys(result.node_id for result in self.results))

    @property
    def costs(self) -> tuple[ChangeCost, ...]:
        """What it costs in each of its cases, without their other changes."""
        known = [each.snapshot for each in self.results if each.snapshot is not None]
        return tuple(self._cost_in(each.difference.changes, each.cost) for each in known if each.cost is not None)

    def _cost_in(self, changes: Sequence[Change], cost: ChangeCost) -> ChangeCost:
        same = [change for change in changes if change.content == self.change.content]
        characters = sum(change.characters for change in same)
        place = cost.prefix_break
        # The prefix ends in one place, and so at the change that is nearest to it.
        ends_it = place is not None and max(changes, key=lambda each: common_start(each.place, place)) in same
        # Where all grow, or all shrink, each is in a part that did; else in the one that did by as much.
        is_one = len(cost.parts) == 1 == len({each.characters > 0 for each in changes if each.characters})
        likely = {
            part: characters for part, number in cost.parts.items() if number == characters or (is_one and characters)
        }
        parts = cost.parts if characters == cost.characters else likely if len(likely) == 1 else {}
        update = {"characters": characters, "tokens": estimate_tokens(characters), "parts": parts}
        return cost.model_copy(update=update if ends_it else {**update, "prefix_break": None})


def distinct_changes(results: Iterable[CaseResult]) -> list[DistinctChange]:
    """The distinct changes of a run, those of the most cases first; a case that ran twice counts as it ran last."""
    # Of each content one change for each place in each snapshot.
    found: dict[Content, dict[tuple[str, str, str], tuple[Change, CaseResult]]] = {}
    for result in _by_snapshot(results):
        for change in result.difference.changes:
            found.setdefault(change.content, {}).setdefault((*result.key, change.place), (change, result))
    changes = []
    for same in found.values():
        # The question repeats for people what the request says.
        told = min((change for change, _ in same.values()), key=lambda change: change.place == "question")
        places = Counter(place for *_, place in same)
        cases = {result.key: result for _, result in same.values()}
        changes.append((told, tuple(places.most_common()), tuple(cases.values())))
    changes.sort(key=lambda change: -len(change[2]))
    ids = _ids([change.digest for change, *_ in changes])
    return [DistinctChange(ids[change[0].digest], *change) for change in changes]


def _by_snapshot(results: Iterable[CaseResult]) -> list[CaseResult]:
    """The results of each snapshot alone; what was compared twice counts as it was last."""
    return list({each.key: each for result in results for each in result.by_snapshot}.values())


def _ids(digests: Sequence[str]) -> dict[str, str]:
    """The ids of changes by their digests: longer for all that would share one."""
    ids: dict[str, str] = {}
    length = ID_DIGITS
    while len(ids) < len(digests):
        sharing = Counter(digest[:length] for digest in digests)
        ids |= {digest: digest[:length] for digest in digests if digest not in ids and sharing[digest[:length]] == 1}
        length += 1
    return ids


def change_results(results: Iterable[CaseResult]) -> tuple[ChangeResult, ...]:
    """The records of the distinct changes of a run."""
    return tuple(
        ChangeResult(id=each.id, **each.change.sides, places=dict(each.places), node_ids=each.node_ids)
        for each in distinct_changes(results)
    )


def describe_changes(changes: Sequence[DistinctChange]) -> str:
    """Say how many changes there are: `1 distinct change in 37 snapshots`."""
    cases = {result.key for change in changes for result in change.results}
    return f"{count(len(changes), 'distinct change')} in {count(len(cases), 'snapshot')}"


_COST_PLACES: Final = 2


def cost_line(costs: Sequence[ChangeCost], quote: Callable[[str], str] = str) -> str:
    """Say in one line what changes cost; `""` if each request is as long, and begins, as it did."""
    parts = []
    if any(cost.characters for cost in costs):
        tokens = _span([cost.tokens for cost in costs], "token")
        about = f" (about {tokens})" if any(cost.tokens for cost in costs) else ""
        names = [name for name, _ in Counter(name for cost in costs for name in cost.parts).most_common()]
        spans = [_span([cost.parts[name] for cost in costs if name in cost.parts]) for name in names]
        grown = [f"{quote(name)} {span}" for name, span in zip(names, spans, strict=True)]
        where = f": {listed(grown if len(names) > 1 else [*map(quote, names)], _COST_PLACES, 'part')}" if names else ""
        parts.append(f"{_span([cost.characters for cost in costs], 'character')}{about}{where}")
    broken = [cost for cost in costs if cost.prefix_break is not None]
    if broken:
        places = Counter(cost.prefix_break or "" for cost in broken)
        numbered_places = [
            quote(place) if number == len(costs) else f"{quote(place)} ({number})"
            for place, number in places.most_common()
        ]
        sizes = sorted({cost.prefix_characters for cost in broken})
        number = f"{sizes[0]:,} to {sizes[-1]:,}" if len(sizes) > 1 else f"{sizes[0]:,}"
        first = f"the first {number} {'character is' if sizes == [1] else 'characters are'}"
        same = f"{first if any(sizes) else 'not even the first character is'} as before"
        parts.append(f"{same}; vendors' caches end there, at {listed(numbered_places, _COST_PLACES, 'place')}")
    return "; ".join(parts)


def _span(numbers: Sequence[int], noun: str = "") -> str:
    """The smallest and the largest of some numbers, with their signs."""
    least, most = min(numbers), max(numbers)
    ends = [f"{end:+,}" if end else "0" for end in dict.fromkeys((least, most))]
    plural = "s" if noun and (least != most or abs(most) != 1) else ""
    return f"{' to '.join(ends)} {noun}{plural}".rstrip()


# Pytest's words for what is removed, added and moved, and for places.
Style = Literal["", "red", "green", "cyan", "bold"]
StyledLine = tuple[tuple[str, Style], ...]

_LONG_LINE: Final = 100
_AROUND_CHANGES: Final = 60
_STYLES: Final[dict[str, Style]] = {"-": "red", "+": "green", ">": "cyan"}


def style_lines(lines: Sequence[str], *, whole: bool = False) -> Iterator[StyledLine]:
    """Mark the lines of a hunk, with their signs in front; long lines are cut unless they are to be `whole`."""
    # Removed lines with those that were added in their place, or any other line.
    for match in re.finditer(r"(-+)(\++)|.", "".join(line[:1] for line in lines)):
        removed, added = lines[slice(*match.span(1))], lines[slice(*match.span(2))]
        if match[1] and len(removed) == len(added):
            yield from _pairs(removed, added, whole)
        else:
            yield from (_plain(line, whole) for line in lines[match.start() : match.end()])


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
                yield f"[-{piece.removed}-]", "red"
            if piece.added:
                yield f"{{+{piece.added}+}}", "green"


_SHOWN_CASES: Final = 3
_SHOWN_PLACES: Final = 4
_SHOWN_LINES: Final = 20
_LONGEST_DIFF: Final = 400
_SHOWN_CHANGES: Final = 20


class Review:
    """What a run shows of changes, each of them once.

    Args:
        results: of the tests that failed, in the order of the run; each snapshot of one counts.
        lists_all: whether all changes, places and cases are listed, and long lines are whole.
    """

    def __init__(self, results: Sequence[CaseResult], *, lists_all: bool = False) -> None:
        self.results = _by_snapshot(results)
        self.lists_all = lists_all
        self.changes = distinct_changes(results)
        self.new = [result for result in self.results if result.snapshot is not None and result.snapshot.state == "new"]
        self._distinct = {distinct.change.content: distinct for distinct in self.changes}

    def short_line(self, result: CaseResult) -> str:
        """What pytest's short summary says of a case that was shown: what is new in it, and ids."""
        changes = result.difference.changes
        new = [change for change in changes if self._first_case(change).key == result.key]
        told = [change for change in changes if self._first_case(change).key != result.key]
        return " and ".join(filter(None, (summary_line(new), self._ids_of(told))))

    def case_lines(self, result: CaseResult) -> list[StyledLine] | str:
        """What to show in place of the diff of a case: a text if one line says it all, nothing if there is no diff."""
        changes = result.difference.changes
        first = {case.key: case for case in map(self._first_case, changes)}
        if changes and result.key not in first:
            where = f"with {first.popitem()[1].node_id}" if len(first) == 1 else "above"
            return f"nothing but {self._ids_of(changes)}, shown {where} and at the end"
        lines: list[StyledLine] = []
        for hunk in result.difference.hunks:
            of_hunk = [changes[number] for number in hunk.changes]
            if any(self._first_case(change).key == result.key for change in of_hunk):
                lines.append(((f"@@ {hunk.place} @@", "bold"),))
                lines += style_lines(hunk.lines, whole=self.lists_all)
            else:
                lines.append(((f"@@ {hunk.place} @@ {self._ids_of(of_hunk)}, shown above", "bold"),))
        return [*self._first_lines(lines, _LONGEST_DIFF)]

    def _first_lines(self, lines: list[StyledLine], most: int) -> Iterator[StyledLine]:
        yield from lines[: self._most(most)]
        if not self.lists_all and len(lines) > most:
            yield ((f"... and {len(lines) - most} more lines (-v shows them)", ""),)

    def _first_case(self, change: Change) -> CaseResult:
        """The case with which a change is shown."""
        return self._distinct[change.content].results[0]

    def _ids_of(self, changes: Iterable[Change]) -> str:
        ids = list({self._distinct[change.content].id: None for change in changes})
        return numbered("change", ids) if ids else ""

    def title(self) -> str:
        """What changed, in numbers."""
        changes = describe_changes(self.changes) if self.changes else ""
        new = count(len(self.new), "new snapshot") if self.new else ""
        return ", ".join(filter(None, (changes, new)))

    def end_lines(self, accept_all: str, accept: Callable[[Sequence[CaseResult], str], str]) -> Iterator[StyledLine]:
        """All that changed, each change once, with the command that accepts all, and that for each; or without any."""
        for distinct in self.changes[: self._most(_SHOWN_CHANGES)]:
            yield from self.change_lines(distinct)
            yield from self._accepting(accept(distinct.results, distinct.id))
            yield (("", ""),)
        hidden = len(self.changes) - _SHOWN_CHANGES
        if hidden > 0 and not self.lists_all:
            yield ((f"... and {count(hidden, 'more change')} (-v shows them)", ""),)
        yield from self.new_lines()
        if self.new:
            yield from self._accepting(accept(self.new, NEW))
            yield (("", ""),)
        if accept_all:
            yield ((f"To accept all: {accept_all}", ""),)

    def _accepting(self, command: str) -> Iterator[StyledLine]:
        if command:
            yield ((f"   To accept it: {command}", ""),)

    def change_lines(self, distinct: DistinctChange) -> Iterator[StyledLine]:
        """One change: how many cases have it, where it stands, what it costs, and its lines."""
        names = listed(distinct.node_ids, self._most(_SHOWN_CASES))
        yield ((f"change {distinct.id}: {distinct.counts()}: {names}", "bold"),)
        numbers = len(distinct.results) > 1
        places = [f"{place} ({count})" if numbers else place for place, count in distinct.places]
        yield ((f"   {listed(places, self._most(_SHOWN_PLACES), 'place')}", ""),)
        if cost := cost_line(distinct.costs):
            yield ((f"   {cost}", ""),)
        change = distinct.change
        if hint := mask_hint([change]):
            yield ((f"   {hint}", ""),)
        signs = zip("-+>", change.content, strict=True)
        lines = [f"{sign} {visible_line(line)}" for sign, lines in signs for line in lines]
        marked = list(style_lines(lines, whole=self.lists_all))
        for line in self._first_lines(marked, _SHOWN_LINES):
            yield (("   ", ""), *line)

    def new_lines(self) -> Iterator[StyledLine]:
        """The cases that have no snapshot yet."""
        old_names = (None if each.snapshot is None else each.snapshot.renamed_from for each in self.new)
        lines = [
            f"new: {result.node_id}{f', renamed from {old!r}' if old else ''}"
            for result, old in zip(self.new, old_names, strict=True)
        ]
        for line in first_lines(lines, self._most(_SHOWN_CASES), "new: {} more"):
            yield ((line, ""),)

    def _most(self, shown: int) -> int | None:
        return None if self.lists_all else shown

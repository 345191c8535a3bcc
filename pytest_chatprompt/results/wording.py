"""Phrases about one result: which words changed, what changed in a case, how many of its answers pass."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from pytest_chatprompt.grading.grade import RequiredPasses
from pytest_chatprompt.grading.rates import wilson_interval
from pytest_chatprompt.results.records import AttemptResult, RepeatsResult, VersionResult
from pytest_chatprompt.snapshots.changes import Change
from pytest_chatprompt.wording import common_start, count, first_lines, grouped, numbered

# Japanese and Chinese have no blanks between words: there each character counts as one.
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|\s+|[^\w\s]")
# Comparing takes up to a multiple of the pairs of equal words; beyond this the words between the first and the last
# change count as one change.
_MOST_PAIRS: Final = 20_000
# Lines that share less are two lines rather than one that changed.
_LEAST_SHARED: Final = 0.5
_ELLIPSIS: Final = "…"


class Piece(NamedTuple):
    """What two lines have at one place: the first `removed`, the second `added`, the same where nothing changed."""

    removed: str
    added: str

    @property
    def is_equal(self) -> bool:
        """Whether both lines have the same here."""
        return self.removed == self.added


def changed_words(removed: str, added: str) -> tuple[Piece, ...]:
    """Compare two lines word by word: equal and changed pieces in turn, together both lines."""
    old, new = _TOKEN.findall(removed), _TOKEN.findall(added)
    start = common_start(old, new)
    end = common_start(old[start:][::-1], new[start:][::-1])
    pieces = [Piece("".join(old[:start]), "".join(old[:start]))]
    pieces += _middle(old[start : len(old) - end], new[start : len(new) - end])
    tail = "".join(old[len(old) - end :])
    return tuple(piece for piece in (*pieces, Piece(tail, tail)) if piece.removed or piece.added)


def _middle(old: list[str], new: list[str]) -> Iterator[Piece]:
    counts = Counter(new)
    if sum(counts[token] for token in old if not token.isspace()) > _MOST_PAIRS:
        yield Piece("".join(old), "".join(new))
        return
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
        yield Piece("".join(old[i1:i2]), "".join(new[j1:j2]))


def pieces_of_one_line(removed: str, added: str) -> tuple[Piece, ...]:
    """Do as `changed_words` does; empty if so little is shared that they are two lines rather than one that changed."""
    pieces = changed_words(removed, added)
    shared = sum(2 * len(piece.removed) for piece in pieces if piece.is_equal)
    return pieces if shared >= _LEAST_SHARED * len(removed + added) else ()


def excerpt(pieces: tuple[Piece, ...], around: int) -> tuple[Piece, ...]:
    """The changed pieces, and so much of the equal ones as is needed to find the place."""
    shown = []
    for number, piece in enumerate(pieces):
        text = piece.removed
        if piece.is_equal and len(text) > around:
            # Whole words, if there is a blank.
            before = text[:around].rpartition(" ")[0] or text[:around] if number > 0 else ""
            after = text[-around:].partition(" ")[2] or text[-around:] if number < len(pieces) - 1 else ""
            if len(before) + len(after) + len(_ELLIPSIS) < len(text):
                text = f"{before}{_ELLIPSIS}{after}"
        shown.append(Piece(text, text) if piece.is_equal else piece)
    return tuple(shown)


def around_changes(removed: str, added: str, around: int) -> tuple[str, str]:
    """Two lines, with so much of what is equal in both as is needed to find the places that differ."""
    pieces = excerpt(changed_words(removed, added), around)
    return "".join(piece.removed for piece in pieces), "".join(piece.added for piece in pieces)


_LONGEST_QUOTE: Final = 40
# A changed word that is shorter is hard to find without the one beside it.
_SHORT_WORDS: Final = 8


def summary_line(changes: Sequence[Change]) -> str:
    """What changed in a case, in one line, equal changes once: `request.system: "14 days" → "30 days" and 2 more`."""
    if not changes:
        return ""
    distinct: dict[object, Change] = {}
    # The question repeats for people what the request says.
    for change in sorted(changes, key=lambda change: change.place == "question"):
        distinct.setdefault(change.content, change)
    first, *others = distinct.values()
    more = f" and {len(others)} more" if others else ""
    return f"{describe_change(first)}{more}"


def describe_change(change: Change) -> str:
    """One change in one line, with its place."""
    place = change.place or "the snapshot"
    if change.moved:
        return f"{place}: moved {_quoted(change.moved)}"
    old, new = change.removed, change.added
    if not old or not new:
        return f"{place}: {'removed' if old else 'added'} {_shown(change.place, old or new)}"
    if None not in [_value(change.place, lines) for lines in (old, new)]:
        return f"{place}: {_shown(change.place, old)} → {_shown(change.place, new)}"
    before, after = _first_changed_words(old[0], new[0])
    return f"{place}: {_quoted((before, *old[1:]))} → {_quoted((after, *new[1:]))}"


def _first_changed_words(removed: str, added: str) -> tuple[str, str]:
    """The words of two lines that differ, with the one beside them if they are short."""
    old, new = removed.split(" "), added.split(" ")
    start = common_start(old, new)
    end = common_start(old[start:][::-1], new[start:][::-1])
    changed = [" ".join(words[start : len(words) - end]) for words in (old, new)]
    if min(map(len, changed)) < _SHORT_WORDS:
        is_replaced = all(changed) and end > 0
        end, start = (end - 1, start) if is_replaced else (end, max(start - 1, 0))
    return " ".join(old[start : len(old) - end]), " ".join(new[start : len(new) - end])


def _value(place: str, lines: tuple[str, ...]) -> str | None:
    """The value of a setting; `None` for a text."""
    key = re.sub(r"\[\d+\]", "", place).rpartition(".")[2]
    return lines[0].removeprefix(f"{key}: ") if len(lines) == 1 and lines[0].startswith(f"{key}: ") else None


def _shown(place: str, lines: tuple[str, ...]) -> str:
    value = _value(place, lines)
    return _quoted(lines) if value is None else _cut(value)


def _quoted(lines: tuple[str, ...]) -> str:
    """The first line of a text in quotes."""
    text = lines[0].strip() or next((line.strip() for line in lines if line.strip()), "")
    shown = _cut(text)
    if len(lines) > 1 and not shown.endswith("…"):
        shown += "…"
    return f'"{shown}"'


def _cut(text: str) -> str:
    # Prompts may be long, and each character makes at least one that is shown.
    start = text[: _LONGEST_QUOTE + 1]
    visible = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in start)
    return visible if len(visible) <= _LONGEST_QUOTE else f"{visible[: _LONGEST_QUOTE - 1].rstrip()}…"


_MOST_CASES: Final = 10


def repeats_result(required: RequiredPasses, attempts: Iterable[AttemptResult]) -> RepeatsResult:
    """The result of a repeated case."""
    counted = VersionResult.of(attempts)
    shared = {name: getattr(counted, name) for name in ("passed", "interval", "attempts")}
    return RepeatsResult(planned=required.planned, pass_rate=required.pass_rate, needed=required.count, **shared)


def describe_rate(passed: int, answers: int, interval: tuple[float, float]) -> str:
    """A rate with its interval: `80 % (95 % interval 38 % to 96 %)`; `none known` without answers."""
    if not answers:
        return "none known"
    low, high = (f"{end * 100:.0f} %" for end in interval)
    return f"{passed / answers * 100:.0f} % (95 % interval {low} to {high})"


def describe_passes(result: RepeatsResult) -> str:
    """Say how many answers of a case pass: `4/5 answers passed: 80 % (95 % interval 38 % to 96 %)`."""
    rate = describe_rate(result.passed, result.answers, result.interval)
    return f"{result.passed}/{result.answers} answers passed: {rate}"


def summary_of_rates(rates: Mapping[str, tuple[int, int]]) -> Iterator[str]:
    """The lines of a run's summary about its repeated cases, the lowest rates first."""
    passed, answers = (sum(counts) for counts in zip(*rates.values(), strict=True))
    nouns = count(len(rates), "case was", "cases were")
    mixed = [(counts, node_id) for node_id, counts in rates.items() if counts[0] < counts[1]]
    mixed.sort(key=lambda case: case[0][0] / case[0][1])
    end = "; not all of these:" if mixed else "."
    yield f"{nouns} sent more than once, and {passed}/{answers} answers passed{end}"
    lines = [
        f"  {passed}/{answers}  {describe_rate(passed, answers, wilson_interval(passed, answers))}  {node_id}"
        for (passed, answers), node_id in mixed
    ]
    yield from first_lines(lines, _MOST_CASES, "  and {} more")


def describe_repeats(result: RepeatsResult) -> str:
    """Say how many answers of a case pass, and why the others do not; the first line is a summary."""
    errors = len(result.attempts) - result.answers
    counts = [describe_passes(result)] if result.answers else []
    counts += [f"{count(errors, 'answer')} could not be obtained or graded"] if errors else []
    not_sent = result.planned - len(result.attempts)
    counts += [f"{not_sent} not sent"] if not_sent else []
    counts.append(f"{result.needed} of {result.planned} must pass")
    return "\n\n".join(["; ".join(counts), *_problems(result)])


def _problems(result: RepeatsResult) -> Iterable[str]:
    """What did not pass; answers with the same problem together."""
    problems = grouped((attempt.problem, attempt.number) for attempt in result.attempts if attempt.problem)
    for problem, numbers in problems.items():
        yield f"{numbered('answer', numbers)} of {result.planned}: {problem}"

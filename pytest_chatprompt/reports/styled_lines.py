"""Marked lines: the lines of a diff as a terminal shows them, with their changed words marked.

The hunks of a case come in; lines of pieces, each with its style, come out. In a long line that changed in part,
`[-removed-]` and `{+added+}` stand within as much of the line as is needed to find the place. Pure; `terminal_hooks`
writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, Literal

from pytest_chatprompt.results.changed_words import Piece, changed_words, excerpt, shared_part

Style = Literal["", "removed", "added", "moved", "place"]
StyledLine = tuple[tuple[str, Style], ...]

_LONG_LINE: Final = 100
_AROUND_CHANGES: Final = 60
# Lines that share less are two lines rather than one that changed.
_LEAST_SHARED: Final = 0.5
_STYLES: Final[dict[str, Style]] = {"-": "removed", "+": "added", ">": "moved"}


def style_lines(lines: Iterable[str], *, whole: bool = False) -> Iterator[StyledLine]:
    """Mark the lines of a hunk.

    Args:
        lines: with `- `, `+ `, `> ` or two blanks in front, as a `Hunk` has them.
        whole: whether long lines are shown whole.
    """
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
    if max(len(old), len(new)) <= _LONG_LINE:
        return ()
    pieces = changed_words(old, new)
    return pieces if shared_part(pieces) >= _LEAST_SHARED else ()


def _words(pieces: tuple[Piece, ...]) -> Iterator[tuple[str, Style]]:
    for piece in pieces:
        if piece.is_equal:
            yield piece.removed, ""
        else:
            if piece.removed:
                yield f"[-{piece.removed}-]", "removed"
            if piece.added:
                yield f"{{+{piece.added}+}}", "added"

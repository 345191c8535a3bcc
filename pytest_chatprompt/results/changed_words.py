"""Changed words: which words of a line differ from those of another one.

Two lines come in; the pieces that both share, and those that one of them has, come out in order. Pure; `summary_line`
and `reports` show them.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(r"\w+|\s+|[^\w\s]")
# Comparing takes up to a multiple of the pairs of equal words; beyond this the words between the first and the last
# change count as one change.
_MOST_PAIRS: Final = 20_000
_ELLIPSIS: Final = "…"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece that two lines share, or in which they differ.

    Args:
        removed: what the first line has here.
        added: what the second line has here; the same where nothing changed.
    """

    removed: str
    added: str

    @property
    def is_equal(self) -> bool:
        """Whether both lines have the same here."""
        return self.removed == self.added


def changed_words(removed: str, added: str) -> tuple[Piece, ...]:
    """Compare two lines word by word.

    Args:
        removed: the line as it was.
        added: the line as it is now.

    Returns:
        Equal and changed pieces in turn, together both lines.
    """
    old, new = _TOKEN.findall(removed), _TOKEN.findall(added)
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    pieces = [Piece("".join(old[:start]), "".join(old[:start]))]
    pieces += _middle(old[start : len(old) - end], new[start : len(new) - end])
    tail = "".join(old[len(old) - end :])
    return tuple(piece for piece in (*pieces, Piece(tail, tail)) if piece.removed or piece.added)


def _common(old: list[str], new: list[str]) -> int:
    """How many tokens both lists begin with."""
    length = min(len(old), len(new))
    return next((index for index in range(length) if old[index] != new[index]), length)


def _middle(old: list[str], new: list[str]) -> Iterator[Piece]:
    counts = Counter(new)
    if sum(counts[token] for token in old if not token.isspace()) > _MOST_PAIRS:
        yield Piece("".join(old), "".join(new))
        return
    for _, i1, i2, j1, j2 in difflib.SequenceMatcher(str.isspace, old, new, autojunk=False).get_opcodes():
        yield Piece("".join(old[i1:i2]), "".join(new[j1:j2]))


def shared_part(pieces: tuple[Piece, ...]) -> float:
    """How much of both lines is the same, from 0 to 1."""
    total = sum(len(piece.removed) + len(piece.added) for piece in pieces)
    equal = sum(len(piece.removed) + len(piece.added) for piece in pieces if piece.is_equal)
    return equal / total if total else 1.0


def excerpt(pieces: tuple[Piece, ...], around: int) -> tuple[Piece, ...]:
    """The changed pieces, and so much of the equal ones as is needed to find the place.

    Args:
        pieces: of a whole line.
        around: how many characters to keep beside each change; words are kept whole.
    """
    shown = []
    for number, piece in enumerate(pieces):
        text = piece.removed
        if piece.is_equal:
            before = _start(text, around) if number > 0 else ""
            after = _end(text, around) if number < len(pieces) - 1 else ""
            if len(before) + len(after) + len(_ELLIPSIS) < len(text):
                text = f"{before}{_ELLIPSIS}{after}"
        shown.append(Piece(text, text) if piece.is_equal else piece)
    return tuple(shown)


def _start(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[:length].rpartition(" ")[0] or text[:length]


def _end(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[-length:].partition(" ")[2] or text[-length:]

"""Changed words: which words of a line differ from those of another one.

Two lines come in; the pieces that both share, and those that one of them has, come out in order. Pure; `summary_line`
and `reports` show them.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

# Japanese and Chinese have no blanks between words: there each character counts as one.
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN: Final = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|\s+|[^\w\s]")
# A change of longer pieces that share most of their characters is one of these characters.
_LONG_PIECE: Final = 40
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
    parts = [part for piece in (*pieces, Piece(tail, tail)) for part in _by_characters(piece)]
    return tuple(_joined(part for part in parts if part.removed or part.added))


def _by_characters(piece: Piece) -> tuple[Piece, ...]:
    """A piece without what both sides of a very long one begin and end with."""
    shorter = min(len(piece.removed), len(piece.added))
    if piece.is_equal or shorter < _LONG_PIECE:
        return (piece,)
    start = _common(piece.removed, piece.added)
    end = min(_common(piece.removed[::-1], piece.added[::-1]), shorter - start)
    if start + end < shorter / 2:
        return (piece,)
    removed, added = (text[start : len(text) - end] for text in (piece.removed, piece.added))
    head, tail = piece.removed[:start], piece.removed[len(piece.removed) - end :]
    return Piece(head, head), Piece(removed, added), Piece(tail, tail)


def _joined(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Equal and changed pieces in turn."""
    for _, several in groupby(pieces, key=lambda piece: piece.is_equal):
        parts = list(several)
        yield Piece("".join(part.removed for part in parts), "".join(part.added for part in parts))


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many tokens or characters both begin with."""
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

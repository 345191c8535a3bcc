"""Secret fragments: what is left of a secret that was shortened, as in `'sk-proj-a1b2...y8z9'`.

A text and the secrets of a run come in, the places of the fragments come out. pytest and `reprlib` cut long values in
the middle, so a report may hold both ends of a secret. Pure functions; only `redaction` calls them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

# How pytest, `reprlib` and `unittest` show that they have left something out, and what stands in each of these.
_CUTS: Final = (
    (re.compile(r"\.\.\."), "..."),
    (re.compile("…"), "…"),
    (re.compile(r"\[[0-9]+ chars\]"), " chars]"),
)
_BEFORE_CUT: Final = " [truncated]"
# How many characters must be left on one side of a cut, if nothing is left on the other, and on each of two sides.
# Fewer could be a word.
MIN_FRAGMENT_LENGTH: Final = 6
_MIN_LENGTH_OF_BOTH: Final = 3


def find_fragments(text: str, secrets: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Find the beginnings and the ends of secrets beside the places where something was cut out of a text.

    Args:
        text: any text.
        secrets: as they would stand in the text.
    """
    cuts = []
    for pattern, mark in _CUTS:
        for cut in pattern.finditer(text) if mark in text else ():
            start, end = cut.span()
            cuts.append((start - len(_BEFORE_CUT) if text.endswith(_BEFORE_CUT, 0, start) else start, end))
    for secret in secrets if cuts else ():
        for start, end in cuts:
            first = _length_before(text, start, secret)
            last = _length_after(text, end, secret)
            if min(first, last) >= _MIN_LENGTH_OF_BOTH:
                yield start - first, end + last
            elif first >= MIN_FRAGMENT_LENGTH:
                yield start - first, start
            elif last >= MIN_FRAGMENT_LENGTH:
                yield end, end + last


def _length_before(text: str, position: int, secret: str) -> int:
    """How many characters in front of a position are the beginning of a secret."""
    start = text.find(secret[:_MIN_LENGTH_OF_BOTH], max(position - len(secret), 0), position)
    while start >= 0:
        if secret.startswith(text[start:position]):
            return position - start
        start = text.find(secret[:_MIN_LENGTH_OF_BOTH], start + 1, position)
    return 0


def _length_after(text: str, position: int, secret: str) -> int:
    """How many characters behind a position are the end of a secret."""
    end = text.rfind(secret[-_MIN_LENGTH_OF_BOTH:], position, position + len(secret))
    while end >= 0:
        length = end + _MIN_LENGTH_OF_BOTH - position
        if secret.endswith(text[position : position + length]):
            return length
        end = text.rfind(secret[-_MIN_LENGTH_OF_BOTH:], position, end + _MIN_LENGTH_OF_BOTH - 1)
    return 0

"""Shared texts: the long texts of files that many cases attach, found again in what the cases send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

# Shorter texts are read faster than they are looked for.
_MIN_LENGTH: Final = 20_000
# Each of them is looked for in each long text.
_MAX_TEXTS: Final = 8
_PROBE_LENGTH: Final = 80
_MAX_PROBES: Final = 4
# What is looked for, such as a key over several lines, may begin before a shared text, and end in it.
_EDGE: Final = 8_192

T = TypeVar("T")


class TextPiece(NamedTuple):
    """Some lines of a text.

    Args:
        text: the lines, without the line break after them.
        is_shared: whether it is all of a shared text; then it is the same object each time.
    """

    text: str
    is_shared: bool


@dataclass(slots=True)
class SharedTexts:
    """The long texts that were read last, and what is known of each. Safe between threads."""

    _texts: list[str] = field(default_factory=list)
    _known: dict[tuple[str, str], tuple[object, Any]] = field(default_factory=dict)

    def add(self, text: str) -> None:
        """Note the text of a file that was read, if it is long."""
        if len(text) >= _MIN_LENGTH:
            self._texts = [text, *self._texts[: _MAX_TEXTS - 1]]
            # A copy, since other threads may remember something meanwhile.
            self._known = {key: value for key, value in self._known.copy().items() if key[0] in self._texts}

    def remember(self, piece: TextPiece, key: str, compute: Callable[[str], T], version: object = None) -> T:
        """Compute something of a piece; of a shared one only once.

        Args:
            piece: one of `pieces`.
            key: what is computed.
            compute: computes it from the piece's text.
            version: what else it depends on; with another object it is computed again.
        """
        if not piece.is_shared:
            return compute(piece.text)
        known: tuple[object, T] | None = self._known.get((piece.text, key))
        if known is None or known[0] is not version:
            known = self._known[piece.text, key] = (version, compute(piece.text))
        return known[1]

    def without_searched(self, text: str, key: str, is_found: Callable[[str], bool], version: object) -> str:
        """Leave out the middle of each shared text in which nothing was found; its edges stay."""
        if len(text) < _MIN_LENGTH:
            return text
        return "\n".join(
            piece.text
            if not piece.is_shared or self.remember(piece, key, is_found, version)
            else f"{piece.text[:_EDGE]}\0{piece.text[-_EDGE:]}"
            for piece in self.pieces(text)
        )

    def pieces(self, text: str) -> list[TextPiece]:
        """Cut a text where shared texts begin and end.

        Returns:
            The pieces in order; joined by line breaks, they are the text.
        """
        if len(text) < _MIN_LENGTH or not self._texts:
            return [TextPiece(text, is_shared=False)]
        return list(_pieces(text, tuple(self._texts)))


def _pieces(text: str, shared_texts: tuple[str, ...]) -> Iterator[TextPiece]:
    for index, shared in enumerate(shared_texts):
        start = _find(shared, text)
        if start is None:
            continue
        if start:
            yield from _pieces(text[: start - 1], shared_texts[index:])
        yield TextPiece(shared, is_shared=True)
        end = start + len(shared)
        if end < len(text):
            yield from _pieces(text[end + 1 :], shared_texts[index:])
        return
    yield TextPiece(text, is_shared=False)


def _find(shared: str, text: str) -> int | None:
    """Where whole lines of a text are a shared text; `None` if there are none, or its beginning is too frequent."""
    start = -1
    for _ in range(_MAX_PROBES if len(text) >= len(shared) else 0):
        start = text.find(shared[:_PROBE_LENGTH], start + 1)
        if start < 0:
            return None
        end = start + len(shared)
        is_line = (not start or text[start - 1] == "\n") and (end == len(text) or text[end : end + 1] == "\n")
        if is_line and text.startswith(shared, start):
            return start
    return None

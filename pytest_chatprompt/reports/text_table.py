"""Text table: rows of cells as lines whose columns stand below each other.

Rows come in; lines come out. Pure; the terminal shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lay out a table: the first column to the left, the others to the right.

    Args:
        rows: all of the same length.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        yield "  ".join((name.ljust(widths[0]), *numbers)).rstrip()

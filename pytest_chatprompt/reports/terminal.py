"""The terminal, as this plugin writes to it; what others wrote in a line is made visible here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_chatprompt.wording import visible, visible_line

if TYPE_CHECKING:
    from pytest_chatprompt.reports.review import StyledLine


def write_line(reporter: Any, line: str, **markup: bool) -> None:
    """Write a line."""
    reporter.write_line(visible_line(line), **markup)


def write_below(reporter: Any, line: str) -> None:
    """Write a line below the one that pytest is writing; pytest breaks it before the next test."""
    reporter.write(f"\n{visible_line(line)}", flush=True)


def write_lines(reporter: Any, lines: Iterable[str], **markup: bool) -> None:
    """Write some lines."""
    for line in lines:
        write_line(reporter, line, **markup)


def write_section(reporter: Any, title: str, lines: Iterable[str], separator: str = "-") -> None:
    """Write a title, and lines below it."""
    write_title(reporter, separator, title)
    write_lines(reporter, lines)


def write_title(reporter: Any, separator: str, title: str) -> None:
    """Write a title between lines of a character."""
    write = reporter.write_sep if hasattr(reporter, "write_sep") else reporter.sep
    write(separator, visible_line(title))


def write_styled(writer: Any, lines: Iterable[StyledLine]) -> None:
    """Write lines of pieces, each with its colour."""
    for line in lines:
        for number, (text, style) in enumerate(line):
            # Only the first piece begins the line.
            shown = visible_line(text) if number == 0 else visible_line(f" {text}")[1:]
            writer.write(shown, **({style: True} if style else {}))
        writer.write("\n")


def write_text(writer: Any, text: str) -> None:
    """Write a text of several lines."""
    writer.line(visible(text))


def table_lines(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lay out a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for name, *cells in rows:
        numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        yield "  ".join((name.ljust(widths[0]), *numbers)).rstrip()

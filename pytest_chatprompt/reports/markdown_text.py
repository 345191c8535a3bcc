"""Markdown text: what prompts, answers and names hold, as text in which nothing is markup.

Texts come in; pieces of Markdown come out, as GitHub and GitLab show it. Pure; `markdown` and `markdown_answers` build
their reports of them.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from pytest_chatprompt.snapshots.scalars import visible_line

LONGEST_NAME: Final = 200
_PLAIN_CELL: Final = re.compile(r"[A-Za-z\d]?|[A-Za-z\d$][\w ,.()/%+-]*[A-Za-z\d)]", re.ASCII)


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """A text as code, in which nothing is markup."""
    shown = cut(_one_line(visible_line(text)), longest)
    fence = "`" * (longest_run(shown) + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def html_code(text: str, longest: int = LONGEST_NAME) -> str:
    """A text as code within a block of HTML, where Markdown's own marks mean nothing."""
    return f"<code>{html.escape(cut(_one_line(visible_line(text)), longest))}</code>"


def table(rows: Sequence[Sequence[str]]) -> str:
    """A table of texts; the first row is its head, and all columns but the first are set to the right.

    Args:
        rows: all of the same length, at least one.
    """
    head, *body = rows
    return "\n".join([_row(head), f"|---|{'---:|' * (len(head) - 1)}", *map(_row, body)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(_cells(cells))} |"


def _cells(cells: Iterable[str]) -> Iterator[str]:
    for cell in cells:
        # Within a table a bar ends a cell even in code.
        yield cell if _PLAIN_CELL.fullmatch(cell) else code(cell).replace("|", "\\|")


def shortened(text: str) -> str:
    """A text in one line, cut to the length of a name."""
    return cut(_one_line(text), LONGEST_NAME)


def _one_line(text: str) -> str:
    return re.sub(r"\s", " ", text)


def cut(text: str, longest: int) -> str:
    """The beginning of a text, as long as it may be."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def longest_run(text: str) -> int:
    """How many backticks stand together at most."""
    return max((len(run) for run in re.findall(r"`+", text)), default=0)

"""The page: a whole run as one HTML file that needs nothing else.

It loads nothing: its policy allows its own script and style alone, by their hashes. Whatever a prompt holds is text:
the template escapes it, and the script sets text only.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from pytest_chatprompt.reports.answers import provider_totals, table_rows
from pytest_chatprompt.reports.page_data import page_data
from pytest_chatprompt.reports.review import DistinctChange, Review, cost_line
from pytest_chatprompt.reports.run_commands import accept, accept_all
from pytest_chatprompt.results.records import RunResults
from pytest_chatprompt.results.texts import Piece, excerpt, pieces_of_one_line
from pytest_chatprompt.snapshots.layout import visible_line
from pytest_chatprompt.wording import count

_MOST_LINES: Final = 40
_LONGEST_LINE: Final = 600
_AROUND_CHANGES: Final = 120
# A longer command is longer than what a shell's user pastes.
_MOST_NAMED: Final = 20

ShownLine = tuple[tuple[str, bool], ...]


def _shown(number: int, run: RunResults, review: Review, distinct: DistinctChange) -> dict[str, Any]:
    """A distinct change, as the template shows it.

    Its rows are lines before and after, `None` where one side has no line. Each is pieces of text, and whether they
    changed.
    """
    change, results = distinct.change, distinct.results
    is_named = len(results) <= _MOST_NAMED and len(results) < review.snapshot_count
    lines = max(len(change.removed), len(change.added), len(change.moved))
    return {
        "number": number,
        "distinct": distinct,
        "rows": list(_rows(change.removed[:_MOST_LINES], change.added[:_MOST_LINES])),
        "moved": [_cut(line) for line in change.moved[:_MOST_LINES]],
        "hidden_lines": max(lines - _MOST_LINES, 0),
        "cost": cost_line(results),
        "command": accept(run, results) if is_named else "",
        "has_others": is_named and distinct.has_others,
    }


def _rows(removed: Sequence[str], added: Sequence[str]) -> Iterator[tuple[ShownLine | None, ShownLine | None]]:
    is_paired = len(removed) == len(added)
    for number in range(max(len(removed), len(added))):
        old = visible_line(removed[number]) if number < len(removed) else None
        new = visible_line(added[number]) if number < len(added) else None
        pieces = pieces_of_one_line(old, new) if is_paired and old is not None and new is not None else ()
        if pieces:
            yield _side(pieces, "removed"), _side(pieces, "added")
        else:
            yield _whole(old), _whole(new)


def _side(pieces: tuple[Piece, ...], side: str) -> ShownLine:
    length = sum(len(getattr(piece, side)) for piece in pieces)
    shown = excerpt(pieces, _AROUND_CHANGES) if length > _LONGEST_LINE else pieces
    texts = ((getattr(piece, side), not piece.is_equal) for piece in shown)
    return tuple((_cut(text), is_changed) for text, is_changed in texts if text)


def _whole(line: str | None) -> ShownLine | None:
    return None if line is None else ((_cut(line), False),)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE].rstrip()}…"


_FILES: Final = files("pytest_chatprompt.reports") / "page_files"
# More are found through their cases: a page of thousands would not open at once.
_MOST_CHANGES: Final = 100
# What HTML cannot hold, and what changes the order of the characters around it; a snapshot has escapes for them too.
_NOT_IN_HTML: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
# Each uses what those before it define.
_SCRIPTS: Final = ("differences.js", "case_view.js", "case_texts.js", "page.js")
# What `encodeURIComponent` leaves as it is, beside letters and digits.
_UNESCAPED: Final = "-_.!~*'()"
_OUTCOMES: Final = ("failed", "error", "passed", "skipped")


def render_page(run: RunResults) -> str:
    """Render the page of a run: the same for the same run. A test that ran twice counts as it ran last."""
    run = run.model_copy(update={"results": tuple({result.node_id: result for result in run.results}.values())})
    differing = [result for result in run.results if result.differs]
    review = Review(differing)
    changes = enumerate(review.changes[:_MOST_CHANGES], start=1)
    counts = Counter(result.outcome for result in run.results)
    style, script = _read("page.css"), "".join(map(_read, _SCRIPTS))
    return _template().render(
        run=run,
        review=review,
        title=review.title(),
        changes=[_shown(number, run, review, distinct) for number, distinct in changes],
        hidden_changes=max(len(review.changes) - _MOST_CHANGES, 0),
        command=accept_all(run, differing),
        table=table_rows(provider_totals(run.results)),
        # Those that failed for anything but their snapshot.
        failures=[each for each in run.results if each.outcome in ("failed", "error") and not each.differs],
        outcomes=[(outcome, counts[outcome]) for outcome in _OUTCOMES if counts[outcome]],
        data=page_data(run, review),
        style=Markup(style),  # noqa: S704 - files of this package, and nothing of a run
        script=Markup(script),  # noqa: S704
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _read(name: str) -> str:
    return (_FILES / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """The hash of a script or style, as a page's policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _template() -> Template:
    environment = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined, finalize=_in_html
    )
    environment.filters["count"] = count
    environment.filters["link"] = _link
    return environment.from_string(_read("page.html"))


def _in_html(value: Any) -> Any:
    """A value with escapes for what cannot stand in a page."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _NOT_IN_HTML.sub(lambda match: f"\\u{ord(match[0]):04X}", value)
    return value


def _link(node_id: str) -> str:
    """The link to a case, as the page's script makes it."""
    known = re.sub("[\ud800-\udfff]", "\ufffd", node_id)
    return f"#case={quote(known, safe=_UNESCAPED)}"

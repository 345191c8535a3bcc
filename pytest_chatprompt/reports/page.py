"""The page: a whole run as one HTML file that needs nothing else.

It loads nothing: its policy allows its own script and style alone, by their hashes. Whatever a prompt holds is text:
the template escapes it, and the script sets text only.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from pytest_chatprompt.reports.ab import compared_versions
from pytest_chatprompt.reports.answers import pass_rate, provider_totals, table_rows
from pytest_chatprompt.reports.compare import KINDS, RunComparison, compare_versions, compared_run
from pytest_chatprompt.reports.page_data import page_data
from pytest_chatprompt.reports.review import Review, cost_line
from pytest_chatprompt.reports.run_commands import accept_all
from pytest_chatprompt.results.records import RunResults
from pytest_chatprompt.wording import count

_FILES: Final = files("pytest_chatprompt.reports") / "page_files"
# More are found through their cases: a page of thousands would not open at once.
_MOST_CHANGES: Final = 100
# What HTML cannot hold, and what changes the order of the characters around it; a snapshot has escapes for them too.
_NOT_IN_HTML: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
# Each uses what those before it define.
_SCRIPTS: Final = ("differences.js", "case_view.js", "page.js")
# What `encodeURIComponent` leaves as it is, beside letters and digits.
_UNESCAPED: Final = "-_.!~*'()"
_OUTCOMES: Final = ("failed", "error", "passed", "skipped")


class Decision(NamedTuple):
    """What became of a change in a review, and what was not written."""

    outcome: Literal["passed", "skipped", "failed"]
    told: str
    problems: list[str]


def render_page(
    run: RunResults,
    comparison: RunComparison | None = None,
    review: Review | None = None,
    decisions: Mapping[str, Decision] | None = None,
) -> str:
    """Render the page of a run, or of one beside an earlier one: the same for the same run.

    A test that ran twice counts as it ran last. With `decisions`, by the ids of changes, the page has all changes of
    the `review`, and those without a decision can be accepted and skipped.
    """
    versions = compared_versions(run) if comparison is None else None
    if versions is not None:
        run, comparison = compare_versions(run, versions)
    if comparison is not None:
        run = compared_run(run, comparison)
    run = run.model_copy(update={"results": tuple({result.node_id: result for result in run.results}.values())})
    # A comparison of two runs tells what they sent, whether it failed or not.
    differing = run.differing if comparison is None else [each for each in run.results if each.differs]
    review = review or Review(differing)
    counts = Counter(result.outcome for result in run.results)
    index, blocks = page_data(run, review, comparison)
    nothing = "Every snapshot shows what is sent" if run.results else "No tests of this plugin ran"
    headline = pass_rate(run) or review.title() or nothing
    # Those that failed for anything but their snapshot; a comparison tells which got worse.
    failures = [each for each in run.results if each.outcome in _OUTCOMES[:2] and not each.differs]
    is_report = decisions is None
    style = "".join(map(_read, ("page.css",) if is_report else ("page.css", "review.css")))
    script = "".join(map(_read, _SCRIPTS if is_report else (*_SCRIPTS, "review.js")))
    most = _MOST_CHANGES if is_report else len(review.changes)
    return _template().render(
        run=run,
        comparison=comparison,
        review=review,
        headline=headline if comparison is None else comparison.headline,
        title=review.title(),
        decisions=decisions,
        changes=review.changes[:most],
        cost_line=cost_line,
        accept=partial(accept_all, run),
        hidden_changes=max(len(review.changes) - most, 0),
        command=accept_all(run, differing),
        table=table_rows(provider_totals(run.results)) if comparison is None else comparison.table,
        failures=failures if comparison is None else [],
        outcomes=[(outcome, counts[outcome]) for outcome in _OUTCOMES if counts[outcome]],
        marks=("changed", "new", "renamed") if comparison is None else KINDS,
        index=index,
        blocks=blocks,
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

"""The review in the terminal: shows change by change when the tests have ended, and asks what to do with each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import unified_diff
from itertools import cycle
from typing import Any, Final

import pytest

from pytest_chatprompt.capture.secrets.redaction import map_texts
from pytest_chatprompt.options import open_input
from pytest_chatprompt.reports.acceptance import Acceptance
from pytest_chatprompt.reports.compare import payload
from pytest_chatprompt.reports.review import Review, StyledLine, style_lines
from pytest_chatprompt.reports.terminal import write_line, write_lines, write_styled, write_title
from pytest_chatprompt.results.records import CaseResult
from pytest_chatprompt.snapshots.changes import NEW
from pytest_chatprompt.wording import visible

_SHOW: Final = "c"
_ACCEPT, _SKIP, _ACCEPT_LEFT, _QUIT = _DECISIONS = ("a", "s", "l", "q")
_QUESTION: Final = "[a]ccept, [s]kip, show a [c]ase whole, accept all that is [l]eft, [q]uit? "


def review_in_terminal(acceptance: Acceptance, config: pytest.Config) -> None:
    """Ask about each change until all are decided, or the reader quits; each decision is written at once."""
    if not acceptance.changes:
        return
    open_input(config)
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    try:
        _ask_about_all(acceptance, reporter, config)
    except (EOFError, KeyboardInterrupt):
        # The rest of the line is the answer that was not given.
        write_line(reporter, "")


def _ask_about_all(acceptance: Acceptance, reporter: Any, config: pytest.Config) -> None:
    writer = config.get_terminal_writer()
    review = Review(list(acceptance.results.values()), lists_all=config.get_verbosity() > 0)
    changes = {each.id: each for each in review.changes}
    # As pytest does before its summary: it does not end the line of its progress itself.
    write_line(reporter, "")
    write_title(reporter, "=", f"review: {review.title()}")
    ids = list(acceptance.changes)
    for number, change_id in enumerate(ids, start=1):
        # With what was accepted meanwhile.
        results = tuple(acceptance.results[each.key] for each in acceptance.changes[change_id])
        write_title(reporter, "-", f"{number} of {len(ids)}")
        is_new = change_id == NEW
        shown = review.new_lines() if is_new else review.change_lines(changes[change_id]._replace(results=results))
        write_styled(writer, shown)
        decision = _decide(results, writer)
        for accepted in {_ACCEPT: [change_id], _ACCEPT_LEFT: ids[number - 1 :]}.get(decision, ()):
            told = len(acceptance.accepted)
            problems = acceptance.accept(accepted)
            write_lines(reporter, acceptance.accepted[told:])
            write_lines(reporter, problems, red=True)
        if decision in (_ACCEPT_LEFT, _QUIT):
            return


def _decide(results: Sequence[CaseResult], writer: Any) -> str:
    """What the reader types, once it is a decision."""
    cases = cycle(enumerate(results, start=1))
    while (answer := input(_QUESTION).strip().lower()) not in _DECISIONS:
        if answer == _SHOW:
            number, result = next(cases)
            title: StyledLine = ((f"case {number} of {len(results)}: {result.node_id}", "bold"),)
            write_styled(writer, (title, *_case_lines(result)))
    return answer


def _case_lines(result: CaseResult) -> Iterator[StyledLine]:
    """All that a case sends, with what differs from its snapshot."""
    snapshot: Any = result.snapshot
    # One that cannot be read is kept as its text.
    # YAML would quote a whole text for the sake of one character that cannot be shown.
    shown = (map_texts(data or {}, visible) for data in (snapshot.stored, snapshot.sent))
    stored, sent = (payload(data).splitlines() for data in shown)
    lines = unified_diff(stored, sent, n=len(stored), lineterm="")
    yield from style_lines([f"{line[0]} {line[1:]}" for line in lines][3:], whole=True)

"""The review in the terminal: what pytest shows of the cases that differ, and of their changes at the end."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from pytest_chatprompt.options import options_key
from pytest_chatprompt.reports.result_collectors import result_of, run_results
from pytest_chatprompt.reports.review import Review, StyledLine, cost_line
from pytest_chatprompt.reports.run_commands import accept, accept_all
from pytest_chatprompt.reports.terminal import write_line, write_styled, write_text, write_title
from pytest_chatprompt.results.records import CaseResult
from pytest_chatprompt.results.wording import summary_line
from pytest_chatprompt.wording import visible_line

_VERBOSE: Final = 1


def register_review(config: pytest.Config, reports: Iterable[Any]) -> None:
    """Make the terminal show the review of a run, if any of its cases differs from its snapshot.

    `reports` are those of failed tests, in the order of pytest; a test with subtests has several.
    Its plugins have got the reports of the tests already, JUnit's too; now each shows only what is new in it.
    """
    results = [(report, result) for report in reports if (result := result_of(report)) is not None]
    differing = [(report, result) for report, result in results if result.differs and result.outcome != "passed"]
    if not differing:
        return
    verbosity = config.get_verbosity()
    shows_failures = config.option.tbstyle not in ("no", "line")
    review = Review([result for _, result in differing], lists_all=verbosity >= _VERBOSE)
    for report, result in differing if verbosity <= _VERBOSE else ():
        report.longrepr = shortened(report.longrepr, review, result)
    lists = len(review.results) > 1 or len(review.changes) > 1 or not shows_failures
    config.pluginmanager.register(_Changes(review, lists), "chatprompt-review")


def shortened(representation: Any, review: Review, result: CaseResult) -> Any:
    """What pytest shows of a failure, with what is new in it in place of the whole diff."""
    traceback = getattr(representation, "reprtraceback", None)
    if traceback is None or getattr(traceback.reprentries[-1], "style", "") != "value":
        return representation
    shown = _ShownCase(representation, result.key[1], review.case_lines(result))
    if shown.reprcrash.message == summary_line(result.difference.changes):
        # The case fails for nothing but its snapshot.
        shown.reprcrash.message = visible_line(review.short_line(result))
    return shown


class _ShownCase:
    """A test that fails for its snapshot, as pytest shows an error."""

    def __init__(self, representation: Any, path: str, shown: list[StyledLine] | str) -> None:
        self.reprcrash = copy.copy(representation.reprcrash)
        self.reprtraceback = representation.reprtraceback
        self.sections = representation.sections
        self._path = path
        self._shown = shown

    def _lines(self) -> Iterator[StyledLine]:
        lines = "\n".join(self.reprtraceback.reprentries[-1].lines).split("\n")
        head, separator, _ = lines[0].partition(": what is sent ")
        if isinstance(self._shown, str) and separator:
            yield ((f"{head}: {self._shown}", ""),)
        elif not self._shown or isinstance(self._shown, str) or self._path not in lines:
            # The case failed for another reason, or has no snapshot.
            yield from (((line, ""),) for line in lines)
        else:
            start = lines.index(self._path) + 1
            yield from (((line, ""),) for line in lines[:start])
            yield from self._shown
            yield from (((line, ""),) for line in lines[-2:])

    def toterminal(self, writer: Any) -> None:
        """Write it, as pytest's own representations do."""
        write_styled(writer, self._lines())
        for name, content, separator in self.sections:
            write_title(writer, separator, name)
            write_text(writer, content)


@dataclass(eq=False)
class _Changes:
    """Lists all distinct changes after the failures; of a single one that was shown, only its id and what it costs."""

    review: Review
    lists: bool

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
        """Write the distinct changes."""
        if getattr(terminalreporter, "no_summary", False):
            return
        if not self.lists:
            for distinct in self.review.changes:
                cost = cost_line(distinct.costs)
                write_line(terminalreporter, f"This is change {distinct.id}" + (f": {cost}" if cost else ""))
            return
        write_title(terminalreporter, "=", self.review.title())
        run = run_results(config, self.review.results)
        session: Any = config.pluginmanager.get_plugin("session")
        ended_early = session is not None and (session.shouldfail or session.shouldstop)
        # What a run that ended early did not come to is not to be accepted.
        is_refused = config.stash[options_key].refused_update
        accepts_all = "" if is_refused else (accept if ended_early else accept_all)(run, run.results)
        # Repeated, it ends where this one did; and it is known what the change is, wherever it stands.
        write_styled(config.get_terminal_writer(), self.review.end_lines(accepts_all, partial(accept_all, run)))

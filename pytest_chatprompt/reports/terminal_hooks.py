"""The review in the terminal: what pytest shows of the cases that differ, and of their changes at the end.

The reports themselves stay as they are, whole, for JUnit's XML and other plugins.
"""

from __future__ import annotations

import copy
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pytest

from pytest_chatprompt.reports.review import Review, StyledLine, cost_line
from pytest_chatprompt.reports.run_commands import accept, accept_all
from pytest_chatprompt.reports.run_hooks import result_of, run_results
from pytest_chatprompt.reports.terminal import write_line, write_styled, write_text, write_title
from pytest_chatprompt.results.records import CaseResult
from pytest_chatprompt.results.texts import summary_line
from pytest_chatprompt.wording import visible_line

_VERBOSE: Final = 1
_ACCEPTING: Final = "To accept it: "
_EXPLANATION: Final = "E         "


def register_review(config: pytest.Config, reporter: Any) -> None:
    """Make the terminal show the review of a run, if any of its cases differs from its snapshot."""
    differing = [(report, result) for report, result in failed_results(reporter) if result.differs]
    if not differing:
        return
    verbosity = config.get_verbosity()
    shows_failures = config.option.tbstyle not in ("no", "line")
    review = Review(
        [result for _, result in differing],
        lists_all=verbosity >= _VERBOSE,
        lists_all_changes=verbosity >= _VERBOSE or not shows_failures,
    )
    failures = _Failures(review, differing, shows_all=verbosity > _VERBOSE)
    config.pluginmanager.register(failures, "chatprompt-review-failures")
    changes = _Changes(review, config, lists=len(differing) > 1 or not shows_failures)
    config.pluginmanager.register(changes, "chatprompt-review")


def failed_results(reporter: Any) -> list[tuple[Any, CaseResult]]:
    """The reports of the tests that failed, each with its result, in the order in which pytest shows them."""
    return [
        (report, result)
        for name in ("error", "failed")
        for report in reporter.stats.get(name, ())
        if (result := result_of(report)) is not None
    ]


@dataclass(eq=False)
class _Failures:
    """Shows each failed case by what is new in it, while pytest writes its summary."""

    review: Review
    reports: Sequence[tuple[Any, CaseResult]]
    shows_all: bool

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_terminal_summary(self) -> Generator[None, Any, Any]:
        """Exchange what the reports show, and put it back."""
        whole = [report.longrepr for report, _ in self.reports]
        for report, result in self.reports:
            shown = self.review.case_lines(result)
            if not self.shows_all:
                report.longrepr = _shown(report.longrepr, result, shown)
                crash = getattr(report.longrepr, "reprcrash", None)
                if crash is not None and crash.message == summary_line(result.difference.changes):
                    # The case fails for nothing but its snapshot.
                    crash.message = visible_line(self.review.short_line(result))
        try:
            return (yield)
        finally:
            for (report, _), representation in zip(self.reports, whole, strict=True):
                report.longrepr = representation


def _shown(representation: Any, result: CaseResult, shown: list[StyledLine] | str) -> Any:
    """What pytest shows of a failure, with other lines in place of the whole diff."""
    if not shown or not hasattr(representation, "reprtraceback"):
        return representation
    new = copy.deepcopy(representation)
    entry = new.reprtraceback.reprentries[-1]
    path = "" if result.snapshot is None else result.snapshot.path
    if getattr(entry, "style", "") == "value":
        return _ShownCase(new, path, shown)
    if isinstance(shown, str):
        entry.lines = _replaced(list(entry.lines), f"{_EXPLANATION}{path}", [f"{_EXPLANATION}{shown}"])
    section = [shown] if isinstance(shown, str) else ["".join(text for text, _ in line) for line in shown]
    new.sections = [
        (name, "\n".join(_replaced(text.split("\n"), path, section)) if name == "eval_snapshot" else text, *rest)
        for name, text, *rest in new.sections
    ]
    return new


def _replaced(lines: list[str], first: str, others: list[str]) -> list[str]:
    """Lines in which those of a diff are replaced; one line stands for the command that accepts it too."""
    start = next((index for index, line in enumerate(lines) if line.rstrip() == first), None)
    end = next((index for index, line in enumerate(lines) if _ACCEPTING in line), None)
    if start is None or end is None:
        return lines
    if len(others) == 1:
        return [*lines[:start], *others, *lines[end + 1 :]]
    return [*lines[: start + 1], *others, *lines[end - 1 :]]


class _ShownCase:
    """A test that fails for its snapshot, as pytest shows an error."""

    def __init__(self, representation: Any, path: str, shown: list[StyledLine] | str) -> None:
        self.reprcrash = representation.reprcrash
        self.reprtraceback = representation.reprtraceback
        self.sections = representation.sections
        self._path = path
        self._shown = shown

    def _lines(self) -> Iterator[StyledLine]:
        lines = "\n".join(self.reprtraceback.reprentries[-1].lines).split("\n")
        head, separator, _ = lines[0].partition(": what is sent ")
        if isinstance(self._shown, str) and separator:
            yield ((f"{head}: {self._shown}", ""),)
        elif isinstance(self._shown, str) or self._path not in lines:
            # The case failed for another reason.
            yield from (((line, ""),) for line in lines)
        else:
            start = lines.index(self._path) + 1
            yield from (((line, ""),) for line in lines[:start])
            yield from self._shown
            yield from (((line, ""),) for line in lines[-2:])

    def toterminal(self, writer: Any) -> None:
        """Write it, as pytest's own representations do."""
        for line in self._lines():
            write_styled(writer, line)
        for name, content, separator in self.sections:
            write_title(writer, separator, name)
            write_text(writer, content)


@dataclass(eq=False)
class _Changes:
    """Lists all distinct changes after the failures; of a single case that was shown, only what it costs."""

    review: Review
    config: pytest.Config
    lists: bool

    @pytest.hookimpl(tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Write the distinct changes."""
        if getattr(terminalreporter, "no_summary", False):
            return
        if not self.lists:
            if cost := cost_line(self.review.results):
                write_line(terminalreporter, f"This change: {cost}")
            return
        write_title(terminalreporter, "=", self.review.title())
        writer = self.config.get_terminal_writer()
        run = run_results(self.config, self.review.results)
        session: Any = self.config.pluginmanager.get_plugin("session")
        ended_early = session is not None and (session.shouldfail or session.shouldstop)
        # What a run that ended early did not come to is not to be accepted.
        accepts_all = (accept if ended_early else accept_all)(run, run.results)
        for line in self.review.end_lines(accepts_all, partial(accept, run)):
            write_styled(writer, line)

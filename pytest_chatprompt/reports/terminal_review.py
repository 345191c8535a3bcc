"""The review in the terminal: after the run it shows change by change, and asks what to do with each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any, Final

from pytest_chatprompt.reports.acceptance import Acceptance
from pytest_chatprompt.reports.review import StyledLine, style_lines
from pytest_chatprompt.reports.terminal import write_styled, write_title
from pytest_chatprompt.results.records import CaseResult
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.wording import count

_KEYS: Final = "a: accept, s: skip, c: show a case whole, l: accept all that is left, q: quit"
_ACCEPT, _SKIP, _SHOW, _ACCEPT_LEFT, _QUIT = "ascl" + "q"


class TerminalReview:
    """Asks for decisions; each is written at once.

    Args:
        acceptance: what can be accepted.
        writer: pytest's writer of the terminal.
        ask: shows a question and gives the line that is typed; may raise `EOFError` or `KeyboardInterrupt`.
    """

    def __init__(self, acceptance: Acceptance, writer: Any, ask: Callable[[str], str]) -> None:
        self._acceptance = acceptance
        self._writer = writer
        self._ask = ask

    def run(self) -> None:
        """Ask about each change, until all are decided, or the reader quits."""
        left = self._acceptance.left
        write_title(self._writer, "=", f"review: {count(len(left), 'decision')}")
        for number, change_id in enumerate(left, start=1):
            for line in self._acceptance.lines_of(change_id):
                write_styled(self._writer, line)
            decision = self._decide(change_id, f"({number} of {len(left)}) {_KEYS} > ")
            if decision == _QUIT:
                return
            accepted = left[number - 1 :] if decision == _ACCEPT_LEFT else [change_id] if decision == _ACCEPT else []
            for each in accepted:
                for problem in self._acceptance.accept(each):
                    write_styled(self._writer, ((problem, "removed"),))
            if decision == _ACCEPT_LEFT:
                return

    def _decide(self, change_id: str, question: str) -> str:
        """What the reader types, once it is a decision."""
        cases = cycle(self._acceptance.results_of(change_id))
        while True:
            try:
                answer = self._ask(question).strip().lower()
            except (EOFError, KeyboardInterrupt):
                # What was decided is written already.
                self._writer.line()
                return _QUIT
            if answer == _SHOW:
                for line in _case_lines(next(cases)):
                    write_styled(self._writer, line)
            elif answer in (_ACCEPT, _SKIP, _ACCEPT_LEFT, _QUIT):
                return answer


def _case_lines(result: CaseResult) -> Iterator[StyledLine]:
    """All that differs in a case; of a new one all that it sends."""
    yield ((result.node_id, "place"),)
    for hunk in result.difference.hunks:
        yield ((f"@@ {hunk.place} @@", "place"),)
        yield from style_lines(hunk.lines, whole=True)
    if not result.difference.hunks and result.snapshot is not None:
        yield from style_lines(f"+ {line}" for line in dump(result.snapshot.sent).splitlines())

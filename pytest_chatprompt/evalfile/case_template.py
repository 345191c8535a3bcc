"""The case template: a case with variables, before they are filled in.

In: a case whose texts are templates, and the row that an item is for. Out: the case of that item, once it runs.
`loader` makes them, one for each row; items keep them. Thousands of rows share one case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pytest_chatprompt.evalfile.case import EvalCase, Origin
from pytest_chatprompt.evalfile.rows import Row


class CaseTemplate(NamedTuple):
    """A case with variables, and one of its rows.

    Args:
        case: the case as its author wrote it, with the file's defaults filled in.
        row: the row; `None` if it has `vars` alone.
    """

    case: EvalCase
    row: Row | None = None

    @property
    def id(self) -> str:
        """The id of the case, without its row."""
        return self.case.id

    @property
    def row_id(self) -> str | None:
        """The id of the row; `None` for none."""
        return None if self.row is None else self.row.id

    @property
    def full_id(self) -> str:
        """The id with its row: `qa[eiffel]`."""
        return self.case.id if self.row is None else f"{self.case.id}[{self.row.id}]"

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags of the case."""
        return self.case.tags

    @property
    def provider(self) -> str | tuple[str, ...] | None:
        """The provider of the case, or several; `None` for the default provider."""
        return self.case.provider

    @property
    def line(self) -> int:
        """The 1-based line on which the case begins."""
        return self.case.line

    @property
    def origin(self) -> Origin:
        """The file and the position that the case was read from."""
        return self.case.origin

    def render(self) -> EvalCase:
        """Fill in the variables.

        Raises:
            EvalFileError: a text of it cannot be rendered.
        """
        # Most cases have no variables, and need nothing of it.
        from pytest_chatprompt.evalfile.template_rendering import render_case  # noqa: PLC0415

        return render_case(self.case, self.row)


def written_cases(cases: Iterable[object]) -> Iterator[EvalCase]:
    """The valid cases as their authors wrote them, each once, also if it has several rows.

    Args:
        cases: what the loader gave, in its order.
    """
    previous: EvalCase | None = None
    for case in cases:
        written = case.case if isinstance(case, CaseTemplate) else case
        if isinstance(written, EvalCase) and written is not previous:
            yield written
            previous = written

"""Parsing: the checks of a case, from what its author wrote.

In: an `EvalCase` with its variables filled in, and the run's file reader. Out: a `CaseCheck` for each check, or
`EvalFileError` with the line and column of each mistake. `items` calls it when a case runs, offline too, and `live`
before it prefetches a case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ValidationError

from pytest_chatprompt.cases.case import EvalCase, place_of_row
from pytest_chatprompt.cases.diagnostics import explain_validation_error
from pytest_chatprompt.cases.shared_keys import EvalCheck
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.grading.check import Check
from pytest_chatprompt.grading.table import UnknownTypeError, find_type
from pytest_chatprompt.prompt.attachments import AttachmentError, FileReader
from pytest_chatprompt.text.yaml import Entry, Node, Position
from pytest_chatprompt.wording import did_you_mean

LooksAt = Literal["answer", "request"]
_LOOKS_AT: Final[tuple[LooksAt, ...]] = get_args(LooksAt)


@dataclass(frozen=True, slots=True)
class CaseCheck:
    """A check of a case, ready to be graded.

    Args:
        written: as its author wrote it.
        check: what it does.
        is_negated: whether it passes where `check` does not.
        of: what it looks at.
    """

    written: EvalCheck
    check: Check
    is_negated: bool = False
    of: LooksAt = "answer"


class _MistakeError(Exception):
    """A mistake at one of the keys of a check."""

    def __init__(self, key: str, text: str) -> None:
        self.key = key
        super().__init__(text)


def parse_checks(case: EvalCase, reader: FileReader) -> tuple[CaseCheck, ...]:
    """Make each check of a case an instance of its type, with its values validated and its files read.

    Args:
        case: a case that was read from an eval file, with its variables filled in.
        reader: the run's file reader, for schemas in files of their own.

    Raises:
        EvalFileError: all that is wrong with them.
    """
    checks: list[CaseCheck] = []
    diagnostics: list[Diagnostic] = []
    for written in case.checks:
        try:
            checks.append(_parse(written, case, reader))
        except EvalFileError as error:
            # In a file that the check names.
            diagnostics += error.diagnostics
        except (ValidationError, _MistakeError) as error:
            for position, text in _explain(error, written, case):
                where = (case.origin.shown_path, position.line, position.column)
                diagnostics.append(Diagnostic(*where, text + place_of_row(case.origin.row), case_id=case.full_id))
    if diagnostics:
        raise EvalFileError(sorted(set(diagnostics)))
    return tuple(checks)


def _parse(written: EvalCheck, case: EvalCase, reader: FileReader) -> CaseCheck:
    try:
        check_class, is_negated = find_type(written.type)
    except UnknownTypeError as error:
        raise _MistakeError("type", str(error)) from error
    arguments = dict(written.arguments)
    of = arguments.pop("of", "answer")
    if of not in _LOOKS_AT:
        hint = did_you_mean(of, _LOOKS_AT) if isinstance(of, str) else ""
        raise _MistakeError(
            "of", f"'of' must be {' or '.join(_LOOKS_AT)}, but is {of!r}" + (f"; {hint}" if hint else "")
        )
    if of == "request" and not check_class.can_grade_request:
        raise _MistakeError("of", f"{written.type!r} looks at answers only; remove 'of'")
    check = check_class.model_validate(arguments).read_files(partial(_read_file, case, reader))
    mistake = check.find_mistake(case)
    if mistake:
        raise _MistakeError("type", mistake)
    return CaseCheck(written, check, is_negated, of)


def _read_file(case: EvalCase, reader: FileReader, path: str, key: str, model: type[BaseModel]) -> Any:
    """Read the value of a key from a file of its own; see `Check.read_files`."""
    try:
        return reader.read_definition(path, case.path.parent, key, model)
    except AttachmentError as error:
        raise _MistakeError(key, str(error)) from error


def _explain(
    error: ValidationError | _MistakeError, written: EvalCheck, case: EvalCase
) -> Iterator[tuple[Position, str]]:
    node = find_node(written, case)
    if isinstance(error, _MistakeError):
        yield node.find((error.key,)).position, str(error)
    else:
        yield from explain_validation_error(error, node, find_type(written.type)[0])


def find_node(check: EvalCheck, case: EvalCase) -> Node:
    """The node of a check in the file of its case; for a check made in code its data, at the position of the case."""
    root = case.origin.source.root
    if check.location:
        return root.find(check.location)
    mark = root.find(("evalcases", case.origin.case_index)).mark
    return _data_node({"type": check.type, **check.arguments}, mark)


def _data_node(data: Any, mark: Any) -> Node:
    """Plain data as a node that has one position in all of its parts."""
    if isinstance(data, Mapping):
        return Node(mark, {key: Entry(_data_node(key, mark), _data_node(value, mark)) for key, value in data.items()})
    if isinstance(data, list | tuple):
        return Node(mark, tuple(_data_node(item, mark) for item in data))
    return Node(mark, data, str(data))

"""Attachments: the files that a case names, with their text (rules A3, A4 and B1).

In: a case and the run's file reader. Out: an `Attachment` for each file, by its path as the author wrote it.
`request` calls `read_attachments` when the case runs; the modules that render messages look the files up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.case import EvalCase, case_diagnostic
from pytest_chatprompt.evalfile.message import FilePart
from pytest_chatprompt.prompt.file_reader import AttachmentError, FileReader
from pytest_chatprompt.prompt.guideline_patterns import matching_pattern


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a case names, with its text.

    Args:
        name: its path as the author wrote it, with `/`.
        path: where it was found, absolute.
        content: its text by rule A4: CRLF as LF, without line breaks at the very end.
        pattern: the pattern that makes it a guideline; `None` if it is not one.
    """

    name: str
    path: Path
    content: str
    pattern: str | None = None

    @property
    def is_guideline(self) -> bool:
        """Whether its text goes into the system message, with only a reference where the author named it."""
        return self.pattern is not None


def read_attachments(case: EvalCase, reader: FileReader) -> Mapping[str, Attachment]:
    """Read every file that the `input_messages` of a case name.

    Args:
        case: a case that has an origin.
        reader: the run's file reader.

    Returns:
        The attachments by path as written, in the order of first mention; empty if the case names no file.

    Raises:
        EvalFileError: files are missing, unreadable or outside the root folder; one problem for each such part.
    """
    __tracebackhide__ = True
    attachments: dict[str, Attachment] = {}
    diagnostics: list[Diagnostic] = []
    for message_index, message in enumerate(case.input_messages):
        for part_index, part in enumerate(message.parts):
            if not isinstance(part, FilePart) or part.value in attachments:
                continue
            try:
                attachments[part.value] = _read_attachment(part, case, reader)
            except AttachmentError as error:
                location = ("input_messages", message_index, "content", part_index, "value")
                diagnostics.append(case_diagnostic(case, str(error), *location))
    if diagnostics:
        raise EvalFileError(diagnostics)
    return attachments


def _read_attachment(part: FilePart, case: EvalCase, reader: FileReader) -> Attachment:
    name = part.value.replace("\\", "/")
    found = reader.find(name, case.path.parent)
    pattern = matching_pattern((found.root_path, name), case.guideline_patterns or ())
    return Attachment(name, found.path, reader.read(found.path, name), pattern)

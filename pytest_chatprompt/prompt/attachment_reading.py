"""Attachments: the files that a case names, with their text or their bytes (rules A3, A4, A8 and B1).

In: a case and the run's file reader. Out: an `Attachment` for each file, by its path as the author wrote it.
`request` calls `read_attachments` when the case runs; the modules that render messages look the files up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.case import EvalCase, case_diagnostic
from pytest_chatprompt.evalfile.media_types import kind_of_media_type, kind_with_article
from pytest_chatprompt.evalfile.message import MediaPart, Part, TextPart
from pytest_chatprompt.evalfile.text_file import MAX_CASE_BYTES, TOO_LARGE_CASE, utf8_size
from pytest_chatprompt.prompt.file_reader import AttachmentError, FileReader
from pytest_chatprompt.prompt.media import Media, MediaError, media_of_file, media_of_url


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a case names, with what its parts need of it.

    Args:
        name: its path as the author wrote it, with `/`.
        path: where it was found, absolute.
        content: its text by rule A4: CRLF as LF, without line breaks at the very end; `""` if no part attaches it.
        pattern: the pattern that makes it a guideline; `None` if it is not one.
        verbatim: its text by rules A8 and A9: with the line breaks at its end and variables filled in; `""` if no part
            is this text.
        media: the image, document or audio file that it is; `None` if no part sends it as one.
    """

    name: str
    path: Path
    content: str = ""
    pattern: str | None = None
    verbatim: str = ""
    media: Media | None = None

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
        EvalFileError: files are missing, unreadable or outside the root folder, or no media of their type; one problem
            for each such part.
    """
    __tracebackhide__ = True
    attachments: dict[str, Attachment] = {}
    diagnostics: list[Diagnostic] = []
    seen: set[tuple[str, str]] = set()
    size = 0
    for message_index, message in enumerate(case.input_messages):
        location: tuple[str | int, ...] = ("input_messages", message_index, "content")
        if not isinstance(message.content, tuple):
            # Only parts name files.
            size += utf8_size(message.content) if isinstance(message.content, str) else 0
            _check_size(size, case, location)
            continue
        for part_index, part in enumerate(message.content):
            key = "file" if isinstance(part, TextPart) else "value"
            written: str | None = getattr(part, key)
            if written is not None and (part.type, written) not in seen:
                try:
                    fields = _read_part(part, written, case, reader)
                except (AttachmentError, MediaError) as error:
                    diagnostics.append(case_diagnostic(case, str(error), *location, part_index, key))
                    continue
                seen.add((part.type, written))
                size += utf8_size(fields["content"]) if fields.get("pattern") is not None else 0
                if fields and written in attachments:
                    attachments[written] = replace(attachments[written], **fields)
                elif fields:
                    attachments[written] = Attachment(**fields)
            size += _size_of_part(part, attachments)
            _check_size(size, case, (*location, part_index, key if written is not None else "value"))
    if diagnostics:
        raise EvalFileError(diagnostics)
    return attachments


def _size_of_part(part: Part, attachments: Mapping[str, Attachment]) -> int:
    """How many bytes a part adds to what is sent; a guideline is sent once, and was counted when it was read."""
    if isinstance(part, TextPart):
        return utf8_size(part.value if part.file is None else attachments[part.file].verbatim)
    attachment = attachments.get(part.value)
    if attachment is None:
        # A URL, perhaps with the bytes in it.
        return len(part.value)
    if isinstance(part, MediaPart):
        content = attachment.media.content if attachment.media is not None else None
        # In base64.
        return len(content or b"") * 4 // 3
    return 0 if attachment.is_guideline else utf8_size(attachment.content)


def _check_size(size: int, case: EvalCase, location: tuple[str | int, ...]) -> None:
    if size > MAX_CASE_BYTES:
        raise EvalFileError([case_diagnostic(case, TOO_LARGE_CASE, *location)])


def _filled_in(text: str, name: str, case: EvalCase) -> str:
    """The text of a part, with the variables of its case, if it has any (rule A9)."""
    if case.vars is None:
        return text
    from pytest_chatprompt.evalfile.template_rendering import TextTemplateError, render_text  # noqa: PLC0415

    try:
        return render_text(text, case.vars)
    except TextTemplateError as error:
        raise AttachmentError(f"{name}, {error}") from error


def _read_part(part: Part, written: str, case: EvalCase, reader: FileReader) -> dict[str, Any]:
    """What a part needs of the file that it names, as fields of an `Attachment`; empty if it is a URL."""
    if isinstance(part, MediaPart) and media_of_url(part.type, written) is not None:
        return {}
    name = written.replace("\\", "/")
    found = reader.find(name, case.path.parent)
    fields: dict[str, Any] = {"name": name, "path": found.path}
    match part:
        case MediaPart():
            return fields | {"media": media_of_file(part.type, name, reader.read_bytes(found.path, name))}
        case TextPart():
            return fields | {"verbatim": _filled_in(reader.read_verbatim(found.path, name), name, case)}
    # Most cases name no such file.
    from pytest_chatprompt.prompt.guideline_patterns import matching_pattern  # noqa: PLC0415

    pattern = matching_pattern((found.root_path, name), case.guideline_patterns or ())
    try:
        return fields | {"content": reader.read(found.path, name), "pattern": pattern}
    except AttachmentError as error:
        kind = kind_of_media_type(error.media_type)
        if kind is None:
            raise
        raise AttachmentError(f"{error}; to send it as {kind_with_article(kind)}, write type: {kind}") from error

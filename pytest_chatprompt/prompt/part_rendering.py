"""Parts of a content: what each type of part becomes in the chat prompt and in the transcript (rules A2, A3 and A8).

In: a part of a message, and the attachments of its case. Out: the part's text, or its `Media`.
Pure functions, one for each type of part, looked up in `PART_RENDERERS`. `message_rendering` calls `render_part`.

A new type of part has its function and its entry in the table here; CONTRIBUTING lists the other steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_chatprompt.evalfile.message import AudioPart, DocumentPart, FilePart, ImagePart, MediaPart, Part, TextPart
from pytest_chatprompt.prompt.attachment_reading import Attachment
from pytest_chatprompt.prompt.content import ContentPart
from pytest_chatprompt.prompt.media import Media, media_of_url

Attachments = Mapping[str, Attachment]

# `\s` is what `str.isspace` calls white space; U+FEFF is the byte-order mark, which cannot be seen either.
_VISIBLE: Final = re.compile(r"[^\s\ufeff]")


def is_blank(text: str) -> bool:
    """Whether a text is nothing but white space (rule A5)."""
    return _VISIBLE.search(text) is None


def render_part(part: Part, attachments: Attachments) -> ContentPart:
    """Render a part: as text, or as media.

    Args:
        part: a part of any type.
        attachments: every file that the case names, by path as written.
    """
    return PART_RENDERERS[type(part)](part, attachments)


def render_text_part(part: TextPart, attachments: Attachments) -> str:
    """Write a text part: exactly as the author wrote it, or as it is in its file."""
    return part.value if part.file is None else attachments[part.file].verbatim


def render_file_part(part: FilePart, attachments: Attachments) -> str:
    """Write a file part: a guideline as a reference, any other file with its content."""
    attachment = attachments[part.value]
    if attachment.is_guideline:
        return f"<Attached: {attachment.name}>"
    return file_section(attachment)


def render_media_part(part: MediaPart, attachments: Attachments) -> Media:
    """Give the image, document or audio file of a part: of its file, or of its URL.

    Raises:
        MediaError: it is a URL that cannot be sent; `read_attachments` reports it before.
        LookupError: its file is not among the attachments.
    """
    media = media_of_url(part.type, part.value) or attachments[part.value].media
    if media is None:
        raise LookupError(f"{part.value} is attached as text, not as {part.type}")
    return media


def file_section(attachment: Attachment) -> str:
    """Write a file with its path as a heading: `=== PATH ===`, and its content from the next line on."""
    return f"=== {attachment.name} ===\n{attachment.content}"


PART_RENDERERS: Final[dict[type[Part], Callable[[Any, Attachments], ContentPart]]] = {
    TextPart: render_text_part,
    FilePart: render_file_part,
    ImagePart: render_media_part,
    DocumentPart: render_media_part,
    AudioPart: render_media_part,
}

"""Parts as text: how each type of part is written in the chat prompt and in the transcript (rules A2 and A3).

In: a part of a message, and the attachments of its case. Out: the part's text.
Pure functions, one for each type of part, looked up in `PART_RENDERERS`. `rendering` calls `render_part`.

A new type of part has its function and its entry in the table here; CONTRIBUTING lists the other steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from pytest_chatprompt.evalfile.message import FilePart, Part, TextPart
from pytest_chatprompt.prompt.attachments import Attachment

Attachments = Mapping[str, Attachment]

# `\s` is what `str.isspace` calls white space; U+FEFF is the byte-order mark, which cannot be seen either.
_VISIBLE: Final = re.compile(r"[^\s\ufeff]")


def is_blank(text: str) -> bool:
    """Whether a text is nothing but white space (rule A5)."""
    return _VISIBLE.search(text) is None


def render_part(part: Part, attachments: Attachments) -> str:
    """Write a part as text.

    Args:
        part: a part of any type.
        attachments: every file that the case names, by path as written.
    """
    return PART_RENDERERS[type(part)](part, attachments)


def render_text_part(part: TextPart, _: Attachments) -> str:
    """Write a text part: exactly as the author wrote it."""
    return part.value


def render_file_part(part: FilePart, attachments: Attachments) -> str:
    """Write a file part: a guideline as a reference, any other file with its content."""
    attachment = attachments[part.value]
    if attachment.is_guideline:
        return f"<Attached: {attachment.name}>"
    return file_section(attachment)


def file_section(attachment: Attachment) -> str:
    """Write a file with its path as a heading: `=== PATH ===`, and its content from the next line on."""
    return f"=== {attachment.name} ===\n{attachment.content}"


PART_RENDERERS: Final[dict[type[Part], Callable[[Any, Attachments], str]]] = {
    TextPart: render_text_part,
    FilePart: render_file_part,
}

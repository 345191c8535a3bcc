"""The content of a message: texts, and the media between them.

Parts come in; a content comes out that keeps media apart until the module of an API puts them into its own shape. A
content without media is one text. Pure functions; `message_rendering`, `conversion`, `transcript` and the chat
providers call them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from pytest_chatprompt.prompt.media import Media

ContentPart = str | Media
# A text; or texts and media in order, at least one of them media; or nothing beside tool calls.
Content = str | tuple[ContentPart, ...] | None


def join_parts(parts: Iterable[ContentPart], separator: str) -> str | tuple[ContentPart, ...]:
    """Join texts that follow each other (rule A1); media stay apart.

    Args:
        parts: in order.
        separator: stands between two texts.

    Returns:
        One text if there are no media.
    """
    joined: list[ContentPart] = []
    for is_text, group in groupby(parts, key=lambda part: isinstance(part, str)):
        run = list(group)
        joined += [separator.join(map(str, run))] if is_text else run
    # Texts that follow each other are one by now.
    if any(isinstance(part, Media) for part in joined):
        return tuple(joined)
    return str(joined[0]) if joined else ""


def content_parts(content: Content) -> tuple[ContentPart, ...]:
    """The parts of a content; none for an empty text."""
    if isinstance(content, tuple):
        return content
    return (content,) if content else ()


def content_text(content: Content) -> str:
    """A content as text, with a line in place of each of the media; `""` for none."""
    return "\n".join(map(str, content)) if isinstance(content, tuple) else content or ""

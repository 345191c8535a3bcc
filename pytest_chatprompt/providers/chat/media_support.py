"""Which media an API takes, and the check before a payload is built.

A chat prompt and the table of an API come in; a `PayloadError` comes out for the first image, document or audio file
that the API does not take, at its place. Only `ChatProvider` calls `check_media`; each API has its table of
`MediaSupport` beside the functions that put media into its own shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pytest_chatprompt.cases.message import Role
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, Content, Media, content_parts
from pytest_chatprompt.text.media_types import MEDIA_TYPES, MediaKind


class MediaSupport(NamedTuple):
    """How an API takes one kind of media.

    Args:
        block: puts one of them into the shape of the API.
        roles: the roles of the messages that may hold it.
        takes_urls: whether the API reads https URLs itself.
            needs_type_of_urls: whether it needs the media type of the file at a URL.
        media_types: those that it takes; empty for all of the kind.
    """

    block: Callable[[Media], dict[str, Any]]
    roles: tuple[Role, ...] = ("user",)
    takes_urls: bool = False
    needs_type_of_urls: bool = False
    media_types: tuple[str, ...] = ()


MediaTable = Mapping[MediaKind, MediaSupport]


def content_blocks(
    content: Content, table: MediaTable, text_block: Callable[[str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The parts of a content in the shape of an API; empty texts are left out, since no API takes them as blocks.

    Args:
        content: of a message that `check_media` has let pass.
        table: of the API.
        text_block: puts a text into its shape.
    """
    return [
        table[part.kind].block(part) if isinstance(part, Media) else text_block(part)
        for part in content_parts(content)
        if part
    ]


def check_media(prompt: ChatPrompt, vendor: str, table: MediaTable) -> None:
    """Refuse media that an API does not take.

    Args:
        prompt: the messages to send.
        vendor: the API's name.
        table: of the API; empty if it takes none.

    Raises:
        PayloadError: at the place of the part.
    """
    for message in prompt:
        for media in message.media:
            reason = _reason(media, message, vendor, table)
            if reason:
                raise _payload_error(media, message, reason)


def _reason(media: Media, message: ChatMessage, vendor: str, table: MediaTable) -> str:
    """Why an API does not take one of the media, and what to do; `""` if it does."""
    support = table.get(media.kind)
    if support is None:
        others = f"; it takes {_listed([_plural(kind) for kind in table])}" if table else ""
        return f"{vendor} takes no {_plural(media.kind)}{others}; leave it out, or use another provider"
    if message.role not in support.roles:
        roles = _listed(support.roles)
        return (
            f"{vendor} takes {_plural(media.kind)} in {roles} messages only, and the role of this one is "
            f"{message.role!r}; move it to a user message"
        )
    if media.content is None and not support.takes_urls:
        return f"{vendor} takes no {_plural(media.kind)} by URL; save the file in the project, and name its path"
    if support.media_types and media.media_type and media.media_type not in support.media_types:
        return (
            f"{vendor} takes {_plural(media.kind)} as {_listed(support.media_types, 'or')} only, and this one is "
            f"{media.media_type}; convert the file"
        )
    if media.content is None and support.needs_type_of_urls and not media.media_type:
        media_types = support.media_types or MEDIA_TYPES[media.kind]
        suffixes = ", ".join(f".{media_type.rpartition('/')[2]}" for media_type in media_types)
        return (
            f"{vendor} needs the type of what is at a URL, and the path of this one does not end in any of {suffixes}; "
            "save the file in the project, and name its path"
        )
    return ""


def _listed(words: Sequence[str], conjunction: str = "and") -> str:
    *others, last = words
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def _plural(kind: MediaKind) -> str:
    return "audio" if kind == "audio" else f"{kind}s"


def _payload_error(media: Media, message: ChatMessage, reason: str) -> PayloadError:
    if media.place is None:
        return PayloadError(reason, message_number=message.number)
    message_number, part_number = media.place
    return PayloadError(
        f"part {part_number}: {reason}",
        message_number=message_number,
        location=("input_messages", message_number - 1, "content", part_number - 1),
    )

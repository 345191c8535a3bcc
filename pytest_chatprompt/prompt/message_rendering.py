"""Rendering: the content of each message of a case, with its files filled in (rules A and B5).

In: messages and attachments. Out: a `RenderedMessage` for each message; the ones that are not sent say why.
Pure functions; `request` and `conversion` call `render_messages`, and `transcript` reads the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from pytest_chatprompt.evalfile.message import EvalMessage, FilePart
from pytest_chatprompt.prompt.attachment_reading import Attachment
from pytest_chatprompt.prompt.content import Content, ContentPart, join_parts
from pytest_chatprompt.prompt.media import Media
from pytest_chatprompt.prompt.part_rendering import Attachments, is_blank, render_part
from pytest_chatprompt.wording import about_message


class RenderedMessage(NamedTuple):
    """A message with its texts joined, and its media between them.

    Args:
        number: 1-based, among the messages of the case.
        source: the message as the author wrote it.
        content: the text to send, or texts and media in order; `None` where the author wrote `null`.
        guidelines: the guidelines that it names, in order; one that is named twice is in it twice.
        drop_reason: why the message is not sent; `""` if it is sent.
        adjustments: how the text differs from what the author wrote, for the snapshot's `adjustments`.
    """

    number: int
    source: EvalMessage
    content: Content
    guidelines: tuple[Attachment, ...] = ()
    drop_reason: str = ""
    adjustments: tuple[str, ...] = ()


def render_messages(messages: Sequence[EvalMessage], attachments: Attachments) -> tuple[RenderedMessage, ...]:
    """Render the messages of a case.

    Args:
        messages: as the author wrote them.
        attachments: every file that they name, by path as written.

    Returns:
        One for each message, in the same order; the ones that rules A5 and B5 drop have a `drop_reason`.
    """
    rendered = tuple(_render(number, message, attachments) for number, message in enumerate(messages, start=1))
    if all(message.drop_reason for message in rendered):
        # Rule B5: no message is left, so those that hold only guidelines stay, to have something to send.
        return tuple(_render(message.number, message.source, attachments, keep_references=True) for message in rendered)
    return rendered


def _render(
    number: int, message: EvalMessage, attachments: Attachments, *, keep_references: bool = False
) -> RenderedMessage:
    if isinstance(message.content, str) and not is_blank(message.content):
        # Most messages are a text, which is sent as it is.
        return RenderedMessage(number, message, message.content)
    parts: list[ContentPart] = []
    guidelines: list[Attachment] = []
    blank_parts: list[int] = []
    for part_number, part in enumerate(message.parts, start=1):
        rendered = render_part(part, attachments)
        if isinstance(rendered, str) and is_blank(rendered):
            blank_parts.append(part_number)
            continue
        if isinstance(rendered, Media):
            rendered = replace(rendered, place=(number, part_number))
        parts.append(rendered)
        if isinstance(part, FilePart) and attachments[part.value].is_guideline:
            guidelines.append(attachments[part.value])
    content = None if message.content is None else join_parts(parts, "\n")
    only_guidelines = len(guidelines) == len(parts) and not keep_references
    drop_reason = _drop_reason(message, is_empty=not parts, only_guidelines=only_guidelines)
    if drop_reason:
        adjustments = [about_message(number, f"dropped, {drop_reason}")]
    elif not isinstance(message.content, str):
        adjustments = [
            about_message(number, f"part {part_number} dropped, nothing left in it") for part_number in blank_parts
        ]
    elif content != message.content:
        adjustments = [about_message(number, "content dropped, nothing but white space in it")]
    else:
        adjustments = []
    return RenderedMessage(number, message, content, tuple(guidelines), drop_reason, tuple(adjustments))


def _drop_reason(message: EvalMessage, *, is_empty: bool, only_guidelines: bool) -> str:
    if message.tool_calls or message.tool_call_id is not None:
        # Rule A5: without one of them the API would refuse the other, so calls and their results always stay.
        return ""
    if is_empty:
        return "nothing left in it"
    return "it holds nothing but guideline files" if only_guidelines else ""

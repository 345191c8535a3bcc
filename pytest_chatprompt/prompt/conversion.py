"""The conversion of a case's messages to a chat prompt (rules B and C).

In: messages and the files that they name. Out: the chat prompt, with the guidelines in one system message at its start,
and a list of what was changed on the way.
Pure functions; `request` calls `convert`, and users may call `convert_to_chat_prompt`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_chatprompt.evalfile.message import EvalMessage
from pytest_chatprompt.prompt.attachment_reading import Attachment
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.prompt.content import ContentPart, content_parts, join_parts
from pytest_chatprompt.prompt.guidelines import guideline_block
from pytest_chatprompt.prompt.message_rendering import RenderedMessage, render_messages
from pytest_chatprompt.prompt.part_rendering import is_blank
from pytest_chatprompt.wording import about_message, message_numbers


class ConversionResult(NamedTuple):
    """A chat prompt, and how it differs from the messages of the case.

    Args:
        chat_prompt: the messages for a chat API; it has no system message where there is nothing to say (rule C4).
        guidelines: each guideline once, in the order of first mention.
        adjustments: the changes, in the order of the messages, for the snapshot's `adjustments`.
    """

    chat_prompt: ChatPrompt
    guidelines: tuple[Attachment, ...]
    adjustments: tuple[str, ...]


def convert_to_chat_prompt(
    messages: Sequence[EvalMessage],
    attachments: Mapping[str, Attachment] | None = None,
    *,
    system_prompt: str | None = None,
    default_system_prompt: str | None = None,
) -> ChatPrompt:
    """Convert the messages of a case to a chat prompt.

    Args:
        messages: the case's `input_messages`.
        attachments: every file that they name, by path as written; `None` if they name none.
        system_prompt: the author's system prompt; `""` for none at all, `None` if it is not set.
        default_system_prompt: the system prompt if `system_prompt` is `None` and there are guidelines.

    Returns:
        The chat prompt; empty if every message is empty.
    """
    rendered = render_messages(messages, attachments or {})
    return convert(rendered, system_prompt=system_prompt, default_system_prompt=default_system_prompt).chat_prompt


def convert(
    messages: Sequence[RenderedMessage], *, system_prompt: str | None, default_system_prompt: str | None
) -> ConversionResult:
    """Convert rendered messages, and keep what the rest of the request needs besides the chat prompt.

    Args:
        messages: all messages of a case, the dropped ones included.
        system_prompt: as for `convert_to_chat_prompt`.
        default_system_prompt: as for `convert_to_chat_prompt`.
    """
    sent = [message for message in messages if not message.drop_reason]
    system_messages = [message for message in sent if message.source.role == "system"]
    turns = [_chat_message(message) for message in sent if message.source.role != "system"]
    guidelines = _unique_guidelines(messages)
    block = guideline_block(guidelines)
    if system_messages:
        prompt = [part for message in system_messages for part in content_parts(message.content)]
    elif system_prompt is not None:
        prompt = [system_prompt]
    else:
        prompt = [default_system_prompt or ""] if block else []
    content = join_parts((part for part in (*prompt, block) if part), "\n\n")
    system = [_system_message(content, system_messages)] if content else []
    adjustments = list(_adjustments(messages, system_messages))
    if system_messages and system_prompt:
        numbers = message_numbers([message.number for message in system_messages])
        verb = "stand" if len(system_messages) > 1 else "stands"
        adjustments.append(f"metadata.systemPrompt left out, {numbers} {verb} in its place")
    return ConversionResult((*system, *turns), guidelines, tuple(adjustments))


def _unique_guidelines(messages: Sequence[RenderedMessage]) -> tuple[Attachment, ...]:
    """Each guideline once, at its first mention; a file that is written in two ways is one guideline."""
    first_mentions: dict[Path, Attachment] = {}
    for message in messages:
        for guideline in message.guidelines:
            first_mentions.setdefault(guideline.path, guideline)
    return tuple(first_mentions.values())


def _system_message(content: str | tuple[ContentPart, ...], system_messages: Sequence[RenderedMessage]) -> ChatMessage:
    if len(system_messages) == 1:
        (only,) = system_messages
        return ChatMessage("system", content, name=only.source.name, number=only.number)
    return ChatMessage("system", content)


def _chat_message(message: RenderedMessage) -> ChatMessage:
    source = message.source
    return ChatMessage(
        role=source.role,
        content=message.content,
        name=source.name,
        tool_calls=source.tool_calls,
        tool_call_id=source.tool_call_id,
        number=message.number,
    )


def _adjustments(messages: Sequence[RenderedMessage], system_messages: Sequence[RenderedMessage]) -> Iterator[str]:
    moved: set[Path] = set()
    for message in messages:
        for guideline in message.guidelines:
            if guideline.path not in moved:
                moved.add(guideline.path)
                verb = "not added" if is_blank(guideline.content) else "moved"
                reason = ", nothing but white space in it" if is_blank(guideline.content) else ""
                text = f"guideline {guideline.name} {verb} to the system message{reason} (matched {guideline.pattern})"
                yield about_message(message.number, text)
        yield from message.adjustments
        if message.source.role == "system" and not message.drop_reason:
            yield from _system_adjustments(message, system_messages)


def _system_adjustments(message: RenderedMessage, system_messages: Sequence[RenderedMessage]) -> Iterator[str]:
    first_number = system_messages[0].number
    if message.number != first_number:
        yield about_message(message.number, "system message merged into the first")
    elif message.number > 1:
        yield about_message(message.number, "system message moved to the start")
    if len(system_messages) > 1 and message.source.name is not None:
        text = f"name {message.source.name!r} left out, the system messages are one"
        yield about_message(message.number, text)

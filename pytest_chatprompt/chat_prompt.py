"""The chat prompt: the messages that go to a model (rulings A to C).

Messages and the files that they name come in; the list of `ChatMessage`s that a chat API gets comes out,
guidelines moved into one system message at its start, together with an account of what was changed on the
way. Pure functions; `requests` calls them, and users may.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_chatprompt.attachments import Attachment
from pytest_chatprompt.eval_message import EvalMessage, Role, ToolCall
from pytest_chatprompt.guidelines import guideline_block
from pytest_chatprompt.rendering import RenderedMessage, render_messages

DEFAULT_SYSTEM_PROMPT: Final = "You are a careful assistant."


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of a chat prompt, in the shape of OpenAI's chat completions.

    Args:
        role: who speaks.
        content: the text; `None` only beside `tool_calls` or `tool_call_id`.
        name: the speaker's name, for APIs that take one.
        tool_calls: the calls that an assistant message makes.
        tool_call_id: the call that a tool message answers.
        number: 1-based number of the case's message that it was made of; no part of its value.
    """

    role: Role
    content: str | None
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    number: int | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The message as JSON data: `role`, `content`, and the others where they are set."""
        data: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.name is not None:
            data["name"] = self.name
        if self.tool_calls:
            data["tool_calls"] = [call.model_dump() for call in self.tool_calls]
        if self.tool_call_id is not None:
            data["tool_call_id"] = self.tool_call_id
        return data


ChatPrompt = tuple[ChatMessage, ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """What the messages of a case come to.

    Args:
        chat_prompt: what a chat API gets; without a system message where there is nothing to say (ruling C4).
        guidelines: each guideline file once, in the order of first mention.
        adjustments: what was done to the author's messages, in the order of the messages.
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
    """Convert the messages of a case to the messages that a chat API gets.

    Args:
        messages: the case's `input_messages`.
        attachments: every file that they name, by the path as written.
        system_prompt: what the author set; `""` for none wanted, `None` for not set.
        default_system_prompt: counts where `system_prompt` is `None` and there are guidelines.

    Returns:
        The chat prompt; empty if no message has anything to say.
    """
    rendered = render_messages(messages, attachments or {})
    return convert(rendered, system_prompt=system_prompt, default_system_prompt=default_system_prompt).chat_prompt


def convert(
    messages: Sequence[RenderedMessage], *, system_prompt: str | None, default_system_prompt: str | None
) -> Conversion:
    """`convert_to_chat_prompt` for messages that are rendered already, with all that it comes to."""
    kept = [message for message in messages if not message.dropped]
    explicit = [message for message in kept if message.message.role == "system"]
    guidelines = _guidelines(messages)
    block = guideline_block(tuple((guideline.name, guideline.content) for guideline in guidelines))
    if explicit:
        prompt = "\n\n".join(message.content or "" for message in explicit)
    elif system_prompt is not None:
        prompt = system_prompt
    else:
        prompt = (default_system_prompt or "") if block else ""
    content = "\n\n".join(text for text in (prompt, block) if text)
    system = [_system_message(content, explicit)] if content else []
    turns = [_chat_message(message) for message in kept if message.message.role != "system"]
    told = _adjustments(messages, explicit)
    if explicit and system_prompt:
        told.append(f"metadata.systemPrompt left out, {_numbers(explicit)} in its place")
    return Conversion((*system, *turns), guidelines, tuple(told))


def _numbers(explicit: Sequence[RenderedMessage]) -> str:
    """System messages by their numbers: `message 2 stands`, `messages 1 and 3 stand`."""
    *first, last = [str(message.number) for message in explicit]
    return f"messages {', '.join(first)} and {last} stand" if first else f"message {last} stands"


def _guidelines(messages: Sequence[RenderedMessage]) -> tuple[Attachment, ...]:
    """Each guideline once, by the file that it is, even if it is written in two ways."""
    first_mentions: dict[Any, Attachment] = {}
    for message in messages:
        for guideline in message.guidelines:
            first_mentions.setdefault(guideline.path, guideline)
    return tuple(first_mentions.values())


def _system_message(content: str, explicit: Sequence[RenderedMessage]) -> ChatMessage:
    if len(explicit) == 1:
        return ChatMessage("system", content, name=explicit[0].message.name, number=explicit[0].number)
    return ChatMessage("system", content)


def _chat_message(rendered: RenderedMessage) -> ChatMessage:
    message = rendered.message
    return ChatMessage(
        role=message.role,
        content=rendered.content,
        name=message.name,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        number=rendered.number,
    )


def _adjustments(messages: Sequence[RenderedMessage], explicit: Sequence[RenderedMessage]) -> list[str]:
    told: list[str] = []
    seen: set[Any] = set()
    first = explicit[0].number if explicit else 0
    merged = {message.number for message in explicit[1:]}
    for message in messages:
        where = f"message {message.number}"
        for guideline in message.guidelines:
            if guideline.path not in seen:
                seen.add(guideline.path)
                told.append(
                    f"{where}: guideline {guideline.name} moved to the system message (matched {guideline.pattern})"
                )
        told += message.told
        if message.number in merged:
            told.append(f"{where}: system message merged into the first")
        elif message.number == first > 1:
            told.append(f"{where}: system message moved to the start")
        if merged and message.message.name is not None and (message.number == first or message.number in merged):
            told.append(f"{where}: name {message.message.name!r} left out, the system messages are one")
    return told

"""The chat prompt: the list of messages that a chat API gets, as data.

`conversion` makes it from a case's messages, users may make their own, and chat providers translate it for their API.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pytest_chatprompt.evalfile.message import Role, ToolCall
from pytest_chatprompt.prompt.content import Content, content_text
from pytest_chatprompt.prompt.media import Media
from pytest_chatprompt.wording import message_numbers

DEFAULT_SYSTEM_PROMPT: Final = "You are a careful assistant."


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message of a chat prompt, in the shape of OpenAI's chat completions.

    Args:
        role: who speaks: `system`, `user`, `assistant` or `tool`.
        content: the text; a tuple of texts and `Media` if there are media in it; `None` only beside `tool_calls` or
            `tool_call_id`.
        name: the speaker's name, for APIs that accept one.
        tool_calls: the calls that an assistant message makes; empty for none.
        tool_call_id: the id of the call that a tool message answers.
        number: 1-based number of the case's message that it comes from, for error messages; ignored when messages are
            compared; `None` if it comes from none, or from several.
    """

    role: Role
    content: Content
    name: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    number: int | None = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> str:
        """The content as text, with a line such as `<Image: ./screen.png>` for each of the media; `""` for none."""
        return content_text(self.content)

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, documents and audio in the content."""
        if not isinstance(self.content, tuple):
            return ()
        return tuple(part for part in self.content if isinstance(part, Media))

    def as_dict(self) -> dict[str, Any]:
        """The message as JSON data: `role` and `content` always, the other fields only if they are set.

        A content with media is a list of parts, in the shape of an eval file.
        """
        content: Any = self.content
        if isinstance(content, tuple):
            content = [part.as_dict() if isinstance(part, Media) else _text_part(part) for part in content]
        data: dict[str, Any] = {"role": self.role, "content": content}
        if self.name is not None:
            data["name"] = self.name
        if self.tool_calls:
            data["tool_calls"] = [call.model_dump() for call in self.tool_calls]
        if self.tool_call_id is not None:
            data["tool_call_id"] = self.tool_call_id
        return data


ChatPrompt = tuple[ChatMessage, ...]


def _text_part(text: str) -> dict[str, str]:
    return {"type": "text", "value": text}


def describe_messages(messages: Sequence[ChatMessage]) -> str:
    """Refer to messages by their numbers, or by their role where they have none.

    Args:
        messages: at least one; those without numbers have the same role.

    Returns:
        `message 2`, `messages 2 and 3`, `assistant message` or `tool messages`.
    """
    numbers = [message.number for message in messages if message.number is not None]
    if numbers:
        return message_numbers(numbers)
    return messages[0].role + (" messages" if len(messages) > 1 else " message")

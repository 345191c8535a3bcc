"""What the APIs with a system field of their own share: splitting a chat prompt into system and turns.

A chat prompt comes in; its system text and its turns come out, each tool result joined with the call that
it answers, results of one turn together. `anthropic` and `gemini` put them into their own blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_chatprompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.errors import PayloadError


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool message and the name of the function whose call it answers."""

    call_id: str
    function_name: str
    content: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A user or assistant message, or the tool results that answer one turn."""

    message: ChatMessage
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Turns:
    """A chat prompt, split.

    Args:
        system: the text for the API's system field; `""` for none.
        turns: in order, at least one.
        adjustments: what was done to the messages.
    """

    system: str
    turns: tuple[Turn, ...]
    adjustments: tuple[str, ...] = field(default=())


def split(prompt: ChatPrompt, vendor: str) -> Turns:
    """Split a chat prompt.

    Args:
        prompt: the messages, the system message among them.
        vendor: the API's name, for messages.

    Raises:
        PayloadError: no turn is left, or a tool message has no call before it.
    """
    system = "\n\n".join(message.content or "" for message in prompt if message.role == "system")
    messages = [message for message in prompt if message.role != "system"]
    if not messages:
        raise PayloadError(
            f"{vendor} needs a turn, and only a system message is left; "
            "give the case a user message with content of its own"
        )
    turns = tuple(_turns(messages))
    return Turns(system, turns, tuple(_adjustments(prompt, turns, messages, vendor)))


def _turns(messages: Sequence[ChatMessage]) -> Iterator[Turn]:
    names: dict[str, str] = {}
    results: list[ToolResult] = []
    last_tool: ChatMessage | None = None
    for message in messages:
        if message.role == "tool":
            results.append(_result(message, names))
            last_tool = message
            continue
        if last_tool is not None:
            yield Turn(last_tool, tuple(results))
            results, last_tool = [], None
        names.update((call.id, call.function.name) for call in message.tool_calls)
        yield Turn(message)
    if last_tool is not None:
        yield Turn(last_tool, tuple(results))


def _result(message: ChatMessage, names: dict[str, str]) -> ToolResult:
    if message.tool_call_id is None:
        raise PayloadError(
            "a tool message without 'tool_call_id'; name the call that it answers",
            message_number=message.number,
        )
    if message.tool_call_id not in names:
        known = f"the calls before it are {', '.join(map(repr, names))}" if names else "there is no call before it"
        raise PayloadError(
            f"it answers the call {message.tool_call_id!r}, and {known}; "
            "put the assistant message that makes the call in front of it",
            message_number=message.number,
        )
    return ToolResult(message.tool_call_id, names[message.tool_call_id], message.content or "")


def _adjustments(
    prompt: ChatPrompt, turns: Sequence[Turn], messages: Sequence[ChatMessage], vendor: str
) -> Iterator[str]:
    merged = {id(message) for message in [message for message in prompt if message.role == "system"][1:]}
    for message in prompt:
        if id(message) in merged:
            yield f"{where([message])}: merged into the first system message"
        if message.role == "tool" and message.content is None:
            yield f"{where([message])}: null sent as an empty result"
        if message.tool_calls and message.content == "":
            yield f"{where([message])}: empty content left out beside its calls"
        if message.name is not None:
            yield f"{where([message])}: name {message.name!r} left out, {vendor} has none"
    tools = iter([message for message in messages if message.role == "tool"])
    for turn in turns:
        together = [next(tools) for _ in turn.results]
        if len(together) > 1:
            yield f"tool results of {where(together)} sent in one user turn"


def where(messages: Sequence[ChatMessage]) -> str:
    """Messages by their numbers, `messages 2 and 3`, or by their role where they have none."""
    numbers = [str(message.number) for message in messages if message.number is not None]
    if not numbers:
        return messages[0].role + (" messages" if len(messages) > 1 else " message")
    if len(numbers) == 1:
        return f"message {numbers[0]}"
    return f"messages {', '.join(numbers[:-1])} and {numbers[-1]}"

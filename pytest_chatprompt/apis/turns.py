"""Splits a chat prompt into its system text and its turns, for APIs with a separate field for the system text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, ContentPart, describe_messages


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool message, with the name of the function whose call it answers."""

    call_id: str
    function_name: str
    content: str | tuple[ContentPart, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A user or assistant message, or all tool results that follow one turn."""

    message: ChatMessage
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class SplitPrompt:
    """The system text of a chat prompt, and its turns."""

    system: str
    turns: tuple[Turn, ...]
    adjustments: tuple[str, ...] = ()


def split_prompt(prompt: ChatPrompt, vendor: str, *, joins_results: bool = True) -> SplitPrompt:
    """Split a chat prompt into its system text and its turns."""
    system = "\n\n".join(message.text for message in prompt if message.role == "system")
    messages = [message for message in prompt if message.role != "system"]
    if not messages:
        raise PayloadError(
            f"{vendor} needs a message besides the system message; add a user message with content of its own"
        )
    turns = tuple(_turns(messages))
    adjustments = [*_adjustments(prompt, vendor), *(_joined_results(turns, messages) if joins_results else ())]
    return SplitPrompt(system, turns, tuple(adjustments))


def _turns(messages: Sequence[ChatMessage]) -> Iterator[Turn]:
    function_names: dict[str, str] = {}
    results: list[ToolResult] = []
    last_tool_message: ChatMessage | None = None
    for message in messages:
        if message.role == "tool":
            results.append(_tool_result(message, function_names))
            last_tool_message = message
            continue
        if last_tool_message is not None:
            yield Turn(last_tool_message, tuple(results))
            results, last_tool_message = [], None
        function_names.update((call.id, call.function.name) for call in message.tool_calls)
        yield Turn(message)
    if last_tool_message is not None:
        yield Turn(last_tool_message, tuple(results))


def _tool_result(message: ChatMessage, function_names: dict[str, str]) -> ToolResult:
    """The result that a tool message holds; `function_names` are those of the earlier calls, by id."""
    if message.tool_call_id is None:
        raise PayloadError(
            "a tool message without 'tool_call_id'; name the call that it answers",
            message_number=message.number,
        )
    if message.tool_call_id not in function_names:
        calls = (
            f"the calls before it are {', '.join(map(repr, function_names))}"
            if function_names
            else "no call comes before it"
        )
        raise PayloadError(
            f"it answers the call {message.tool_call_id!r}, but {calls}; "
            "put the assistant message that makes the call before it",
            message_number=message.number,
        )
    return ToolResult(message.tool_call_id, function_names[message.tool_call_id], message.content or "")


def _adjustments(prompt: ChatPrompt, vendor: str) -> Iterator[str]:
    merged = {id(message) for message in [message for message in prompt if message.role == "system"][1:]}
    for message in prompt:
        if id(message) in merged:
            yield f"{describe_messages([message])}: merged into the first system message"
        if message.role == "tool" and message.content is None:
            yield f"{describe_messages([message])}: null sent as an empty result"
        if message.tool_calls and message.content == "":
            yield f"{describe_messages([message])}: empty content left out beside its calls"
        if message.name is not None:
            yield f"{describe_messages([message])}: name {message.name!r} left out, {vendor} has none"


def _joined_results(turns: Sequence[Turn], messages: Sequence[ChatMessage]) -> Iterator[str]:
    tool_messages = iter([message for message in messages if message.role == "tool"])
    for turn in turns:
        together = [next(tool_messages) for _ in turn.results]
        if len(together) > 1:
            yield f"tool results of {describe_messages(together)} sent in one user turn"

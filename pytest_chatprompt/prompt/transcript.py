"""The transcript: the conversation as one text, for people, logs, snapshots and agents (rules D).

In: rendered messages. Out: the `question` of a request. A chat provider never sends it if there is a chat prompt.
A pure function; `request` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_chatprompt.prompt.rendering import RenderedMessage


def render_transcript(messages: Sequence[RenderedMessage]) -> str:
    """Write messages as a transcript.

    Args:
        messages: rendered, in the order in which the author wrote them; dropped ones are left out.

    Returns:
        The turns, each with its `[Role]:` marker; the content alone if the only turn is the user's; `""` for no turns.
    """
    turns = [message for message in messages if not message.drop_reason]
    if len(turns) == 1 and turns[0].source.role == "user":
        return _content(turns[0])
    return "\n".join(_turn(message) for message in turns)


def _turn(message: RenderedMessage) -> str:
    content = _content(message)
    separator = "\n" if "\n" in content else " " if content else ""
    return f"[{message.source.role.capitalize()}]:{separator}{content}"


def _content(message: RenderedMessage) -> str:
    text = (message.content or "").rstrip("\r\n")
    lines = [text] if text else []
    lines += [f"<Call {call.function.name}({call.function.arguments})>" for call in message.source.tool_calls]
    return "\n".join(lines)

"""The `question`: the conversation as it was written, for people, logs and agents (rulings D).

Rendered messages come in, one text comes out. No chat provider sends it when there is a chat prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_chatprompt.rendering import RenderedMessage


def transcript(messages: Sequence[RenderedMessage]) -> str:
    """Write messages as a transcript.

    Args:
        messages: rendered, in their order; dropped ones are passed over.

    Returns:
        The turns, or the content alone if the user has the only one; `""` for no messages.
    """
    kept = [message for message in messages if not message.dropped]
    if len(kept) == 1 and kept[0].message.role == "user":
        return _content(kept[0])
    return "\n".join(_turn(message) for message in kept)


def _turn(message: RenderedMessage) -> str:
    content = _content(message)
    between = "\n" if "\n" in content else " " if content else ""
    return f"[{message.message.role.capitalize()}]:{between}{content}"


def _content(message: RenderedMessage) -> str:
    text = (message.content or "").rstrip("\r\n")
    lines = [text] if text else []
    lines += [f"<Call {call.function.name}({call.function.arguments})>" for call in message.message.tool_calls]
    return "\n".join(lines)

"""The transcript: the conversation as one text, for people, logs, snapshots and agents (rules D).

In: rendered messages, or the turns of a request that was sent. Out: the `question`. A chat provider never sends it if
there is a chat prompt. Pure functions; `request` calls `render_transcript`, `capture` calls `write_transcript`.
The wording of `<Attached: PATH>` and of the other lines that stand for a file is in `part_rendering` and `media`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pytest_chatprompt.prompt.content import content_text
from pytest_chatprompt.prompt.message_rendering import RenderedMessage


class TranscriptTurn(NamedTuple):
    """A turn of a transcript.

    Args:
        role: in lower case.
        content: its text.
        calls: the tool calls that it makes, each its name and its arguments.
    """

    role: str
    content: str
    calls: Sequence[tuple[str, str]] = ()


def render_transcript(messages: Sequence[RenderedMessage]) -> str:
    """Write messages as a transcript.

    Args:
        messages: rendered, in the order in which the author wrote them; dropped ones are left out.

    Returns:
        The turns, each with its `[Role]:` marker; the content alone if the only turn is the user's; `""` for no turns.
    """
    return write_transcript([_turn(message) for message in messages if not message.drop_reason])


def write_transcript(turns: Sequence[TranscriptTurn]) -> str:
    """Write turns as a transcript; `render_transcript` says how."""
    if len(turns) == 1 and turns[0].role == "user":
        return turn_content(turns[0])
    return "\n".join(map(_marked, turns))


def _turn(message: RenderedMessage) -> TranscriptTurn:
    calls = [(call.function.name, call.function.arguments) for call in message.source.tool_calls]
    return TranscriptTurn(message.source.role, content_text(message.content), calls)


def _marked(turn: TranscriptTurn) -> str:
    content = turn_content(turn)
    separator = "\n" if "\n" in content else " " if content else ""
    return f"[{turn.role.capitalize()}]:{separator}{content}"


def turn_content(turn: TranscriptTurn) -> str:
    """Write one turn without its marker: its text, then its tool calls."""
    text = turn.content.rstrip("\r\n")
    lines = [text] if text else []
    lines += [f"<Call {name}({arguments})>" for name, arguments in turn.calls]
    return "\n".join(lines)

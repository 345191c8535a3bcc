"""`Conversation`: what a request says to the model, read back from its body.

Frozen data in the words of the field: turns with their texts, tool calls, results and files, the same for all
APIs. The APIs of this room make it; transcripts and reports show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pytest_chatprompt.prompt.conversion import TranscriptTurn, write_transcript


@dataclass(frozen=True, slots=True)
class Media:
    """An image or another file in a turn.

    Args:
        kind: `image`, `document`, `audio`, `video`, or `file` where nothing says what it is.
        media_type: such as `image/png`; `""` if the request does not say.
        size: in bytes; `None` for one that is not in the request itself.
        source: its URL, id or name; `""` for none.
    """

    kind: str
    media_type: str = ""
    size: int | None = None
    source: str = ""

    def __str__(self) -> str:
        size = "" if self.size is None else f"{self.size} bytes"
        facts = ", ".join(filter(None, (self.source, self.media_type, size)))
        return f"<{self.kind.capitalize()}: {facts}>" if facts else f"<{self.kind.capitalize()}>"


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning of the model that is sent back to it.

    Args:
        text: what can be read of it; `""` where it is encrypted.
    """

    text: str = ""

    def __str__(self) -> str:
        return f"<Thought: {self.text}>" if self.text else "<Thought>"


@dataclass(frozen=True, slots=True)
class ConversationToolCall:
    """A call of a tool.

    Args:
        name: the tool's name.
        arguments: JSON text; as sent, where the API takes text.
        id: what its result names; `""` for none.
    """

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a tool call.

    Args:
        parts: its texts and files, in order.
        call_id: the id of the call; `""` for none.
        name: the tool's name; `""` if the request does not say.
    """

    parts: tuple[str | Media | Thought, ...]
    call_id: str = ""
    name: str = ""


Part = str | Media | Thought | ConversationToolCall | ToolResult


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """What one role says: texts, media, thoughts, tool calls and results.

    Args:
        role: `system`, `user`, `assistant` or `tool`; another word of the API as it is.
        parts: in the order in which they were sent.
    """

    role: str
    parts: tuple[Part, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts, those of tool results included."""
        return tuple(part for part in self._content() if isinstance(part, str))

    @property
    def media(self) -> tuple[Media, ...]:
        """The images and other files, those of tool results included."""
        return tuple(part for part in self._content() if isinstance(part, Media))

    @property
    def tool_calls(self) -> tuple[ConversationToolCall, ...]:
        """The calls that the turn makes."""
        return tuple(part for part in self.parts if isinstance(part, ConversationToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results in the turn."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))

    @property
    def content(self) -> str:
        """The texts, with a line in place of each file."""
        return "\n".join(filter(None, map(str, self._content())))

    def _content(self) -> Iterator[str | Media | Thought]:
        for part in self.parts:
            if isinstance(part, ToolResult):
                yield from part.parts
            elif not isinstance(part, ConversationToolCall):
                yield part


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a request says to the model.

    Args:
        turns: in order; what an API takes apart from the turns, such as a system prompt, comes first.
    """

    turns: tuple[ConversationTurn, ...] = ()

    @property
    def system(self) -> str:
        """The system messages, with an empty line between them; `""` for none."""
        return "\n\n".join(turn.content for turn in self.turns if turn.role == "system")

    @property
    def tool_calls(self) -> tuple[ConversationToolCall, ...]:
        """All calls, in order."""
        return tuple(call for turn in self.turns for call in turn.tool_calls)

    def as_transcript(self) -> str:
        """The conversation as one text, in the format of `question` (rules D)."""
        return write_transcript(
            [
                TranscriptTurn(turn.role, turn.content, tuple((call.name, call.arguments) for call in turn.tool_calls))
                for turn in self.turns
            ]
        )

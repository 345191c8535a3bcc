"""`Conversation`: what a request says to the model, the same for all APIs; and helpers that read it from a body.

A body may be anything: what is not understood stays as JSON text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from pytest_chatprompt.cases.message import FunctionCall, ToolCall
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt, ContentPart, Media, Place
from pytest_chatprompt.prompt.conversion import TranscriptTurn, write_transcript
from pytest_chatprompt.text.media_types import (
    decode_base64,
    described_size,
    kind_of_media_type,
    sniff_media_type,
    split_data_url,
)


class UnreadPart(str):
    """JSON text of what is not understood of a request."""


@dataclass(frozen=True, slots=True)
class SentMedia:
    """An image or another file in a turn.

    Args:
        kind: `image`, `document`, `audio`, `video`, or `file` where nothing says what it is.
        media_type: such as `image/png`; `""` if the request does not say.
        size: in bytes; `None` for one that is not in the request itself.
        source: its URL, id or name; `""` for none.
        base64: its bytes, as they stand in the request; `""` for one that is not in it.
    """

    kind: str
    media_type: str = ""
    size: int | None = None
    source: str = ""
    base64: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        size = "" if self.size is None else f"{self.size} bytes"
        facts = ", ".join(filter(None, (self.source, self.media_type, size)))
        return f"<{self.kind.capitalize()}: {facts}>" if facts else f"<{self.kind.capitalize()}>"


class Thought(NamedTuple):
    """Reasoning of the model that is sent back to it."""

    text: str = ""

    def __str__(self) -> str:
        return f"<Thought: {self.text}>" if self.text else "<Thought>"


class ConversationToolCall(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: str
    id: str = ""


Part = str | SentMedia | Thought | ConversationToolCall


class ConversationTurn(NamedTuple):
    """What one role says: texts, media, thoughts and tool calls.

    A turn with a `call_id`, which may be `""`, is the result of a call: it has no calls, `name` is the tool's, and
    `is_error` says that the tool failed.
    """

    role: str
    parts: tuple[Part, ...] = ()
    name: str = ""
    call_id: str | None = None
    is_error: bool = False

    @property
    def tool_calls(self) -> tuple[ConversationToolCall, ...]:
        """The calls that the turn makes."""
        return tuple(part for part in self.parts if isinstance(part, ConversationToolCall))

    @property
    def content(self) -> str:
        """The texts, with a line in place of each file."""
        texts = [str(part) for part in self.parts if not isinstance(part, ConversationToolCall)]
        return "\n".join(filter(None, texts))

    @property
    def told(self) -> TranscriptTurn:
        """The turn of a transcript."""
        mark = "<Error>\n" if self.is_error else ""
        calls = tuple((call.name, call.arguments) for call in self.tool_calls)
        return TranscriptTurn(self.role, mark + self.content, calls)


class Conversation(NamedTuple):
    """What a request says to the model."""

    turns: tuple[ConversationTurn, ...] = ()

    @property
    def tool_calls(self) -> tuple[ConversationToolCall, ...]:
        """All calls, in order."""
        return tuple(call for turn in self.turns for call in turn.tool_calls)

    def as_prompt(self, keeps: Callable[[object], bool] = lambda _: True) -> ChatPrompt:
        """The conversation as messages; each has its place as its number.

        Media of which a snapshot shows only the size are that many zeros. Gemini's calls need no id: their name is one
        then. What is not to be kept of the texts and media is left out.
        """
        return tuple(_as_message(turn, number, keeps) for number, turn in enumerate(self.turns, start=1))

    def as_transcript(self) -> str:
        """The conversation as one text, in the format of `question` (rules D)."""
        return write_transcript([turn.told for turn in self.turns])


@dataclass(frozen=True, slots=True)
class PromptPart:
    """One part of what fills the window of a model.

    Args:
        name: `tools`, `system text`, `earlier turns`, `tool results`, `last turn`, a file, or a key of the body.
        characters: of its texts; media do not count.
        tokens: of its texts.
        is_estimate: whether the tokens are estimated, by four characters each.
    """

    name: str
    characters: int
    tokens: int
    is_estimate: bool


def _as_message(turn: ConversationTurn, number: int, keeps: Callable[[object], bool]) -> ChatMessage:
    parts = [part for part in turn.parts if isinstance(part, str | SentMedia) and keeps(part)]
    content: str | tuple[ContentPart, ...] | None = "\n".join(map(str, parts)) if parts else None
    if any(isinstance(part, SentMedia) for part in parts):
        content = tuple(
            _as_media(part, (number, place)) if isinstance(part, SentMedia) else part
            for place, part in enumerate(parts, start=1)
        )
    calls = []
    for call in turn.tool_calls:
        function = FunctionCall.model_construct(name=call.name, arguments=call.arguments)
        calls.append(ToolCall.model_construct(id=call.id or call.name, function=function))
    role: Any = turn.role
    if turn.call_id is not None:
        return ChatMessage(role, content, None, (), turn.call_id or turn.name or None, number, turn.is_error)
    return ChatMessage(role, content, turn.name or None, tuple(calls), None, number)


def _as_media(media: SentMedia, place: Place) -> Media:
    content = None if media.size is None else decode_base64(media.base64) or bytes(media.size)
    media_type = sniff_media_type(content or b"") or media.media_type
    kind: Any = kind_of_media_type(media_type) or media.kind
    return Media(kind, media.source, media_type, content, place=place)


# The words of the APIs for the four roles of a transcript.
_ROLES: Final = {"developer": "system", "model": "assistant", "chatbot": "assistant", "function": "tool"}
_KINDS: Final = ("image", "audio", "video")

P = TypeVar("P")
# Of APIs that have the results of tools among the texts of the user.
BlockReader = Callable[[Any], Iterable[Part | ConversationTurn]]


def json_text(value: Any) -> str:
    """Write data as JSON text, with characters other than ASCII as they are; what JSON does not know as its `repr`."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_json)
    except (ValueError, TypeError, RecursionError):
        # Nested deeper than Python's stack, a number of thousands of digits, a key that is no text.
        return '"(what JSON cannot hold)"'


def _as_json(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else repr(value)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """A mapping as it is; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def as_items(value: Any) -> Sequence[Any]:
    """A list as it is; nothing for `None`; any other value as the only item."""
    if value is None:
        return ()
    return value if isinstance(value, list | tuple) else (value,)


def as_text(value: Any) -> str:
    """A text as it is; nothing for `None`; anything else as JSON text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json_text(value)


def first_of(mapping: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first key that the mapping has; some APIs take snake case and camel case."""
    return next((mapping[key] for key in keys if mapping.get(key) is not None), None)


def role_and_parts(
    message: Any, read: Callable[[Any], Iterable[P]], key: str = "content", default: str = "user"
) -> tuple[str, tuple[str | P, ...]]:
    """The role of a message in the words of transcripts, and its parts; without a valid role it stays as JSON text."""
    if not isinstance(message, Mapping):
        return default, (as_text(message),)
    role = message.get("role")
    if not isinstance(role, str) or not re.fullmatch(r"[A-Za-z][\w-]{0,63}", role, re.ASCII):
        return "unknown", (UnreadPart(json_text(message)),)
    return _ROLES.get(role.lower(), role.lower()), read_parts(message.get(key), read)


def read_parts(value: Any, read: Callable[[Any], Iterable[P]]) -> tuple[str | P, ...]:
    """The parts of a content that is a text or a list; `read` reads one item that is not a text."""
    parts: list[str | P] = []
    for item in as_items(value):
        parts += (item,) if isinstance(item, str) else read(item)
    return tuple(parts)


def result_parts(value: Any, read: BlockReader) -> tuple[str | SentMedia | Thought, ...]:
    """The parts of a tool result or of a system text, which hold no calls and no results: these stay as JSON text."""
    parts: list[str | SentMedia | Thought] = []
    for item in as_items(value):
        said = (item,) if isinstance(item, str) else read(item)
        parts += (part if isinstance(part, str | SentMedia | Thought) else json_text(item) for part in said)
    return tuple(parts)


def read_messages(system: Any, messages: Any, read: BlockReader, key: str = "content") -> Conversation:
    """A conversation whose system text stands beside its messages, each with a text or parts under a key.

    Tool results are turns of the tool, as in the eval files.
    """
    turns = [ConversationTurn("system", result_parts(system, read))] if as_items(system) else []
    for message in as_items(messages):
        role, parts = role_and_parts(message, read, key)
        rest = tuple(part for part in parts if not isinstance(part, ConversationTurn))
        turns += [part for part in parts if isinstance(part, ConversationTurn)]
        if rest or not parts:
            turns.append(ConversationTurn(role, rest))
    return Conversation(tuple(turns))


def read_call(name: Any, arguments: Any, call_id: Any = None) -> ConversationToolCall:
    """Read a tool call; arguments other than text are written as JSON."""
    written = arguments if isinstance(arguments, str) else json_text({} if arguments is None else arguments)
    return ConversationToolCall(as_text(name), written, as_text(call_id))


def read_url(url: Any, kind: str = "", name: Any = None) -> SentMedia:
    """A file by its URL, which may hold the bytes."""
    text = as_text(url)
    data = split_data_url(text)
    if data is None:
        return SentMedia(kind or "file", source=as_text(name) or text)
    return read_base64(data[1], data[0].partition(";")[0], kind, name)


def read_base64(data: Any, media_type: Any, kind: str = "", name: Any = None) -> SentMedia:
    """A file by its bytes in base64."""
    written = as_text(media_type)
    size = _base64_size(data) if isinstance(data, str) else None
    return SentMedia(kind or kind_of(written), written, size, as_text(name), data if isinstance(data, str) else "")


def kind_of(media_type: str) -> str:
    """The kind of media of a media type."""
    kind = media_type.partition("/")[0].lower()
    return kind if kind in _KINDS else "document" if media_type else "file"


def _base64_size(text: str) -> int:
    """The size of bytes that are in base64, or described as in snapshots."""
    described = described_size(text)
    if described is not None:
        return described
    digits = len(text) - text.count("=") - text.count("\n") - text.count("\r")
    # Four digits are three bytes.
    return digits * 3 // 4

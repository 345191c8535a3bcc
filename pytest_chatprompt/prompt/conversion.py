"""The conversion of a case's messages to a chat prompt (rules B and C)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from pytest_chatprompt.cases.message import EvalMessage, FilePart, MediaPart, Part, RawPart, TextPart
from pytest_chatprompt.prompt.attachments import Attachment
from pytest_chatprompt.prompt.chat_prompt import (
    ChatMessage,
    ChatPrompt,
    Content,
    ContentPart,
    JSONResult,
    MarkedText,
    RawContent,
    content_parts,
    content_text,
    join_parts,
    media_of_url,
)
from pytest_chatprompt.wording import about_message, numbered

Attachments = Mapping[str, Attachment]


def is_blank(text: str) -> bool:
    """Whether a text is nothing but white space (rule A5)."""
    # `\s` is what `str.isspace` calls white space; U+FEFF is the byte-order mark, which cannot be seen either.
    return re.search(r"[^\s\ufeff]", text) is None


def render_part(part: Part, attachments: Attachments) -> ContentPart:
    """Render a part: as text, or as what stays apart from texts; a guideline becomes a reference."""
    match part:
        case RawPart():
            return RawContent(part.by_provider)
        case MediaPart():
            media = media_of_url(part.type, part.value) or attachments[part.value].media
            if media is None:
                raise LookupError(f"{part.value} is attached as text, not as {part.type}")
            return replace(media, detail=part.detail, cache_control=part.cache_control)
        case TextPart():
            text = part.value if part.file is None else attachments[part.file].verbatim
        case _:
            attachment = attachments[part.value]
            text = f"<Attached: {attachment.name}>" if attachment.is_guideline else file_section(attachment)
    return text if part.cache_control is None else MarkedText(text, part.cache_control)


def file_section(attachment: Attachment) -> str:
    """Write a file with its path as a heading: `=== PATH ===`, and its content from the next line on."""
    return f"=== {attachment.name} ===\n{attachment.content}"


class RenderedMessage(NamedTuple):
    """A message as it is sent, with what the author wrote (`source`) and its 1-based number in the case.

    A guideline that it names twice is in it twice. `drop_reason` says why it is not sent, and is `""` if it is.
    """

    number: int
    source: EvalMessage
    content: Content
    guidelines: tuple[Attachment, ...] = ()
    drop_reason: str = ""
    adjustments: tuple[str, ...] = ()


def render_messages(messages: Sequence[EvalMessage], attachments: Attachments) -> tuple[RenderedMessage, ...]:
    """Render the messages of a case; the ones that rules A5 and B5 drop have a `drop_reason`."""
    rendered = tuple(_render(number, message, attachments) for number, message in enumerate(messages, start=1))
    if all(message.drop_reason for message in rendered):
        # Rule B5: no message is left, so those that hold only guidelines stay, to have something to send.
        return tuple(_render(message.number, message.source, attachments, keep_references=True) for message in rendered)
    return rendered


def _render(
    number: int, message: EvalMessage, attachments: Attachments, *, keep_references: bool = False
) -> RenderedMessage:
    parts: list[ContentPart] = []
    guidelines: list[Attachment] = []
    blank_parts: list[int] = []
    # Most messages are one text: a part needs no model for it.
    written = (message.content,) if isinstance(message.content, str) else message.parts
    for part_number, part in enumerate(written, start=1):
        rendered = part if isinstance(part, str) else render_part(part, attachments)
        if isinstance(rendered, str | MarkedText) and is_blank(str(rendered)):
            blank_parts.append(part_number)
            continue
        if not isinstance(rendered, str | JSONResult):
            rendered = replace(rendered, place=(number, part_number))
        parts.append(rendered)
        if isinstance(part, FilePart) and attachments[part.value].is_guideline:
            guidelines.append(attachments[part.value])
    content = None if message.content is None else join_parts(parts, "\n")
    if message.role == "tool" and isinstance(message.content, Mapping):
        content = (JSONResult(message.content),)
    only_guidelines = len(guidelines) == len(parts) and not keep_references
    drop_reason = _drop_reason(message, is_empty=not parts, only_guidelines=only_guidelines)
    adjustments: list[str] = []
    if drop_reason:
        adjustments = [about_message(number, f"dropped, {drop_reason}")]
    elif not isinstance(message.content, str):
        adjustments = [
            about_message(number, f"part {part_number} dropped, nothing left in it") for part_number in blank_parts
        ]
    elif content != message.content:
        adjustments = [about_message(number, "content dropped, nothing but white space in it")]
    return RenderedMessage(number, message, content, tuple(guidelines), drop_reason, tuple(adjustments))


def _drop_reason(message: EvalMessage, *, is_empty: bool, only_guidelines: bool) -> str:
    if message.tool_calls or message.tool_call_id is not None:
        # Rule A5: without one of them the API would refuse the other, so calls and their results always stay.
        return ""
    if is_empty:
        return "nothing left in it"
    return "it holds nothing but guideline files" if only_guidelines else ""


GUIDELINE_HEADING: Final = "[[ ## Guidelines ## ]]"


# The cases of a file usually share their guidelines, so most blocks are the same.
@lru_cache(maxsize=8)
def guideline_block(guidelines: tuple[Attachment, ...]) -> str:
    """Write the guideline block: the contents, each below its path if there are several; blank ones do not count."""
    visible = [guideline for guideline in guidelines if not is_blank(guideline.content)]
    return block_of_texts(visible[0].content if len(visible) == 1 else file_section(each) for each in visible)


def block_of_texts(texts: Iterable[str]) -> str:
    """Write the guideline block of texts, as they are; `""` if all of them are blank."""
    visible = [text for text in texts if not is_blank(text)]
    return "\n\n".join((GUIDELINE_HEADING, *visible)) if visible else ""


class SentFile(NamedTuple):
    """A file as it stands in a text that is sent.

    Args:
        name: what it is, and its path: `file ./loop.py`, `guideline ../python.md`.
        text: its content, below its heading.
        rest: what follows it there, up to the next file.
    """

    name: str
    text: str
    rest: str = ""

    def section_of(self, piece: str) -> str:
        """The file at the beginning of a piece of another text, in which it may be longer or shorter."""
        if not piece.endswith(self.rest) and piece.startswith(self.text):
            return self.text
        return piece.removesuffix(self.rest).rstrip("\n")


# By their headings.
SentFiles = Mapping[str, SentFile]


def sent_files(attachments: Attachments, chat_prompt: ChatPrompt) -> SentFiles:
    """The files that stand as text in a chat prompt; the first guideline begins with the heading of the block."""
    visible = {each.path: each for each in attachments.values() if each.is_guideline and not is_blank(each.content)}
    sections = [file_section(each) if len(visible) > 1 else each.content for each in visible.values()]
    sections[:1] = [f"{GUIDELINE_HEADING}\n\n{text}" for text in sections[:1]]
    texts = [(f"guideline {each.name}", text) for each, text in zip(visible.values(), sections, strict=True)]
    attached = [each for each in attachments.values() if each.content and not each.is_guideline]
    texts += [(f"file {each.name}", file_section(each)) for each in attached]
    files = {text.partition("\n")[0]: SentFile(name, text) for name, text in texts}
    for message in chat_prompt:
        for file, piece in file_pieces(message.text, files):
            if file is not None:
                files[piece.partition("\n")[0]] = file._replace(rest=piece.removeprefix(file.text))
    return files


def file_pieces(text: str, files: SentFiles) -> Iterator[tuple[SentFile | None, str]]:
    """A text in pieces: what stands before the first of the files, then each from its heading to the next one."""
    headings = "|".join(map(re.escape, files))
    first, *found = re.split(f"^({headings})$", text, flags=re.MULTILINE) if files else [text]
    yield None, first
    yield from ((files[heading], heading + piece) for heading, piece in zip(found[::2], found[1::2], strict=True))


class ConversionResult(NamedTuple):
    """A chat prompt with each of its guidelines once, and how it differs from the messages of the case.

    It has no system message where there is nothing to say (rule C4).
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
    """Convert rendered messages, and keep what the rest of the request needs besides the chat prompt."""
    sent = [message for message in messages if not message.drop_reason]
    system_messages = [message for message in sent if message.source.role == "system"]
    turns = [
        ChatMessage(
            said.role, message.content, said.name, said.tool_calls, said.tool_call_id, message.number, said.is_error
        )
        for message in sent
        if (said := message.source).role != "system"
    ]
    # A file that is written in two ways is one guideline.
    first_mentions: dict[Path, Attachment] = {}
    for guideline in (each for message in messages for each in message.guidelines):
        first_mentions.setdefault(guideline.path, guideline)
    guidelines = tuple(first_mentions.values())
    block = guideline_block(guidelines)
    has_developer = any(message.source.role == "developer" for message in sent)
    if system_messages:
        prompt = [part for message in system_messages for part in content_parts(message.content)]
    elif system_prompt is not None:
        prompt = [system_prompt]
    else:
        prompt = [default_system_prompt or ""] if block and not has_developer else []
    content = join_parts((part for part in (*prompt, block) if part), "\n\n")
    only = system_messages[0] if len(system_messages) == 1 else None
    system = ChatMessage("system", content, name=only and only.source.name, number=only and only.number)
    adjustments = list(_adjustments(messages, system_messages))
    if system_messages and system_prompt:
        numbers = numbered("message", [message.number for message in system_messages])
        verb = "stand" if len(system_messages) > 1 else "stands"
        adjustments.append(f"metadata.systemPrompt left out, {numbers} {verb} in its place")
    return ConversionResult((*([system] if content else ()), *turns), guidelines, tuple(adjustments))


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


class TranscriptTurn(NamedTuple):
    """A turn of a transcript, with the name and the arguments of each tool call."""

    role: str
    content: str
    calls: Sequence[tuple[str, str]] = ()


def render_transcript(messages: Sequence[RenderedMessage]) -> str:
    """Write messages as a transcript, each with its marker `[Role]:`; if only the user speaks, without."""
    turns = []
    for message in messages:
        if not message.drop_reason:
            calls = [(call.function.name, call.function.arguments) for call in message.source.tool_calls]
            prefix = "<Error>\n" if message.source.is_error else ""
            turns.append(TranscriptTurn(message.source.role, prefix + content_text(message.content), calls))
    return write_transcript(turns)


def write_transcript(turns: Sequence[TranscriptTurn]) -> str:
    """Write turns as a transcript; `render_transcript` says how."""
    if len(turns) == 1 and turns[0].role == "user":
        return turn_content(turns[0])
    return "\n".join(map(marked_turn, turns))


def marked_turn(turn: TranscriptTurn) -> str:
    """Write one turn with its marker."""
    content = turn_content(turn)
    separator = "\n" if "\n" in content else " " if content else ""
    return f"[{turn.role.capitalize()}]:{separator}{content}"


def turn_content(turn: TranscriptTurn) -> str:
    """Write one turn without its marker: its text, then its tool calls."""
    text = turn.content.rstrip("\r\n")
    lines = [text] if text else []
    lines += [f"<Call {name}({arguments})>" for name, arguments in turn.calls]
    return "\n".join(lines)

"""One message as text (rulings A and B5), the common ground of chat prompt and transcript.

Messages and attachments come in; `RenderedMessage`s come out, those that the rulings drop marked as such.
Pure functions; `chat_prompt` and `transcript` call them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_chatprompt.attachments import Attachment
from pytest_chatprompt.eval_message import EvalMessage, FilePart


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    """A message with its files put in.

    Args:
        number: 1-based, among the messages that came in.
        message: the message as written.
        content: the text; `None` where the author wrote `null`.
        guidelines: the guideline files that it names, in order.
        dropped: why it is not sent, or `""` if it is.
        told: what was done to it here, for a snapshot's list of adjustments.
    """

    number: int
    message: EvalMessage
    content: str | None
    guidelines: tuple[Attachment, ...] = ()
    dropped: str = ""
    told: tuple[str, ...] = ()


def render_messages(
    messages: Sequence[EvalMessage], attachments: Mapping[str, Attachment]
) -> tuple[RenderedMessage, ...]:
    """Render messages, in their order.

    Args:
        messages: as written.
        attachments: every file that they name, by the path as written.

    Returns:
        One for each message; those that A5 and B5 drop say so in `dropped`.
    """
    rendered = [_render(number, message, attachments) for number, message in enumerate(messages, start=1)]
    if all(message.dropped for message in rendered):
        # Ruling B5: where nothing else would be left, the reference markers stay as the turn to send.
        return tuple(_render(message.number, message.message, attachments, keep_markers=True) for message in rendered)
    return tuple(rendered)


def _render(
    number: int, message: EvalMessage, attachments: Mapping[str, Attachment], *, keep_markers: bool = False
) -> RenderedMessage:
    texts: list[str] = []
    guidelines: list[Attachment] = []
    emptied: list[int] = []
    for place, part in enumerate(message.parts, start=1):
        attachment = attachments[part.value] if isinstance(part, FilePart) else None
        text = part.value if attachment is None else _marker(attachment)
        if text.strip():
            texts.append(text)
            if attachment is not None and attachment.is_guideline:
                guidelines.append(attachment)
        else:
            emptied.append(place)
    content = "\n".join(texts) if message.content is not None else None
    always_stays = bool(message.tool_calls) or message.tool_call_id is not None
    if always_stays:
        dropped = ""
    elif not texts:
        dropped = "nothing left in it"
    elif len(guidelines) == len(texts) and not keep_markers:
        dropped = "it holds nothing but guideline files"
    else:
        dropped = ""
    if dropped:
        told = [f"message {number}: dropped, {dropped}"]
    elif isinstance(message.content, str):
        told = [f"message {number}: content dropped, nothing but white space in it"] * (content != message.content)
    else:
        told = [f"message {number}: part {place} dropped, nothing left in it" for place in emptied]
    return RenderedMessage(number, message, content, tuple(guidelines), dropped, tuple(told))


def _marker(attachment: Attachment) -> str:
    if attachment.is_guideline:
        return f"<Attached: {attachment.name}>"
    return f"=== {attachment.name} ===\n{attachment.content}"

"""Rules about images, documents and audio: how many there are, and how large.

What an API takes not at all is an error where the payload is built (`check_media`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from pytest_chatprompt.apis.preflight.rule import PreflightInput, RuleFunction, Violation
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, Media, content_parts
from pytest_chatprompt.text.media_types import MediaKind

# What a limit is about: the bytes of a file, or its base64 text, which is a third longer.
Measure = Literal["bytes", "base64"]
_IN: Final[dict[Measure, str]] = {"bytes": "", "base64": " in base64"}
_MEGABYTE: Final = 1024 * 1024


def too_many(kind: MediaKind, limit: int) -> RuleFunction:
    """Make a rule function that finds the message with which there are too many of one kind.

    Args:
        kind: of media.
        limit: the largest number in a request.
    """

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        found = [message for message, media in _media(request) if media.kind == kind]
        if len(found) > limit:
            yield (
                found[limit],
                f"{request.vendor} takes up to {limit} {kind}s in a request, and this one has {len(found)}; send fewer",
            )

    return find_violations


def too_many_in_a_message(kind: MediaKind, limit: int) -> RuleFunction:
    """Make a rule function that finds messages with too many media of one kind.

    Args:
        kind: of media.
        limit: the largest number in a message.
    """

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        for message in request.prompt:
            number = sum(media.kind == kind for media in message.media)
            if number > limit:
                yield (
                    message,
                    f"{request.vendor} takes up to {limit} {kind}s in a message, and this one has {number}; send fewer",
                )

    return find_violations


def too_large(kind: MediaKind, megabytes: float, measure: Measure) -> RuleFunction:
    """Make a rule function that finds media of one kind that are too large.

    Args:
        kind: of media.
        megabytes: the limit of one.
        measure: what of it the vendor limits.
    """

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        for message, media in _media(request):
            size = _size(media, measure)
            if media.kind == kind and size > megabytes * _MEGABYTE:
                yield (
                    message,
                    f"{request.vendor} takes {kind}s of up to {megabytes:g} MB{_IN[measure]}, and "
                    f"{media.source or 'this one'} has {size / _MEGABYTE:.1f} MB; make it smaller",
                )

    return find_violations


def too_large_together(megabytes: float, measure: Measure, kind: MediaKind | None = None) -> RuleFunction:
    """Make a rule function that finds the message with which the media of a request become too large.

    Args:
        megabytes: the limit of them together.
        measure: what of them the vendor limits.
        kind: of media that count; `None` for all.
    """
    what = "files" if kind is None else f"{kind}s"

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        total = 0
        for message, media in _media(request):
            total += _size(media, measure) if kind in (None, media.kind) else 0
            if total > megabytes * _MEGABYTE:
                yield (
                    message,
                    f"{request.vendor} takes up to {megabytes:g} MB of {what} in a request, and up to here it has "
                    f"{total / _MEGABYTE:.1f} MB{_IN[measure]}; send fewer or smaller ones",
                )
                return

    return find_violations


def documents_without_text(request: PreflightInput) -> Iterator[Violation]:
    """User messages that hold a document and no text, for an API that wants both in one message."""
    for message in request.prompt:
        texts = [part for part in content_parts(message.content) if isinstance(part, str)]
        if message.role == "user" and not texts and any(media.kind == "document" for media in message.media):
            yield (
                message,
                f"{request.vendor} refuses a message with a document and no text; add a text part that says what to do "
                "with it",
            )


def _media(request: PreflightInput) -> Iterator[tuple[ChatMessage, Media]]:
    for message in request.prompt:
        for media in message.media:
            yield message, media


def _size(media: Media, measure: Measure) -> int:
    length = len(media.content or b"")
    return length if measure == "bytes" else (length + 2) // 3 * 4

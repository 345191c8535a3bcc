"""Rules about images, documents and audio: how many there are, and how large.

A `PreflightInput` comes in; each message that breaks the rule comes out, with a text for the user. The tables in
`rules` call these functions. What an API takes not at all is an error where the payload is built (`media_support`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_chatprompt.evalfile.media_types import MediaKind
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.prompt.media import Media
from pytest_chatprompt.providers.preflight.preflight_input import PreflightInput
from pytest_chatprompt.providers.preflight.rule import RuleFunction, Violation

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


def too_large(kind: MediaKind, megabytes: int) -> RuleFunction:
    """Make a rule function that finds media of one kind whose base64 text is too long.

    Args:
        kind: of media.
        megabytes: the limit of the base64 text of one, which is a third longer than the bytes.
    """

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        for message, media in _media(request):
            size = _base64_size(media)
            if media.kind == kind and size > megabytes * _MEGABYTE:
                yield (
                    message,
                    f"{request.vendor} takes {kind}s of up to {megabytes} MB in base64, and "
                    f"{media.source or 'this one'} has {size / _MEGABYTE:.1f} MB; make it smaller",
                )

    return find_violations


def too_large_together(megabytes: int, kind: MediaKind | None = None) -> RuleFunction:
    """Make a rule function that finds the message with which the media of a request become too large.

    Args:
        megabytes: the limit of their base64 texts together.
        kind: of media that count; `None` for all.
    """
    what = "files" if kind is None else f"{kind}s"

    def find_violations(request: PreflightInput) -> Iterator[Violation]:
        total = 0
        for message, media in _media(request):
            total += _base64_size(media) if kind in (None, media.kind) else 0
            if total > megabytes * _MEGABYTE:
                yield (
                    message,
                    f"{request.vendor} takes up to {megabytes} MB of {what} in a request, and up to here it has "
                    f"{total / _MEGABYTE:.1f} MB in base64; send fewer or smaller ones",
                )
                return

    return find_violations


def _media(request: PreflightInput) -> Iterator[tuple[ChatMessage, Media]]:
    for message in request.prompt:
        for media in message.media:
            yield message, media


def _base64_size(media: Media) -> int:
    return (len(media.content or b"") + 2) // 3 * 4

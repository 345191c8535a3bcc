"""Images, documents and audio in the shape of Gemini's API.

A `Media` comes in; a part of a content comes out. `gemini` names the table.
Sources: https://ai.google.dev/gemini-api/docs/file-input-methods (bytes, and URLs that the API reads),
https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats (none of them is GIF, and the API's error
says "Unsupported MIME type"),
https://ai.google.dev/gemini-api/docs/audio (`audio/mp3`), https://ai.google.dev/api/caching#Part, and the package
`google-genai` (`types.py`, `Part`), which names some of these fields in snake case.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.prompt.chat_prompt import Media
from pytest_chatprompt.providers.chat.media_support import MediaSupport, MediaTable


def text_part(text: str) -> dict[str, Any]:
    """Make the part for a text."""
    return {"text": text}


def _part(media: Media) -> dict[str, Any]:
    media_type = "audio/mp3" if media.media_type == "audio/mpeg" else media.media_type
    if media.content is None:
        return {"fileData": {"mimeType": media_type, "fileUri": media.url}}
    return {"inlineData": {"mimeType": media_type, "data": media.base64}}


GEMINI_MEDIA: Final[MediaTable] = {
    # The model makes images too, which a conversation sends back to it.
    "image": MediaSupport(
        _part,
        roles=("user", "assistant"),
        takes_urls=True,
        needs_type_of_urls=True,
        media_types=("image/png", "image/jpeg", "image/webp"),
    ),
    "document": MediaSupport(_part, takes_urls=True, needs_type_of_urls=True),
    "audio": MediaSupport(_part, takes_urls=True, needs_type_of_urls=True),
}

"""Images, documents and sounds in the shape of Gemini's API.

A `Media` comes in; a part of a content comes out. `gemini` names the table.
Sources: https://ai.google.dev/gemini-api/docs/file-input-methods (bytes, and URLs that the API reads),
https://ai.google.dev/gemini-api/docs/audio (`audio/mp3`), and the package `google-genai` (`types.py`, `Part`): it sends
base64 of the alphabet for URLs, and names these fields in snake case.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.prompt.media import Media
from pytest_chatprompt.providers.chat.media_support import MediaSupport, MediaTable

_FOR_URLS: Final = str.maketrans("+/", "-_")


def text_part(text: str) -> dict[str, Any]:
    """A text among other parts."""
    return {"text": text}


def _part(media: Media) -> dict[str, Any]:
    media_type = "audio/mp3" if media.media_type == "audio/mpeg" else media.media_type
    if media.content is None:
        return {"fileData": {"file_uri": media.url, "mime_type": media_type}}
    return {"inlineData": {"data": media.base64.translate(_FOR_URLS), "mime_type": media_type}}


GEMINI_MEDIA: Final[MediaTable] = {
    # The model makes images too, which a conversation sends back to it.
    "image": MediaSupport(_part, roles=("user", "assistant"), takes_urls=True, needs_type_of_urls=True),
    "document": MediaSupport(_part, takes_urls=True, needs_type_of_urls=True),
    "audio": MediaSupport(_part, takes_urls=True, needs_type_of_urls=True),
}

"""Images, documents and audio in the shape of OpenAI's chat completions, and of Azure's.

A `Media` comes in; a part of a message's content comes out. `openai` and `azure` name the tables.

Sources: the package `openai` (`types/chat/chat_completion_content_part_param.py`; only the parts of a user message may
be media, see `types/chat/chat_completion_*_message_param.py`). Files and audio have no field for a URL there. Azure
answers a part of the type `file` with "This model does not support file content types".
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.prompt.media import Media
from pytest_chatprompt.providers.chat.media_support import MediaSupport, MediaTable


def text_part(text: str) -> dict[str, Any]:
    """A text among other parts."""
    return {"type": "text", "text": text}


def _image(media: Media) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": media.url}}


def _document(media: Media) -> dict[str, Any]:
    return {"type": "file", "file": {"file_data": media.url, "filename": media.file_name}}


def _audio(media: Media) -> dict[str, Any]:
    audio_format = "wav" if media.media_type == "audio/wav" else "mp3"
    return {"type": "input_audio", "input_audio": {"data": media.base64, "format": audio_format}}


OPENAI_MEDIA: Final[MediaTable] = {
    "image": MediaSupport(_image, takes_urls=True),
    "document": MediaSupport(_document),
    "audio": MediaSupport(_audio),
}
AZURE_MEDIA: Final[MediaTable] = {"image": OPENAI_MEDIA["image"], "audio": OPENAI_MEDIA["audio"]}

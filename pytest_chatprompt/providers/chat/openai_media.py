"""Images, documents and audio in the shape of OpenAI's chat completions, which others have too.

A `Media` comes in; a part of a message's content comes out. `openai`, `azure`, `ollama` and `openrouter` name the
tables.

Sources: the package `openai` (`types/chat/chat_completion_content_part_param.py`; only the parts of a user message may
be media, see `types/chat/chat_completion_*_message_param.py`). Files and audio have no field for a URL there. Azure
answers a part of the type `file` with "This model does not support file content types".

Ollama: `openai/openai.go` of https://github.com/ollama/ollama (`FromChatRequest`, `decodeImageURL`) has parts of text,
images and sounds, knows three types of images, and answers a URL with "image URLs are not currently supported";
`llm/media.go` tells WAV and MP3 from images. A tool message in parts loses its call there.
OpenRouter: https://openrouter.ai/docs/features/multimodal/images, `/pdfs` and `/audio`, and the package `openrouter`
(`components/chatcontentitems.py`): all messages but the system's may have media, and `file_data` may be a URL.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.cases.message import Role
from pytest_chatprompt.prompt.chat_prompt import Media
from pytest_chatprompt.providers.chat.media_support import MediaSupport, MediaTable


def text_part(text: str) -> dict[str, Any]:
    """Make the part for a text."""
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
OLLAMA_MEDIA: Final[MediaTable] = {
    "image": MediaSupport(_image, media_types=("image/png", "image/jpeg", "image/webp")),
    "audio": OPENAI_MEDIA["audio"],
}
_ROLES_OF_OPENROUTER: Final[tuple[Role, ...]] = ("user", "assistant", "tool")
OPENROUTER_MEDIA: Final[MediaTable] = {
    "image": MediaSupport(_image, roles=_ROLES_OF_OPENROUTER, takes_urls=True),
    "document": MediaSupport(_document, roles=_ROLES_OF_OPENROUTER, takes_urls=True),
    "audio": MediaSupport(_audio, roles=_ROLES_OF_OPENROUTER),
}

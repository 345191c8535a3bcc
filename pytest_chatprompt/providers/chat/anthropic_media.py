"""Images and documents in the shape of Anthropic's messages API.

A `Media` comes in; a content block comes out. `anthropic` names the table.
Source: the package `anthropic` (`types/image_block_param.py`, `types/document_block_param.py`,
`types/tool_result_block_param.py`). The API answers an image of the assistant with "'image' blocks are not permitted
within assistant turns", and has no block for audio.
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.prompt.chat_prompt import Media
from pytest_chatprompt.providers.chat.media_support import MediaSupport, MediaTable


def text_block(text: str) -> dict[str, Any]:
    """Make the block for a text."""
    return {"type": "text", "text": text}


def _block(media: Media) -> dict[str, Any]:
    source = (
        {"type": "url", "url": media.url}
        if media.content is None
        else {"type": "base64", "media_type": media.media_type, "data": media.base64}
    )
    return {"type": media.kind, "source": source}


ANTHROPIC_MEDIA: Final[MediaTable] = {
    "image": MediaSupport(_block, roles=("user", "tool"), takes_urls=True),
    "document": MediaSupport(_block, roles=("user", "tool"), takes_urls=True),
}

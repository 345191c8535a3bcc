"""Images and documents in the shape of OpenAI's Responses.

A `Media` comes in; a part of a message's content, or of the output of a function, comes out. `openai_responses` names
the table.
Source: the package `openai` (`types/responses/response_input_content_param.py`, `response_input_image_param.py`,
`response_input_file_param.py`; `response_function_call_output_item_param.py` for the results of tools). None of these
unions has a part for sounds. The type of an image there wants a `detail`; the API does not, and takes `auto`
(https://developers.openai.com/api/docs/guides/images-vision).
"""

from __future__ import annotations

from typing import Any, Final

from pytest_chatprompt.prompt.chat_prompt import Media
from pytest_chatprompt.providers.chat.media_support import MediaSupport, MediaTable


def text_part(text: str) -> dict[str, Any]:
    """Make the part for a text."""
    return {"type": "input_text", "text": text}


def _image(media: Media) -> dict[str, Any]:
    return {"type": "input_image", "image_url": media.url}


def _document(media: Media) -> dict[str, Any]:
    if media.content is None:
        return {"type": "input_file", "file_url": media.url}
    return {"type": "input_file", "filename": media.file_name, "file_data": media.url}


RESPONSES_MEDIA: Final[MediaTable] = {
    "image": MediaSupport(_image, roles=("user", "tool"), takes_urls=True),
    "document": MediaSupport(_document, roles=("user", "tool"), takes_urls=True),
}

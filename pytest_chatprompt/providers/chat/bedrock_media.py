"""Images, documents and sounds in the shape of Amazon Bedrock's Converse API.

A `Media` comes in; a content block comes out, whose bytes are base64 in the JSON body. `bedrock` names the table.
Source: the model of the API in botocore (`data/bedrock-runtime`: `ContentBlock`, `ToolResultContentBlock`,
`ImageBlock`, `DocumentBlock`, `AudioBlock`, and `Message`: images and documents only "if the role is user"). It has no
URLs but those of Amazon S3. Two documents of one name are an error: "Messages can't contain duplicate document names".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from pytest_chatprompt.prompt.chat_prompt import Media
from pytest_chatprompt.providers.chat.media_support import MediaSupport, MediaTable

# Letters, digits, single blanks, hyphens and brackets (`DocumentBlock`), and up to 200 of them.
_REFUSED_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9 ()\[\]-]+")
_BLANKS: Final = re.compile(r" {2,}")
# Leaves room for a number.
_MAX_NAME_LENGTH: Final = 190


def text_block(text: str) -> dict[str, Any]:
    """Make the block for a text."""
    return {"text": text}


def _image(media: Media) -> dict[str, Any]:
    return {"image": {"format": media.media_type.removeprefix("image/"), "source": {"bytes": media.base64}}}


def _document(media: Media) -> dict[str, Any]:
    return {"document": {"format": "pdf", "name": _document_name(media), "source": {"bytes": media.base64}}}


def _audio(media: Media) -> dict[str, Any]:
    audio_format = "wav" if media.media_type == "audio/wav" else "mp3"
    return {"audio": {"format": audio_format, "source": {"bytes": media.base64}}}


def _document_name(media: Media) -> str:
    """The file's name without its suffix, with hyphens for what a name cannot contain."""
    stem = media.file_name.rpartition(".")[0] or media.file_name
    name = _BLANKS.sub(" ", _REFUSED_IN_NAMES.sub("-", stem))[:_MAX_NAME_LENGTH].strip(" -")
    return name or media.kind


def number_documents(messages: Iterable[dict[str, Any]]) -> None:
    """Put a number behind the name of each document whose name an earlier one has.

    Args:
        messages: of the body that is being made; their documents are changed.
    """
    taken: set[str] = set()
    for message in messages:
        for document in _documents(message["content"]):
            name, number = document["name"], 1
            while document["name"].lower() in taken:
                number += 1
                document["name"] = f"{name} {number}"
            taken.add(document["name"].lower())


def _documents(blocks: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if "document" in block:
            yield block["document"]
        if "toolResult" in block:
            yield from _documents(block["toolResult"]["content"])


BEDROCK_MEDIA: Final[MediaTable] = {
    "image": MediaSupport(_image, roles=("user", "tool")),
    "document": MediaSupport(_document, roles=("user", "tool")),
    # `ToolResultContentBlock` has none.
    "audio": MediaSupport(_audio),
}

"""Media in snapshots: what is described in place of its bytes, and what stays as it is."""

from __future__ import annotations

from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest

from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.media_elision import elide_media
from tests.media import FORMATS, PDF, PNG, PNG_SHOWN, TAGGED_MP3, WAV, data_url, in_base64

SHOWN = f"<{PNG_SHOWN}>"
URL_SAFE = in_base64(PNG).replace("+", "-").replace("/", "_").rstrip("=")
NOISE = bytes(range(200, 248))


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        pytest.param(
            {"type": "image_url", "image_url": {"url": data_url(PNG), "detail": "low"}},
            {"type": "image_url", "image_url": {"url": SHOWN, "detail": "low"}},
            id="OpenAI chat",
        ),
        pytest.param(
            {"type": "input_image", "image_url": data_url(PNG)},
            {"type": "input_image", "image_url": SHOWN},
            id="OpenAI Responses",
        ),
        pytest.param(
            {"input_audio": {"data": in_base64(NOISE), "format": "mp3"}},
            {"input_audio": {"data": "<audio/mp3, 48 bytes, sha256:c4a0ce26695059d6>", "format": "mp3"}},
            id="a sound whose format stands beside it",
        ),
        pytest.param(
            {"source": {"type": "base64", "media_type": "image/png", "data": in_base64(NOISE)}},
            {
                "source": {
                    "type": "base64",
                    "media_type": "image/png",
                    "data": "<image/png, 48 bytes, sha256:c4a0ce26695059d6>",
                }
            },
            id="Anthropic",
        ),
        pytest.param(
            {"inlineData": {"data": URL_SAFE, "mime_type": "image/png"}},
            {"inlineData": {"data": SHOWN, "mime_type": "image/png"}},
            id="Gemini",
        ),
        pytest.param(
            {"image": {"format": "png", "source": {"bytes": in_base64(PNG)}}},
            {"image": {"format": "png", "source": {"bytes": SHOWN}}},
            id="Bedrock",
        ),
        pytest.param(
            {"document": {"format": "docx", "name": "a", "source": {"bytes": in_base64(NOISE)}}},
            {
                "document": {
                    "format": "docx",
                    "name": "a",
                    "source": {"bytes": "<document/docx, 48 bytes, sha256:c4a0ce26695059d6>"},
                }
            },
            id="a document of Bedrock, of a format that its block names",
        ),
        pytest.param(
            {"toolResult": {"content": [{"audio": {"format": "flac", "source": {"bytes": in_base64(NOISE)}}}]}},
            {
                "toolResult": {
                    "content": [
                        {
                            "audio": {
                                "format": "flac",
                                "source": {"bytes": "<audio/flac, 48 bytes, sha256:c4a0ce26695059d6>"},
                            }
                        }
                    ]
                }
            },
            id="a sound of Bedrock in a result",
        ),
        pytest.param({"images": [in_base64(PNG)]}, {"images": [SHOWN]}, id="Ollama"),
        pytest.param({"base64": in_base64(PNG)}, {"base64": SHOWN}, id="the file of a form"),
        pytest.param(
            data_url(b"name,age\n", "text/csv;charset=utf-8"),
            "<text/csv;charset=utf-8, 9 bytes, sha256:357101892351a6bf>",
            id="a data URL of another type",
        ),
        pytest.param(OrderedDict(x=(data_url(PNG), 1)), {"x": [SHOWN, 1]}, id="other collections"),
        pytest.param(MappingProxyType({"x": data_url(PNG)}), {"x": SHOWN}, id="a mapping that is not a dict"),
    ],
)
def test_the_bytes_of_media_are_described(body: Any, shown: Any) -> None:
    assert elide_media(body) == shown


@pytest.mark.parametrize("media_type", FORMATS)
def test_each_format_is_known_by_its_first_bytes(media_type: str) -> None:
    content = FORMATS[media_type] + bytes(1000)
    shown = elide_media(in_base64(content))
    assert shown.startswith(f"<{media_type}, {len(content)} bytes, sha256:")
    assert elide_media(in_base64(content).replace("/", "_")) == shown


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(f"An image: {data_url(PNG)}", id="a data URL within a text"),
        pytest.param(f"{data_url(PNG)} is an image", id="a data URL with more behind it"),
        pytest.param("data:text/plain,hello%20world", id="a data URL that is not base64"),
        pytest.param(in_base64(NOISE), id="other base64"),
        pytest.param({"data": in_base64(NOISE), "format": "csv"}, id="data of a format that is not media"),
        pytest.param({"data": in_base64(NOISE), "mime_type": "text/plain"}, id="data that is text"),
        pytest.param({"data": "what is meant by it", "mimeType": "image/png"}, id="data that is not base64"),
        pytest.param({"data": "abcd", "mimeType": "image/png"}, id="data that is too short"),
        pytest.param({"data": None, "mimeType": 5}, id="data of other types"),
        pytest.param(
            {"document": {"format": "md", "name": "a", "source": {"bytes": in_base64(b"# A text of Bedrock")}}},
            id="a document of Bedrock that is text",
        ),
        pytest.param(
            {"document": {"format": "docx", "name": "a", "source": {"bytes": "neither short, nor base64"}}},
            id="a document of Bedrock that is not base64",
        ),
        pytest.param(
            {"image": {"format": "tiff", "source": {"bytes": "abcd"}}}, id="an image of Bedrock without bytes"
        ),
        pytest.param({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://a/b"}}}}, id="an image in S3"),
        pytest.param({"image": {"format": "png", "source": "https://x.example/a.png"}}, id="an image of another shape"),
        pytest.param({"document": {"source": {"text": "Sum it up."}}}, id="a document without a format"),
        pytest.param("// a comment that is not base64", id="text that begins as base64 does"),
        pytest.param("//this/is/a/path/of/some/server", id="a path"),
        pytest.param("__dunder__dunder__dunder__", id="a name"),
        pytest.param({"a": [1, 2.5, None, True, "x"], "b": ("c",)}, id="anything else"),
    ],
)
def test_what_is_no_media_stays_the_same_object(data: Any) -> None:
    assert elide_media(data) is data


def test_other_bytes_of_the_same_size_are_another_text() -> None:
    assert elide_media(data_url(PNG[:-1] + b"x")) != elide_media(data_url(PNG))


def test_the_data_that_was_sent_is_not_changed() -> None:
    body = {"messages": [{"content": [{"url": data_url(PNG)}]}]}
    assert elide_media(body)["messages"][0]["content"] == [{"url": SHOWN}]
    assert body == {"messages": [{"content": [{"url": data_url(PNG)}]}]}


def test_masks_see_what_stands_in_place_of_media() -> None:
    masks = Masks.from_mapping({r"sha256:\w+": "sha256:any"})
    assert masks.apply([data_url(PDF, "application/pdf"), data_url(WAV, "audio/wav"), in_base64(TAGGED_MP3)]) == [
        f"<application/pdf, {len(PDF)} bytes, sha256:any>",
        f"<audio/wav, {len(WAV)} bytes, sha256:any>",
        f"<audio/mpeg, {len(TAGGED_MP3)} bytes, sha256:any>",
    ]

"""Masks, and media in snapshots."""

from __future__ import annotations

import base64
import json
import re
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from pytest_chatprompt.errors import MaskError
from pytest_chatprompt.snapshots.masks import Masks, elide_media
from pytest_chatprompt.text.media_types import decode_base64, has_digest, undescribed
from tests.media import FORMATS, PDF, PNG, PNG_SHOWN, TAGGED_MP3, WAV, data_url, in_base64


def test_string_values_are_masked_in_order_and_keys_are_not() -> None:
    masks = Masks.from_mapping(
        {
            r"\d{4}-\d\d-\d\d": "<date>",
            re.compile("ID", re.IGNORECASE): lambda match: f"<{match[0]}>",
            "<date>": "<day>",
        }
    )
    data = {"id": "on 2026-11-22, id 7", "list": [("2026-11-22",), 5, None, 1.5, True]}
    assert masks.apply(data) == {"id": "on <day>, <id> 7", "list": [["<day>"], 5, None, 1.5, True]}


def test_without_masks_the_data_is_the_same_object() -> None:
    data = {"a": ["b"]}
    assert Masks.from_mapping({}).apply(data) is data


@pytest.mark.parametrize(
    ("masks", "text"),
    [
        (["a"], "eval_masks is list; it must be a mapping of regular expressions to what to show for them, such as "),
        (
            {5: "x"},
            "eval_masks: 5 is not a valid regular expression (first argument must be string or compiled pattern)",
        ),
        (
            {re.compile(b"a"): "x"},
            "is not a valid regular expression (cannot use a bytes pattern on a string-like object)",
        ),
        ({"(": "x"}, "eval_masks: '(' is not a valid regular expression (missing ), unterminated subpattern"),
        ({"a": 5}, "eval_masks: the value for 'a' is int; it must be a text, or a function of the match"),
        ({re.compile("a"): None}, "eval_masks: the value for 'a' is NoneType; it must be"),
    ],
)
def test_what_is_no_mask_is_an_error(masks: Any, text: str) -> None:
    with pytest.raises(MaskError) as caught:
        Masks.from_mapping(masks)
    assert text in str(caught.value)


@pytest.mark.parametrize("shown", [r"\2", lambda _: 5], ids=["no such group", "no text"])
def test_a_replacement_that_does_not_fit_is_an_error(shown: Any) -> None:
    with pytest.raises(MaskError, match="eval_masks: the value for 'a' does not fit its match: "):
        Masks.from_mapping({"a": shown}).apply("a")


SHOWN = f"<{PNG_SHOWN}>"
URL_SHOWN = f"data:image/png;base64,<{PNG_SHOWN.removeprefix('image/png, ')}>"
URL_SAFE = in_base64(PNG).replace("+", "-").replace("/", "_")
NOISE = bytes(range(200, 248))
MIXED = PNG[:9] + b"\xfb\xff" * 60 + b"x"


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        pytest.param(
            {"type": "image_url", "image_url": {"url": data_url(PNG), "detail": "low"}},
            {"type": "image_url", "image_url": {"url": URL_SHOWN, "detail": "low"}},
            id="OpenAI chat",
        ),
        pytest.param(
            {"type": "input_image", "image_url": data_url(PNG)},
            {"type": "input_image", "image_url": URL_SHOWN},
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
            {"inlineData": {"data": URL_SAFE, "mimeType": "image/png"}},
            {"inlineData": {"data": f"<{PNG_SHOWN}, URL-safe>", "mimeType": "image/png"}},
            id="Gemini's SDK",
        ),
        pytest.param(
            {"inline_data": {"data": in_base64(PNG), "mime_type": "image/png"}},
            {"inline_data": {"data": SHOWN, "mime_type": "image/png"}},
            id="Gemini",
        ),
        pytest.param(
            {"file": {"filename": "a.pdf", "file_data": data_url(PDF, "application/pdf")}},
            {
                "file": {
                    "filename": "a.pdf",
                    "file_data": "data:application/pdf;base64,<35 bytes, sha256:0bbbc726e5d7a491>",
                }
            },
            id="a document of OpenAI",
        ),
        pytest.param(
            {"type": "tool_result", "content": [{"type": "image", "source": {"data": in_base64(PNG)}}]},
            {"type": "tool_result", "content": [{"type": "image", "source": {"data": SHOWN}}]},
            id="an image in a result",
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
            "data:text/csv;charset=utf-8;base64,<9 bytes, sha256:357101892351a6bf>",
            id="a data URL of another type",
        ),
        pytest.param(OrderedDict(x=(data_url(PNG), 1)), {"x": [URL_SHOWN, 1]}, id="other collections"),
        pytest.param(MappingProxyType({"x": data_url(PNG)}), {"x": URL_SHOWN}, id="a mapping that is not a dict"),
    ],
)
def test_the_bytes_of_media_are_described(body: Any, shown: Any) -> None:
    assert elide_media(body) == shown


@pytest.mark.parametrize("media_type", FORMATS)
def test_each_format_is_known_by_its_first_bytes(media_type: str) -> None:
    content = FORMATS[media_type] + bytes(1000)
    shown = elide_media(in_base64(content))
    assert shown.startswith(f"<{media_type}, {len(content)} bytes, sha256:")
    url_safe = in_base64(content).replace("/", "_")
    assert elide_media(url_safe) == (shown if url_safe == in_base64(content) else f"{shown[:-1]}, URL-safe>")


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
        pytest.param(in_base64(PNG).rstrip("="), id="base64 without padding"),
        pytest.param(in_base64(PNG)[:40] + "\n" + in_base64(PNG)[40:], id="base64 with a line break"),
        pytest.param(f"{in_base64(PNG)}\n", id="base64 with a line break behind it"),
        pytest.param(in_base64(MIXED).replace("/", "_"), id="base64 in two alphabets"),
        pytest.param(in_base64(PNG + b"x")[:-3] + "B==", id="base64 with bits that mean nothing"),
        pytest.param({"data": in_base64(NOISE)[:-1] + "\n", "mimeType": "image/png"}, id="typed, with a line break"),
        pytest.param(data_url(PNG).rstrip("="), id="a data URL without padding"),
        pytest.param("data:image/png;base64,", id="a data URL without bytes"),
        pytest.param({"arguments": json.dumps({"data": in_base64(PNG)})}, id="base64 in JSON within a text"),
        pytest.param(f"<{PNG_SHOWN}> is an image", id="a description with more behind it"),
        pytest.param("<p>a line of HTML</p>", id="a tag"),
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
    assert elide_media(body)["messages"][0]["content"] == [{"url": URL_SHOWN}]
    assert body == {"messages": [{"content": [{"url": data_url(PNG)}]}]}


def test_masks_see_what_stands_in_place_of_media() -> None:
    masks = Masks.from_mapping({r"sha256:\w+": "sha256:any"})
    assert masks.apply([data_url(PDF, "application/pdf"), data_url(WAV, "audio/wav"), in_base64(TAGGED_MP3)]) == [
        f"data:application/pdf;base64,<{len(PDF)} bytes, sha256:any>",
        f"data:audio/wav;base64,<{len(WAV)} bytes, sha256:any>",
        f"<audio/mpeg, {len(TAGGED_MP3)} bytes, sha256:any>",
    ]


@pytest.mark.parametrize(
    "text",
    [
        SHOWN,
        f"<{PNG_SHOWN}, URL-safe>",
        URL_SHOWN,
        "DATA:;base64,<1 bytes, sha256:0123456789abcdef>",
        "<no media type, 0 bytes, sha256:e3b0c44298fc1c14>",
        "<a text that ends so, 1 bytes, sha256:0123456789abcdef>",
        f"<{'long ' * 1000}, 1 bytes, sha256:0123456789abcdef>",
    ],
)
def test_a_text_that_looks_like_a_description_has_a_backslash_in_front(text: str) -> None:
    assert elide_media(text) == f"\\{text}"
    assert elide_media({"data": text, "mimeType": "image/png"}) == {"data": f"\\{text}", "mimeType": "image/png"}
    # So it differs from a text that is sent with that backslash.
    assert elide_media([f"\\{text}", f"\\\\{text}"]) == [f"\\\\{text}", f"\\\\\\{text}"]


def test_the_ways_of_sending_an_image_are_told_apart() -> None:
    digits = in_base64(MIXED)
    url_safe = base64.urlsafe_b64encode(MIXED).decode()
    assert digits != url_safe
    forms = [digits, url_safe, digits.rstrip("="), f"{digits}\n", base64.encodebytes(MIXED).decode()]
    forms += [f"data:{media_type};base64,{form}" for form in forms for media_type in ("image/png", "image/PNG", "")]
    shown = [elide_media(form) for form in forms]
    shown += [elide_media(form) for form in shown if form not in forms]
    assert len(set(shown)) == len(shown)
    assert [form for form in shown[:2] if form.startswith("<image/png, 130 bytes, sha256:")] == shown[:2]


MEDIA = [PNG, MIXED, PDF, WAV, NOISE, b""]
LITERALS = st.sampled_from([SHOWN, URL_SHOWN, f"\\{SHOWN}", f"<{PNG_SHOWN}, URL-safe>", "data:,x>", "<>", "\\", "a"])
ENCODED = st.builds(
    lambda content, encode, prefix: prefix + encode(content).decode(),
    st.sampled_from(MEDIA),
    st.sampled_from([base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes]),
    st.sampled_from(["", "data:image/png;base64,", "Data:;base64,", "data:image/png,", "\\"]),
)
STRINGS = ENCODED | LITERALS | st.lists(ENCODED | LITERALS | st.sampled_from([*"\\<>=,-_"]), max_size=3).map("".join)
HOLDERS = st.sampled_from(
    [
        lambda text: [text],
        lambda text: {"data": text, "mimeType": "image/png"},
        lambda text: {"data": text, "format": "mp3"},
        lambda text: {"image": {"format": "png", "source": {"bytes": text}}},
    ]
)


@given(STRINGS, HOLDERS)
@example(in_base64(MIXED), lambda text: [text])
def test_what_is_shown_tells_what_was_sent(text: str, holder: Any) -> None:
    elided = elide_media(holder(text))
    (shown,) = {found for found in _strings(elided) if holder(found) == elided}

    def find(size: int, digest: str) -> bytes:
        content = decode_base64(text.rpartition(",")[2])
        assert content is not None
        assert len(content) == size
        assert has_digest(content, digest)
        return content

    assert undescribed(shown, find) == text


def _strings(data: Any) -> list[str]:
    if isinstance(data, str):
        return [data]
    return [found for item in (data.values() if isinstance(data, dict) else data) for found in _strings(item)]

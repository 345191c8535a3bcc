"""Media types: what bytes and URLs are, and how base64 is read."""

from __future__ import annotations

import pytest

from pytest_chatprompt.text.media_types import (
    FORMATS,
    MEDIA_TYPES,
    decode_base64,
    describe_base64,
    describe_bytes,
    described_size,
    escape_description,
    kind_of_media_type,
    media_type_of_url,
    sniff_media_type,
    split_data_url,
)
from tests import media


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        *(pytest.param(content, media_type, id=media_type) for media_type, content in media.FORMATS.items()),
        pytest.param(media.TAGGED_MP3, "audio/mpeg", id="MP3 with tags"),
        pytest.param(b"GIF87a" + bytes(9), "image/gif", id="the older GIF"),
        pytest.param(b"", "", id="nothing"),
        pytest.param(b"hello", "", id="text"),
        pytest.param(b"\x89PNG", "", id="half a signature"),
        pytest.param(b" " + media.PNG, "", id="a signature later on"),
        pytest.param(b"RIFF\x00\x00\x00\x00AVI LIST", "", id="another RIFF file"),
        pytest.param(b"\xff\xfe\x41\x00", "", id="UTF-16"),
        pytest.param(b"\xff\xfb\x00\x64", "", id="a frame without a bit rate"),
    ],
)
def test_the_first_bytes_say_the_type(content: bytes, media_type: str) -> None:
    assert sniff_media_type(content) == media_type


def test_each_known_type_belongs_to_one_kind_and_has_a_name() -> None:
    assert {kind_of_media_type(media_type) for media_type in media.FORMATS} == set(MEDIA_TYPES) == set(FORMATS)
    assert sum(len(types) for types in MEDIA_TYPES.values()) == len(media.FORMATS)
    assert kind_of_media_type("text/plain") is None


@pytest.mark.parametrize(
    ("url", "media_type"),
    [
        ("https://x.example/a/b.PNG?size=1.gif#c.pdf", "image/png"),
        ("https://x.example/a.jpg", "image/jpeg"),
        ("https://x.example/a.mp3", "audio/mpeg"),
        ("https://x.example/a", ""),
        ("https://x.example/a.svg", ""),
        ("https://x.example.pdf", ""),
    ],
)
def test_the_path_of_a_url_says_the_type(url: str, media_type: str) -> None:
    assert media_type_of_url(url) == media_type


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("data:image/png;base64,AAAA", ("image/png", "AAAA")),
        ("DATA:image/png;BASE64,AAAA", ("image/png", "AAAA")),
        ("data:audio/wav;rate=8000;base64,AAAA", ("audio/wav;rate=8000", "AAAA")),
        ("data:;base64,AAAA", ("", "AAAA")),
        ("data:text/plain,AAAA", None),
        ("data:image/png;base64", None),
        (" data:image/png;base64,AAAA", None),
        ("https://x.example/", None),
    ],
)
def test_a_data_url_is_its_type_and_its_base64(text: str, parts: tuple[str, str] | None) -> None:
    assert split_data_url(text) == parts


@pytest.mark.parametrize(
    ("text", "content"),
    [
        pytest.param("+/8=", b"\xfb\xff", id="the usual alphabet"),
        pytest.param("-_8=", b"\xfb\xff", id="the alphabet for URLs"),
        pytest.param("-w==", b"\xfb", id="a minus of the alphabet for URLs"),
        pytest.param("_w==", b"\xff", id="an underscore of the alphabet for URLs"),
        pytest.param("+/8", b"\xfb\xff", id="without padding"),
        pytest.param("+/\r\n8=\n", b"\xfb\xff", id="with line breaks"),
        pytest.param("+/\n8=", b"\xfb\xff", id="with line feeds"),
        pytest.param("+/\r8=", b"\xfb\xff", id="with carriage returns"),
        pytest.param("", b"", id="nothing"),
        pytest.param("a b=", None, id="a blank"),
        pytest.param("+/8=x", None, id="more after the padding"),
        pytest.param("aaaaa", None, id="a length that cannot be"),
        pytest.param("äöü=", None, id="no ASCII"),
    ],
)
def test_base64_is_read_however_it_is_written(text: str, content: bytes | None) -> None:
    assert decode_base64(text) == content


@pytest.mark.parametrize(
    ("digits", "media_type", "shown"),
    [
        ("aGk=", "text/plain", "<text/plain, 2 bytes, sha256:8f434346648f6b96>"),
        ("aGk=", "", "<2 bytes, sha256:8f434346648f6b96>"),
        ("-_8=", "", "<2 bytes, sha256:db8fed54159afe40, URL-safe>"),
        ("+/8=", "", "<2 bytes, sha256:db8fed54159afe40>"),
        ("+_8=", "", None),
        ("aGk", "", None),
        ("aG\nk=", "", None),
        ("aGl=", "", None),
        ("", "", None),
        ("äöü=", "", None),
    ],
)
def test_base64_is_described_if_its_bytes_tell_how_it_is_written(digits: str, media_type: str, shown: str) -> None:
    assert describe_base64(digits, media_type) == shown


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("<image/png, 34123 bytes, sha256:0123456789abcdef>", 34123),
        ("<34123 bytes, sha256:0123456789abcdef, URL-safe>", 34123),
        ("data:image/png;base64,<34123 bytes, sha256:0123456789abcdef>", 34123),
        ("\\<34123 bytes, sha256:0123456789abcdef>", None),
        ("<34123 bytes, sha256:0123456789abcdef>\n", None),
        ("<34123 bytes, sha256:0123456789ABCDEF>", None),
        ("<٣ bytes, sha256:0123456789abcdef>", None),
        ("34123 bytes, sha256:0123456789abcdef>", None),
        ("", None),
    ],
)
def test_the_size_that_a_description_says_is_read(text: str, size: int | None) -> None:
    assert described_size(text) == size


def test_bytes_are_described_by_type_size_and_hash() -> None:
    assert describe_bytes("image/png", media.PNG) == media.PNG_SHOWN
    assert describe_bytes("", b"") == "no media type, 0 bytes, sha256:e3b0c44298fc1c14"


def test_a_text_that_looks_like_a_description_is_escaped() -> None:
    shown = f"<{media.PNG_SHOWN}>"
    assert escape_description(shown) == f"\\{shown}"
    assert escape_description(f"\\{shown}") == f"\\\\{shown}"
    assert escape_description("\\x") == "\\x"

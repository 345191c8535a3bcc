"""Media of a part: made of a file or a URL, or an error that says what it is instead."""

from __future__ import annotations

import pytest

from pytest_chatprompt.prompt.chat_prompt import Media, MediaError, media_of_file, media_of_url
from pytest_chatprompt.text.media_types import MediaKind
from tests.media import FORMATS, GIF, MP3, PDF, PNG, PNG_SHOWN, data_url, in_base64


@pytest.mark.parametrize("media_type", FORMATS)
def test_a_file_is_of_the_type_that_its_bytes_say(media_type: str) -> None:
    kind: MediaKind = "document" if media_type == "application/pdf" else "audio" if "audio" in media_type else "image"
    media = media_of_file(kind, "./x.bin", FORMATS[media_type])
    assert media == Media(kind, "./x.bin", media_type, FORMATS[media_type])
    assert media.url == data_url(FORMATS[media_type], media_type)


@pytest.mark.parametrize(
    ("kind", "content", "text"),
    [
        ("image", b"", "file x is empty; it must be PNG, JPEG, WebP or GIF"),
        ("image", b"<svg/>", "file x is not an image; it must be PNG, JPEG, WebP or GIF"),
        (
            "document",
            b"hello",
            "file x is not a document; it must be PDF, DOCX, XLSX, DOC, XLS, CSV, HTML, Markdown or plain text",
        ),
        ("audio", b"OggS", "file x is not an audio file; it must be WAV or MP3"),
        ("image", PDF, "file x is a document (application/pdf); write type: document"),
        ("document", PNG, "file x is an image (image/png); write type: image"),
        ("image", MP3, "file x is an audio file (audio/mpeg); write type: audio"),
    ],
)
def test_a_file_of_another_kind_is_an_error(kind: MediaKind, content: bytes, text: str) -> None:
    with pytest.raises(MediaError) as caught:
        media_of_file(kind, "x", content)
    assert str(caught.value) == text


def test_a_url_stays_a_url() -> None:
    url = "https://x.example/screen.jpg?size=1"
    media = media_of_url("image", url)
    assert media == Media("image", url, "image/jpeg")
    assert (media.url, media.base64, media.file_name) == (url, "", "screen.jpg")
    assert media_of_url("audio", "HTTPS://x.example/a") == Media("audio", "HTTPS://x.example/a")


def test_a_data_url_is_its_bytes() -> None:
    media = media_of_url("image", data_url(PNG))
    assert media == Media("image", "", "image/png", PNG)
    assert str(media) == f"<Image: {PNG_SHOWN}>"
    assert str(Media("image", "", "image/png", b"")) == "<Image: image/png, 0 bytes, sha256:e3b0c44298fc1c14>"
    assert media_of_url("image", data_url(PNG, "IMAGE/PNG")) == media


@pytest.mark.parametrize("path", ["./x.png", "x.png", "/x.png", r".\x.png", r"C:\x.png", "a b:c/x.png", ""])
def test_all_else_is_a_path(path: str) -> None:
    assert media_of_url("image", path) is None


@pytest.mark.parametrize(
    ("url", "text"),
    [
        pytest.param(
            "http://x.example/a.png",
            "http: URLs are not sent; name a file of the project, or write an https: or a data: URL",
            id="http",
        ),
        pytest.param(
            "gs://bucket/a.png",
            "gs: URLs are not sent; name a file of the project, or write an https: or a data: URL",
            id="another scheme",
        ),
        pytest.param(
            "https:///a.png",
            "the URL names no host; write https://HOST/PATH",
            id="no host",
        ),
        pytest.param(
            "https://[x/a.png",
            "the URL names no host; write https://HOST/PATH",
            id="an unreadable host",
        ),
        pytest.param(
            "https://me:secret@x.example/a.png",
            "the URL holds a user's name or a password, which do not belong in an eval file; write it without them",
            id="a password",
        ),
        pytest.param(
            "https://x.example/a.pdf",
            "the URL is a document (application/pdf); write type: document",
            id="the URL of a document",
        ),
        pytest.param(
            "data:image/png,abc",
            "the data: URL is not valid base64; write data:image/png;base64, and the bytes in base64",
            id="no base64",
        ),
        pytest.param(
            "data:image/png;base64,a b",
            "the data: URL is not valid base64; write data:image/png;base64, and the bytes in base64",
            id="invalid base64",
        ),
        pytest.param(
            f"data:image/png;base64,{in_base64(GIF)}",
            "the data: URL says image/png, but holds image/gif; write data:image/gif;base64,",
            id="another type than it says",
        ),
        pytest.param(
            f"data:;base64,{in_base64(PNG)}",
            "the data: URL says no type, but holds image/png; write data:image/png;base64,",
            id="no type",
        ),
        pytest.param(
            data_url(b"hello"),
            "the data: URL is not an image; it must be PNG, JPEG, WebP or GIF",
            id="no image",
        ),
        pytest.param(
            data_url(PDF, "application/pdf"),
            "the data: URL is a document (application/pdf); write type: document",
            id="a document",
        ),
    ],
)
def test_a_url_that_cannot_be_sent_is_an_error(url: str, text: str) -> None:
    with pytest.raises(MediaError) as caught:
        media_of_url("image", url)
    assert str(caught.value) == text


def test_media_are_equal_wherever_they_stand() -> None:
    assert Media("image", "x", "image/png", PNG, place=(1, 1)) == Media("image", "x", "image/png", PNG)
    assert Media("image", "x", "image/png", PNG) != Media("image", "x", "image/png", PNG + b"x")
    assert repr(Media("image", "x", "image/png", PNG)) == "Media(kind='image', source='x', media_type='image/png')"


ZIP = b"PK\x03\x04"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.mark.parametrize(
    ("name", "content", "media_type"),
    [
        ("./a.docx", ZIP, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
        ("./a.XLSX", ZIP, "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        ("./a.doc", OLE, "application/msword"),
        ("./a.xls", OLE, "application/vnd.ms-excel"),
        ("./a.csv", b"a,b", "text/csv"),
        ("./a.html", b"<p>", "text/html"),
        ("./a.htm", b"<p>", "text/html"),
        ("./a.md", "ä".encode(), "text/markdown"),
        ("./a.txt", b"a", "text/plain"),
        ("./a.txt", PDF, "application/pdf"),
    ],
)
def test_the_name_of_a_document_says_what_its_bytes_do_not(name: str, content: bytes, media_type: str) -> None:
    media = media_of_file("document", name, content)
    assert media == Media("document", name, media_type, content)
    assert media_of_url("document", media.url) == Media("document", "", media_type, content)


@pytest.mark.parametrize(
    ("name", "content"), [("a.docx", b"a"), ("a.xls", ZIP), ("a.csv", b"\xff"), ("a.txt", b""), ("a.bin", b"a")]
)
def test_bytes_that_do_not_fit_the_name_are_no_document(name: str, content: bytes) -> None:
    with pytest.raises(MediaError, match="must be PDF, DOCX"):
        media_of_file("document", name, content)

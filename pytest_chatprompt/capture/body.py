"""The body of a request, as a snapshot shows it: decoded from the bytes sent.

The bytes and the headers come in. JSON data comes out; where the body is something else: its text, the parts of a form
with files, or its bytes in base64. Pure functions; `sent_request` and `apis.model_request` call them; `prompt_size` and
`secrets.payload_strings` know the keys.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Mapping
from typing import Any, Final

from pytest_chatprompt.evalfile.json_data import MAX_DEPTH, parse_json

BINARY_KEY: Final = "base64"
PARTS_KEY: Final = "multipart"
HEADERS_KEY: Final = "headers"
CONTENT_KEY: Final = "content"
# Providers put keys around what an eval file says.
_MAX_DEPTH: Final = MAX_DEPTH + 50
_BOUNDARY: Final = re.compile(r"multipart/[^;]+;.*?\bboundary=(?:\"([^\"]+)\"|([^\s;]+))", re.IGNORECASE)
_PART_NAME: Final = re.compile(r"\bname=(?:\"([^\"]*)\"|([^\s;]+))", re.IGNORECASE)


def decode_body(content: bytes, headers: Mapping[str, str]) -> Any:
    """Decode a body.

    Args:
        content: the bytes as sent.
        headers: of the request, by lower-case name.

    Returns:
        JSON data, else text. For a multipart body `{"multipart": [{"headers": {...}, "content": ...}, ...]}`, without
        the boundary, which clients choose at random. For other bytes `{"base64": ...}`; `None` for no body.
    """
    if "content-encoding" in headers:
        content = _decompress(content, headers["content-encoding"])
    if not content:
        return None
    boundary = _BOUNDARY.match(headers.get("content-type", ""))
    if boundary is not None:
        parts = _parts(content, (boundary[1] or boundary[2]).encode())
        if parts is not None:
            return {PARTS_KEY: parts}
    return _text_or_base64(content, json_starts="")


def part_name(part: Mapping[str, Any]) -> str:
    """The name of a field in a form with files; `""` if the part has none.

    Args:
        part: as `decode_body` gives it.
    """
    headers = part.get(HEADERS_KEY)
    if not isinstance(headers, Mapping):
        return ""
    found = _PART_NAME.search(" ".join(str(value) for value in headers.values()))
    return "" if found is None else found[1] or found[2] or ""


def _parts(content: bytes, boundary: bytes) -> list[dict[str, Any]] | None:
    """The parts of a multipart body; `None` for another body (https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1)."""
    before, *sections = (b"\r\n" + content).split(b"\r\n--" + boundary)
    if before or not sections or not sections.pop().startswith(b"--"):
        return None
    parts = []
    for section in sections:
        head, is_complete, body = section.partition(b"\r\n\r\n")
        if not is_complete:
            return None
        lines = (line.partition(":") for line in head.decode(errors="replace").strip().split("\r\n"))
        headers = {name.strip(): value.strip() for name, _, value in lines if name}
        parts.append({HEADERS_KEY: headers, CONTENT_KEY: _text_or_base64(body, json_starts="{[")})
    return parts


def _text_or_base64(content: bytes, *, json_starts: str) -> Any:
    """JSON data, else text, else base64.

    Args:
        content: the bytes.
        json_starts: the characters that JSON data may begin with; `""` for any.
    """
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return {BINARY_KEY: base64.b64encode(content).decode("ascii")}
    if json_starts and not text.startswith(tuple(json_starts)):
        # A field of a form is a text, also where it looks like a number.
        return text
    try:
        return parse_json(text, max_depth=_MAX_DEPTH)
    except ValueError:
        # Not JSON, or nested too deep.
        return text


def _decompress(content: bytes, encoding: str) -> bytes:
    """Decompress a body: gzip's bytes hold a time and differ between versions; one that is not compressed is kept."""
    if encoding not in ("gzip", "deflate"):
        return content
    try:
        # 32: zlib detects whether the header is gzip's or its own.
        return zlib.decompress(content, zlib.MAX_WBITS | 32)
    except zlib.error:
        return content

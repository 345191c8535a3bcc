"""The body of a request, as a snapshot shows it: decoded from the bytes sent.

What data cannot tell exactly is shown as its text: JSON with a repeated key, or a number that Python writes otherwise.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any, Final

from pytest_chatprompt.text.json_data import MAX_DEPTH, parse_json

BINARY_KEY: Final = "base64"
PARTS_KEY: Final = "multipart"
HEADERS_KEY: Final = "headers"
CONTENT_KEY: Final = "content"
ENCODING_KEY: Final = "encoding"
_SUBTYPE_KEY: Final = "subtype"
# The keys of the mappings that show something other than JSON.
_OTHER_FORMS: Final = ({BINARY_KEY}, {BINARY_KEY, ENCODING_KEY}, {PARTS_KEY}, {PARTS_KEY, _SUBTYPE_KEY})
# Providers put keys around what an eval file says.
_MAX_DEPTH: Final = MAX_DEPTH + 50
_BOUNDARY: Final = re.compile(r"multipart/([^;\s]+)\s*;.*?\bboundary=(?:\"([^\"]+)\"|([^\s;]+))", re.IGNORECASE)
_PART_NAME: Final = re.compile(r"\bname=(?:\"([^\"]*)\"|([^\s;]+))", re.IGNORECASE)


def decode_body(content: bytes, headers: Mapping[str, str]) -> Any:
    """Decode a body: JSON data, else text; `None` for no body.

    A multipart body is `{"multipart": [{"headers": {...}, "content": ...}, ...]}`, without the boundary, which clients
    choose at random, and with its `subtype` if that is not `form-data`. Other bytes are `{"base64": ...}`, with their
    `encoding` if they cannot be decompressed.
    """
    encoding = headers.get("content-encoding", "").strip().lower()
    if content and encoding not in ("", "identity"):
        decompressed = _decompress(content, encoding)
        if decompressed is None:
            return {**_base64(content), ENCODING_KEY: encoding}
        content = decompressed
    if not content:
        return None
    boundary = _BOUNDARY.match(headers.get("content-type", ""))
    if boundary is not None:
        parts = _parts(content, (boundary[2] or boundary[3]).encode())
        if parts is not None:
            subtype = boundary[1].lower()
            return {PARTS_KEY: parts} if subtype == "form-data" else {PARTS_KEY: parts, _SUBTYPE_KEY: subtype}
    return _json_or_text(content, json_starts="")


def encode_body(body: Any) -> bytes:
    """Encode what `decode_body` made of text or JSON."""
    return (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()


def read_body(body: Any) -> Any:
    """What an API reads in a body: the data of JSON that is shown as its text; anything else as it is."""
    try:
        return parse_json(body, max_depth=_MAX_DEPTH) if isinstance(body, str) else body
    except ValueError:
        return body


def part_name(part: Mapping[str, Any]) -> str:
    """The name of a field in a form with files; `""` if the part has none."""
    headers = part.get(HEADERS_KEY)
    if not isinstance(headers, Mapping):
        return ""
    found = _PART_NAME.search(" ".join(str(value) for value in headers.values()))
    return "" if found is None else found[1] or found[2] or ""


def _parts(content: bytes, boundary: bytes) -> list[dict[str, Any]] | None:
    """The parts of a multipart body, if they are all of it (https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1)."""
    before, *sections = (b"\r\n" + content).split(b"\r\n--" + boundary)
    if before or not sections or sections.pop() not in (b"--", b"--\r\n"):
        return None
    parts = []
    for section in sections:
        head, is_complete, body = section.partition(b"\r\n\r\n")
        headers = _part_headers(head)
        if not is_complete or headers is None:
            return None
        parts.append({HEADERS_KEY: headers, CONTENT_KEY: _json_or_text(body, json_starts="{[")})
    return parts


def _part_headers(head: bytes) -> dict[str, str] | None:
    """The headers of a part; `None` if a mapping cannot tell them exactly."""
    try:
        lines = head.decode().split("\r\n")[1:]
    except UnicodeDecodeError:
        return None
    headers = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    written = "".join(f"\r\n{name}: {value}" for name, value in headers.items())
    return headers if written.encode() == head else None


def _json_or_text(content: bytes, *, json_starts: str) -> Any:
    """JSON data, else text, else base64."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return _base64(content)
    if json_starts and not text.startswith(tuple(json_starts)):
        # A field of a form is a text, also where it looks like a number.
        return text
    try:
        data = parse_json(text, max_depth=_MAX_DEPTH, object_pairs_hook=_object, parse_int=_number, parse_float=_number)
    except ValueError:
        # Not JSON, not data that tells it exactly, or nested too deep.
        return text
    # `None` is no body, a text is itself, and some mappings stand for other bodies.
    is_taken = data is None or isinstance(data, str) or (isinstance(data, dict) and data.keys() in _OTHER_FORMS)
    return text if is_taken else data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        raise ValueError("a key is repeated")
    return data


def _number(text: str) -> float:
    number = int(text) if text.removeprefix("-").isdecimal() else float(text)
    # A negative zero is no integer of Python's.
    if repr(number) != text:
        raise ValueError("Python writes this number in another way")
    return number


def _base64(content: bytes) -> dict[str, str]:
    return {BINARY_KEY: base64.b64encode(content).decode("ascii")}


def _decompress(content: bytes, encoding: str) -> bytes | None:
    """Decompress a body: gzip's bytes hold a time and differ between versions; `None` if all of it cannot be read."""
    try:
        if encoding == "gzip":
            import gzip  # noqa: PLC0415 - most clients compress nothing

            return gzip.decompress(content)
        stream = zlib.decompressobj()
        text = stream.decompress(content) if encoding == "deflate" else b""
    except (OSError, EOFError, zlib.error):
        return None
    return text if stream.eof and not stream.unused_data else None

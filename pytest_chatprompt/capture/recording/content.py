"""The content of a recorded reply: its body in a form that people can read, and the bytes that it stands for.

The bytes of a body and its media type come in; a mapping with one key comes out: `body` for JSON data, `events` for a
stream, `text`, or `base64`. Writing gives chunks that mean the same to every client: JSON may be laid out in another
way. Pure; `recorded_exchange` calls it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, Final

from pytest_chatprompt.apis.model_api import json_bytes
from pytest_chatprompt.capture.recording.event_formats import event_format, parse_exact_json

# Of a reply of which each part is a line of the recording. A larger one, such as long vectors, is kept as one text.
_MAX_PARTS: Final = 300_000
# About one of them in each part: of JSON, of lines and events, and of the messages of AWS.
_PART_MARKS: Final = (b",", b"[", b"{", b"\n", b"\0\0\0")
CONTENT_KEYS: Final = ("body", "events", "text", "base64")


def read_content(body: bytes, content_type: str) -> dict[str, Any]:
    """The content that a recording keeps.

    Args:
        body: the whole body, decoded as its `Content-Encoding` says.
        content_type: as the API sent it; `""` for none.

    Returns:
        One of the keys `body`, `events`, `text` and `base64`.
    """
    if sum(map(body.count, _PART_MARKS)) > _MAX_PARTS:
        return _text_or_base64(body)
    try:
        if body and (stream := event_format(content_type)) is not None:
            return {"events": _check_text(stream.read(body))}
        if body and _is_json(content_type):
            return {"body": _check_text(parse_exact_json(body.decode()))}
    except (ValueError, RecursionError):
        # It is not what the API says that it is.
        pass
    return _text_or_base64(body)


def write_content(content: Mapping[str, Any], content_type: str) -> list[bytes]:
    """The chunks of the body: one for each event of a stream, else one.

    Args:
        content: from `read_content`, perhaps with secrets redacted.
        content_type: as it was recorded.

    Raises:
        ValueError: it is not base64 or JSON data, or an event is not valid in this media type.
    """
    if "events" in content:
        stream = event_format(content_type)
        if stream is None:
            raise ValueError(f"a reply with events cannot have the media type {content_type!r}")
        try:
            return [stream.write(event) for event in content["events"]]
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"an event is not valid in {content_type}: {error!r}") from None
    if "body" in content:
        try:
            return [json_bytes(content["body"])]
        except TypeError as error:
            raise ValueError(f"the body is not JSON data: {error}") from None
    if "base64" in content:
        return [base64.b64decode(content["base64"], validate=True)]
    return [str(content.get("text", "")).encode(errors="surrogatepass")]


def _text_or_base64(body: bytes) -> dict[str, Any]:
    try:
        return {"text": body.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode("ascii")}


def _check_text(data: Any) -> Any:
    """Return JSON data if YAML can hold it.

    Raises:
        ValueError: a text in it has half a character, which YAML cannot write so that it can be read again.
    """
    json.dumps(data, ensure_ascii=False).encode()
    return data


def _is_json(content_type: str) -> bool:
    """Whether a body may be JSON: if it says so, or says nothing."""
    media_type = content_type.partition(";")[0].strip().lower()
    return media_type in ("", "application/json") or media_type.endswith("+json")

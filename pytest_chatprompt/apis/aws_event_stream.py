"""AWS event streams: the messages in which Bedrock streams.

Source: https://smithy.io/2.0/aws/amazon-eventstream.html, and the decoder of the package `botocore` (`eventstream.py`).
"""

from __future__ import annotations

import struct
from binascii import crc32
from collections.abc import Mapping
from typing import Any, Final

from pytest_chatprompt.apis.model_api import json_bytes

_STRING: Final = 7
# The lengths, their checksum, and the checksum of all.
_OVERHEAD: Final = 16
_PRELUDE: Final = 12
_CHECKSUM: Final = 4


def event_message(event: str, data: Any) -> bytes:
    """Write one message of an event stream."""
    return write_message(
        {":event-type": event, ":content-type": "application/json", ":message-type": "event"}, json_bytes(data)
    )


def write_message(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Write one message."""
    head = b"".join(_header(name, value) for name, value in headers.items())
    prelude = struct.pack(">II", len(head) + len(payload) + _OVERHEAD, len(head))
    message = prelude + struct.pack(">I", crc32(prelude)) + head + payload
    return message + struct.pack(">I", crc32(message))


def read_messages(stream: bytes) -> list[tuple[dict[str, str], bytes]]:
    """Read the messages of a whole stream: headers and payloads.

    Raises:
        ValueError: it is not such a stream, or a header is not text.
    """
    messages, start = [], 0
    try:
        while start < len(stream):
            length, head_length = struct.unpack_from(">II", stream, start)
            if length < head_length + _OVERHEAD or start + length > len(stream):
                raise ValueError("a message is cut off")
            head_start = start + _PRELUDE
            head = stream[head_start : head_start + head_length]
            payload = stream[head_start + head_length : start + length - _CHECKSUM]
            messages.append((_read_headers(head), payload))
            start += length
    except (struct.error, IndexError) as error:
        raise ValueError(f"not an event stream: {error}") from None
    return messages


def _read_headers(head: bytes) -> dict[str, str]:
    headers, at = {}, 0
    while at < len(head):
        name_end = at + 1 + head[at]
        kind, length = struct.unpack_from(">BH", head, name_end)
        if kind != _STRING:
            raise ValueError("a header is not text")
        value_start = name_end + 3
        headers[head[at + 1 : name_end].decode()] = head[value_start : value_start + length].decode()
        at = value_start + length
    return headers


def _header(name: str, value: str) -> bytes:
    # Lengths are in bytes.
    name_bytes, value_bytes = name.encode(), value.encode()
    lengths = struct.pack(">B", len(name_bytes)), struct.pack(">BH", _STRING, len(value_bytes))
    return lengths[0] + name_bytes + lengths[1] + value_bytes

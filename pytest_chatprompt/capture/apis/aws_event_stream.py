"""AWS event streams: the messages in which Bedrock streams.

The name of an event and its JSON data come in, the bytes of one message come out. A pure function; `bedrock` calls it.
Source: https://smithy.io/2.0/aws/amazon-eventstream.html, and the decoder of the package `botocore` (`eventstream.py`).
"""

from __future__ import annotations

import struct
from binascii import crc32
from typing import Any, Final

from pytest_chatprompt.capture.apis.reply_stream import json_bytes

_STRING: Final = 7
# The lengths, their checksum, and the checksum of all.
_OVERHEAD: Final = 16


def event_message(event: str, data: Any) -> bytes:
    """Write one message of an event stream.

    Args:
        event: its type, such as `messageStart`.
        data: JSON data.
    """
    headers = b"".join(
        _header(name, value)
        for name, value in ((":event-type", event), (":content-type", "application/json"), (":message-type", "event"))
    )
    payload = json_bytes(data)
    prelude = struct.pack(">II", len(headers) + len(payload) + _OVERHEAD, len(headers))
    message = prelude + struct.pack(">I", crc32(prelude)) + headers + payload
    return message + struct.pack(">I", crc32(message))


def _header(name: str, value: str) -> bytes:
    return struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", _STRING, len(value)) + value.encode()

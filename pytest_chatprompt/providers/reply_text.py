"""Turns what an API sends into text and data that can be shown, compared and written.

JSON can hold half a character (an escape of U+D800, a surrogate, without its other half), which no file, terminal or
process boundary takes. Each becomes U+FFFD here. JSON that is nested too deeply for Python is an ordinary `ValueError`.
Pure functions; `response`, `http` and `chat` call them, `capture` for the replies of tests, and `snapshots` for
recordings.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

_REPLACEMENT: Final = "\ufffd"
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")
# An escape of JSON: a pair of surrogates is one character and stays, `\\` is a backslash and begins nothing.
_ESCAPE: Final = re.compile(
    r"(?P<kept>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\[^u])|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)


def replace_surrogates(text: str) -> str:
    """Replace each half of a character with U+FFFD; a whole character has no surrogates in Python."""
    return text if text.isascii() else _SURROGATE.sub(_REPLACEMENT, text)


def decode_text(content: bytes) -> str:
    """Decode the body of a reply that need not be JSON, as UTF-8; what is not UTF-8 becomes U+FFFD.

    The character set that the reply names does not count: all APIs use UTF-8, and Python has codecs that decompress.
    """
    return content.decode(errors="replace")


def load_json(content: bytes | str) -> Any:
    """Read JSON in which no text holds half a character.

    Args:
        content: the body of a reply.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    text = content if isinstance(content, str) else content.decode(json.detect_encoding(content), "surrogatepass")
    text = replace_surrogates(text)
    if _SURROGATE_ESCAPE.search(text):
        text = _ESCAPE.sub(lambda match: match["kept"] or _REPLACEMENT, text)
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error

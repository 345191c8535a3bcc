"""The server's own replies: an error that every SDK shows to its user at once.

Every module of this room may call it, and `capture.refusals` does.
"""

from __future__ import annotations

import httpx


def error_reply(status: int, text: str) -> httpx.Response:
    """A reply with an error, in a shape that the SDKs of all vendors show.

    Args:
        status: SDKs send a request again where it is 408, 409, 429 or 500 and more.
        text: where, what, and what to do.
    """
    # Most APIs have `error.message`, AWS and Cohere have `message`.
    data = {"error": {"type": "pytest_chatprompt", "message": text}, "message": text}
    # Clients that do not read the body show the reason.
    return httpx.Response(status, json=data, extensions={"reason_phrase": b"Not Answered (pytest-chatprompt)"})

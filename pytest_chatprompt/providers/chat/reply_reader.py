"""Reads the HTTP reply of an API: a response or an error.

A reply of any status comes in, with the function that reads the API's own shape; a `ProviderResponse` comes out.
`ChatProvider` calls it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx

from pytest_chatprompt.errors import UnreadableReplyError
from pytest_chatprompt.providers.http.error_replies import ErrorContext, ErrorReply, error_from_reply
from pytest_chatprompt.providers.response import ProviderResponse, decode_text, load_json


def read_http_reply(
    reply: httpx.Response,
    read_body: Callable[[Any], ProviderResponse],
    error_context: Callable[[], ErrorContext],
    redact: Callable[[str], str],
) -> ProviderResponse:
    """Read the reply of an API.

    Args:
        reply: the reply, read whole.
        read_body: reads the decoded body of a successful reply.
        error_context: makes the `ErrorContext`; called only for an error.
        redact: removes the key from a text of the API, and shortens it.

    Raises:
        APIStatusError: the reply is an error, or cannot be read.
    """
    if not reply.is_success:
        headers = {name.lower(): value for name, value in reply.headers.items()}
        error_reply = ErrorReply(reply.status_code, reply.reason_phrase, headers, decode_text(reply.content))
        raise error_from_reply(error_reply, error_context(), redact)
    try:
        data = load_json(reply.content)
    except ValueError as error:
        raise _unreadable("with a body that is not valid JSON", reply, error_context(), redact) from error
    try:
        return read_body(data)
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise _unreadable("with a body in an unexpected shape", reply, error_context(), redact) from error


def _unreadable(
    how: str, reply: httpx.Response, context: ErrorContext, redact: Callable[[str], str]
) -> UnreadableReplyError:
    return UnreadableReplyError(
        f"{context.vendor} answered {how}: {redact(decode_text(reply.content)) or '(an empty body)'}\n"
        f"Check {context.target}: another service may be running there.",
        status=reply.status_code,
    )

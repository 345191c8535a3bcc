"""Turns an HTTP error reply into one of this package's errors.

An `ErrorReply` comes in; the `APIStatusError` of the right kind comes out, with the vendor's message, the id of the
request, and what to do. To add a kind, add an entry to `_KINDS`. Pure; `chat.reply_reader` calls it.
The sources are those of `error_body`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from pytest_chatprompt.errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    ContentFilterError,
    InternalServerError,
    NotFoundError,
    PermissionDeniedError,
    QuotaError,
    RateLimitError,
)
from pytest_chatprompt.providers.http.error_body import NO_QUOTA_CODE, ErrorBody, ErrorReply, parse_error_body

_REDIRECTS: Final = range(300, 400)
_UNAUTHORIZED: Final = 401
_PAYMENT_REQUIRED: Final = 402
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
# A timeout on the API's side, and a conflict with another request: both pass.
_REQUEST_TIMEOUT: Final = 408
_CONFLICT: Final = 409
_TOO_LARGE: Final = 413
# What Bedrock answers where the model itself fails.
_FAILED_DEPENDENCY: Final = 424
_TOO_MANY_REQUESTS: Final = 429
_FIRST_SERVER_ERROR: Final = 500
_REQUEST_ID_HEADERS: Final = ("apim-request-id", "x-request-id", "request-id", "x-ms-request-id", "x-amzn-requestid")
_NO_QUOTA_CODES: Final = (
    "insufficient_quota",
    "credit_balance_exhausted",
    "billing_not_active",
    "billing_error",
    "enforced_spend_limit_reached",
    NO_QUOTA_CODE,
)
_BAD_KEY_CODES: Final = (
    *("API_KEY_INVALID", "invalid_api_key", "authentication_error"),
    *("UnrecognizedClientException", "ExpiredTokenException", "InvalidSignatureException"),
    *("MissingAuthenticationTokenException", "IncompleteSignatureException"),
)


class ErrorContext(NamedTuple):
    """What an error says about the request that failed.

    Args:
        vendor: the API's name.
        key_variable: the environment variable of its key.
        target: the model or the deployment, and the URL: `the model 'm' and the base URL https://...`.
    """

    vendor: str
    key_variable: str
    target: str


class _ErrorKind(NamedTuple):
    """An error class, the replies that it is for, and what to do about them."""

    error_class: type[APIStatusError]
    matches: Callable[[int, ErrorBody], bool]
    advice: str


def _has_code(*codes: str) -> Callable[[int, ErrorBody], bool]:
    return lambda _, body: any(code in body.codes for code in codes)


def _has_status(*statuses: int) -> Callable[[int, ErrorBody], bool]:
    return lambda status, _: status in statuses


# The first that matches counts. Codes come before the status: several vendors use one status for many errors.
_KINDS: Final = (
    _ErrorKind(
        ContentFilterError,
        _has_code("content_filter", "ContentFiltered", "ResponsibleAIPolicyViolation", "content_policy_violation"),
        "The content filter rejected the prompt: reword the case, or change the filter's settings.",
    ),
    _ErrorKind(
        QuotaError,
        lambda status, body: status == _PAYMENT_REQUIRED or _has_code(*_NO_QUOTA_CODES)(status, body),
        "No quota or credit is left, and waiting a little does not help: check your plan and billing.",
    ),
    _ErrorKind(
        AuthenticationError,
        lambda status, body: status == _UNAUTHORIZED or _has_code(*_BAD_KEY_CODES)(status, body),
        "Check the key: the environment variable {key_variable}, or api_key.",
    ),
    _ErrorKind(
        PermissionDeniedError,
        _has_status(_FORBIDDEN),
        "The key in {key_variable} may not do this: check what its project may use, and from where, for {target}.",
    ),
    _ErrorKind(NotFoundError, _has_status(_NOT_FOUND), "Check {target}."),
    _ErrorKind(NotFoundError, _has_status(*_REDIRECTS), "It redirects to {location}. Check {target}."),
    _ErrorKind(
        BadRequestError,
        _has_status(_TOO_LARGE),
        "The request is too large: shorten its messages, or the files that they name.",
    ),
    _ErrorKind(
        RateLimitError,
        _has_status(_TOO_MANY_REQUESTS),
        "Wait and run again, or send fewer requests at once.",
    ),
    _ErrorKind(
        InternalServerError,
        lambda status, _: status >= _FIRST_SERVER_ERROR or status in (_REQUEST_TIMEOUT, _CONFLICT, _FAILED_DEPENDENCY),
        "The API has a fault or is overloaded: run again later.",
    ),
    _ErrorKind(
        BadRequestError,
        lambda *_: True,
        "The API rejected the request: look in the case's snapshot at what is sent to {target}.",
    ),
)


def error_from_reply(reply: ErrorReply, context: ErrorContext, redact: Callable[[str], str]) -> APIStatusError:
    """Make the error for a reply; it is not raised.

    Args:
        reply: a reply with a status other than 2xx.
        context: what the error says about the request.
        redact: removes the key from a text of the API, and shortens it.
    """
    body = parse_error_body(reply)
    kind = next(kind for kind in _KINDS if kind.matches(reply.status, body))
    message = redact(body.message)
    code = next((code for code in body.codes if code != NO_QUOTA_CODE), None)
    request_id = next((reply.headers[name] for name in _REQUEST_ID_HEADERS if name in reply.headers), body.request_id)
    head = " ".join(filter(None, (context.vendor, "answered", str(reply.status), redact(reply.reason))))
    filtered = f" Filtered: {redact(', '.join(body.filtered))}." if body.filtered else ""
    retry_after_seconds = _retry_after_seconds(reply.headers, body)
    retry_after = "" if retry_after_seconds is None else f"retry after {retry_after_seconds:.3g} s"
    details = ", ".join(filter(None, (code, request_id and f"request {request_id}", retry_after)))
    location = reply.headers.get("location", "somewhere else")
    advice = kind.advice.format(key_variable=context.key_variable, target=context.target, location=location)
    text = f"{head}: {message or '(an empty body)'}\n{advice}{filtered}"
    return kind.error_class(
        f"{text}\n({redact(details)})" if details else text,
        status=reply.status,
        message=message,
        code=code and redact(code),
        request_id=request_id and redact(request_id),
        retry_after_seconds=retry_after_seconds,
    )


def _retry_after_seconds(headers: Mapping[str, str], body: ErrorBody) -> float | None:
    """How long the API asks to wait, at least 0; `None` if it does not say, or not readably."""
    for name, units_per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        if name in headers:
            try:
                delay = float(headers[name]) / units_per_second
            except ValueError:
                continue
            if math.isfinite(delay):
                return max(delay, 0.0)
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return body.retry_delay_seconds
    # HTTP dates always have a zone; one without counts as UTC.
    retry_at = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max((retry_at - datetime.now(UTC)).total_seconds(), 0.0)

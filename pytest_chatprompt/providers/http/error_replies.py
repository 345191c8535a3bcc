"""Turns an HTTP error reply into one of this package's errors, with the vendor's message and what to do.

Sources: https://platform.openai.com/docs/guides/error-codes,
https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter (and the REST reference),
https://docs.anthropic.com/en/api/errors, https://ai.google.dev/gemini-api/docs/troubleshooting,
https://cloud.google.com/apis/design/errors,
https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html, botocore (`parsers.py`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import httpx

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
from pytest_chatprompt.providers.response import load_json

# A code of our own, for errors that say only in their text that no quota or credit is left.
NO_QUOTA_CODE: Final = "(no quota)"
# Anthropic's texts for that, whose type, `invalid_request_error`, stands for many other errors too, and Bedrock's.
_NO_CREDIT_TEXT: Final = re.compile(
    r"credit balance is too low|reached your (specified )?(workspace )?API usage limits|Too many tokens per day"
)


class ErrorBody(NamedTuple):
    """The contents of an error reply's body: its codes, types and reasons, the most specific first."""

    message: str
    codes: tuple[str, ...]
    request_id: str | None
    retry_delay_seconds: float | None
    filtered: tuple[str, ...]


def parse_error_body(reply: httpx.Response) -> ErrorBody:
    """Read the body of an error reply; of an unknown shape, such as a proxy's HTML, the whole text is `message`."""
    # All APIs use UTF-8, and Python has codecs that decompress: the character set that the reply names does not count.
    text = reply.content.decode(errors="replace").strip()
    try:
        data = load_json(text)
    except ValueError:
        data = {}
    # Gemini wraps errors of streams in a list, and some of its gateways all errors.
    data = data[0] if isinstance(data, list) and data else data
    data = data if isinstance(data, dict) else {}
    error = data.get("error") or data
    error = error if isinstance(error, dict) else {"message": error}
    # AWS writes it in either way, and the code into a header.
    message = error.get("message", error.get("Message"))
    details = error.get("details")
    reasons = [detail for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
    # The name of AWS's exception may have a namespace before `#` and a URL behind `:`.
    aws_name = str(reply.headers.get("x-amzn-errortype") or data.get("__type", ""))
    codes = [aws_name.partition(":")[0].rpartition("#")[2], *(reason.get("reason") for reason in reasons)]
    # Anthropic's details are a mapping.
    codes += [details.get("error_code")] if isinstance(details, dict) else []
    codes += [error.get("code"), error.get("status"), error.get("type")]
    # Gemini has one status for all quotas: whether a day's quota is used up is only in the names of the violations.
    is_for_the_day = any("PerDay" in str(reason.get("violations")) for reason in reasons)
    codes += [NO_QUOTA_CODE] if is_for_the_day or _NO_CREDIT_TEXT.search(str(message)) else []
    # Of `google.rpc.RetryInfo`: a protobuf duration in JSON, such as `34.5s`.
    delays = [re.fullmatch(r"(\d+(?:\.\d+)?)s", str(reason.get("retryDelay"))) for reason in reasons]
    request_id = data.get("request_id")
    return ErrorBody(
        message=message if isinstance(message, str) and message else text,
        codes=tuple(code for code in codes if isinstance(code, str) and code and not code.isdigit()),
        request_id=request_id if isinstance(request_id, str) else None,
        retry_delay_seconds=next((float(delay[1]) for delay in delays if delay), None),
        filtered=tuple(_filtered(error)),
    )


def _filtered(data: Any) -> Iterator[str]:
    """The categories that Azure's content filter rejected, wherever its versions put them."""
    items = enumerate(data) if isinstance(data, list) else data.items() if isinstance(data, dict) else ()
    for category, result in items:
        if isinstance(result, dict) and result.get("filtered") is True:
            severity = result.get("severity")
            yield f"{category} ({severity})" if severity else str(category)
        else:
            yield from _filtered(result)


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
    """What an error says about the request that failed: its target is `the model 'm' and the base URL https://...`.

    `redact` removes the key from a text of the API, and shortens it.
    """

    vendor: str
    key_variable: str
    target: str
    redact: Callable[[str], str]


# Error classes, what to do about each, and the replies that it is for, by their statuses and codes: the first that
# matches counts. Codes come before the status: several vendors use one status for many errors.
_KINDS: Final[tuple[tuple[type[APIStatusError], str, Set[int | str]], ...]] = (
    (
        ContentFilterError,
        "The content filter rejected the prompt: reword the case, or change the filter's settings.",
        {"content_filter", "content_policy_violation"},
    ),
    (
        QuotaError,
        "No quota or credit is left, and waiting a little does not help: check your plan and billing.",
        {HTTPStatus.PAYMENT_REQUIRED, *_NO_QUOTA_CODES},
    ),
    (
        AuthenticationError,
        "Check the key: the environment variable {key_variable}, or api_key.",
        {HTTPStatus.UNAUTHORIZED, *_BAD_KEY_CODES},
    ),
    (
        PermissionDeniedError,
        "The key in {key_variable} may not do this: check what its project may use, and from where, for {target}.",
        {HTTPStatus.FORBIDDEN},
    ),
    (NotFoundError, "Check {target}.", {HTTPStatus.NOT_FOUND}),
    (NotFoundError, "It redirects to {location}. Check {target}.", set(range(300, 400))),
    (
        BadRequestError,
        "The request is too large: shorten its messages, or the files that they name.",
        {HTTPStatus.REQUEST_ENTITY_TOO_LARGE},
    ),
    (RateLimitError, "Wait and run again, or send fewer requests at once.", {HTTPStatus.TOO_MANY_REQUESTS}),
    (
        InternalServerError,
        "The API has a fault or is overloaded: run again later.",
        # A timeout on the API's side, a conflict with another request, and what Bedrock answers where the model fails.
        {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.FAILED_DEPENDENCY, *range(500, 1000)},
    ),
    (
        BadRequestError,
        "The API rejected the request: look in the case's snapshot at what is sent to {target}.",
        set(range(1000)),
    ),
)


def error_from_reply(reply: httpx.Response, context: ErrorContext) -> APIStatusError:
    """Make the error for a reply."""
    body, redact = parse_error_body(reply), context.redact
    found = {reply.status_code, *body.codes}
    error_class, advice = next((error, advice) for error, advice, signs in _KINDS if signs & found)
    message = redact(body.message)
    code = next((code for code in body.codes if code != NO_QUOTA_CODE), None)
    request_id = next((reply.headers[name] for name in _REQUEST_ID_HEADERS if name in reply.headers), body.request_id)
    head = " ".join(filter(None, (context.vendor, "answered", str(reply.status_code), redact(reply.reason_phrase))))
    filtered = f" Filtered: {redact(', '.join(body.filtered))}." if body.filtered else ""
    retry_after_seconds = _retry_after_seconds(reply.headers, body)
    retry_after = "" if retry_after_seconds is None else f"retry after {retry_after_seconds:.6g} s"
    details = ", ".join(filter(None, (code, request_id and f"request {request_id}", retry_after)))
    # Without what may be a secret: user, query and fragment.
    location = re.sub(r"(?<=//)[^/?#]*@|[?#].*", "", reply.headers.get("location", "somewhere else"))
    advice = advice.format(key_variable=context.key_variable, target=context.target, location=location)
    text = f"{head}: {message or '(an empty body)'}\n{advice}{filtered}"
    return error_class(
        f"{text}\n({redact(details)})" if details else text,
        status=reply.status_code,
        message=message,
        code=code and redact(code),
        request_id=request_id and redact(request_id),
        retry_after_seconds=retry_after_seconds,
    )


def _retry_after_seconds(headers: Mapping[str, str], body: ErrorBody) -> float | None:
    """How long the API asks to wait, at least 0; `None` if it does not say, or not readably."""
    for name, units_per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        with suppress(ValueError):
            delay = float(headers.get(name, "")) / units_per_second
            if math.isfinite(delay):
                return max(delay, 0.0)
    return body.retry_delay_seconds

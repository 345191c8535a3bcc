"""The APIs' errors: what a reply says that is no answer, as one of the package's own errors.

Status, headers and body of a reply come in; an `ApiError` of the kind that fits comes out, with the vendor's own
message, the id of the request and what to do about it. Pure; `chat` calls it.

Sources: https://platform.openai.com/docs/guides/error-codes,
https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter (and the REST reference, which spells
the filter's part of the body otherwise), https://docs.anthropic.com/en/api/errors,
https://ai.google.dev/gemini-api/docs/troubleshooting and https://cloud.google.com/apis/design/errors.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from pytest_chatprompt.errors import (
    ApiError,
    AuthenticationError,
    BadRequestError,
    ContentFilterError,
    NotFoundError,
    PermissionDeniedError,
    QuotaError,
    RateLimitError,
    ServerError,
)

SHOWN_CHARACTERS: Final = 500
_REDIRECTS: Final = range(300, 400)
_UNAUTHORIZED: Final = 401
_PAYMENT_REQUIRED: Final = 402
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
# A timeout of the API's own, and a conflict with another request.
_PASSING: Final = (408, 409)
_TOO_LARGE: Final = 413
_TOO_MANY: Final = 429
_SERVER_ERRORS: Final = 500
_REQUEST_IDS: Final = ("apim-request-id", "x-request-id", "request-id", "x-ms-request-id")
# A word of our own for errors that have no word for it.
_SPENT: Final = "(spent)"
_SPENT_WORDS: Final = (
    "insufficient_quota",
    "credit_balance_exhausted",
    "billing_not_active",
    "billing_error",
    "enforced_spend_limit_reached",
    _SPENT,
)
# Anthropic's, with the type `invalid_request_error` that stands for much else.
_NOTHING_LEFT: Final = re.compile(r"credit balance is too low|reached your (specified )?(workspace )?API usage limits")
_KEY_WORDS: Final = ("API_KEY_INVALID", "invalid_api_key", "authentication_error")
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)s")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply that is no answer.

    Args:
        status: the HTTP status code.
        reason: the words that stand beside it.
        headers: with lower-case names.
        text: the body.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Who was asked for what, in the words of an error.

    Args:
        vendor: the API's name.
        key_variable: the environment variable of its key.
        target: the model or the deployment, and where: `the model 'm' at https://...`.
    """

    vendor: str
    key_variable: str
    target: str


@dataclass(frozen=True, slots=True)
class _Told:
    """What a body says.

    Args:
        message: the vendor's own; `""` for none.
        words: its codes, types, statuses and reasons, the most telling first.
        request_id: where the body has one.
        retry_delay_seconds: how long to wait, where the body says so.
        filtered: what a content filter objects to: `hate (high)`.
    """

    message: str = ""
    words: tuple[str, ...] = ()
    request_id: str | None = None
    retry_delay_seconds: float | None = None
    filtered: tuple[str, ...] = ()


class _Kind(NamedTuple):
    error: type[ApiError]
    fits: Callable[[int, _Told], bool]
    advice: str


def _says(*words: str) -> Callable[[int, _Told], bool]:
    return lambda _, told: any(word in told.words for word in words)


def _is(*statuses: int) -> Callable[[int, _Told], bool]:
    return lambda status, _: status in statuses


# The first that fits counts: the vendors' own words before the status, which several of them use for many things.
_KINDS: Final = (
    _Kind(
        ContentFilterError,
        _says("content_filter", "ContentFiltered", "ResponsibleAIPolicyViolation", "content_policy_violation"),
        "The content filter objects to the prompt: reword the case, or change the filter that is set for it.",
    ),
    _Kind(
        QuotaError,
        lambda status, told: status == _PAYMENT_REQUIRED or _says(*_SPENT_WORDS)(status, told),
        "No quota or credit is left, and waiting a little does not help: look at the plan and the billing.",
    ),
    _Kind(
        AuthenticationError,
        lambda status, told: status == _UNAUTHORIZED or _says(*_KEY_WORDS)(status, told),
        "Check the key: the environment variable {key_variable}, or api_key.",
    ),
    _Kind(
        PermissionDeniedError,
        _is(_FORBIDDEN),
        "The key in {key_variable} may not do this: check what its project may use, and from where, for {target}.",
    ),
    _Kind(NotFoundError, _is(_NOT_FOUND), "Check {target}."),
    _Kind(NotFoundError, _is(*_REDIRECTS), "It points to {location}. Check {target}."),
    _Kind(
        BadRequestError,
        _is(_TOO_LARGE),
        "The request is too large: shorten its messages, or the files that they name.",
    ),
    _Kind(
        RateLimitError,
        _is(_TOO_MANY),
        "Wait and run again, or send fewer at once.",
    ),
    _Kind(
        ServerError,
        lambda status, _: status >= _SERVER_ERRORS or status in _PASSING,
        "The fault, or the load, is on the API's side: run again later.",
    ),
    _Kind(
        BadRequestError,
        lambda *_: True,
        "The API refuses the request as it stands: look at what the case's snapshot says is sent to {target}.",
    ),
)


def api_error(reply: Reply, asked: Asked, shown: Callable[[str], str]) -> ApiError:
    """The error that a reply comes to.

    Args:
        reply: with a status other than 2xx.
        asked: who was asked for what.
        shown: makes a text of the API's fit to be shown: without the key, and cut.
    """
    told = _told_by(reply)
    kind = next(kind for kind in _KINDS if kind.fits(reply.status, told))
    message = shown(told.message)
    code = next((word for word in told.words if word != _SPENT), None)
    request_id = next((reply.headers[name] for name in _REQUEST_IDS if name in reply.headers), told.request_id)
    head = " ".join(filter(None, (asked.vendor, "answered", str(reply.status), shown(reply.reason))))
    filtered = f" Filtered: {shown(', '.join(told.filtered))}." if told.filtered else ""
    retry_after_seconds = _retry_after_seconds(reply.headers, told)
    wait = "" if retry_after_seconds is None else f"retry after {retry_after_seconds:.3g} s"
    details = ", ".join(filter(None, (code, request_id and f"request {request_id}", wait)))
    location = reply.headers.get("location", "somewhere else")
    advice = kind.advice.format(key_variable=asked.key_variable, target=asked.target, location=location)
    text = f"{head}: {message or '(an empty body)'}\n{advice}{filtered}"
    return kind.error(
        f"{text}\n({shown(details)})" if details else text,
        status=reply.status,
        message=message,
        code=code and shown(code),
        request_id=request_id and shown(request_id),
        retry_after_seconds=retry_after_seconds,
    )


def _retry_after_seconds(headers: Mapping[str, str], told: _Told) -> float | None:
    """How long the API asks to wait, at least 0; `None` if it does not say, or not in a way that can be read."""
    for name, parts_of_a_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        if name in headers:
            try:
                delay = float(headers[name]) / parts_of_a_second
            except ValueError:
                continue
            if math.isfinite(delay):
                return max(delay, 0.0)
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, OverflowError):
        return told.retry_delay_seconds
    # A date without a zone, which HTTP does not have, is taken for UTC.
    until = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def _told_by(reply: Reply) -> _Told:
    try:
        data = json.loads(reply.text)
    except (ValueError, RecursionError):
        return _Told(reply.text.strip())
    # Gemini wraps errors of streams, and some of its gateways all errors, in a list.
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return _Told(reply.text.strip())
    error = data.get("error")
    error = error if isinstance(error, dict) else {"message": error} if isinstance(error, str) else data
    message = error.get("message")
    details = [detail for detail in _list(error.get("details")) if isinstance(detail, dict)]
    words = tuple(dict.fromkeys(_words(error, details)))
    request_id = data.get("request_id")
    return _Told(
        message=message if isinstance(message, str) and message else reply.text.strip(),
        words=words,
        request_id=request_id if isinstance(request_id, str) else None,
        retry_delay_seconds=next(_retry_delays(details), None),
        filtered=tuple(_filtered(error)),
    )


def _words(error: Mapping[str, Any], details: list[dict[str, Any]]) -> Iterator[str]:
    details_of_anthropic = error.get("details")
    found = [detail.get("reason") for detail in details]
    found += [details_of_anthropic.get("error_code")] if isinstance(details_of_anthropic, dict) else []
    found += [error.get("code"), error.get("status"), error.get("type")]
    found += [inner.get("code") for inner in _inner_errors(error)]
    yield from (word for word in found if isinstance(word, str) and word and not word.isdigit())
    # Gemini has one status for all quotas; which one is spent stands in the names of those that it lists.
    violations = [violation for detail in details for violation in _list(detail.get("violations"))]
    if any("PerDay" in str(violation) for violation in violations) or _NOTHING_LEFT.search(str(error.get("message"))):
        yield _SPENT


def _inner_errors(error: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Azure's inner error, in the spelling of its answers and in that of its reference."""
    yield from (inner for name in ("innererror", "inner_error") if isinstance(inner := error.get(name), dict))


def _filtered(error: Mapping[str, Any]) -> Iterator[str]:
    # Its newest form has a list of filters in place of an inner error.
    filters = [one for one in _list(error.get("content_filters")) if isinstance(one, dict)]
    for inner in (*_inner_errors(error), *filters):
        for name in ("content_filter_result", "content_filter_results"):
            results = inner.get(name)
            for category, result in results.items() if isinstance(results, dict) else ():
                if isinstance(result, dict) and result.get("filtered") is True:
                    severity = result.get("severity")
                    yield f"{category} ({severity})" if severity else str(category)


def _retry_delays(details: list[dict[str, Any]]) -> Iterator[float]:
    """The delays of `google.rpc.RetryInfo`: a protobuf duration in JSON, such as `34.5s`."""
    for detail in details:
        match = _DURATION.fullmatch(str(detail.get("retryDelay")))
        if match:
            yield float(match[1])


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

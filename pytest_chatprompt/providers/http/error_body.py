"""Reads the body of an error reply, in the shapes of all vendors.

An `ErrorReply` comes in; an `ErrorBody` comes out: the vendor's message, its error codes, and what else is in the body.
A body in an unknown shape is a message as it stands. Pure; `error_replies` calls it.

Sources: https://platform.openai.com/docs/guides/error-codes,
https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter (and the REST reference, which spells
the filter's part of the body in another way), https://docs.anthropic.com/en/api/errors,
https://ai.google.dev/gemini-api/docs/troubleshooting and https://cloud.google.com/apis/design/errors;
https://docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html and botocore (`parsers.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pytest_chatprompt.providers.reply_text import load_json

# A code of our own, for errors that say only in their text that no quota or credit is left.
NO_QUOTA_CODE: Final = "(no quota)"
# Anthropic's texts for that, whose type, `invalid_request_error`, stands for many other errors too, and Bedrock's.
_NO_CREDIT_TEXT: Final = re.compile(
    r"credit balance is too low|reached your (specified )?(workspace )?API usage limits|Too many tokens per day"
)
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)s")


class ErrorReply(NamedTuple):
    """An HTTP reply with a status other than 2xx.

    Args:
        status: the HTTP status code.
        reason: the reason phrase, such as `Not Found`; `""` for none.
        headers: by lower-case name.
        text: the body, decoded.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    text: str


class ErrorBody(NamedTuple):
    """The contents of an error reply's body.

    Args:
        message: the vendor's message; `""` for none.
        codes: the codes, types, statuses and reasons, the most specific first.
        request_id: the id of the request, if it is in the body.
        retry_delay_seconds: how long to wait, if that is in the body.
        filtered: the categories that a content filter rejected, such as `hate (high)`.
    """

    message: str = ""
    codes: tuple[str, ...] = ()
    request_id: str | None = None
    retry_delay_seconds: float | None = None
    filtered: tuple[str, ...] = ()


def parse_error_body(reply: ErrorReply) -> ErrorBody:
    """Read the body of an error reply.

    Args:
        reply: its text may be anything, such as the HTML page of a proxy.

    Returns:
        The contents; of an unknown shape the whole text as `message`.
    """
    try:
        data = load_json(reply.text)
    except ValueError:
        return ErrorBody(reply.text.strip())
    # Gemini wraps errors of streams in a list, and some of its gateways all errors.
    if isinstance(data, list) and data:
        data = data[0]
    if not isinstance(data, dict):
        return ErrorBody(reply.text.strip())
    error = data.get("error")
    error = error if isinstance(error, dict) else {"message": error} if isinstance(error, str) else data
    # AWS writes it in either way, and the code into a header.
    message = error.get("message", error.get("Message"))
    details = [detail for detail in _list(error.get("details")) if isinstance(detail, dict)]
    request_id = data.get("request_id")
    return ErrorBody(
        message=message if isinstance(message, str) and message else reply.text.strip(),
        codes=tuple(dict.fromkeys((*_aws_codes(reply.headers, data), *_codes(error, details)))),
        request_id=request_id if isinstance(request_id, str) else None,
        retry_delay_seconds=next(_retry_delays(details), None),
        filtered=tuple(_filtered(error)),
    )


def _codes(error: Mapping[str, Any], details: list[dict[str, Any]]) -> Iterator[str]:
    anthropic_details = error.get("details")
    values = [detail.get("reason") for detail in details]
    values += [anthropic_details.get("error_code")] if isinstance(anthropic_details, dict) else []
    values += [error.get("code"), error.get("status"), error.get("type")]
    values += [inner.get("code") for inner in _inner_errors(error)]
    yield from (value for value in values if isinstance(value, str) and value and not value.isdigit())
    # Gemini has one status for all quotas: whether a day's quota is used up is only in the names of the violations.
    violations = [violation for detail in details for violation in _list(detail.get("violations"))]
    if any("PerDay" in str(violation) for violation in violations) or _NO_CREDIT_TEXT.search(str(error.get("message"))):
        yield NO_QUOTA_CODE


def _aws_codes(headers: Mapping[str, str], data: Mapping[str, Any]) -> Iterator[str]:
    """The name of AWS's exception, which may have a namespace before `#` and a URL behind `:`."""
    name = headers.get("x-amzn-errortype") or data.get("__type")
    if isinstance(name, str):
        yield name.partition(":")[0].rpartition("#")[2]


def _inner_errors(error: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Azure's inner error, in the spelling of its replies and in that of its reference."""
    yield from (inner for name in ("innererror", "inner_error") if isinstance(inner := error.get(name), dict))


def _filtered(error: Mapping[str, Any]) -> Iterator[str]:
    """The categories that Azure's content filter rejected."""
    # The newest form has a list of filters in place of an inner error.
    filters = [item for item in _list(error.get("content_filters")) if isinstance(item, dict)]
    for container in (*_inner_errors(error), *filters):
        for name in ("content_filter_result", "content_filter_results"):
            results = container.get(name)
            for category, result in results.items() if isinstance(results, dict) else ():
                if isinstance(result, dict) and result.get("filtered") is True:
                    severity = result.get("severity")
                    yield f"{category} ({severity})" if severity else str(category)


def _retry_delays(details: list[dict[str, Any]]) -> Iterator[float]:
    """The delays of `google.rpc.RetryInfo`, in seconds: a protobuf duration in JSON, such as `34.5s`."""
    for detail in details:
        match = _DURATION.fullmatch(str(detail.get("retryDelay")))
        if match:
            yield float(match[1])


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

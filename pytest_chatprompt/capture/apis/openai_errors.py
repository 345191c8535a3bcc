"""The errors of OpenAI's APIs, and Azure's.

A status and a message come in, the body of the error comes out. Source: https://platform.openai.com/docs/guides/error-codes
and the package `openai` (`_exceptions.py`, `types/shared/error_object.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OPENAI_ERRORS: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout",
    409: "conflict",
    413: "request_too_large",
    422: "unprocessable_entity",
    429: "rate_limit_error",
    500: "server_error",
    503: "service_unavailable",
    529: "overloaded",
}
# (type, code) where OpenAI's own error has others than the word for the status.
_TYPES_AND_CODES: Final = {
    401: ("invalid_request_error", "invalid_api_key"),
    404: ("invalid_request_error", "model_not_found"),
    413: ("invalid_request_error", "request_too_large"),
    429: ("requests", "rate_limit_exceeded"),
}


def openai_error(status: int, message: str) -> dict[str, Any]:
    """The body of an error of OpenAI's APIs."""
    kind, code = _TYPES_AND_CODES.get(status, (OPENAI_ERRORS.get(status, "error"), None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}

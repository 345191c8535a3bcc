"""Error replies, vendor by vendor: which error they become, and its text."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from pytest_chatprompt import (
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
from pytest_chatprompt.providers.http.error_replies import ErrorContext, error_from_reply

CONTEXT = ErrorContext("Vendor", "VENDOR_API_KEY", "the model 'm'", str)
CHECK_KEY = "Check the key: the environment variable VENDOR_API_KEY, or api_key."
REJECTED = "The API rejected the request: look in the case's snapshot at what is sent to the model 'm'."
LATER = "The API has a fault or is overloaded: run again later."
WAIT = "Wait and run again, or send fewer requests at once."
NOT_ALLOWED = (
    "The key in VENDOR_API_KEY may not do this: check what its project may use, and from where, for the model 'm'."
)
NO_QUOTA = "No quota or credit is left, and waiting a little does not help: check your plan and billing."
TOO_LARGE = "The request is too large: shorten its messages, or the files that they name."
FILTERED = "The content filter rejected the prompt: reword the case, or change the filter's settings."


def openai(message: str, error_type: str, code: str | None) -> dict[str, Any]:
    return {"error": {"message": message, "type": error_type, "param": None, "code": code}}


def azure(code: str, message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, **more}}


def anthropic(error_type: str, message: str, **more: Any) -> dict[str, Any]:
    error = {"type": error_type, "message": message, **more}
    return {"type": "error", "error": error, "request_id": "req_body"}


def gemini(code: int, status: str, message: str, *details: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    return {"error": {**error, "details": list(details)} if details else error}


def error_info(reason: str) -> dict[str, Any]:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "googleapis.com"}


RESULTS = {
    "hate": {"filtered": True, "severity": "high"},
    "jailbreak": {"filtered": True, "detected": True},
    "sexual": {"filtered": False, "severity": "safe"},
}


def error_of(status: int, body: Any, **headers: str) -> APIStatusError:
    text = body if isinstance(body, str) else json.dumps(body)
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    reason = "Overloaded" if status == 529 else httpx.codes.get_reason_phrase(status)
    extensions = {"reason_phrase": reason.encode()}
    reply = httpx.Response(status, headers=fields, content=text.encode(), extensions=extensions)
    return error_from_reply(reply, CONTEXT)


@pytest.mark.parametrize(
    ("status", "body", "headers", "error_class", "text"),
    [
        pytest.param(
            400,
            openai("max_tokens is too large: 200000.", "invalid_request_error", "invalid_value"),
            {"x_request_id": "req_1"},
            BadRequestError,
            f"400 Bad Request: max_tokens is too large: 200000.\n{REJECTED}\n(invalid_value, request req_1)",
            id="OpenAI 400",
        ),
        pytest.param(
            401,
            openai("Incorrect API key provided: sk-x.", "invalid_request_error", "invalid_api_key"),
            {"x_request_id": "req_1"},
            AuthenticationError,
            f"401 Unauthorized: Incorrect API key provided: sk-x.\n{CHECK_KEY}\n(invalid_api_key, request req_1)",
            id="OpenAI 401",
        ),
        pytest.param(
            403,
            openai(
                "Country, region, or territory not supported",
                "request_forbidden",
                "unsupported_country_region_territory",
            ),
            {},
            PermissionDeniedError,
            f"403 Forbidden: Country, region, or territory not supported\n{NOT_ALLOWED}\n(unsupported_country_region_territory)",
            id="OpenAI 403",
        ),
        pytest.param(
            404,
            openai(
                "The model `m` does not exist or you do not have access to it.",
                "invalid_request_error",
                "model_not_found",
            ),
            {},
            NotFoundError,
            "404 Not Found: The model `m` does not exist or you do not have access to it.\nCheck the model 'm'.\n(model_not_found)",
            id="OpenAI 404",
        ),
        pytest.param(
            413,
            "<html><h1>413 Request Entity Too Large</h1></html>\n",
            {},
            BadRequestError,
            f"413 Request Entity Too Large: <html><h1>413 Request Entity Too Large</h1></html>\n{TOO_LARGE}",
            id="413 from a proxy",
        ),
        pytest.param(
            429,
            openai("Rate limit reached for gpt-5.5.", "tokens", "rate_limit_exceeded"),
            {"x_request_id": "req_1"},
            RateLimitError,
            f"429 Too Many Requests: Rate limit reached for gpt-5.5.\n{WAIT}\n(rate_limit_exceeded, request req_1)",
            id="OpenAI 429",
        ),
        pytest.param(
            429,
            openai("You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
            {},
            QuotaError,
            f"429 Too Many Requests: You exceeded your current quota.\n{NO_QUOTA}\n(insufficient_quota)",
            id="OpenAI 429 without quota",
        ),
        pytest.param(
            500,
            openai("The server had an error while processing your request.", "server_error", None),
            {},
            InternalServerError,
            f"500 Internal Server Error: The server had an error while processing your request.\n{LATER}\n(server_error)",
            id="OpenAI 500",
        ),
        pytest.param(
            409,
            openai("Try again.", "conflict", None),
            {},
            InternalServerError,
            f"409 Conflict: Try again.\n{LATER}\n(conflict)",
            id="409",
        ),
        pytest.param(
            503,
            openai("The engine is currently overloaded.", "server_error", None),
            {},
            InternalServerError,
            f"503 Service Unavailable: The engine is currently overloaded.\n{LATER}\n(server_error)",
            id="OpenAI 503",
        ),
        pytest.param(
            404,
            {"error": "model 'm' not found"},
            {},
            NotFoundError,
            "404 Not Found: model 'm' not found\nCheck the model 'm'.",
            id="Ollama 404",
        ),
        pytest.param(
            401,
            azure("401", "Access denied due to invalid subscription key or wrong API endpoint."),
            {"apim_request_id": "a1", "x_request_id": "x1"},
            AuthenticationError,
            "401 Unauthorized: Access denied due to invalid subscription key or wrong API endpoint.\n"
            f"{CHECK_KEY}\n(request a1)",
            id="Azure 401",
        ),
        pytest.param(
            404,
            azure("DeploymentNotFound", "The API deployment for this resource does not exist."),
            {},
            NotFoundError,
            "404 Not Found: The API deployment for this resource does not exist.\nCheck the model 'm'.\n(DeploymentNotFound)",
            id="Azure 404",
        ),
        pytest.param(
            429,
            {"statusCode": 429, "message": "Rate limit is exceeded. Try again in 7 seconds."},
            {},
            RateLimitError,
            f"429 Too Many Requests: Rate limit is exceeded. Try again in 7 seconds.\n{WAIT}",
            id="Azure 429 from its gateway",
        ),
        pytest.param(
            400,
            azure(
                "content_filter",
                "The response was filtered.",
                param="prompt",
                type=None,
                status=400,
                innererror={"code": "ResponsibleAIPolicyViolation", "content_filter_result": RESULTS},
            ),
            {},
            ContentFilterError,
            f"400 Bad Request: The response was filtered.\n{FILTERED} Filtered: hate (high), jailbreak.\n(content_filter)",
            id="Azure's content filter",
        ),
        pytest.param(
            400,
            azure(
                "content_filter",
                "The prompt was filtered.",
                type="invalid_request_error",
                content_filters=[{"blocked": True, "source_type": "prompt", "content_filter_results": RESULTS}],
                innererror={"code": "ContentFiltered"},
            ),
            {},
            ContentFilterError,
            f"400 Bad Request: The prompt was filtered.\n{FILTERED} Filtered: hate (high), jailbreak.\n(content_filter)",
            id="Azure's content filter, in its newest form",
        ),
        pytest.param(
            400,
            anthropic("invalid_request_error", "messages: at least one message is required"),
            {"request_id": "req_header"},
            BadRequestError,
            f"400 Bad Request: messages: at least one message is required\n{REJECTED}\n(invalid_request_error, request req_header)",
            id="Anthropic 400",
        ),
        pytest.param(
            400,
            anthropic("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
            {},
            QuotaError,
            f"400 Bad Request: Your credit balance is too low to access the Anthropic API.\n{NO_QUOTA}\n"
            "(invalid_request_error, request req_body)",
            id="Anthropic 400 without credit",
        ),
        pytest.param(
            401,
            anthropic("authentication_error", "invalid x-api-key"),
            {},
            AuthenticationError,
            f"401 Unauthorized: invalid x-api-key\n{CHECK_KEY}\n(authentication_error, request req_body)",
            id="Anthropic 401",
        ),
        pytest.param(
            402,
            anthropic("billing_error", "Check your payment details."),
            {},
            QuotaError,
            f"402 Payment Required: Check your payment details.\n{NO_QUOTA}\n(billing_error, request req_body)",
            id="Anthropic 402",
        ),
        pytest.param(
            403,
            anthropic("permission_error", "Your API key does not have permission to use the specified resource."),
            {},
            PermissionDeniedError,
            "403 Forbidden: Your API key does not have permission to use the specified resource.\n"
            f"{NOT_ALLOWED}\n(permission_error, request req_body)",
            id="Anthropic 403",
        ),
        pytest.param(
            404,
            anthropic("not_found_error", "model: claude-x"),
            {},
            NotFoundError,
            "404 Not Found: model: claude-x\nCheck the model 'm'.\n(not_found_error, request req_body)",
            id="Anthropic 404",
        ),
        pytest.param(
            413,
            anthropic("request_too_large", "Request exceeds the maximum allowed number of bytes."),
            {},
            BadRequestError,
            "413 Request Entity Too Large: Request exceeds the maximum allowed number of bytes.\n"
            f"{TOO_LARGE}\n(request_too_large, request req_body)",
            id="Anthropic 413",
        ),
        pytest.param(
            429,
            anthropic("rate_limit_error", "This request would exceed your organization's rate limit."),
            {},
            RateLimitError,
            "429 Too Many Requests: This request would exceed your organization's rate limit.\n"
            f"{WAIT}\n(rate_limit_error, request req_body)",
            id="Anthropic 429",
        ),
        pytest.param(
            429,
            anthropic(
                "rate_limit_error",
                "You have reached your API usage limits.",
                details={"error_code": "enforced_spend_limit_reached"},
            ),
            {},
            QuotaError,
            "429 Too Many Requests: You have reached your API usage limits.\n"
            f"{NO_QUOTA}\n(enforced_spend_limit_reached, request req_body)",
            id="Anthropic 429 at the spend limit",
        ),
        pytest.param(
            500,
            anthropic("api_error", "Internal server error"),
            {},
            InternalServerError,
            f"500 Internal Server Error: Internal server error\n{LATER}\n(api_error, request req_body)",
            id="Anthropic 500",
        ),
        pytest.param(
            529,
            anthropic("overloaded_error", "Overloaded"),
            {},
            InternalServerError,
            f"529 Overloaded: Overloaded\n{LATER}\n(overloaded_error, request req_body)",
            id="Anthropic 529",
        ),
        pytest.param(
            400,
            gemini(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
                error_info("API_KEY_INVALID"),
            ),
            {},
            AuthenticationError,
            f"400 Bad Request: API key not valid. Please pass a valid API key.\n{CHECK_KEY}\n(API_KEY_INVALID)",
            id="Gemini 400 for a bad key",
        ),
        pytest.param(
            400,
            [gemini(400, "INVALID_ARGUMENT", "Please ensure that the number of function response parts is equal.")],
            {},
            BadRequestError,
            f"400 Bad Request: Please ensure that the number of function response parts is equal.\n{REJECTED}\n(INVALID_ARGUMENT)",
            id="Gemini 400, in a list",
        ),
        pytest.param(
            403,
            gemini(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers."),
            {},
            PermissionDeniedError,
            f"403 Forbidden: Method doesn't allow unregistered callers.\n{NOT_ALLOWED}\n(PERMISSION_DENIED)",
            id="Gemini 403",
        ),
        pytest.param(
            404,
            gemini(404, "NOT_FOUND", "models/m is not found for API version v1beta."),
            {},
            NotFoundError,
            "404 Not Found: models/m is not found for API version v1beta.\nCheck the model 'm'.\n(NOT_FOUND)",
            id="Gemini 404",
        ),
        pytest.param(
            429,
            gemini(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota.",
                {
                    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                    "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}],
                },
            ),
            {},
            RateLimitError,
            f"429 Too Many Requests: You exceeded your current quota.\n{WAIT}\n(RESOURCE_EXHAUSTED)",
            id="Gemini 429 for a minute",
        ),
        pytest.param(
            429,
            gemini(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota.",
                {
                    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}],
                },
            ),
            {},
            QuotaError,
            f"429 Too Many Requests: You exceeded your current quota.\n{NO_QUOTA}\n(RESOURCE_EXHAUSTED)",
            id="Gemini 429 for a day",
        ),
        pytest.param(
            402,
            gemini(402, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted."),
            {},
            QuotaError,
            f"402 Payment Required: Your prepayment credits are depleted.\n{NO_QUOTA}\n(RESOURCE_EXHAUSTED)",
            id="Gemini 402",
        ),
        pytest.param(
            500,
            gemini(500, "INTERNAL", "An internal error has occurred."),
            {},
            InternalServerError,
            f"500 Internal Server Error: An internal error has occurred.\n{LATER}\n(INTERNAL)",
            id="Gemini 500",
        ),
        pytest.param(
            503,
            gemini(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
            {},
            InternalServerError,
            f"503 Service Unavailable: The model is overloaded. Please try again later.\n{LATER}\n(UNAVAILABLE)",
            id="Gemini 503",
        ),
        pytest.param(
            307,
            "",
            {"location": "https://elsewhere.example/v1"},
            NotFoundError,
            "307 Temporary Redirect: (an empty body)\nIt redirects to https://elsewhere.example/v1. Check the model 'm'.",
            id="a redirect",
        ),
        pytest.param(
            302,
            "",
            {"location": "https://me:pw@sso.example/login?code=hX8s9dKq2mPz71Lw#access_token=hX8s9dKq2mPz71Lw"},
            NotFoundError,
            "302 Found: (an empty body)\nIt redirects to https://sso.example/login. Check the model 'm'.",
            id="a redirect with secrets in its URL",
        ),
        pytest.param(
            429,
            openai("Slow down.", "requests", "rate_limit_exceeded"),
            {"retry_after": "86400", "x_request_id": "req_1"},
            RateLimitError,
            f"429 Too Many Requests: Slow down.\n{WAIT}\n(rate_limit_exceeded, request req_1, retry after 86400 s)",
            id="a long wait",
        ),
        pytest.param(
            502, "", {}, InternalServerError, f"502 Bad Gateway: (an empty body)\n{LATER}", id="an empty body"
        ),
        pytest.param(
            500,
            '{"error": {"mess',
            {},
            InternalServerError,
            f'500 Internal Server Error: {{"error": {{"mess\n{LATER}',
            id="a truncated body",
        ),
        pytest.param(
            422,
            {"detail": "no"},
            {},
            BadRequestError,
            f'422 Unprocessable Entity: {{"detail": "no"}}\n{REJECTED}',
            id="another shape",
        ),
        pytest.param(500, "[]", {}, InternalServerError, f"500 Internal Server Error: []\n{LATER}", id="an empty list"),
        pytest.param(500, "7", {}, InternalServerError, f"500 Internal Server Error: 7\n{LATER}", id="a number"),
        pytest.param(
            400,
            {"error": {"message": 5, "code": 3, "details": "x", "innererror": 1}, "request_id": 4},
            {},
            BadRequestError,
            '400 Bad Request: {"error": {"message": 5, "code": 3, "details": "x", "innererror": 1}, "request_id": 4}\n'
            + REJECTED,
            id="values of unexpected types",
        ),
        pytest.param(
            400,
            {
                "error": {
                    "message": "m",
                    "details": ["x"],
                    "innererror": {"code": 1, "content_filter_result": {"hate": True}},
                }
            },
            {},
            BadRequestError,
            f"400 Bad Request: m\n{REJECTED}",
            id="nested values of unexpected types",
        ),
        pytest.param(
            400,
            {"message": "A conversation must start with a user message."},
            {"x-amzn-errortype": "ValidationException:http://internal.amazon.com/coral/x/", "x-amzn-requestid": "r"},
            BadRequestError,
            f"400 Bad Request: A conversation must start with a user message.\n{REJECTED}\n"
            "(ValidationException, request r)",
            id="bedrock: a bad request",
        ),
        pytest.param(
            403,
            {"__type": "com.amazon.coral.service#ExpiredTokenException", "Message": "The token has expired"},
            {},
            AuthenticationError,
            "403 Forbidden: The token has expired\n"
            "Check the key: the environment variable VENDOR_API_KEY, or api_key.\n(ExpiredTokenException)",
            id="bedrock: credentials that have expired",
        ),
        pytest.param(
            403,
            {"Message": "You don't have access to the model with the specified model ID."},
            {"x-amzn-errortype": "AccessDeniedException"},
            PermissionDeniedError,
            "403 Forbidden: You don't have access to the model with the specified model ID.\n"
            f"{NOT_ALLOWED}\n(AccessDeniedException)",
            id="bedrock: no access to a model",
        ),
        pytest.param(
            424,
            {"message": "The model failed."},
            {"x-amzn-errortype": "ModelErrorException"},
            InternalServerError,
            f"424 Failed Dependency: The model failed.\n{LATER}\n(ModelErrorException)",
            id="bedrock: the model failed",
        ),
        pytest.param(
            429,
            {"message": "Too many tokens, please wait before trying again."},
            {"x-amzn-errortype": "ThrottlingException"},
            RateLimitError,
            f"429 Too Many Requests: Too many tokens, please wait before trying again.\n{WAIT}\n(ThrottlingException)",
            id="bedrock: throttled",
        ),
        pytest.param(
            429,
            {"message": "Too many tokens per day, please wait before trying again."},
            {"x-amzn-errortype": "ThrottlingException"},
            QuotaError,
            "429 Too Many Requests: Too many tokens per day, please wait before trying again.\n"
            f"{NO_QUOTA}\n(ThrottlingException)",
            id="bedrock: the tokens of a day are used up",
        ),
    ],
)
def test_an_error_says_what_happened_and_what_to_do(
    status: int, body: Any, headers: dict[str, str], error_class: type[APIStatusError], text: str
) -> None:
    error = error_of(status, body, **headers)
    assert str(error) == f"Vendor answered {text}"
    assert type(error) is error_class
    assert error.status == status


def test_programs_can_read_message_code_request_id_and_wait() -> None:
    body = openai("Rate limit reached.", "tokens", "rate_limit_exceeded")
    error = error_of(429, body, x_request_id="req_1", retry_after="3")
    assert (error.message, error.code, error.request_id, error.retry_after_seconds) == (
        "Rate limit reached.",
        "rate_limit_exceeded",
        "req_1",
        3.0,
    )


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        pytest.param({}, None, id="nothing"),
        pytest.param({"retry_after_ms": "250", "retry_after": "9"}, 0.25, id="milliseconds come first"),
        pytest.param({"retry_after": "1.5"}, 1.5, id="seconds"),
        pytest.param({"retry_after": "-1"}, 0.0, id="a negative number of seconds"),
        pytest.param({"retry_after": "soon"}, None, id="not a number"),
        pytest.param({"retry_after": "inf"}, None, id="infinite"),
        pytest.param({"retry_after_ms": "x", "retry_after": "2"}, 2.0, id="milliseconds that are not a number"),
        pytest.param({"retry_after": "Sun, 06 Nov 1994 08:49:37 GMT"}, None, id="a date"),
    ],
)
def test_the_wait_is_read_from_the_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert error_of(429, "", **headers).retry_after_seconds == seconds


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [pytest.param("34.5s", 34.5, id="a duration"), pytest.param("later", None, id="not a duration")],
)
def test_the_wait_is_read_from_geminis_body(delay: str, seconds: float | None) -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    assert error_of(429, gemini(429, "RESOURCE_EXHAUSTED", "m", info)).retry_after_seconds == seconds

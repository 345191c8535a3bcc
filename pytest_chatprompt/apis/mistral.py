"""Mistral's chat completions and embeddings: OpenAI's, except the ids, the streams and the errors.

Source: https://docs.mistral.ai/api, and the package `mistralai` (`client/models/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, ClassVar, Final

from pytest_chatprompt.apis.answer import Answer, AnswerToolCall, ModelRequest
from pytest_chatprompt.apis.model_api import pieces, server_sent_event
from pytest_chatprompt.apis.openai import OpenAIChat
from pytest_chatprompt.apis.openai_embeddings import OpenAIEmbeddings
from pytest_chatprompt.apis.reply import Reply

_ID_LENGTH: Final = 9
_ERRORS: Final[Mapping[int, str]] = {
    400: "invalid_request_error",
    401: "invalid_request_unauthorized",
    403: "invalid_request_forbidden",
    404: "invalid_request_not_found",
    422: "invalid_request_error",
    429: "rate_limited",
    500: "internal_server_error",
    503: "service_unavailable",
    529: "service_unavailable",
}


class MistralChat(OpenAIChat):
    """Mistral's chat completions; only the host tells them from OpenAI's."""

    price_vendor = "mistral"
    finish_reasons: ClassVar[Mapping[str, str]] = {"content_filter": "error"}
    error_words = _ERRORS

    def call_id(self, call: AnswerToolCall) -> str:
        """Make an id of nine letters and digits, the only form that Mistral accepts."""
        return call.id or call.digest[:_ID_LENGTH]

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """OpenAI's body with only the fields that Mistral sends."""
        body = super().body(model_request, answer)
        for choice in body["choices"]:
            message = choice["message"]
            choice["message"] = {
                "role": "assistant",
                "tool_calls": message.get("tool_calls"),
                "content": message["content"] or "",
            }
            del choice["logprobs"]
        usage = {name: count for name, count in body["usage"].items() if name.endswith("_tokens")}
        kept = {key: body[key] for key in ("object", "created", "model", "choices")}
        return {"id": answer.digest[:32], **kept, "usage": usage}

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """Chunks: the text piece by piece, all calls at once, the usage with the last one."""
        head = {**body, "object": "chat.completion.chunk"}
        del head["usage"]
        for choice in body["choices"]:
            message, index = choice["message"], choice["index"]
            begin = {"index": index, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}
            yield server_sent_event({**head, "choices": [begin]})
            for piece in pieces(message["content"]):
                yield server_sent_event(
                    {**head, "choices": [{"index": index, "delta": {"content": piece}, "finish_reason": None}]}
                )
            delta: dict[str, Any] = {"content": ""}
            if message["tool_calls"]:
                calls = [{**call, "index": place} for place, call in enumerate(message["tool_calls"])]
                delta = {"content": "", "tool_calls": calls}
            end = {"index": index, "delta": delta, "finish_reason": choice["finish_reason"]}
            yield server_sent_event({**head, "choices": [end], "usage": body["usage"]})
        yield b"data: [DONE]\n\n"

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:
        """The body of an error; status 422 has a list of details."""
        return _error(model_request, status, message)


class MistralEmbeddings(OpenAIEmbeddings):
    """Mistral's embeddings; only the host tells them from OpenAI's."""

    price_vendor = "mistral"
    error_words = _ERRORS

    def reply_body(self, model_request: ModelRequest, reply: Reply | None) -> dict[str, Any]:
        """OpenAI's body, with an id."""
        body = super().reply_body(model_request, reply)
        usage = {**body["usage"], "completion_tokens": 0}
        return {"id": model_request.digest[:32], **body, "usage": usage}

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:
        """The body of an error in Mistral's shape."""
        return _error(model_request, status, message)


def _error(model_request: ModelRequest, status: int, message: str) -> dict[str, Any]:
    kind = _ERRORS.get(status, "error")
    if status == HTTPStatus.UNPROCESSABLE_ENTITY:
        return {"detail": [{"loc": ["body"], "msg": message, "type": kind}]}
    request_id = f"req_{model_request.digest[:24]}"
    return {"object": "error", "message": message, "type": kind, "param": None, "code": None, "request_id": request_id}

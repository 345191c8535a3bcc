"""Amazon Bedrock's Converse API: `converse` and `converse-stream`.

Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, and the package `botocore`
(`data/bedrock-runtime/`). `table` lists the API; `bedrock_messages` reads its requests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pytest_chatprompt.capture.apis.aws_event_stream import event_message
from pytest_chatprompt.capture.apis.bedrock_messages import read_messages
from pytest_chatprompt.capture.apis.completion import Answer
from pytest_chatprompt.capture.apis.conversation import Conversation
from pytest_chatprompt.capture.apis.json_text import json_text
from pytest_chatprompt.capture.apis.model_api import ChatAPI
from pytest_chatprompt.capture.apis.model_request import Demand, ModelRequest, Tool, force
from pytest_chatprompt.capture.apis.reading import as_items, as_mapping
from pytest_chatprompt.capture.apis.reply_stream import pieces


class BedrockConverse(ChatAPI):
    """Amazon Bedrock's Converse API."""

    name = "bedrock"
    path = r"/model/.+/converse(-stream)?$"
    # https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html
    prompt_keys = ("toolConfig", "system", "messages")
    stream_type = "application/vnd.amazon.eventstream"
    finish_reasons: ClassVar[Mapping[str, str]] = {
        "stop": "end_turn",
        "length": "max_tokens",
        "tool_calls": "tool_use",
        "content_filter": "content_filtered",
    }
    error_words: ClassVar[Mapping[int, str]] = {
        400: "ValidationException",
        401: "UnrecognizedClientException",
        403: "AccessDeniedException",
        404: "ResourceNotFoundException",
        408: "ModelTimeoutException",
        409: "ConflictException",
        413: "ValidationException",
        422: "ValidationException",
        424: "ModelErrorException",
        429: "ThrottlingException",
        500: "InternalServerException",
        503: "ServiceUnavailableException",
        529: "ServiceUnavailableException",
    }

    def is_streamed(self, model_request: ModelRequest) -> bool:
        """Whether the path asks for a stream."""
        return model_request.path.endswith("-stream")

    def headers(self, model_request: ModelRequest) -> Mapping[str, str]:
        """The id of the request, under Amazon's own name."""
        return {"x-amzn-requestid": model_request.digest[:32]}

    def error_headers(self, status: int) -> Mapping[str, str]:
        """The name of the exception, by which botocore knows it."""
        return {**super().error_headers(status), "x-amzn-errortype": self.error_words.get(status, "UnknownException")}

    def demand(self, model_request: ModelRequest) -> Demand:
        """Read `outputConfig` and `toolConfig`."""
        config = as_mapping(model_request.body.get("toolConfig"))
        specs = [as_mapping(as_mapping(tool).get("toolSpec")) for tool in as_items(config.get("tools"))]
        tools = [
            Tool(spec["name"], as_mapping(spec.get("inputSchema")).get("json") or {})
            for spec in specs
            if isinstance(spec.get("name"), str)
        ]
        choice = as_mapping(config.get("toolChoice"))
        if "any" in choice:
            return Demand(tools, force(tools), _schema(model_request.body))
        forced = force(tools, [as_mapping(choice["tool"]).get("name")]) if "tool" in choice else ()
        return Demand(tools, forced, _schema(model_request.body))

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:  # noqa: ARG002 - the answer says it all
        """The body of the reply, a `ConverseResponse`."""
        content: list[dict[str, Any]] = [] if answer.text is None else [{"text": answer.text}]
        content += [
            {"toolUse": {"toolUseId": call.id or f"tooluse_{call.digest}", "name": call.name, "input": call.arguments}}
            for call in answer.tool_calls
        ]
        return {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": self.finish_reason(answer),
            "usage": {
                "inputTokens": answer.input_tokens,
                "outputTokens": answer.output_tokens,
                "totalTokens": answer.total_tokens,
                "cacheReadInputTokens": 0,
                "cacheWriteInputTokens": 0,
            },
            "metrics": {"latencyMs": 0},
        }

    def stream(self, model_request: ModelRequest, body: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG002 - all is in the body
        """The events of a message."""
        return (event_message(event, data) for event, data in _events(body))

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the headers say it
        """The body of an error: only the message."""
        return {"message": message}

    def read_conversation(self, path: str, body: Any) -> Conversation:  # noqa: ARG002 - the path says nothing
        """Read `system` and `messages`."""
        return Conversation(read_messages(as_mapping(body)))


def _schema(body: Mapping[str, Any]) -> Any:
    """The schema of the text, which the request gives as JSON text."""
    wanted = as_mapping(as_mapping(body.get("outputConfig")).get("textFormat"))
    definition = as_mapping(as_mapping(wanted.get("structure")).get("jsonSchema"))
    if "schema" not in definition:
        return None
    try:
        return json.loads(definition["schema"])
    except (TypeError, ValueError, RecursionError):
        return {"type": "object"}


def _events(body: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    message = body["output"]["message"]
    yield "messageStart", {"role": message["role"]}
    for index, block in enumerate(message["content"]):
        place = {"contentBlockIndex": index}
        if "toolUse" in block:
            use = block["toolUse"]
            start = {"toolUseId": use["toolUseId"], "name": use["name"]}
            yield "contentBlockStart", {"start": {"toolUse": start}, **place}
            for piece in pieces(json_text(use["input"])):
                yield "contentBlockDelta", {"delta": {"toolUse": {"input": piece}}, **place}
        else:
            for piece in pieces(block["text"]):
                yield "contentBlockDelta", {"delta": {"text": piece}, **place}
        yield "contentBlockStop", place
    yield "messageStop", {"stopReason": body["stopReason"]}
    yield "metadata", {"usage": body["usage"], "metrics": body["metrics"]}

"""What Node's packages need: their folder, and the replies of an API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

FOLDER = Path(__file__).parents[3] / ".venv-clients" / "node"
EVENT_STREAM = {"content-type": "text/event-stream"}


def responses_stream(text: str) -> Iterator[bytes]:
    """The events of a reply of OpenAI's Responses API (https://platform.openai.com/docs/api-reference/responses-streaming)."""
    usage = {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 2,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 5,
    }
    response: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 0, "model": "m", "output": []}
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [part]}
    place = {"output_index": 0, "item_id": "msg_1", "content_index": 0}
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": {**response, "status": "in_progress"}}),
        ("response.output_item.added", {"output_index": 0, "item": {**item, "status": "in_progress", "content": []}}),
        ("response.content_part.added", {**place, "part": {**part, "text": ""}}),
        ("response.output_text.delta", {**place, "delta": text}),
        ("response.output_text.done", {**place, "text": text}),
        ("response.content_part.done", {**place, "part": part}),
        ("response.output_item.done", {"output_index": 0, "item": item}),
        ("response.completed", {"response": {**response, "status": "completed", "output": [item], "usage": usage}}),
    ]
    for number, (name, data) in enumerate(events):
        event = {"type": name, "sequence_number": number, **data}
        yield f"event: {name}\ndata: {json.dumps(event)}\n\n".encode()


def chat_reply(request: httpx.Request) -> httpx.Response:
    """A reply of chat completions, streamed where the request asks for it."""
    completion = {"id": "chatcmpl-1", "created": 0, "model": "m"}
    words = ["hello ", "from ", "here"]
    if json.loads(request.content).get("stream"):
        deltas = [{"index": 0, "delta": {"content": word}, "finish_reason": None} for word in words]
        chunks = [{**completion, "object": "chat.completion.chunk", "choices": [delta]} for delta in deltas]
        lines = [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks]
        return httpx.Response(200, headers=EVENT_STREAM, content=iter([*lines, b"data: [DONE]\n\n"]))
    message = {"role": "assistant", "content": "".join(words)}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return httpx.Response(200, json={**completion, "object": "chat.completion", "choices": [choice]})

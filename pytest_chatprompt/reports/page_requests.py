"""Sent requests: what the data of a snapshot shows, request by request, as a conversation.

The data of a snapshot comes in, of an eval case, an agent or an ordinary test; JSON data for the page comes out: for
each request its endpoint, its settings, the names of its tools, and its turns, read back by its API. Pure; `page_data`
calls it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_chatprompt.apis.conversation import Conversation, ConversationToolCall, Part, Thought, ToolResult
from pytest_chatprompt.apis.table import find_api, get_api
from pytest_chatprompt.providers.http.request_body import read_body

# Where APIs have settings of a request beside those at the top.
_SETTING_GROUPS: Final = ("generationConfig", "inferenceConfig", "options")
# Texts of the conversation, which its turns show.
_TEXTS: Final = frozenset({"system", "instructions", "input", "prompt", "message"})
_LONGEST_SETTING: Final = 80


def page_requests(data: Any) -> list[dict[str, Any]]:
    """The requests that a snapshot shows, as JSON data.

    Args:
        data: of the snapshot, of any shape.

    Returns:
        For each request its `turns`, and if there are any `endpoint`, `settings`, `tools`; empty if it shows none. The
        requests to a judge come last.
    """
    return [*_requests(data), *_requests_to_judge(data)] if isinstance(data, Mapping) else []


def _requests_to_judge(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    asked = data.get("judge")
    for entry in asked if isinstance(asked, list) else ():
        for request in _requests(entry) if isinstance(entry, Mapping) else ():
            yield {"endpoint": ": ".join(filter(None, ("to the judge", request.pop("endpoint", "")))), **request}


def _requests(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    endpoint = data.get("endpoint")
    if isinstance(endpoint, str) and "request" in data:
        yield _request(endpoint, data)
        return
    if isinstance(data.get("prompt"), str) and "argv" in data:
        yield {"endpoint": "prompt of the agent", "turns": [{"role": "user", "parts": [data["prompt"]]}]}
    elif isinstance(data.get("messages"), list):
        conversation = get_api("openai-chat").read_conversation("", {"messages": data["messages"]})
        yield {"turns": _turns(conversation)}
    requests = data.get("requests")
    for request in requests if isinstance(requests, list) else ():
        if isinstance(request, Mapping) and isinstance(request.get("endpoint"), str):
            yield _request(request["endpoint"], request)


def _request(endpoint: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    body, headers = read_body(entry.get("request")), entry.get("headers")
    method, _, target = endpoint.partition(" ")
    path = target.partition("?")[0]
    api = find_api(method, path)
    if api is not None:
        turns = _turns(api.read_conversation(path, body))
    else:
        # The API is not known: people read the question, if the snapshot has one.
        question = entry.get("question")
        turns = [{"role": "question", "parts": [question]}] if isinstance(question, str) else []
    # What a header says is a setting too.
    settings = [*_settings(headers), *_settings(body)]
    shown = {"endpoint": endpoint, "settings": settings, "tools": _tools(body), "turns": turns}
    return {key: value for key, value in shown.items() if value or key == "turns"}


def _settings(body: Any) -> list[list[str]]:
    """The settings of a request: its scalars, without the texts of the conversation."""
    if not isinstance(body, Mapping):
        return []
    groups = [body, *(body[group] for group in _SETTING_GROUPS if isinstance(body.get(group), Mapping))]
    return [
        [key, _scalar(value)]
        for group in groups
        for key, value in group.items()
        if isinstance(value, str | int | float | bool) and key not in _TEXTS
    ]


def _scalar(value: str | int | float | bool) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return text if len(text) <= _LONGEST_SETTING else f"{text[:_LONGEST_SETTING]}…"


def _tools(body: Any) -> list[str]:
    """The names of the tools that a request offers, in the shape of any API."""
    if not isinstance(body, Mapping):
        return []
    tools = body.get("tools")
    config = body.get("toolConfig")
    if tools is None and isinstance(config, Mapping):
        tools = config.get("tools")
    return [name for tool in (tools if isinstance(tools, list) else ()) for name in _tool_names(tool)]


def _tool_names(tool: Any) -> Iterator[str]:
    if not isinstance(tool, Mapping):
        return
    declarations = tool.get("functionDeclarations", tool.get("function_declarations"))
    if isinstance(declarations, list):
        for declaration in declarations:
            yield from _tool_names(declaration)
        return
    holders = (tool, *(tool[key] for key in ("function", "toolSpec", "custom") if isinstance(tool.get(key), Mapping)))
    names = [holder["name"] for holder in holders if isinstance(holder.get("name"), str)]
    kind = tool.get("type")
    yield from names[:1] or ([kind] if isinstance(kind, str) else [])


def _turns(conversation: Conversation) -> list[dict[str, Any]]:
    return [{"role": turn.role, "parts": [_part(part) for part in turn.parts]} for turn in conversation.turns]


def _part(part: Part) -> str | dict[str, Any]:
    match part:
        case str():
            return part
        case Thought():
            return {"kind": "thought", "text": part.text}
        case ConversationToolCall():
            return {"kind": "call", "name": part.name, "id": part.id, "text": part.arguments}
        case ToolResult():
            return {"kind": "result", "name": part.name, "id": part.call_id, "parts": [_part(p) for p in part.parts]}
    return {"kind": "media", "text": str(part)}

"""What answers a request offline: what the request demands, a queued `Reply`, and the `Answer` made of both.

Without a queued reply, the answer is the smallest valid one. Equal input gives equal output, ids included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

from pytest_chatprompt.apis.conversation import Conversation, as_mapping
from pytest_chatprompt.apis.json_body import json_text
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.providers.http.request_body import decode_body, read_body
from pytest_chatprompt.providers.response import OFFLINE_TEXT


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model.

    Args:
        path: of the URL, decoded.
        query: its parameters, each by its first value.
        body: the JSON object; empty if the body is something else.
        digest: 40 hexadecimal digits of path and body.
    """

    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any]
    digest: str

    @classmethod
    def from_httpx(cls, request: httpx.Request) -> Self:
        """Read an httpx request, whose body has been read."""
        body = read_body(decode_body(request.content, request.headers))
        seed = f"{request.url.path}\n{json_text(body)}"
        digest = hashlib.sha256(seed.encode(errors="surrogatepass")).hexdigest()[:40]
        return cls(request.url.path, dict(request.url.params) if request.url.query else {}, as_mapping(body), digest)

    @property
    def model(self) -> str:
        """The model that the body names; `offline` if it names none."""
        model = self.body.get("model")
        return model if isinstance(model, str) and model else "offline"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers.

    Args:
        name: its name.
        parameters: the JSON Schema of its arguments; `None` for a tool that takes a text.
    """

    name: str
    parameters: Any = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a reply must be, to be valid for its request.

    Args:
        tools: all tools that the request offers.
        forced: those of which one must be called, in order; empty if none must.
        schema: the JSON Schema of the text; `None` for a text of any kind.
    """

    tools: Sequence[Tool] = ()
    forced: Sequence[Tool] = ()
    schema: Any = None


def force(tools: Sequence[Tool], names: Sequence[Any] | None = None) -> tuple[Tool, ...]:
    """Select the tools of which the model must call one.

    Args:
        tools: that the request offers.
        names: that the request forces, offered or not; `None` if the model may choose any tool.
    """
    if names is None:
        return tuple(tools)
    by_name = {tool.name: tool for tool in tools}
    return tuple(by_name.get(name) or Tool(name) for name in names if isinstance(name, str) and name)


@dataclass(frozen=True, slots=True)
class AnswerToolCall:
    """A tool call of the answer.

    Args:
        name: the tool's name.
        arguments: JSON data.
        digest: 24 hexadecimal digits; APIs make the id of them.
        id: the id that the test gave; `""` for none.
        takes_text: whether the tool takes a text, the argument `input`, in place of JSON data.
    """

    name: str
    arguments: Mapping[str, Any]
    digest: str
    id: str = ""
    takes_text: bool = False

    @property
    def input(self) -> str:
        """The input of a custom tool, which takes text instead of JSON."""
        text = self.arguments.get("input")
        return text if isinstance(text, str) else json_text(self.arguments)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model replies.

    Args:
        digest: 40 hexadecimal digits; APIs make the ids of the reply of them.
        text: the text; `None` for none, which only an answer with tool calls has.
        tool_calls: in order.
        input_tokens: what the request used.
        output_tokens: what the reply used.
        finish_reason: the common word (`stop`, `length`, `tool_calls`, `content_filter`) or the API's own.
    """

    digest: str
    text: str | None
    tool_calls: tuple[AnswerToolCall, ...]
    input_tokens: int
    output_tokens: int
    finish_reason: str

    @property
    def total_tokens(self) -> int:
        """The input and output tokens together."""
        return self.input_tokens + self.output_tokens


def make_answer(request: ModelRequest, demand: Demand, sent: Conversation, reply: Reply | None) -> Answer:
    """Decide what the model replies.

    Args:
        request: the request.
        demand: what it demands.
        sent: the conversation that it holds; tools that were called in it come last.
        reply: what the test wants; `None` for the smallest valid answer.
    """
    wanted = reply or Reply(usage={})
    text, calls = wanted.text, [dict(call) for call in wanted.tool_calls]
    if wanted.json is not None:
        tool = _tool_for(wanted.json, demand.forced)
        if tool is None:
            text = json_text(wanted.json)
        else:
            calls = [{"name": tool.name, "arguments": wanted.json}]
    elif text is None and not calls:
        text, calls = _least(demand, {call.name for call in sent.tool_calls})
    text_tools = {tool.name for tool in demand.tools if tool.parameters is None}
    first = len(sent.tool_calls)
    usage = wanted.usage or {}
    return Answer(
        request.digest,
        text,
        tuple(
            AnswerToolCall(
                call["name"],
                call["arguments"],
                _call_digest(request, first + index, call),
                call.get("id", ""),
                call["name"] in text_tools,
            )
            for index, call in enumerate(calls)
        ),
        usage.get("input_tokens", 0),
        usage.get("output_tokens", 0),
        wanted.finish_reason or ("tool_calls" if calls else "stop"),
    )


def _least(demand: Demand, called: set[str]) -> tuple[str | None, list[dict[str, Any]]]:
    """Make the smallest valid answer: a call of the forced tool, an instance of the schema, or a short text."""
    if not demand.forced and demand.schema is None:
        return OFFLINE_TEXT, []
    # Not at the top: most requests demand nothing.
    from pytest_chatprompt.apis.schema_instance import least_instance  # noqa: PLC0415

    if demand.forced:
        tool = next((tool for tool in demand.forced if tool.name not in called), demand.forced[-1])
        arguments = {"input": OFFLINE_TEXT} if tool.parameters is None else least_instance(tool.parameters)
        return None, [{"name": tool.name, "arguments": arguments if isinstance(arguments, dict) else {}}]
    return json_text(least_instance(demand.schema)), []


def _tool_for(data: Any, forced: Sequence[Tool]) -> Tool | None:
    """Find the forced tool whose arguments the data fits: clients also ask for structured output by a forced tool."""
    if not isinstance(data, dict):
        return None
    if len(forced) == 1:
        return forced[0]
    for tool in forced:
        schema = tool.parameters if isinstance(tool.parameters, Mapping) else {}
        properties = schema.get("properties")
        required = schema.get("required", ())
        if isinstance(properties, Mapping) and set(data) <= set(properties) and set(required) <= set(data):
            return tool
    return None


def _call_digest(request: ModelRequest, place: int, call: Mapping[str, Any]) -> str:
    """Hash a call with its place in the conversation, and not with the whole body.

    A client sends the ids back. If they changed with every word of a prompt, a one-line change would show in the
    snapshot as many.
    """
    thread = request.body.get("previous_response_id")
    seed = json_text([place, call["name"], call["arguments"], thread])
    return hashlib.sha256(seed.encode(errors="surrogatepass")).hexdigest()[:24]

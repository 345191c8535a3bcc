"""What answers a request offline: what the request demands, a queued `Reply`, and the `Answer` made of both.

Without a queued reply, the answer is the smallest valid one. Equal input gives equal output, ids included.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

import httpx

from pytest_chatprompt.apis.conversation import Conversation, as_items, as_mapping, json_text
from pytest_chatprompt.providers.http.request_body import decode_body, read_body
from pytest_chatprompt.providers.response import OFFLINE_TEXT
from pytest_chatprompt.text.json_data import thaw

# pytest shows no frame of this module.
__tracebackhide__ = True

_CALL_SHAPE: Final = "{'name': ..., 'arguments': {...}}"


@dataclass
class Reply:
    """What the model replies, in the terms that all APIs share, as `EvalAPI.reply` takes it."""

    text: str | None = None
    tool_calls: Sequence[Mapping[str, Any]] = ()
    json: Any = None
    usage: Mapping[str, int] | None = None
    finish_reason: str | None = None
    error: int | None = None

    def __post_init__(self) -> None:
        if self.text is not None and not isinstance(self.text, str):
            raise TypeError(f"text must be a str, not {type(self.text).__name__}; give data as json={{...}}")
        if isinstance(self.tool_calls, str | Mapping) or not isinstance(self.tool_calls, Iterable):
            raise TypeError(f"tool_calls must be a list of mappings, [{_CALL_SHAPE}], not {self.tool_calls!r}")
        self.tool_calls = tuple(_checked_call(call, f"tool_calls[{at}]") for at, call in enumerate(self.tool_calls))
        self.json = _json_copy(self.json, "json")
        if self.usage is not None:
            self.usage = _checked_usage(self.usage)
        self._check_combination()

    def _check_combination(self) -> None:
        content = [name for name in ("text", "tool_calls", "json") if getattr(self, name) not in (None, ())]
        rest = [name for name in ("usage", "finish_reason") if getattr(self, name) is not None]
        if self.error is not None:
            if not isinstance(self.error, int) or self.error not in range(400, 600):
                raise ValueError(f"error must be an HTTP status from 400 to 599, such as 429, not {self.error!r}")
            if content or rest:
                raise ValueError(f"error stands alone: leave out {' and '.join(content + rest)}")
        elif "json" in content and len(content) > 1:
            raise ValueError(f"give json or {content[0]}, not both: json is the whole text of a reply")
        elif not content and not rest:
            raise ValueError("the reply is empty; give one of text, tool_calls, json or error")


def _checked_call(call: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(call, Mapping):
        raise TypeError(f"{place} must be a mapping, {_CALL_SHAPE}, not {call!r}")
    _check_keys(call, ("name", "arguments", "id"), place)
    name, arguments, call_id = call.get("name"), call.get("arguments", {}), call.get("id")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{place} needs the name of the tool: {_CALL_SHAPE}")
    if not isinstance(arguments, Mapping):
        raise TypeError(f"{place}: arguments must be a mapping, not {type(arguments).__name__}")
    copied = {"name": name, "arguments": _json_copy(arguments, f"{place}: arguments")}
    return {**copied, "id": call_id} if call_id else copied


def _checked_usage(usage: Any) -> Mapping[str, int]:
    if not isinstance(usage, Mapping):
        raise TypeError(f"usage must be a mapping, {{'input_tokens': 3, 'output_tokens': 5}}, not {usage!r}")
    _check_keys(usage, ("input_tokens", "output_tokens"), "usage")
    for name, count in usage.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(f"usage: {name} must be a number of tokens, not {count!r}")
    return dict(usage)


def _check_keys(mapping: Mapping[Any, Any], known: Sequence[str], place: str) -> None:
    for key in (key for key in mapping if key not in known):
        raise ValueError(f"{place}: unknown key {key!r}; known are {', '.join(known)}")


def _json_copy(value: Any, place: str) -> Any:
    """Copy JSON data, so that later changes to the original have no effect."""
    try:
        return json.loads(json.dumps(thaw(value), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{place} cannot be written as JSON: {error}") from error


# Gemini, Bedrock, Vertex and Azure's deployments name the model in the path.
_MODEL_IN_PATH: Final = r"/(?:models|tunedModels|endpoints|model|deployments)/(.+(?=/converse)|[^/:@]+)(?=[/:@])"


class ModelRequest(NamedTuple):
    """A request to a model."""

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
        """The model that the path or the body names; `""` if none does."""
        in_path = re.search(_MODEL_IN_PATH, self.path)
        model = self.body.get("model") if in_path is None else in_path[1]
        return model if isinstance(model, str) else ""

    @property
    def replied_model(self) -> str:
        """The model that the reply names."""
        return self.model or "offline"


class Definitions(NamedTuple):
    """The tools, the tool choice and the response format of a request, in the shape of OpenAI's Responses.

    Args:
        tools: that the model may call; functions and custom tools have a name.
        tool_choice: `auto`, `none` or `required`, one of the tools, or those that are allowed; `None` for none.
        response_format: `json_object` or `json_schema`; `None` for text.
    """

    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    response_format: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, tools: Any, choice: Any = None, response_format: Any = None, schema: Any = None) -> Self:
        """Read definitions in either of OpenAI's shapes, also invalid ones: what is not understood is left out.

        A JSON Schema of the text takes the place of a format.
        """
        if schema is not None:
            response_format = {"type": "json_schema", "schema": schema}
        found = [_flat(tool) for tool in as_items(tools)]
        named = tuple(tool for tool in found if tool["type"] not in _CALLED or _is_named(tool))
        return cls(named, _read_choice(choice), _read_format(response_format))

    @property
    def called(self) -> list[Mapping[str, Any]]:
        """The tools that the model calls by their name."""
        return [tool for tool in self.tools if tool["type"] in _CALLED]

    @property
    def forced(self) -> list[Mapping[str, Any]]:
        """Those of which the model must call one, offered or not, in order; empty if it need not."""
        choice = self.tool_choice
        if choice == "required":
            return self.called
        if not isinstance(choice, Mapping) or choice.get("mode", "required") != "required":
            return []
        by_name = {tool["name"]: tool for tool in self.called}
        chosen = choice["tools"] if choice["type"] == "allowed_tools" else [choice]
        return [by_name.get(tool["name"], {"type": "function", "name": tool["name"]}) for tool in chosen]

    @property
    def schema(self) -> Any:
        """The JSON Schema of the text; `None` for a text of any kind."""
        return None if self.response_format is None else self.response_format.get("schema", {"type": "object"})


_CALLED: Final = ("function", "custom")


def _flat(data: Any) -> dict[str, Any]:
    """A tool or a format with its definition beside its type; chat completions have it below the type's name."""
    declared = as_mapping(data)
    kind = declared.get("type") or next((kind for kind in _CALLED if kind in declared), "function")
    kind = kind if isinstance(kind, str) else "unknown"
    nested = declared.get(kind)
    return {**(nested if isinstance(nested, Mapping) else declared), "type": kind}


def _is_named(tool: Mapping[str, Any]) -> bool:
    return isinstance(tool.get("name"), str) and bool(tool["name"])


def _read_choice(choice: Any) -> str | Mapping[str, Any] | None:
    if isinstance(choice, str):
        # Mistral's word, and that of older servers.
        return "required" if choice == "any" else choice
    chosen = _flat(choice)
    if chosen["type"] == "allowed_tools":
        tools = filter(_is_named, map(_flat, as_items(chosen.get("tools"))))
        return {"type": "allowed_tools", "mode": chosen.get("mode"), "tools": [*tools]}
    return chosen if chosen["type"] in _CALLED and _is_named(chosen) else None


def _read_format(response_format: Any) -> Mapping[str, Any] | None:
    wanted = _flat(response_format)
    if wanted["type"] == "json_schema":
        return {"name": "", "schema": {"type": "object"}, **wanted}
    return {"type": "json_object"} if wanted["type"] == "json_object" else None


class AnswerToolCall(NamedTuple):
    """A tool call of the answer; a custom tool takes a text, the argument `input`, in place of JSON data."""

    name: str
    arguments: Mapping[str, Any]
    digest: str
    id: str
    takes_text: bool

    @property
    def input(self) -> str:
        """The input of a custom tool, which takes text instead of JSON."""
        text = self.arguments.get("input")
        return text if isinstance(text, str) else json_text(self.arguments)


class Answer(NamedTuple):
    """What the model replies; only one with tool calls may have no text.

    The finish reason is the common word (`stop`, `length`, `tool_calls`, `content_filter`) or the API's own.
    """

    digest: str
    text: str | None
    tool_calls: tuple[AnswerToolCall, ...]
    finish_reason: str
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """The input and output tokens together."""
        return self.input_tokens + self.output_tokens


class UnansweredSchemaError(Exception):
    """A request demands what fits a JSON Schema, and no reply to it can be made up."""


def make_answer(
    request: ModelRequest, demand: Definitions, sent: Conversation, reply: Reply | None, call_ids: str
) -> Answer:
    """Decide what the model replies; `call_ids` is the form of the ids of its calls."""
    wanted = reply or Reply(usage={})
    text, calls = wanted.text, wanted.tool_calls
    if wanted.json is not None:
        tool = _tool_for(wanted.json, demand.forced)
        if tool is None:
            text = json_text(wanted.json)
        else:
            calls = [{"name": tool["name"], "arguments": wanted.json}]
    elif text is None and not calls:
        text, calls = _least(demand, {call.name for call in sent.tool_calls})
    text_tools = {tool["name"] for tool in demand.called if tool["type"] == "custom"}
    made = []
    for place, call in enumerate(calls, start=len(sent.tool_calls)):
        name, digest = call["name"], _call_digest(request, place, call)
        call_id = call.get("id") or call_ids.format(digest=digest, name=name)
        made.append(AnswerToolCall(name, call["arguments"], digest, call_id, name in text_tools))
    reason = wanted.finish_reason or ("tool_calls" if calls else "stop")
    return Answer(request.digest, text, tuple(made), reason, **(wanted.usage or {}))


def _least(demand: Definitions, called: set[str]) -> tuple[str | None, list[dict[str, Any]]]:
    """Make the smallest valid answer: a call of the forced tool, an instance of the schema, or a short text."""
    forced = demand.forced
    if not forced:
        return OFFLINE_TEXT if demand.schema is None else json_text(_instance(demand.schema, "the answer")), []
    tool = next((tool for tool in forced if tool["name"] not in called), forced[-1])
    arguments = {"input": OFFLINE_TEXT}
    if tool["type"] != "custom":
        arguments = _instance(tool.get("parameters") or {}, f"the arguments of {tool['name']!r}")
    return None, [{"name": tool["name"], "arguments": arguments if isinstance(arguments, dict) else {}}]


def _instance(schema: Any, what: str) -> Any:
    # Not at the top: most requests demand nothing.
    from pytest_chatprompt.apis.schema_instance import NoInstanceError, least_instance  # noqa: PLC0415

    try:
        return least_instance(schema)
    except NoInstanceError:
        raise UnansweredSchemaError(
            f"the JSON Schema of {what} is one for which no offline reply can be made up; "
            "queue one: eval_api.reply(json={...})"
        ) from None


def _tool_for(data: Any, forced: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """Find the forced tool whose arguments the data fits: clients also ask for structured output by a forced tool."""
    if not isinstance(data, dict):
        return None
    if len(forced) == 1:
        return forced[0]
    for tool in forced:
        schema = as_mapping(tool.get("parameters"))
        properties, required = schema.get("properties"), schema.get("required", ())
        if isinstance(properties, Mapping) and set(data) <= set(properties) and set(required) <= set(data):
            return tool
    return None


def _call_digest(request: ModelRequest, place: int, call: Mapping[str, Any]) -> str:
    """Hash a call with its place in the conversation, and not with the whole body.

    A client sends the ids back. If they changed with every word of a prompt, a one-line change would show in the
    snapshot as many.
    """
    seed = json_text([place, call["name"], call["arguments"], request.body.get("previous_response_id")])
    return hashlib.sha256(seed.encode(errors="surrogatepass")).hexdigest()[:24]

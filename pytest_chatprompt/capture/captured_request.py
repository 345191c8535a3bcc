"""Captured requests: bodies that APIs got before, from a log, a proxy or a test, which cases send again.

The API that got a body gets it as it is, with the settings of the case over it. For all others it is read into a chat
prompt, tools and settings. What gets lost on the way is told: what was read is written again for the API that got it,
and what that lacks of the body is lost.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final, NamedTuple, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, PlainValidator

from pytest_chatprompt.apis.chat_provider import ChatProvider, preflight_body
from pytest_chatprompt.apis.conversation import Conversation, SentMedia, UnreadPart, as_mapping, as_text, json_text
from pytest_chatprompt.apis.reply import Definitions, ModelRequest
from pytest_chatprompt.apis.table import find_api, get_api, get_provider, provider_of
from pytest_chatprompt.apis.vendor_api import PreparedRequest, given, with_settings
from pytest_chatprompt.cases.case import EvalCase, case_diagnostic
from pytest_chatprompt.cases.diagnostics import parse_definition_file
from pytest_chatprompt.cases.fields import split_provider_name
from pytest_chatprompt.errors import EvalFileError, PayloadError
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.chat_prompt import content_parts
from pytest_chatprompt.prompt.request import ProviderRequest, settings_of
from pytest_chatprompt.providers.http.client import model_headers
from pytest_chatprompt.providers.http.request_body import read_body
from pytest_chatprompt.text.files import NamedFileError, TextFileError, read_text
from pytest_chatprompt.text.json_data import (
    OTHER_SHAPE,
    deep_merge,
    describe_data,
    require_json_mapping,
    thaw,
    value_at,
)
from pytest_chatprompt.text.media_types import described_size
from pytest_chatprompt.wording import cut, shown_path

# The built-in providers whose bodies have shapes of their own.
_SHAPES: Final = ("openai", "openai_responses", "anthropic", "gemini", "bedrock")
# How an answer comes, of which the model sees nothing: here it is always read whole.
_DELIVERY: Final = ("stream", "stream_options", "background")
_TOOL_KEYS: Final = ("type", "name", "description", "parameters", "strict", "format")
T = TypeVar("T")


class CapturedRequest(NamedTuple):
    """A request that an API got before.

    Args:
        body: its body.
        writer: the provider that writes such bodies.
        request: what other APIs can get of it.
        lost: what these cannot get of it.
        rank: the lower, the more of it the API of the writer can read.
        model: the model that its path or its body names; `""` for none.
        notes: what nobody gets of it, such as its headers.
        asked_model: the model that the name of the provider says, in place of that; `""` for none.
    """

    body: dict[str, Any]
    writer: ChatProvider
    request: ProviderRequest
    lost: tuple[str, ...]
    rank: tuple[float, ...]
    model: str = ""
    notes: tuple[str, ...] = ()
    asked_model: str = ""

    def prepare(self, provider: ChatProvider, request: ProviderRequest) -> PreparedRequest:
        """Prepare it: as it is for the API that got it, converted for any other.

        Raises:
            PayloadError: the API cannot express the messages, or what the case sets.
        """
        own = self.request.settings
        said = {name: value for name, value in request.settings.items() if own.get(name) != value}
        if _api_name(provider) == _api_name(self.writer):
            return self._prepare_as_it_is(provider, said)
        converted = request.model_copy(update={"captured": None, "settings": {**own, **request.settings}})
        prepared, left_out = _fitting(provider.prepare, converted, own.keys() - said.keys())
        return prepared._replace(adjustments=(*self.notes, *self.lost, *left_out, *prepared.adjustments))

    def _prepare_as_it_is(self, provider: ChatProvider, said: Mapping[str, Any]) -> PreparedRequest:
        said = {"model": self.asked_model, **said} if self.asked_model else said
        model = {"model": self.model} if self.model else {}
        configured = with_settings(provider, ProviderRequest(settings={**model, **said}))
        body, adjustments = thaw(self.body), self.notes
        # What the body has keeps its place, such as the older one of `max_output_tokens`.
        fields = {name: self.writer.setting_fields[name] for name in self.request.settings}
        for name, field in {**configured.setting_fields, **fields}.items():
            if name in said:
                field._replace(path=_spelled(body, field.path)).put(said[name], body)
        if "model" in body:
            body["model"] = said.get("model", body["model"])
        elif configured.model not in unquote(configured.endpoint_path()):
            # Vertex, and Azure's deployments, name it in the path.
            body, adjustments = {"model": configured.model, **body}, (*adjustments, f"model {configured.model} added")
        body = deep_merge(body, thaw(said.get("extra_body") or {}))
        api: Any = get_api(self.writer.offline_api)
        findings = preflight_body(configured, body, api)
        prepared = configured.prepare_body(configured.endpoint_path(), body)
        return prepared._replace(adjustments=adjustments, findings=findings)


def _api_name(provider: ChatProvider) -> str:
    """The name of the API of a provider; Azure's differs from OpenAI's in its paths alone."""
    return "openai-chat" if provider.offline_api == "azure-chat" else provider.offline_api


# --- from a file


class _File(BaseModel, defer_build=True):
    request: Annotated[Mapping[str, Any], PlainValidator(require_json_mapping)]


def captured_request(case: EvalCase, reader: FileReader, provider_name: str | None) -> ProviderRequest:
    """Build the request of a case that sends a captured one; an `EvalFileError` if its file cannot be used."""
    __tracebackhide__ = True
    try:
        captured = _read_body(_body_of(case, reader), case.api)
    except (NamedFileError, TextFileError, ValueError) as error:
        text = str(error) if isinstance(error, NamedFileError) else f"{case.request}: {error}"
        raise EvalFileError([case_diagnostic(case, text, "request")]) from error
    said = {} if case.settings is None else settings_of(case, provider_name)
    captured = captured._replace(asked_model=split_provider_name(provider_name or "")[1])
    settings, metadata = {**captured.request.settings, **said}, {**case.metadata, "systemPrompt": ""}
    update = {"captured": captured, "settings": settings, "metadata": metadata, "eval_case_id": case.full_id}
    return captured.request.model_copy(update=update)


def _body_of(case: EvalCase, reader: FileReader) -> Any:
    """What a file has, or the line of a log."""
    name, row = str(case.request).replace("\\", "/"), case.origin.row
    if row is not None and name.endswith(".jsonl") and "request" in row.values:
        body = row.values["request"]
        if not isinstance(body, Mapping):
            raise ValueError(f"this line must be a mapping, but is {describe_data(body)}")
        return body
    path = reader.find(name, case.path.parent).path
    # Not by the reader, which keeps what it reads: there may be thousands.
    text = read_text(path, reader.root)
    return parse_definition_file(text, shown_path(path, reader.root), "request", _File)


def _read_body(body: Mapping[str, Any], api_name: str | None) -> CapturedRequest:
    url, notes = "", []
    # What a proxy logs, and a snapshot, have it within.
    for key in (key for key in ("requests", "request", "body") if key in body):
        url = next((str(body[each]) for each in ("url", "endpoint", "path") if each in body), url)
        headers = ((name.encode(), str(value).encode()) for name, value in as_mapping(body.get("headers")).items())
        notes += [f"header {header} left out" for header in model_headers(headers)]
        body = read_body(body[key])
        if key == "requests" and isinstance(body, list):
            if len(body) != 1:
                text = f"it has {len(body)} requests, and a case sends one; copy that one to a file of its own"
                raise ValueError(text)
            (body,) = body
        if not isinstance(body, Mapping):
            raise ValueError(f"its {key!r} is not the body of a request to a model")
    if any(isinstance(value, str) and described_size(value.lstrip("\\")) for _, _, value in _leaves(body)):
        raise ValueError("it shows media by size and hash, as snapshots do; without their bytes it cannot be sent")
    notes += [f"{key} left out, answers are read whole" for key in _DELIVERY if body.get(key)]
    body = {key: value for key, value in body.items() if key not in _DELIVERY}
    # An endpoint begins with the method.
    address = urlsplit(url.rpartition(" ")[2])
    target = unquote(address.path)
    api = find_api("POST", target, address.hostname or "")
    if api is not None and api_name is None:
        named = provider_of(api.name)
        if named is None:
            raise ValueError(f"no provider sends to {api.name}; if it has another's shape, say which, as 'api: openai'")
        api_name = named.name
    captured = _told_by_shape(body) if api_name is None else _read(api_name, body)
    if not captured.request.chat_prompt:
        raise ValueError(f"{captured.writer.name} finds no messages in it")
    return captured._replace(model=ModelRequest(target, {}, body, "").model, notes=tuple(notes))


def _told_by_shape(body: dict[str, Any]) -> CapturedRequest:
    """A body, as the API reads it that loses least."""
    read = {name: _read(name, body) for name in _SHAPES}
    ranks = {name: each.rank for name, each in read.items() if each.request.chat_prompt}
    if not ranks:
        keys = [f"{name} in {get_api(each.writer.offline_api).prompt_keys[-1]!r}" for name, each in read.items()]
        raise ValueError(f"no API finds messages in it: {', '.join(keys)}")
    best = [name for name, rank in ranks.items() if rank == min(ranks.values())]
    model = str(body.get("model", ""))
    # The name of the vendor's models, such as `claude`.
    known = [name for name in best if model.startswith(read[name].writer.default_model.partition("-")[0])]
    (found, *others) = known or best
    if others:
        raise ValueError(f"it may be for {' or '.join(best)}; say for which, such as 'api: {found}'")
    return read[found]


# --- read for other APIs


def _read(provider_name: str, body: dict[str, Any]) -> CapturedRequest:
    """A body, as the API of a provider reads it."""
    kind: Any = get_provider(provider_name)
    tokens = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
    writer: ChatProvider = kind(max_tokens_parameter=tokens) if hasattr(kind, "max_tokens_parameter") else kind()
    api: Any = get_api(writer.offline_api)
    conversation: Conversation = api.read_conversation(body)
    prompt, prompt_key = conversation.as_prompt(_is_common), api.prompt_keys[-1]
    fields = {name: each._replace(path=_spelled(body, each.path)) for name, each in writer.setting_fields.items()}
    writer.setting_fields = fields
    settings = {name: value_at(body, field.path) for name, field in fields.items()}
    settings["reasoning_effort"] = as_text(settings.get("reasoning_effort")).lower() or None
    read: Definitions = api.definitions(body)
    called = [tool for tool in read.tools if tool["type"] in ("function", "custom")]
    # Not all APIs have a name for the shape of an answer.
    name = {"name": "answer"} if as_mapping(read.response_format).get("name") == "" else {}
    request = ProviderRequest.model_construct(
        question=conversation.as_transcript(),
        chat_prompt=tuple(each for each in prompt if each.content is not None or each.tool_calls or each.tool_call_id),
        metadata={"systemPrompt": ""},
        settings=given(**settings),
        tools=tuple(given(**{key: tool.get(key) for key in _TOOL_KEYS}) for tool in called),
        tool_choice=read.tool_choice,
        response_format=read.response_format and {**read.response_format, **name},
    )
    try:
        written, _ = _fitting(lambda each: with_settings(writer, each)._build_body(each)[0], request, request.settings)
    except (PayloadError, *OTHER_SHAPE) as error:
        return CapturedRequest(body, writer, request, (f"what is lost is not known: {error}",), (math.inf,))
    lost = _lost(body, written)
    rank = len(lost), len(written.keys() - body.keys() - {"model"}), written[prompt_key] != body.get(prompt_key)
    return CapturedRequest(body, writer, request, lost, rank)


def _spelled(body: Any, path: Sequence[str]) -> tuple[str, ...]:
    """A path with its keys as a body has them: Google's APIs take snake case and camel case."""
    name, *rest = path
    name = next((key for key in as_mapping(body) if _plain(key) == _plain(name)), name)
    return (name, *(_spelled(as_mapping(body).get(name), rest) if rest else ()))


def _plain(key: str) -> str:
    return key.replace("_", "").lower()


def _is_common(part: object) -> bool:
    """Whether all vendors can read a part: no thought, nor the id of a file that is at one of them."""
    is_elsewhere = isinstance(part, SentMedia) and not (part.base64 or part.source.startswith("http"))
    return not (isinstance(part, UnreadPart) or is_elsewhere)


# --- what is lost

# Keys with text, which may be joined with other text; and what says nothing.
_TEXTS: Final = ("content", "text", "data", "system", "instructions", "input", "output", "result", "refusal")
_IMPLIED: Final = (("is_error", False), ("status", "success"))
_URL_SAFE: Final = str.maketrans("-_", "+/")


def _lost(body: Mapping[str, Any], written: Mapping[str, Any]) -> tuple[str, ...]:
    """What of a body is not in another one, told once for each key, by the first value."""
    leaves = [*_leaves(written, in_text=True)]
    kept = {_comparable(*leaf) for leaf in leaves}
    texts = "\n".join(["", *(value for _, _, value in leaves if isinstance(value, str)), ""])
    lost: dict[str, list[str]] = {}
    for top, key, value in _leaves(body):
        is_text = key in _TEXTS and isinstance(value, str) and f"\n{value}\n" in texts
        is_implied = value in (None, []) or (key, value) in _IMPLIED or key == "model"
        if not (is_text or is_implied or _comparable(top, key, value) in kept):
            lost.setdefault(key if key == top else f"{top}: {key}", []).append(cut(json_text(value), 40))
    return tuple(
        f"{place} {first} left out" + (f", and {len(others)} more" if others else "")
        for place, (first, *others) in lost.items()
    )


def _leaves(data: Any, top: str = "", key: str = "", *, in_text: bool = False) -> Iterator[tuple[str, str, Any]]:
    """The values in JSON data, and in text that is JSON, each with the top key and its own.

    A type or a role is left out beside others; alone, it is the value of the key above.
    """
    inner = read_body(data) if in_text else data
    entries = [(key, value) for value in inner] if isinstance(inner, list) else []
    if isinstance(inner, Mapping):
        entries = [(name, value) for name, value in inner.items() if name not in ("type", "role")]
        entries = entries or [(key, value) for value in inner.values()]
    for name, value in entries:
        yield from _leaves(value, top or name, name, in_text=in_text)
    if not entries or isinstance(data, str):
        yield top, key, data


def _comparable(top: str, key: str, value: Any) -> tuple[str, ...]:
    """A value with its keys, equal to those that say the same in another spelling, as text, or in URL-safe base64."""
    return _plain(top), _plain(key), json.dumps(read_body(value)).lower().translate(_URL_SAFE)


# --- what an API lacks


def _fitting(
    build: Callable[[ProviderRequest], T], request: ProviderRequest, captured_settings: Collection[str]
) -> tuple[T, list[str]]:
    """Build something of a request without what an API cannot express of it; and say what that is."""
    left_out: list[str] = []
    while True:
        try:
            return build(request), left_out
        except PayloadError as error:
            request = request.model_copy(update=_less(request, error, captured_settings))
            left_out.append(f"{str(error).partition(';')[0]}; left out")


def _less(request: ProviderRequest, error: PayloadError, captured_settings: Collection[str]) -> dict[str, Any]:
    """The fields of a request without what an error is about; the error itself for what has to stay."""
    match error.location:
        case ("settings", str(name)) if name in captured_settings:
            return {"settings": {key: value for key, value in request.settings.items() if key != name}}
        case ("tools", int(index)):
            return {"tools": request.tools[:index] + request.tools[index + 1 :]}
        case ("tool_choice" | "response_format" as name,):
            return {name: None}
        case ("input_messages", int(number), "content", int(part)):
            prompt = list(request.chat_prompt or ())
            index = next(index for index, each in enumerate(prompt) if each.number == number + 1)
            parts = content_parts(prompt[index].content)
            left = tuple(each for each in parts if getattr(each, "place", None) != (number + 1, part + 1))
            # What a tool gave stays as the answer to its call.
            message = replace(prompt[index], content=left)
            prompt[index : index + 1] = [message] if left or message.tool_calls or message.tool_call_id else []
            # Some APIs take no system message alone.
            if any(each.role not in ("system", "developer") for each in prompt):
                return {"chat_prompt": tuple(prompt)}
    raise error

"""The messages of a prompt as an API takes them: its media, what is raw, the system text, and turns with tool results.

What an API cannot express is a `PayloadError` with its place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pytest_chatprompt.cases.message import ROLES, FunctionCall, Role, ToolCall
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import (
    ChatMessage,
    ChatPrompt,
    ContentPart,
    JSONResult,
    MarkedText,
    Media,
    RawContent,
    content_parts,
    describe_messages,
    join_parts,
)
from pytest_chatprompt.text.json_data import thaw, value_at
from pytest_chatprompt.text.media_types import MEDIA_TYPES, MediaKind
from pytest_chatprompt.wording import enumerated

if TYPE_CHECKING:
    from pytest_chatprompt.apis.vendor_api import VendorAPI


def fit_prompt(prompt: ChatPrompt, provider: VendorAPI) -> ChatPrompt:
    """The messages as an API takes them: of what is raw its own, and data of tools as text where it takes only that."""
    return tuple(_fit_message(message, provider) for message in prompt)


def fit_adjustments(prompt: ChatPrompt, provider: VendorAPI) -> tuple[str, ...]:
    """What `fit_prompt` leaves out of the messages, for the snapshot's `adjustments`."""
    return tuple(
        f"{describe_messages([message])}: is_error left out, {provider.vendor} has none"
        for message in prompt
        if message.is_error and not provider.takes_tool_errors
    )


def _fit_message(message: ChatMessage, provider: VendorAPI) -> ChatMessage:
    if message.role == "developer" and not provider.takes_developers:
        raise PayloadError(
            f"{provider.vendor} has no developer messages; write the role system",
            message_number=message.number,
            location=() if message.number is None else ("input_messages", message.number - 1, "role"),
        )
    if message.is_error and not provider.takes_tool_errors:
        message = replace(message, is_error=False)
    if not isinstance(message.content, tuple):
        return message
    parts = tuple(_fit_part(part, message, provider) for part in message.content)
    is_text = all(isinstance(part, str) for part in parts)
    return replace(message, content="\n".join(map(str, parts)) if is_text else parts)


def _fit_part(part: ContentPart, message: ChatMessage, provider: VendorAPI) -> ContentPart:
    if isinstance(part, JSONResult):
        return part if provider.takes_json_results else str(part)
    if isinstance(part, str):
        return part
    reason = _refusal(part, message, provider)
    if reason:
        number, part_number = part.place or (message.number, None)
        raise PayloadError(
            reason if part_number is None or message.role == "raw" else f"part {part_number}: {reason}",
            message_number=number,
            location=("input_messages", part.place[0] - 1, "content", part.place[1] - 1) if part.place else (),
        )
    if isinstance(part, RawContent):
        return replace(part, by_provider={provider.name: part.by_provider[provider.name]})
    return part


def _refusal(part: Media | MarkedText | RawContent, message: ChatMessage, provider: VendorAPI) -> str:
    """Why an API does not take a part, and what to do; `""` if it does."""
    if isinstance(part, RawContent):
        return "" if provider.name in part.by_provider else _not_for(part.by_provider, provider)
    refusal = _media_refusal(part, message, provider) if isinstance(part, Media) else ""
    kind = part.kind if isinstance(part, Media) else "text"
    if not refusal and part.cache_control is not None and kind not in provider.cached_kinds:
        others = f" beside a part of type {kind}" if provider.cached_kinds else ""
        refusal = f"{provider.vendor} takes no cache_control{others}; leave it out"
    return refusal


def _media_refusal(media: Media, message: ChatMessage, provider: VendorAPI) -> str:
    vendor, support = provider.vendor, provider.media.get(media.kind)
    kinds = _plural(media.kind)
    if support is None:
        others = f"; it takes {enumerated(map(_plural, provider.media))}" if provider.media else ""
        return f"{vendor} takes no {kinds}{others}; leave it out, or use another provider"
    if message.role not in support.roles:
        return (
            f"{vendor} takes {kinds} in {enumerated(support.roles)} messages only, and the role of this one is "
            f"{message.role!r}; move it to a user message"
        )
    if media.content is None and not support.takes_urls:
        return f"{vendor} takes no {kinds} by URL; save the file in the project, and name its path"
    media_types = support.media_types or MEDIA_TYPES[media.kind]
    if media.media_type and media.media_type not in media_types:
        return (
            f"{vendor} takes {kinds} as {enumerated(media_types, 'or')} only, and this one is {media.media_type}; "
            "convert the file"
        )
    if media.detail is not None and not support.takes_detail:
        return f"{vendor} takes no detail of {kinds}; leave it out"
    if media.content is None and support.needs_type_of_urls and not media.media_type:
        suffixes = ", ".join(f".{media_type.rpartition('/')[2]}" for media_type in media_types)
        return (
            f"{vendor} needs the type of what is at a URL, and the path of this one does not end in any of {suffixes}; "
            "save the file in the project, and name its path"
        )
    return ""


def _plural(kind: MediaKind) -> str:
    return "audio" if kind == "audio" else f"{kind}s"


def fit_tools(tools: Sequence[Mapping[str, Any]], provider: VendorAPI) -> tuple[Mapping[str, Any], ...]:
    """The tools as an API takes them: each raw one as `{"type": "raw", "raw": {...}}`, with what is its own."""
    fitted = []
    for index, tool in enumerate(tools):
        if tool["type"] == "raw" and provider.name not in tool:
            names = [name for name in tool if name != "type"]
            raise PayloadError(_not_for(names, provider), location=("tools", index))
        fitted.append({"type": "raw", "raw": thaw(tool[provider.name])} if tool["type"] == "raw" else tool)
    return tuple(fitted)


def _not_for(names: Iterable[str], provider: VendorAPI) -> str:
    return (
        f"what is raw is for {enumerated(names)} alone; leave it out for {provider.vendor}, "
        f"or write what that one has under {provider.name!r}"
    )


def raw_message(message: ChatMessage) -> dict[str, Any] | None:
    """What is sent in place of a message as it is; `None` for a message with a role."""
    (part, *_) = content_parts(message.content) or ("",)
    return thaw(part.data) if message.role == "raw" and isinstance(part, RawContent) else None


def with_raw_calls(prompt: ChatPrompt) -> ChatPrompt:
    """A prompt in which calls that are raw are calls as any, and raw messages have roles, for preflight."""
    return tuple(_with_raw_calls(message) if isinstance(message.content, tuple) else message for message in prompt)


def _with_raw_calls(message: ChatMessage) -> ChatMessage:
    calls = (
        ToolCall(id=call_id or name, function=FunctionCall(name=name, arguments="{}"))
        for call_id, name in _raw_calls(message)
    )
    role = (raw_message(message) or {"role": message.role}).get("role")
    own_role = cast("Role", role) if role in ROLES else "assistant"
    return replace(message, role=own_role, tool_calls=(*message.tool_calls, *calls))


def _raw_calls(message: ChatMessage) -> Iterator[tuple[str | None, str]]:
    """The ids and the names of the tool calls in what a message holds as it is; Gemini's may have no id."""
    for part in content_parts(message.content):
        if isinstance(part, RawContent):
            yield from _calls_in(part.data)


def _calls_in(data: Any, key: str = "") -> Iterator[tuple[str | None, str]]:
    inner: Iterable[tuple[str, Any]] = ((key, item) for item in data) if isinstance(data, list | tuple) else ()
    if isinstance(data, Mapping):
        inner = data.items()
        call_id = next((data[name] for name in ("call_id", "toolUseId", "id") if name in data), None)
        # Chat completions have the name below `function`.
        name = data.get("name") or value_at(data, ["function", "name"])
        is_call = isinstance(call_id, str) or (call_id is None and key in ("functionCall", "function_call"))
        if is_call and call_id != "" and isinstance(name, str) and name:
            yield call_id, name
    for each_key, each in inner:
        yield from _calls_in(each, each_key)


class Turn(NamedTuple):
    """A user or assistant message, or all tool results that follow one turn.

    Each result has the name of the function as its `name`, and no `tool_call_id` where the call has no id.
    """

    message: ChatMessage
    results: tuple[ChatMessage, ...] = ()

    @property
    def raw(self) -> dict[str, Any] | None:
        """The message that is sent as it is; `None` for any other."""
        return raw_message(self.message)


class SplitPrompt(NamedTuple):
    """The system text of a chat prompt, in parts where some of it is marked or raw, and its turns."""

    system: str | tuple[ContentPart, ...]
    turns: tuple[Turn, ...]
    adjustments: tuple[str, ...] = ()


def split_prompt(prompt: ChatPrompt, vendor: str, *, joins_results: bool = True) -> SplitPrompt:
    """Split a chat prompt into its system text and its turns."""
    parts = [part for message in prompt if message.role == "system" for part in content_parts(message.content)]
    messages = [message for message in prompt if message.role != "system"]
    if not messages:
        raise PayloadError(
            f"{vendor} needs a message besides the system message; add a user message with content of its own"
        )
    turns = tuple(_turns(messages))
    joined = [
        f"tool results of {describe_messages(turn.results)} sent in one user turn"
        for turn in turns
        if joins_results and len(turn.results) > 1
    ]
    return SplitPrompt(join_parts(parts, "\n\n"), turns, (*_adjustments(prompt, vendor), *joined))


def _turns(messages: Sequence[ChatMessage]) -> Iterator[Turn]:
    # The ids and names of the earlier calls, by what results say that they answer.
    calls: dict[str, tuple[str | None, str]] = {}
    for is_tool, group in groupby(messages, key=lambda message: message.role == "tool"):
        if is_tool:
            results = tuple(_result(message, calls) for message in group)
            yield Turn(results[-1], results)
        else:
            for message in group:
                calls |= {call.id: (call.id, call.function.name) for call in message.tool_calls}
                calls |= {call_id or name: (call_id, name) for call_id, name in _raw_calls(message)}
                yield Turn(message)


def _result(message: ChatMessage, calls: Mapping[str, tuple[str | None, str]]) -> ChatMessage:
    if message.tool_call_id is None:
        raise PayloadError(
            "a tool message without 'tool_call_id'; name the call that it answers",
            message_number=message.number,
        )
    if message.tool_call_id not in calls:
        known = f"the calls before it are {', '.join(map(repr, calls))}" if calls else "no call comes before it"
        raise PayloadError(
            f"it answers the call {message.tool_call_id!r}, but {known}; "
            "put the assistant message that makes the call before it",
            message_number=message.number,
        )
    call_id, name = calls[message.tool_call_id]
    return replace(message, name=name, tool_call_id=call_id, content=message.content or "")


def _adjustments(prompt: ChatPrompt, vendor: str) -> Iterator[str]:
    has_system = False
    for message in prompt:
        if message.role == "system" and has_system:
            yield f"{describe_messages([message])}: merged into the first system message"
        elif message.role == "system" and message is not prompt[0]:
            yield f"{describe_messages([message])}: moved to the start"
        has_system = has_system or message.role == "system"
        if message.role == "tool" and message.content is None:
            yield f"{describe_messages([message])}: null sent as an empty result"
        if message.tool_calls and message.content == "":
            yield f"{describe_messages([message])}: empty content left out beside its calls"
        if message.name is not None:
            yield f"{describe_messages([message])}: name {message.name!r} left out, {vendor} has none"

"""The messages of a case and the types of their parts, in the shape of OpenAI's chat completions."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, Self, get_args

from pydantic import Discriminator, Tag, ValidationError, model_validator

from pytest_chatprompt.cases.fields import NonEmptyString, StrictModel, TupleOf, value_kind
from pytest_chatprompt.errors import Location
from pytest_chatprompt.text.json_data import (
    check_json,
    error_at,
    freeze,
    invalid,
    parsed,
    require_json_mapping,
    to_json_text,
    unexpected,
    without_extensions,
)
from pytest_chatprompt.text.media_types import MediaKind
from pytest_chatprompt.text.yaml import Node

# Without `from __future__ import annotations`: pydantic would compile the text of each annotation, and again for each
# model that inherits the field.


# `raw` is a message that is sent as it is; authors write `type: raw` in place of a role.
Role = Literal["system", "developer", "user", "assistant", "tool", "raw"]
ROLES: Final = tuple(role for role in get_args(Role) if role != "raw")
CacheControl = Annotated[Mapping[str, Any], parsed(lambda data: freeze(require_json_mapping(data)))]


class TextPart(StrictModel):
    """A part that is text; it is sent exactly as written, or as it is in a file (rule A8).

    Attributes:
        value: the text, which may be empty; `""` for the text of a file.
        file: the path of the file as the author wrote it; `None` for a text that stands here.
        cache_control: Anthropic's mark of where a prefix that is cached ends; `None` for none.
    """

    usage: ClassVar[str] = "{type: text, value: ...}"

    type: Literal["text"] = "text"
    value: str = ""
    file: NonEmptyString | None = None
    cache_control: CacheControl | None = None

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        given = {"value", "file"} & self.model_fields_set
        if not given:
            raise invalid("missing key 'value'")
        if len(given) > 1:
            raise invalid("a text has a 'value' or a 'file', not both; remove one")
        return self


class FilePart(StrictModel):
    """A part that names a file: an attachment or a guideline.

    Attributes:
        value: the path as the author wrote it, never empty.
        cache_control: see `TextPart`.
    """

    usage: ClassVar[str] = "{type: file, value: PATH}"

    type: Literal["file"] = "file"
    value: NonEmptyString
    cache_control: CacheControl | None = None


class MediaPart(StrictModel):
    """A part that is sent as bytes: base class of images, documents and audio.

    Attributes:
        value: the path of a file, an https URL or a `data:` URL, as the author wrote it; never empty.
        cache_control: Anthropic's mark of where a prefix that is cached ends; `None` for none.
        detail: how closely the model looks at an image or a document, in OpenAI's words; `None` if it is not set.
    """

    type: MediaKind
    value: NonEmptyString
    cache_control: CacheControl | None = None
    detail: Literal["auto", "low", "high", "original"] | None = None


class ImagePart(MediaPart):
    """A part that is an image: PNG, JPEG, WebP or GIF."""

    usage: ClassVar[str] = "{type: image, value: PATH}"

    type: Literal["image"] = "image"


class DocumentPart(MediaPart):
    """A part that is a document: PDF, or an office's file or text where the API takes it."""

    usage: ClassVar[str] = "{type: document, value: PATH}"

    type: Literal["document"] = "document"


class AudioPart(MediaPart):
    """A part that is audio: WAV or MP3."""

    usage: ClassVar[str] = "{type: audio, value: PATH}"

    type: Literal["audio"] = "audio"


class RawPart(StrictModel, extra="allow"):
    """A part, a message or a tool that only one vendor has, such as a thinking block: sent to it as it is.

    Its other keys are names of providers, each with what is sent to that one.
    """

    usage: ClassVar[str] = "{type: raw, PROVIDER: {...}}"

    type: Literal["raw"] = "raw"

    @model_validator(mode="after")
    def _check_providers(self) -> Self:
        _check_raw(self.model_extra or {})
        return self

    @property
    def by_provider(self) -> Mapping[str, Any]:
        """What is sent, by the names of providers; at least one."""
        data: Mapping[str, Any] = freeze(self.model_extra)
        return data


def _check_raw(by_provider: Mapping[str, Any]) -> None:
    """Check what a part or a message is for each provider."""
    # Other parts have a `value`.
    if not by_provider or "value" in by_provider:
        raise invalid("name the provider that it is for: {type: raw, PROVIDER: {...}}")
    for name, data in by_provider.items():
        if not isinstance(data, Mapping):
            raise error_at((name,), unexpected("a mapping"))
    check_json(by_provider)


Part = TextPart | FilePart | ImagePart | DocumentPart | AudioPart | RawPart
# By `type`. Error messages list each model's `usage`.
PART_MODELS: Final[dict[str, type[Part]]] = {model.model_fields["type"].default: model for model in get_args(Part)}


# Replies are read in threads.
class FunctionCall(StrictModel, defer_build=False):
    """The function that a tool call names.

    Attributes:
        name: the function's name.
        arguments: JSON text, exactly as the model wrote it; it may be invalid JSON.
    """

    name: NonEmptyString
    arguments: str


class ToolCall(StrictModel, defer_build=False):
    """One entry of an assistant message's `tool_calls`.

    Attributes:
        id: what the `tool_call_id` of the tool message that answers it repeats.
        type: always `function`.
        function: the function and its arguments.
    """

    id: NonEmptyString
    type: Literal["function"] = "function"
    function: FunctionCall


def _content_kind(value: Any) -> str:
    return "<mapping>" if isinstance(value, Mapping) else value_kind(value)


class EvalMessage(StrictModel):
    """A message of `input_messages` or `expected_messages`, as the author wrote it.

    Attributes:
        role: `system`, `developer`, `user`, `assistant` or `tool`; `raw` for a message that is one `RawPart`.
        content: a text, a tuple of parts, a mapping that is sent as JSON, or `None`, which only `tool_calls` or a
            `tool_call_id` allow.
        name: the speaker's name.
        tool_calls: the calls that an assistant message makes; empty for none.
        tool_call_id: the id of the call that a tool message answers.
        is_error: whether the tool failed, so that the content is its error.
    """

    level = "message"

    role: Role
    content: Annotated[
        Annotated[str, Tag("<string>")]
        | Annotated[TupleOf[Annotated[Part, Discriminator("type")]], Tag("<list>")]
        | Annotated[Mapping[str, Any], parsed(lambda data: freeze(check_json(data))), Tag("<mapping>")]
        | Annotated[None, Tag("<null>")],
        Discriminator(_content_kind),
    ] = None
    name: str | None = None
    tool_calls: TupleOf[ToolCall] = ()
    tool_call_id: str | None = None
    is_error: bool = False

    @model_validator(mode="before")
    @classmethod
    def _read_raw(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or data.get("type") != "raw" or "role" in data:
            return data
        _check_raw({name: value for name, value in without_extensions(data).items() if name != "type"})
        return {"role": "raw", "content": [data]}

    @model_validator(mode="after")
    def _check_fields_of_role(self) -> Self:
        for key, place in (("tool_calls", "an assistant"), ("tool_call_id", "a tool"), ("is_error", "a tool")):
            if getattr(self, key) not in ((), None, False) and self.role != place.split()[1]:
                raise invalid(f"{key!r} belongs in {place} message, but the role is {self.role!r}")
        has_raw = isinstance(self.content, tuple) and [type(part) for part in self.content] == [RawPart]
        if self.role == "raw" and not has_raw:
            raise invalid("unknown role: 'raw'; write {type: raw, PROVIDER: {...}} in place of the message")
        if self.content is None and not self.tool_calls and self.tool_call_id is None:
            raise invalid("missing key 'content'; only a message with 'tool_calls' or 'tool_call_id' may omit it")
        return self

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts: a string is one text part, so is the JSON of a mapping; without content none."""
        if self.content is None:
            return ()
        if isinstance(self.content, tuple):
            return self.content
        text = self.content if isinstance(self.content, str) else to_json_text(self.content)
        return (TextPart.model_construct(type="text", value=text),)


def read_expected_messages(data: Any) -> tuple[Any, ...]:
    """Read a reference answer, which may be any data, because it is never sent (rule A7).

    Each item that is a valid message becomes an `EvalMessage`, any other frozen data.
    """
    items = data if isinstance(data, list | tuple) else () if data is None else (data,)
    return tuple(_read_expected_message(item) for item in items)


def _read_expected_message(data: Any) -> Any:
    try:
        return EvalMessage.model_validate(data)
    except ValidationError:
        return freeze(data)


# AgentV's keys that stand for messages, with their role if the value is no message and no list of messages.
_SHORTHANDS: Final = (("input", "input_messages", "user"), ("expected_output", "expected_messages", "assistant"))
# AgentV's keys by the keys that they stand for.
_STAND_INS: Final = {"input_messages": "input", "expected_messages": "expected_output", "outcome": "expected_outcome"}


def expand_shorthands(case: Mapping[str, Any]) -> dict[str, Any]:
    """Add the messages that the shorthands of a case stand for, unless it has the messages too."""
    # Of a captured request they stand in a file. An empty list would be refused.
    expanded = {"input_messages": frozenset(), **case} if case.get("request") is not None else dict(case)
    for key, messages_key, role in _SHORTHANDS:
        value = case.get(key)
        if value is None or messages_key in case:
            continue
        if _is_message(value):
            expanded[messages_key] = [value]
        elif isinstance(value, list | tuple) and (key == "input" or not value or _is_message(value[0])):
            expanded[messages_key] = value
        else:
            expanded[messages_key] = [{"role": role, "content": value}]
    return expanded


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value


def location_in_file(case: Node, location: Location) -> Location:
    """The keys and indexes that lead to a value of a case, with the key of AgentV if it stands for the first."""
    key = location[0] if location else ""
    stand_in = case.find_entry((_STAND_INS.get(str(key), ""),))
    if stand_in is None or stand_in.node.value is None or case.find_entry((key,)) is not None:
        return location
    return (_STAND_INS[str(key)], *location[1:])

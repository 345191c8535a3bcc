"""The messages of a case and the types of their parts, in the shape of OpenAI's chat completions.

In: plain data of `input_messages` and `expected_messages`. Out: frozen models of exactly what the author wrote.
Every room may read them.

A new type of part begins here, with its model, `Part` and `PART_MODELS`; CONTRIBUTING lists the other steps.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self, get_args

from pydantic import ConfigDict, Discriminator, Tag, model_validator
from pydantic_core import PydanticCustomError

from pytest_chatprompt.evalfile.media_types import MediaKind
from pytest_chatprompt.evalfile.strict_model import NonEmptyString, StrictModel, TupleOf, value_kind

Role = Literal["system", "user", "assistant", "tool"]
ROLES: Final[tuple[str, ...]] = get_args(Role)


class TextPart(StrictModel):
    """A part that is text; it is sent exactly as written, or as it is in a file (rule A8).

    Attributes:
        value: the text, which may be empty; `""` for the text of a file.
        file: the path of the file as the author wrote it; `None` for a text that stands here.
    """

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["value"]}, {"required": ["file"]}]})
    usage: ClassVar[str] = "{type: text, value: ...}"

    type: Literal["text"] = "text"
    value: str = ""
    file: NonEmptyString | None = None

    @model_validator(mode="after")
    def _check_source(self) -> Self:
        given = {"value", "file"} & self.model_fields_set
        if not given:
            raise PydanticCustomError("invalid_value", "missing key 'value'")
        if len(given) > 1:
            raise PydanticCustomError("invalid_value", "a text has a 'value' or a 'file', not both; remove one")
        return self


class FilePart(StrictModel):
    """A part that names a file: an attachment or a guideline.

    Attributes:
        value: the path as the author wrote it, never empty.
    """

    usage: ClassVar[str] = "{type: file, value: PATH}"

    type: Literal["file"] = "file"
    value: NonEmptyString


class MediaPart(StrictModel):
    """A part that is sent as bytes: base class of images, documents and sounds.

    Attributes:
        value: the path of a file, an https URL or a `data:` URL, as the author wrote it; never empty.
    """

    type: MediaKind
    value: NonEmptyString


class ImagePart(MediaPart):
    """A part that is an image: PNG, JPEG, WebP or GIF."""

    usage: ClassVar[str] = "{type: image, value: PATH}"

    type: Literal["image"] = "image"


class DocumentPart(MediaPart):
    """A part that is a document: PDF."""

    usage: ClassVar[str] = "{type: document, value: PATH}"

    type: Literal["document"] = "document"


class AudioPart(MediaPart):
    """A part that is a sound: WAV or MP3."""

    usage: ClassVar[str] = "{type: audio, value: PATH}"

    type: Literal["audio"] = "audio"


Part = TextPart | FilePart | ImagePart | DocumentPart | AudioPart
# By `type`. Error messages list each model's `usage`.
PART_MODELS: Final[dict[str, type[Part]]] = {
    "text": TextPart,
    "file": FilePart,
    "image": ImagePart,
    "document": DocumentPart,
    "audio": AudioPart,
}


class FunctionCall(StrictModel):
    """The function that a tool call names.

    Attributes:
        name: the function's name.
        arguments: JSON text, exactly as the model wrote it; it may be invalid JSON.
    """

    name: NonEmptyString
    arguments: str


class ToolCall(StrictModel):
    """One entry of an assistant message's `tool_calls`.

    Attributes:
        id: what the `tool_call_id` of the tool message that answers it repeats.
        type: always `function`.
        function: the function and its arguments.
    """

    id: NonEmptyString
    type: Literal["function"] = "function"
    function: FunctionCall


class EvalMessage(StrictModel):
    """A message of `input_messages` or `expected_messages`, as the author wrote it.

    Attributes:
        role: `system`, `user`, `assistant` or `tool`.
        content: a text, a tuple of parts, or `None`, which only `tool_calls` or a `tool_call_id` allow.
        name: the speaker's name.
        tool_calls: the calls that an assistant message makes; empty for none.
        tool_call_id: the id of the call that a tool message answers.
    """

    role: Role
    content: Annotated[
        Annotated[str, Tag("string")]
        | Annotated[TupleOf[Annotated[Part, Discriminator("type")]], Tag("list")]
        | Annotated[None, Tag("null")],
        Discriminator(value_kind),
    ] = None
    name: str | None = None
    tool_calls: TupleOf[ToolCall] = ()
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _check_fields_of_role(self) -> Self:
        if self.tool_calls and self.role != "assistant":
            text = "'tool_calls' belongs in an assistant message, but the role is '{role}'"
            raise PydanticCustomError("invalid_value", text, {"role": self.role})
        if self.tool_call_id is not None and self.role != "tool":
            text = "'tool_call_id' belongs in a tool message, but the role is '{role}'"
            raise PydanticCustomError("invalid_value", text, {"role": self.role})
        if self.content is None and not self.tool_calls and self.tool_call_id is None:
            text = "missing key 'content'; only a message with 'tool_calls' or 'tool_call_id' may omit it"
            raise PydanticCustomError("invalid_value", text)
        return self

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts: a string is one text part; without content there are none."""
        if self.content is None:
            return ()
        if isinstance(self.content, str):
            return (TextPart(type="text", value=self.content),)
        return self.content

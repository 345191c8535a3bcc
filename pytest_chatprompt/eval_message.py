"""The message of a case: what an author wrote, as frozen data, in the shape of OpenAI's chat completions.

`case` has messages; `rendering`, `chat_prompt` and the providers read them.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import Discriminator, Tag, model_validator
from pydantic_core import PydanticCustomError

from pytest_chatprompt.strict_model import NonEmptyString, Several, Strict, one_or_several

Role = Literal["system", "user", "assistant", "tool"]
ROLES: tuple[str, ...] = get_args(Role)


class TextPart(Strict):
    """A part of a message that is text, sent as it stands."""

    type: Literal["text"]
    value: str


class FilePart(Strict):
    """A part of a message that names a file; `value` is the path as written."""

    type: Literal["file"]
    value: NonEmptyString


Part = Annotated[TextPart | FilePart, Discriminator("type")]


class FunctionCall(Strict):
    """The function that a tool call names; `arguments` is JSON text, as the model wrote it."""

    name: NonEmptyString
    arguments: str


class ToolCall(Strict):
    """One call of an assistant message's `tool_calls`."""

    id: NonEmptyString
    type: Literal["function"] = "function"
    function: FunctionCall


class EvalMessage(Strict):
    """A message of `input_messages` or `expected_messages`, as written."""

    role: Role
    content: Annotated[
        Annotated[str, Tag("string")] | Annotated[Several[Part], Tag("parts")] | Annotated[None, Tag("null")],
        Discriminator(one_or_several),
    ] = None
    name: str | None = None
    tool_calls: Several[ToolCall] = ()
    tool_call_id: str | None = None

    @model_validator(mode="after")
    def _fields_of_its_role(self) -> Self:
        if self.tool_calls and self.role != "assistant":
            raise PydanticCustomError(
                "told",
                "'tool_calls' belong to an assistant message, not to role '{role}'",
                {"role": self.role},
            )
        if self.tool_call_id is not None and self.role != "tool":
            raise PydanticCustomError(
                "told", "'tool_call_id' belongs to a tool message, not to role '{role}'", {"role": self.role}
            )
        if self.content is None and not self.tool_calls and self.tool_call_id is None:
            raise PydanticCustomError(
                "told",
                "missing 'content'; only a message with 'tool_calls' or 'tool_call_id' may go without",
            )
        return self

    @property
    def parts(self) -> tuple[TextPart | FilePart, ...]:
        """The content as parts: a string is one text part, no content is none."""
        if self.content is None:
            return ()
        if isinstance(self.content, str):
            return (TextPart(type="text", value=self.content),)
        return self.content

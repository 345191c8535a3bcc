"""`response_format`: the shape that the answer must have, as OpenAI's chat completions or Responses say it.

In: plain data. Out: the same, checked and frozen, as the author wrote it; or the path of a file with it.
`shared_keys`, `prompt.request` and `prompt.request_options` read it; `prompt.tool_definitions` brings both shapes into
one.
Source: https://platform.openai.com/docs/guides/structured-outputs, and the package `openai`
(`types/shared_params/response_format_json_schema.py`,
`types/responses/response_format_text_json_schema_config_param.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, PlainValidator

from pytest_chatprompt.evalfile.frozen_dict import FrozenDict, freeze
from pytest_chatprompt.evalfile.json_data import error_at, require_json_mapping, unexpected, without_extensions
from pytest_chatprompt.evalfile.strict_model import NonEmptyString, StrictModel

FORMAT_TYPES: Final = ("text", "json_object", "json_schema")


class SchemaDefinition(StrictModel):
    """The schema of an answer.

    Attributes:
        name: its name, which OpenAI's APIs demand.
        description: what the answer is for, for the model.
        json_schema_: the JSON Schema.
        strict: whether the answer always fits the schema.
    """

    # Most eval files have none.
    model_config = ConfigDict(defer_build=True)

    name: NonEmptyString
    description: str | None = None
    # `schema` is a method of pydantic's models.
    json_schema_: Annotated[Mapping[str, Any], PlainValidator(require_json_mapping)] = Field(alias="schema")
    strict: bool | None = None


class ChatSchemaFormat(StrictModel):
    """A schema in the shape of chat completions.

    Attributes:
        type: always `json_schema`.
        json_schema: the schema, with its name.
    """

    model_config = ConfigDict(defer_build=True)

    type: Literal["json_schema"]
    json_schema: SchemaDefinition


class FlatSchemaFormat(SchemaDefinition):
    """A schema in the shape of Responses.

    Attributes:
        type: always `json_schema`.
    """

    type: Literal["json_schema"]


class PlainFormat(StrictModel):
    """Text, or any JSON.

    Attributes:
        type: `text` or `json_object`.
    """

    model_config = ConfigDict(defer_build=True)

    type: Literal["text", "json_object"]


# The same models as in `format_model`.
ResponseFormat = PlainFormat | ChatSchemaFormat | FlatSchemaFormat


def format_model(data: Any) -> type[StrictModel]:
    """The model of a format with one of the known types; its keys are suggested for a mistyped one."""
    if not isinstance(data, Mapping) or data.get("type") != "json_schema":
        return PlainFormat
    return ChatSchemaFormat if "json_schema" in data else FlatSchemaFormat


def read_response_format(data: Any) -> FrozenDict | None:
    """Check a `response_format`.

    Args:
        data: a mapping; `None` for none.

    Raises:
        PydanticCustomError, ValidationError: what is wrong with it.
    """
    if data is None:
        return None
    if not isinstance(data, Mapping):
        raise unexpected("a mapping with the key 'type'")
    if data.get("type", "text") not in FORMAT_TYPES:
        raise error_at(("type",), unexpected(f"one of {', '.join(FORMAT_TYPES)}"))
    format_model(data).model_validate(data)
    own = without_extensions(data)
    if "json_schema" in own:
        own["json_schema"] = without_extensions(own["json_schema"])
    frozen: FrozenDict = freeze(own)
    return frozen

"""The types of `settings`, `tools`, `tool_choice` and `response_format`, as fields of eval files and of requests.

In: plain data of one of these keys. Out: the same, checked and frozen, by the reader of the key's own module.
`shared_keys` and `prompt.request` declare their fields with them. Most cases have none of these keys, so each reader,
and the models behind it, is imported when the first value comes in, or when the JSON Schema is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import PlainValidator

from pytest_chatprompt.evalfile.frozen_dict import FrozenDict
from pytest_chatprompt.evalfile.schema_annotations import WrittenAs


def _read_settings(data: Any) -> FrozenDict | None:
    from pytest_chatprompt.evalfile.settings import read_settings  # noqa: PLC0415

    return read_settings(data)


def _settings_as_written() -> Any:
    from pytest_chatprompt.evalfile.settings import WrittenSettings  # noqa: PLC0415

    return WrittenSettings | None


def _read_request_settings(data: Any) -> FrozenDict:
    from pytest_chatprompt.evalfile.settings import read_request_settings  # noqa: PLC0415

    return read_request_settings(data)


def _read_tools(data: Any) -> tuple[FrozenDict, ...]:
    from pytest_chatprompt.evalfile.tools import read_tools  # noqa: PLC0415

    return read_tools(data)


def _read_tools_or_path(data: Any) -> str | tuple[FrozenDict, ...] | None:
    if not isinstance(data, str):
        return None if data is None else _read_tools(data)
    from pytest_chatprompt.evalfile.definition_file import check_data_path  # noqa: PLC0415

    return data and check_data_path(data, "a list of tools")


def _tools_as_written() -> Any:
    from pytest_chatprompt.evalfile.definition_file import DataPath  # noqa: PLC0415
    from pytest_chatprompt.evalfile.strict_model import TupleOf  # noqa: PLC0415
    from pytest_chatprompt.evalfile.tools import Tool  # noqa: PLC0415

    return DataPath | TupleOf[Tool] | None


def _read_tool_choice(data: Any) -> str | FrozenDict | None:
    from pytest_chatprompt.evalfile.tools import read_tool_choice  # noqa: PLC0415

    return read_tool_choice(data)


def _tool_choice_as_written() -> Any:
    from pytest_chatprompt.evalfile.tools import ToolChoice, ToolChoiceWord  # noqa: PLC0415

    return ToolChoiceWord | ToolChoice | None


def _read_response_format(data: Any) -> FrozenDict | None:
    from pytest_chatprompt.evalfile.response_format import read_response_format  # noqa: PLC0415

    return read_response_format(data)


def _read_format_or_path(data: Any) -> str | FrozenDict | None:
    if not isinstance(data, str):
        return _read_response_format(data)
    from pytest_chatprompt.evalfile.definition_file import check_data_path  # noqa: PLC0415

    return check_data_path(data, "a mapping with the key 'type'")


def _format_as_written() -> Any:
    from pytest_chatprompt.evalfile.definition_file import DataPath  # noqa: PLC0415
    from pytest_chatprompt.evalfile.response_format import ResponseFormat  # noqa: PLC0415

    return DataPath | ResponseFormat | None


# Of an eval file or a case: `None` if it is not set. Tools and a format may be the path of a file.
Settings = Annotated[Mapping[str, Any] | None, PlainValidator(_read_settings), WrittenAs(_settings_as_written)]
ToolsOrPath = Annotated[
    str | tuple[Mapping[str, Any], ...] | None, PlainValidator(_read_tools_or_path), WrittenAs(_tools_as_written)
]
WrittenToolChoice = Annotated[
    str | Mapping[str, Any] | None, PlainValidator(_read_tool_choice), WrittenAs(_tool_choice_as_written)
]
FormatOrPath = Annotated[
    str | Mapping[str, Any] | None, PlainValidator(_read_format_or_path), WrittenAs(_format_as_written)
]
# Of a request.
SettingsOfRequest = Annotated[Mapping[str, Any], PlainValidator(_read_request_settings)]
ToolsOfRequest = Annotated[tuple[Mapping[str, Any], ...], PlainValidator(_read_tools)]
ToolChoiceOfRequest = Annotated[str | Mapping[str, Any] | None, PlainValidator(_read_tool_choice)]
FormatOfRequest = Annotated[Mapping[str, Any] | None, PlainValidator(_read_response_format)]

"""The options of a request: its settings for one provider, its tools, tool choice and response format.

In: a case, the run's file reader and the provider's name. Out: the values, checked and frozen, as a `ProviderRequest`
holds them; what stands in a file of its own is read here, when the case runs (rules F).
Only `request.build_request` calls it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, PlainValidator

from pytest_chatprompt.errors import EvalFileError
from pytest_chatprompt.evalfile.case import EvalCase, option_diagnostic
from pytest_chatprompt.evalfile.definition_file import parse_definition_file
from pytest_chatprompt.evalfile.response_format import read_response_format
from pytest_chatprompt.evalfile.settings import settings_for
from pytest_chatprompt.evalfile.tools import read_tools
from pytest_chatprompt.prompt.file_reader import AttachmentError, FileReader
from pytest_chatprompt.wording import shown_path


class _ToolsFile(BaseModel):
    model_config = ConfigDict(defer_build=True)

    tools: Annotated[tuple[Mapping[str, Any], ...], PlainValidator(read_tools)]


class _FormatFile(BaseModel):
    model_config = ConfigDict(defer_build=True)

    # An empty YAML file is null, which is not a format.
    response_format: Annotated[Mapping[str, Any], PlainValidator(lambda data: read_response_format(data or ""))]


# By the keys whose value may be in a file of its own.
_FILE_MODELS: Final[Mapping[str, type[BaseModel]]] = {"tools": _ToolsFile, "response_format": _FormatFile}


def request_options(case: EvalCase, reader: FileReader, provider_name: str | None) -> dict[str, Any]:
    """The options that a case or its file sets.

    Args:
        case: a case that was read from an eval file.
        reader: the run's file reader.
        provider_name: the name by which the provider was asked for; `None` leaves out the settings of all providers.

    Returns:
        The values by the fields of `ProviderRequest`; empty if none is set.

    Raises:
        EvalFileError: a file with tools or a format cannot be used.
    """
    options: dict[str, Any] = {}
    if case.settings is not None:
        options["settings"] = settings_for(provider_name, case.settings)
    if case.tool_choice is not None:
        options["tool_choice"] = case.tool_choice
    for key in _FILE_MODELS:
        value = getattr(case, key)
        if value is not None:
            options[key] = _read_file(case, reader, key, value) if isinstance(value, str) else value
    return options


def _read_file(case: EvalCase, reader: FileReader, key: str, value: str) -> Any:
    name = value.replace("\\", "/")
    try:
        found = reader.find(name, case.path.parent)
        text = reader.read(found.path, name)
    except AttachmentError as error:
        raise EvalFileError([option_diagnostic(case, str(error), (key,))]) from error
    return reader.parse_once(
        (found.path, key),
        lambda: parse_definition_file(text, shown_path(found.path, reader.root), key, _FILE_MODELS[key]),
    )

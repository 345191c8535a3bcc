"""The options of a request that stand in a file of their own: `tools: ./tools.json`.

In: a case, the run's file reader, the key, and the path that the author wrote. Out: the value, checked and frozen.
`request_options` imports it for the first case that names such a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, PlainValidator

from pytest_chatprompt.errors import EvalFileError
from pytest_chatprompt.evalfile.case import EvalCase, option_diagnostic
from pytest_chatprompt.evalfile.definition_file import parse_definition_file
from pytest_chatprompt.evalfile.response_format import read_response_format
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


_FILE_MODELS: Final[Mapping[str, type[BaseModel]]] = {"tools": _ToolsFile, "response_format": _FormatFile}


def read_option_file(case: EvalCase, reader: FileReader, key: str, value: str) -> Any:
    """Read the value of an option from the file that a case or its file names.

    Args:
        case: a case that was read from an eval file.
        reader: the run's file reader.
        key: `tools` or `response_format`.
        value: the path, as the author wrote it.

    Raises:
        EvalFileError: the file cannot be read, or its content does not fit.
    """
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

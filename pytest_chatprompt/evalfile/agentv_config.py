"""The settings of AgentV that change what is sent: the guideline patterns of `.agentv/config.yaml`.

In: the folder of an eval file. Out: the patterns. Everything else in those settings is ignored.
Only `loader` asks for patterns, for cases that have none of their own; `items.agentv_providers` finds the file of
targets with `find_agentv_file`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.strict_model import TupleOf
from pytest_chatprompt.evalfile.yaml_file import read_yaml_file
from pytest_chatprompt.wording import shown_path

_KEY: Final = "guideline_patterns"


@cache
def _settings_adapter() -> TypeAdapter[dict[str, tuple[str, ...] | None]]:
    # Built on first use, since few projects have these settings.
    return TypeAdapter(dict[str, TupleOf[str] | None])


def find_guideline_patterns(folder: Path, root: Path) -> tuple[str, ...]:
    """Find the `guideline_patterns` of the nearest `.agentv/config.yaml`.

    Args:
        folder: where to look first; then each folder above it, up to the root folder.
        root: pytest's root folder.

    Returns:
        The patterns; empty if there are no such settings, or no patterns in them.

    Raises:
        EvalFileError: the settings are not valid YAML, or the patterns are not a list of strings.
    """
    path = find_agentv_file("config.yaml", folder, root)
    return () if path is None else _read_patterns(path, root)


def find_agentv_file(name: str, folder: Path, root: Path) -> Path | None:
    """Find a file of AgentV in the nearest folder `.agentv` that has it; `None` if there is none.

    Args:
        name: the file's name.
        folder: where to look first; then each folder above it, up to the root folder.
        root: pytest's root folder.
    """
    depth = len(folder.parts) - len(root.parts) if folder.is_relative_to(root) else 0
    paths = (candidate / ".agentv" / name for candidate in (folder, *folder.parents[:depth]))
    return next((path for path in paths if path.is_file()), None)


def _read_patterns(path: Path, root: Path) -> tuple[str, ...]:
    document = read_yaml_file(path, root, shown_path(path, root)).document
    data = document.data()
    if not isinstance(data, dict) or _KEY not in data:
        return ()
    try:
        settings = _settings_adapter().validate_python({_KEY: data[_KEY]})
    except ValidationError as error:
        from pytest_chatprompt.evalfile.diagnostics import explain_validation_error  # noqa: PLC0415 - most are valid

        raise EvalFileError(
            Diagnostic(shown_path(path, root), position.line, position.column, text)
            for position, text in explain_validation_error(error, document)
        ) from error
    return settings[_KEY] or ()

"""AgentV's project settings, as far as they bear on what is sent.

`.agentv/config.yaml` beside or above an eval file may give guideline patterns; everything else in it is
AgentV's own. Only `eval_file` asks.
"""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt.errors import EvalFileError, Problem
from pytest_chatprompt.text_file import UnreadableTextError, read_text
from pytest_chatprompt.yaml_source import SourceError, read_yaml


def guideline_patterns(folder: Path, root: Path) -> tuple[str, ...]:
    """The `guideline_patterns` of the nearest `.agentv/config.yaml`, from a folder up to the root folder.

    Returns:
        The patterns; empty if there is no such file, or none in it.

    Raises:
        EvalFileError: the file is no YAML, or its patterns are no list of strings.
    """
    depth = len(folder.parts) - len(root.parts) if folder.is_relative_to(root) else 0
    for candidate in (folder, *folder.parents[:depth]):
        path = candidate / ".agentv" / "config.yaml"
        if path.is_file():
            return _read(path, root)
    return ()


def _read(path: Path, root: Path) -> tuple[str, ...]:
    shown_path = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
    try:
        document, _ = read_yaml(read_text(path, root))
    except UnreadableTextError as error:
        problem = Problem(shown_path, error.line, error.column, f"this file {error}")
        raise EvalFileError([problem]) from error
    except SourceError as error:
        place, told = error.problem
        raise EvalFileError([Problem(shown_path, place.line, place.column, told)]) from error
    data = document.data()
    patterns = data.get("guideline_patterns") if isinstance(data, dict) else None
    if patterns is None:
        return ()
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
        place = document.find(("guideline_patterns",)).place
        raise EvalFileError(
            [Problem(shown_path, place.line, place.column, "'guideline_patterns' must be a list of strings")]
        )
    return tuple(patterns)

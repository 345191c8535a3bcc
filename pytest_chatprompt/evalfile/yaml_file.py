"""A YAML file, read from disk and parsed.

In: a path. Out: a `YamlFile`, or `EvalFileError` with the position of what cannot be read.
`loader` reads eval files with it, `agentv_config` and `agentv_targets` read AgentV's files.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.text_file import TextFileError, read_text
from pytest_chatprompt.evalfile.yaml_parser import parse_yaml
from pytest_chatprompt.evalfile.yaml_problem import YamlError, YamlProblem
from pytest_chatprompt.evalfile.yaml_tree import Node


class YamlFile(NamedTuple):
    """A parsed YAML file.

    Args:
        text: the whole text.
        document: the root node of its tree; a node of `None` if the file is empty.
        problems: the problems that did not stop the parser, in the order of the text.
    """

    text: str
    document: Node
    problems: list[YamlProblem]


def read_yaml_file(path: Path, root: Path, shown_path: str) -> YamlFile:
    """Read and parse a YAML file.

    Args:
        path: the file, absolute.
        root: pytest's root folder.
        shown_path: the file as messages show it.

    Raises:
        EvalFileError: it cannot be read as text, or is not valid YAML.
    """
    try:
        text = read_text(path, root)
        return YamlFile(text, *parse_yaml(text))
    except TextFileError as error:
        raise EvalFileError([Diagnostic(shown_path, error.line, error.column, f"this file {error}")]) from error
    except YamlError as error:
        position, reason = error.problem
        raise EvalFileError([Diagnostic(shown_path, position.line, position.column, reason)]) from error

"""The formats of other tools: how each is told by what a file holds, and what reads it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, NamedTuple

from pytest_chatprompt.cases.formats.foreign_file import ForeignFile, Translation
from pytest_chatprompt.text.yaml import Node


class Format(NamedTuple):
    """A format of another tool.

    Args:
        module: the module of this folder whose `translate` reads it.
        recognizes: whether a file is one, by the node of its top, a mapping without `evalcases`.
    """

    module: str
    recognizes: Callable[[Node], bool]


# The first that recognizes a file reads it.
FORMATS: Final = (Format("agent_skills", lambda top: isinstance(top.find(("evals",)).value, tuple)),)


def translate(file: ForeignFile) -> Translation | None:
    """Translate a file into our own format; `None` if it has none of the formats known here."""
    for each in FORMATS:
        if each.recognizes(file.document):
            translation: Translation = import_module(f"{__package__}.{each.module}").translate(file)
            return translation
    return None

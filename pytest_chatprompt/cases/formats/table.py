"""The formats of other tools: how each is told by what a file holds, and what reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Final

from pytest_chatprompt.cases.formats.foreign_file import ForeignFile, Translation
from pytest_chatprompt.text.yaml import Node

# What promptfoo, whose files have `tests` too, has neither at the top of a file nor in a test.
_AGENTV: Final = frozenset(
    (
        *("name", "default_test", "evaluate_options", "target", "execution", "environment", "workspace"),
        *("id", "input", "input_files", "criteria", "expected_output", "assertions"),
    )
)


def _is_agentv(top: Node) -> bool:
    tests = top.find_entry(("tests",))
    nodes = (top, *tests.node.value) if tests and isinstance(tests.node.value, tuple) else (top,)
    return tests is not None and any(isinstance(each.value, dict) and _AGENTV & each.value.keys() for each in nodes)


def _is_agent_skills(top: Node) -> bool:
    evals = top.find(("evals",)).value
    return isinstance(evals, tuple) and (
        isinstance(top.value, dict) or any(each.find_entry((key,)) for each in evals for key in ("prompt", "query"))
    )


# The modules of this folder whose `translate` reads a format, and whether a file has it, by the node of its top, a
# mapping without `evalcases` or a list. The first one reads it.
FORMATS: Final[Mapping[str, Callable[[Node], bool]]] = {
    "agent_skills": _is_agent_skills,
    "agentv": _is_agentv,
    "promptfoo": lambda top: any(top.find_entry((key,)) for key in ("prompts", "providers", "targets")),
}


def translate(file: ForeignFile) -> Translation | None:
    """Translate a file into our own format; `None` if it has none of the formats known here."""
    for module, recognizes in FORMATS.items():
        if recognizes(file.document):
            translation: Translation = import_module(f"{__package__}.{module}").translate(file)
            return translation
    return None

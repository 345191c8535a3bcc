"""Eval files: YAML text in, cases out, every mistake told at its place.

`load_eval_file` is called by collection, once for each file. A mistake of the file itself is raised; a
mistake inside one case comes back as a `BrokenCase`, so that its neighbours still run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from pydantic import Field, ValidationError

from pytest_chatprompt import agentv
from pytest_chatprompt.case import EvalCase, Origin, Shared, is_selectable
from pytest_chatprompt.errors import EvalFileError, Problem
from pytest_chatprompt.frozen_dict import FrozenDict, frozen
from pytest_chatprompt.mistakes import as_read, explain
from pytest_chatprompt.strict_model import OneOrMore
from pytest_chatprompt.text_file import UnreadableTextError, read_text
from pytest_chatprompt.yaml_source import Source, SourceError, read_yaml
from pytest_chatprompt.yaml_tree import Node, Place

_DEFAULT_TARGET: Final = "default"
# Cases are shared by all of their items, so nothing in them can be changed.
_NO_METADATA: Final = FrozenDict()


class EvalFileHead(Shared):
    """The keys of a file; its cases are read one by one."""

    schema_: Any = Field(default=None, alias="$schema")
    evalcases: OneOrMore[Any]


@dataclass(frozen=True, slots=True)
class BrokenCase:
    """A case that cannot be read.

    Args:
        id: its id.
        tags: its tags, as far as they can be read, so that it is selected as it would be when mended.
        line: the 1-based line on which it begins.
        error: what is wrong with it, all of it.
    """

    id: str
    tags: tuple[str, ...]
    line: int
    error: EvalFileError


def load_eval_file(
    path: Path, root: Path, default_guideline_patterns: Sequence[str] | None = None
) -> tuple[EvalCase | BrokenCase, ...]:
    """Read an eval file.

    Args:
        path: the file.
        root: pytest's root folder; paths are told relative to it, and `.agentv` is looked for up to it.
        default_guideline_patterns: for cases that have none, before those of `.agentv/config.yaml`.

    Returns:
        The cases, in the order of the file, at least one.

    Raises:
        EvalFileError: it is no eval file; all that is wrong with the file itself, not with its cases.
    """
    return _EvalFileReader(path, root, default_guideline_patterns).read()


class _EvalFileReader:
    def __init__(self, path: Path, root: Path, default_guideline_patterns: Sequence[str] | None) -> None:
        self.path = path
        self.root = root
        self.shown_path = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
        self.patterns = default_guideline_patterns
        self.problems: list[Problem] = []

    def read(self) -> tuple[EvalCase | BrokenCase, ...]:
        document, source = self.document()
        head = self.head(document)
        nodes = list(self.case_nodes(document))
        if self.problems or head is None:
            raise EvalFileError(sorted(set(self.problems)))
        return tuple(
            self.case(node, head, Origin(self.path, self.shown_path, *node.place, source, index))
            for index, node in nodes
        )

    @cached_property
    def default_patterns(self) -> tuple[str, ...]:
        """The patterns of cases that have none: those given, else those of AgentV's settings."""
        if self.patterns is not None:
            return tuple(self.patterns)
        return agentv.guideline_patterns(self.path.parent, self.root)

    def problem(self, place: Place, text: str) -> None:
        self.problems.append(Problem(self.shown_path, place.line, place.column, text))

    def document(self) -> tuple[Node, Source]:
        try:
            text = read_text(self.path, self.root)
            document, problems = read_yaml(text)
        except UnreadableTextError as error:
            told = f"this file {error}"
            raise EvalFileError([Problem(self.shown_path, error.line, error.column, told)]) from error
        except SourceError as error:
            place, told = error.problem
            raise EvalFileError([Problem(self.shown_path, place.line, place.column, told)]) from error
        for place, told in problems:
            self.problem(place, told)
        if not isinstance(document.value, dict):
            self.problem(document.place, "an eval file is a mapping with the key 'evalcases'")
            raise EvalFileError(self.problems)
        return document, Source(text)

    def head(self, document: Node) -> EvalFileHead | None:
        data = {
            key: entry.node.data() if key != "evalcases" else entry.node.value for key, entry in document.value.items()
        }
        if isinstance(data.get("evalcases"), tuple):
            data["evalcases"] = list(data["evalcases"])
        elif isinstance(data.get("evalcases"), dict):
            data["evalcases"] = dict(data["evalcases"])
        try:
            return EvalFileHead.model_validate(data)
        except ValidationError as error:
            for place, told in explain(error, document, EvalFileHead):
                self.problem(place, told)
            return None

    def case_nodes(self, document: Node) -> Iterator[tuple[int, Node]]:
        """The cases that have a usable id, numbered from 0; the others are problems of the file."""
        entry = document.value.get("evalcases")
        nodes = entry.node.value if entry is not None and isinstance(entry.node.value, tuple) else ()
        first_lines: dict[str, int] = {}
        for index, node in enumerate(nodes):
            if not isinstance(node.value, dict):
                self.problem(node.place, "a case is a mapping with the keys 'id' and 'input_messages'")
                continue
            case_id = node.find(("id",)) if "id" in node.value else None
            if case_id is None:
                self.problem(node.place, "a case without 'id'; give it one that is unique in the file")
            elif not isinstance(case_id.value, str) or not case_id.value.strip():
                self.problem(case_id.place, f"'id' is {as_read(case_id)}; an id is text that is not blank")
            elif case_id.value in first_lines:
                self.problem(
                    case_id.place,
                    f"the id {case_id.value!r} is used twice, first in line {first_lines[case_id.value]}",
                )
            else:
                first_lines[case_id.value] = case_id.place.line
                yield index, node

    def case(self, node: Node, head: EvalFileHead, origin: Origin) -> EvalCase | BrokenCase:
        data = node.data()
        try:
            case = EvalCase.model_validate(data)
        except ValidationError as error:
            problems = [
                Problem(self.shown_path, place.line, place.column, told, case_id=data["id"])
                for place, told in explain(error, node, EvalCase)
            ]
            own_tags = data.get("tags")
            tags = own_tags if isinstance(own_tags, list) else []
            tags = [*head.tags, *(tag for tag in tags if isinstance(tag, str) and is_selectable(tag))]
            return BrokenCase(data["id"], tuple(tags), node.place.line, EvalFileError(sorted(set(problems))))
        patterns = case.guideline_patterns if case.guideline_patterns is not None else head.guideline_patterns
        metadata = {**head.metadata, **_without_unset_prompt(case.metadata)}
        complete = {
            "provider": _provider(case, head),
            "metadata": frozen(metadata) if metadata else _NO_METADATA,
            "guideline_patterns": self.default_patterns if patterns is None else patterns,
            "tags": tuple(dict.fromkeys((*head.tags, *case.tags))),
            "outcome": case.outcome if case.outcome is not None else case.expected_outcome,
        }
        # As `model_copy` does, without a copy, which costs half as much as checking the case. Nobody has seen it yet.
        vars(case).update(complete)
        case.model_fields_set.update(complete)
        case._origin = origin
        return case


def _without_unset_prompt(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A case's metadata without a system prompt of null, which is none that is set."""
    return {key: value for key, value in metadata.items() if key != "systemPrompt" or value is not None}


def _provider(*levels: Shared) -> str | tuple[str, ...] | None:
    """What the innermost level asks for; AgentV's target `default` asks for the default provider."""
    for level in levels:
        target = (level.execution and level.execution.target) or level.target
        if level.provider is not None:
            return level.provider
        if target is not None:
            return None if target == _DEFAULT_TARGET else target
    return None

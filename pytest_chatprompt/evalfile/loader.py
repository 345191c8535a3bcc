"""The loader: the text of an eval file becomes cases, and every problem gets its position.

In: the path of an eval file. Out: an `EvalCase` or an `InvalidCase` for each case, in the order of the file; for a case
with variables a `CaseTemplate` for each of its rows.
A problem of the file itself raises `EvalFileError`; a problem inside a case does not stop the other cases.
`items.file` calls `load_eval_file` as it collects, once for each file, and so does `eval_file_check`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field, ValidationError

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile import agentv_config
from pytest_chatprompt.evalfile.case import EvalCase, Origin
from pytest_chatprompt.evalfile.case_template import CaseTemplate
from pytest_chatprompt.evalfile.eval_check import merge_checks
from pytest_chatprompt.evalfile.file_defaults import merge_with_file
from pytest_chatprompt.evalfile.frozen_dict import FrozenDict
from pytest_chatprompt.evalfile.ignored_data import problems_that_matter
from pytest_chatprompt.evalfile.ineffective_keys import find_ineffective_keys
from pytest_chatprompt.evalfile.row_loader import RowLoader
from pytest_chatprompt.evalfile.rows import Row
from pytest_chatprompt.evalfile.schema_annotations import WrittenAs
from pytest_chatprompt.evalfile.shared_keys import SharedKeys, is_valid_tag
from pytest_chatprompt.evalfile.shorthands import expand_tree
from pytest_chatprompt.evalfile.strict_model import NonEmptyTupleOf
from pytest_chatprompt.evalfile.yaml_file import YamlSource, read_yaml_file
from pytest_chatprompt.evalfile.yaml_tree import Node, Position
from pytest_chatprompt.wording import shown_path


class EvalFileKeys(SharedKeys, defer_build=False):
    """The keys at the top of an eval file.

    Attributes:
        schema_: accepted for editors, not read.
        evalcases: the cases, at least one; they are validated one by one.
    """

    level = "file"

    schema_: Any = Field(default=None, alias="$schema")
    evalcases: Annotated[NonEmptyTupleOf[Any], WrittenAs(lambda: NonEmptyTupleOf[EvalCase])]


class InvalidCase(NamedTuple):
    """A case that has an id but is otherwise invalid: it becomes a test item that reports its problems.

    Args:
        id: its id.
        tags: the file's tags and its own valid ones, so that `-m` selects it as it would the valid case.
        line: the 1-based line on which it begins.
        error: all of its problems.
        row_id: the id of the row that is invalid; `None` if the whole case is.
    """

    id: str
    tags: tuple[str, ...]
    line: int
    error: EvalFileError
    row_id: str | None = None


LoadedCase = EvalCase | CaseTemplate | InvalidCase


def load_eval_file(
    path: Path,
    root: Path,
    default_guideline_patterns: Sequence[str] | None = None,
    warn: Callable[[Diagnostic], object] = lambda _: None,
) -> tuple[LoadedCase, ...]:
    """Load the cases of an eval file.

    Args:
        path: the file, absolute.
        root: pytest's root folder; messages show paths relative to it, and the search for `.agentv` ends there.
        default_guideline_patterns: the globs of cases for which neither the file nor the case sets any;
            `None` for those of `.agentv/config.yaml`.
        warn: called for each key that is valid and has no effect.

    Returns:
        The cases in the order of the file, at least one. A case with variables is a `CaseTemplate`, one for each of
        its rows.

    Raises:
        EvalFileError: the file itself is invalid: it cannot be read, one of its own keys is wrong, or a case has no
            usable id. It has all problems of the file, but not those inside its cases.
    """
    return _EvalFileLoader(path, root, default_guideline_patterns).load(warn)


class _EvalFileLoader:
    """Loads one file, and collects the problems of the file to report all of them at once."""

    def __init__(self, path: Path, root: Path, default_guideline_patterns: Sequence[str] | None) -> None:
        self.path = path
        self.root = root
        self.shown_path = shown_path(path, root)
        self.given_patterns = default_guideline_patterns
        self.diagnostics: list[Diagnostic] = []
        self.row_loader = RowLoader(path, root, self.shown_path)

    def load(self, warn: Callable[[Diagnostic], object]) -> tuple[LoadedCase, ...]:
        text, document, yaml_problems = read_yaml_file(self.path, self.root, self.shown_path)
        for problem in problems_that_matter(yaml_problems, document):
            self.add_diagnostic(problem.position, problem.text)
        if not isinstance(document.value, dict):
            self.add_diagnostic(document.position, "an eval file must be a mapping with the key 'evalcases'")
            raise EvalFileError(self.diagnostics)
        expand_tree(document)
        file_keys = self.validate_file_keys(document)
        nodes = list(self.nodes_with_id(document))
        if self.diagnostics or file_keys is None:
            raise EvalFileError(sorted(set(self.diagnostics)))
        for (line, column), case_id, warning in find_ineffective_keys(document):
            warn(Diagnostic(self.shown_path, line, column, warning, case_id=case_id))
        source = YamlSource(text)
        loaded: list[LoadedCase] = []
        for index, node in nodes:
            origin = Origin(self.path, self.shown_path, *node.position, source, index)
            case = self.load_case(node, file_keys, origin)
            if isinstance(case, InvalidCase) or case.vars is None:
                loaded.append(case)
            else:
                loaded += self.templates(case, node, document)
        return tuple(loaded)

    def add_diagnostic(self, position: Position, text: str) -> None:
        self.diagnostics.append(Diagnostic(self.shown_path, position.line, position.column, text))

    def validate_file_keys(self, document: Node) -> EvalFileKeys | None:
        # The cases are left as nodes: each becomes data only once, when it is validated itself.
        data = {
            key: entry.node.value if key == "evalcases" else entry.node.data() for key, entry in document.value.items()
        }
        try:
            return EvalFileKeys.model_validate(data)
        except ValidationError as error:
            from pytest_chatprompt.evalfile.foreign_keys import OTHER_FORMATS  # noqa: PLC0415 - most files are valid

            is_other_format = "evalcases" not in document.value and OTHER_FORMATS & document.value.keys()
            for position, text in _explain(error, document, EvalFileKeys):
                # The error at the key of the other format also says that `evalcases` is missing.
                if not (is_other_format and text == "missing key 'evalcases'"):
                    self.add_diagnostic(position, text)
            return None

    def nodes_with_id(self, document: Node) -> Iterator[tuple[int, Node]]:
        """The cases that have a unique id, each with its 0-based index; any other case is a problem of the file."""
        nodes = document.find(("evalcases",)).value
        first_lines: dict[str, int] = {}
        for index, node in enumerate(nodes if isinstance(nodes, tuple) else ()):
            if not isinstance(node.value, dict):
                self.add_diagnostic(node.position, "a case must be a mapping with the keys 'id' and 'input_messages'")
                continue
            if "id" not in node.value:
                self.add_diagnostic(node.position, "missing key 'id'; give the case an id that is unique in this file")
                continue
            case_id = node.find(("id",))
            if not isinstance(case_id.value, str) or not case_id.value.strip():
                from pytest_chatprompt.evalfile.diagnostics import describe_value  # noqa: PLC0415 - most ids are valid

                description = describe_value(case_id, with_hint=True)
                self.add_diagnostic(case_id.position, f"'id' must be a string that is not blank, but is {description}")
            elif case_id.value in first_lines:
                first_line = first_lines[case_id.value]
                self.add_diagnostic(
                    case_id.position, f"the id {case_id.value!r} is used twice, first on line {first_line}"
                )
            else:
                first_lines[case_id.value] = case_id.position.line
                yield index, node

    def load_case(self, node: Node, file_keys: EvalFileKeys, origin: Origin) -> EvalCase | InvalidCase:
        data = node.data()
        try:
            case = EvalCase.model_validate(data)
        except ValidationError as error:
            return self.invalid_case(_explain(error, node, EvalCase), node, data, file_keys)
        ambiguous = [
            problem
            for index, message in enumerate(case.input_messages)
            if isinstance(message.content, FrozenDict)
            for problem in _ambiguous_scalars(node.find(("input_messages", index, "content")))
        ]
        if ambiguous:
            return self.invalid_case(ambiguous, node, data, file_keys)
        merged = merge_with_file(case, file_keys)
        if merged["guideline_patterns"] is None:
            merged["guideline_patterns"] = self.default_patterns
        if case.checks or file_keys.checks:
            merged["checks"] = merge_checks(file_keys.checks, case.checks, origin.case_index)
        # `model_copy` would do the same, but a copy costs half as much as validation, and the case is still ours alone.
        vars(case).update(merged)
        case.model_fields_set.update(merged)
        case._origin = origin
        return case

    def templates(self, case: EvalCase, node: Node, document: Node) -> Iterator[CaseTemplate | InvalidCase]:
        """The templates of a case with variables: one for each row, or a single one."""
        if case.parametrize is None:
            yield CaseTemplate(case)
            return
        try:
            rows = self.row_loader.load(case.parametrize, node, document)
        except EvalFileError as error:
            diagnostics = [replace(diagnostic, case_id=case.id) for diagnostic in error.diagnostics]
            yield InvalidCase(case.id, case.tags, case.line, EvalFileError(diagnostics))
            return
        for row in rows:
            if isinstance(row, Row):
                yield CaseTemplate(case, row)
            else:
                diagnostic = Diagnostic(row.path, *row.position, row.text, case_id=f"{case.id}[{row.id}]")
                yield InvalidCase(case.id, case.tags, case.line, EvalFileError([diagnostic]), row.id)

    def invalid_case(
        self, problems: Iterable[tuple[Position, str]], node: Node, data: dict[str, Any], file_keys: EvalFileKeys
    ) -> InvalidCase:
        diagnostics = {
            Diagnostic(self.shown_path, position.line, position.column, text, case_id=data["id"])
            for position, text in problems
        }
        tags = data.get("tags")
        valid_tags = (
            [tag for tag in tags if isinstance(tag, str) and is_valid_tag(tag)] if isinstance(tags, list) else []
        )
        return InvalidCase(
            id=data["id"],
            tags=(*file_keys.tags, *valid_tags),
            line=node.position.line,
            error=EvalFileError(sorted(diagnostics)),
        )

    @cached_property
    def default_patterns(self) -> tuple[str, ...]:
        # Looked for only when a case needs them, so that settings of AgentV that nothing uses cannot fail a file.
        if self.given_patterns is not None:
            return tuple(self.given_patterns)
        return agentv_config.find_guideline_patterns(self.path.parent, self.root)


def _explain(error: ValidationError, node: Node, model: type[SharedKeys]) -> Iterator[tuple[Position, str]]:
    # Most eval files are valid, and it imports the models of keys that most of them do not have.
    from pytest_chatprompt.evalfile.diagnostics import explain_validation_error  # noqa: PLC0415

    return explain_validation_error(error, node, model)


def _ambiguous_scalars(node: Node) -> Iterator[tuple[Position, str]]:
    # Most messages are text.
    from pytest_chatprompt.evalfile.ambiguous_scalars import find_ambiguous_scalars  # noqa: PLC0415

    return find_ambiguous_scalars(node)

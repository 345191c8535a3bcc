"""The loader: the text of an eval file becomes cases, and every problem gets its position."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import Field, ValidationError

from pytest_chatprompt.cases.case import (
    EvalCase,
    SharedKeys,
    case_diagnostic,
    is_valid_tag,
    option_readers,
    place_of_row,
)
from pytest_chatprompt.cases.fields import OTHER_FORMATS, NonEmptyTupleOf
from pytest_chatprompt.cases.lint import find_ineffective_keys
from pytest_chatprompt.cases.origin import Origin, Row, YamlSource
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.files import NamedFileError, TextFileError, find_agentv_file, find_file
from pytest_chatprompt.text.json_data import MAX_FILE_DEPTH, FrozenDict, freeze
from pytest_chatprompt.text.yaml import Node, Position, parse_yaml, read_yaml_file
from pytest_chatprompt.wording import shown_path

if TYPE_CHECKING:
    from pytest_chatprompt.cases.formats.foreign_file import Translation

# AgentV's name for the default provider.
DEFAULT_TARGET: Final = "default"
# Down to the messages of a case, and its rows. The text is parsed again where the place of anything else is needed.
_LEVELS: Final = 4


class EvalFileKeys(SharedKeys):
    """The keys at the top of an eval file.

    Attributes:
        schema_: accepted for editors, not read.
        evalcases: the cases, at least one; they are validated one by one.
    """

    level = "file"

    schema_: Any = Field(default=None, alias="$schema")
    evalcases: NonEmptyTupleOf[Any]


class LoadedCase(NamedTuple):
    """A case of an eval file, or one of its rows: it becomes a test item, also where it is invalid.

    It has the tags of its file too; the valid ones if it is invalid, so that `-m` selects it just as well. `written` is
    the case as its author wrote it, with its variables, or what is wrong with it or with its row.
    """

    id: str
    tags: tuple[str, ...]
    line: int
    written: EvalCase | EvalFileError
    row_id: str | None = None
    row: Row | None = None

    @property
    def full_id(self) -> str:
        """The id with its row: `qa[eiffel]`."""
        return self.id if self.row_id is None else f"{self.id}[{self.row_id}]"

    def render(self) -> EvalCase:
        """The case with its variables filled in; an `EvalFileError` if it is invalid, or a text cannot be rendered."""
        if isinstance(self.written, EvalFileError):
            raise self.written
        if self.written.vars is None:
            return self.written
        # Most cases have no variables, and need nothing of it.
        from pytest_chatprompt.cases.templates import render_case  # noqa: PLC0415

        return render_case(self.written, self.row)


def load_eval_file(
    path: Path,
    root: Path,
    default_guideline_patterns: Sequence[str] | None = None,
    warn: Callable[[Diagnostic], object] = lambda _: None,
) -> tuple[LoadedCase, ...]:
    """Load the cases of an eval file: at least one, in the order of the file, a case with rows once for each of them.

    Guideline patterns that nobody sets are the default ones, if `None` those of `.agentv/config.yaml`. `warn` is called
    for each key without effect. An `EvalFileError` has all problems of the file itself, not those inside its cases.
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
        # By the position of `parametrize`: the cases of a file may share its own.
        self.rows: dict[Position, list[Row] | EvalFileError] = {}

    def load(self, warn: Callable[[Diagnostic], object]) -> tuple[LoadedCase, ...]:
        text, document = read_document(self.path, self.root, _LEVELS)
        source = YamlSource(text)
        rows: Mapping[int, Row] = {}
        if not isinstance(document.value, dict) or "evalcases" not in document.value:
            translation = translate(self.path, self.root, source.root, warn)
            if translation is not None:
                document, rows = translation
                source = YamlSource(text, document)
        if not isinstance(document.value, dict):
            self.add_diagnostic(document.position, "an eval file must be a mapping with the key 'evalcases'")
            raise EvalFileError(self.diagnostics)
        file_keys = self.validate_file_keys(document, source)
        nodes = list(self.nodes_with_id(document))
        if self.diagnostics or file_keys is None:
            raise EvalFileError(sorted(set(self.diagnostics)))
        for warning in find_ineffective_keys(document, self.shown_path):
            warn(warning)
        loaded: list[LoadedCase] = []
        for index, node in nodes:
            origin = Origin(self.path, self.shown_path, *node.position, source, index, rows.get(index))
            data = node.data()
            try:
                case = self.load_case(data, file_keys, origin)
            except ValidationError as error:
                loaded.append(self.invalid_case(error, origin, data, file_keys))
            else:
                loaded += self.with_rows(case, node, document, rows.get(index))
        return tuple(loaded)

    def add_diagnostic(self, position: Position, text: str) -> None:
        self.diagnostics.append(Diagnostic(self.shown_path, *position, text))

    def validate_file_keys(self, document: Node, source: YamlSource) -> EvalFileKeys | None:
        # The cases are left as nodes: each becomes data only once, when it is validated itself.
        data = {
            key: entry.node.value if key == "evalcases" else entry.node.data() for key, entry in document.value.items()
        }
        if OTHER_FORMATS & data.keys():
            # The error at the key of the other format says that `evalcases` is missing.
            data.setdefault("evalcases", (None,))
        try:
            return EvalFileKeys.model_validate(data)
        except ValidationError as error:
            for position, text in explain(error, source.root, EvalFileKeys):
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
                description = case_id.describe(with_hint=True)
                self.add_diagnostic(case_id.position, f"'id' must be a string that is not blank, but is {description}")
            elif case_id.value in first_lines:
                text = f"the id {case_id.value!r} is used twice, first on line {first_lines[case_id.value]}"
                self.add_diagnostic(case_id.position, text)
            else:
                first_lines[case_id.value] = case_id.position.line
                yield index, node

    def load_case(self, data: dict[str, Any], file_keys: EvalFileKeys, origin: Origin) -> EvalCase:
        case = EvalCase.model_validate(data)
        merged = merge_with_file(case, file_keys)
        if merged["guideline_patterns"] is None:
            merged["guideline_patterns"] = self.default_patterns
        if case.checks or file_keys.checks:
            own = (replace(check, location=("evalcases", origin.case_index, *check.location)) for check in case.checks)
            merged["checks"] = (*file_keys.checks, *own)
        # `model_copy` would do the same, but a copy costs half as much as validation, and the case is still ours alone.
        vars(case).update(merged)
        case.model_fields_set.update(merged)
        case._origin = origin
        return case

    def with_rows(self, case: EvalCase, node: Node, document: Node, from_row: Row | None) -> Iterator[LoadedCase]:
        """A valid case: once for each of its rows, or a single time, perhaps with the one that it was made of."""
        item = LoadedCase(case.id, case.tags, node.position.line, case, (from_row and from_row.id) or None, from_row)
        if case.parametrize is None and not re.search(r"\*|\.jsonl$", case.request or ""):
            yield item
            return
        written = node.find(("parametrize",))
        if written is node or written.value is None:
            written = document.find(("parametrize",))
        rows = self.load_files(case) if case.parametrize is None else self.load_rows(case.parametrize, written)
        if isinstance(rows, EvalFileError):
            diagnostics = [diagnostic._replace(case_id=case.id) for diagnostic in rows.diagnostics]
            yield item._replace(written=EvalFileError(diagnostics))
            return
        for row in rows:
            of_row = item._replace(row_id=row.id)
            if row.problem:
                problem = Diagnostic(row.path, row.line, row.column, row.problem, of_row.full_id)
                yield of_row._replace(written=EvalFileError([problem]))
            else:
                yield of_row._replace(row=row)

    def load_files(self, case: EvalCase) -> list[Row] | EvalFileError:
        """A row for each captured request, whose `id` is what the stars of its path stand for.

        Each line of a log in JSONL is one, which the row has as `request`.
        """
        # Few projects have any.
        from pytest_chatprompt.cases.rows import read_jsonl  # noqa: PLC0415

        pattern = str(case.request)
        before, star, _ = pattern.partition("*")
        after = pattern.rpartition("*")[2] if star else ""
        folder = self.root if pattern.startswith("/") else self.path.parent
        # `Path.glob` finds hidden files too. Nothing but a star stands for others.
        escaped = re.sub(r"[?[]", r"[\g<0>]", pattern.removeprefix("/"))
        rows = []
        try:
            for found in sorted(glob(escaped, root_dir=folder, recursive=True)):  # noqa: PTH207
                file = found.replace("\\", "/")
                stars = file[len(before.removeprefix("/")) : len(file) - len(after)]
                if not (folder / file).is_file() or f"__snapshots__/{self.path.stem}/" in file:
                    continue
                if not file.endswith(".jsonl"):
                    rows.append(Row(stars or file, file, 0, 0, {"id": stars}))
                    continue
                path = find_file(file, folder, self.root).path
                for position, body, problem in read_jsonl(path, self.root):
                    id_ = f"{stars}:{position.line}" if stars else str(position.line)
                    values = {"id": stars, "request": body}
                    rows.append(Row(id_, shown_path(path, self.root), *position, values, problem))
        except (NamedFileError, TextFileError) as error:
            text = str(error) if isinstance(error, NamedFileError) else f"{file} {error}"
            return EvalFileError([case_diagnostic(case, text, "request")])
        request = f"{before}{{{{ id }}}}{after}" if star else pattern
        vars(case).update(request=request, vars=case.vars or FrozenDict())
        return rows or EvalFileError([case_diagnostic(case, f"no file matches {pattern}", "request")])

    def load_rows(self, parametrize: str | tuple[Any, ...], node: Node) -> list[Row] | EvalFileError:
        # Most files have none.
        from pytest_chatprompt.cases.rows import load_dataset, make_rows, read_nodes  # noqa: PLC0415

        if node.position not in self.rows:
            try:
                if isinstance(parametrize, str):
                    self.rows[node.position] = load_dataset(parametrize, self.path.parent, self.root)
                else:
                    self.rows[node.position] = make_rows(read_nodes(node.value), self.shown_path)
            except EvalFileError as error:
                self.rows[node.position] = error
            except NamedFileError as error:
                self.rows[node.position] = EvalFileError([Diagnostic(self.shown_path, *node.position, str(error))])
        return self.rows[node.position]

    def invalid_case(
        self, error: ValidationError, origin: Origin, data: dict[str, Any], file_keys: EvalFileKeys
    ) -> LoadedCase:
        node = origin.source.root.find(("evalcases", origin.case_index))
        problems = {
            Diagnostic(self.shown_path, *position, text + place_of_row(origin.row), data["id"])
            for position, text in explain(error, node, EvalCase)
        }
        written = data["tags"] if isinstance(data.get("tags"), list) else ()
        valid_tags = [tag for tag in written if isinstance(tag, str) and is_valid_tag(tag)]
        tags = (*file_keys.tags, *valid_tags)
        return LoadedCase(data["id"], tags, origin.line, EvalFileError(sorted(problems)))

    @cached_property
    def default_patterns(self) -> tuple[str, ...]:
        # Looked for only when a case needs them, so that settings of AgentV that nothing uses cannot fail a file.
        if self.given_patterns is not None:
            return tuple(self.given_patterns)
        return find_guideline_patterns(self.path.parent, self.root)


def read_document(path: Path, root: Path, levels: int = MAX_FILE_DEPTH) -> tuple[str, Node]:
    """Read the text of an eval file, and its tree down to some levels."""
    if path.suffix == ".jsonl":
        # Lines of tests are AgentV's, with a name of theirs.
        text = json.dumps({"name": path.stem, "tests": path.name})
        return text, parse_yaml(text)
    return read_yaml_file(path, root, shown_path(path, root), levels)


def translate(path: Path, root: Path, top: Node, warn: Callable[[Diagnostic], object]) -> Translation | None:
    """Translate the tree of a file of another tool; `None` if it is none."""
    from pytest_chatprompt.cases.formats import table  # noqa: PLC0415 - few projects have any
    from pytest_chatprompt.cases.formats.foreign_file import ForeignFile  # noqa: PLC0415

    file = ForeignFile(path, root, shown_path(path, root), top, warn)
    translation = table.translate(file)
    if translation is not None and not (file.problems or translation.document.find(("evalcases",)).value):
        file.reject(top, "this file has no cases")
    if file.problems:
        raise EvalFileError(sorted(set(file.problems)))
    return translation


def explain(error: ValidationError, node: Node, model: type[SharedKeys]) -> Iterator[tuple[Position, str]]:
    """What is wrong with a file or a case, and where."""
    from pytest_chatprompt.cases.diagnostics import explain_validation_error  # noqa: PLC0415 - most files are valid

    return explain_validation_error(error, node, model)


def merge_with_file(case: EvalCase, file: SharedKeys) -> dict[str, Any]:
    """The values of a case that those of its file add to or stand in for, by attribute; the case's own win."""
    # A system prompt of null is not set, so the file's shows through.
    own_metadata = {key: value for key, value in case.metadata.items() if key != "systemPrompt" or value is not None}
    merged = {
        "provider": _provider(case, file),
        "metadata": freeze({**file.metadata, **own_metadata}),
        "guideline_patterns": file.guideline_patterns if case.guideline_patterns is None else case.guideline_patterns,
        "tags": tuple(dict.fromkeys((*file.tags, *case.tags))),
        "outcome": case.expected_outcome if case.outcome is None else case.outcome,
    }
    # Where neither sets one of these, nothing is set.
    for name in ("settings", "tools", "tool_choice", "response_format", "repeat", "pass_rate", "parametrize"):
        value = getattr(file, name)
        if value is not None and getattr(case, name) is None:
            merged[name] = value
    if case.tools == ():
        # A case that has no tools at all has none to choose from.
        merged.pop("tool_choice", None)
    if file.settings is not None and case.settings is not None:
        merged["settings"] = option_readers().merge_settings_of_case(file.settings, case.settings)
    if case.vars is not None or file.vars is not None or (case.parametrize or file.parametrize) is not None:
        merged["vars"] = freeze({**(file.vars or {}), **(case.vars or {})})
    return merged


def _provider(*levels: SharedKeys) -> str | tuple[str, ...] | None:
    """The provider of the first level that names one, also as an AgentV target; `None` for the default provider."""
    for level in levels:
        if level.provider is not None:
            return level.provider
        target = (level.execution and level.execution.target) or level.target
        if target is not None:
            return None if target == DEFAULT_TARGET else target
    return None


def find_guideline_patterns(folder: Path, root: Path) -> tuple[str, ...]:
    """The `guideline_patterns` of the nearest `.agentv/config.yaml`, up to the root folder; empty for none."""
    path = find_agentv_file(folder, root, "config.yaml")
    if path is None:
        return ()
    # Few projects have these settings.
    from pytest_chatprompt.cases.agentv_settings import read_guideline_patterns  # noqa: PLC0415

    return read_guideline_patterns(path, root)

"""The table of check types, and the checks of a case made from what its author wrote."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Literal, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from pytest_chatprompt.cases.case import EvalCase, EvalCheck, place_of_row
from pytest_chatprompt.cases.fields import StrictModel
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.grading import check_types
from pytest_chatprompt.grading.check import NEGATION, Check
from pytest_chatprompt.grading.judge import LlmRubric
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.text.files import NamedFileError
from pytest_chatprompt.text.json_data import error_at, invalid
from pytest_chatprompt.text.yaml import Node, make_node
from pytest_chatprompt.wording import did_you_mean

ENTRY_POINT_GROUP: Final = "pytest_chatprompt.checks"

# By the name that an eval file uses.
CHECKS: Final[Mapping[str, type[Check]]] = {
    "equals": check_types.Equals,
    "contains": check_types.Contains,
    "icontains": check_types.IContains,
    "contains_any": check_types.ContainsAny,
    "contains_all": check_types.ContainsAll,
    "icontains_any": check_types.IContainsAny,
    "icontains_all": check_types.IContainsAll,
    "starts_with": check_types.StartsWith,
    "regex": check_types.Regex,
    "is_json": check_types.IsJson,
    "tool_called": check_types.ToolCalled,
    "llm_rubric": LlmRubric,
    "max_latency_seconds": check_types.MaxLatencySeconds,
    "max_output_tokens": check_types.MaxOutputTokens,
    "max_cost_usd": check_types.MaxCostUsd,
    "max_tokens": check_types.MaxTokens,
    "max_characters": check_types.MaxCharacters,
    "python": check_types.Python,
}
# Words of promptfoo and AgentV for what has another name here.
_OTHER_WORDS: Final[Mapping[str, str]] = {
    "contains_json": "regex",
    "cost": "max_cost_usd",
    "is_valid_openai_tools_call": "tool_called",
    "javascript": "python",
    "latency": "max_latency_seconds",
    "script": "python",
    "tool_trajectory": "tool_called",
}


def _mistake(key: str, text: str) -> ValidationError:
    """A mistake at one of the keys of a check."""
    return error_at((key,), invalid(text))


def find_type(written: str) -> tuple[type[Check], bool]:
    """Find the class that grades a type of check, and whether its opposite is meant."""
    name = written.replace("-", "_")
    is_negated = name.startswith(NEGATION)
    name = name.removeprefix(NEGATION)
    return CHECKS.get(name) or _installed_type(name, written), is_negated


def _installed_type(name: str, written: str) -> type[Check]:
    entry = _installed().get(name)
    if entry is None:
        raise _mistake("type", f"unknown check type: {written!r}; {_suggestion(name)}")
    try:
        check: type[Check] = entry.load()
        if not issubclass(check, Check):
            raise TypeError("it is not a subclass of pytest_chatprompt.Check")
    except Exception as error:
        raise _mistake(
            "type", f"the check type {written!r} cannot be loaded from {entry.value}: {type(error).__name__}: {error}"
        ) from error
    return check


@cache
def _installed() -> Mapping[str, EntryPoint]:
    # Looking through all packages takes longer than a case.
    return {entry.name.replace("-", "_"): entry for entry in entry_points(group=ENTRY_POINT_GROUP)}


def _suggestion(name: str) -> str:
    if name in _OTHER_WORDS:
        return f"here this is {_OTHER_WORDS[name]!r}"
    known = [*CHECKS, *_installed()]
    opposites = [f"{NEGATION}{known_name}" for known_name in known]
    return did_you_mean(name, [*known, *opposites]) or f"the types are {', '.join(known)}, and not_... of each"


LooksAt = Literal["answer", "request"]


class CaseCheck(NamedTuple):
    """A check of a case, ready to be graded."""

    written: EvalCheck
    check: Check
    is_negated: bool = False
    of: LooksAt = "answer"


def parse_checks(case: EvalCase, reader: FileReader) -> tuple[CaseCheck, ...]:
    """Make each check of a case an instance of its type, with its values validated and its files read."""
    parsed: list[CaseCheck] = []
    diagnostics: list[Diagnostic] = []
    for written in case.checks:
        model: type[StrictModel] = StrictModel
        try:
            model, is_negated = find_type(written.type)
            parsed.append(_parse(written, model, is_negated, case, reader))
        except EvalFileError as error:
            # In a file that the check names.
            diagnostics += error.diagnostics
        except ValidationError as error:
            from pytest_chatprompt.cases.diagnostics import explain_validation_error  # noqa: PLC0415 - most are valid

            for position, text in explain_validation_error(error, find_node(written, case), model):
                where = (case.origin.shown_path, position.line, position.column)
                diagnostics.append(Diagnostic(*where, text + place_of_row(case.origin.row), case_id=case.full_id))
    if diagnostics:
        raise EvalFileError(sorted(set(diagnostics)))
    return tuple(parsed)


def _parse(written: EvalCheck, model: type[Check], is_negated: bool, case: EvalCase, reader: FileReader) -> CaseCheck:
    arguments = dict(written.arguments)
    of = arguments.pop("of", "answer")
    if of not in get_args(LooksAt):
        raise _mistake("of", f"'of' must be {' or '.join(get_args(LooksAt))}, but is {of!r}")
    if of == "request" and not model.can_grade_request:
        raise _mistake("of", f"{written.type!r} looks at answers only; remove 'of'")
    if of == "answer" and not model.can_grade_answer:
        raise _mistake("type", f"{written.type!r} looks at what is sent only; add 'of: request'")
    check = model.model_validate(arguments).read_files(partial(_read_file, case, reader))
    mistake = check.find_mistake(case)
    if mistake:
        raise _mistake("type", mistake)
    return CaseCheck(written, check, is_negated, of)


def _read_file(case: EvalCase, reader: FileReader, path: str, key: str, model: type[BaseModel]) -> Any:
    """Read the value of a key from a file of its own; see `Check.read_files`."""
    try:
        return reader.read_definition(path, case.path.parent, key, model)
    except NamedFileError as error:
        raise _mistake(key, str(error)) from error


def find_node(check: EvalCheck, case: EvalCase) -> Node:
    """The node of a check in the file of its case; for a check made in code its data, at the position of the case."""
    root = case.origin.source.root
    if check.location:
        return root.find(check.location)
    place = root.find(("evalcases", case.origin.case_index))
    return make_node({"type": check.type, **check.arguments}, place)

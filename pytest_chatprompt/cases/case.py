"""The case: what an author wrote, with the file's defaults filled in, as frozen data."""

# Without `from __future__ import annotations`: pydantic would compile the text of each annotation, and again for each
# model that inherits the field.

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final, Literal, Self, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, PrivateAttr, model_validator
from pydantic_core import PydanticCustomError

from pytest_chatprompt.cases.fields import (
    NonEmptyString,
    NonEmptyTupleOf,
    StrictModel,
    StringOrList,
    TupleOf,
    is_integer,
    is_number,
)
from pytest_chatprompt.cases.message import EvalMessage, expand_shorthands, read_expected_messages
from pytest_chatprompt.cases.origin import CaseTest, Origin, Row, YamlSource
from pytest_chatprompt.errors import Diagnostic, EvalFileError, Location
from pytest_chatprompt.text.json_data import (
    checked,
    error_at,
    errors_at,
    freeze,
    invalid,
    json_problems,
    parsed,
    unexpected,
    without_extensions,
)
from pytest_chatprompt.wording import data_place

DEFAULT_REPEAT: Final = 1
# For each version, where two are compared.
DEFAULT_AB_REPEAT: Final = 5
DEFAULT_PASS_RATE: Final = 1.0


PassRate = Annotated[
    float, checked("a number above 0, and 1 at most: 0.8 for 80 %", lambda value: is_number(value) and 0 < value <= 1)
]


def option_readers() -> ModuleType:
    """The module that reads options, which takes longer to import than a small eval file to load."""
    from pytest_chatprompt.cases import request_options  # noqa: PLC0415 - most eval files have no options

    return request_options


_Data = Mapping[str, Any]
ToolChoiceOrWord = Annotated[str | _Data | None, parsed(lambda data: option_readers().read_tool_choice(data))]


def _require_rows_or_path(value: Any) -> Any:
    if not isinstance(value, str | list | None):
        raise unexpected("a list of rows or the path of a dataset")
    return value


@dataclass(frozen=True, slots=True)
class EvalCheck:
    """A check, as its author wrote it.

    Args:
        type: its type as written, such as `icontains` or `not-contains`.
        arguments: its other keys, such as `value`, with their JSON data.
        location: the keys and indexes that lead to it from the top of the eval file; empty for one made in code.
    """

    type: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    location: Location = field(default=(), compare=False)


def read_checks(data: Any) -> tuple[EvalCheck, ...]:
    """Check that `checks` is a list of mappings with a type, or of `EvalCheck`s; their other keys do not matter."""
    if not isinstance(data, list | tuple):
        raise unexpected("a list of checks")
    checks: list[EvalCheck] = []
    problems: list[tuple[Location, PydanticCustomError]] = []
    for index, check in enumerate(data):
        if isinstance(check, EvalCheck):
            checks.append(check)
        elif not isinstance(check, Mapping) or "type" not in check:
            problems.append(((index,), invalid("a check must be {type: TYPE, value: ...}")))
        elif not isinstance(check["type"], str) or not check["type"]:
            problems.append(((index, "type"), unexpected("the name of a type")))
        else:
            arguments = without_extensions(check)
            problems += json_problems(arguments, (index,))
            checks.append(EvalCheck(arguments.pop("type"), freeze(arguments), ("checks", index)))
    if problems:
        raise errors_at(problems)
    return tuple(checks)


def is_valid_tag(tag: str) -> bool:
    """Whether pytest's `-m` can select a tag."""
    return re.fullmatch(r"(?!_)[\w\-./+]+", tag) is not None


def _check_tag(tag: str) -> str:
    if not is_valid_tag(tag):
        hint = "use letters, digits and _ - . / +, and do not begin with an underscore"
        raise invalid(f"the tag {tag!r} cannot be selected with -m; {hint}")
    return tag


def _reject_repeated_provider(names: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
    if isinstance(names, tuple):
        repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
        if repeated is not None:
            raise invalid(f"'provider' names {repeated!r} twice")
    return names


def _check_variables(variables: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if variables is not None:
        # Most cases have none.
        from pytest_chatprompt.cases.rows import find_problem  # noqa: PLC0415

        problem = find_problem(variables)
        if problem is not None:
            raise error_at(problem[:1], invalid(problem[1]))
    return variables


def _check_system_prompt(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    for key, value in metadata.items():
        if re.sub(r"[^a-z]", "", key.lower()) == "systemprompt":
            if key != "systemPrompt":
                raise error_at((key,), invalid(f"'metadata.{key}' has no effect; write 'systemPrompt'"))
            if not isinstance(value, str | None):
                raise error_at((key,), invalid(f"'metadata.{key}' must be a string; put it in quotes"))
    return metadata


class Execution(BaseModel, strict=True, frozen=True, extra="allow", defer_build=True):
    """AgentV's `execution`: `target` names the provider; all other keys are kept and ignored.

    Attributes:
        target: the name of the provider; `default` is the default provider.
    """

    target: str | None = None


class SharedKeys(StrictModel):
    """The keys that an eval file and a case may both have.

    Attributes:
        description: free text.
        provider: the name of the provider, or a list of names: every case runs once for each; `None` for the default.
        metadata: a mapping; `systemPrompt` is the system prompt, the rest is the author's.
        guideline_patterns: the globs that make a file a guideline; `None` if it is not set.
        tags: the markers of pytest that `-m` selects; those of a case add to its file's.
        settings: the parameters of the request, and mappings of them for single providers; `None` for none.
        tools: what the model may call, as the author wrote it, or the path of a file with it, or the name before
            `_tools` of a fixture; `None` if it is not set.
        tool_choice: which of the tools the model has to call; `None` if it is not set.
        response_format: the shape of the answer, as the author wrote it, or the path of a file with it; `None` if it
            is not set.
        checks: what the answer, or what is sent, is graded by: those of the file, then the case's own.
        repeat: how often a case is sent in a live run; `None` for once.
        pass_rate: the share of its answers that have to pass, above 0; `None` for all of them.
        vars: the variables by name, for texts that are templates then; `None` for none.
        parametrize: the rows, of which each gives an item, or the path of their dataset; `None` for none.
        expected_outcome: AgentV's word for `outcome`.
        dataset: AgentV's; accepted, not read.
        conversation_id: AgentV's; accepted, not read.
        note: AgentV's; accepted, not read.
        rubrics: AgentV's; accepted, not acted on.
        evaluator: AgentV's; accepted, not acted on.
        evaluators: AgentV's; accepted, not acted on.
        execution: AgentV's; its `target` is the provider.
        target: AgentV's word for `provider`; `default` is the default provider.
    """

    description: str | None = None
    provider: Annotated[StringOrList[NonEmptyString], AfterValidator(_reject_repeated_provider)] = None
    metadata: Annotated[Mapping[str, Any], AfterValidator(_check_system_prompt)] = Field(default_factory=dict)
    guideline_patterns: TupleOf[str] | None = None
    tags: TupleOf[Annotated[str, AfterValidator(_check_tag)]] = ()
    settings: Annotated[_Data | None, parsed(lambda it: option_readers().read_settings(it))] = None
    tools: Annotated[str | tuple[_Data, ...] | None, parsed(lambda it: option_readers().read_tools_or_path(it))] = None
    tool_choice: ToolChoiceOrWord = None
    response_format: Annotated[str | _Data | None, parsed(lambda it: option_readers().read_format_or_path(it))] = None
    checks: Annotated[tuple[EvalCheck, ...], parsed(read_checks)] = ()
    repeat: Annotated[int, checked("a whole number from 1", lambda it: is_integer(it) and it >= 1)] | None = None
    pass_rate: PassRate | None = None
    vars: Annotated[Mapping[str, Any] | None, AfterValidator(_check_variables)] = None
    parametrize: Annotated[StringOrList[Any], BeforeValidator(_require_rows_or_path)] = None

    # AgentV's keys. `expected_outcome`, `execution` and `target` have an effect; the others are accepted and ignored.
    expected_outcome: str | None = None
    dataset: Any = None
    conversation_id: Any = None
    note: Any = None
    rubrics: Any = None
    evaluator: Any = None
    evaluators: Any = None
    execution: Execution | None = None
    target: str | None = None


class EvalCase(SharedKeys):
    """One case of an eval file, with the file's defaults filled in.

    Attributes:
        id: unique in the file.
        outcome: what a good answer does, free text (AgentV: `expected_outcome`).
        provider: the name of the provider, or several names; `None` for the default provider.
        metadata: the file's metadata, overridden key by key by the case's own; `systemPrompt` is the system prompt.
        guideline_patterns: the globs that make a file a guideline; empty for none.
        tags: the file's tags, then the case's own, each once.
        input_messages: the messages to send, at least one; empty only beside `request`.
        request: the path of a captured request, which is sent in place of messages, of a log of several, or a glob;
            `None` for none.
        api: the provider whose API got the captured request; `None` if its shape tells it.
        expected_messages: a reference answer, never sent: messages, or any other data, frozen.
        input: AgentV's shorthand for `input_messages`: a text, a message, a list of messages, or data to send as JSON.
        expected_output: AgentV's shorthand for `expected_messages`: any data.
        vars: the variables by name, those of the row included; `None` if neither the case nor its file has any.
        parametrize: the rows as the author wrote them, or the path of their dataset; `None` for none.
    """

    level = "case"

    id: NonEmptyString
    outcome: str | None = None
    input_messages: NonEmptyTupleOf[EvalMessage]
    request: NonEmptyString | None = None
    api: Literal["openai", "openai_responses", "anthropic", "gemini", "bedrock", "mistral"] | None = None
    expected_messages: Annotated[tuple[Any, ...], parsed(read_expected_messages)] = ()

    # AgentV's shorthands, as the author wrote them; `input_messages` and `expected_messages` have what they stand for.
    input: Any = None
    expected_output: Any = None

    _origin: Origin | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _read_mapping(cls, data: Any) -> Any:
        return expand_shorthands(without_extensions(data)) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _check_request(self) -> Self:
        if self.request is None:
            if self.api is not None:
                text = "'api' says whose a captured request is; write its path as 'request'"
                raise error_at(("api",), invalid(text))
            return self
        for key in ("input_messages", "tools", "tool_choice", "response_format", "guideline_patterns", "system_prompt"):
            value = getattr(self, key)
            if value is not None and (value or key != "input_messages"):
                shown = "metadata.systemPrompt" if key == "system_prompt" else key
                text = f"a captured request is sent as it is; leave out {shown!r}, or 'request'"
                raise error_at(tuple(shown.split(".")), invalid(text))
        return self

    @property
    def has_origin(self) -> bool:
        """Whether the case was read from a file; one that is made in code was not."""
        return self._origin is not None

    @property
    def origin(self) -> Origin:
        """The file and the position that the case was read from; an `AttributeError` if it was not."""
        # pydantic looks a private attribute up slowly.
        if (origin := self._origin) is None:
            raise AttributeError(f"case {self.id!r} was not read from a file")
        return origin

    @property
    def path(self) -> Path:
        """The eval file, absolute."""
        return self.origin.path

    @property
    def line(self) -> int:
        """The 1-based line on which the case begins."""
        return self.origin.line

    @property
    def row_id(self) -> str | None:
        """The id of the row that the case was rendered with; `None` for none."""
        return None if (origin := self._origin) is None or origin.row is None else origin.row.id or None

    @property
    def full_id(self) -> str:
        """The id with its row, as in the node id: `qa[eiffel]`; the id alone without one."""
        row_id = self.row_id
        return self.id if row_id is None else f"{self.id}[{row_id}]"

    @property
    def system_prompt(self) -> str | None:
        """The author's `metadata.systemPrompt`: `""` to send none, `None` if it is not set."""
        return cast("str | None", self.metadata.get("systemPrompt"))


def case_diagnostic(case: EvalCase, text: str, *location: str | int, provider_name: str = "") -> Diagnostic:
    """Report a problem with a value of a case, at the keys and indexes that lead to it: see `Origin.position_of`."""
    origin = case.origin
    position = origin.position_of(*location, provider_name=provider_name)
    if location and not origin.line:
        text = f"{data_place(location)}: {text}"
    return Diagnostic(origin.shown_path, *position, text + place_of_row(origin.row), case.full_id)


def place_of_row(row: Row | None) -> str:
    """The end of an error text that says where the row of a case stands; `""` without a row."""
    return "" if row is None else f" (row at {row.place})"


def case_in_test(case: EvalCase, test: CaseTest) -> EvalCase:
    """A copy of a case that has a test as its origin; an `EvalFileError` if it has what only eval files have."""
    if case.has_origin:
        return case
    copy = case.model_copy()
    module = Path(test.node_id.partition("::")[0]).name or "code"
    copy._origin = Origin(test.folder / module, test.node_id, 0, 0, YamlSource(""), 0)
    unused = [name for name in ("vars", "parametrize", "repeat", "pass_rate") if getattr(case, name) is not None]
    text = "has no effect in a case made in code; use f-strings, and parameters of pytest"
    problems = dict.fromkeys(unused, text)
    if case.checks:
        problems["checks"] = "are not graded in a case made in code; assert on eval_response"
    if problems:
        raise EvalFileError(case_diagnostic(copy, text, name) for name, text in problems.items())
    return copy

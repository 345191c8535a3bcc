"""The keys that an eval file and each of its cases may both have."""

# Without `from __future__ import annotations`: pydantic would compile the text of each annotation, and again for each
# model that inherits the field.

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from pytest_chatprompt.cases.fields import (
    KnownNames,
    NonEmptyString,
    NonEmptyTupleOf,
    SchemaKeywords,
    StrictModel,
    TupleOf,
    WrittenAs,
    characters_pattern,
    is_integer,
    is_number,
    path_pattern,
    pattern,
    value_kind,
    word_pattern,
)
from pytest_chatprompt.cases.rows import RowData, Variables, describe_data, find_problem
from pytest_chatprompt.text.json_data import (
    Location,
    check_json,
    checked,
    errors_at,
    freeze,
    invalid,
    unexpected,
    without_extensions,
)

DEFAULT_REPEAT: Final = 1
DEFAULT_PASS_RATE: Final = 1.0


Repeat = (
    Annotated[int, Field(ge=1), checked("a whole number from 1", lambda value: is_integer(value) and value >= 1)] | None
)
PassRate = (
    Annotated[
        float,
        SchemaKeywords(lambda: {"exclusiveMinimum": 0, "maximum": 1}),
        checked("a number above 0, and 1 at most: 0.8 for 80 %", lambda value: is_number(value) and 0 < value <= 1),
    ]
    | None
)


def _read_option(name: str) -> PlainValidator:
    """The reader of an option of requests, imported for its first value: most cases set none of them."""

    def read(data: Any) -> Any:
        from pytest_chatprompt.cases import request_options  # noqa: PLC0415

        return getattr(request_options, name)(data)

    return PlainValidator(read)


def _written(name: str) -> WrittenAs:
    def make_type() -> Any:
        from pytest_chatprompt.cases.request_options import WRITTEN_TYPES  # noqa: PLC0415

        return WRITTEN_TYPES[name]

    return WrittenAs(make_type)


_Data = Mapping[str, Any]
# Of an eval file or a case: `None` if it is not set. Tools and a format may be the path of a file.
Settings = Annotated[_Data | None, _read_option("read_settings"), _written("settings")]
ToolsOrPath = Annotated[str | tuple[_Data, ...] | None, _read_option("read_tools_or_path"), _written("tools")]
WrittenToolChoice = Annotated[str | _Data | None, _read_option("read_tool_choice"), _written("tool_choice")]
FormatOrPath = Annotated[str | _Data | None, _read_option("read_format_or_path"), _written("response_format")]
# Of a request.
SettingsOfRequest = Annotated[_Data, _read_option("read_request_settings")]
ToolsOfRequest = Annotated[tuple[_Data, ...], _read_option("read_tools")]
ToolChoiceOfRequest = Annotated[str | _Data | None, _read_option("read_tool_choice")]
FormatOfRequest = Annotated[_Data | None, _read_option("read_response_format")]


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
    problems: list[tuple[Location, PydanticCustomError]] = []
    for index, check in enumerate(data):
        if isinstance(check, EvalCheck):
            continue
        if not isinstance(check, Mapping) or "type" not in check:
            problems.append(((index,), invalid("a check must be {type: TYPE, value: ...}")))
        elif not isinstance(check["type"], str) or not check["type"]:
            problems.append(((index, "type"), unexpected("the name of a type")))
    if problems:
        raise errors_at(problems)
    check_json([None if isinstance(check, EvalCheck) else without_extensions(check) for check in data])
    return tuple(_read_check(check, ("checks", index)) for index, check in enumerate(data))


def _read_check(check: Any, location: Location) -> EvalCheck:
    if isinstance(check, EvalCheck):
        return check
    own = without_extensions(check)
    return EvalCheck(own.pop("type"), freeze(own), location)


_VALID_TAG: Final = re.compile(r"(?!_)[\w\-./+]+")


def is_valid_tag(tag: str) -> bool:
    """Whether pytest's `-m` can select a tag."""
    return _VALID_TAG.fullmatch(tag) is not None


def _tag_pattern() -> str:
    return f"^(?!_){characters_pattern(lambda character: is_valid_tag(f'a{character}'))}+$"


def _dataset_pattern() -> str:
    # Few eval files have a dataset.
    from pytest_chatprompt.cases.datasets import READERS  # noqa: PLC0415

    return path_pattern(READERS)


def _metadata_keywords() -> dict[str, Any]:
    wrong = rf"^(?!systemPrompt$)(?:{word_pattern('systemprompt')})"
    return {"properties": {"systemPrompt": {"type": ["string", "null"]}}, "patternProperties": {wrong: False}}


def _checks_as_written() -> Any:
    # A run of pytest does not need it.
    from pytest_chatprompt.cases.json_schema import WrittenCheck  # noqa: PLC0415

    return TupleOf[WrittenCheck]


def _check_tag(tag: str) -> str:
    if not is_valid_tag(tag):
        text = (
            "the tag {tag} cannot be selected with -m; use letters, digits and _ - . / +, "
            "and do not begin with an underscore"
        )
        raise PydanticCustomError("invalid_value", text, {"tag": repr(tag)})
    return tag


def _reject_repeated_provider(names: str | tuple[str, ...] | None) -> str | tuple[str, ...] | None:
    if isinstance(names, tuple):
        repeated = next((name for index, name in enumerate(names) if name in names[:index]), None)
        if repeated is not None:
            raise PydanticCustomError("invalid_value", "'provider' names {name} twice", {"name": repr(repeated)})
    return names


def _check_variables(variables: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    problem = find_problem(variables or {})
    if problem is not None:
        context = {"key": problem.key, "is_name": problem.is_name}
        raise PydanticCustomError("invalid_variable", "{text}", {**context, "text": problem.text})
    return variables


def _check_parametrize(rows: Any) -> Any:
    if rows is not None and not isinstance(rows, str | list):
        text = "'parametrize' must be a list of rows or the path of a dataset, but is {description}"
        raise PydanticCustomError("invalid_value", text, {"description": describe_data(rows)})
    return rows


ProviderName = Annotated[NonEmptyString, KnownNames("provider")]


class Execution(BaseModel):
    """AgentV's `execution`: `target` names the provider; all other keys are kept and ignored.

    Attributes:
        target: the name of the provider; `default` is the default provider.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="allow")

    target: Annotated[str, KnownNames("provider")] | None = None

    @model_validator(mode="before")
    @classmethod
    def _drop_keys_that_are_not_strings(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if isinstance(key, str)} if isinstance(data, dict) else data


# Nothing is validated by it alone, so its own validator is never built.
class SharedKeys(StrictModel, defer_build=True):
    """The keys that an eval file and a case may both have.

    Attributes:
        description: free text.
        provider: the name of the provider, or a list of names: every case runs once for each; `None` for the default.
        metadata: a mapping; `systemPrompt` is the system prompt, the rest is the author's.
        guideline_patterns: the globs that make a file a guideline; `None` if it is not set.
        tags: the markers of pytest that `-m` selects; those of a case add to its file's.
        settings: the parameters of the request, and mappings of them for single providers; `None` for none.
        tools: what the model may call, as the author wrote it, or the path of a file with it; `None` if it is not set.
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
    provider: Annotated[
        Annotated[ProviderName, Tag("string")]
        | Annotated[NonEmptyTupleOf[ProviderName], Tag("list"), SchemaKeywords(lambda: {"uniqueItems": True})]
        | Annotated[None, Tag("null")],
        Discriminator(value_kind),
        AfterValidator(_reject_repeated_provider),
        Field(examples=["openai", ["openai", "anthropic"]]),
    ] = None
    metadata: Annotated[Mapping[str, Any], SchemaKeywords(_metadata_keywords)] = Field(
        default_factory=dict, examples=[{"systemPrompt": "You review code."}]
    )
    guideline_patterns: TupleOf[str] | None = Field(default=None, examples=[["**/*.instructions.md"]])
    tags: TupleOf[Annotated[str, AfterValidator(_check_tag), pattern(_tag_pattern)]] = Field(
        default=(), examples=[["smoke"]]
    )
    settings: Annotated[Settings, Field(examples=[{"temperature": 0, "openai": {"seed": 7}}])] = None
    tools: Annotated[
        ToolsOrPath,
        Field(
            examples=["./tools.json", [{"type": "function", "name": "get_weather", "parameters": {"type": "object"}}]]
        ),
    ] = None
    tool_choice: Annotated[
        WrittenToolChoice,
        Field(examples=["required", {"type": "function", "name": "get_weather"}]),
    ] = None
    response_format: Annotated[
        FormatOrPath,
        Field(examples=[{"type": "json_schema", "name": "answer", "schema": {"type": "object"}}]),
    ] = None
    checks: Annotated[
        tuple[EvalCheck, ...],
        BeforeValidator(read_checks),
        WrittenAs(_checks_as_written),
        Field(examples=[[{"type": "icontains", "value": "off-by-one"}]]),
    ] = ()
    repeat: Annotated[Repeat, Field(examples=[5])] = None
    pass_rate: Annotated[PassRate, Field(examples=[0.8])] = None
    vars: Annotated[
        Mapping[str, Any] | None,
        AfterValidator(_check_variables),
        WrittenAs(lambda: Variables | None),
        Field(examples=[{"city": "Paris"}]),
    ] = None
    parametrize: Annotated[
        Annotated[NonEmptyString, Tag("string"), pattern(_dataset_pattern)]
        | Annotated[NonEmptyTupleOf[Any], Tag("list"), WrittenAs(lambda: NonEmptyTupleOf[RowData])]
        | Annotated[None, Tag("null")],
        Discriminator(value_kind),
        BeforeValidator(_check_parametrize),
        Field(examples=["./cities.csv", [{"id": "paris", "city": "Paris"}]]),
    ] = None

    # AgentV's keys. `expected_outcome`, `execution` and `target` have an effect; the others are accepted and ignored.
    expected_outcome: str | None = None
    dataset: Any = None
    conversation_id: Any = None
    note: Any = None
    rubrics: Any = None
    evaluator: Any = None
    evaluators: Any = None
    execution: Execution | None = None
    target: Annotated[str, KnownNames("provider")] | None = None

    @model_validator(mode="after")
    def _check_system_prompt(self) -> Self:
        for key, value in self.metadata.items():
            if re.sub(r"[^a-z]", "", key.lower()) == "systemprompt":
                if key != "systemPrompt":
                    text = "'metadata.{key}' has no effect; write 'systemPrompt'"
                    raise PydanticCustomError("invalid_metadata", text, {"key": key})
                if not isinstance(value, str | None):
                    text = "'metadata.{key}' must be a string; put it in quotes"
                    raise PydanticCustomError("invalid_metadata", text, {"key": key})
        return self

"""The request: everything that a provider gets for a case (rule E1), and its tools and format in one shape."""

# Without `from __future__ import annotations`: pydantic would compile the text of each annotation.

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from pytest_chatprompt.cases.case import EvalCase, ToolChoiceOrWord, case_diagnostic, case_in_test, option_readers
from pytest_chatprompt.cases.fields import split_provider_name
from pytest_chatprompt.cases.origin import find_running_test
from pytest_chatprompt.errors import EvalFileError, PayloadError
from pytest_chatprompt.prompt.attachments import FileReader, read_attachments
from pytest_chatprompt.prompt.chat_prompt import DEFAULT_SYSTEM_PROMPT, ChatMessage
from pytest_chatprompt.prompt.conversion import convert, render_messages, render_transcript
from pytest_chatprompt.text.files import NamedFileError
from pytest_chatprompt.text.json_data import FrozenDict, parsed

_Data = Mapping[str, Any]


class ProviderRequest(BaseModel):
    """What a provider is asked to send; every field has a default.

    Attributes:
        question: the conversation as a transcript; agents send it, and so do chat providers without a `chat_prompt`.
        chat_prompt: the messages for a chat API; `None` for a legacy request, which has only a `question`.
        guidelines: the texts of the guidelines, in the order of first mention.
        input_files: absolute paths of all files that the case names, guidelines included, each once.
        guideline_files: those of `input_files` that are guidelines.
        metadata: the case's metadata; `systemPrompt` is the system prompt.
        settings: the parameters that the case sets for its provider, by name; `None` leaves one out.
        tools: what the model may call, in the shape of OpenAI's chat completions or Responses.
        tool_choice: which of the tools the model has to call, in the same shape; `None` if it is not set.
        response_format: the shape of the answer, in the same shape; `None` if it is not set.
        eval_case_id: the id of the case, with its row if it has one: `qa[eiffel]`; `None` if the request was not built
            from a case.
        adjustments: how the chat prompt differs from the messages that the author wrote.
        question_adjustments: those of `adjustments` that apply to the question too.
        captured: the captured request that the case sends, with the `body` that the API gets which got it before; the
            other fields have what they can hold of it, for all other APIs. `None` for a case that sends messages.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    question: str = ""
    chat_prompt: tuple[ChatMessage, ...] | None = None
    guidelines: tuple[str, ...] = ()
    input_files: tuple[Path, ...] = ()
    guideline_files: tuple[Path, ...] = ()
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    settings: Annotated[_Data, parsed(lambda data: option_readers().read_request_settings(data))] = FrozenDict()
    tools: Annotated[tuple[_Data, ...], parsed(lambda data: option_readers().read_tools(data))] = ()
    tool_choice: ToolChoiceOrWord = None
    response_format: Annotated[_Data | None, parsed(lambda data: option_readers().read_response_format(data))] = None
    eval_case_id: str | None = None
    adjustments: tuple[str, ...] = ()
    question_adjustments: tuple[str, ...] = ()
    captured: Any = Field(default=None, exclude=True, repr=False)


def build_request(  # noqa: PLR0913 - what a request is made of
    case: EvalCase,
    reader: FileReader | None = None,
    *,
    folder: Path | None = None,
    root: Path | None = None,
    project_system_prompt: str | None = None,
    provider_name: str | None = None,
) -> ProviderRequest:
    """Build the request of a case; this is where its files are read.

    Args:
        case: a case of an eval file, or one made in code.
        reader: the run's file reader; by default a new one.
        folder: where the files of a case made in code are looked for; by default beside the module of the test that
            runs, else in the working folder.
        root: the folder that the files must be inside, if there is no `reader`; by default pytest's root folder while a
            test runs, else the working folder.
        project_system_prompt: the project's default system prompt; `""` for none at all, `None` if it is not set.
        provider_name: the name by which the provider was asked for, whose own settings count; `None` for none.

    Returns:
        The request, with every field filled in.

    Raises:
        EvalFileError: a file that the case names cannot be used, or every message is empty.
    """
    __tracebackhide__ = True
    if reader is None or not case.has_origin:
        test = find_running_test()
        case = case_in_test(case, test if folder is None else test._replace(folder=folder.absolute()))
        reader = reader or FileReader(root.absolute() if root else test.root)
    attachments = read_attachments(case, reader)
    rendered = render_messages(case.input_messages, attachments)
    if all(message.drop_reason for message in rendered):
        text = "nothing to send: no message contains more than white space"
        if case.request is not None:
            text = "a captured request is read by the fixture eval_request alone"
        raise EvalFileError([case_diagnostic(case, text, "input_messages")])
    default = DEFAULT_SYSTEM_PROMPT if project_system_prompt is None else project_system_prompt
    conversion = convert(rendered, system_prompt=case.system_prompt, default_system_prompt=default)
    metadata = dict(case.metadata)
    if case.system_prompt is None and project_system_prompt is not None:
        metadata["systemPrompt"] = project_system_prompt
    options = _options(case, reader, provider_name)
    # A copy of a case may have options that nothing checked; for the other fields the model need not even be built.
    make_request = ProviderRequest if options else ProviderRequest.model_construct
    return make_request(
        question=render_transcript(rendered),
        chat_prompt=conversion.chat_prompt,
        guidelines=tuple(guideline.content for guideline in conversion.guidelines),
        input_files=tuple(dict.fromkeys(attachment.path for attachment in attachments.values())),
        guideline_files=tuple(guideline.path for guideline in conversion.guidelines),
        metadata=metadata,
        eval_case_id=case.full_id,
        # Pydantic would copy the default deeply.
        **{"settings": FrozenDict(), **options},
        adjustments=conversion.adjustments,
        question_adjustments=tuple(text for message in rendered for text in message.adjustments),
    )


def settings_of(case: EvalCase, provider_name: str | None) -> FrozenDict:
    """The settings of a case for one provider; an `EvalFileError` if they have another model than its name says."""
    settings: FrozenDict = option_readers().settings_for(provider_name, case.settings or {})
    said = split_provider_name(provider_name or "")[1]
    if said and settings.get("model", said) != said:
        text = f"the model is {settings['model']!r} here, but {said!r} in the provider's name; leave one of them out"
        raise EvalFileError([case_diagnostic(case, text, "settings", "model", provider_name=provider_name or "")])
    return settings


def _options(case: EvalCase, reader: FileReader, provider_name: str | None) -> dict[str, Any]:
    """The settings, tools, tool choice and format that a case or its file sets, by the fields of `ProviderRequest`."""
    options: dict[str, Any] = {}
    if case.settings is not None:
        options["settings"] = settings_of(case, provider_name)
    if case.tool_choice is not None:
        options["tool_choice"] = case.tool_choice
    for key in ("tools", "response_format"):
        value = getattr(case, key)
        if isinstance(value, str):
            if value.isidentifier():
                text = f"the fixture {value}_tools is known to eval items and to the fixture eval_request alone"
                raise EvalFileError([case_diagnostic(case, text, key)])
            try:
                value = reader.read_definition(value, case.path.parent, key, option_readers().FILE_MODELS[key])
            except NamedFileError as error:
                raise EvalFileError([case_diagnostic(case, str(error), key)]) from error
        if value is not None:
            options[key] = value
    return options


class FunctionTool(NamedTuple):
    """A function that the model may call; `place` is its 0-based index among the tools.

    What the author does not say is `None`.
    """

    place: int
    name: str
    description: str | None
    parameters: Mapping[str, Any] | None
    strict: bool | None


class ToolChoice(NamedTuple):
    """Which tools the model may or must call: only those of `names`, if there are any.

    `is_list` says that the author wrote `allowed_tools`, of which one name is a list too.
    """

    mode: Literal["auto", "none", "required"]
    names: tuple[str, ...] = ()
    is_list: bool = False


class OutputSchema(NamedTuple):
    """The schema of the answer; what the author does not say is `None`."""

    name: str
    description: str | None
    schema: Mapping[str, Any]
    strict: bool | None


def named_in(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping with the name of a tool or of a tool choice: nested in chat completions, the same in Responses."""
    nested = tool.get(tool["type"])
    return nested if isinstance(nested, Mapping) else tool


def function_tools(tools: Sequence[Mapping[str, Any]]) -> tuple[FunctionTool, ...]:
    """The function tools among the tools of a request; tools of other types are left out."""
    optional = ("description", "parameters", "strict")
    functions = [(index, named_in(tool)) for index, tool in enumerate(tools) if tool["type"] == "function"]
    return tuple(FunctionTool(index, function["name"], *map(function.get, optional)) for index, function in functions)


def require_functions(tools: Sequence[Mapping[str, Any]], vendor: str) -> tuple[FunctionTool, ...]:
    """The functions of a request, for an API that has no other type but raw ones; else a `PayloadError`."""
    for index, tool in enumerate(tools):
        if tool["type"] not in ("function", "raw"):
            raise PayloadError(
                f"{vendor} has no tool of OpenAI's type {tool['type']!r}; "
                "write a function, or one of the API's own tools as {type: raw, PROVIDER: {...}}",
                location=("tools", index),
            )
    return function_tools(tools)


def read_tool_choice(choice: str | Mapping[str, Any], vendor: str) -> ToolChoice:
    """Bring a tool choice into one form; a `PayloadError` if it chooses something other than functions."""
    match choice:
        case "auto" | "none" | "required":
            return ToolChoice(choice)
        case Mapping() if choice["type"] == "function":
            return ToolChoice("required", (named_in(choice)["name"],))
        case Mapping() if choice["type"] == "allowed_tools":
            allowed = choice.get("allowed_tools", choice)
            if all(tool["type"] == "function" for tool in allowed["tools"]):
                names = tuple(named_in(tool)["name"] for tool in allowed["tools"])
                return ToolChoice(allowed["mode"], names, is_list=True)
    raise PayloadError(
        f"{vendor} can only be made to call functions, and 'tool_choice' names another tool; choose a function",
        location=("tool_choice",),
    )


def chosen_names(choice: str | Mapping[str, Any] | None) -> tuple[str, ...]:
    """The names of the functions and custom tools that a tool choice names; empty if it names none."""
    if choice is None or isinstance(choice, str):
        return ()
    allowed = choice.get("allowed_tools", choice)
    tools = allowed["tools"] if choice["type"] == "allowed_tools" else (choice,)
    return tuple(named_in(tool)["name"] for tool in tools if tool["type"] in ("function", "custom"))


def output_schema(response_format: Mapping[str, Any]) -> OutputSchema | None:
    """The schema of a format; `None` if it has none."""
    if response_format["type"] != "json_schema":
        return None
    schema = named_in(response_format)
    return OutputSchema(schema["name"], schema.get("description"), schema["schema"], schema.get("strict"))

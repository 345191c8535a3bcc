"""`VendorAPI`: all that a provider declares about its API, and the parts of it: settings, media, payloads."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

from pytest_chatprompt.apis.json_body import parse_arguments, value_at
from pytest_chatprompt.apis.preflight import ModelLimits, ModelParameters, Rule
from pytest_chatprompt.cases.message import ROLES, FunctionCall, Role, ToolCall
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import (
    ChatMessage,
    ChatPrompt,
    Content,
    ContentPart,
    JSONResult,
    MarkedText,
    Media,
    RawContent,
    content_parts,
    describe_messages,
    join_parts,
)
from pytest_chatprompt.prompt.request import (
    FunctionTool,
    OutputSchema,
    ProviderRequest,
    ToolChoice,
    output_schema,
    read_tool_choice,
    require_functions,
)
from pytest_chatprompt.providers.prices import TokenPrice
from pytest_chatprompt.providers.response import Finding, ProviderResponse
from pytest_chatprompt.text.json_data import deep_merge, thaw
from pytest_chatprompt.text.media_types import MEDIA_TYPES, MediaKind

if TYPE_CHECKING:
    from pytest_chatprompt.providers.prices import Billing


class Payload(NamedTuple):
    """A chat prompt in the shape of an API, or a part of a body, such as its tools.

    Args:
        body: the JSON body, before `extra_body` is merged into it.
        adjustments: what was changed in the messages to fit that shape; empty if nothing was.
    """

    body: dict[str, Any]
    adjustments: tuple[str, ...] = ()


class PreparedRequest(NamedTuple):
    """An HTTP request that is ready to be sent.

    Args:
        url: the whole URL, base URL included.
        content: the body, as JSON in UTF-8.
        adjustments: what was changed in the messages to fit the API's shape; empty if nothing was.
        findings: what the API is known to refuse or to misread; empty if nothing is.
        target: what it is sent to, as error messages name it; `None` for the provider's own target.
        billing: who bills it; `None` where its provider does not say.
    """

    url: str
    content: bytes
    adjustments: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    target: str | None = None
    billing: Billing | None = None

    @property
    def body(self) -> Any:
        """The body, as its receiver decodes it."""
        return json.loads(self.content)


class SettingField(NamedTuple):
    """The place of a setting in a body.

    Args:
        path: the keys that lead to it, at least one.
        convert: makes the API's value of the setting's; may raise `PayloadError`. `None` if they are the same.
    """

    path: tuple[str, ...]
    convert: Callable[[Any], Any] | None = None

    def put(self, value: Any, body: dict[str, Any]) -> None:
        """Put a value into a body.

        Raises:
            PayloadError: the API has no such value.
        """
        *folders, name = self.path
        for folder in folders:
            body = body.setdefault(folder, {})
        body[name] = value if self.convert is None else self.convert(value)


def to_list(value: str | tuple[str, ...] | list[str]) -> list[str]:
    """A list of texts, for an API that takes no single one."""
    return [value] if isinstance(value, str) else list(value)


def require_schema(response_format: Mapping[str, Any], vendor: str) -> OutputSchema | None:
    """The schema of a response format; `None` for text, which APIs answer with by default."""
    schema = output_schema(response_format)
    if schema is None and response_format["type"] == "json_object":
        raise PayloadError(
            f"{vendor} has no JSON without a schema; write a json_schema, or ask for JSON in a message",
            location=("response_format",),
        )
    return schema


def choose_one(choice: str | Mapping[str, Any], vendor: str, words: str) -> ToolChoice:
    """Read a tool choice, for an API that has no list of allowed tools; `words` says what it has."""
    read = read_tool_choice(choice, vendor)
    if read.is_list:
        raise PayloadError(
            f"{vendor} has no allowed_tools; write {words} or the name of one function", location=("tool_choice",)
        )
    return read


def effort_among(vendor: str, efforts: Mapping[str, str]) -> Callable[[str], str]:
    """Make the conversion of `reasoning_effort` for an API that has its own words, or not all of them."""

    def convert(effort: str) -> str:
        if effort not in efforts:
            raise PayloadError(
                f"{vendor} has no reasoning_effort {effort!r}; write one of {', '.join(efforts)}",
                location=("settings", "reasoning_effort"),
            )
        return efforts[effort]

    return convert


class MediaSupport(NamedTuple):
    """How an API takes one kind of media.

    Args:
        block: puts one of them into the shape of the API.
        roles: the roles of the messages that may hold it.
        takes_urls: whether the API reads https URLs itself.
        needs_type_of_urls: whether it needs the media type of the file at a URL.
        media_types: those that it takes; empty for those in `MEDIA_TYPES`.
        takes_detail: whether an author may say how closely the model looks at it.
    """

    block: Callable[[Media], dict[str, Any]]
    roles: tuple[Role, ...] = ("user",)
    takes_urls: bool = False
    needs_type_of_urls: bool = False
    media_types: tuple[str, ...] = ()
    takes_detail: bool = False


MediaTable = Mapping[MediaKind, MediaSupport]


Blocks = list[dict[str, Any]]


def mark_beside(blocks: Blocks, cache_control: Mapping[str, Any]) -> None:
    """Put Anthropic's mark into the last block."""
    blocks[-1]["cache_control"] = thaw(cache_control)


def content_blocks(
    content: Content,
    table: MediaTable,
    text_block: Callable[[str], dict[str, Any]],
    mark: Callable[[Blocks, Mapping[str, Any]], None] = mark_beside,
) -> Blocks:
    """The parts of a content in the shape of an API; empty texts are left out, since no API takes them as blocks.

    Args:
        content: of a prompt that `fit_prompt` gave.
        table: the media that the API takes.
        text_block: makes the block of a text.
        mark: says that a prefix that is cached ends with the last block.
    """
    blocks: Blocks = []
    for part in content_parts(content):
        if isinstance(part, RawContent):
            blocks.append(thaw(part.data))
        elif isinstance(part, Media):
            blocks.append(table[part.kind].block(part))
        elif part:
            blocks.append(text_block(str(part)))
        if isinstance(part, Media | MarkedText) and part.cache_control is not None:
            mark(blocks, part.cache_control)
    return blocks


def fit_prompt(prompt: ChatPrompt, provider: VendorAPI) -> ChatPrompt:
    """The messages as an API takes them: of what is raw its own, and data of tools as text where it takes only that.

    Raises:
        PayloadError: it does not take one of the parts, or what a message says of itself.
    """
    return tuple(_fit_message(message, provider) for message in prompt)


def fit_adjustments(prompt: ChatPrompt, provider: VendorAPI) -> tuple[str, ...]:
    """What `fit_prompt` leaves out of the messages, for the snapshot's `adjustments`."""
    return tuple(
        f"{describe_messages([message])}: is_error left out, {provider.vendor} has none"
        for message in prompt
        if message.is_error and not provider.takes_tool_errors
    )


def _fit_message(message: ChatMessage, provider: VendorAPI) -> ChatMessage:
    if message.role == "developer" and not provider.takes_developers:
        raise PayloadError(
            f"{provider.vendor} has no developer messages; write the role system",
            message_number=message.number,
            location=() if message.number is None else ("input_messages", message.number - 1, "role"),
        )
    message = replace(message, is_error=message.is_error and provider.takes_tool_errors)
    if not isinstance(message.content, tuple):
        return message
    parts = tuple(_fit_part(part, message, provider) for part in message.content)
    is_text = all(isinstance(part, str) for part in parts)
    return replace(message, content="\n".join(map(str, parts)) if is_text else parts)


def _fit_part(part: ContentPart, message: ChatMessage, provider: VendorAPI) -> ContentPart:
    if isinstance(part, JSONResult):
        return part if provider.takes_json_results else str(part)
    if isinstance(part, RawContent):
        if provider.name not in part.by_provider:
            raise _part_error(part, message, _not_for(part.by_provider, provider))
        return replace(part, by_provider={provider.name: part.by_provider[provider.name]})
    if isinstance(part, Media):
        reason = _reason(part, message, provider.vendor, provider.media)
        if reason:
            raise _part_error(part, message, reason)
    kind = part.kind if isinstance(part, Media) else "text"
    if not isinstance(part, str) and part.cache_control is not None and kind not in provider.cached_kinds:
        others = f" beside a part of type {kind}" if provider.cached_kinds else ""
        raise _part_error(part, message, f"{provider.vendor} takes no cache_control{others}; leave it out")
    return part


def fit_tools(tools: Sequence[Mapping[str, Any]], provider: VendorAPI) -> tuple[Mapping[str, Any], ...]:
    """The tools as an API takes them: each raw one as `{"type": "raw", "raw": {...}}`, with what is its own."""
    fitted = []
    for index, tool in enumerate(tools):
        if tool["type"] == "raw" and provider.name not in tool:
            names = [name for name in tool if name != "type"]
            raise PayloadError(_not_for(names, provider), location=("tools", index))
        fitted.append({"type": "raw", "raw": thaw(tool[provider.name])} if tool["type"] == "raw" else tool)
    return tuple(fitted)


def write_tools(
    tools: Sequence[Mapping[str, Any]], vendor: str, write: Callable[[FunctionTool], dict[str, Any]]
) -> Blocks:
    """The tools of an API that has functions, each as `write` makes it, and raw ones, as they are; else an error."""
    functions = {function.index: function for function in require_functions(tools, vendor)}
    return [write(functions[index]) if index in functions else tool["raw"] for index, tool in enumerate(tools)]


def _not_for(names: Iterable[str], provider: VendorAPI) -> str:
    return (
        f"what is raw is for {_listed(list(names))} alone; leave it out for {provider.vendor}, "
        f"or write what that one has under {provider.name!r}"
    )


def raw_calls(message: ChatMessage) -> Iterator[ToolCall]:
    """The tool calls in what a message holds as it is, for what has to know of them."""
    for part in content_parts(message.content):
        if isinstance(part, RawContent):
            for each in _mappings(part.data):
                call_id = next((each[key] for key in ("call_id", "toolUseId", "id") if key in each), None)
                name = each.get("name")
                if isinstance(call_id, str) and call_id and isinstance(name, str) and name:
                    yield ToolCall(id=call_id, function=FunctionCall(name=name, arguments="{}"))


def _mappings(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        yield data
    for inner in data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ():
        yield from _mappings(inner)


def with_raw_calls(prompt: ChatPrompt) -> ChatPrompt:
    """A prompt in which calls that are raw are calls as any, and raw messages have roles, for preflight."""
    return tuple(
        replace(
            message,
            role=_role_of(message),
            tool_calls=(*message.tool_calls, *raw_calls(message)),
        )
        for message in prompt
    )


def _role_of(message: ChatMessage) -> Role:
    if message.role != "raw":
        return message.role
    role = next((part.data.get("role") for part in content_parts(message.content) if isinstance(part, RawContent)), "")
    return cast("Role", role) if role in ROLES else "assistant"


def _reason(media: Media, message: ChatMessage, vendor: str, table: MediaTable) -> str:
    """Why an API does not take one of the media, and what to do; `""` if it does."""
    support = table.get(media.kind)
    if support is None:
        others = f"; it takes {_listed([_plural(kind) for kind in table])}" if table else ""
        return f"{vendor} takes no {_plural(media.kind)}{others}; leave it out, or use another provider"
    if message.role not in support.roles:
        roles = _listed(support.roles)
        return (
            f"{vendor} takes {_plural(media.kind)} in {roles} messages only, and the role of this one is "
            f"{message.role!r}; move it to a user message"
        )
    if media.content is None and not support.takes_urls:
        return f"{vendor} takes no {_plural(media.kind)} by URL; save the file in the project, and name its path"
    media_types = support.media_types or MEDIA_TYPES[media.kind]
    if media.media_type and media.media_type not in media_types:
        return (
            f"{vendor} takes {_plural(media.kind)} as {_listed(media_types, 'or')} only, and this one is "
            f"{media.media_type}; convert the file"
        )
    if media.detail is not None and not support.takes_detail:
        return f"{vendor} takes no detail of {_plural(media.kind)}; leave it out"
    if media.content is None and support.needs_type_of_urls and not media.media_type:
        suffixes = ", ".join(f".{media_type.rpartition('/')[2]}" for media_type in media_types)
        return (
            f"{vendor} needs the type of what is at a URL, and the path of this one does not end in any of {suffixes}; "
            "save the file in the project, and name its path"
        )
    return ""


def _listed(words: Sequence[str], conjunction: str = "and") -> str:
    *others, last = words
    return f"{', '.join(others)} {conjunction} {last}" if others else last


def _plural(kind: MediaKind) -> str:
    return "audio" if kind == "audio" else f"{kind}s"


def _part_error(part: Media | MarkedText | RawContent, message: ChatMessage, reason: str) -> PayloadError:
    if part.place is None:
        return PayloadError(reason, message_number=message.number)
    message_number, part_number = part.place
    return PayloadError(
        reason if message.role == "raw" else f"part {part_number}: {reason}",
        message_number=message_number,
        location=("input_messages", message_number - 1, "content", part_number - 1),
    )


class TurnResult(NamedTuple):
    """A tool message, with the name of the function whose call it answers."""

    message: ChatMessage
    call_id: str
    function_name: str
    content: str | tuple[ContentPart, ...]


class Turn(NamedTuple):
    """A user or assistant message, or all tool results that follow one turn."""

    message: ChatMessage
    results: tuple[TurnResult, ...] = ()

    @property
    def raw(self) -> dict[str, Any] | None:
        """The message that is sent as it is; `None` for any other."""
        return raw_message(self.message)


def raw_message(message: ChatMessage) -> dict[str, Any] | None:
    """What is sent in place of a message as it is; `None` for a message with a role."""
    (part, *_) = content_parts(message.content) or ("",)
    return thaw(part.data) if message.role == "raw" and isinstance(part, RawContent) else None


class SplitPrompt(NamedTuple):
    """The system text of a chat prompt, in parts where some of it is marked or raw, and its turns."""

    system: str | tuple[ContentPart, ...]
    turns: tuple[Turn, ...]
    adjustments: tuple[str, ...] = ()


def split_prompt(prompt: ChatPrompt, vendor: str, *, joins_results: bool = True) -> SplitPrompt:
    """Split a chat prompt into its system text and its turns."""
    parts = [part for message in prompt if message.role == "system" for part in content_parts(message.content)]
    system = join_parts(parts, "\n\n")
    messages = [message for message in prompt if message.role != "system"]
    if not messages:
        raise PayloadError(
            f"{vendor} needs a message besides the system message; add a user message with content of its own"
        )
    turns = tuple(_turns(messages))
    joined = [
        f"tool results of {describe_messages([result.message for result in turn.results])} sent in one user turn"
        for turn in turns
        if joins_results and len(turn.results) > 1
    ]
    return SplitPrompt(system, turns, (*_adjustments(prompt, vendor), *joined))


def turn_blocks(  # noqa: PLR0913, PLR0917 - how each kind of block is made
    turn: Turn,
    table: MediaTable,
    text_block: Callable[[str], dict[str, Any]],
    call_block: Callable[[ToolCall, dict[str, Any]], dict[str, Any]],
    result_block: Callable[[TurnResult], dict[str, Any]],
    mark: Callable[[Blocks, Mapping[str, Any]], None] = mark_beside,
) -> Blocks:
    """A turn for an API that takes the arguments of calls as data: its results, or its content and calls."""
    if turn.results:
        return [result_block(result) for result in turn.results]
    message = turn.message
    calls = [call_block(call, parse_arguments(call, message)) for call in message.tool_calls]
    return [*content_blocks(message.content, table, text_block, mark), *calls]


def _turns(messages: Sequence[ChatMessage]) -> Iterator[Turn]:
    function_names: dict[str, str] = {}
    for is_tool, group in groupby(messages, key=lambda message: message.role == "tool"):
        if is_tool:
            results = tuple(_tool_result(message, function_names) for message in group)
            yield Turn(results[-1].message, results)
        else:
            for message in group:
                calls = (*message.tool_calls, *raw_calls(message))
                function_names.update((call.id, call.function.name) for call in calls)
                yield Turn(message)


def _tool_result(message: ChatMessage, function_names: dict[str, str]) -> TurnResult:
    """The result that a tool message holds; `function_names` are those of the earlier calls, by id."""
    if message.tool_call_id is None:
        raise PayloadError(
            "a tool message without 'tool_call_id'; name the call that it answers",
            message_number=message.number,
        )
    if message.tool_call_id not in function_names:
        calls = (
            f"the calls before it are {', '.join(map(repr, function_names))}"
            if function_names
            else "no call comes before it"
        )
        raise PayloadError(
            f"it answers the call {message.tool_call_id!r}, but {calls}; "
            "put the assistant message that makes the call before it",
            message_number=message.number,
        )
    return TurnResult(message, message.tool_call_id, function_names[message.tool_call_id], message.content or "")


def _adjustments(prompt: ChatPrompt, vendor: str) -> Iterator[str]:
    merged = {id(message) for message in [message for message in prompt if message.role == "system"][1:]}
    for message in prompt:
        if id(message) in merged:
            yield f"{describe_messages([message])}: merged into the first system message"
        if message.role == "tool" and message.content is None:
            yield f"{describe_messages([message])}: null sent as an empty result"
        if message.tool_calls and message.content == "":
            yield f"{describe_messages([message])}: empty content left out beside its calls"
        if message.name is not None:
            yield f"{describe_messages([message])}: name {message.name!r} left out, {vendor} has none"


class VendorAPI(ABC):
    """What a subclass of `ChatProvider` defines for its API.

    Attributes:
        vendor: the API's name, for errors.
        price_vendor: the vendor's id in the price list of `genai-prices`, which counts where the list does not know the
            base URL; `""` for none.
        key_variable: the environment variable of its key; `""` for an API that needs none.
        base_url_variable: the environment variable in which a live run finds the base URL that is not given as an
            argument; `""` for none. A subclass with a key variable of its own does not inherit it: its key is for
            another server.
        default_base_url: the base URL if nothing sets one, and offline.
        key_is_optional: whether requests go out without a key where none is set.
        offline_api: the API that answers offline: `openai-chat`, `anthropic`, `gemini`, or another one of `table`;
            `""` for none of them.
        offline_path: a regular expression for paths that are answered offline too; `""` for the API's own only.
        offline_reply: a JSON body to answer them with; empty for the reply of `offline_api`. With neither, a test
            needs a route of its own.
        setting_fields: where the API's body has the settings, by the setting's name, in the order of the body; it lacks
            the others. It has no `model` and no `extra_body`: each API has these.
        name: the provider's name among the built-in ones, under which eval files say what is for it alone.
        media: which images, documents and audio it takes, by their kind; it lacks the others. None by default.
        cached_kinds: the types of parts that may have a `cache_control`; none by default.
        takes_developers: whether there are messages of the role `developer`.
        takes_tool_errors: whether a tool's result can be said to be an error.
        takes_json_results: whether a tool's result can be data.
        rules: the preflight rules.
        known_models: what preflight knows about the API's models, by glob for their names.
        model: the model's name; `""` for an API that has no models.
        api_version: the API's version; `None` for an API that has none.
        extra_body: merged into the body that `build_payload` makes.
        price: what the model costs; `None` for the price list.
    """

    vendor: ClassVar[str]
    price_vendor: ClassVar[str] = ""
    key_variable: ClassVar[str] = ""
    base_url_variable: ClassVar[str] = ""
    default_base_url: ClassVar[str] = ""
    key_is_optional: ClassVar[bool] = False
    offline_api: ClassVar[str] = ""
    offline_path: ClassVar[str] = ""
    offline_reply: ClassVar[Mapping[str, Any]] = {}
    setting_fields: Mapping[str, SettingField] = {}
    name: ClassVar[str] = ""
    media: ClassVar[MediaTable] = {}
    cached_kinds: ClassVar[tuple[str, ...]] = ()
    takes_developers: ClassVar[bool] = False
    takes_tool_errors: ClassVar[bool] = False
    takes_json_results: ClassVar[bool] = False
    rules: ClassVar[tuple[Rule, ...]] = ()
    known_models: ClassVar[Mapping[str, ModelLimits]] = {}
    model: str
    api_version: str | None
    extra_body: dict[str, Any]
    price: TokenPrice | None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "key_variable" in vars(cls) and "base_url_variable" not in vars(cls):
            cls.base_url_variable = ""

    @abstractmethod
    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """Put a chat prompt into the shape of the API.

        Args:
            prompt: the messages to send, the system message included.

        Raises:
            PayloadError: the API cannot express the messages.
        """

    @abstractmethod
    def endpoint_path(self) -> str:
        """The path of the endpoint below the base URL, with its query: `/v1/messages`."""

    @abstractmethod
    def auth_headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key, and any others that the API demands.

        Args:
            key: the key; without a header for it if it is `""`.
        """

    @abstractmethod
    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the body of a successful reply.

        Args:
            data: the body, decoded from JSON.

        Raises:
            LookupError, TypeError, AttributeError, ValueError: the body has another shape; `send` raises an
                `UnreadableReplyError` then.
        """

    def use_model(self, model: str) -> None:
        """Send to another model from now on; called on a copy of the provider, for a request that names one."""
        self.model = model

    def settings_body(self, body: dict[str, Any]) -> None:
        """Put the provider's settings into a body, where `setting_fields` say; for `build_payload`."""
        for name, field in self.setting_fields.items():
            value = getattr(self, name)
            if value is not None:
                field.put(value, body)

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:  # noqa: ARG002 - for subclasses
        """Put tools into the shape of the API; by default, the API takes none.

        Args:
            tools: at least one, in either of OpenAI's shapes; `prompt.request` reads them.

        Raises:
            PayloadError: the API cannot express them.
        """
        raise PayloadError(f"{self.vendor} takes no tools; leave them out", location=("tools",))

    def tool_choice_payload(self, choice: str | Mapping[str, Any]) -> Payload:  # noqa: ARG002 - for subclasses
        """Put a tool choice into the shape of the API; by default, the API takes none.

        Args:
            choice: in either of OpenAI's shapes.

        Raises:
            PayloadError: the API cannot express it.
        """
        raise PayloadError(f"{self.vendor} takes no tool_choice; leave it out", location=("tool_choice",))

    def response_format_payload(self, response_format: Mapping[str, Any]) -> Payload:  # noqa: ARG002 - for subclasses
        """Put a response format into the shape of the API; by default, the API takes none.

        Args:
            response_format: in either of OpenAI's shapes.

        Raises:
            PayloadError: the API cannot express it.
        """
        raise PayloadError(f"{self.vendor} takes no response_format; leave it out", location=("response_format",))

    def model_parameters(self, body: Mapping[str, Any]) -> ModelParameters:
        """Read the model and its parameters out of a finished body, for preflight; by default as `setting_fields` say.

        The body has all that `extra_body` adds, so values may be of any type.
        """
        temperature, max_output_tokens = (
            value_at(body, self.setting_fields[name].path) if name in self.setting_fields else None
            for name in ("temperature", "max_output_tokens")
        )
        return ModelParameters(str(body.get("model", self.model)), temperature, max_output_tokens)


API = TypeVar("API", bound=VendorAPI)


def with_settings(provider: API, request: ProviderRequest) -> API:
    """A provider with the settings of a request over its own: a copy, or itself if the request has none."""
    if not request.settings:
        return provider
    configured = copy.copy(provider)
    for name, value in request.settings.items():
        if name == "extra_body":
            configured.extra_body = {} if value is None else deep_merge(provider.extra_body, value)
        elif name == "model" and provider.model:
            configured.use_model(value)
            # It is that of the provider's own model.
            configured.price = provider.price if value == provider.model else None
        elif name in provider.setting_fields or value is None:
            setattr(configured, name, value)
        else:
            raise PayloadError(
                f"{provider.vendor} has no setting {name!r}; leave it out, or put it under the name of a provider that "
                "has it",
                location=("settings", name),
            )
    return configured


def add_options(provider: VendorAPI, request: ProviderRequest, payload: Payload) -> Payload:
    """A payload with the settings, the tools, the tool choice and the format of a request."""
    # A subclass may build a body of its own; what the eval file says is in it all the same.
    for name, value in request.settings.items():
        if value is not None and name in provider.setting_fields:
            provider.setting_fields[name].put(value, payload.body)
    parts = []
    if request.tools:
        parts.append(provider.tools_payload(request.tools))
    if request.tool_choice is not None:
        parts.append(provider.tool_choice_payload(request.tool_choice))
    if request.response_format is not None:
        parts.append(provider.response_format_payload(request.response_format))
    for part in parts:
        payload = Payload(deep_merge(payload.body, part.body), (*payload.adjustments, *part.adjustments))
    return payload

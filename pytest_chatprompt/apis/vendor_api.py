"""`VendorAPI`: all that a provider declares about its API, and the parts of it: settings, media, payloads."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from pytest_chatprompt.apis.json_body import parse_arguments, value_at
from pytest_chatprompt.apis.preflight import ModelLimits, ModelParameters, Rule
from pytest_chatprompt.cases.message import Role, ToolCall
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import (
    ChatMessage,
    ChatPrompt,
    Content,
    ContentPart,
    Media,
    content_parts,
    describe_messages,
)
from pytest_chatprompt.prompt.request import OutputSchema, ProviderRequest, output_schema
from pytest_chatprompt.providers.prices import TokenPrice
from pytest_chatprompt.providers.response import Finding, ProviderResponse
from pytest_chatprompt.text.json_data import deep_merge
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


class PreviewedBody(NamedTuple):
    """The body of an HTTP request, as its receiver decodes it.

    Args:
        url: the whole URL, base URL included.
        body: JSON data.
        adjustments: see `PreparedRequest`.
        findings: see `PreparedRequest`.
    """

    url: str
    body: Any
    adjustments: tuple[str, ...]
    findings: tuple[Finding, ...]


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
        media_types: those that it takes; empty for all of the kind.
    """

    block: Callable[[Media], dict[str, Any]]
    roles: tuple[Role, ...] = ("user",)
    takes_urls: bool = False
    needs_type_of_urls: bool = False
    media_types: tuple[str, ...] = ()


MediaTable = Mapping[MediaKind, MediaSupport]


def content_blocks(
    content: Content, table: MediaTable, text_block: Callable[[str], dict[str, Any]]
) -> list[dict[str, Any]]:
    """The parts of a content in the shape of an API; empty texts are left out, since no API takes them as blocks."""
    return [
        table[part.kind].block(part) if isinstance(part, Media) else text_block(part)
        for part in content_parts(content)
        if part
    ]


def check_media(prompt: ChatPrompt, vendor: str, table: MediaTable) -> None:
    """Refuse media that an API does not take."""
    for message in prompt:
        for media in message.media:
            reason = _reason(media, message, vendor, table)
            if reason:
                raise _payload_error(media, message, reason)


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
    if support.media_types and media.media_type and media.media_type not in support.media_types:
        return (
            f"{vendor} takes {_plural(media.kind)} as {_listed(support.media_types, 'or')} only, and this one is "
            f"{media.media_type}; convert the file"
        )
    if media.content is None and support.needs_type_of_urls and not media.media_type:
        media_types = support.media_types or MEDIA_TYPES[media.kind]
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


def _payload_error(media: Media, message: ChatMessage, reason: str) -> PayloadError:
    if media.place is None:
        return PayloadError(reason, message_number=message.number)
    message_number, part_number = media.place
    return PayloadError(
        f"part {part_number}: {reason}",
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


class SplitPrompt(NamedTuple):
    """The system text of a chat prompt, and its turns."""

    system: str
    turns: tuple[Turn, ...]
    adjustments: tuple[str, ...] = ()


def split_prompt(prompt: ChatPrompt, vendor: str, *, joins_results: bool = True) -> SplitPrompt:
    """Split a chat prompt into its system text and its turns."""
    system = "\n\n".join(message.text for message in prompt if message.role == "system")
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


def turn_blocks(
    turn: Turn,
    table: MediaTable,
    text_block: Callable[[str], dict[str, Any]],
    call_block: Callable[[ToolCall, dict[str, Any]], dict[str, Any]],
    result_block: Callable[[TurnResult], dict[str, Any]],
) -> list[dict[str, Any]]:
    """A turn for an API that takes the arguments of calls as data: its results, or its content and calls."""
    if turn.results:
        return [result_block(result) for result in turn.results]
    message = turn.message
    calls = [call_block(call, parse_arguments(call, message)) for call in message.tool_calls]
    return [*content_blocks(message.content, table, text_block), *calls]


def _turns(messages: Sequence[ChatMessage]) -> Iterator[Turn]:
    function_names: dict[str, str] = {}
    for is_tool, group in groupby(messages, key=lambda message: message.role == "tool"):
        if is_tool:
            results = tuple(_tool_result(message, function_names) for message in group)
            yield Turn(results[-1].message, results)
        else:
            for message in group:
                function_names.update((call.id, call.function.name) for call in message.tool_calls)
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
        media: which images, documents and audio it takes, by their kind; it lacks the others. None by default.
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
    media: ClassVar[MediaTable] = {}
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

"""`VendorAPI`: all that a provider declares about its API, and the parts of it: settings, media, payloads."""

from __future__ import annotations

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, TypeVar

from pytest_chatprompt.apis.preflight import ModelLimits, ModelParameters, Rule
from pytest_chatprompt.cases.message import Role
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import ChatPrompt, Media
from pytest_chatprompt.prompt.request import (
    FunctionTool,
    OutputSchema,
    ProviderRequest,
    ToolChoice,
    output_schema,
    read_tool_choice,
    require_functions,
)
from pytest_chatprompt.providers.prices import Billing, TokenPrice
from pytest_chatprompt.providers.response import Finding, ProviderResponse
from pytest_chatprompt.text.json_data import deep_merge, value_at
from pytest_chatprompt.text.media_types import MediaKind


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
        """Put a value into a body; `None` removes the one that is there.

        Raises:
            PayloadError: the API has no such value.
        """
        *folders, name = self.path
        if value is None:
            (value_at(body, folders) or {}).pop(name, None)
            return
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


def effort_among(vendor: str, *efforts: str, write: Callable[[str], str] = str) -> Callable[[str], str]:
    """Make the conversion of `reasoning_effort` for an API that has not all of them, or writes them in its own way."""

    def convert(effort: str) -> str:
        if effort not in efforts:
            raise PayloadError(
                f"{vendor} has no reasoning_effort {effort!r}; write one of {', '.join(efforts)}",
                location=("settings", "reasoning_effort"),
            )
        return write(effort)

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


def given(**fields: Any) -> dict[str, Any]:
    """The fields that have a value: `None` is what an author does not say."""
    return {name: value for name, value in fields.items() if value is not None}


def left_out(schema: OutputSchema, vendor: str, *names: str) -> tuple[str, ...]:
    """Say which fields of a response format an API lacks; empty if the author does not say them."""
    said = ", ".join(name for name in names if getattr(schema, name) is not None)
    return (f"response_format: {said} left out, {vendor} has none",) if said else ()


# The schema of the arguments of a function that has none, for an API that demands one.
NO_ARGUMENTS: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


def write_tools(
    tools: Sequence[Mapping[str, Any]], vendor: str, write: Callable[[FunctionTool], dict[str, Any]]
) -> Blocks:
    """The tools of an API that has functions, each as `write` makes it, and raw ones, as they are; else an error."""
    functions = {function.place: function for function in require_functions(tools, vendor)}
    return [write(functions[index]) if index in functions else tool["raw"] for index, tool in enumerate(tools)]


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

    def auth_headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key, and any others that the API demands; by default a bearer token.

        Args:
            key: the key; without a header for it if it is `""`.
        """
        return {"authorization": f"Bearer {key}"} if key else {}

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
        said = {name: value_at(body, field.path) for name, field in self.setting_fields.items()}
        model = str(body.get("model", self.model))
        return ModelParameters(model, said.get("temperature"), said.get("max_output_tokens"))


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
    options: tuple[tuple[Callable[[Any], Payload], Any], ...] = (
        (provider.tools_payload, request.tools or None),
        (provider.tool_choice_payload, request.tool_choice),
        (provider.response_format_payload, request.response_format),
    )
    for part in [write(option) for write, option in options if option is not None]:
        payload = Payload(deep_merge(payload.body, part.body), (*payload.adjustments, *part.adjustments))
    return payload

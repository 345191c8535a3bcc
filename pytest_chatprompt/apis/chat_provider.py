"""`ChatProvider`: base class of the providers that send a chat prompt to an LLM API over HTTP (rules E)."""

from __future__ import annotations

import copy
import json
import math
import os
import re
import time
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypedDict, Unpack

import httpx
from pydantic import InstanceOf, NonNegativeInt, PositiveInt

from pytest_chatprompt.apis.fitting import Turn, fit_adjustments, fit_prompt, fit_tools, with_raw_calls
from pytest_chatprompt.apis.preflight import ModelLimits, PreflightInput, apply_rules, find_limits, number_or_none
from pytest_chatprompt.apis.vendor_api import Blocks, PreparedRequest, VendorAPI, add_options, with_settings
from pytest_chatprompt.cases.fields import NonEmptyString, ReasoningEffort, Seed, Stop, TopP
from pytest_chatprompt.cases.message import ToolCall
from pytest_chatprompt.errors import MissingSettingError, PayloadError
from pytest_chatprompt.prompt.chat_prompt import (
    DEFAULT_SYSTEM_PROMPT,
    ChatMessage,
    ChatPrompt,
    Content,
    MarkedText,
    Media,
    RawContent,
    content_parts,
)
from pytest_chatprompt.prompt.conversion import block_of_texts
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.arguments import NonNegativeNumber, PositiveNumber, check_settings
from pytest_chatprompt.providers.context import Cancellation, current_context
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION, HTTPClient, parsed_url
from pytest_chatprompt.providers.http.retry import DEFAULT_MAX_RETRIES, MinuteLimits, send_with_retries
from pytest_chatprompt.providers.prices import Billing, TokenPrice
from pytest_chatprompt.providers.response import Finding, ProviderResponse, replace_surrogates
from pytest_chatprompt.text.json_data import OTHER_SHAPE, deep_merge, thaw

if TYPE_CHECKING:
    from pytest_chatprompt.apis.model_api import ChatAPI
    from pytest_chatprompt.apis.reply import Definitions
    from pytest_chatprompt.providers.http.error_replies import ErrorContext

# The vendors' own SDKs wait as long by default.
DEFAULT_TIMEOUT_SECONDS: Final = 600.0


class ChatSettings(TypedDict, total=False):
    """The keyword arguments that every chat provider takes, beside its own such as `model`.

    Args:
        api_key: the key; `None`, the default, reads it from the environment; `""` sends none.
        temperature: from 0; `None`, the default, leaves it out. 0 is sent.
        max_output_tokens: the largest number of tokens in the answer; `None`, the default, leaves it out, except
            for Anthropic, whose API demands one.
        top_p: from 0 to 1; `None`, the default, leaves it out. So it does in the next three.
        stop: the text, or the texts, before which the model stops.
        seed: makes answers repeatable, if the model supports it.
        reasoning_effort: how long the model thinks: `none`, `minimal`, `low`, `medium`, `high`, `xhigh` or `max`.
        timeout_seconds: how long one try may take: each step of the network, and the whole reply. 600 by default.
        total_timeout_seconds: how long all tries and the waits between them may take; `None`, the default: no limit.
        max_retries: how many times a request is sent again after an error that may pass; 5 by default, 0 for never.
        extra_body: merged into the JSON body: mappings key by key, any other value replaces what is there.
        model_limits: what you know about the model; overrides what preflight knows about it.
        price: what the model costs; `None`, the default, for the price list.
        requests_per_minute: how many requests may be sent in any minute; `None`, the default: no limit.
        tokens_per_minute: how many tokens they may have, input and output together; `None`, the default: no limit.
    """

    api_key: str | None
    temperature: NonNegativeNumber | None
    max_output_tokens: NonNegativeInt | None
    top_p: TopP | None
    stop: Stop | None
    seed: Seed | None
    reasoning_effort: ReasoningEffort | None
    timeout_seconds: PositiveNumber
    total_timeout_seconds: PositiveNumber | None
    max_retries: NonNegativeInt
    extra_body: InstanceOf[Mapping[str, Any]] | None
    model_limits: InstanceOf[ModelLimits] | None
    price: InstanceOf[TokenPrice] | None
    requests_per_minute: PositiveInt | None
    tokens_per_minute: PositiveInt | None


class ChatProviderArguments(ChatSettings, total=False):
    """What a subclass passes to `ChatProvider`: the user's settings, and values of arguments of its own.

    Args:
        model: the model's name; leave it out for an API that has no models.
        api_version: the API's version; leave it out for an API that has none.
    """

    model: NonEmptyString
    api_version: NonEmptyString


def checked_url(where: str, base_url: str, error: type[Exception] = MissingSettingError) -> str:
    """A base URL as it is, or an error that no request can be sent to it."""
    try:
        url = parsed_url(base_url)
    except httpx.InvalidURL as invalid:
        raise error(f"{where}: {base_url!r} is not a valid URL: {invalid}") from None
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise error(f"{where}: {base_url!r} is not an http or https URL with a host and without a query")
    return base_url


# Longer texts of an API are cut in errors.
_MAX_SHOWN_CHARACTERS: Final = 500


class ChatProvider(VendorAPI):
    """Base class of the LLM APIs: sends the chat prompt of a request over HTTP, and reads the answer.

    A subclass defines what `VendorAPI` declares.

    Args:
        base_url: http or https, with a host and without a query; a path in it is kept.
        settings: see `ChatSettings`; a subclass may pass `model` and `api_version` too.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.

    Attributes:
        default_model: the model where none is given.
        takes_api_version: whether users may give one.
        default_api_version: the API's version where none is given.
    """

    default_model: ClassVar[str] = ""
    takes_api_version: ClassVar[bool] = True
    default_api_version: ClassVar[str | None] = None

    def __init__(self, *, base_url: str | None = None, **settings: Unpack[ChatProviderArguments]) -> None:
        # A provider takes these only if its `setting_fields` say where its API has them.
        lacking = {"top_p", "stop", "seed", "reasoning_effort"} - self.setting_fields.keys()
        lacking |= set() if self.takes_api_version else {"api_version"}
        check_settings(self, settings, ChatProviderArguments, lacking)
        if base_url is not None:
            checked_url(type(self).__name__, base_url, ValueError)
        self.model = settings.get("model", self.default_model)
        self.api_version = settings.get("api_version", self.default_api_version)
        self.temperature = settings.get("temperature")
        self.max_output_tokens = settings.get("max_output_tokens")
        self.top_p = settings.get("top_p")
        self.stop = settings.get("stop")
        self.seed = settings.get("seed")
        self.reasoning_effort = settings.get("reasoning_effort")
        self.timeout_seconds = settings.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS)
        self.total_timeout_seconds = settings.get("total_timeout_seconds")
        self.max_retries = settings.get("max_retries", DEFAULT_MAX_RETRIES)
        self.extra_body = dict(settings.get("extra_body") or {})
        self.model_limits = settings.get("model_limits") or ModelLimits()
        self.price = settings.get("price")
        self._minute_limits = MinuteLimits(settings.get("requests_per_minute"), settings.get("tokens_per_minute"))
        self._base_url = base_url
        self._api_key = settings.get("api_key")
        self._http = HTTPClient(self.vendor, self.authorize, self._redact, {PROVIDER_EXTENSION: type(self)})

    def variant(
        self, settings: Mapping[str, Any], *, api_key: str | None, endpoint: str | None, api_version: str | None
    ) -> Self:
        """Copy the provider, with another key, endpoint, API version or settings, as a target of AgentV says.

        On Azure the endpoint may be a resource's name, and the version `v1`. A `ValueError` refuses another URL.
        """
        variant = copy.copy(with_settings(self, ProviderRequest(settings=settings)))
        if api_version is not None:
            variant._use_api_version(api_version)
        if endpoint is not None:
            variant._use_endpoint(endpoint)
        if api_key is not None:
            variant._api_key = api_key
        variant._http = HTTPClient(variant.vendor, variant.authorize, variant._redact, self._http.extensions)
        return variant

    def _use_api_version(self, api_version: str) -> None:
        if self.api_version is not None:
            self.api_version = api_version

    def _use_endpoint(self, endpoint: str) -> None:
        self._base_url = checked_url(type(self).__name__, endpoint, ValueError)

    @property
    def base_url(self) -> str:
        """The base URL without a slash at its end."""
        return (self._base_url or self._configured_url()).rstrip("/")

    def _configured_url(self) -> str:
        return self._url_in(self.base_url_variable) or self.default_base_url

    @property
    def redacted_base_url(self) -> str:
        """The base URL without the user name and password that it may contain."""
        return str(parsed_url(self.base_url).copy_with(userinfo=b""))

    @property
    def target(self) -> str:
        """What a request is sent to, as error messages name it: `the model 'm' and the base URL https://...`."""
        base_url = f"the base URL {self.redacted_base_url}"
        return f"the model {self.model!r} and {base_url}" if self.model else base_url

    def build_chat_prompt(self, request: ProviderRequest) -> ChatPrompt:
        """Decide which messages are sent (rule E2)."""
        said = request.metadata.get("systemPrompt")
        system_prompt = DEFAULT_SYSTEM_PROMPT if said is None else said
        if request.chat_prompt is None:
            return _legacy_prompt(request, system_prompt)
        if not request.chat_prompt:
            raise PayloadError(
                "the chat prompt is an empty list; add a message, or leave the list out to send the question"
            )
        if not system_prompt or any(message.role in ("system", "developer") for message in request.chat_prompt):
            return request.chat_prompt
        return (ChatMessage("system", system_prompt), *request.chat_prompt)

    def text_block(self, text: str) -> dict[str, Any]:
        """The block of a text."""
        return {"type": "text", "text": text}

    def mark_block(self, blocks: Blocks, cache_control: Mapping[str, Any]) -> None:
        """Say that a prefix which is cached ends with the last block: by default with Anthropic's mark in it."""
        blocks[-1]["cache_control"] = thaw(cache_control)

    def content_blocks(self, content: Content) -> Blocks:
        """The parts of a content that `fit_prompt` gave; without empty texts, since no API takes them as blocks."""
        blocks: Blocks = []
        for part in content_parts(content):
            if isinstance(part, RawContent):
                blocks.append(thaw(part.data))
            elif isinstance(part, Media):
                blocks.append(self.media[part.kind].block(part))
            elif part:
                blocks.append(self.text_block(str(part)))
            if isinstance(part, Media | MarkedText) and part.cache_control is not None:
                self.mark_block(blocks, part.cache_control)
        return blocks

    def text_or_blocks(self, content: Content) -> Any:
        """A text as it is, media and the texts between them as blocks."""
        return self.content_blocks(content) if isinstance(content, tuple) else content

    def _build_body(self, request: ProviderRequest) -> tuple[dict[str, Any], tuple[str, ...], tuple[Finding, ...]]:
        """The body as it is sent, with its adjustments and findings."""
        written = self.build_chat_prompt(request)
        prompt = fit_prompt(written, self)
        request = request.model_copy(update={"tools": fit_tools(request.tools, self)}) if request.tools else request
        payload = add_options(self, request, self.build_payload(prompt))
        body = deep_merge(payload.body, self.extra_body)
        adjustments = (*fit_adjustments(written, self), *payload.adjustments)
        return body, adjustments, self._findings(with_raw_calls(prompt), request, body)

    def _findings(
        self, prompt: ChatPrompt, definitions: ProviderRequest | Definitions, body: Mapping[str, Any]
    ) -> tuple[Finding, ...]:
        """The findings in a body, whose messages and definitions are at hand."""
        parameters = self.model_parameters(body)
        preflight_input = PreflightInput(
            vendor=self.vendor,
            model=parameters.model,
            prompt=prompt,
            limits=find_limits(parameters.model, self.known_models).updated_with(self.model_limits),
            api_version=self.api_version,
            temperature=number_or_none(parameters.temperature),
            max_output_tokens=number_or_none(parameters.max_output_tokens),
            tools=definitions.tools,
            tool_choice=definitions.tool_choice,
            response_format=definitions.response_format,
            body=body,
        )
        return apply_rules(preflight_input, self.rules)

    def prepare(self, request: ProviderRequest) -> PreparedRequest:
        """Make the HTTP request; nothing is sent.

        Raises:
            PayloadError: the API cannot express the messages.
            MissingSettingError: there is no base URL.
        """
        if request.captured is not None:
            return request.captured.prepare(self, request)  # type: ignore[no-any-return]
        provider = with_settings(self, request)
        body, adjustments, findings = provider._build_body(request)
        url = provider.base_url + provider.endpoint_path()
        target = provider.target if request.settings else None
        return PreparedRequest(url, _encode_json(body), adjustments, findings, target, provider.billing(body))

    def prepare_body(self, target: str, body: Mapping[str, Any]) -> PreparedRequest:
        """Make the HTTP request of a body that was sent before, to a path below the base URL; nothing is sent."""
        from pytest_chatprompt.apis.reply import ModelRequest  # noqa: PLC0415 - few runs send one

        model = ModelRequest(target.partition("?")[0], {}, body, "").model or self.model
        provider = with_settings(self, ProviderRequest(settings={"model": model}))
        content = _encode_json(dict(body))
        return PreparedRequest(self.base_url + target, content, (), (), provider.target, provider.billing(body))

    def billing(self, body: Mapping[str, Any]) -> Billing:
        """Who bills a request, and for what model."""
        model = self.model_parameters(body).model
        return Billing(self.vendor, model, self.price_vendor, self.base_url, self.price)

    def send(self, request: ProviderRequest) -> ProviderResponse:
        """Send a request, again after an error that may pass, and read the answer. Safe between threads.

        Raises:
            PayloadError: the API cannot express the messages; nothing was sent.
            MissingSettingError: there is no key or no base URL; nothing was sent.
            APIConnectionError: no complete reply came.
            APIStatusError: the reply is an error, or cannot be read; its subclasses say why.
        """
        return self.send_prepared(self.prepare(request))

    def send_prepared(self, prepared: PreparedRequest) -> ProviderResponse:
        """Do as `send` does, with a request that `prepare` made. Safe between threads."""
        # A run that sends nothing need not load what sends.
        from pytest_chatprompt.apis.sending import MeteredTry, read_http_reply  # noqa: PLC0415

        cancellation = current_context().cancellation or Cancellation()
        total = self.total_timeout_seconds
        deadline = math.inf if total is None else time.monotonic() + total

        def send_once() -> ProviderResponse:
            metered = MeteredTry(prepared, self._minute_limits, cancellation, self.timeout_seconds, deadline)
            try:
                reply = self._http.post(prepared.url, prepared.content, metered.begin, cancellation)
                response = read_http_reply(reply, self.read_reply, partial(self._error_context, prepared.target))
            except BaseException as error:
                metered.fail(error)
                raise
            return metered.finish(response)

        pause = self._http.shared_pause
        response, retries = send_with_retries(send_once, pause, cancellation, self.max_retries, deadline)
        return response.model_copy(
            update={"adjustments": prepared.adjustments, "findings": prepared.findings, "retries": retries}
        )

    @property
    def sends_what_it_prepares(self) -> bool:
        """Whether neither `send` nor `send_prepared` is overridden, or replaced by a test."""
        # The methods of the object, not of its class.
        methods = [getattr(method, "__func__", None) for method in (self.send, self.send_prepared)]
        return methods == [ChatProvider.send, ChatProvider.send_prepared]

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""

    def credentials(self) -> dict[str, str]:
        """The headers that carry the key."""
        return self.auth_headers(self._key())

    def authorize(self, request: httpx.Request) -> dict[str, str]:  # noqa: ARG002 - for subclasses
        """The headers that authorize one try of a request; an API whose requests are signed overrides it."""
        return self.credentials()

    def sent_headers(self, prepared: PreparedRequest) -> dict[str, str]:
        """The headers that will be sent and change what the model does."""
        return self._http.sent_headers(prepared.url)

    def known_keys(self) -> tuple[str, ...]:
        """The real keys that the provider may use: its argument and its variable's, to keep them out of snapshots."""
        return tuple(filter(None, (self._api_key, os.environ.get(self.key_variable))))

    @classmethod
    def placeholders(cls) -> dict[str, str]:
        """The environment variables that the provider reads, by name, each with the value that it has offline."""
        return {cls.key_variable: "offline"} if cls.key_variable else {}

    def _variable(self, name: str) -> str | None:
        """The value of an environment variable; `None` if it is not set. Offline it is the placeholder."""
        # CI sets the variable of a secret that it does not have to an empty text: that counts as not set.
        context = current_context()
        if context.is_offline:
            return self.placeholders()[name]
        variables = context.variables or {}
        return variables.get(name, os.environ.get(name)) or None

    def _url_in(self, *names: str) -> str:
        """The base URL in the first of some environment variables that is set; `""` for none, and offline."""
        # CI sets a variable that it does not have to an empty text: that counts as not set.
        name = None if current_context().is_offline else next(filter(os.environ.get, names), None)
        return "" if name is None else checked_url(name, os.environ[name])

    def _key(self) -> str:
        key = self._variable(self.key_variable) if self._api_key is None and self.key_variable else self._api_key
        if key is None and (self.key_is_optional or not self.key_variable):
            return ""
        if key is None:
            raise self._missing("key", self.key_variable, "api_key")
        if not re.fullmatch(r"[\x21-\x7e]*", key):
            raise MissingSettingError(
                f"the key for {self.vendor} contains a space, a line break or another character that an HTTP header "
                f"cannot contain; check the environment variable {self.key_variable}, or api_key"
            )
        return key

    def _missing(self, what: str, variable: str, argument: str) -> MissingSettingError:
        where = f"set the environment variable {variable}, or pass {argument} to {type(self).__name__}"
        return MissingSettingError(f"no {what} for {self.vendor}: {where}")

    def _error_context(self, target: str | None = None) -> ErrorContext:
        from pytest_chatprompt.providers.http.error_replies import ErrorContext  # noqa: PLC0415

        return ErrorContext(self.vendor, self.key_variable, target or self.target, self._redact)

    def _redact(self, text: str) -> str:
        """Remove the key from a text of the API, which may echo it, and what cannot be shown; cut a long text."""
        key = self._key()
        text = replace_surrogates(text)
        text = text.replace(key, "[key]") if key else text
        return text if len(text) <= _MAX_SHOWN_CHARACTERS else f"{text[:_MAX_SHOWN_CHARACTERS]}..."


class BlocksProvider(ChatProvider):
    """Base class of the providers whose APIs have messages of blocks, and the arguments of tool calls as data."""

    @staticmethod
    @abstractmethod
    def call_block(call_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The block of a tool call."""

    @abstractmethod
    def result_block(self, result: ChatMessage) -> dict[str, Any]:
        """The block of a tool's result, as a `Turn` has it."""

    def turn_blocks(self, turn: Turn) -> Blocks:
        """A turn as blocks: its results, or its content and its calls."""
        if turn.results:
            return [self.result_block(result) for result in turn.results]
        blocks = self.content_blocks(turn.message.content)
        for call in turn.message.tool_calls:
            blocks.append(self.call_block(call.id, call.function.name, _parse_arguments(call, turn.message)))
        return blocks


def _parse_arguments(call: ToolCall, message: ChatMessage) -> dict[str, Any]:
    """Parse the arguments of a tool call, for an API that takes them as data."""
    with suppress(ValueError, RecursionError):
        arguments = json.loads(call.function.arguments)
        if isinstance(arguments, dict):
            return arguments
    raise PayloadError(
        f"the arguments of the tool call {call.id!r} are not a JSON object: {call.function.arguments!r}; "
        "write one, such as '{}'",
        message_number=message.number,
    )


def _encode_json(body: dict[str, Any]) -> bytes:
    """Encode a body as compact JSON in UTF-8."""
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise PayloadError(f"the body cannot be encoded as JSON: {error}") from error


def _legacy_prompt(request: ProviderRequest, system_prompt: str) -> ChatPrompt:
    if not request.question:
        raise PayloadError("the request has neither a chat prompt nor a question")
    system = "\n\n".join(filter(None, (system_prompt, block_of_texts(request.guidelines))))
    user = ChatMessage("user", request.question)
    return (ChatMessage("system", system), user) if system else (user,)


def preflight_body(provider: ChatProvider, body: Mapping[str, Any], api: ChatAPI) -> tuple[Finding, ...]:
    """Find what the API of a provider will refuse or misread in a body that any client sends."""
    try:
        prompt = api.read_conversation(body).as_prompt()
        return provider._findings(prompt, api.definitions(body), body)
    except OTHER_SHAPE:
        # No test is broken by a body that the rules do not know.
        return ()

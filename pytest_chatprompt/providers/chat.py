"""`ChatProvider`: the base of every provider that sends the chat prompt to an API over HTTP (rulings E).

A `ProviderRequest` comes in. `build_chat_prompt` settles which messages are sent, a subclass's
`build_payload` puts them into its API's shape without sending anything, `send` posts that and reads the
reply. A subclass has no I/O of its own.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final, NamedTuple, TypedDict, Unpack

import httpx

from pytest_chatprompt.chat_prompt import DEFAULT_SYSTEM_PROMPT, ChatMessage, ChatPrompt
from pytest_chatprompt.errors import MissingSettingError, PayloadError, UnreadableReplyError
from pytest_chatprompt.guidelines import GUIDELINE_HEADING
from pytest_chatprompt.preflight import Draft, Finding, ModelLimits, Rule, preflight
from pytest_chatprompt.providers.api_errors import SHOWN_CHARACTERS, Asked, Reply, api_error
from pytest_chatprompt.providers.channel import Channel
from pytest_chatprompt.providers.json_body import encoded, laid_over
from pytest_chatprompt.providers.models import limits_of
from pytest_chatprompt.providers.patience import DEFAULT_MAX_RETRIES, patiently
from pytest_chatprompt.providers.settings import check_kind, check_names, check_number, number_or_none
from pytest_chatprompt.providers.surroundings import surroundings
from pytest_chatprompt.requests import ProviderRequest, ProviderResponse

# What the vendors' own SDKs wait by default.
DEFAULT_TIMEOUT_SECONDS: Final = 600.0
_HEADER_SAFE: Final = re.compile(r"[\x21-\x7e]*")


class Payload(NamedTuple):
    """What is posted.

    Args:
        body: the JSON body.
        adjustments: what was done to the messages to fit them into the API's shape.
    """

    body: dict[str, Any]
    adjustments: tuple[str, ...] = ()


class Prepared(NamedTuple):
    """A request that is ready to be sent.

    Args:
        url: where to, with the base URL.
        content: the bytes of the body.
        adjustments: what was done to the messages to fit them into the API's shape.
        findings: what of it the API is known to refuse, or to read otherwise.
    """

    url: str
    content: bytes
    adjustments: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


class Settings(NamedTuple):
    """What a body says beside the messages, as it stands there.

    Args:
        model: the model's name.
        temperature: `None` for not set.
        max_output_tokens: the cap on the answer; `None` for none.
    """

    model: str
    temperature: Any = None
    max_output_tokens: Any = None


class ChatSettings(TypedDict, total=False):
    """The keyword arguments that every chat provider takes beside those of its own.

    Args:
        api_key: the key; `None` for the one in the environment, `""` for none.
        temperature: sent only where set; 0 is a value.
        max_output_tokens: the cap on the answer, in tokens; sent only where set, except that Anthropic demands one.
        timeout_seconds: how long to wait for one try: for the network at each step, and for the whole reply.
        total_timeout_seconds: how long all tries may take together, with the waits between them; `None` for no bound.
        max_retries: how many times a request is sent again after an error that may pass; 0 for none.
        extra_body: laid over the body, mapping into mapping, the rest replaced.
        model_limits: what you know of the model, over what preflight knows of it.
    """

    api_key: str | None
    temperature: float | None
    max_output_tokens: int | None
    timeout_seconds: float
    total_timeout_seconds: float | None
    max_retries: int
    extra_body: Mapping[str, Any] | None
    model_limits: ModelLimits | None


class ChatProvider(ABC):
    """Sends the chat prompt of a request to an LLM API.

    Args:
        base_url: where the API is; a path in it is kept.
        settings: see `ChatSettings`.

    Raises:
        TypeError: a setting is none of `ChatSettings`.
        ValueError: a value cannot be meant.
    """

    vendor: ClassVar[str]
    key_variable: ClassVar[str]
    # Which paths the API answers, below any base URL, and the least reply that is valid there.
    offline_path: ClassVar[str]
    offline_reply: ClassVar[Mapping[str, Any]]
    # What preflight goes by: the API's rules, and globs of models with what is known of them.
    rules: ClassVar[tuple[Rule, ...]] = ()
    known_models: ClassVar[Mapping[str, ModelLimits]] = {}
    api_version: str | None = None

    def __init__(
        self,
        *,
        base_url: str | None,
        **settings: Unpack[ChatSettings],
    ) -> None:
        check_names(self, settings, ChatSettings.__annotations__)
        check_number(self, "temperature", settings.get("temperature"))
        check_number(self, "max_output_tokens", settings.get("max_output_tokens"), whole=True)
        check_number(self, "timeout_seconds", settings.get("timeout_seconds"))
        check_number(self, "total_timeout_seconds", settings.get("total_timeout_seconds"))
        check_number(self, "max_retries", settings.get("max_retries"), whole=True)
        check_kind(self, "extra_body", settings.get("extra_body"), Mapping, "a mapping")
        check_kind(self, "model_limits", settings.get("model_limits"), ModelLimits, "a ModelLimits")
        if base_url is not None:
            try:
                url = httpx.URL(base_url)
            except httpx.InvalidURL as error:
                raise ValueError(f"{type(self).__name__}: {base_url!r} is no URL: {error}") from error
            if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
                raise ValueError(
                    f"{type(self).__name__}: {base_url!r} is no http or https URL with a host and without a query"
                )
        self._base_url = base_url
        self._api_key = settings.get("api_key")
        self.temperature = settings.get("temperature")
        self.max_output_tokens = settings.get("max_output_tokens")
        self.timeout_seconds = settings.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS)
        self.total_timeout_seconds = settings.get("total_timeout_seconds")
        self.max_retries = settings.get("max_retries", DEFAULT_MAX_RETRIES)
        self.extra_body = dict(settings.get("extra_body") or {})
        self.model_limits = settings.get("model_limits") or ModelLimits()
        self._channel = Channel(self.vendor, self.credentials, self._shown)

    @property
    def base_url(self) -> str:
        """Where the API is, without a slash at its end."""
        return str(self._base_url).rstrip("/")

    @property
    def shown_base_url(self) -> str:
        """The base URL without the name and password that may stand in it."""
        return str(httpx.URL(self.base_url).copy_with(userinfo=b""))

    def build_chat_prompt(self, request: ProviderRequest) -> ChatPrompt:
        """The messages to send (ruling E2).

        Args:
            request: with a `chat_prompt`, or a legacy one with a `question` alone.

        Returns:
            The chat prompt, untouched where it has a system message, else with the system prompt in front;
            of a legacy request, the system prompt with the guidelines, and the question.

        Raises:
            PayloadError: the chat prompt is an empty list, or there is neither prompt nor question.
        """
        system_prompt = request.metadata.get("systemPrompt")
        if system_prompt is None:
            system_prompt = DEFAULT_SYSTEM_PROMPT
        if request.chat_prompt is None:
            return self._legacy_prompt(request, system_prompt)
        if not request.chat_prompt:
            raise PayloadError(
                "the chat prompt is an empty list; give it a message, or leave it out to send the question"
            )
        if not system_prompt or any(message.role == "system" for message in request.chat_prompt):
            return request.chat_prompt
        return (ChatMessage("system", system_prompt), *request.chat_prompt)

    def _legacy_prompt(self, request: ProviderRequest, system_prompt: str) -> ChatPrompt:
        if not request.question:
            raise PayloadError("the request has neither a chat prompt nor a question")
        block = "\n\n".join((GUIDELINE_HEADING, *request.guidelines)) if request.guidelines else ""
        system = "\n\n".join(text for text in (system_prompt, block) if text)
        user = ChatMessage("user", request.question)
        return (ChatMessage("system", system), user) if system else (user,)

    @abstractmethod
    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """Put a chat prompt into the shape of the API; nothing is sent.

        Raises:
            PayloadError: the shape cannot hold it.
        """

    @property
    def target(self) -> str:
        """What is asked, and where, in the words of an error: `the model 'm' and the base URL http://...`."""
        return f"the base URL {self.shown_base_url}"

    def settings_in(self, body: Mapping[str, Any]) -> Settings:
        """The settings that a body holds, for preflight."""
        return Settings(str(body.get("model", "")))

    @abstractmethod
    def endpoint_path(self) -> str:
        """The path of the endpoint below the base URL, with its query."""

    @abstractmethod
    def auth_headers(self, key: str) -> dict[str, str]:
        """The headers that carry the key, and others that the API demands."""

    def preflight(self, request: ProviderRequest) -> tuple[Finding, ...]:
        """What of a request the API will refuse, or read otherwise than it is written; nothing is sent.

        Raises:
            PayloadError: the API's shape cannot hold the messages.
        """
        return self._drafted(request)[2]

    def _drafted(self, request: ProviderRequest) -> tuple[dict[str, Any], tuple[str, ...], tuple[Finding, ...]]:
        """The whole body of a request, the adjustments and the findings."""
        prompt = self.build_chat_prompt(request)
        payload = self.build_payload(prompt)
        body = laid_over(payload.body, self.extra_body)
        return body, payload.adjustments, self._findings(prompt, body)

    def _findings(self, prompt: ChatPrompt, body: Mapping[str, Any]) -> tuple[Finding, ...]:
        settings = self.settings_in(body)
        limits = limits_of(settings.model, self.known_models).overridden_by(self.model_limits)
        draft = Draft(
            vendor=self.vendor,
            model=settings.model,
            prompt=prompt,
            limits=limits,
            api_version=self.api_version,
            temperature=number_or_none(settings.temperature),
            max_output_tokens=number_or_none(settings.max_output_tokens),
        )
        return preflight(draft, self.rules)

    @abstractmethod
    def read_reply(self, data: Any) -> ProviderResponse:
        """Read the decoded body of a reply with status 200.

        Raises:
            LookupError, TypeError, AttributeError: it has another shape.
        """

    def prepare(self, request: ProviderRequest) -> Prepared:
        """Make ready what is to be sent; nothing is sent.

        Raises:
            PayloadError: the API's shape cannot hold the messages.
            MissingSettingError: it is not set where to send it.
        """
        body, adjustments, findings = self._drafted(request)
        return Prepared(self.base_url + self.endpoint_path(), encoded(body), adjustments, findings)

    def send(self, request: ProviderRequest) -> ProviderResponse:
        """Send a request, again where an error may pass, and read the answer.

        Raises:
            PayloadError: the API's shape cannot hold the messages; nothing was sent.
            MissingSettingError: there is no key; nothing was sent.
            UnreachableError: no answer came.
            ApiError: the API answered with an error, or with something unreadable; see `errors` for its kinds.
        """
        return self.send_prepared(self.prepare(request))

    def send_prepared(self, prepared: Prepared) -> ProviderResponse:
        """`send` for what is ready already. Safe between threads."""
        started = time.monotonic()

        def attempt() -> ProviderResponse:
            left = self.timeout_seconds
            if self.total_timeout_seconds is not None:
                left = min(left, max(started + self.total_timeout_seconds - time.monotonic(), 0.0))
            begun = time.monotonic()
            response = self._answer(self._channel.post(prepared.url, prepared.content, left))
            return response.model_copy(update={"latency_seconds": time.monotonic() - begun})

        response, retries = patiently(
            attempt, self._channel.pace, max_retries=self.max_retries, total_timeout_seconds=self.total_timeout_seconds
        )
        told = {"adjustments": prepared.adjustments, "findings": prepared.findings, "retries": retries}
        return response.model_copy(update=told)

    def cancel(self) -> None:
        """End what is on its way, in whatever thread, and let nothing more begin."""
        self._channel.cancel()

    def close(self) -> None:
        """Close the connections; the provider can be used again afterwards."""
        self._channel.close()

    def credentials(self) -> dict[str, str]:
        """The headers that carry the key.

        Raises:
            MissingSettingError: there is no key.
        """
        return self.auth_headers(self._key())

    def _key(self) -> str:
        # A variable that is set to nothing, as CI does with a secret that it does not have, is not set.
        key = self._api_key if self._api_key is not None else surroundings().environment.get(self.key_variable) or None
        if key is None:
            raise MissingSettingError(
                f"no key for {self.vendor}: set the environment variable {self.key_variable}, "
                f"or pass api_key to {type(self).__name__}"
            )
        if not _HEADER_SAFE.fullmatch(key):
            raise MissingSettingError(
                f"the key for {self.vendor} holds a blank, a line break or another character that no header can carry: "
                f"look at the environment variable {self.key_variable}, or at api_key"
            )
        return key

    def _answer(self, reply: httpx.Response) -> ProviderResponse:
        if not reply.is_success:
            asked = Asked(self.vendor, self.key_variable, self.target)
            headers = {name.lower(): value for name, value in reply.headers.items()}
            told = Reply(reply.status_code, reply.reason_phrase, headers, reply.text)
            raise api_error(told, asked, self._shown)
        try:
            data = reply.json()
        except ValueError as error:
            raise self._unreadable("with a body that is no JSON", reply) from error
        try:
            return self.read_reply(data)
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise self._unreadable("in a shape unknown here", reply) from error

    def _unreadable(self, how: str, reply: httpx.Response) -> UnreadableReplyError:
        return UnreadableReplyError(
            f"{self.vendor} answered {how}: {self._shown(reply.text) or '(an empty body)'}\n"
            f"Check {self.target}: something else may answer there.",
            status=reply.status_code,
        )

    def _shown(self, text: str) -> str:
        """A text of the API, cut, and without the key should the API echo it."""
        key = self._key()
        text = text.replace(key, "[key]") if key else text
        return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."

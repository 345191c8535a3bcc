"""`VendorAPI`: all that differs from one LLM API to another.

A chat prompt comes in, its payload comes out; the data of a reply comes in, a `ProviderResponse` comes out. Nothing
here sends anything. `ChatProvider` calls it; to add an API, define these names in a subclass of `ChatProvider`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import ChatPrompt
from pytest_chatprompt.providers.chat.media_support import MediaTable
from pytest_chatprompt.providers.chat.payload import Payload
from pytest_chatprompt.providers.chat.setting_fields import SettingField
from pytest_chatprompt.providers.preflight.models import ModelLimits
from pytest_chatprompt.providers.preflight.preflight_input import ModelParameters
from pytest_chatprompt.providers.preflight.rule import Rule
from pytest_chatprompt.providers.prices import TokenPrice
from pytest_chatprompt.providers.response import ProviderResponse


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
        offline_api: the API that answers offline: `openai-chat`, `anthropic`, `gemini`, or another one of the table in
            `capture.apis`; `""` for none of them.
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
        """Send to another model from now on; called on a copy of the provider, for a request that names one.

        Args:
            model: its name.
        """
        self.model = model

    def settings_body(self, body: dict[str, Any]) -> None:
        """Put the provider's settings into a body, where `setting_fields` say; for `build_payload`.

        Args:
            body: what was built so far.
        """
        for name, field in self.setting_fields.items():
            value = getattr(self, name)
            if value is not None:
                field.put(value, body)

    def tools_payload(self, tools: Sequence[Mapping[str, Any]]) -> Payload:  # noqa: ARG002 - for subclasses
        """Put tools into the shape of the API; by default, the API takes none.

        Args:
            tools: at least one, in either of OpenAI's shapes; `prompt.tool_definitions` reads them.

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
        """Read the model and its parameters out of a finished body, for preflight.

        Args:
            body: the body as it is sent, `extra_body` included: values may be of any type.
        """
        return ModelParameters(str(body.get("model", self.model)))

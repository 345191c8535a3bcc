"""Azure OpenAI's chat completions: OpenAI's, at the path of a deployment or, without an API version, at the v1 path.

Sources: https://learn.microsoft.com/azure/ai-foundry/openai/reference, and the package `openai` (`lib/azure.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Unpack
from urllib.parse import quote

import httpx

from pytest_chatprompt.apis import message_rules, option_rules
from pytest_chatprompt.apis.chat_provider import ChatSettings
from pytest_chatprompt.apis.openai import OPENAI_MEDIA, OPENAI_RULES, MaxTokensParameter, OpenAIChat, OpenAIProvider
from pytest_chatprompt.apis.preflight import ModelLimits, Rule, about_media
from pytest_chatprompt.apis.reply import Answer, ModelRequest
from pytest_chatprompt.apis.vendor_api import MediaTable, Payload
from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.prompt.chat_prompt import ChatPrompt
from pytest_chatprompt.providers.arguments import check_names, check_setting

_VERSIONS: Final = "https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle"
_LIMITS: Final = "https://learn.microsoft.com/azure/ai-foundry/openai/quotas-limits"


class AzureProvider(OpenAIProvider):
    """Sends chat prompts to a deployment on Azure.

    The URL is `{endpoint}/openai/deployments/{deployment}/chat/completions?api-version=...`.

    Args:
        deployment: the deployment's name.
        endpoint: the URL of the resource; `None` reads it from the environment variable `AZURE_OPENAI_ENDPOINT`.
        api_version: the API's version; `None` for the path `{endpoint}/openai/v1/chat/completions`, which has none.
        max_tokens_parameter: the name under which `max_output_tokens` is sent; older deployments want `max_tokens`.
        settings: see `ChatSettings`.
    """

    offline_api = "azure-chat"
    name = "azure"
    vendor = "Azure OpenAI"
    price_vendor = "azure"
    key_variable = "AZURE_OPENAI_API_KEY"
    endpoint_variable = "AZURE_OPENAI_ENDPOINT"
    # Azure answers a part of the type `file` with "This model does not support file content types".
    media: ClassVar[MediaTable] = {"image": OPENAI_MEDIA["image"], "audio": OPENAI_MEDIA["audio"]}
    # Azure takes fewer images; its document says so of GPT-4o and GPT-4.1.
    rules = (
        *OPENAI_RULES,
        about_media("image-count", _LIMITS, message_rules.too_many("image", 50)),
        Rule("api-version", _VERSIONS, option_rules.missing_in_version),
    )
    # Users choose the names of deployments, so these say nothing about the model.
    known_models: ClassVar[Mapping[str, ModelLimits]] = {}

    def __init__(
        self,
        *,
        deployment: str = "gpt-5.5",
        endpoint: str | None = None,
        # The latest dated version that is generally available (`_VERSIONS`, as of November 2026). The v1 API is newer
        # and takes more, which the rule `api-version` says; another default would change every snapshot.
        api_version: str | None = "2024-10-21",
        max_tokens_parameter: MaxTokensParameter | None = None,
        **settings: Unpack[ChatSettings],
    ) -> None:
        if "model" in settings or "base_url" in settings:
            raise TypeError(f"{type(self).__name__} takes deployment and endpoint instead of model and base_url")
        check_names(self, settings, ChatSettings)
        check_setting(self, "deployment", deployment, NonEmptyString)
        super().__init__(model=deployment, base_url=endpoint, max_tokens_parameter=max_tokens_parameter, **settings)
        self.api_version = api_version

    @property
    def deployment(self) -> str:
        """The deployment, by which Azure names the model."""
        return self.model

    def _use_api_version(self, api_version: str) -> None:
        self.api_version = None if api_version == "v1" else api_version

    def _use_endpoint(self, endpoint: str) -> None:
        super()._use_endpoint(endpoint if "://" in endpoint else f"https://{endpoint}.openai.azure.com")

    @classmethod
    def placeholders(cls) -> dict[str, str]:
        """The key and the endpoint."""
        return {**super().placeholders(), cls.endpoint_variable: "https://azure-openai.invalid"}

    def _configured_url(self) -> str:
        endpoint = self._variable(self.endpoint_variable)
        if endpoint is None:
            raise self._missing("endpoint", self.endpoint_variable, "endpoint")
        return endpoint

    @property
    def target(self) -> str:
        """What a request is sent to, as error messages name it: the deployment, the endpoint and the API version."""
        version = "" if self.api_version is None else f" and the API version {self.api_version}"
        return f"the deployment {self.deployment!r}, the endpoint {self.redacted_base_url}{version}"

    def endpoint_path(self) -> str:
        """The path of the deployment with the API version, or the v1 path."""
        if self.api_version is None:
            return "/openai/v1/chat/completions"
        version = quote(self.api_version, safe="")
        return f"/openai/deployments/{quote(self.deployment, safe='')}/chat/completions?api-version={version}"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key in Azure's own header."""
        return {"api-key": key} if key else {}

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """OpenAI's body; it names the deployment only if the path does not."""
        payload = super().build_payload(prompt)
        if self.api_version is not None:
            del payload.body["model"]
        return payload


_CODES = {404: "DeploymentNotFound", 400: "BadRequest"}
_SEVERITIES = {name: {"filtered": False, "severity": "safe"} for name in ("hate", "self_harm", "sexual", "violence")}


class AzureChat(OpenAIChat):
    """Azure OpenAI's chat completions by deployment."""

    def api_version(self, request: httpx.Request) -> str | None:
        """The version in the query."""
        version: str | None = request.url.params.get("api-version")
        return version

    def body(self, model_request: ModelRequest, answer: Answer) -> dict[str, Any]:
        """OpenAI's body, with empty content filter results."""
        body = super().body(model_request, answer)
        for choice in body["choices"]:
            choice["content_filter_results"] = _SEVERITIES
        filtered = [{"prompt_index": 0, "content_filter_results": _SEVERITIES}]
        return {**body, "prompt_filter_results": filtered}

    def error_body(self, model_request: ModelRequest, status: int, message: str) -> Any:  # noqa: ARG002 - the same for all
        """Azure's error: its code is the status, as text, or Azure's own word."""
        return {"error": {"code": _CODES.get(status, str(status)), "message": message}}

"""Azure OpenAI's chat completions, by deployment or, without an API version, by the v1 path.

Source: https://learn.microsoft.com/azure/ai-foundry/openai/reference, and the package `openai`
(`lib/azure.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final, Unpack
from urllib.parse import quote

from pytest_chatprompt.chat_prompt import ChatPrompt
from pytest_chatprompt.errors import MissingSettingError
from pytest_chatprompt.preflight import ModelLimits
from pytest_chatprompt.providers.chat import ChatSettings, Payload
from pytest_chatprompt.providers.openai import MaxTokensParameter, OpenAIProvider
from pytest_chatprompt.providers.settings import check_text
from pytest_chatprompt.providers.surroundings import surroundings

DEFAULT_DEPLOYMENT: Final = "gpt-5.5"
# The latest version of the dated data plane that is generally available.
DEFAULT_API_VERSION: Final = "2024-10-21"


class AzureProvider(OpenAIProvider):
    """Sends to `{endpoint}/openai/deployments/{deployment}/chat/completions?api-version=...`.

    Args:
        deployment: the deployment's name.
        endpoint: the resource's address; `None` for that of `AZURE_OPENAI_ENDPOINT`.
        api_version: the API's version; `None` for `{endpoint}/openai/v1/chat/completions`, which has none.
        max_tokens_parameter: the cap's name; older deployments want `max_tokens`.
        settings: see `ChatSettings`.
    """

    vendor = "Azure OpenAI"
    key_variable = "AZURE_OPENAI_API_KEY"
    endpoint_variable = "AZURE_OPENAI_ENDPOINT"
    # The name of a deployment is free: it says nothing of the model.
    known_models: ClassVar[Mapping[str, ModelLimits]] = {}

    def __init__(
        self,
        *,
        deployment: str = DEFAULT_DEPLOYMENT,
        endpoint: str | None = None,
        api_version: str | None = DEFAULT_API_VERSION,
        max_tokens_parameter: MaxTokensParameter = "max_completion_tokens",
        **settings: Unpack[ChatSettings],
    ) -> None:
        if "model" in settings or "base_url" in settings:
            raise TypeError(f"{type(self).__name__} takes deployment and endpoint in place of model and base_url")
        check_text(self, "deployment", deployment)
        super().__init__(
            model=deployment,
            base_url=endpoint,
            max_tokens_parameter=max_tokens_parameter,
            **settings,
        )
        self.deployment = deployment
        self.api_version = api_version

    @property
    def base_url(self) -> str:
        """The endpoint, without a slash at its end.

        Raises:
            MissingSettingError: it is set neither here nor in the environment.
        """
        endpoint = self._base_url or surroundings().environment.get(self.endpoint_variable)
        if not endpoint:
            raise MissingSettingError(
                f"no endpoint for {self.vendor}: set the environment variable {self.endpoint_variable}, "
                f"or pass endpoint to {type(self).__name__}"
            )
        return endpoint.rstrip("/")

    @property
    def target(self) -> str:
        """The deployment, the endpoint and the API version."""
        version = "" if self.api_version is None else f" and the API version {self.api_version}"
        return f"the deployment {self.deployment!r}, the endpoint {self.shown_base_url}{version}"

    def endpoint_path(self) -> str:
        """The deployment's path with the API version, or the v1 path."""
        if self.api_version is None:
            return "/openai/v1/chat/completions"
        version = quote(self.api_version, safe="")
        return f"/openai/deployments/{quote(self.deployment, safe='')}/chat/completions?api-version={version}"

    def auth_headers(self, key: str) -> dict[str, str]:
        """The key in Azure's own header."""
        return {"api-key": key} if key else {}

    def build_payload(self, prompt: ChatPrompt) -> Payload:
        """As OpenAI's; the deployment's name is in the path, and in the body only where the path has none."""
        return (
            super().build_payload(prompt) if self.api_version is None else Payload(self.messages_and_settings(prompt))
        )

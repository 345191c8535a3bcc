"""The table of the APIs: one line for each.

The method and the path of a request come in, the API that answers there comes out. `offline_api`, `sent_request`,
`prompt_cost` and `reports.page_requests` call it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from pytest_chatprompt.capture.apis.anthropic import AnthropicMessages
from pytest_chatprompt.capture.apis.azure import AzureChat
from pytest_chatprompt.capture.apis.bedrock import BedrockConverse
from pytest_chatprompt.capture.apis.cohere import CohereChat
from pytest_chatprompt.capture.apis.gemini import GeminiGenerateContent
from pytest_chatprompt.capture.apis.mistral import MistralChat, MistralEmbeddings
from pytest_chatprompt.capture.apis.model_api import ModelAPI
from pytest_chatprompt.capture.apis.ollama import OllamaChat, OllamaGenerate
from pytest_chatprompt.capture.apis.openai_chat import OpenAIChat
from pytest_chatprompt.capture.apis.openai_embeddings import OpenAIEmbeddings
from pytest_chatprompt.capture.apis.openai_responses import OpenAIResponses

# Of two with the same path, the narrower one first.
MODEL_APIS: Final[tuple[ModelAPI, ...]] = (
    AzureChat(),
    MistralChat(),
    MistralEmbeddings(),
    OpenAIChat(),
    OpenAIResponses(),
    OpenAIEmbeddings(),
    AnthropicMessages(),
    GeminiGenerateContent(),
    BedrockConverse(),
    OllamaChat(),
    OllamaGenerate(),
    CohereChat(),
)


# Nine patterns take as long as the rest of a search, and a client sends to the same few paths.
@lru_cache(maxsize=256)
def find_api(method: str, path: str, host: str = "") -> ModelAPI | None:
    """Find the API that a request is for; `None` if the table has no such API.

    Args:
        method: of HTTP.
        path: of the URL, with or without a prefix of a gateway.
        host: tells APIs with the same path apart; where it is not known, the first one of these answers.
    """
    return next((api for api in MODEL_APIS if api.answers(method, path, host)), None)


def get_api(name: str) -> ModelAPI:
    """The API of a name.

    Raises:
        LookupError: no API has this name; the error lists the names.
    """
    for api in MODEL_APIS:
        if api.name == name:
            return api
    raise LookupError(f"no API is called {name!r}; there are {', '.join(api.name for api in MODEL_APIS)}")

"""See, review and lock exactly what your evals send to the model.

The names here are what a conftest needs. They are imported when they are used: this package is loaded in
every pytest run, and most runs need none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_chatprompt.attachments import Attachment as Attachment
    from pytest_chatprompt.case import EvalCase as EvalCase
    from pytest_chatprompt.chat_prompt import ChatMessage as ChatMessage
    from pytest_chatprompt.chat_prompt import ChatPrompt as ChatPrompt
    from pytest_chatprompt.chat_prompt import convert_to_chat_prompt as convert_to_chat_prompt
    from pytest_chatprompt.errors import AgentError as AgentError
    from pytest_chatprompt.errors import ApiError as ApiError
    from pytest_chatprompt.errors import AuthenticationError as AuthenticationError
    from pytest_chatprompt.errors import BadRequestError as BadRequestError
    from pytest_chatprompt.errors import BlockedResponseError as BlockedResponseError
    from pytest_chatprompt.errors import ChatPromptError as ChatPromptError
    from pytest_chatprompt.errors import ContentFilterError as ContentFilterError
    from pytest_chatprompt.errors import EvalFileError as EvalFileError
    from pytest_chatprompt.errors import MissingSettingError as MissingSettingError
    from pytest_chatprompt.errors import NotFoundError as NotFoundError
    from pytest_chatprompt.errors import PayloadError as PayloadError
    from pytest_chatprompt.errors import PayloadWarning as PayloadWarning
    from pytest_chatprompt.errors import PermissionDeniedError as PermissionDeniedError
    from pytest_chatprompt.errors import ProviderError as ProviderError
    from pytest_chatprompt.errors import QuotaError as QuotaError
    from pytest_chatprompt.errors import RateLimitError as RateLimitError
    from pytest_chatprompt.errors import RecordingError as RecordingError
    from pytest_chatprompt.errors import ServerError as ServerError
    from pytest_chatprompt.errors import SnapshotError as SnapshotError
    from pytest_chatprompt.errors import UnknownProviderError as UnknownProviderError
    from pytest_chatprompt.errors import UnreachableError as UnreachableError
    from pytest_chatprompt.errors import UnreadableReplyError as UnreadableReplyError
    from pytest_chatprompt.eval_api import EvalAPI as EvalAPI
    from pytest_chatprompt.eval_message import EvalMessage as EvalMessage
    from pytest_chatprompt.eval_message import FilePart as FilePart
    from pytest_chatprompt.eval_message import FunctionCall as FunctionCall
    from pytest_chatprompt.eval_message import TextPart as TextPart
    from pytest_chatprompt.eval_message import ToolCall as ToolCall
    from pytest_chatprompt.preflight import Finding as Finding
    from pytest_chatprompt.preflight import ModelLimits as ModelLimits
    from pytest_chatprompt.preflight import Rule as Rule
    from pytest_chatprompt.providers.agent import AgentProvider as AgentProvider
    from pytest_chatprompt.providers.agent import Handover as Handover
    from pytest_chatprompt.providers.anthropic import AnthropicProvider as AnthropicProvider
    from pytest_chatprompt.providers.azure import AzureProvider as AzureProvider
    from pytest_chatprompt.providers.chat import ChatProvider as ChatProvider
    from pytest_chatprompt.providers.chat import Payload as Payload
    from pytest_chatprompt.providers.cli import CLIProvider as CLIProvider
    from pytest_chatprompt.providers.codex import CodexProvider as CodexProvider
    from pytest_chatprompt.providers.gemini import GeminiProvider as GeminiProvider
    from pytest_chatprompt.providers.openai import OpenAIProvider as OpenAIProvider
    from pytest_chatprompt.providers.vscode import VSCodeProvider as VSCodeProvider
    from pytest_chatprompt.requests import Provider as Provider
    from pytest_chatprompt.requests import ProviderRequest as ProviderRequest
    from pytest_chatprompt.requests import ProviderResponse as ProviderResponse
    from pytest_chatprompt.requests import TokenUsage as TokenUsage
    from pytest_chatprompt.snapshot import ChatPromptSnapshotExtension as ChatPromptSnapshotExtension

_MODULES: Final = {
    "attachments": ("Attachment",),
    "case": ("EvalCase",),
    "chat_prompt": (
        "ChatMessage",
        "ChatPrompt",
        "convert_to_chat_prompt",
    ),
    "errors": (
        "AgentError",
        "ApiError",
        "AuthenticationError",
        "BadRequestError",
        "BlockedResponseError",
        "ChatPromptError",
        "ContentFilterError",
        "EvalFileError",
        "MissingSettingError",
        "NotFoundError",
        "PayloadError",
        "PayloadWarning",
        "PermissionDeniedError",
        "ProviderError",
        "QuotaError",
        "RateLimitError",
        "RecordingError",
        "ServerError",
        "SnapshotError",
        "UnknownProviderError",
        "UnreachableError",
        "UnreadableReplyError",
    ),
    "eval_api": ("EvalAPI",),
    "eval_message": (
        "EvalMessage",
        "FilePart",
        "FunctionCall",
        "TextPart",
        "ToolCall",
    ),
    "preflight": ("Finding", "ModelLimits", "Rule"),
    "providers.agent": ("AgentProvider", "Handover"),
    "providers.anthropic": ("AnthropicProvider",),
    "providers.azure": ("AzureProvider",),
    "providers.chat": (
        "ChatProvider",
        "Payload",
    ),
    "providers.cli": ("CLIProvider",),
    "providers.codex": ("CodexProvider",),
    "providers.gemini": ("GeminiProvider",),
    "providers.openai": ("OpenAIProvider",),
    "providers.vscode": ("VSCodeProvider",),
    "requests": (
        "Provider",
        "ProviderRequest",
        "ProviderResponse",
        "TokenUsage",
    ),
    "snapshot": ("ChatPromptSnapshotExtension",),
}
_HOME: Final = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__

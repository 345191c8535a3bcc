"""The public names: import them from `pytest_chatprompt`. This is the only list of them."""

from __future__ import annotations

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import (
    AgentError,
    APIConnectionError,
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    BlockedResponseError,
    CaptureError,
    ChatPromptError,
    ContentFilterError,
    Diagnostic,
    EmptyResponseError,
    EvalFileError,
    EvalFileWarning,
    InternalServerError,
    MissingSettingError,
    NotFoundError,
    PayloadError,
    PayloadWarning,
    PermissionDeniedError,
    ProviderError,
    QuotaError,
    RateLimitError,
    ReplayError,
    SnapshotError,
    UnknownProviderError,
    UnreadableReplyError,
)
from pytest_chatprompt.evalfile.case import EvalCase
from pytest_chatprompt.evalfile.message import EvalMessage, FilePart, FunctionCall, TextPart, ToolCall
from pytest_chatprompt.prompt.attachments import Attachment
from pytest_chatprompt.prompt.chat_prompt import ChatMessage, ChatPrompt
from pytest_chatprompt.prompt.conversion import convert_to_chat_prompt
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentInvocation, AgentProvider, AgentSettings
from pytest_chatprompt.providers.agents.cli import CLIProvider
from pytest_chatprompt.providers.agents.codex import CodexProvider
from pytest_chatprompt.providers.agents.process import ProcessResult
from pytest_chatprompt.providers.agents.vscode import VSCodeProvider
from pytest_chatprompt.providers.chat.anthropic import AnthropicProvider
from pytest_chatprompt.providers.chat.azure import AzureProvider
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.chat.gemini import GeminiProvider
from pytest_chatprompt.providers.chat.openai import OpenAIProvider
from pytest_chatprompt.providers.chat.payload import Payload, PreparedRequest
from pytest_chatprompt.providers.chat.settings import ChatProviderArguments, ChatSettings
from pytest_chatprompt.providers.preflight.finding import Finding
from pytest_chatprompt.providers.preflight.models import ModelLimits
from pytest_chatprompt.providers.preflight.preflight_input import ModelParameters, PreflightInput
from pytest_chatprompt.providers.preflight.rule import Rule, RuleFunction
from pytest_chatprompt.providers.response import Provider, ProviderResponse, TokenUsage
from pytest_chatprompt.snapshots.extension import ChatPromptSnapshotExtension

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "AgentError",
    "AgentInvocation",
    "AgentProvider",
    "AgentSettings",
    "AnthropicProvider",
    "Attachment",
    "AuthenticationError",
    "AzureProvider",
    "BadRequestError",
    "BlockedResponseError",
    "CLIProvider",
    "CaptureError",
    "ChatMessage",
    "ChatPrompt",
    "ChatPromptError",
    "ChatPromptSnapshotExtension",
    "ChatProvider",
    "ChatProviderArguments",
    "ChatSettings",
    "CodexProvider",
    "ContentFilterError",
    "Diagnostic",
    "EmptyResponseError",
    "EvalAPI",
    "EvalCase",
    "EvalFileError",
    "EvalFileWarning",
    "EvalMessage",
    "FilePart",
    "Finding",
    "FunctionCall",
    "GeminiProvider",
    "InternalServerError",
    "MissingSettingError",
    "ModelLimits",
    "ModelParameters",
    "NotFoundError",
    "OpenAIProvider",
    "Payload",
    "PayloadError",
    "PayloadWarning",
    "PermissionDeniedError",
    "PreflightInput",
    "PreparedRequest",
    "ProcessResult",
    "Provider",
    "ProviderError",
    "ProviderRequest",
    "ProviderResponse",
    "QuotaError",
    "RateLimitError",
    "ReplayError",
    "Rule",
    "RuleFunction",
    "SentRequest",
    "SnapshotError",
    "TextPart",
    "TokenUsage",
    "ToolCall",
    "UnknownProviderError",
    "UnreadableReplyError",
    "VSCodeProvider",
    "convert_to_chat_prompt",
]

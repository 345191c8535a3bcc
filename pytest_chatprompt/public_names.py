"""The public names: import them from `pytest_chatprompt`. This is the only list of them."""

from __future__ import annotations

from pytest_chatprompt.apis.anthropic import AnthropicProvider as AnthropicProvider
from pytest_chatprompt.apis.azure import AzureProvider as AzureProvider
from pytest_chatprompt.apis.bedrock import BedrockProvider as BedrockProvider
from pytest_chatprompt.apis.chat_provider import (
    ChatProvider as ChatProvider,
    ChatProviderArguments as ChatProviderArguments,
    ChatSettings as ChatSettings,
)
from pytest_chatprompt.apis.conversation import PromptPart as PromptPart
from pytest_chatprompt.apis.gemini import GeminiProvider as GeminiProvider
from pytest_chatprompt.apis.mistral import MistralProvider as MistralProvider
from pytest_chatprompt.apis.ollama import OllamaProvider as OllamaProvider
from pytest_chatprompt.apis.openai import (
    CompatibleProvider as CompatibleProvider,
    MaxTokensParameter as MaxTokensParameter,
    OpenAIProvider as OpenAIProvider,
)
from pytest_chatprompt.apis.openai_responses import OpenAIResponsesProvider as OpenAIResponsesProvider
from pytest_chatprompt.apis.openrouter import OpenRouterProvider as OpenRouterProvider
from pytest_chatprompt.apis.preflight import (
    ModelLimits as ModelLimits,
    ModelParameters as ModelParameters,
    PreflightInput as PreflightInput,
    Rule as Rule,
    RuleFunction as RuleFunction,
    Violation as Violation,
)
from pytest_chatprompt.apis.vendor_api import (
    MediaSupport as MediaSupport,
    Payload as Payload,
    PreparedRequest as PreparedRequest,
    SettingField as SettingField,
    VendorAPI as VendorAPI,
)
from pytest_chatprompt.capture.eval_api import EvalAPI as EvalAPI
from pytest_chatprompt.capture.secrets.redaction import FoundSecret as FoundSecret, Redactor as Redactor
from pytest_chatprompt.capture.sent_request import AnsweredBy as AnsweredBy, SentRequest as SentRequest
from pytest_chatprompt.cases.case import EvalCase as EvalCase, EvalCheck as EvalCheck
from pytest_chatprompt.cases.message import (
    AudioPart as AudioPart,
    DocumentPart as DocumentPart,
    EvalMessage as EvalMessage,
    FilePart as FilePart,
    FunctionCall as FunctionCall,
    ImagePart as ImagePart,
    Part as Part,
    RawPart as RawPart,
    Role as Role,
    TextPart as TextPart,
    ToolCall as ToolCall,
)
from pytest_chatprompt.cases.origin import Origin as Origin, Row as Row, YamlSource as YamlSource
from pytest_chatprompt.errors import (
    AgentError as AgentError,
    APIConnectionError as APIConnectionError,
    APIStatusError as APIStatusError,
    AuthenticationError as AuthenticationError,
    BadRequestError as BadRequestError,
    BlockedConnectionError as BlockedConnectionError,
    BlockedResponseError as BlockedResponseError,
    BudgetError as BudgetError,
    CaptureError as CaptureError,
    CaptureWarning as CaptureWarning,
    ChatPromptError as ChatPromptError,
    CheckError as CheckError,
    CheckFailedError as CheckFailedError,
    ContentFilterError as ContentFilterError,
    Diagnostic as Diagnostic,
    EmptyResponseError as EmptyResponseError,
    EvalFileError as EvalFileError,
    EvalFileWarning as EvalFileWarning,
    InternalServerError as InternalServerError,
    InvalidPatternError as InvalidPatternError,
    MaskError as MaskError,
    MCPServerError as MCPServerError,
    MissingSettingError as MissingSettingError,
    NotFoundError as NotFoundError,
    PayloadError as PayloadError,
    PayloadWarning as PayloadWarning,
    PermissionDeniedError as PermissionDeniedError,
    ProviderError as ProviderError,
    QuotaError as QuotaError,
    RateLimitError as RateLimitError,
    ReplayError as ReplayError,
    RequestCancelledError as RequestCancelledError,
    SnapshotError as SnapshotError,
    UnknownProviderError as UnknownProviderError,
    UnreadableReplyError as UnreadableReplyError,
)
from pytest_chatprompt.grading.check import Check as Check, SentData as SentData, Verdict as Verdict
from pytest_chatprompt.prompt.attachments import Attachment as Attachment, FileReader as FileReader
from pytest_chatprompt.prompt.chat_prompt import ChatMessage as ChatMessage, ChatPrompt as ChatPrompt, Media as Media
from pytest_chatprompt.prompt.conversion import convert_to_chat_prompt as convert_to_chat_prompt
from pytest_chatprompt.prompt.request import ProviderRequest as ProviderRequest, build_request as build_request
from pytest_chatprompt.providers.agents.base import (
    AgentInvocation as AgentInvocation,
    AgentProvider as AgentProvider,
    AgentSettings as AgentSettings,
    build_document as build_document,
)
from pytest_chatprompt.providers.agents.claude import ClaudeProvider as ClaudeProvider
from pytest_chatprompt.providers.agents.cli import CLIProvider as CLIProvider
from pytest_chatprompt.providers.agents.codex import CodexProvider as CodexProvider
from pytest_chatprompt.providers.agents.process import ProcessResult as ProcessResult
from pytest_chatprompt.providers.agents.vscode import VSCodeProvider as VSCodeProvider
from pytest_chatprompt.providers.prices import Billing as Billing, TokenPrice as TokenPrice
from pytest_chatprompt.providers.response import (
    Finding as Finding,
    Provider as Provider,
    ProviderResponse as ProviderResponse,
    TokenUsage as TokenUsage,
)
from pytest_chatprompt.snapshots.assertion import ChatPromptSnapshotExtension as ChatPromptSnapshotExtension
from pytest_chatprompt.text.files import ResolvedFile as ResolvedFile
from pytest_chatprompt.text.yaml import Position as Position

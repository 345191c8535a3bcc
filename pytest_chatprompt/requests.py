"""What a provider gets and what it gives back (ruling E1).

A case and its attachments come in; the `ProviderRequest` that every provider understands comes out.
`Provider` is all that a provider has to be.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from pytest_chatprompt.attachments import FileReader, read_attachments
from pytest_chatprompt.case import EvalCase
from pytest_chatprompt.chat_prompt import DEFAULT_SYSTEM_PROMPT, ChatMessage, convert
from pytest_chatprompt.errors import EvalFileError, Problem
from pytest_chatprompt.eval_message import ToolCall
from pytest_chatprompt.preflight import Finding
from pytest_chatprompt.rendering import render_messages
from pytest_chatprompt.transcript import transcript


class ProviderRequest(BaseModel):
    """What a provider is asked to send; every field has a default.

    Attributes:
        question: the conversation as a transcript; what a legacy request and an agent send.
        chat_prompt: the messages for a chat API; `None` for a legacy request.
        guidelines: the contents of the guideline files, in the order of first mention.
        input_files: absolute paths of all files that the case names, guidelines included, each once.
        guideline_files: those of them that are guidelines.
        metadata: the case's metadata; `systemPrompt` is the system prompt.
        eval_case_id: the case's id.
        adjustments: what the conversion to the chat prompt did to the author's messages.
        question_adjustments: those of them that bear on the question too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str = ""
    chat_prompt: tuple[ChatMessage, ...] | None = None
    guidelines: tuple[str, ...] = ()
    input_files: tuple[Path, ...] = ()
    guideline_files: tuple[Path, ...] = ()
    metadata: Mapping[str, Any] = Field(default_factory=dict)
    eval_case_id: str | None = None
    adjustments: tuple[str, ...] = ()
    question_adjustments: tuple[str, ...] = ()


class TokenUsage(BaseModel):
    """How many tokens a call took; `None` where the API does not say."""

    model_config = ConfigDict(frozen=True)

    input_tokens: int | None = None
    output_tokens: int | None = None


class ProviderResponse(BaseModel):
    """What a provider gives back.

    Attributes:
        text: the answer's text blocks, joined; none of the thinking.
        finish_reason: the API's own word for why it stopped.
        usage: token counts.
        raw: the decoded body of the API's reply.
        tool_calls: the calls that the answer makes, in the shape of OpenAI's chat completions.
        latency_seconds: how long the reply took that was the answer, from the first byte sent to the last received.
        retries: how many times the request was sent again before it.
        blocked: why the API withheld an answer although it replied with status 200, in its own words.
        adjustments: what the provider did to the messages to fit them into the API's shape.
        findings: what of the request the API is known to refuse, or to read otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    finish_reason: str | None = None
    usage: TokenUsage = TokenUsage()
    raw: Any = None
    tool_calls: tuple[ToolCall, ...] = ()
    latency_seconds: float | None = None
    retries: int = 0
    blocked: str | None = None
    adjustments: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()


@runtime_checkable
class Provider(Protocol):
    """Anything that can send a request."""

    def send(self, request: ProviderRequest) -> ProviderResponse:
        """Send a request and wait for the answer."""
        ...


def build_request(case: EvalCase, reader: FileReader, *, project_system_prompt: str | None = None) -> ProviderRequest:
    """Make the request of a case.

    Args:
        case: a case that was read from an eval file.
        reader: the run's reader; the case's files are read here.
        project_system_prompt: the project's own default system prompt, where it has one.

    Returns:
        The request, every field filled.

    Raises:
        EvalFileError: a named file cannot be used, or no message has anything to say.
    """
    attachments = read_attachments(case, reader)
    rendered = render_messages(case.input_messages, attachments)
    default = DEFAULT_SYSTEM_PROMPT if project_system_prompt is None else project_system_prompt
    conversion = convert(rendered, system_prompt=case.system_prompt, default_system_prompt=default)
    if all(message.dropped for message in rendered):
        place = case.origin.find("input_messages")
        told = "nothing is left to send: no message has more than white space"
        raise EvalFileError([Problem(case.origin.shown_path, place.line, place.column, told, case_id=case.id)])
    metadata = dict(case.metadata)
    if case.system_prompt is None and project_system_prompt is not None:
        metadata["systemPrompt"] = project_system_prompt
    return ProviderRequest(
        question=transcript(rendered),
        chat_prompt=conversion.chat_prompt,
        guidelines=tuple(guideline.content for guideline in conversion.guidelines),
        input_files=tuple(dict.fromkeys(attachment.path for attachment in attachments.values())),
        guideline_files=tuple(guideline.path for guideline in conversion.guidelines),
        metadata=metadata,
        eval_case_id=case.id,
        adjustments=conversion.adjustments,
        question_adjustments=tuple(told for message in rendered for told in message.told),
    )

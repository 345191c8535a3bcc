"""Judging: ask a judge about the answer to a case, and read its votes.

An error of the judge is a vote without a verdict, and becomes an error of its check.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.preview import preview_prepared
from pytest_chatprompt.capture.recording.open_recording import OpenRecording
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import (
    NOT_SENT,
    ChatPromptError,
    CheckError,
    PayloadError,
    ProviderError,
    RequestCancelledError,
)
from pytest_chatprompt.grading.grade import describe_crash
from pytest_chatprompt.grading.judge import JudgeQuestion, JudgeVote, read_vote
from pytest_chatprompt.live.send_or_replay import SentExchange
from pytest_chatprompt.prompt.conversion import TranscriptTurn, turn_content
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, AgentProvider
from pytest_chatprompt.providers.response import Provider, ProviderResponse

# Called with the judge, what it is sent, and a part of the recording of the case, if the run has one.
SendToJudge = Callable[[Provider, Exchange, OpenRecording | None], SentExchange]
Ask = Callable[[], JudgeVote]


class Judging(NamedTuple):
    """What a judge will be asked about an answer, and what it will be sent, with a stand-in for the answer."""

    judge: Provider
    questions: tuple[JudgeQuestion, ...]
    previews: tuple[Exchange, ...]


def preview_question(question: JudgeQuestion, show: Callable[[ProviderRequest], Exchange]) -> Exchange:
    """What a judge will be sent for a question, with a stand-in for the answer; nothing is sent."""
    request = question.preview()
    try:
        try:
            return show(request)
        except PayloadError as error:
            if error.location[:1] != ("response_format",):
                raise
            # Its API has no structured output: the prompt asks for JSON by itself.
            return show(request.model_copy(update={"response_format": None}))
    except ChatPromptError as error:
        raise CheckError(f"the judge cannot be asked: {error}") from error
    except Exception as error:
        raise CheckError(f"the judge crashed with {describe_crash(error)}") from error


def judge_asks(
    judging: Judging, response: ProviderResponse, recording: OpenRecording | None, send: SendToJudge
) -> list[Ask]:
    """What asks a judge about an answer, once for each vote; nothing for a response that is no answer.

    The recording of the case replays and records the judge's replies too.
    """
    if not response.is_awaited or response.blocked is not None or not (response.text.strip() or response.tool_calls):
        return []
    calls = [(call.function.name, call.function.arguments) for call in response.tool_calls]
    answer = turn_content(TranscriptTurn("assistant", response.text, calls))
    return [
        # Each has its place in the recording before any of them is sent.
        partial(_ask, judging.judge, question, preview, answer, recording and recording.part(), send)
        for question, preview in zip(judging.questions, judging.previews, strict=True)
        for _ in range(question.votes)
    ]


def _ask(  # noqa: PLR0913, PLR0917 - what one question takes
    judge: Provider,
    question: JudgeQuestion,
    preview: Exchange,
    answer: str,
    part: OpenRecording | None,
    send: SendToJudge,
) -> JudgeVote:
    if part is not None:
        # Only now: in a live run it is that of the vendor's variable.
        part.base_url = getattr(judge, "base_url", None)
    try:
        sent = send(judge, judge_exchange(judge, question.request(answer), preview), part)
    except RequestCancelledError:
        raise
    except CheckError as error:
        vote = JudgeVote(None, error=str(error))
    except ChatPromptError as error:
        failure = error if isinstance(error, ProviderError) and not isinstance(error, NOT_SENT) else None
        vote = JudgeVote(None, error=f"the judge gave no verdict: {error}", failure=failure)
    except Exception as error:
        vote = JudgeVote(None, error=f"the judge crashed with {describe_crash(error)}")
    else:
        vote = read_vote(sent.exchange.response, is_replayed=sent.is_replayed)
    if vote.error and part is not None:
        # Only a verdict is recorded: else each replayed run would have the same error.
        part.forget_new()
    return vote


def judge_exchange(judge: Provider, request: ProviderRequest, preview: Exchange) -> Exchange:
    """What a judge is sent about one answer, in the form in which it was previewed."""
    if preview.request.response_format is None:
        request = request.model_copy(update={"response_format": None})
    if isinstance(judge, ChatProvider) and preview.prepared is not None:
        return preview_prepared(judge, request)
    invocation: Any = preview.invocation
    if isinstance(judge, AgentProvider):
        invocation = judge.build_invocation(request, PLACEHOLDER_FOLDER)
    return preview._replace(request=request, invocation=invocation)

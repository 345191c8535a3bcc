"""Asking a judge: what is sent for which answer, and what comes of its errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_chatprompt import CheckError, OpenAIProvider, Provider, ProviderError, ProviderRequest, ProviderResponse
from pytest_chatprompt.capture.preview import preview_prepared
from pytest_chatprompt.capture.recording.open_recording import OpenRecording
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import RequestCancelledError
from pytest_chatprompt.grading.judge import JudgeQuestion, JudgeVote, PromptFile, default_prompt
from pytest_chatprompt.live.judging import Judging, SendToJudge, judge_asks, preview_question
from pytest_chatprompt.live.send_or_replay import SentExchange

JUDGE = OpenAIProvider(api_key="sk-1", base_url="https://judge.example/v1")
ANSWER = ProviderResponse(text="Hello.")
VERDICT = '{"reason": "fine", "pass": true}'


def judging(*questions: JudgeQuestion) -> Judging:
    """What the judge will be asked, one question by default."""
    asked = questions or (JudgeQuestion("Greets.", "hi", default_prompt(), {}),)
    shown = [preview_question(each, lambda request: preview_prepared(JUDGE, request)) for each in asked]
    return Judging(JUDGE, tuple(asked), tuple(shown))


def judge_answer(
    judging: Judging, response: ProviderResponse, recording: OpenRecording | None, send: SendToJudge
) -> list[JudgeVote]:
    """What the judge says about an answer, asked once after the other."""
    return [ask() for ask in judge_asks(judging, response, recording, send)]


def sending(reply: Callable[[ProviderRequest], str]) -> Callable[..., SentExchange]:
    """A function that sends to a judge, and keeps what it was given."""

    def send(judge: Provider, shown: Exchange, part: OpenRecording | None) -> SentExchange:
        assert judge is JUDGE
        assert part is None or part.base_url == "https://judge.example/v1"
        response = ProviderResponse(text=reply(shown.request))
        return SentExchange(Exchange(shown.request, response, shown.sent), False)

    return send


def test_each_question_gets_its_votes_in_order() -> None:
    questions = [JudgeQuestion(text, "hi", default_prompt(), {}, votes) for text, votes in (("A", 3), ("B", 1))]
    replies = iter(["no", VERDICT, VERDICT, VERDICT])
    votes = judge_answer(judging(*questions), ANSWER, None, sending(lambda _: next(replies)))
    assert [vote.passed for vote in votes] == [None, True, True, True]


def test_what_is_sent_has_the_answer_in_place_of_the_stand_in() -> None:
    bodies = []

    def send(_: Provider, shown: Exchange, __: OpenRecording | None) -> SentExchange:
        assert shown.prepared is not None
        bodies.append(shown.sent[0].body["messages"][1]["content"])
        return SentExchange(Exchange(shown.request, ProviderResponse(text=VERDICT), ()), True)

    (vote,) = judge_answer(judging(), ANSWER, OpenRecording(sends=True), send)
    assert bodies == ["The conversation:\n| hi\n\nThe answer:\n| Hello."]
    assert vote.is_replayed


@pytest.mark.parametrize(
    "response",
    [
        ProviderResponse(text=" \n"),
        ProviderResponse(text="x", blocked="SAFETY"),
        ProviderResponse(text="x", is_awaited=False),
    ],
)
def test_what_is_no_answer_is_not_judged(response: ProviderResponse) -> None:
    assert judge_answer(judging(), response, None, sending(lambda _: pytest.fail("sent"))) == []


def failing(error: BaseException) -> list[JudgeVote]:
    """The votes of a judge that raises an error."""

    def reply(_: ProviderRequest) -> str:
        raise error

    return judge_answer(judging(), ANSWER, OpenRecording(sends=True), sending(reply))


def test_errors_of_the_judge_are_votes_without_a_verdict() -> None:
    (vote,) = failing(ProviderError("it is down"))
    assert (vote.passed, vote.error) == (None, "the judge gave no verdict: it is down")
    (vote,) = failing(KeyError("x"))
    assert vote.error.startswith("the judge crashed with KeyError: 'x' (test_judging.py, line ")


def test_a_run_that_is_stopped_is_not_an_error_of_the_judge() -> None:
    with pytest.raises(RequestCancelledError):
        failing(RequestCancelledError())


def test_a_template_that_fails_with_this_answer_is_an_error_and_nothing_is_sent() -> None:
    text = "{{ answer }}{% if 'Hello' in answer %}{{ nothing }}{% endif %}"
    prompt = PromptFile.model_validate({"template": [{"role": "user", "content": text}]}).template
    question = JudgeQuestion("Greets.", "hi", prompt, {})
    (vote,) = judge_answer(judging(question), ANSWER, None, sending(lambda _: pytest.fail("sent")))
    assert vote.error.startswith("message 1 of the judge's template: line 1: unknown variable 'nothing'")


def test_a_judge_that_cannot_show_what_it_sends_is_an_error() -> None:
    question = JudgeQuestion("Greets.", "hi", default_prompt(), {})

    def show(_: ProviderRequest) -> Exchange:
        raise ProviderError("no model")

    with pytest.raises(CheckError, match=r"^the judge cannot be asked: no model$"):
        preview_question(question, show)

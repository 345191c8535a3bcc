"""The recording of a running test: which reply each request gets, in which order, and what is kept."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from pytest_chatprompt.capture.recording.open_recording import OpenRecording, RecordingEntry, replay_or_post
from pytest_chatprompt.capture.recording.recorded_exchange import (
    RecordedExchange,
    RecordedReply,
    RecordedRequest,
    RecordedResponse,
    request_sha256,
)
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import ReplayError

TEXT = {"content-type": "text/plain"}


def sent(body: Any) -> SentRequest:
    return SentRequest("POST /v1/chat", body)


def exchange(body: Any, text: str) -> RecordedExchange:
    request = RecordedRequest(endpoint="POST /v1/chat", sha256=request_sha256("POST /v1/chat", body), body=body)
    return RecordedExchange(request=request, reply=RecordedReply(status=200, text=text))


def begin(recording: OpenRecording, body: Any) -> RecordingEntry:
    """The place for the reply to a request that is sent."""
    pending = recording.take(sent(body))
    assert pending.replayed is None
    return pending


def test_each_reply_goes_to_its_very_request_whatever_the_order() -> None:
    recording = OpenRecording([exchange("a", "1"), exchange("b", "2"), exchange("c", "3")], sends=False)
    assert recording.take(sent("b")).replayed_reply == RecordedReply(status=200, text="2")
    assert recording.take(sent("a")).replayed_reply == RecordedReply(status=200, text="1")
    assert [each.request.body for each in recording.exchanges()] == ["b", "a"]
    assert [each.request.body for each in recording.replayed] == ["b", "a"]
    assert [each.request.body for each in recording.unused()] == ["c"]
    assert recording.sent_count == 0


def test_equal_requests_get_their_replies_in_the_recorded_order_and_one_more_is_an_error() -> None:
    recording = OpenRecording([exchange("a", "1"), exchange("a", "2")], sends=False)
    assert [recording.take(sent("a")).replayed_reply for _ in range(2)] == [
        RecordedReply(status=200, text="1"),
        RecordedReply(status=200, text="2"),
    ]
    with pytest.raises(ReplayError, match="nothing is recorded for POST /v1/chat"):
        recording.take(sent("a"))


def test_threads_that_send_equal_requests_get_each_reply_once() -> None:
    count = 50
    recording = OpenRecording([exchange("a", str(number)) for number in range(count)], sends=False)
    barrier = threading.Barrier(5)

    def take(_: int) -> list[str]:
        barrier.wait(30)
        replies = [recording.take(sent("a")).replayed_reply for _ in range(count // 5)]
        return [reply.text for reply in replies if isinstance(reply, RecordedReply)]

    with ThreadPoolExecutor(5) as pool:
        texts = [text for part in pool.map(take, range(5)) for text in part]
    assert sorted(texts, key=int) == [str(number) for number in range(count)]
    assert recording.unused() == ()


def test_what_is_not_recorded_is_sent_if_it_may_be() -> None:
    recording = OpenRecording(sends=True)
    assert recording.take(sent("a")).replayed is None
    assert recording.exchanges() == ()
    assert (recording.sent_count, recording.unanswered_count) == (1, 1)


def test_a_reply_after_which_the_request_is_sent_again_is_not_missed() -> None:
    recording = OpenRecording(sends=True)
    begin(recording, "a").is_repeated = True
    begin(recording, "a").finish(200, {}, b"1")
    assert (recording.sent_count, recording.unanswered_count, len(recording.exchanges())) == (2, 0, 1)


def test_the_error_says_what_the_recording_knows() -> None:
    recording = OpenRecording(sends=False, describe_missing=lambda request: f"no {request.body}")
    with pytest.raises(ReplayError, match=r"^no a$"):
        recording.take(sent("a"))


def test_new_replies_are_kept_in_the_order_of_their_requests() -> None:
    recording = OpenRecording([exchange("b", "recorded")], sends=True)
    first = begin(recording, "a")
    recording.take(sent("b"))
    second = begin(recording, "c")
    never = begin(recording, "d")
    second.finish(200, TEXT, b"2")
    first.finish(500, {}, b"1", is_complete=False)
    assert [(each.request.body, each.reply.content if each.reply else None) for each in recording.exchanges()] == [
        ("a", {"body": 1}),
        ("b", {"text": "recorded"}),
        ("c", {"text": "2"}),
    ]
    assert never.exchange is None
    assert recording.sent_count == 3
    assert [each.request.body for each in recording.replayed] == ["b"]
    assert first.exchange is not None
    assert first.exchange.latency_seconds is not None
    assert first.exchange.reply is not None
    assert first.exchange.reply.is_complete is False


def test_masked_requests_find_their_replies() -> None:
    recorded = exchange("on <day>", "1")
    recording = OpenRecording([recorded], sends=False, mask=lambda body: body.replace("Monday", "<day>"))
    assert recording.take(sent("on Monday")).replayed_reply == recorded.reply


def test_the_answer_of_an_agent_is_no_reply_to_a_request() -> None:
    request = RecordedRequest(sha256=request_sha256("POST /v1/chat", "a"))
    recording = OpenRecording([RecordedExchange(request=request, response=RecordedResponse(text="hi"))], sends=True)
    assert recording.take(sent("a")).replayed is None
    assert [each.response for each in recording.unused()] == [RecordedResponse(text="hi")]
    taken = recording.take_response(request.sha256)
    assert taken is not None
    assert taken.response == RecordedResponse(text="hi")
    assert recording.replayed == (taken,)
    assert recording.take_response(request.sha256) is None
    assert OpenRecording(sends=True).take_response("of nothing") is None


def test_a_new_answer_of_an_agent_counts_as_sent() -> None:
    request = RecordedRequest(sha256=request_sha256("POST /v1/chat", "a"))
    answer = RecordedExchange(request=request, response=RecordedResponse(text="hi"))
    recording = OpenRecording(sends=True)
    recording.add_response(answer)
    assert (recording.exchanges(), recording.replayed, recording.sent_count) == ((answer,), (), 1)
    assert recording.unanswered_count == 0


def test_parts_share_the_recorded_replies_and_come_after_the_whole_in_the_order_in_which_they_were_made() -> None:
    recording = OpenRecording([exchange("a", "1"), exchange("a", "2")], sends=True)
    first, second = recording.part(), recording.part()
    first.base_url = "https://judge.example"
    assert (first.base_url, second.base_url) == ("https://judge.example", None)
    assert second.take(sent("a")).replayed_reply == exchange("a", "1").reply
    begin(first, "b").finish(200, TEXT, b"3")
    assert recording.take(sent("a")).replayed_reply == exchange("a", "2").reply
    assert begin(recording, "a").replayed is None
    assert [each.request.body for each in recording.exchanges()] == ["a", "b", "a"]
    assert [len(each.replayed) for each in (recording, first, second)] == [2, 0, 1]
    assert [each.sent_count for each in (recording, first, second)] == [2, 1, 0]
    assert [each.unanswered_count for each in (recording, first, second)] == [1, 0, 0]


def test_new_replies_that_are_forgotten_are_not_recorded_and_recorded_ones_stay() -> None:
    recording = OpenRecording([exchange("a", "1")], sends=True)
    part = recording.part()
    part.take(sent("a"))
    begin(part, "b").finish(200, TEXT, b"2")
    part.forget_new()
    assert [each.request.body for each in recording.exchanges()] == ["a"]
    assert (recording.sent_count, recording.unanswered_count) == (1, 0)


def test_requests_are_read_below_the_base_url() -> None:
    request = httpx.Request("POST", "https://api.example/v1/chat", json={"a": 1})
    for base_url, endpoint in (("https://api.example/v1", "POST /chat"), (5, "POST /v1/chat")):
        recording = OpenRecording(sends=True, base_url=base_url)
        replay_or_post(recording, request, lambda: httpx.Response(200, json={}))
        (recorded,) = (each.request for each in recording.exchanges())
        assert (recorded.endpoint, recorded.body) == (endpoint, {"a": 1})

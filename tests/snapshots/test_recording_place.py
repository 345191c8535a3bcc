"""Where the recording of a test is: what each kind of run does with it, and what its errors say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.capture.recording.open_recording import OpenRecording
from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange, RecordedReply, RecordedRequest
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import Exchange, SentRequest
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentInvocation
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage
from pytest_chatprompt.snapshots.masks import Masks
from pytest_chatprompt.snapshots.recording_place import RecordingMode, RecordingPlace

OFFLINE = RecordingMode(replays=False, sends=False, records=False)
LIVE = RecordingMode(replays=False, sends=True, records=False)
RECORD = RecordingMode(replays=False, sends=True, records=True)
REPLAY = RecordingMode(replays=True, sends=False, records=False)
BOTH = RecordingMode(replays=True, sends=True, records=True)
REDACTOR = Redactor({})
DAY = r"\d{4}-\d\d-\d\d"
DAYS = Masks.from_mapping({DAY: "<date>"})
TO_RECORD = "\n\nTo record it: pytest test_it.py --chatprompt-live --chatprompt-replay"


class Places:
    """The places of one test, in runs of each mode."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def __call__(self, mode: RecordingMode, masks: Masks = DAYS) -> RecordingPlace:
        root = self._root
        return RecordingPlace(root / "snapshots", "test_it", root, mode, masks, lambda: "pytest test_it.py")


@pytest.fixture
def place(tmp_path: Path) -> Places:
    return Places(tmp_path)


def sent(text: str) -> SentRequest:
    return SentRequest("POST /v1/chat", {"text": text})


def opened(place: RecordingPlace) -> OpenRecording:
    recording = place.open()
    assert recording is not None
    return recording


def reply(recording: OpenRecording, text: str, answer: str = "answer") -> None:
    pending = recording.take(sent(text))
    assert pending.replayed is None
    pending.finish(200, {"content-type": "text/plain"}, answer.encode())


def recorded_response(place: RecordingPlace, exchange: Exchange) -> ProviderResponse | None:
    return place.recorded_response(place.open(), exchange)


def save_response(place: RecordingPlace, exchange: Exchange, response: ProviderResponse) -> None:
    recording = opened(place)
    recording.add_response(place.response_exchange(exchange, response))
    place.save(recording, REDACTOR)


def recorded_bodies(place: RecordingPlace) -> list[Any]:
    return [exchange.request.body["text"] for exchange in place.load()]


@pytest.mark.parametrize("mode", [OFFLINE, LIVE])
def test_a_run_that_neither_replays_nor_records_opens_nothing(place: Places, mode: RecordingMode) -> None:
    assert place(mode).open() is None
    assert place(mode).path == place(mode).root / "snapshots/test_it.recording.yaml"


def test_what_was_recorded_is_replayed_whatever_the_masked_day(place: Places) -> None:
    recording = opened(place(RECORD))
    reply(recording, "on 2026-11-22")
    place(RECORD).save(recording, REDACTOR)
    assert recorded_bodies(place(REPLAY)) == ["on <date>"]
    replaying = opened(place(REPLAY))
    taken = replaying.take(sent("on 2027-01-01"))
    assert taken.replayed_reply == RecordedReply(status=200, content_type="text/plain", text="answer")
    before = place(REPLAY).path.stat()
    place(REPLAY).save(replaying, REDACTOR)
    assert place(REPLAY).path.stat() == before
    with pytest.raises(ReplayError):
        opened(place(REPLAY, Masks())).take(sent("on 2027-01-01"))


def test_the_base_url_is_that_of_the_provider(place: Places) -> None:
    recording = place(RECORD).open("https://api.example/v1")
    assert recording is not None
    assert recording.base_url == "https://api.example/v1"


def test_a_recording_run_replaces_what_it_was_answered_again_and_keeps_the_rest(place: Places) -> None:
    for texts, expected in (
        (["a", "b"], ["a", "b"]),
        (["c"], ["c", "a", "b"]),
        (["a", "a"], ["a", "a", "c", "b"]),
        (["b", "c"], ["b", "c", "a", "a"]),
    ):
        recording = opened(place(RECORD))
        for text in texts:
            reply(recording, text)
        place(RECORD).save(recording, REDACTOR)
        assert recorded_bodies(place(REPLAY)) == expected


def test_a_run_that_replays_and_sends_keeps_what_nobody_asked_for(place: Places) -> None:
    recording = opened(place(RECORD))
    reply(recording, "a")
    reply(recording, "b")
    place(RECORD).save(recording, REDACTOR)
    both = opened(place(BOTH))
    assert both.take(sent("b")).replayed_reply is not None
    place(BOTH).save(both, REDACTOR)
    assert recorded_bodies(place(REPLAY)) == ["a", "b"]
    reply(both, "new")
    place(BOTH).save(both, REDACTOR)
    assert recorded_bodies(place(REPLAY)) == ["b", "new", "a"]


def test_a_live_run_that_does_not_record_writes_nothing(place: Places) -> None:
    recording = opened(place(RECORD))
    reply(recording, "a")
    place(LIVE).save(recording, REDACTOR)
    assert not place(LIVE).path.exists()


def test_without_a_recording_the_error_says_what_to_type(place: Places) -> None:
    with pytest.raises(ReplayError) as caught:
        opened(place(REPLAY)).take(sent("a"))
    path = "snapshots/test_it.recording.yaml"
    assert str(caught.value) == f"no reply is recorded for POST /v1/chat: there is no {path}{TO_RECORD}"


def test_a_request_that_is_not_recorded_is_compared_with_the_nearest(place: Places) -> None:
    recording = opened(place(RECORD))
    reply(recording, "one 2026-11-22")
    reply(recording, "something else")
    place(RECORD).save(recording, REDACTOR)
    replaying = opened(place(REPLAY))
    with pytest.raises(ReplayError) as caught:
        replaying.take(sent("two 2026-11-23"))
    begin = (
        "no reply is recorded for this request to POST /v1/chat: "
        "snapshots/test_it.recording.yaml has none of its hash\n\n"
    )
    diff = (
        "The nearest recorded request differs in:\n@@ request.text @@\n-   text: something else\n+   text: two <date>"
    )
    assert str(caught.value) in {
        begin + diff + TO_RECORD,
        begin + diff.replace("something else", "one <date>") + TO_RECORD,
    }
    replaying.take(sent("one 2026-11-24"))
    with pytest.raises(ReplayError) as caught:
        replaying.take(sent("one 2026-11-24"))
    once_more = "This very request is recorded, and its replies were given already; it is sent once more now"
    assert str(caught.value) == begin + once_more + TO_RECORD


def test_without_recorded_bodies_nothing_is_near(place: Places) -> None:
    old = (RecordedExchange(request=RecordedRequest(sha256="a"), reply=RecordedReply(status=200, text="")),)
    assert place(REPLAY).describe_missing(sent("a"), old) == (
        "no reply is recorded for this request to POST /v1/chat: "
        f"snapshots/test_it.recording.yaml has none of its hash{TO_RECORD}"
    )


RESPONSE = ProviderResponse(
    text="done", finish_reason="stop", usage=TokenUsage(input_tokens=1, output_tokens=2), latency_seconds=1.23456
)


def plain(text: str, response: ProviderResponse = RESPONSE) -> Exchange:
    """What a plain function was given and answered."""
    return Exchange(ProviderRequest(question=text, chat_prompt=(ChatMessage("user", text),)), response, ())


def test_the_answer_of_a_plain_function_is_replayed_as_a_whole(place: Places) -> None:
    assert recorded_response(place(REPLAY), plain("on 2026-11-22")) is None
    assert place(REPLAY).describe_missing_answer() == (
        "no answer to what is sent now is recorded at snapshots/test_it.recording.yaml: there is none" + TO_RECORD
    )
    save_response(place(RECORD), plain("on 2026-11-22"), RESPONSE)
    assert recorded_response(place(RECORD), plain("on 2026-11-22")) is None
    assert recorded_response(place(REPLAY), plain("on 2027-01-01")) == RESPONSE.model_copy(
        update={"latency_seconds": 1.235}
    )
    assert recorded_response(place(REPLAY), plain("changed")) is None
    assert place(REPLAY).describe_missing_answer() == (
        "no answer to what is sent now is recorded at snapshots/test_it.recording.yaml: "
        "another answer is recorded there" + TO_RECORD
    )
    save_response(place(RECORD), plain("x"), RESPONSE.model_copy(update={"latency_seconds": None}))
    found = recorded_response(place(REPLAY), plain("x"))
    assert found is not None
    assert found.latency_seconds is None


def test_a_recorded_reply_is_no_answer_of_a_plain_function(place: Places) -> None:
    recording = opened(place(RECORD))
    reply(recording, "a")
    place(RECORD).save(recording, REDACTOR)
    assert recorded_response(place(REPLAY), plain("a")) is None


def test_exchanges_begin_the_same_if_their_first_requests_are_the_same_but_for_masks(place: Places) -> None:
    def exchange(*texts: str, invocation: AgentInvocation | None = None) -> Exchange:
        return Exchange(ProviderRequest(question=""), RESPONSE, tuple(map(sent, texts)), invocation)

    same = place(LIVE).sends_the_same
    assert same(exchange("on 2026-11-22", "a"), exchange("on 2026-11-23", "b", "c"))
    assert not same(exchange("a"), exchange("b"))
    assert not same(exchange("a"), exchange())
    assert not same(exchange(), exchange(invocation=AgentInvocation(("cli",), "prompt", ())))


def test_an_exchange_that_sends_what_was_compared_is_not_masked_for_it(place: Places) -> None:
    found: list[str] = []

    def shown(match: re.Match[str]) -> str:
        found.append(match[0])
        return "<date>"

    masked = place(LIVE, Masks.from_mapping({DAY: shown}))
    compared = exchanging("on 2026-11-22")
    assert masked.sends_the_same(compared._replace(response=RESPONSE), compared)
    assert found == []
    assert masked.sends_the_same(exchanging("on 2026-11-23"), compared)
    assert found == ["2026-11-23", "2026-11-22"]


# --- answers of repeated cases


def exchanging(*texts: str) -> Exchange:
    request = ProviderRequest(question="hi")
    return Exchange(request, ProviderResponse(text=""), tuple(map(sent, texts)))


def test_each_answer_of_a_repeated_case_opens_its_own_part_of_the_file(place: Places) -> None:
    recording = opened(place(RECORD))
    reply(recording, "a", "first")
    place(RECORD).save(recording, REDACTOR)
    (first,) = place(REPLAY).load()
    loaded = (first, first.model_copy(update={"repeat": 2}), first.model_copy(update={"repeat": 4}))
    assert [each.repeat for each in place(REPLAY).of_repeat(1, loaded).recorded_for(exchanging("a", "b"))] == [1, 2, 4]
    assert place(REPLAY).of_repeat(1, loaded).recorded_for(exchanging("b")) == ()
    for number, count in ((1, 1), (2, 1), (3, 0), (4, 1)):
        own = opened(place(REPLAY).of_repeat(number, loaded))
        assert (len(own.unused()), len(own.others)) == (count, 3 - count)


def test_saving_one_answer_keeps_those_of_other_numbers_in_a_run_that_replays(place: Places) -> None:
    recording = opened(place(RECORD))
    reply(recording, "a")
    place(RECORD).save(recording, REDACTOR)
    (first,) = place(REPLAY).load()
    both = place(BOTH).of_repeat(1, (first.model_copy(update={"repeat": 2}),))
    again = opened(both)
    reply(again, "b")
    both.save(again, REDACTOR)
    assert [(each.repeat, each.request.body["text"]) for each in place(REPLAY).load()] == [(1, "b"), (2, "a")]

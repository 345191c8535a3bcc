"""What a snapshot shows of a value that a test compares."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.prompt.chat_prompt import ChatMessage
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.snapshots.shown_data import asserted_data

ROOT = Path("/project")
SENT = SentRequest("POST /v1/x", {"a": [1]}, "https://api.example/v1/x")
SHOWN = {"endpoint": "POST /v1/x", "request": {"a": [1]}}
MESSAGE = ChatMessage("user", "hi")


def test_requests_are_shown_with_their_endpoints() -> None:
    assert asserted_data((SENT, SENT), ROOT) == {"requests": [SHOWN, SHOWN]}
    assert asserted_data([SENT], ROOT) == {"requests": [SHOWN]}
    assert asserted_data(SENT, ROOT) == {"requests": [SHOWN]}
    assert asserted_data((), ROOT) == {"requests": []}


def test_messages_are_shown_as_they_are_sent() -> None:
    assert asserted_data((MESSAGE,), ROOT) == {"messages": [{"role": "user", "content": "hi"}]}
    assert asserted_data(MESSAGE, ROOT) == {"messages": [{"role": "user", "content": "hi"}]}


def test_a_request_is_shown_with_the_fields_that_are_set_and_relative_paths() -> None:
    request = ProviderRequest(
        question="hi",
        chat_prompt=(MESSAGE,),
        input_files=(ROOT / "a/b.md", Path("/elsewhere/c.md")),
        metadata={"path": ROOT / "x"},
    )
    assert asserted_data(request, ROOT) == {
        "question": "hi",
        "messages": [{"role": "user", "content": "hi"}],
        "input_files": ["a/b.md", "/elsewhere/c.md"],
        "metadata": {"path": "x"},
    }
    assert asserted_data(ProviderRequest(), ROOT) == {"question": ""}


def test_every_field_of_a_request_is_shown_also_of_a_class_derived_from_it() -> None:
    class Options(BaseModel):
        seed: int
        stop: tuple[str, ...] = ()

    class Wider(ProviderRequest):
        options: Options

    request = Wider(eval_case_id="a", question="hi", options=Options(seed=0))
    assert asserted_data(request, ROOT) == {"eval_case_id": "a", "question": "hi", "options": {"seed": 0}}


def test_they_are_shown_within_other_data_too() -> None:
    data = {"sent": (SENT,), "first": SENT, "answer": "text", "prompt": [MESSAGE], "n": 1}
    assert asserted_data(data, ROOT) == {
        "sent": [SHOWN],
        "first": SHOWN,
        "answer": "text",
        "prompt": [{"role": "user", "content": "hi"}],
        "n": 1,
    }
    assert asserted_data([], ROOT) == []
    assert asserted_data("text", ROOT) == "text"

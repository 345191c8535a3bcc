"""The files of recordings: what they hold, what is read again, the earlier format, and the nearest request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from pytest_chatprompt.capture.recording.recorded_exchange import (
    RecordedExchange,
    RecordedReply,
    RecordedRequest,
    RecordedResponse,
    request_sha256,
)
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.evalfile.message import ToolCall
from pytest_chatprompt.providers.response import TokenUsage
from pytest_chatprompt.snapshots import recording_files
from pytest_chatprompt.snapshots.names import recording_path
from pytest_chatprompt.snapshots.recording_files import load_recording, nearest_request, save_recording
from pytest_chatprompt.snapshots.serializer import dump

REDACTOR = Redactor({"OPENAI_API_KEY": "k3y-0123456789"})
AGAIN = "record it again: pytest --chatprompt-live --chatprompt-record"


def exchange(body: Any, /, **reply: Any) -> RecordedExchange:
    request = RecordedRequest(endpoint="POST /v1/chat", sha256=request_sha256("POST /v1/chat", body), body=body)
    content = reply or {"text": ""}
    return RecordedExchange(request=request, reply=RecordedReply(status=200, **content), latency_seconds=0.5)


def yaml_text(text: str) -> str:
    return dump({"text": text}).removeprefix("text: ").rstrip()


def of_hash(sha256: str) -> RecordedExchange:
    return RecordedExchange(request=RecordedRequest(sha256=sha256), reply=RecordedReply(status=200, text=""))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return recording_path(tmp_path / "snapshots", "test_it[a]")


def test_a_recording_is_a_readable_file_beside_the_snapshot(path: Path) -> None:
    assert path.name == "test_it[a].recording.yaml"
    exchanges = (exchange({"on": "2026-11-22"}, content_type="text/event-stream", events=[{"data": "[DONE]"}]),)
    save_recording(path, exchanges, REDACTOR)
    assert (
        path.read_text()
        == f"""\
version: 1
exchanges:
- request:
    endpoint: POST /v1/chat
    sha256: {yaml_text(exchanges[0].request.sha256)}
    body:
      "on": "2026-11-22"
  reply:
    status: 200
    content_type: text/event-stream
    events:
    - data: "[DONE]"
  latency_seconds: 0.5
"""
    )
    assert load_recording(path, path.parent) == exchanges
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=5,
    )
)
def test_any_data_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    path = tmp_path_factory.getbasetemp() / "any.recording.yaml"
    exchanges = (exchange(data, body=data), exchange(data, events=[data]), exchange(None, text=str(data)))
    save_recording(path, exchanges, Redactor({}))
    assert load_recording(path, path.parent) == exchanges


def test_a_body_that_is_null_is_kept_and_one_that_is_unknown_is_not_written(path: Path) -> None:
    known, unknown = exchange(None), of_hash("a")
    save_recording(path, [known, unknown], REDACTOR)
    assert path.read_text().count("body:") == 1
    assert load_recording(path, path.parent) == (known, unknown)


def test_secrets_are_redacted_wherever_they_stand(path: Path) -> None:
    secret = "k3y-0123456789"
    save_recording(path, [exchange({"a": [secret]}, body={"b": f"x {secret}"}), exchange("", text=secret)], REDACTOR)
    assert "k3y" not in path.read_text()
    first, second = load_recording(path, path.parent)
    assert first.request.body == {"a": ["[secret]"]}
    assert first.reply is not None
    assert first.reply.body == {"b": "x [secret]"}
    assert second.reply is not None
    assert second.reply.text == "[secret]"


def test_half_a_character_in_a_request_is_replaced_and_its_hash_is_that_of_what_was_sent(path: Path) -> None:
    sent = exchange({"a": "half \ud83d of one"})
    save_recording(path, [sent], REDACTOR)
    (loaded,) = load_recording(path, path.parent)
    assert (loaded.request.sha256, loaded.request.body) == (sent.request.sha256, {"a": "half \ufffd of one"})


def test_without_a_file_nothing_is_recorded(path: Path) -> None:
    assert load_recording(path, path.parent) == ()


OLD = """\
provider: openai
request: sha256:0123
finish_reason: stop
usage: {input_tokens: 10, output_tokens: 3}
text: a real answer
tool_calls:
- {id: call_1, function: {name: look_up, arguments: '{}'}}
"""


def test_the_format_of_earlier_versions_is_read_until_a_new_recording_replaces_it(path: Path) -> None:
    old = path.with_name("test_it[a].answer.yaml")
    old.parent.mkdir()
    old.write_text(OLD)
    ((request, reply, response),) = [
        (each.request, each.reply, each.response) for each in load_recording(path, path.parent)
    ]
    assert (request, reply) == (RecordedRequest(sha256="0123"), None)
    assert response == RecordedResponse(
        text="a real answer",
        finish_reason="stop",
        usage=TokenUsage(input_tokens=10, output_tokens=3),
        tool_calls=(ToolCall.model_validate({"id": "call_1", "function": {"name": "look_up", "arguments": "{}"}}),),
    )
    save_recording(path, [exchange("a")], REDACTOR)
    assert not old.exists()
    assert load_recording(path, path.parent) == (exchange("a"),)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            "recording",
            "version: 2\nexchanges: []\n",
            "it has version 2, which this version of pytest-chatprompt does not know",
        ),
        (
            "recording",
            "version: 1\nexchanges: [{request: {sha256: a}}]\n",
            "exchanges.0: it must have either a reply or a response",
        ),
        (
            "recording",
            "version: 1\nexchanges: [{request: {sha256: a}, reply: {status: 200}}]\n",
            "exchanges.0.reply: it must have one of body, events, text, base64",
        ),
        (
            "recording",
            "version: 1\nexchanges: [{request: {endpoint: POST /a, sha256: a, body: 1}, reply: {status: 200, text: x}}]\n",
            "exchanges.0: the request does not fit its sha256; it was edited",
        ),
        ("recording", "exchanges: []\n", "version: Field required"),
        ("recording", "version: 1\nexchanges: [{request: {}}]\n", "exchanges.0.request.sha256: Field required"),
        ("recording", "version: 1\nexchanges: []\nmore: 1\n", "more: Extra inputs are not permitted"),
        ("recording", "", "it is not a mapping"),
        ("recording", "[1]", "it is not a mapping"),
        ("recording", "a: [", "while parsing a flow node"),
        ("recording", "a: 2026-99-99", "month must be in 1..12"),
        ("answer", "provider: a\n", "request: Field required"),
    ],
    ids=[
        "version 2",
        "no reply",
        "no body",
        "an edited request",
        "no version",
        "no hash",
        "more",
        "empty",
        "a list",
        "no YAML",
        "no date",
        "old",
    ],
)
def test_an_unreadable_recording_is_an_error(path: Path, name: str, text: str, reason: str) -> None:
    path.parent.mkdir()
    path.with_name(f"test_it[a].{name}.yaml").write_text(text)
    with pytest.raises(ReplayError) as caught:
        load_recording(path, path.parent.parent)
    assert str(caught.value) == f"cannot read the recording snapshots/test_it[a].{name}.yaml ({reason}); {AGAIN}"


def test_a_recording_that_python_cannot_load_for_its_depth_is_an_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The loader in C goes deeper.
    monkeypatch.setattr(recording_files, "_Loader", yaml.SafeLoader)
    path.parent.mkdir()
    path.write_text("[" * 600 + "]" * 600)
    with pytest.raises(ReplayError, match="it is nested too deeply"):
        load_recording(path, path.parent)


def test_a_folder_in_place_of_a_recording_is_an_error(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(ReplayError, match=r"cannot read the recording snapshots/.*is a folder|not a regular file"):
        load_recording(path, path.parent.parent)


def test_the_nearest_request_is_the_one_with_the_fewest_changes() -> None:
    recorded = [
        exchange({"model": "m", "messages": [{"role": "user", "content": text}], "seed": seed})
        for text, seed in (("one", 1), ("two", 2), ("three", 3))
    ]
    changed = {"model": "m", "messages": [{"role": "user", "content": "two!"}], "seed": 2}
    missing = RecordedRequest(endpoint="POST /v1/chat", sha256="b", body=changed)
    assert nearest_request(missing, recorded) == recorded[1].request
    with_header, elsewhere = (
        exchange(changed).model_copy(update={"request": missing.model_copy(update=different)})
        for different in ({"headers": {"openai-beta": "a"}}, {"endpoint": "POST /v2/chat"})
    )
    for expected in (with_header, elsewhere):
        assert nearest_request(expected.request, [*recorded, with_header, elsewhere]) == expected.request


def test_only_requests_whose_bodies_are_known_are_near() -> None:
    missing = RecordedRequest(endpoint="POST /v1/chat", sha256="b", body={})
    assert nearest_request(missing, []) is None
    unknown = of_hash("a")
    assert nearest_request(missing, [unknown]) is None
    no_endpoint = of_hash("a").model_copy(update={"request": RecordedRequest(sha256="a", body={})})
    assert nearest_request(missing, [unknown, no_endpoint]) == no_endpoint.request

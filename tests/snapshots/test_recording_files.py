"""The files of recordings: what they hold, what is read again, what is refused, and the nearest request."""

from __future__ import annotations

import base64
import json
import os
import re
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml
from hypothesis import given, strategies as st

from pytest_chatprompt.apis.model_api import aws_event
from pytest_chatprompt.capture.recording.recorded_exchange import (
    RecordedExchange,
    RecordedReply,
    RecordedRequest,
    RecordedResponse,
    request_sha256,
)
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.cases.message import ToolCall
from pytest_chatprompt.errors import ReplayError
from pytest_chatprompt.providers.response import TokenUsage
from pytest_chatprompt.snapshots import recording_files
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.recording_files import load_recording, nearest_request, save_recording
from pytest_chatprompt.text import yaml as yaml_parser

SECRET = "k3y-0123456789"
GITHUB = "ghp_q7Rk2ZpX9vLmT4wNc8YbD3sHf6GjA1eUx5Ko"
REDACTOR = Redactor({"OPENAI_API_KEY": SECRET})
AGAIN = "put the file back, as with git checkout, or record it again: pytest --chatprompt-live --chatprompt-record"


def exchange(body: Any, /, **reply: Any) -> RecordedExchange:
    request = RecordedRequest(endpoint="POST /v1/chat", sha256=request_sha256("POST /v1/chat", body), body=body)
    content = reply or {"text": ""}
    return RecordedExchange(request=request, reply=RecordedReply(status=200, **content), latency_seconds=0.5)


def yaml_text(text: str) -> str:
    return dump({"text": text}).removeprefix("text: ").rstrip()


def of_hash(sha256: str) -> RecordedExchange:
    request, reply = RecordedRequest(sha256=sha256), RecordedReply(status=200, text="")
    return RecordedExchange(request=request, reply=reply, latency_seconds=None)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "snapshots/test_it[a].recording.yaml"


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


SECRETS: dict[str, Any] = {
    "a value of the run": f"the key is {SECRET}",
    "a key": {SECRET: 1},
    "the shape of a token": "ghp_q7Rk2ZpX9vLmT4wNc8YbD3sHf6GjA1eUx5Ko",
    "an access token": {"access_token": "q7Rk2ZpX9vLm"},
    "a password": {"user": {"password": "P@ssw0rd!"}},
    "a list of keys": {"api_keys": ["q7Rk2ZpX9vLmT4wNc8Yb"]},
    "the arguments of a tool": {"function": {"arguments": '{"city": "Ulm", "api_key": "q7Rk2ZpX9vLm"}'}},
    "escapes in the arguments of a tool": {"arguments": json.dumps({"password": 'p"ä\\ss-w0rd'})},
    "unusual escapes": {"arguments": '{"password": "\\u0070ss-w0rd-1"}'},
    "an unusual escape of a known key": {"arguments": '{"a": "k3y\\u002d0123456789"}'},
    "JSON in a text": {"content": '{"client_secret": "q7Rk2ZpX9vLm"}'},
    "the password in a URL": {"url": "https://me:s3cr3t-pw@x.example/?a=b"},
    "the query of a URL": {"url": "https://x.example/?access_token=q7Rk2%2FpX9vLm"},
    "an unusual escape in a query": {"url": "https://x.example/?access_token=q7%52k2ZpX9vLm"},
    "Authorization: Basic": {"headers": {"Authorization": "Basic bWU6czNjcjN0LXB3"}},
    "base64 of a value of the run": base64.b64encode(f"me:{SECRET}".encode()).decode(),
    "bytes": {"base64": base64.b64encode(f"\xff me:{SECRET}".encode("latin-1")).decode()},
    "base64 that is a token itself": {"base64": "AKIAQ7RK2ZPX9VLMT4WN"},
    "a header of a tool": {"tools": [{"headers": {"Authorization": "Bearer q7Rk2ZpX9vLm"}}]},
}


def leaves(data: Any) -> set[str]:
    """The strings of JSON data, and what those stand for that are bytes, JSON or percent-encoded."""
    if isinstance(data, dict):
        return set().union(*(leaves(key) | leaves(value) for key, value in data.items()))
    if isinstance(data, list):
        return set().union(*map(leaves, data))
    texts = {str(data), unquote(str(data))}
    with suppress(ValueError):
        texts.add(base64.b64decode(str(data), validate=True).decode(errors="replace"))
    with suppress(ValueError):
        texts |= leaves(json.loads(data)) if str(data).startswith(("{", "[")) else set()
    return texts


@pytest.mark.parametrize("content", SECRETS.values(), ids=SECRETS.keys())
@pytest.mark.parametrize("place", ["request", "body", "events", "text"])
def test_what_a_snapshot_refuses_no_recording_holds(path: Path, content: Any, place: str) -> None:
    assert REDACTOR.find({"question": "hello", "request": content}) is not None
    data = json.dumps(content) if place == "text" else [content] if place == "events" else content
    recorded = exchange(content) if place == "request" else exchange("hello", **{place: data})
    save_recording(path, [recorded], REDACTOR)
    secrets = (SECRET, "q7Rk2", "ss-w0rd", "P@ssw0rd", "s3cr3t-pw", "AKIAQ7RK")
    text = "\n".join(leaves(yaml.safe_load(path.read_text())))
    assert [secret for secret in secrets if secret in text] == []
    assert "[secret]" in text
    assert REDACTOR.find(yaml.safe_load(path.read_text())) is None
    (loaded,) = load_recording(path, path.parent)
    assert loaded.request.sha256 == recorded.request.sha256


def test_a_value_under_a_secret_s_name_is_redacted_wherever_the_recording_repeats_it(path: Path) -> None:
    login = exchange("log in", body={"access_token": "q7Rk2ZpX9vLm", "expires_in": 5})
    use = exchange({"q": "with q7Rk2ZpX9vLm"}, body={"echo": "q7Rk2ZpX9vLm", "other": "q7Rk2ZpX"})
    save_recording(path, [login, use], REDACTOR)
    one, two = load_recording(path, path.parent)
    assert one.reply is not None
    assert two.reply is not None
    assert one.reply.body == {"access_token": "[secret]", "expires_in": 5}
    assert (two.request.body, two.reply.body) == ({"q": "with [secret]"}, {"echo": "[secret]", "other": "q7Rk2ZpX"})


def test_the_arguments_of_a_tool_are_json_after_redaction(path: Path) -> None:
    arguments = '{"city":  "Ulm", "password": "p\\"\\u00e4ss-w0rd", "n": [1]}'
    save_recording(path, [exchange("a", body={"arguments": arguments})], REDACTOR)
    (loaded,) = load_recording(path, path.parent)
    assert loaded.reply is not None
    assert loaded.reply.body == {"arguments": '{"city":  "Ulm", "password": "[secret]", "n": [1]}'}


def test_what_is_allowed_is_recorded(path: Path) -> None:
    redactor = Redactor({}, [re.compile("q7Rk2.*")])
    save_recording(path, [exchange("a", body={"access_token": "q7Rk2ZpX9vLm"})], redactor)
    assert "access_token: q7Rk2ZpX9vLm" in path.read_text()


def test_half_a_character_in_a_request_is_replaced_and_its_hash_is_that_of_what_was_sent(path: Path) -> None:
    sent = exchange({"a": "half \ud83d of one"})
    save_recording(path, [sent], REDACTOR)
    (loaded,) = load_recording(path, path.parent)
    assert (loaded.request.sha256, loaded.request.body) == (sent.request.sha256, {"a": "half \ufffd of one"})


def test_without_a_file_nothing_is_recorded(path: Path) -> None:
    assert load_recording(path, path.parent) == ()


REQUEST = "request: {endpoint: POST /a, sha256: a, body: 1}"
REPLY = "reply: {status: 200, text: x}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(
            "version: 2\nexchanges: []\n",
            "it has version 2, which this version of pytest-chatprompt does not know",
            id="version 2",
        ),
        pytest.param(
            "version: 1\nexchanges: [{request: {sha256: a}, latency_seconds: 1}]\n",
            "exchanges.0: it must have either a reply or a response",
            id="no reply",
        ),
        pytest.param(
            "version: 1\nexchanges: [{request: {sha256: a}, reply: {status: 200}, latency_seconds: 1}]\n",
            "exchanges.0.reply: it must have one of body, events, text, base64",
            id="no content",
        ),
        pytest.param(
            "version: 1\nexchanges: [{request: {sha256: a}, reply: {status: 200, body: null}}]\n",
            "exchanges.0: it is cut off: its last key, latency_seconds, is missing",
            id="an entry without its end",
        ),
        pytest.param(
            "version: 1\nexchanges: []",
            "it is cut off: its last line has no line break",
            id="a line without its end",
        ),
        pytest.param("exchanges: []\n", "version: Field required", id="no version"),
        pytest.param(
            "version: 1\nexchanges: [{request: {}}]\n", "exchanges.0.request.sha256: Field required", id="no hash"
        ),
        pytest.param("version: 1\nexchanges: []\nmore: 1\n", "more: Extra inputs are not permitted", id="more"),
        pytest.param("", "it is not a mapping", id="empty"),
        pytest.param("[1]\n", "it is not a mapping", id="a list"),
        pytest.param(
            "version: 1\nversion: 1\n",
            "line 2, column 1: the key 'version' appears twice, first on line 1",
            id="a repeated key",
        ),
        pytest.param(
            "a: [",
            "line 2, column 1: not valid YAML: did not find expected node content, while parsing a flow node on line 2",
            id="no YAML",
        ),
        pytest.param("[" * 300, "line 1, column 201: nested more than 200 levels deep", id="nested too deep"),
    ],
)
def test_an_unreadable_recording_is_an_error(path: Path, text: str, reason: str) -> None:
    path.parent.mkdir()
    path.write_text(text)
    with pytest.raises(ReplayError) as caught:
        load_recording(path, path.parent.parent)
    assert str(caught.value) == f"cannot read the recording snapshots/test_it[a].recording.yaml ({reason}); {AGAIN}"


def test_what_could_not_be_read_again_is_not_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_recording(path, [exchange("a")], REDACTOR)
    before = path.read_bytes()
    large = exchange("a", body=["x"] * 100)
    message = r"is not recorded \({}\), since test_it\[a\].recording.yaml could not be read again"
    with monkeypatch.context() as patch:
        patch.setattr(yaml_parser, "MAX_VALUES", 100)
        with pytest.raises(ReplayError, match=message.format("line [0-9]+, column [0-9]+: more than 100 values.*")):
            save_recording(path, [large], REDACTOR)
    with monkeypatch.context() as patch:
        patch.setattr(recording_files, "MAX_BYTES", 100)
        with pytest.raises(ReplayError, match=message.format("it is larger than 0 MiB")):
            save_recording(path, [large], REDACTOR)
    assert path.read_bytes() == before


def reply(content_type: str, body: bytes, status: int = 200, *, is_complete: bool = True) -> RecordedExchange:
    recorded = RecordedReply.of(status, {"content-type": content_type}, body, is_complete=is_complete)
    request = exchange({"model": "m", "messages": [{"role": "user", "content": "a\nb"}]}).request
    return RecordedExchange(request=request, reply=recorded, latency_seconds=0.123)


EVENTS = b'event: delta\ndata: {"choices": [{"delta": {"content": "two\\nlines\\n"}}]}\n\ndata: [DONE]\n\n'
AWS_EVENTS = aws_event("messageStart", {"role": "assistant"}) + aws_event("messageStop", {"stopReason": "end"})
KINDS = {
    "JSON": reply("application/json", b'{"choices": [{"message": {"content": "one\\ntwo\\n"}}], "usage": {"n": 12}}'),
    "JSON that is null": reply("application/json", b"null"),
    "embeddings": reply("application/json", json.dumps({"data": [{"embedding": [0.25, -1.5e-7, 3]}]}).encode()),
    "a stream": reply("text/event-stream", EVENTS),
    "a stream that was not read on": reply("text/event-stream", EVENTS, is_complete=False),
    "a stream of AWS": reply("application/vnd.amazon.eventstream", AWS_EVENTS),
    "binary data": reply("audio/mpeg", b"\xff\xfb" * 60),
    "text": reply("text/plain", "é two\nlines\n".encode()),
    "an error": reply("application/json", b'{"error": {"message": "try again", "code": null}}', 429),
    "the answer of an agent": RecordedExchange(
        request=RecordedRequest(sha256="ab" * 32),
        response=RecordedResponse(
            text="so\nbe it",
            finish_reason="stop",
            usage=TokenUsage(input_tokens=10, output_tokens=3),
            tool_calls=(ToolCall.model_validate({"id": "1", "function": {"name": "f", "arguments": "{}"}}),),
        ),
    ),
    "an answer of several": exchange("x", text="a").model_copy(update={"repeat": 2}),
}


@pytest.mark.parametrize(
    ("kinds", "line_break"),
    [
        *([[kind], "\n"] for kind in KINDS),
        (["an answer of several", "JSON"], "\n"),
        (["an answer of several", "JSON"], "\r\n"),
    ],
    ids=lambda value: repr(value) if isinstance(value, str) else ", then ".join(value),
)
def test_a_recording_that_is_cut_off_anywhere_has_whole_entries_or_is_refused(
    path: Path, kinds: list[str], line_break: str
) -> None:
    exchanges = tuple(KINDS[kind] for kind in kinds)
    save_recording(path, exchanges, Redactor({}))
    whole = path.read_bytes().replace(b"\n", line_break.encode())
    path.write_bytes(whole)
    saved = load_recording(path, path.parent)
    assert [(each.request, each.reply, each.response) for each in saved] == [
        (each.request, each.reply, each.response) for each in exchanges
    ]
    counts = Counter[int]()
    for length in reversed(range(len(whole))):
        os.truncate(path, length)
        try:
            loaded = load_recording(path, path.parent)
        except ReplayError as error:
            refusal = str(error)
        else:
            assert loaded == saved[: len(loaded)]
            counts[len(loaded)] += 1
            continue
        assert path.name in refusal
        assert AGAIN in refusal
    # Cut right behind the entries before the last one.
    assert counts == Counter(range(1, len(exchanges)))


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

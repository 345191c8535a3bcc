"""Recordings of ordinary tests: what is recorded, replayed, sent again, and what a difference says."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.runs.conftest import Run
from tests.server import CHAT_REPLY, Reply, Server

APP = """
import os

import aiohttp
import httpx
import requests

URL = os.environ["APP_URL"] + "/v1/chat/completions"

def body(text, **settings):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **settings}

def ask(text):
    return httpx.post(URL, json=body(text)).json()["choices"][0]["message"]["content"]

def ask_by_requests(text):
    return requests.post(URL, json=body(text)).json()["choices"][0]["message"]["content"]

async def ask_async(text):
    async with aiohttp.ClientSession() as session, session.post(URL, json=body(text)) as reply:
        return (await reply.json())["choices"][0]["message"]["content"]

def stream(text):
    with httpx.stream("POST", URL, json=body(text, stream=True)) as reply:
        return [line for line in reply.iter_lines() if line]

async def stream_async(text):
    async with aiohttp.ClientSession() as session, session.post(URL, json=body(text, stream=True)) as reply:
        return [line.decode().strip() async for line in reply.content if line.strip()]

def loop(text):
    first = ask(text)
    return ask(f"{text}, {first}")
"""

STREAM = b'data: {"delta": "a"}\n\n: ping\n\nevent: x\ndata: {"delta": "b"}\n\ndata: [DONE]\n\n'
LINES = ['data: {"delta":"a"}', ": ping", "event: x", 'data: {"delta":"b"}', "data: [DONE]"]

TESTS = """
import asyncio

import app

def test_ask(eval_api, eval_snapshot):
    assert app.ask("one") == "a real answer"
    assert eval_api.sent == eval_snapshot

def test_clients(eval_api):
    assert app.ask_by_requests("two") == "a real answer"
    assert asyncio.run(app.ask_async("three")) == "a real answer"

def test_streams(eval_api):
    assert [line.replace(": ", ":") for line in app.stream("four")] == LINES
    assert [line.replace(": ", ":") for line in asyncio.run(app.stream_async("five"))] == LINES
""".replace("LINES", repr([line.replace(": ", ":") for line in LINES]))

LIVE = ("--chatprompt-live",)
RECORD = (*LIVE, "--chatprompt-record")
REPLAY = ("--chatprompt-replay",)
BOTH = (*LIVE, *REPLAY)


def script(_: int, body: Any) -> Reply:
    if body.get("stream"):
        return Reply(STREAM, headers={"content-type": "text/event-stream"})
    return Reply(CHAT_REPLY, headers={"content-type": "application/json"})


@pytest.fixture
def own(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project whose application sends to the test server, with the snapshot of its first test."""
    monkeypatch.setenv("APP_URL", server.url)
    server.script = script
    first = "import app\n\ndef test_ask(eval_api, eval_snapshot):\n    app.ask('one')\n    assert eval_api.sent == eval_snapshot\n"
    run.write({"app.py": APP, "pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = .\n", "test_it.py": first})
    run.with_snapshots().write({"test_it.py": TESTS})
    return run


def recording(run: Run, name: str) -> list[dict[str, Any]]:
    exchanges: list[dict[str, Any]] = yaml.safe_load(recording_path(run, name).read_text())["exchanges"]
    return exchanges


def recording_path(run: Run, name: str) -> Path:
    return run.path / f"__snapshots__/test_it/{name}.recording.yaml"


def test_all_clients_and_streams_are_recorded_and_replayed(own: Run, server: Server) -> None:
    own(*RECORD).assert_outcomes(passed=3)
    assert len(server.requests) == 5
    assert [exchange["request"]["body"]["messages"][0]["content"] for exchange in recording(own, "test_clients")] == [
        "two",
        "three",
    ]
    stream, _ = recording(own, "test_streams")
    assert stream["reply"] == {
        "status": 200,
        "content_type": "text/event-stream",
        "events": [
            {"data": {"delta": "a"}},
            {"comment": "ping"},
            {"event": "x", "data": {"delta": "b"}},
            {"data": "[DONE]"},
        ],
    }
    assert set(stream) == {"request", "reply", "latency_seconds"}
    before = own.snapshots(), [recording_path(own, name).read_bytes() for name in ("test_ask", "test_streams")]
    server.requests.clear()
    result = own(*REPLAY)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["5 replies were replayed, which saved 30 input and 9 output tokens."])
    own(*BOTH).assert_outcomes(passed=3)
    assert server.requests == []
    assert before == (
        own.snapshots(),
        [recording_path(own, name).read_bytes() for name in ("test_ask", "test_streams")],
    )


def test_a_request_that_is_not_recorded_is_an_error_with_the_diff(own: Run, server: Server) -> None:
    own.with_snapshots(*RECORD).write({"test_it.py": TESTS.replace('"two"', '"changed"')})
    server.requests.clear()
    result = own(*REPLAY)
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "no reply is recorded for this request to POST /v1/chat/completions: "
            "__snapshots__/test_it/test_clients.recording.yaml has none of its hash",
            "The nearest recorded request differs in:",
            "@@ request.messages[[]0[]].content @@",
            "-     content: two",
            "+     content: changed",
            "To record it: pytest test_it.py::test_clients --chatprompt-live --chatprompt-replay",
        ]
    )
    assert server.requests == []
    result = own(*BOTH)
    result.assert_outcomes(passed=3)
    assert server.last_contents == ["changed"]
    result.stdout.fnmatch_lines(
        [
            "4 replies were replayed, which saved 20 input and 6 output tokens, 1 request was sent.",
            "1 recorded reply that no request asked for, in test_it.py::test_clients; *",
        ]
    )
    own(*REPLAY).assert_outcomes(passed=3)
    assert [exchange["request"]["body"]["messages"][0]["content"] for exchange in recording(own, "test_clients")] == [
        "changed",
        "three",
        "two",
    ]


def test_a_request_without_any_recording_fails_even_if_the_code_swallows_it(own: Run) -> None:
    own.write(
        {"test_it.py": "import app\n\ndef test_it(eval_api):\n    try: app.ask('one')\n    except KeyError: pass\n"}
    )
    result = own(*REPLAY)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["no reply is recorded for POST /v1/chat/completions: there is no __snapshots__/test_it/test_it.recording.yaml"]
    )


LOOP = """
import app

def test_loop(eval_api, eval_snapshot):
    app.loop("one")
    assert eval_api.sent == eval_snapshot
"""


def test_a_request_after_the_first_real_reply_may_differ(own: Run, server: Server) -> None:
    own.write({"test_it.py": LOOP})
    own.with_snapshots()
    for options in (RECORD, REPLAY, BOTH):
        result = own(*options)
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(
            [
                "After the first real reply, 1 test sent something other than the snapshot shows, "
                "which may hold that reply: test_it.py::test_loop."
            ]
        )
    assert server.last_contents == ["one", "one, a real answer"]
    own().assert_outcomes(passed=1)
    own.write({"test_it.py": LOOP.replace('"one"', '"two"')})
    result = own(*LIVE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["-*content: one", "+*content: two"])


TWO_REQUESTS = """
import app

def test_two(eval_api, eval_snapshot):
    app.ask("one")
    app.ask("two")
    assert eval_api.sent == eval_snapshot
"""


def test_requests_after_the_first_real_reply_are_compared_with_the_snapshot_if_there_is_one(
    own: Run, server: Server
) -> None:
    own.write({"test_it.py": TWO_REQUESTS})
    result = own(*LIVE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*There is no __snapshots__/test_it/test_two.yaml."])
    own.update()
    result = own(*LIVE)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("After the first real reply*")
    assert server.last_contents == ["one", "two"] * 2


def test_an_update_in_a_live_run_keeps_what_a_real_reply_may_have_changed(own: Run) -> None:
    own.write({"test_it.py": LOOP})
    own.with_snapshots()
    before = (own.path / "__snapshots__/test_it/test_loop.yaml").read_bytes()
    own.update(*LIVE)
    assert (own.path / "__snapshots__/test_it/test_loop.yaml").read_bytes() == before


def test_equal_requests_are_replayed_in_their_order_and_one_more_is_an_error(own: Run, server: Server) -> None:
    own.write(
        {
            "test_it.py": "import app\n\ndef test_it(eval_api):\n    print([app.ask('same') for _ in range(2)])\n    1 / 0\n"
        }
    )
    server.script = lambda number, _: Reply({"choices": [{"message": {"content": f"answer {number}"}}]})
    own(*RECORD).stdout.fnmatch_lines(["*'answer 0', 'answer 1'*"])
    own(*REPLAY).stdout.fnmatch_lines(["*'answer 0', 'answer 1'*"])
    own.write({"test_it.py": "import app\n\ndef test_it(eval_api):\n    print([app.ask('same') for _ in range(3)])\n"})
    result = own(*REPLAY)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["This very request is recorded, and its replies were given already; *"])


def test_queued_replies_are_neither_sent_nor_recorded(own: Run, server: Server) -> None:
    own.write(
        {
            "test_it.py": """
import app

def test_it(eval_api):
    eval_api.reply("queued")
    assert [app.ask("one"), app.ask("two")] == ["queued", "a real answer"]
    assert [sent.answered_by for sent in eval_api.sent] == ["reply", WAY]
"""
        }
    )
    text = (own.path / "test_it.py").read_text()
    for options, way in ((RECORD, "network"), (REPLAY, "recording"), (BOTH, "recording")):
        own.write({"test_it.py": text.replace("WAY", repr(way))})
        own(*options).assert_outcomes(passed=1)
    assert server.last_contents == ["two"]
    assert len(recording(own, "test_it")) == 1


def test_a_test_that_fails_keeps_the_recorded_replies_it_did_not_come_to(own: Run) -> None:
    own.with_snapshots(*RECORD)
    own.write({"test_it.py": TESTS.replace('"two") == "a real answer"', '"two") == "wrong"')})
    own(*RECORD).assert_outcomes(passed=2, failed=1)
    assert len(recording(own, "test_clients")) == 2


def test_an_error_of_the_api_is_recorded_with_its_status(own: Run, server: Server) -> None:
    own.write(
        {
            "test_it.py": "import app, httpx\n\ndef test_it(eval_api):\n    assert httpx.post(app.URL, json={}).status_code == 429\n"
        }
    )
    server.script = lambda *_: Reply({"error": "slow down"}, 429, {"content-type": "application/json"})
    own(*RECORD).assert_outcomes(passed=1)
    assert recording(own, "test_it")[0]["reply"]["status"] == 429
    own(*REPLAY).assert_outcomes(passed=1)


TARGETS = """
import http.client, urllib.parse

import app

def post(query):
    host = urllib.parse.urlsplit(app.URL).netloc
    connection = http.client.HTTPConnection(host)
    connection.request("POST", "/./v1/chat/completions" + query, '{"messages": []}')
    return connection.getresponse().read()

def test_it(eval_api):
    for query in ("", "?a=<b>", "?a=%3Cb%3E", "#c"):
        post(query)
    assert [sent.endpoint.partition("completions")[2] for sent in eval_api.sent] == ["", "?a=<b>", "?a=%3Cb%3E", "#c"]
    assert {sent.endpoint.partition("completions")[0] for sent in eval_api.sent} == {"POST /./v1/chat/"}
"""


def test_the_target_of_a_request_is_shown_and_sent_as_the_client_writes_it(own: Run, server: Server) -> None:
    own.write({"test_it.py": TARGETS})
    own().assert_outcomes(passed=1)
    own(*RECORD).assert_outcomes(passed=1)
    queries = ["", "?a=<b>", "?a=%3Cb%3E", "#c"]
    assert [path for path, _, _ in server.requests] == [f"/./v1/chat/completions{query}" for query in queries]
    own(*REPLAY).assert_outcomes(passed=1)


ACTING = """
import aiohttp, app, asyncio, boto3, httpx, openai, pytest, requests, urllib.error, urllib.request

def test_another_place(eval_api):
    reply = httpx.post(app.URL, json=app.body("moved"), follow_redirects=True)
    assert (reply.status_code, reply.url.query[-8:]) == (200, b"&to=here")
    assert requests.post(app.URL, json=app.body("moved")).url.endswith("&to=here")

    async def post():
        async with aiohttp.ClientSession() as session, session.post(app.URL, json=app.body("moved")) as reply:
            await reply.read()
            return str(reply.url)

    assert asyncio.run(post()).endswith("&to=here")

def test_the_kind_of_an_error(eval_api):
    options = {"region_name": "us-east-1", "aws_access_key_id": "a", "aws_secret_access_key": "b"}
    client = boto3.client("bedrock-runtime", endpoint_url=app.URL.partition("/v1")[0], **options)
    with pytest.raises(client.exceptions.ValidationException):
        client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "wrong"}]}])

def test_whether_to_try_again(eval_api):
    client = openai.OpenAI(api_key="k", base_url=app.URL.partition("/chat")[0])
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(**app.body("never again"))

def test_the_status_alone(eval_api):
    with pytest.raises(urllib.error.HTTPError, match="429") as caught:
        urllib.request.urlopen(app.URL, b'{"messages": "never again"}')
    caught.value.close()
"""


def test_clients_act_on_a_recorded_reply_as_on_the_real_one(own: Run, server: Server) -> None:
    def act(_: int, body: Any) -> Reply:
        if "moved" in str(body):
            # The server knows no path; of two requests the second is where the first was led.
            return (
                Reply(status=307, headers={"location": "?sig=0f3c9a8b7d6e5f4a&to=here"}) if act_count.pop() else Reply()
            )
        if "wrong" in str(body):
            return Reply({"message": "no"}, 400, {"x-amzn-errortype": "ValidationException"})
        return Reply({"error": {"message": "no"}}, 429, {"x-should-retry": "false"})

    act_count = [False, True] * 3
    server.script = act
    own.write({"test_it.py": ACTING})
    own(*RECORD).assert_outcomes(passed=4)
    assert len(server.requests) == 9
    assert not any("0f3c9a8b7d6e5f4a" in path.read_text() for path in own.path.rglob("*.yaml"))
    own(*REPLAY).assert_outcomes(passed=4)
    assert len(server.requests) == 9


TRACING = """
import app, httpx, os, time

def test_it(eval_api, eval_snapshot):
    # Another one in each run, as the SDK for agents has it; on a machine that is set up it goes to OpenAI.
    url = os.environ["APP_URL"] + "/v1/traces/ingest"
    trace = {"id": time.time_ns()}
    assert httpx.post(url, json=trace, headers={"x-stainless-lang": "python"}).status_code == 200
    assert app.ask("hi")
    assert eval_api.sent == eval_snapshot
"""


def test_what_an_sdk_reports_of_itself_is_sent_live_and_neither_recorded_nor_replayed(own: Run, server: Server) -> None:
    own.write({"test_it.py": TRACING})
    own.update()
    assert server.requests == []
    own(*RECORD).assert_outcomes(passed=1)
    assert [path for path, _, _ in server.requests] == ["/v1/traces/ingest", "/v1/chat/completions"]
    assert len(recording(own, "test_it")) == 1
    for _ in range(2):
        own(*REPLAY).assert_outcomes(passed=1)
    assert len(server.requests) == 2


def test_a_stream_that_the_client_does_not_read_on_is_recorded_as_far_as_it_was_read(own: Run, server: Server) -> None:
    own.write(
        {
            "test_it.py": """
import app, httpx

def test_it(eval_api):
    with httpx.stream("POST", app.URL, json=app.body("x", stream=True)) as reply:
        assert next(reply.iter_lines()).startswith("data")
"""
        }
    )
    # More than a client reads at once.
    event = b'data: {"delta": "%s"}\n\n' % (b"a" * 1_000)
    server.script = lambda *_: Reply(event * 300, headers={"content-type": "text/event-stream"})
    own(*RECORD).assert_outcomes(passed=1)
    assert recording(own, "test_it")[0]["reply"]["is_complete"] is False
    own(*REPLAY).assert_outcomes(passed=1)


def test_secrets_are_not_recorded(own: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-0123456789abcdef")
    own.write(
        {
            "test_it.py": "import app, httpx\n\ndef test_it(eval_api):\n    httpx.post(app.URL, json={'n': 1}, headers={'authorization': 'Bearer sk-live-0123456789abcdef'})\n"
        }
    )
    server.script = lambda *_: Reply({"echo": "sk-live-0123456789abcdef"}, headers={"content-type": "application/json"})
    own(*RECORD).assert_outcomes(passed=1)
    text = recording_path(own, "test_it").read_text()
    assert "sk-live" not in text
    assert recording(own, "test_it")[0]["reply"]["body"] == {"echo": "[secret]"}


LOGIN = """
import app, httpx

def test_it(eval_api):
    token = httpx.post(app.URL, json={"user": "me", "password": "P@ssw0rd!"}).json()["access_token"]
    with httpx.stream("POST", app.URL, json={"stream": True}, headers={"authorization": f"Bearer {token}"}) as reply:
        lines = [line for line in reply.iter_lines() if line]
    assert len(lines) == 6
    eval_api.sent
"""


def test_a_recorded_login_is_replayed_without_its_token(own: Run, server: Server) -> None:
    pieces = "".join(f'data: {{"delta": "{piece}"}}\n\n' for piece in ("so ", "q7Rk2ZpX9vLmT4wN", " it", "", ""))
    stream = Reply(f"{pieces}data: [DONE]\n\n".encode(), headers={"content-type": "text/event-stream"})
    login = Reply({"access_token": "q7Rk2ZpX9vLmT4wN"}, headers={"content-type": "application/json"})
    own.write({"test_it.py": LOGIN})
    server.script = lambda number, _: login if number == 0 else stream
    own(*RECORD).assert_outcomes(passed=1)
    text = recording_path(own, "test_it").read_text()
    assert [secret for secret in ("q7R", "k2Z", "vLmT", "4wN", "P@ssw0rd") if secret in text] == []
    first, second = recording(own, "test_it")
    assert (first["request"]["body"]["password"], first["reply"]["body"]) == ("[secret]", {"access_token": "[secret]"})
    assert [event["data"] for event in second["reply"]["events"]] == [
        {"delta": "so "},
        {"delta": "[secret]"},
        {"delta": " it"},
        {"delta": ""},
        {"delta": ""},
        "[DONE]",
    ]
    own(*REPLAY).assert_outcomes(passed=1)
    assert len(server.requests) == 2


def test_what_a_child_process_sends_is_recorded_too(own: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-0123456789abcdef")
    own.write(
        {
            "child.py": "import os, httpx; print(httpx.post(os.environ['OPENAI_BASE_URL'] + '/chat/completions', json={'model': 'm'}).json()['choices'][0]['message']['content'])",
            "test_it.py": """
import os, subprocess, sys

def test_it(eval_api):
    environment = {**os.environ, **eval_api.environ}
    output = subprocess.run([sys.executable, "child.py"], env=environment, check=True, capture_output=True, text=True)
    assert output.stdout == "a real answer\\n"
""",
        }
    )
    own(*RECORD).assert_outcomes(passed=1)
    assert len(server.requests) == 1
    own(*REPLAY).assert_outcomes(passed=1)
    assert len(server.requests) == 1
    assert len(recording(own, "test_it")) == 1


MANY = """
import pytest

import app

@pytest.mark.parametrize("number", range(COUNT))
def test_it(eval_api, number):
    app.ask(f"{number} {VERSION if number % 3 == 0 else 0}")
"""


@pytest.mark.parametrize("count", [12, pytest.param(500, marks=pytest.mark.soak)])
def test_only_what_changed_is_sent_again_whoever_runs_it(own: Run, server: Server, count: int) -> None:
    text = MANY.replace("COUNT", str(count))
    own.write({"test_it.py": text.replace("VERSION", "1")})
    own(*RECORD).assert_outcomes(passed=count)
    assert len(server.requests) == count
    own.write({"test_it.py": text.replace("VERSION", "2")})
    server.requests.clear()
    result = own(*BOTH, "-n", "2")
    result.assert_outcomes(passed=count)
    changed = [f"{number} 2" for number in range(0, count, 3)]
    assert sorted(server.last_contents) == sorted(changed)
    replayed = f"{count - len(changed)} replies were replayed, *, {len(changed)} requests were sent."
    result.stdout.fnmatch_lines([replayed])
    own(*REPLAY).assert_outcomes(passed=count)


@pytest.mark.parametrize(("kills", "count"), [(2, 20), pytest.param(50, 300, marks=pytest.mark.soak)])
def test_a_run_that_is_killed_leaves_no_half_recording_and_the_next_goes_on(
    own: Run, server: Server, kills: int, count: int
) -> None:
    own.write({"test_it.py": MANY.replace("COUNT", str(count)).replace("VERSION", "1")})
    chosen = random.Random(kills)
    for number in range(1, kills + 1):
        # At any moment between this request and the next ones.
        sent, pause = number * (count - 10) // kills, chosen.uniform(0, 0.01)
        process = own.start(*BOTH)
        deadline = time.monotonic() + 60
        while len(server.requests) < sent and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(pause)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        for path in (own.path / "__snapshots__/test_it").glob("test_it*.recording.yaml"):
            assert len(yaml.safe_load(path.read_text())["exchanges"]) == 1
    own(*BOTH).assert_outcomes(passed=count)
    # What was in flight when a run was killed is sent again, and nothing else.
    assert count <= len(server.requests) <= count + kills
    own(*REPLAY).assert_outcomes(passed=count)


RENAMED = """
import app

def test_ask(eval_api, eval_snapshot):
    app.ask("one")
    assert eval_api.sent == eval_snapshot

def test_sends(eval_api):
    app.ask("two")

def test_twice(eval_api, eval_snapshot):
    app.ask("three")
    assert eval_api.sent == eval_snapshot(name="x")
    assert eval_api.sent == eval_snapshot(name="y")
"""


@pytest.mark.parametrize(
    "arguments",
    [["--snapshot-update", "-n", "2"], ["--chatprompt-accept", "new"]],
    ids=["workers", "accepted"],
)
def test_a_renamed_test_takes_its_recording_along(own: Run, server: Server, arguments: list[str]) -> None:
    own.write({"test_it.py": RENAMED})
    own.with_snapshots(*RECORD)
    # The first compares with a snapshot, the second only sends, the third has several snapshots.
    new = RENAMED.replace("test_ask", "test_renamed").replace("test_sends", "test_others").replace("twice", "again")
    own.write({"test_it.py": new})
    result = own(*arguments)
    for old, name in (("ask", "renamed"), ("sends", "others"), ("twice", "again")):
        result.stdout.fnmatch_lines([f"*moved *test_{old}.recording.yaml to *test_{name}.recording.yaml"])
    # Where a test has several snapshots, it ends at the first that is not there.
    own("--snapshot-update")
    server.requests.clear()
    own(*BOTH).assert_outcomes(passed=3)
    assert server.requests == []


def test_to_remove_what_is_unused_moves_the_recording_of_a_renamed_test_that_only_sends(
    own: Run, server: Server
) -> None:
    sends = "import app\n\ndef test_sends(eval_api):\n    app.ask('two')\n"
    own.write({"test_it.py": sends})
    own.with_snapshots(*RECORD)
    own.write({"test_it.py": sends.replace("test_sends", "test_renamed")})
    own("--chatprompt-remove-unused")
    assert own.snapshots() == ["__snapshots__/test_it/test_renamed.recording.yaml"]
    server.requests.clear()
    own(*BOTH).assert_outcomes(passed=1)
    assert server.requests == []


def test_a_moved_module_takes_its_recordings_along(own: Run, server: Server) -> None:
    own.write({"test_it.py": RENAMED})
    own.with_snapshots(*RECORD)
    (own.path / "test_it.py").rename(own.path / "test_new.py")
    result = own.update()
    result.stdout.fnmatch_lines(["3 files unused: the eval file or the module is gone."])
    server.requests.clear()
    own(*BOTH).assert_outcomes(passed=3)
    assert server.requests == []
    own("--chatprompt-remove-unused")
    assert not (own.path / "__snapshots__/test_it").exists()


FINDINGS = """
import app, httpx

def test_unanswered(eval_api):
    try:
        httpx.post(app.URL, json={"drop": True})
    except httpx.TransportError:
        pass

def test_openai_stops_at_the_last_event(eval_api):
    with httpx.stream("POST", app.URL, json=app.body("x", stream=True)) as reply:
        for line in reply.iter_lines():
            if line == "data: [DONE]":
                break

def test_long(eval_api, eval_snapshot):
    for number in range(9):
        app.ask(f"{number} VERSION")
    assert eval_api.sent == eval_snapshot
"""


def test_what_a_live_run_says_of_replies_and_differences(own: Run, server: Server) -> None:
    own.write({"test_it.py": FINDINGS})
    own("-k", "long", "--snapshot-update").assert_outcomes(passed=1)
    server.script = lambda number, body: Reply({}, fault="drop before") if "drop" in body else script(number, body)
    own.write({"test_it.py": FINDINGS.replace("VERSION", "2")})
    result = own(*RECORD, "--junitxml=report.xml")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["Not recorded, because no complete reply of at most 64 MiB came: 1 request, in test_it.py::test_unanswered."]
    )
    assert "is_complete" not in recording(own, "test_openai_stops_at_the_last_event")[0]["reply"]
    # A long difference is shown once and whole, in reports too.
    output = result.stdout.str()
    assert output.count("content: 0 VERSION") == 1
    assert output.count("--chatprompt-live --snapshot-update") == 1
    assert "content: 0 VERSION" in (own.path / "report.xml").read_text()


def test_a_missing_reply_is_the_reason_of_the_failure_that_it_leads_to(own: Run) -> None:
    own.write({"test_it.py": "import app\n\ndef test_it(eval_api):\n    app.ask('one')\n"})
    result = own(*REPLAY)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*KeyError*", "FAILED test_it.py::test_it - no reply is recorded for POST /v1/*"])


def test_a_secret_in_the_name_of_a_snapshot_is_refused(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "k3y-0123456789abcdef")
    test = "def test_it(eval_snapshot):\n    assert 1 == eval_snapshot(name='of k3y-0123456789abcdef')\n"
    own.write({"test_it.py": test})
    own("--snapshot-update").stdout.fnmatch_lines(["*the snapshot would hold the value of * MY_TOKEN, under name; *"])
    assert not [name for name in own.snapshots() if "k3y" in name]


def test_in_live_and_replayed_runs_routes_answer_what_is_no_api_of_a_model(own: Run, server: Server) -> None:
    own.write(
        {
            "test_it.py": """
import app, httpx

def test_it(eval_api):
    eval_api.get("https://files.example/manual").respond(text="Fill it with water.")
    eval_api.post(app.URL).respond(json={"choices": [{"message": {"content": "a canned answer"}}]})
    assert httpx.get("https://files.example/manual").text == "Fill it with water."
    assert app.ask("one") == "a real answer"
    assert [sent.answered_by for sent in eval_api.sent] == ["route", WAY]
"""
        }
    )
    text = (own.path / "test_it.py").read_text()
    for options, way in ((LIVE, "network"), (RECORD, "network"), (REPLAY, "recording")):
        own.write({"test_it.py": text.replace("WAY", repr(way))})
        own(*options).assert_outcomes(passed=1)
    assert server.last_contents == ["one"] * 2

"""Exact requests: what differs in what is sent has another snapshot, and another recording."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.media import PNG, PNG_SHOWN, in_base64
from tests.runs.conftest import MakeLiveProject, Run
from tests.server import CHAT_REPLY, Reply, Server

IMAGE = PNG + b"\xfb\xff" * 40 + b"x"
DIGITS = in_base64(IMAGE)
URL_SAFE = base64.urlsafe_b64encode(IMAGE).decode()

# Each is sent as a body with headers, and none may pass for another.
REQUESTS: dict[str, tuple[bytes, dict[str, str]]] = {
    **{
        name: (json.dumps({"messages": [{"content": [{"image_url": {"url": url}}]}]}).encode(), {})
        for name, url in {
            "url": f"data:image/png;base64,{DIGITS}",
            "url-safe-url": f"data:image/png;base64,{URL_SAFE}",
            "bare": DIGITS,
            "url-safe": URL_SAFE,
            "lines": base64.encodebytes(IMAGE).decode(),
            "no-padding": DIGITS.rstrip("="),
            "literal": f"<{PNG_SHOWN}>",
            "escaped": f"\\<{PNG_SHOWN}>",
        }.items()
    },
    "key": (b'{"a":2}', {}),
    "key-twice": (b'{"a":1,"a":2}', {}),
    "key-twice-alike": (b'"{\\"a\\":1,\\"a\\":2}"', {}),
    "overflow": (b'{"a":1e400}', {}),
    "infinity": (b'{"a":Infinity}', {}),
    "null": (b"null", {}),
    "empty": (b"", {}),
    "string": (b'"hello"', {}),
    "text": (b"hello", {}),
    "bytes": (b"\xff", {}),
    "bytes-alike": (b'{"base64":"/w=="}', {}),
    "beta": (b'{"a":2}', {"anthropic-beta": "a"}),
    "other-beta": (b'{"a":2}', {"anthropic-beta": "b"}),
}
APP = """
import base64, json, os, pathlib
import httpx

REQUESTS = json.loads(pathlib.Path("requests.json").read_text())

def send(name):
    body, headers = REQUESTS[name]
    url = os.environ["APP_URL"] + "/v1/chat/completions"
    return httpx.post(url, content=base64.b64decode(body), headers=headers).json()["choices"][0]["message"]["content"]
"""
TEST = """
import app

def test_send(eval_api, eval_snapshot):
    app.send("{name}")
    assert eval_api.sent == eval_snapshot
"""


@pytest.fixture
def own(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project whose application sends one of the requests to the test server."""
    monkeypatch.setenv("APP_URL", server.url)
    requests = {name: (base64.b64encode(body).decode(), headers) for name, (body, headers) in REQUESTS.items()}
    run.write({"app.py": APP, "pytest.ini": "[pytest]\npythonpath = .\n", "requests.json": json.dumps(requests)})
    return run


def sends(run: Run, name: str) -> None:
    run.write({"test_it.py": TEST.format(name=name)})


def send_all(run: Run, *names: str) -> None:
    tests = [TEST.replace("test_send", f"test_{number}").format(name=name) for number, name in enumerate(names)]
    run.write({"test_it.py": "".join(tests)})


def shown_by(run: Run) -> dict[str, Any]:
    (request,) = run.snapshot("__snapshots__/test_it/test_send.yaml")["requests"]
    return dict(request)


def test_none_of_the_requests_passes_for_another(own: Run) -> None:
    send_all(own, *REQUESTS)
    own.update().assert_outcomes(passed=len(REQUESTS))
    own().assert_outcomes(passed=len(REQUESTS))
    snapshots = [
        (own.path / f"__snapshots__/test_it/test_{number}.yaml").read_text() for number in range(len(REQUESTS))
    ]
    assert len(set(snapshots)) == len(REQUESTS)
    # A formatter may write each anew, and still none is as another.
    loaded = {yaml.dump(yaml.safe_load(text), width=20, default_style='"') for text in snapshots}
    assert len(loaded) == len(REQUESTS)


# What is recorded, and what is sent when it is replayed.
PAIRS = [
    ("url", "bare"),
    ("bare", "url-safe"),
    ("url", "url-safe-url"),
    ("bare", "lines"),
    ("bare", "no-padding"),
    ("bare", "literal"),
    ("key-twice", "key"),
    ("null", "empty"),
    ("string", "text"),
    ("key", "beta"),
    ("beta", "other-beta"),
]


def test_a_recording_answers_its_very_request_alone(own: Run, server: Server) -> None:
    server.script = lambda *_: Reply(CHAT_REPLY, headers={"content-type": "application/json"})
    send_all(own, *(recorded for recorded, _ in PAIRS))
    own.update("--chatprompt-live", "--chatprompt-record")
    own("--chatprompt-replay").assert_outcomes(passed=len(PAIRS))
    send_all(own, *(sent for _, sent in PAIRS))
    result = own("--chatprompt-replay")
    result.assert_outcomes(failed=len(PAIRS))
    reason = "no reply is recorded for this request to POST /v1/chat/completions"
    assert sum(line.startswith(reason) for line in result.outlines) == len(PAIRS)


def test_headers_stand_between_endpoint_and_request(own: Run, server: Server) -> None:
    server.script = lambda *_: Reply(CHAT_REPLY, headers={"content-type": "application/json"})
    sends(own, "beta")
    own.update()
    assert list(shown_by(own).items()) == [
        ("endpoint", "POST /v1/chat/completions"),
        ("headers", {"anthropic-beta": "a"}),
        ("request", {"a": 2}),
    ]
    own("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    recording = Path(own.path / "__snapshots__/test_it/test_send.recording.yaml")
    assert yaml.safe_load(recording.read_text())["exchanges"][0]["request"]["headers"] == {"anthropic-beta": "a"}
    sends(own, "other-beta")
    result = own("--chatprompt-replay")
    result.stdout.fnmatch_lines(["-   anthropic-beta: a", "+   anthropic-beta: b"])
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["@@ requests[[]0].headers.anthropic-beta @@"])


def test_a_mask_of_a_header_holds_for_the_recording_too(own: Run, server: Server) -> None:
    server.script = lambda *_: Reply(CHAT_REPLY, headers={"content-type": "application/json"})
    own.write({"conftest.py": "import pytest\n\n@pytest.fixture\ndef eval_masks():\n    return {'^[ab]$': '<beta>'}\n"})
    sends(own, "beta")
    own.update()
    assert shown_by(own)["headers"] == {"anthropic-beta": "<beta>"}
    own("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    sends(own, "other-beta")
    own("--chatprompt-replay").assert_outcomes(passed=1)


def test_a_secret_in_a_body_that_is_shown_as_its_text_is_found(own: Run) -> None:
    body = b'{"a":1,"a":2,"password":"hunter2-Xy81kQ"}'
    own.write({"requests.json": json.dumps({"leak": (base64.b64encode(body).decode(), {})})})
    sends(own, "leak")
    result = own("--snapshot-update")
    result.assert_outcomes(failed=1)
    assert own.snapshots() == []
    assert "hunter2-Xy81kQ" not in result.stdout.str()


def test_show_prints_headers_and_the_size_of_an_image(own: Run) -> None:
    sends(own, "beta")
    result = own("--chatprompt-show")
    result.stdout.fnmatch_lines(["POST /v1/chat/completions", "headers:", "  anthropic-beta: a", "request:", "  a: 2"])
    content = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DIGITS}"}}]
    body = json.dumps({"messages": [{"role": "user", "content": content}]}).encode()
    own.write({"requests.json": json.dumps({"image": (base64.b64encode(body).decode(), {})})})
    sends(own, "image")
    result = own("--chatprompt-show")
    result.stdout.fnmatch_lines([f"<Image: image/png, {len(IMAGE)} bytes>"])


BETA = """

class BetaProvider(OpenAIProvider):
    def auth_headers(self, key):
        return {**super().auth_headers(key), "openai-beta": "VALUE"}

@pytest.fixture(scope="session")
def openai_provider():
    provider = BetaProvider(base_url="URL", max_retries=0, api_key="sk-live-0123456789")
    yield provider
    provider.close()
"""


def test_the_headers_of_a_provider_are_compared_before_it_sends_and_recorded(
    live_project: MakeLiveProject, server: Server
) -> None:
    def conftest(value: str) -> str:
        return BETA.replace("URL", server.url).replace("VALUE", value)

    run = live_project(1, conftest=conftest("one"))
    path = "__snapshots__/a.eval/c0[openai].yaml"
    assert list(run.snapshot(path))[:4] == ["provider", "endpoint", "headers", "question"]
    assert run.snapshot(path)["headers"] == {"openai-beta": "one"}
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    assert server.requests[0][1]["openai-beta"] == "one"
    run("--chatprompt-replay").assert_outcomes(passed=1)
    run("--chatprompt-live", "--chatprompt-replay").assert_outcomes(passed=1)
    assert len(server.requests) == 1
    changed = (run.path / "conftest.py").read_text().replace('"one"', '"two"')
    run.write({"conftest.py": changed})
    result = run("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["@@ headers.openai-beta @@"])
    assert len(server.requests) == 1
    run.update()
    run("--chatprompt-replay").assert_outcomes(errors=1)


def test_the_version_of_an_api_that_a_fixture_sets_stands_in_the_snapshot(run: Run) -> None:
    provider = """
import pytest
from pytest_chatprompt import AnthropicProvider

@pytest.fixture(scope="session")
def anthropic_provider():
    return AnthropicProvider(VERSION)
"""
    run.write(
        {
            "a.eval.yaml": "provider: anthropic\nevalcases:\n- id: a\n  input_messages: [{role: user, content: hi}]\n",
            "conftest.py": provider.replace("VERSION", ""),
        }
    )
    run.update()
    path = "__snapshots__/a.eval/a[anthropic].yaml"
    assert "headers" not in run.snapshot(path)
    run.write({"conftest.py": provider.replace("VERSION", 'api_version="2023-01-01"')})
    run().assert_outcomes(failed=1)
    run.update()
    assert run.snapshot(path)["headers"] == {"anthropic-version": "2023-01-01"}

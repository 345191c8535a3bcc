"""Live runs: requests reach the API, after they were compared with the snapshot."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server import Server

from .conftest import HELLO, Run

ANSWER = {"choices": [{"message": {"content": "a real answer"}, "finish_reason": "stop"}]}
CONFTEST = """
import pytest
from pytest_chatprompt import OpenAIProvider, ProviderResponse

@pytest.fixture(scope="session")
def openai_provider():
    provider = OpenAIProvider(base_url="{url}/v1")
    yield provider
    provider.close()

@pytest.fixture
def eval_api(eval_api):
    eval_api.post(path__regex="chat/completions").respond(json={{"choices": [{{"message": {{"content": "canned"}}}}]}})
    return eval_api
"""


@pytest.fixture
def live(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A folder whose one case goes to a local server, its snapshot written."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    run.write({"a.eval.yaml": "provider: openai" + HELLO, "conftest.py": CONFTEST.format(url=server.url)})
    server.answers(ANSWER)
    run.update().assert_outcomes(passed=1)
    assert server.requests == []
    return run


def test_what_was_reviewed_is_what_reaches_the_api(live: Run, server: Server) -> None:
    live("--chatprompt-live").assert_outcomes(passed=1)
    ((path, headers, body),) = server.requests
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-real")
    assert body == live.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"]


def test_no_canned_reply_takes_the_place_of_a_real_one(live: Run) -> None:
    live.write(
        {
            "test_b.py": """
import pytest
from pytest_chatprompt import ProviderRequest

@pytest.fixture
def eval_request():
    return ProviderRequest(question="hi")

@pytest.fixture
def eval_provider(openai_provider):
    return openai_provider

def test_it(eval_response):
    assert eval_response.text == "a real answer"
"""
        }
    )
    live("--chatprompt-live").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "reviewed", [pytest.param(True, id="that differs"), pytest.param(False, id="that is not there")]
)
def test_nothing_is_sent_under_a_snapshot(live: Run, server: Server, reviewed: bool) -> None:
    if reviewed:
        live.write({"a.eval.yaml": "provider: openai" + HELLO.replace("content: hello", "content: changed")})
    else:
        (live.path / "__snapshots__/a.eval/hello[openai].yaml").unlink()
    live("--chatprompt-live").assert_outcomes(failed=1)
    assert server.requests == []


def test_an_update_writes_first_and_then_sends(live: Run, server: Server) -> None:
    live.write({"a.eval.yaml": "provider: openai" + HELLO.replace("content: hello", "content: changed")})
    live.update("--chatprompt-live").assert_outcomes(passed=1)
    assert server.requests[0][2]["messages"][-1] == {"role": "user", "content": "changed"}


def test_a_missing_key_is_told_by_its_variable(live: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    result = live("--chatprompt-live")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': no key for OpenAI: set the environment variable OPENAI_API_KEY,"
            " or pass api_key to OpenAIProvider"
        ]
    )
    assert server.requests == []


@pytest.mark.parametrize("key", ["sk-secret-0123\n", "sk-secret-0123 ", "sk-secret-0123\u2019"])
def test_a_key_that_no_header_can_carry_is_told_and_not_shown(
    live: Run, server: Server, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    result = live("--chatprompt-live", "-l", "-vv")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'hello': the key for OpenAI holds a blank, a line break or *OPENAI_API_KEY*"]
    )
    assert "sk-secret" not in result.stdout.str()
    assert server.requests == []


def test_a_key_that_is_set_to_nothing_is_missing(live: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    result = live("--chatprompt-live")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'hello': no key for OpenAI: set the environment variable OPENAI_API_KEY,*"]
    )
    assert server.requests == []


def test_an_http_error_shows_status_and_message_and_never_the_key(live: Run, server: Server) -> None:
    server.answers({"error": {"message": "Incorrect API key provided: sk-real"}}, status=401)
    result = live("--chatprompt-live", "-l", "-vv")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'hello': OpenAI answered 401 Unauthorized: Incorrect API key provided: [[]key[]]"]
    )
    assert "sk-real" not in result.stdout.str()


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param({"message": {"content": None, "refusal": "I cannot."}}, "I cannot.", id="a refusal"),
        pytest.param({"message": {}, "finish_reason": "content_filter"}, "content_filter", id="a filtered answer"),
    ],
)
def test_a_withheld_answer_fails_the_case(live: Run, server: Server, answer: dict[str, Any], told: str) -> None:
    server.answers({"choices": [answer]})
    result = live("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"a.eval.yaml:3:5: case 'hello': the API withheld the answer: {told}"])


RESTLESS = """
class Restless:
    calls = 0

    def send(self, request):
        import httpx
        type(self).calls += 1
        httpx.post("URL/v1/chat/completions", json={"call": self.calls})
        return ProviderResponse(text="an answer")

@pytest.fixture
def openai_provider():
    return Restless()
"""


def test_a_provider_that_sends_something_else_each_time_is_told(live: Run, server: Server) -> None:
    live.write({"conftest.py": CONFTEST.format(url=server.url) + RESTLESS.replace("URL", server.url)})
    live.update()
    result = live("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*what left in the live run is not what was compared with the snapshot*"])

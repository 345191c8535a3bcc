"""Subclasses of the chat providers: offline and live they are treated like the built-in providers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.runs.conftest import HELLO, Run, case_ids, eval_file
from tests.server import CHAT_REPLY, Reply, Server

SUBCLASSES = """
import pytest
from pytest_chatprompt import ChatProvider, OpenAIProvider, Payload, ProviderRequest, ProviderResponse

class MistralProvider(OpenAIProvider):
    vendor = "Mistral"
    key_variable = "MISTRAL_API_KEY"

class CompletionProvider(MistralProvider):
    offline_path = r"/fim/completions$"
    offline_reply = {"completion": "offline completion"}

    def endpoint_path(self):
        return "/fim/completions"

    def read_reply(self, data):
        return ProviderResponse(text=data["completion"])

class EchoProvider(ChatProvider):
    vendor = "Echo"
    key_variable = "ECHO_API_KEY"

    def build_payload(self, prompt):
        return Payload({"messages": [{"content": message.content} for message in prompt]})

    def endpoint_path(self):
        return "/echo"

    def auth_headers(self, key):
        return {"x-api-key": key}

    def read_reply(self, data):
        return ProviderResponse(text=data["echo"])

class AnsweredEchoProvider(EchoProvider):
    offline_path = r"/echo$"
    offline_reply = {"echo": "offline echo"}

@pytest.fixture(scope="session")
def mistral_provider():
    provider = MistralProvider(model="mistral-large-latest", base_url="URL/v1")
    yield provider
    provider.close()

@pytest.fixture(scope="session")
def completion_provider():
    provider = CompletionProvider(model="codestral-latest", base_url="URL/v1")
    yield provider
    provider.close()

@pytest.fixture(scope="session")
def echo_provider():
    provider = EchoProvider(base_url="URL/v1")
    yield provider
    provider.close()

@pytest.fixture(scope="session")
def answered_echo_provider():
    provider = AnsweredEchoProvider(base_url="URL/v1")
    yield provider
    provider.close()

@pytest.fixture(scope="session")
def mistral_function_provider(mistral_provider):
    return lambda request: mistral_provider.send(request)

@pytest.fixture(scope="session")
def completion_function_provider(completion_provider):
    return lambda request: completion_provider.send(request)

@pytest.fixture(scope="session")
def answered_echo_function_provider(answered_echo_provider):
    return lambda request: answered_echo_provider.send(request)
"""
KEY_VARIABLES = ("MISTRAL_API_KEY", "ECHO_API_KEY")
KEY = "sk-real-0123456789"
SYSTEM_PROMPT = "You are a careful assistant."
CHAT_MESSAGES = [{"role": "system", "content": SYSTEM_PROMPT}, {"role": "user", "content": "hello"}]


@dataclass(frozen=True)
class Expected:
    """What a subclass sends and receives.

    Args:
        path: the path of its requests below the base URL.
        request: the body that it sends for the case HELLO.
        offline_text: the text of its response offline.
        auth_header: the name of the header with its key.
        auth_prefix: what stands in that header before the key.
        reply: a reply of its API.
    """

    path: str
    request: dict[str, Any]
    offline_text: str
    auth_header: str = "authorization"
    auth_prefix: str = "Bearer "
    reply: dict[str, Any] = field(default_factory=lambda: CHAT_REPLY)


EXPECTED = {
    "mistral": Expected(
        path="/chat/completions",
        request={"model": "mistral-large-latest", "messages": CHAT_MESSAGES},
        offline_text="(offline)",
    ),
    "completion": Expected(
        path="/fim/completions",
        request={"model": "codestral-latest", "messages": CHAT_MESSAGES},
        offline_text="offline completion",
        reply={"completion": "a real answer"},
    ),
    "answered_echo": Expected(
        path="/echo",
        request={"messages": [{"content": SYSTEM_PROMPT}, {"content": "hello"}]},
        offline_text="offline echo",
        auth_header="x-api-key",
        auth_prefix="",
        reply={"echo": "a real answer"},
    ),
}
each_subclass = pytest.mark.parametrize("name", EXPECTED)
each_key = pytest.mark.parametrize("key", [None, KEY], ids=["key not set", "key set"])
FORMS = ("", "_function")


@pytest.fixture
def subclasses(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project that defines the subclasses, with none of their keys set."""
    for variable in KEY_VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    run.write({"conftest.py": SUBCLASSES.replace("URL", "https://api.example")})
    return run


# --- offline


def test_offline_the_snapshot_has_the_request_whether_the_key_is_set_or_not(
    subclasses: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    subclasses.write({"a.eval.yaml": f"provider: [{', '.join(EXPECTED)}]{HELLO}"})
    subclasses.update().assert_outcomes(passed=3)
    for name, expected in EXPECTED.items():
        assert subclasses.snapshot(f"__snapshots__/a.eval/hello[{name}].yaml") == {
            "provider": name,
            "endpoint": f"POST {expected.path}",
            "question": "hello",
            "request": expected.request,
        }
    for variable in KEY_VARIABLES:
        monkeypatch.setenv(variable, KEY)
    subclasses().assert_outcomes(passed=3)


def test_offline_a_plain_function_may_send_through_a_subclass(subclasses: Run) -> None:
    subclasses.write({"a.eval.yaml": f"provider: [{', '.join(f'{name}_function' for name in EXPECTED)}]{HELLO}"})
    subclasses.update().assert_outcomes(passed=3)
    for name, expected in EXPECTED.items():
        # A function has no base URL, so the endpoint is the whole path.
        assert subclasses.snapshot(f"__snapshots__/a.eval/hello[{name}_function].yaml") == {
            "provider": f"{name}_function",
            "endpoint": f"POST /v1{expected.path}",
            "question": "hello",
            "request": expected.request,
        }


SEND = """
import pytest
from pytest_chatprompt import ProviderRequest

@pytest.fixture
def eval_request():
    return ProviderRequest(question="hello")

@pytest.fixture
def eval_provider({name}_provider):
    return {name}_provider

def test_it(eval_response, eval_api):
    assert eval_response.text == {text!r}
    assert [call.request.headers[{header!r}] for call in eval_api.calls] == [{credential!r}]
"""


@each_key
def test_offline_a_subclass_sends_a_placeholder_as_its_key_and_gets_its_own_reply(
    subclasses: Run, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    for variable in KEY_VARIABLES if key is not None else ():
        monkeypatch.setenv(variable, str(key))
    for name, expected in EXPECTED.items():
        for form in FORMS:
            test = SEND.format(
                name=f"{name}{form}",
                text=expected.offline_text,
                header=expected.auth_header,
                credential=f"{expected.auth_prefix}offline",
            )
            subclasses.write({f"test_{name}{form}.py": test})
    subclasses().assert_outcomes(passed=6)


PRINT_KEYS = """
@pytest.fixture(autouse=True)
def print_keys(eval_api):
    yield
    print("keys:", [call.request.headers["authorization"] for call in eval_api.calls])
"""


@each_key
def test_the_eval_api_of_a_case_sees_the_placeholder_and_not_the_key(
    subclasses: Run, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    if key is not None:
        monkeypatch.setenv("MISTRAL_API_KEY", key)
    subclasses.append("conftest.py", PRINT_KEYS)
    providers = ", ".join(f"mistral{form}, completion{form}" for form in FORMS)
    subclasses.write({"a.eval.yaml": f"provider: [{providers}]{HELLO}"})
    result = subclasses.update("-s")
    result.assert_outcomes(passed=4)
    assert result.stdout.str().count("keys: ['Bearer offline']") == 4
    assert KEY not in result.stdout.str()


ECHO_ROUTE = """
@pytest.fixture
def eval_api(eval_api):
    eval_api.post("https://api.example/v1/echo").respond(json={"echo": "routed"})
    return eval_api
"""


def test_offline_a_direct_subclass_without_an_offline_reply_needs_a_route(subclasses: Run) -> None:
    subclasses.write({"a.eval.yaml": f"provider: echo{HELLO}"})
    result = subclasses()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': nothing answers POST https://api.example/v1/echo offline; give the fixture eval_api a route for it, as in",
            "  eval_api.post('https://api.example/v1/echo').respond(json={...})",
            "or run with --chatprompt-live",
        ]
    )
    subclasses.append("conftest.py", ECHO_ROUTE)
    subclasses.update().assert_outcomes(passed=1)
    snapshot = subclasses.snapshot("__snapshots__/a.eval/hello[echo].yaml")
    assert (snapshot["endpoint"], snapshot["request"]) == ("POST /echo", EXPECTED["answered_echo"].request)


# --- live


@pytest.fixture
def live_subclasses(subclasses: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The project with the test server as every API, and all keys set."""
    subclasses.write({"conftest.py": SUBCLASSES.replace("URL", server.url)})
    for variable in KEY_VARIABLES:
        monkeypatch.setenv(variable, KEY)
    return subclasses


CHECK_ANSWER = """
def pytest_chatprompt_response(response):
    assert response.text == "a real answer"
"""


@pytest.mark.parametrize(
    ("name", "form"), [("mistral", ""), ("mistral", "_function"), ("completion", "_function"), ("answered_echo", "")]
)
def test_in_a_live_run_the_requests_of_a_subclass_are_prefetched(
    live_subclasses: Run, server: Server, name: str, form: str
) -> None:
    expected = EXPECTED[name]
    server.reply = Reply(expected.reply, delay_seconds=0.2)
    live_subclasses.append("conftest.py", CHECK_ANSWER)
    live_subclasses.write({"a.eval.yaml": eval_file(case_ids(4), provider=f"{name}{form}")})
    live_subclasses.update()
    assert server.requests == []
    live_subclasses("--chatprompt-live", "--chatprompt-concurrency", "3").assert_outcomes(passed=4)
    assert server.max_in_flight == 3
    assert sorted(server.last_contents) == case_ids(4)
    assert {path for path, _, _ in server.requests} == {f"/v1{expected.path}"}
    assert {headers[expected.auth_header] for _, headers, _ in server.requests} == {f"{expected.auth_prefix}{KEY}"}


@each_subclass
def test_in_a_live_run_a_case_of_a_subclass_that_differs_from_its_snapshot_is_not_sent(
    live_subclasses: Run, server: Server, name: str
) -> None:
    server.reply = Reply(EXPECTED[name].reply)
    live_subclasses.write({"a.eval.yaml": eval_file(case_ids(3), provider=name)})
    live_subclasses.update()
    live_subclasses.write(
        {"a.eval.yaml": eval_file(case_ids(3), provider=name).replace("content: c1", "content: changed")}
    )
    live_subclasses("--chatprompt-live").assert_outcomes(passed=2, failed=1)
    assert sorted(server.last_contents) == ["c0", "c2"]


def test_in_a_live_run_a_subclass_is_previewed_without_a_reply_of_eval_api(
    live_subclasses: Run, server: Server
) -> None:
    server.reply = Reply({"echo": "a real answer"})
    live_subclasses.write({"a.eval.yaml": f"provider: echo{HELLO}"})
    live_subclasses("--snapshot-update").assert_outcomes(failed=1)
    live_subclasses.append("conftest.py", CHECK_ANSWER)
    live_subclasses.update("--chatprompt-live").assert_outcomes(passed=1)
    snapshot = live_subclasses.snapshot("__snapshots__/a.eval/hello[echo].yaml")
    assert snapshot["request"] == server.requests[0][2] == EXPECTED["answered_echo"].request


ODD_NAMES = """
import pytest
from pytest_chatprompt import OpenAIProvider

class AcmeProvider(OpenAIProvider):
    vendor = "Acme"
    key_variable = "ACME_LOGIN"

    def auth_headers(self, key):
        return {"x-acme-auth": key}

@pytest.fixture(scope="session")
def acme_provider():
    return AcmeProvider(base_url="https://acme.example/v1")
"""


def test_the_key_of_a_subclass_is_a_secret_whatever_its_variable_and_header_are_called(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_LOGIN", "acme-0123456789abcdef")
    leaking = HELLO.replace("content: hello", "content: my key is acme-0123456789abcdef")
    run.write({"a.eval.yaml": f"provider: acme{leaking}", "conftest.py": ODD_NAMES})
    result = run("--snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'hello': what is sent to acme holds the key of Acme, under question;*"]
    )
    assert run.snapshots() == []
    assert "acme-0123456789abcdef" not in result.stdout.str()

"""Offline: sockets and environment variables while a provider sends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

import anthropic
import boto3
import google.genai
import openai
import pytest

from pytest_chatprompt.capture.offline import _is_installed, describe_missing_variable, offline
from pytest_chatprompt.errors import BlockedConnectionError, SnapshotError


@pytest.fixture
def listener() -> socket.socket:
    """A socket that listens on loopback."""
    return socket.create_server(("127.0.0.1", 0))


def call_method(family: int, kind: int, method: str, *arguments: object) -> None:
    with socket.socket(family, kind) as client:
        client.settimeout(1)
        getattr(client, method)(*arguments)


@pytest.mark.parametrize(
    ("attempt", "address"),
    [
        pytest.param(
            lambda: call_method(socket.AF_INET, socket.SOCK_STREAM, "connect", ("192.0.2.1", 80)),
            "192.0.2.1:80",
            id="connect",
        ),
        pytest.param(
            lambda: call_method(socket.AF_INET, socket.SOCK_STREAM, "connect_ex", ("192.0.2.1", 80)),
            "192.0.2.1:80",
            id="connect_ex",
        ),
        pytest.param(
            lambda: call_method(socket.AF_INET6, socket.SOCK_STREAM, "connect", ("2001:db8::1", 80)),
            "2001:db8::1:80",
            id="IPv6",
        ),
        pytest.param(
            lambda: call_method(socket.AF_INET, socket.SOCK_DGRAM, "sendto", b"x", ("192.0.2.1", 53)),
            "192.0.2.1:53",
            id="sendto",
        ),
        pytest.param(
            lambda: call_method(socket.AF_INET, socket.SOCK_DGRAM, "sendmsg", [b"x"], [], 0, ("192.0.2.1", 53)),
            "192.0.2.1:53",
            id="sendmsg",
        ),
        pytest.param(lambda: socket.gethostbyname("api.example"), "api.example", id="gethostbyname"),
        pytest.param(lambda: socket.gethostbyname_ex("api.example"), "api.example", id="gethostbyname_ex"),
        pytest.param(lambda: socket.getaddrinfo("api.example", 443), "api.example:443", id="getaddrinfo"),
        pytest.param(lambda: socket.getaddrinfo(b"api.example", 443), "api.example:443", id="getaddrinfo with bytes"),
        pytest.param(
            lambda: socket.create_connection(("api.example", 443), 1), "api.example:443", id="create_connection"
        ),
    ],
)
def test_an_attempt_to_reach_the_network_is_an_error(attempt: Callable[[], object], address: str) -> None:
    with offline() as attempts, pytest.raises(BlockedConnectionError) as caught:
        attempt()
    assert str(caught.value).startswith(f"no connection to {address}: this is an offline run, called at ")
    assert attempts.blocked == [address]


OUTSIDE = ("192.0.2.1", 53)
each_outside = pytest.mark.parametrize(
    ("family", "address"),
    [(socket.AF_INET, OUTSIDE), (socket.AF_INET6, ("::ffff:192.0.2.1", 53))],
    ids=["IPv4", "IPv6"],
)


@each_outside
@pytest.mark.parametrize("method", ["connect", "connect_ex"])
def test_a_udp_socket_that_is_connected_to_learn_the_own_address_sends_nothing(
    family: int, address: tuple[str, int], method: str
) -> None:
    def own_address() -> str:
        with socket.socket(family, socket.SOCK_DGRAM) as client:
            getattr(client, method)(address)
            return str(client.getsockname()[0])

    expected = own_address()
    with offline() as attempts:
        assert own_address() == expected
    assert (attempts.blocked, attempts.loopback) == ([], [])


def test_a_udp_socket_is_blocked_when_it_connects_to_a_name() -> None:
    with offline() as attempts, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        arguments = (client, ("api.example", 53))
        with pytest.raises(BlockedConnectionError):
            # A real connection would look the name up first.
            sys.audit("socket.connect", *arguments)
    assert attempts.blocked == ["api.example:53"]


def test_connections_to_loopback_are_allowed_and_noted(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    with listener, offline() as attempts, socket.create_connection(("localhost", port), 1):
        pass
    assert attempts.blocked == []
    assert {f"127.0.0.1:{port}"} <= set(attempts.loopback) <= {f"127.0.0.1:{port}", f"::1:{port}"}


def test_calls_without_a_network_address_are_allowed() -> None:
    with offline() as attempts:
        assert socket.getaddrinfo(None, 80)
        with socket.socket(socket.AF_UNIX) as client, pytest.raises(FileNotFoundError):
            client.connect("/nowhere/socket")
        first, second = socket.socketpair()
        with first, second:
            first.sendall(b"x")
            first.sendmsg((b"x",))
        assert socket.gethostbyname("localhost") == "127.0.0.1"
    assert (attempts.blocked, attempts.loopback) == ([], [])


def test_other_threads_are_offline_too() -> None:
    def look_up() -> None:
        with pytest.raises(BlockedConnectionError):
            socket.getaddrinfo("api.example", 443)

    with offline() as attempts:
        thread = threading.Thread(target=look_up)
        thread.start()
        thread.join()
    assert attempts.blocked == ["api.example:443"]


def test_everything_is_restored_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    monkeypatch.delenv("GEMINI_API_KEY", raising=False)
    monkeypatch.setenv("https_proxy", "http://proxy.example")
    before = (dict(os.environ), socket.getaddrinfo, dict(vars(socket.socket)))
    with pytest.raises(ZeroDivisionError), offline():
        raise ZeroDivisionError
    assert (dict(os.environ), socket.getaddrinfo, dict(vars(socket.socket))) == before


def test_a_guarded_function_that_a_module_kept_works_normally_after_the_guard() -> None:
    with offline() as attempts:
        getaddrinfo, connect = socket.getaddrinfo, socket.socket.connect
    with pytest.raises(socket.gaierror):
        getaddrinfo("name.invalid", 443, flags=socket.AI_NUMERICHOST)
    with socket.socket() as client, pytest.raises(ConnectionRefusedError):
        connect(client, ("127.0.0.1", 1))
    assert (attempts.blocked, attempts.loopback) == ([], [])


def test_a_guarded_function_that_a_module_kept_is_blocked_by_the_next_guard() -> None:
    with offline():
        getaddrinfo, connect = socket.getaddrinfo, socket.socket.connect
    with offline() as attempts:
        with pytest.raises(BlockedConnectionError):
            getaddrinfo("api.example", 443)
        with socket.socket() as client, pytest.raises(BlockedConnectionError):
            connect(client, ("192.0.2.1", 80))
    assert attempts.blocked == ["api.example:443", "192.0.2.1:80"]


def test_the_guard_of_another_tool_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket.socket, "connect", refuse)
    with offline():
        pass
    assert vars(socket.socket)["connect"] is refuse


def test_a_replaced_socket_class_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(socket, "socket", refuse)
    with offline() as attempts:
        assert vars(socket)["socket"] is refuse
    assert attempts.blocked == []


def changes(**arguments: Any) -> dict[str, str | None]:
    """The variables that are different offline."""
    before = dict(os.environ)
    with offline(**arguments):
        during = dict(os.environ)
    assert dict(os.environ) == before
    return {name: during.get(name) for name in before.keys() | during.keys() if before.get(name) != during.get(name)}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without the file of certificates that these tests have."""
    monkeypatch.delenv("SSL_CERT_FILE")
    return monkeypatch


PLAIN_KEYS = {"OPENAI_API_KEY": "offline", "ANTHROPIC_API_KEY": "offline", "GEMINI_API_KEY": "offline"}


@pytest.mark.usefixtures("bare")
def test_of_variables_that_are_not_set_only_the_plain_keys_of_installed_sdks_are() -> None:
    assert changes() == PLAIN_KEYS


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
        ("OPENAI_ORG_ID", "OPENAI_API_KEY"),
        ("AZURE_OPENAI_ENDPOINT", "OPENAI_API_KEY"),
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
        ("ANTHROPIC_PROFILE", "ANTHROPIC_API_KEY"),
        ("GOOGLE_GENAI_USE_VERTEXAI", "GEMINI_API_KEY"),
    ],
)
def test_a_plain_key_is_not_set_where_any_variable_of_its_vendor_is(
    bare: pytest.MonkeyPatch, name: str, left_out: str
) -> None:
    bare.setenv(name, "mine")
    assert changes() == {key: value for key, value in PLAIN_KEYS.items() if key != left_out}


def test_an_empty_variable_is_not_set(bare: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "ANTHROPIC_AUTH_TOKEN"):
        bare.setenv(name, "")
    assert changes() == PLAIN_KEYS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "offline"),
        ("OPENAI_ADMIN_KEY", "offline"),
        ("AZURE_OPENAI_API_KEY", "offline"),
        ("AZURE_OPENAI_AD_TOKEN", "offline"),
        ("ANTHROPIC_AUTH_TOKEN", "offline"),
        ("GOOGLE_API_KEY", "offline"),
        ("COHERE_API_KEY", "offline"),
        ("GROQ_API_KEY", "offline"),
        ("OPENROUTER_API_KEY", "offline"),
        ("MISTRAL_API_KEY", "offline"),
        ("AWS_BEARER_TOKEN_BEDROCK", "offline"),
        ("AWS_ACCESS_KEY_ID", "placeholder"),
        ("AWS_SECRET_ACCESS_KEY", "placeholder"),
        ("AWS_SESSION_TOKEN", "placeholder"),
        ("ACME_KEY", "offline"),
    ],
)
def test_a_credential_that_is_set_gets_another_value(bare: pytest.MonkeyPatch, name: str, value: str) -> None:
    bare.setenv(name, "mine")
    assert changes(placeholders=(), credentials=["ACME_KEY"]) == {name: value}


@pytest.mark.parametrize(
    "name",
    ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AZURE_OPENAI_ENDPOINT", "OPENAI_BASE_URL", "OLLAMA_HOST"],
)
def test_regions_endpoints_and_profiles_stay(bare: pytest.MonkeyPatch, name: str) -> None:
    bare.setenv(name, "mine")
    assert changes(placeholders=()) == {}


def test_the_variables_that_a_project_lists_are_set_in_place_of_the_plain_keys(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("AWS_REGION", "eu-west-1")
    listed = ["ACME", "AWS_REGION", "AWS_DEFAULT_REGION", "AZURE_OPENAI_ENDPOINT", "GROQ_BASE_URL"]
    assert changes(placeholders=listed) == {
        "ACME": "offline",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AZURE_OPENAI_ENDPOINT": "https://azure-openai.invalid",
        "GROQ_BASE_URL": "https://api.groq.com",
    }


def test_there_are_no_proxies(bare: pytest.MonkeyPatch) -> None:
    bare.setenv("ALL_PROXY", "socks5://proxy.example")
    assert changes(placeholders=()) == {"ALL_PROXY": None}


@pytest.mark.usefixtures("bare")
def test_whether_an_sdk_is_installed_is_known_without_importing_it() -> None:
    code = """
import os, sys
from pytest_chatprompt.capture.offline import offline
sys.modules["mistralai"] = type(sys)("mistralai")     # one without a spec
sys.modules["cohere"] = None                          # one that cannot be imported
sys.path.insert(0, sys.argv[1])
with offline():
    keys = [name for name in os.environ if name.endswith("_API_KEY")]
print(keys, [name for name in ("openai", "anthropic", "google.genai") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", code, "."], capture_output=True, text=True, check=True)
    assert run.stdout == "['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'GEMINI_API_KEY', 'MISTRAL_API_KEY'] []\n"


@pytest.mark.parametrize("package", ["nowhere", "nowhere.at_all", "google.nothing", "pytest.nothing"])
def test_a_package_that_is_missing_is_not_installed(package: str) -> None:
    assert not _is_installed(package)


def test_a_module_without_a_spec_is_no_reason_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bare_parent", ModuleType("bare_parent"))
    assert not _is_installed("bare_parent.child")


BEDROCK_MESSAGES = [{"role": "user", "content": [{"text": "x"}]}]


@pytest.mark.parametrize(
    ("use", "text"),
    [
        pytest.param(openai.OpenAI, "OPENAI_API_KEY", id="openai"),
        pytest.param(
            lambda: openai.AzureOpenAI(azure_endpoint="https://a.example", api_version="1"),
            "AZURE_OPENAI_API_KEY",
            id="Azure",
        ),
        pytest.param(
            lambda: openai.AzureOpenAI(api_key="x", api_version="1"), "AZURE_OPENAI_ENDPOINT", id="Azure's endpoint"
        ),
        pytest.param(
            lambda: openai.AzureOpenAI(api_key="x", azure_endpoint="https://a.example"),
            "OPENAI_API_VERSION",
            id="Azure's version",
        ),
        pytest.param(lambda: len(openai.models.list().data), "OPENAI_API_KEY", id="openai's module"),
        pytest.param(lambda: len(anthropic.Anthropic().models.list().data), "ANTHROPIC_API_KEY", id="anthropic"),
        pytest.param(anthropic.AnthropicBedrock, "AWS_REGION", id="anthropic on Bedrock"),
        pytest.param(google.genai.Client, "GEMINI_API_KEY", id="google-genai"),
        pytest.param(
            lambda: boto3.session.Session().client("bedrock-runtime"), "AWS_DEFAULT_REGION", id="AWS's region"
        ),
        pytest.param(
            lambda: (
                boto3.session.Session()
                .client("bedrock-runtime", region_name="eu-west-1")
                .converse(modelId="m", messages=BEDROCK_MESSAGES)
            ),
            "AWS_ACCESS_KEY_ID and no AWS_SECRET_ACCESS_KEY",
            id="AWS's credentials",
        ),
        pytest.param(lambda: os.environ["ACME_API_KEY"], "ACME_API_KEY", id="os.environ"),
    ],
)
def test_an_error_for_want_of_a_credential_names_its_variable(
    bare: pytest.MonkeyPatch, use: Callable[[], object], text: str
) -> None:
    bare.setenv("AWS_EC2_METADATA_DISABLED", "true")
    bare.setenv("HOME", "/nowhere")
    bare.setattr(openai, "api_type", None)
    bare.setattr(openai, "_client", None)
    with pytest.raises(Exception) as caught, offline(placeholders=()):  # noqa: PT011 - each SDK has its own
        use()
    wrapped = RuntimeError("the app says something else")
    wrapped.__context__ = caught.value
    for error in (caught.value, wrapped):
        shown = describe_missing_variable(error)
        assert shown.startswith(f"the environment has no {text}: set ")
        assert shown.partition("chatprompt_placeholders, which sets ")[2] in {
            "it while eval_api acts",
            "them while eval_api acts",
        }


@pytest.mark.parametrize(
    "error",
    [
        KeyError(),
        KeyError("name"),
        KeyError("DATABASE_PATH"),
        KeyError("key"),
        ValueError("MAX_TOKENS is too large"),
        AssertionError("the prompt names GROQ_API_KEY"),
        SnapshotError("the snapshot would hold the value of the environment variable ACME_API_KEY"),
        ValueError("OPENAI_API_KEY is set, so this is something else"),
    ],
    ids=repr,
)
def test_other_errors_name_no_variable(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    error.__context__ = RuntimeError("x")
    error.__context__.__context__ = error
    assert describe_missing_variable(error) == ""

"""`eval_api` in an ordinary test: it takes what the test's own code sends, and nothing else leaves the process."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runs.conftest import Run
from tests.server import Server

APP = """
import httpx

URL = "https://api.openai.com/v1/chat/completions"


def ask(text="hi", url=URL):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    reply = httpx.post(url, json=body)
    reply.raise_for_status()
    return reply.json()["choices"][0]["message"]["content"]
"""


@pytest.fixture
def own(run: Run) -> Run:
    run.write({"app.py": APP, "pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = .\n"})
    return run


# An application in a child process, which imports little.
CHILD_APP = """
import json
import os
from urllib.request import Request, urlopen

def ask(text):
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}", "content-type": "application/json"}
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    with urlopen(Request(url, json.dumps(body).encode(), headers)) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
"""
CHILD = {
    "child_app.py": CHILD_APP,
    "child.py": """
import os, subprocess, sys

def ask_in_a_child(eval_api):
    script = "import child_app; print(child_app.ask('child'))"
    environment = {**os.environ, **eval_api.environ}
    return subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
""",
}


def test_it_takes_and_answers_what_the_code_of_the_test_sends(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import app

def test_it(eval_api):
    eval_api.reply("Hello, Ada")
    assert [app.ask("one"), app.ask("two")] == ["Hello, Ada", "(offline)"]
    assert [(sent.endpoint, sent.question, sent.answered_by) for sent in eval_api.sent] == [
        ("POST /v1/chat/completions", "one", "reply"),
        ("POST /v1/chat/completions", "two", "default"),
    ]
    assert eval_api.sent[0].body["messages"] == [{"role": "user", "content": "one"}]
    assert eval_api.sent[0].url == app.URL

def test_the_next_test_starts_with_nothing(eval_api):
    assert eval_api.sent == ()
    assert app.ask() == "(offline)"

def test_without_it_nothing_is_taken():
    import httpcore
    from pytest_chatprompt.capture.clients.interceptor import current_interceptor
    assert current_interceptor() is None
    assert httpcore.ConnectionPool.handle_request.__module__.startswith("httpcore")
"""
        }
    )
    own().assert_outcomes(passed=3)


def test_classes_unittest_parameters_and_async_code_have_it_too(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import asyncio, unittest
import httpx, pytest
import app

class TestIt:
    @pytest.mark.parametrize("text", ["a", "b"])
    def test_method(self, eval_api, text):
        app.ask(text)
        assert [sent.question for sent in eval_api.sent] == [text]

class TestUnit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def api(self, eval_api):
        self.api = eval_api

    def test_unit(self):
        app.ask()
        assert len(self.api.sent) == 1

async def ask():
    async with httpx.AsyncClient() as client:
        return (await client.post(app.URL, json={})).status_code

def test_async(eval_api):
    async def both():
        return await asyncio.gather(ask(), ask())
    assert asyncio.run(both()) == [200, 200]
    assert len(eval_api.sent) == 2
"""
        }
    )
    own().assert_outcomes(passed=4)


def test_a_refusal_that_the_code_swallows_fails_the_test(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import socket
import app

def test_a_host_that_nothing_answers_for(eval_api):
    try:
        app.ask(url="https://elsewhere.example/models")
    except Exception:
        pass

def test_a_socket(eval_api):
    try:
        socket.create_connection(("elsewhere.example", 80))
    except Exception:
        pass
"""
        }
    )
    result = own()
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*_ test_a_host_that_nothing_answers_for _*",
            "nothing answers POST https://elsewhere.example/models offline; give the fixture eval_api a route for it*",
            "*_ test_a_socket _*",
            "*elsewhere.example*",
        ]
    )


def test_a_refusal_after_the_test_is_an_error_of_its_teardown(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import pytest, httpx

@pytest.fixture
def farewell(eval_api):
    yield
    httpx.get("https://elsewhere.example/bye")

def test_it(farewell):
    pass
"""
        }
    )
    result = own()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["nothing answers GET https://elsewhere.example/bye offline; *"])


def test_a_reply_that_no_request_takes_is_an_error_of_the_tear_down(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import pytest
import app

@pytest.fixture
def farewell(eval_api):
    yield
    assert app.ask() == "goodbye"

def test_it(eval_api):
    eval_api.reply("one")
    eval_api.reply("two")
    eval_api.reply("three", when="hi")
    eval_api.reply(error=429, when="goodbye")
    assert app.ask() == "three"
    assert app.ask() == "one"

def test_where_a_fixture_takes_the_last_reply(farewell, eval_api):
    eval_api.reply("goodbye")
"""
        }
    )
    result = own()
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_it*",
            "eval_api.reply queued 2 replies that no request has taken; remove them, or send their requests:",
            "  reply 2: 'two'",
            "  reply 4: error=429, when='goodbye'",
        ]
    )


def test_a_test_that_fails_or_is_skipped_anyway_is_reported_as_it_is(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import unittest
import pytest
import app

def test_fails(eval_api):
    eval_api.reply("one")
    assert app is None

def test_skips(eval_api):
    eval_api.reply("one")
    pytest.skip("not today")

@pytest.mark.xfail
def test_is_expected_to_fail(eval_api):
    eval_api.reply("one")
    assert app is None

@pytest.fixture
def broken(eval_api):
    eval_api.reply("one")
    raise ValueError

def test_never_begins(broken):
    pass

class TestUnit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def api(self, eval_api):
        eval_api.reply("one")

    def test_unit(self):
        self.skipTest("not today")
"""
        }
    )
    result = own()
    result.assert_outcomes(failed=1, skipped=2, xfailed=1, errors=1)
    result.stdout.no_fnmatch_line("*queued*")


# A mark, and the last line of a test that has it, or of its fixture.
ENDS = [
    ("", 'pytest.skip("not today")'),
    ("", 'pytest.xfail("known")'),
    ("", 'raise unittest.SkipTest("not today")'),
    ("@pytest.mark.xfail(raises=KeyError)", "raise_nothing = 1"),
]


def test_a_test_that_ends_early_fails_all_the_same_if_a_request_was_refused(own: Run) -> None:
    tests = [
        f"""
{mark}
def test_function_{number}(eval_api):
    httpx.get("https://elsewhere.example/{number}")
    {line}

@pytest.fixture
def early_{number}(eval_api):
    httpx.get("https://elsewhere.example/{number}/early")
    {line}

{mark}
def test_setup_{number}(early_{number}):
    pass
"""
        for number, (mark, line) in enumerate(ENDS)
    ]
    own.write({"test_it.py": "import unittest\nimport httpx, pytest\n" + "".join(tests)})
    result = own()
    # With a mark the error of the fixture is one of the test.
    result.assert_outcomes(failed=5, errors=3)
    for number in range(len(ENDS)):
        for path in (f"{number}", f"{number}/early"):
            result.stdout.fnmatch_lines([f"nothing answers GET https://elsewhere.example/{path} offline; *"])


def test_a_mark_expects_a_refusal_as_it_expects_any_failure(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import httpx, pytest

@pytest.mark.xfail
def test_it(eval_api):
    httpx.get("https://elsewhere.example/")
"""
        }
    )
    own().assert_outcomes(xfailed=1)


def test_a_refusal_in_a_test_of_unittest_is_shown_whatever_the_test_does_next(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import unittest
import httpx, pytest

class TestUnit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def api(self, eval_api):
        pass

    def test_skips(self):
        httpx.get("https://elsewhere.example/skips")
        self.skipTest("not today")

    def test_fails(self):
        httpx.get("https://elsewhere.example/fails")
        self.fail("no")

    def test_xfails(self):
        httpx.get("https://elsewhere.example/xfails")
        pytest.xfail("known")
"""
        }
    )
    result = own()
    result.assert_outcomes(failed=3)
    for name in ("skips", "fails", "xfails"):
        result.stdout.fnmatch_lines([f"nothing answers GET https://elsewhere.example/{name} offline; *"])


def test_a_refusal_is_shown_beside_failures_without_a_traceback(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import httpx, pytest

def test_text(eval_api):
    try:
        httpx.get("https://elsewhere.example/")
    finally:
        pytest.fail("no answer", pytrace=False)

def test_fixture(eval_api, request):
    try:
        httpx.get("https://elsewhere.example/")
    finally:
        request.getfixturevalue("missing")
"""
        }
    )
    result = own()
    result.assert_outcomes(failed=2)
    shown = ["*- eval_api -*", "nothing answers GET https://elsewhere.example/ offline; *"]
    result.stdout.fnmatch_lines(["no answer", *shown, "E       fixture 'missing' not found", *shown])


def test_an_error_of_a_child_process_after_the_test_is_an_error_of_its_tear_down(own: Run) -> None:
    own.write(
        {
            **CHILD,
            "test_it.py": """
import pytest
from child import ask_in_a_child

@pytest.fixture
def farewell(eval_api):
    yield
    eval_api.post(path="/v1/chat/completions").mock(side_effect=KeyError("mine"))
    ask_in_a_child(eval_api)

def test_it(farewell):
    pass
""",
        }
    )
    result = own()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["a request of a child process failed: 'mine'"])


def test_on_this_machine_only_known_apis_and_routes_are_taken(own: Run, server: Server) -> None:
    own.write(
        {
            "test_it.py": f"""
import app, httpx

def test_it(eval_api):
    assert httpx.post("{server.url}/mine", json={{}}).status_code == 200
    assert app.ask(url="{server.url}/v1/chat/completions") == "(offline)"
    assert len(eval_api.sent) == 1
"""
        }
    )
    own().assert_outcomes(passed=1)
    assert [path for path, _, _ in server.requests] == ["/mine"]


def test_an_allowed_host_is_reached(own: Run) -> None:
    own.write(
        {
            "pytest.ini": "[pytest]\npythonpath = .\nchatprompt_allowed_hosts = files.invalid\n",
            "test_it.py": """
import httpx, pytest

def test_it(eval_api):
    # The name does not exist: the error is that of the look-up, and not ours.
    with pytest.raises(httpx.ConnectError):
        httpx.get("https://files.invalid/")
    assert eval_api.sent == ()
""",
        }
    )
    own().assert_outcomes(passed=1)


@pytest.mark.parametrize("host", ["https://files.example", "files.example:80", "files.example/a"])
def test_an_allowed_host_is_a_host(own: Run, host: str) -> None:
    own.write({"pytest.ini": f"[pytest]\nchatprompt_allowed_hosts = {host}\n"})
    result = own()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: chatprompt_allowed_hosts: '{host}' is not a host; *"])


def test_a_child_process_that_is_led_to_the_server_is_taken_too(own: Run) -> None:
    own.write(
        {
            **CHILD,
            "test_it.py": """
from child import ask_in_a_child

def test_it(eval_api):
    eval_api.reply("to the child")
    assert ask_in_a_child(eval_api).stdout == "to the child\\n"
    assert [(sent.url, sent.question) for sent in eval_api.sent] == [
        ("https://api.openai.com/v1/chat/completions", "child")
    ]
""",
        }
    )
    own().assert_outcomes(passed=1)


KEY = "sk-live-0123456789abcdef"
SDKS = """
import os
import anthropic, boto3, openai, pytest

CHAT = dict(model="m", messages=[{"role": "user", "content": "x"}])
CONVERSE = dict(modelId="m", messages=[{"role": "user", "content": [{"text": "x"}]}])
"""


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({}, "https://api.openai.com/v1/chat/completions"),
        ({"OPENAI_API_KEY": KEY}, "https://api.openai.com/v1/chat/completions"),
        (
            {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://gateway.example/v1"},
            "https://gateway.example/v1/chat/completions",
        ),
        (
            {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_ENDPOINT": "https://me.example"},
            "https://me.example/openai/deployments/m/chat/completions?api-version=1",
        ),
    ],
    ids=["nothing set", "a key", "a gateway", "Azure"],
)
def test_an_app_that_looks_at_the_environment_takes_the_branch_that_it_takes_in_production(
    own: Run, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    own.write(
        {
            "test_it.py": SDKS
            + f"""
def test_it(eval_api):
    is_azure = os.getenv("AZURE_OPENAI_API_KEY")
    client = openai.AzureOpenAI(api_version="1") if is_azure else openai.OpenAI()
    client.chat.completions.create(**CHAT)
    assert eval_api.sent[0].url == {url!r}
    assert {KEY!r} not in str(eval_api.calls[0].request.headers)

def test_afterwards():
    names = [name for name in os.environ if name.startswith(("OPENAI", "AZURE", "ANTHROPIC", "GEMINI"))]
    assert {{name: os.environ[name] for name in names}} == {environment!r}
"""
        }
    )
    own().assert_outcomes(passed=2)


def test_clients_with_their_own_arguments_work_as_without_the_plugin(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    own.write({"aws": "[profile mine]\nregion = eu-central-1\n"})
    monkeypatch.setenv("AWS_CONFIG_FILE", str(own.path / "aws"))
    own.write(
        {
            "test_it.py": SDKS
            + """
KEYS = dict(aws_access_key_id="a", aws_secret_access_key="b")

def test_the_client_of_the_module(eval_api, monkeypatch):
    monkeypatch.setattr(openai, "api_type", None)
    monkeypatch.setattr(openai, "_client", None)
    monkeypatch.setattr(openai, "api_key", "x")
    openai.chat.completions.create(**CHAT)
    assert (openai.api_type, eval_api.sent[0].url) == ("openai", "https://api.openai.com/v1/chat/completions")

def test_anthropic_on_bedrock(eval_api):
    eval_api.post(host="bedrock-runtime.eu-west-1.amazonaws.com").respond(json={})
    client = anthropic.AnthropicBedrock(aws_access_key="a", aws_secret_key="b", aws_region="eu-west-1")
    client.messages.create(max_tokens=5, **CHAT)

def test_boto3_signs(eval_api):
    session = boto3.Session(region_name="eu-west-1", **KEYS)
    session.client("bedrock-runtime").converse(**CONVERSE)
    assert eval_api.calls[0].request.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=a/")

def test_the_region_is_that_of_the_profile(eval_api):
    boto3.Session(profile_name="mine", **KEYS).client("bedrock-runtime").converse(**CONVERSE)
    assert eval_api.sent[0].url.startswith("https://bedrock-runtime.eu-central-1.amazonaws.com/")

@pytest.mark.skipif("OPENAI_API_KEY" not in os.environ, reason="no key")
def test_skipped_by_a_mark(eval_api):
    assert False

@pytest.mark.parametrize("name", ["GROQ_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_REGION", "AZURE_OPENAI_API_KEY", "MISTRAL_API_KEY"])
def test_skips_itself(eval_api, name):
    if name not in os.environ:
        pytest.skip("no key")
    assert False
"""
        }
    )
    own().assert_outcomes(passed=4, skipped=6)


@pytest.mark.parametrize(
    ("ini", "names"),
    [
        ("", ["ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_API_KEY"]),
        ("chatprompt_placeholders = none", []),
        ("chatprompt_placeholders =", []),
        ("chatprompt_placeholders = GROQ_API_KEY AWS_REGION", ["AWS_REGION", "GROQ_API_KEY"]),
        ("chatprompt_placeholders =\n  GROQ_API_KEY\n  AWS_REGION", ["AWS_REGION", "GROQ_API_KEY"]),
    ],
    ids=["default", "none", "empty", "one line", "lines"],
)
def test_a_project_says_which_variables_are_set(own: Run, ini: str, names: list[str]) -> None:
    own.write(
        {
            "pytest.ini": f"[pytest]\npythonpath = .\n{ini}\n",
            "variables.py": """
import os

before = dict(os.environ)

def new():
    return sorted(name for name in os.environ if name not in before and "PYTEST" not in name)
""",
            "conftest.py": """
import pathlib, pytest, variables

def send(request):
    pathlib.Path("seen").write_text(str(variables.new()))
    return "x"

@pytest.fixture
def mine_provider():
    return send
""",
            "test_it.py": f"""
import variables

def test_it(eval_api):
    assert variables.new() == {names!r}
""",
            "a.eval.yaml": "provider: mine\nevalcases:\n  - {id: a, input_messages: [{role: user, content: x}]}\n",
        }
    )
    own("--snapshot-update").assert_outcomes(passed=2)
    assert (own.path / "seen").read_text() == str(names)


def test_a_name_that_is_none_is_a_usage_error(own: Run) -> None:
    own.write({"pytest.ini": "[pytest]\nchatprompt_placeholders = GROQ_API_KEY=x\n"})
    result = own()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: chatprompt_placeholders: 'GROQ_API_KEY=x' is not the name of an environment variable; "
            "list names, such as GROQ_API_KEY, without values; or write none"
        ]
    )


def test_a_test_that_fails_for_want_of_a_credential_says_which(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(own.path))
    own.write(
        {
            "test_it.py": SDKS
            + """
def test_azure(eval_api):
    openai.AzureOpenAI(azure_endpoint="https://me.example", api_version="1")

def test_aws(eval_api):
    boto3.Session(region_name="eu-west-1").client("bedrock-runtime").converse(**CONVERSE)

def test_anthropic_on_aws(eval_api):
    anthropic.AnthropicBedrock(aws_region="eu-west-1").messages.create(max_tokens=5, **CHAT)

def test_passes(eval_api):
    with pytest.raises(KeyError):
        os.environ["GROQ_API_KEY"]

def test_without_eval_api():
    os.environ["GROQ_API_KEY"]
""",
            "conftest.py": """
import os, pytest

@pytest.fixture
def mine_provider():
    return lambda request: os.environ["ACME_API_KEY"]
""",
            "a.eval.yaml": "provider: mine\nevalcases:\n  - {id: a, input_messages: [{role: user, content: x}]}\n",
        }
    )
    result = own()
    result.assert_outcomes(passed=1, failed=5)
    rest = "in the test or in conftest.py, as in monkeypatch.setenv("
    lines = [line for line in result.outlines if line.startswith("the environment has no ")]
    assert [line.partition(rest)[0] for line in lines] == [
        "the environment has no ACME_API_KEY: set it ",
        "the environment has no AZURE_OPENAI_API_KEY: set it ",
        "the environment has no AWS_ACCESS_KEY_ID and no AWS_SECRET_ACCESS_KEY: set them ",
        "the environment has no AWS_ACCESS_KEY_ID and no AWS_SECRET_ACCESS_KEY: set them ",
    ]
    result.stdout.no_fnmatch_line("*169.254.169.254*")


def test_an_error_that_cannot_say_what_it_is_fails_its_test_alone(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
class Broken(Exception):
    def __str__(self):
        return self.missing

    __repr__ = __str__

def test_fails(eval_api):
    raise Broken

def test_lacks_a_key(eval_api):
    raise KeyError(Broken())

def test_passes(eval_api):
    pass
"""
        }
    )
    result = own()
    result.assert_outcomes(failed=2, passed=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_fails - test_it.Broken: <exception str() failed>"])


@pytest.mark.parametrize("real", [KEY, None], ids=["set", "not set"])
def test_a_monkeypatch_that_ends_later_leaves_no_placeholder_behind(
    own: Run, monkeypatch: pytest.MonkeyPatch, real: str | None
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    if real is not None:
        monkeypatch.setenv("OPENAI_API_KEY", real)
    own.write(
        {
            "test_it.py": f"""
import os

def test_it(monkeypatch, eval_api):
    monkeypatch.setenv("OPENAI_API_KEY", "of the test")
    monkeypatch.setenv("HTTPS_PROXY", "http://other.example")
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    os.environ["GEMINI_API_KEY"] = "the test keeps it"

def test_afterwards():
    assert os.environ.get("OPENAI_API_KEY") == {real!r}
    assert os.environ.get("HTTPS_PROXY") == "http://proxy.example"
    assert "ANTHROPIC_API_KEY" not in os.environ
"""
        }
    )
    own().assert_outcomes(passed=2)


def test_a_key_that_a_fixture_has_set_is_a_secret_although_the_test_has_a_placeholder(own: Run) -> None:
    own.write(
        {
            "test_it.py": f"""
import os
import app, pytest

@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", "{KEY}")
    return "{KEY}"

def test_first(eval_api):
    pass

def test_it(key, eval_api, eval_snapshot):
    assert os.environ["GROQ_API_KEY"] == "offline"
    app.ask(f"my key is {{key}}")
    assert eval_api.sent == eval_snapshot
"""
        }
    )
    result = own("--snapshot-update")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*the value of the environment variable GROQ_API_KEY, under *"])
    assert KEY not in result.stdout.str()


def test_a_refusal_is_shown_where_the_error_of_the_client_says_nothing(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import httpx

def test_it(eval_api):
    httpx.get("https://elsewhere.example/").raise_for_status()
"""
        }
    )
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*httpx.HTTPStatusError: Client error '404 Not Answered (pytest-chatprompt)' for url*",
            "*eval_api*",
            "nothing answers GET https://elsewhere.example/ offline; give the fixture eval_api a route for it, as in",
        ]
    )


def test_live_the_requests_reach_the_api_but_for_queued_replies(own: Run, server: Server) -> None:
    server.reply_with({"choices": [{"message": {"content": "a real answer"}}]})
    own.write(
        {
            "test_it.py": f"""
import app

def test_it(eval_api):
    url = "{server.url}/v1/chat/completions"
    eval_api.reply("queued")
    assert [app.ask("one", url), app.ask("two", url)] == ["queued", "a real answer"]
    assert [sent.answered_by for sent in eval_api.sent] == ["reply", "network"]
"""
        }
    )
    own("--chatprompt-live").assert_outcomes(passed=1)
    assert server.last_contents == ["two"]


def test_workers_have_it_too(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import app, pytest

@pytest.mark.parametrize("number", range(4))
def test_it(eval_api, number):
    app.ask(str(number))
    assert [sent.question for sent in eval_api.sent] == [str(number)]
"""
        }
    )
    own("-n", "1").assert_outcomes(passed=4)


def test_in_an_eval_item_a_reply_that_no_request_takes_fails_the_case(own: Run) -> None:
    own.write(
        {
            "conftest.py": """
import pytest, app

@pytest.fixture
def mine_provider(eval_api):
    eval_api.reply("one")
    eval_api.reply("two")
    return lambda request: app.ask(request.question)
""",
            "a.eval.yaml": "provider: mine\nevalcases:\n  - {id: a, input_messages: [{role: user, content: hello}]}\n",
        }
    )
    result = own("--snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'a': eval_api.reply queued a reply that no request has taken; *", "  reply 2: 'two'"]
    )


def test_a_provider_that_calls_the_application_has_its_requests_in_the_snapshot(own: Run) -> None:
    own.write(
        {
            "conftest.py": """
import pytest, app

@pytest.fixture
def mine_provider(eval_api):
    eval_api.reply("again")

    async def send(request):
        first = app.ask(request.question)
        return app.ask(first)

    return send
""",
            "a.eval.yaml": "provider: mine\nevalcases:\n  - {id: a, input_messages: [{role: user, content: hello}]}\n",
        }
    )
    own.update()
    own().assert_outcomes(passed=1)
    requests: Any = own.snapshot("__snapshots__/a.eval/a[mine].yaml")["requests"]
    assert [(sent["endpoint"], sent["request"]["messages"][0]["content"]) for sent in requests] == [
        ("POST /v1/chat/completions", "hello"),
        ("POST /v1/chat/completions", "again"),
    ]


def test_live_a_case_is_compared_first_and_gets_its_queued_replies_again(own: Run, server: Server) -> None:
    server.reply_with({"choices": [{"message": {"content": "a real answer"}}]})
    own.write(
        {
            "conftest.py": f"""
import pytest, app

@pytest.fixture
def mine_provider(eval_api):
    eval_api.reply("again")
    url = "{server.url}/v1/chat/completions"
    return lambda request: app.ask(app.ask(request.question, url), url)

def pytest_chatprompt_response(response):
    assert response.text == "a real answer"
""",
            "a.eval.yaml": "provider: mine\nevalcases:\n  - {id: a, input_messages: [{role: user, content: hello}]}\n",
        }
    )
    own.update()
    own("--chatprompt-live").assert_outcomes(passed=1)
    assert server.last_contents == ["again"]


def test_live_the_request_of_a_child_process_is_forwarded_and_taken_once(
    own: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply_with({"choices": [{"message": {"content": "a real answer"}}]})
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key")
    own.write(
        {
            **CHILD,
            "test_it.py": """
from child import ask_in_a_child

def test_it(eval_api):
    assert ask_in_a_child(eval_api).stdout == "a real answer\\n"
    assert [(sent.url, sent.answered_by) for sent in eval_api.sent] == [
        ("https://api.openai.com/v1/chat/completions", "network")
    ]
""",
        }
    )
    own("--chatprompt-live").assert_outcomes(passed=1)
    ((path, headers, _),) = server.requests
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-real-key")


CHILD_CASE = {
    "child_app.py": CHILD_APP,
    "conftest.py": """
import os, subprocess, sys
import pytest

SCRIPT = "import child_app; print(child_app.ask(child_app.ask('child')))"

@pytest.fixture
def child_provider(eval_api):
    eval_api.reply("again")
    environ = eval_api.environ

    def send(request):
        child = subprocess.run(
            [sys.executable, "-c", SCRIPT], env={**os.environ, **environ}, capture_output=True, text=True
        )
        return child.stdout.strip() or "nothing"

    return send

def pytest_chatprompt_response(response):
    assert response.text == "a real answer"
""",
    "a.eval.yaml": "provider: child\nevalcases:\n  - {id: a, input_messages: [{role: user, content: hello}]}\n",
}


def test_live_a_case_whose_provider_runs_a_child_process_is_compared_first_and_then_forwarded(
    own: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply_with({"choices": [{"message": {"content": "a real answer"}}]})
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key")
    own.write(CHILD_CASE)
    own.update()
    assert server.requests == []
    own("--chatprompt-live").assert_outcomes(passed=1)
    ((path, headers, body),) = server.requests
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-real-key")
    # The reply that was queued is given to the first request again.
    assert body["messages"] == [{"role": "user", "content": "again"}]


def test_live_a_case_whose_child_process_sends_something_else_than_its_snapshot_sends_nothing(
    own: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    own.write(CHILD_CASE)
    own.with_snapshots()
    own.write({"conftest.py": CHILD_CASE["conftest.py"].replace("'child'", "'changed'")})
    result = own("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*what is sent to child is not what its snapshot says"])
    assert server.requests == []


def test_live_a_request_of_a_child_process_that_cannot_be_forwarded_fails_the_case_that_swallows_it(
    own: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real-key")
    own.write(CHILD_CASE)
    own.with_snapshots()
    # Nothing listens on this port.
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    result = own("--chatprompt-live")
    result.stdout.fnmatch_lines(
        ["*a request of a child process failed: POST https://api.openai.com/v1/chat/completions got no reply: *"]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_error_that_a_child_process_swallows_fails_the_test(own: Run) -> None:
    own.write(
        {
            **CHILD,
            "test_it.py": """
from child import ask_in_a_child

def test_it(eval_api):
    eval_api.post(path="/v1/chat/completions").mock(side_effect=KeyError("mine"))
    ask_in_a_child(eval_api)
""",
        }
    )
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["a request of a child process failed: 'mine'"])


def test_a_refusal_that_fails_a_fixture_is_shown_there_and_reported_once(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import httpx, pytest

@pytest.fixture
def models(eval_api):
    return httpx.get("https://elsewhere.example/").raise_for_status().json()

def test_it(models):
    pass
"""
        }
    )
    result = own()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at setup of test_it*", "nothing answers GET https://elsewhere.example/ offline; *"]
    )


def test_what_a_test_has_captured_is_let_go_when_the_test_is_over(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import asyncio, gc, unittest, weakref
import app, httpx, pytest

seen = []

@pytest.fixture(autouse=True)
def noted(eval_api):
    seen.append(weakref.ref(eval_api))
    yield
    # A body can be found by its type.
    seen.extend(weakref.ref(call.request) for call in eval_api.calls)

def test_default():
    app.ask()

def test_reply_and_route(eval_api):
    eval_api.reply("x")
    eval_api.get("https://x.example/").respond(json={})
    app.ask()
    httpx.get("https://x.example/")

def test_compares(eval_api, eval_snapshot):
    app.ask()
    assert eval_api.sent == eval_snapshot

@pytest.mark.parametrize("n", range(3))
def test_fails(eval_api, n):
    app.ask()
    sent = eval_api.sent
    assert sent == ()

def test_raises(eval_api):
    raise ValueError(eval_api)

@pytest.mark.xfail
def test_xfails(eval_api):
    assert eval_api.sent

def test_skips(eval_api):
    app.ask()
    pytest.skip("x")

def test_async():
    async def send():
        async with httpx.AsyncClient() as client:
            await client.post(app.URL, json={"messages": []})
    asyncio.run(send())

def test_another_process(eval_api):
    app.ask(url=eval_api.url + "/openai/v1/chat/completions")

class TestUnit(unittest.TestCase):
    def test_it(self):
        app.ask()

def test_at_last(eval_api):
    gc.collect()
    assert [each() for each in seen if each() is not None] == [eval_api]
    assert not [each for each in gc.get_objects() if type(each).__name__ == "SentRequest"]
    assert len(seen) > 20
""",
        }
    )
    own("--snapshot-update", "-k", "compares")
    for arguments in ([], ["--chatprompt-report=report.json"]):
        # pytester keeps the errors of a run in its own process.
        result = own.apart(*arguments)
        result.assert_outcomes(passed=7, failed=4, xfailed=1, skipped=1)
        result.stdout.no_fnmatch_line("*test_at_last*")


@pytest.mark.parametrize(
    "arguments", ["txt='x'", "tool_calls=[{'nme': 'f'}]", "json={1: {2}}", "error='429'", "text='x', when=3"]
)
def test_an_invalid_reply_shows_the_line_of_the_test_and_none_of_this_package(own: Run, arguments: str) -> None:
    own.write({"test_it.py": f"def test_it(eval_api):\n    eval_api.reply({arguments})\n"})
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f">       eval_api.reply({arguments})", "E       *Error: *", "test_it.py:2: *Error"])
    for machinery in ("pytest_chatprompt/", "reply.py", "reply_queue.py"):
        assert machinery not in result.stdout.str().partition("= FAILURES =")[2]

"""Live runs: a request is compared with its snapshot, then it goes to the API."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tests.runs.conftest import HELLO, MakeLiveProject, Run, case_ids
from tests.server import Reply, Server

REPLY = {"choices": [{"message": {"content": "a real answer"}, "finish_reason": "stop"}]}
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
    eval_api.post(path__regex="chat/completions").respond(json={{"choices": [{{"message": {{"content": "offline"}}}}]}})
    return eval_api
"""


@pytest.fixture
def run_with_snapshot(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project with one case that goes to the test server, and its snapshot."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-real")
    run.write({"a.eval.yaml": "provider: openai" + HELLO, "conftest.py": CONFTEST.format(url=server.url)})
    server.reply_with(REPLY)
    run.with_snapshots()
    assert server.requests == []
    return run


def test_the_api_gets_the_request_that_the_snapshot_shows(run_with_snapshot: Run, server: Server) -> None:
    run_with_snapshot("--chatprompt-live").assert_outcomes(passed=1)
    ((path, headers, body),) = server.requests
    assert (path, headers["authorization"]) == ("/v1/chat/completions", "Bearer sk-real")
    assert body == run_with_snapshot.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"]


def test_routes_of_eval_api_do_not_answer_in_a_live_run(run_with_snapshot: Run) -> None:
    run_with_snapshot.write(
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
    run_with_snapshot("--chatprompt-live").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "has_snapshot", [pytest.param(True, id="the snapshot differs"), pytest.param(False, id="there is no snapshot")]
)
def test_a_request_that_does_not_equal_its_snapshot_is_not_sent(
    run_with_snapshot: Run, server: Server, has_snapshot: bool
) -> None:
    if has_snapshot:
        run_with_snapshot.write(
            {"a.eval.yaml": "provider: openai" + HELLO.replace("content: hello", "content: changed")}
        )
    else:
        (run_with_snapshot.path / "__snapshots__/a.eval/hello[openai].yaml").unlink()
    run_with_snapshot("--chatprompt-live").assert_outcomes(failed=1)
    assert server.requests == []


def test_an_update_writes_the_snapshot_and_sends_the_request(run_with_snapshot: Run, server: Server) -> None:
    run_with_snapshot.write({"a.eval.yaml": "provider: openai" + HELLO.replace("content: hello", "content: changed")})
    run_with_snapshot.update("--chatprompt-live").assert_outcomes(passed=1)
    assert server.requests[0][2]["messages"][-1] == {"role": "user", "content": "changed"}


def test_the_error_about_a_missing_key_names_its_variable(
    run_with_snapshot: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    result = run_with_snapshot("--chatprompt-live")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': no key for OpenAI: set the environment variable OPENAI_API_KEY,"
            " or pass api_key to OpenAIProvider"
        ]
    )
    assert server.requests == []
    # Nor does the table of what was sent have a row for it.
    result.stdout.no_fnmatch_line("openai *")


@pytest.mark.parametrize(
    "key",
    ["sk-secret-0123\n", "sk-secret-0123 ", "sk-secret-0123\u2019"],
    ids=["line break", "blank", "quotation mark"],
)
def test_the_error_about_a_key_that_no_header_can_carry_does_not_show_it(
    run_with_snapshot: Run, server: Server, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    result = run_with_snapshot("--chatprompt-live", "-l", "-vv")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'hello': the key for OpenAI contains a space, a line break or *OPENAI_API_KEY*"]
    )
    assert "sk-secret" not in result.stdout.str()
    assert server.requests == []


def test_an_empty_key_counts_as_missing(
    run_with_snapshot: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    result = run_with_snapshot("--chatprompt-live")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'hello': no key for OpenAI: set the environment variable OPENAI_API_KEY,*"]
    )
    assert server.requests == []


def test_an_http_error_shows_the_status_and_the_message_without_the_key(run_with_snapshot: Run, server: Server) -> None:
    server.reply_with({"error": {"message": "Incorrect API key provided: sk-real"}}, status=401)
    result = run_with_snapshot("--chatprompt-live", "-l", "-vv")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["a.eval.yaml:3:5: case 'hello': OpenAI answered 401 Unauthorized: Incorrect API key provided: [[]key[]]"]
    )
    assert "sk-real" not in result.stdout.str()


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        pytest.param({"message": {"content": None, "refusal": "I cannot."}}, "I cannot.", id="a refusal"),
        pytest.param({"message": {}, "finish_reason": "content_filter"}, "content_filter", id="a filtered answer"),
    ],
)
def test_a_withheld_answer_fails_the_case(
    run_with_snapshot: Run, server: Server, choice: dict[str, Any], reason: str
) -> None:
    server.reply_with({"choices": [choice]})
    result = run_with_snapshot("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"a.eval.yaml:3:5: case 'hello': the API withheld the answer: {reason}"])


CHANGING_PROVIDER = """
class ChangingProvider:
    calls = 0

    def send(self, request):
        import httpx
        type(self).calls += 1
        httpx.post("URL/v1/chat/completions", json={"call": self.calls})
        return ProviderResponse(text="an answer")

@pytest.fixture
def openai_provider():
    return ChangingProvider()
"""


def test_a_provider_that_sends_a_different_request_in_the_live_run_fails_the_case(
    run_with_snapshot: Run, server: Server
) -> None:
    run_with_snapshot.write(
        {"conftest.py": CONFTEST.format(url=server.url) + CHANGING_PROVIDER.replace("URL", server.url)}
    )
    run_with_snapshot.update()
    result = run_with_snapshot("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*the live run sent something other than what was compared with the snapshot: the provider's requests change from call to call; *"
        ]
    )


# --- what the API may reply


def test_an_api_failure_is_an_error_of_its_case(live_project: MakeLiveProject, server: Server) -> None:
    server.script = lambda _, body: Reply({}, 500) if body["messages"][-1]["content"] == "c1" else Reply()
    run = live_project(3)
    result = run("--chatprompt-live", "--junitxml=out.xml")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at setup of c1*", "a.eval.yaml:5:5: case 'c1': OpenAI answered 500 Internal Server Error: {}"]
    )
    root = ET.parse(run.path / "out.xml").getroot()
    (suite,) = root.iter("testsuite")
    assert (suite.get("errors"), suite.get("failures"), suite.get("tests")) == ("1", "0", "3")
    properties = {
        case.get("name"): {each.get("name"): each.get("value") for each in case.iter("property")}
        for case in root.iter("testcase")
    }
    assert properties["c0"].pop("chatprompt_latency_seconds") is not None
    assert properties["c0"] == {
        "chatprompt_provider": "openai",
        "chatprompt_retries": "0",
        "chatprompt_input_tokens": "10",
        "chatprompt_output_tokens": "3",
        "chatprompt_cost_usd": "0.00014",
        "chatprompt_answer": "a real answer",
    }
    assert properties["c1"] == {"chatprompt_provider": "openai", "chatprompt_retries": "0"}


def test_a_rejected_request_or_an_empty_answer_fails_the_case(live_project: MakeLiveProject, server: Server) -> None:
    replies = {
        "c0": Reply({"error": {"message": "no"}}, 400),
        "c1": Reply({"error": {"message": "filtered", "code": "content_filter"}}, 400),
        "c2": Reply({"choices": [{"message": {"content": " \n"}, "finish_reason": "length"}]}),
    }
    server.script = lambda _, body: replies[body["messages"][-1]["content"]]
    result = live_project(3)("--chatprompt-live")
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'c0': OpenAI answered 400 Bad Request: no",
            "a.eval.yaml:5:5: case 'c1': OpenAI answered 400 Bad Request: filtered",
            "a.eval.yaml:7:5: case 'c2': the answer is empty (finish reason: length)",
        ]
    )


def test_an_answer_with_only_tool_calls_is_not_empty(live_project: MakeLiveProject, server: Server) -> None:
    function = {"name": "f", "arguments": "{}"}
    server.reply_with(
        {
            "choices": [
                {
                    "message": {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
                    "finish_reason": "tool_calls",
                }
            ]
        }
    )
    hook = """
def pytest_chatprompt_response(response):
    assert [call.function.name for call in response.tool_calls] == ["f"]
"""
    live_project(2, conftest=hook)("--chatprompt-live").assert_outcomes(passed=2)


@pytest.mark.parametrize("count", [42, pytest.param(420, marks=pytest.mark.soak)])
def test_with_a_faulty_api_every_case_passes_or_is_an_error(
    live_project: MakeLiveProject, server: Server, count: int
) -> None:
    faults = [
        Reply({}, 429, {"retry-after-ms": "5"}),
        Reply({}, 503),
        Reply(fault="drop before"),
        Reply(fault="drop inside"),
        Reply(b"<html>not JSON</html>"),
        Reply({}, 529, {"retry-after": "0.01"}),
        Reply(fault="drop after"),
    ]
    server.script = lambda number, _: faults[number // 3 % len(faults)] if number % 3 == 0 else Reply()
    short_waits = """
import sys
import pytest_chatprompt.providers.http.retry

sys.modules["pytest_chatprompt.providers.http.retry"]._FIRST_WAIT_SECONDS = 0.001
"""
    result = live_project(count, settings="max_retries=8", conftest=short_waits)(
        "--chatprompt-live", "--chatprompt-concurrency", "16", "-q"
    )
    outcomes = result.parseoutcomes()
    # A reply that is not JSON is not retried, so its case is an error. All others pass.
    assert set(outcomes) == {"passed", "errors"}
    assert outcomes["passed"] + outcomes["errors"] == count
    unreadable = sum(1 for number in range(0, len(server.requests), 3) if number // 3 % len(faults) == 4)
    assert outcomes["errors"] == unreadable
    assert set(server.last_contents) == set(case_ids(count))


HALF = r"half \ud83d a character"


@pytest.mark.parametrize("arguments", [["-n", "1"], []], ids=["in a worker", "without workers"])
def test_half_a_character_and_deep_json_are_errors_of_their_cases(
    live_project: MakeLiveProject, server: Server, arguments: list[str]
) -> None:
    replies = {
        "c0": Reply(f'{{"error": {{"message": "{HALF}", "code": "{HALF}"}}}}'.encode(), 400, {"x-request-id": "r"}),
        "c1": Reply(f'{{"choices": [{{"message": {{"content": "{HALF}"}}}}]}}'.encode()),
        "c2": Reply(b"[" * 100_000),
        "c3": Reply(HALF.encode(), 500),
    }
    server.script = lambda _, body: replies.get(body["messages"][-1]["content"], Reply())
    hook = """
def pytest_chatprompt_response(case, response):
    print(response.text)
    assert response.text == "a real answer"
"""
    run = live_project(5, conftest=hook)
    result = run("--chatprompt-live", "--chatprompt-record", "--junitxml=out.xml", *arguments)
    result.assert_outcomes(passed=1, failed=2, errors=2)
    result.stdout.fnmatch_lines(["*case 'c0': OpenAI answered 400 Bad Request: half \ufffd a character"])
    recorded = (run.path / "__snapshots__/a.eval/c1[openai].recording.yaml").read_text()
    # As the API wrote it: YAML could not hold it otherwise.
    assert r"half \ud83d a character" in recorded
    ET.parse(run.path / "out.xml")


# --- progress

FREQUENT_PROGRESS = """
import sys
import pytest_chatprompt.runs.live_run

sys.modules["pytest_chatprompt.runs.live_run"].PROGRESS_SECONDS = 0.05
"""


@pytest.mark.parametrize(
    "arguments",
    [["-n", "1"], ["-p", "no:terminal"], ["-p", "no:junitxml"]],
    ids=["in a worker", "without the terminal plugin", "without the junitxml plugin"],
)
def test_a_long_wait_without_a_terminal_is_not_an_error(
    live_project: MakeLiveProject, server: Server, arguments: list[str]
) -> None:
    server.reply = Reply(delay_seconds=0.15)
    assert live_project(2, conftest=FREQUENT_PROGRESS)("--chatprompt-live", *arguments).ret == 0
    assert len(server.requests) == 2


@pytest.mark.parametrize("capture", [["-s"], []], ids=["not captured", "captured"])
def test_progress_is_shown_during_a_long_wait(
    live_project: MakeLiveProject, server: Server, capture: list[str]
) -> None:
    server.reply = Reply(delay_seconds=0.25)
    result = live_project(3, conftest=FREQUENT_PROGRESS)("--chatprompt-live", "--chatprompt-concurrency", "2", *capture)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["waiting: 2 requests in flight, 0 answered"])


@pytest.mark.parametrize("repeat", ["1", "2"])
def test_no_answer_is_kept_once_its_case_has_run(live_project: MakeLiveProject, repeat: str) -> None:
    conftest = """
import gc
import weakref

responses = []

@pytest.fixture(autouse=True)
def uses_response(eval_response):
    responses.append(weakref.ref(eval_response))

def pytest_sessionfinish():
    gc.collect()
    print("\\n>", len(responses), "answers,", sum(each() is not None for each in responses), "kept")
"""
    run = live_project(3, conftest=conftest)
    for options in (["--chatprompt-live", "--chatprompt-record"], ["--chatprompt-replay"]):
        # What records the hooks of a run within this process keeps all that they get.
        result = run.apart("-s", *options, "--chatprompt-repeat", repeat)
        result.assert_outcomes(passed=3)
        result.stdout.fnmatch_lines(["> 3 answers, 0 kept"])


def test_a_gateway_in_the_variable_of_the_vendor_gets_what_is_sent_and_the_snapshot_does_not_change(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.reply_with(REPLY)
    run.write({"a.eval.yaml": HELLO})
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/team/v1/")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-gateway")
    run.update()
    assert server.requests == []
    snapshots = {name: (run.path / name).read_text() for name in run.snapshots()}
    run("--chatprompt-live").assert_outcomes(passed=1)
    assert [path for path, _, _ in server.requests] == ["/team/v1/chat/completions"]
    assert server.requests[0][1]["authorization"] == "Bearer sk-of-the-gateway"
    monkeypatch.delenv("OPENAI_BASE_URL")
    run().assert_outcomes(passed=1)
    assert {name: (run.path / name).read_text() for name in run.snapshots()} == snapshots

"""Live runs: requests in flight together, while the cases are reported one after the other."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.server import ANSWER, Answer, Server

from .conftest import Run

CONFTEST = """
import pytest
from pytest_chatprompt import OpenAIProvider, ProviderResponse

@pytest.fixture(scope="session")
def openai_provider():
    provider = OpenAIProvider(base_url="{url}", api_key="sk-live-0123456789", {settings})
    yield provider
    provider.close()
"""

Live = Callable[..., Run]


def cases(ids: Sequence[str], provider: str = "openai") -> str:
    lines = [f"  - id: {name}\n    input_messages: [{{role: user, content: {name}}}]" for name in ids]
    return "\n".join([f"provider: {provider}", "evalcases:", *lines, ""])


def numbered(count: int) -> list[str]:
    return [f"c{number}" for number in range(count)]


@pytest.fixture
def live(run: Run, server: Server) -> Live:
    """Makes a folder with cases that go to the server, their snapshots written."""

    def make(count: int = 8, *, conftest: str = "", settings: str = "max_retries=0", **files: str) -> Run:
        run.write(
            {
                "a.eval.yaml": cases(numbered(count)),
                "conftest.py": CONFTEST.format(url=server.url, settings=settings) + conftest,
                **files,
            }
        )
        run.update()
        assert server.requests == []
        return run

    server.answer = Answer(ANSWER)
    return make


def test_as_many_are_in_flight_as_may_be_and_each_is_sent_once(live: Live, server: Server) -> None:
    server.answer = Answer(ANSWER, delay_seconds=0.1)
    live(12)("--chatprompt-live", "--chatprompt-concurrency", "4").assert_outcomes(passed=12)
    assert server.most_in_flight == 4
    assert sorted(server.contents) == sorted(numbered(12))


def test_the_ini_says_how_many(live: Live, server: Server) -> None:
    server.answer = Answer(ANSWER, delay_seconds=0.05)
    run = live(6)
    run("--chatprompt-live", "-o", "chatprompt_concurrency=2").assert_outcomes(passed=6)
    assert server.most_in_flight == 2


def test_one_at_a_time_is_one_at_a_time(live: Live, server: Server) -> None:
    live(4)("--chatprompt-live", "--chatprompt-concurrency", "1").assert_outcomes(passed=4)
    assert server.most_in_flight == 1


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_a_number_that_cannot_be_meant_is_refused(run: Run, value: str) -> None:
    result = run(f"--chatprompt-concurrency={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --chatprompt-concurrency must be a whole number from 1, but is '{value}'"])


def test_cases_are_reported_in_their_order_whatever_the_order_of_the_answers(live: Live, server: Server) -> None:
    server.script = lambda _, body: Answer(ANSWER, delay_seconds=0.2 if body["messages"][-1]["content"] == "c0" else 0)
    result = live(4)("--chatprompt-live", "-v")
    result.stdout.fnmatch_lines([f"a.eval.yaml::c{number} PASSED*" for number in range(4)])


def test_only_what_is_selected_is_sent(live: Live, server: Server) -> None:
    live(6)("--chatprompt-live", "-k", "c1 or c3").assert_outcomes(passed=2, deselected=4)
    assert sorted(server.contents) == ["c1", "c3"]


def test_what_differs_or_has_no_snapshot_is_never_sent(live: Live, server: Server) -> None:
    run = live(6)
    run.write({"a.eval.yaml": cases(numbered(6)).replace("content: c2", "content: changed")})
    (run.path / "__snapshots__/a.eval/c4[openai].yaml").unlink()
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=4, failed=2)
    assert sorted(server.contents) == ["c0", "c1", "c3", "c5"]
    result.stdout.fnmatch_lines(["*case 'c2': what is sent to openai is not what its snapshot says*"])


def test_an_update_writes_and_then_sends_each_once(live: Live, server: Server) -> None:
    run = live(4)
    run.write({"a.eval.yaml": cases(numbered(4)).replace("content: c2", "content: changed")})
    run.update("--chatprompt-live").assert_outcomes(passed=4)
    assert sorted(server.contents) == ["c0", "c1", "c3", "changed"]


def test_nothing_more_is_sent_after_the_first_failure(live: Live, server: Server) -> None:
    failing = """
def pytest_chatprompt_response(case):
    assert case.id != "c1"
"""
    server.answer = Answer(ANSWER, delay_seconds=0.1)
    result = live(20, conftest=failing)("--chatprompt-live", "-x", "--chatprompt-concurrency", "3")
    result.assert_outcomes(passed=1, failed=1)
    # What had left before the stop may yet arrive.
    time.sleep(0.2)
    sent = len(server.requests)
    assert sent <= 6
    time.sleep(0.3)
    assert len(server.requests) == sent


def test_cases_that_may_not_run_are_not_sent_ahead(live: Live, server: Server) -> None:
    marks = """
def pytest_collection_modifyitems(items):
    items[2].add_marker(pytest.mark.skip(reason="not today"))
    items[3].add_marker(pytest.mark.skipif(True, reason="never"))
    items[4].add_marker(pytest.mark.xfail(run=False))
"""
    live(6, conftest=marks)("--chatprompt-live").assert_outcomes(passed=3, skipped=2, xfailed=1)
    assert sorted(server.contents) == ["c0", "c1", "c5"]


GATEWAY = """
import httpx

class Gateway:
    def send(self, request):
        reply = httpx.post("URL/chat/completions", json={"messages": [{"content": request.question}]})
        return ProviderResponse(text=reply.json().get("answer", "(none)"))

@pytest.fixture(scope="session")
def openai_provider():
    return Gateway()
"""
ROUTE = """
@pytest.fixture
def eval_api(eval_api):
    eval_api.post("URL/ask").respond(json={"answer": "canned"})
    return eval_api
"""


def test_a_provider_of_ones_own_is_sent_ahead_too_and_answered_for_real(live: Live, server: Server) -> None:
    # Offline, what it sends is answered as OpenAI's API is.
    own = GATEWAY.replace("URL", server.url)
    check = """
def pytest_chatprompt_response(response):
    assert response.text == "for real"
"""
    server.answer = Answer({"answer": "for real"}, delay_seconds=0.1)
    result = live(7, conftest=own + check)("--chatprompt-live", "--chatprompt-concurrency", "3")
    result.assert_outcomes(passed=7)
    assert sorted(server.contents) == numbered(7)
    assert server.most_in_flight == 3


def test_a_provider_of_ones_own_with_routes_of_its_own_is_sent_in_its_turn(live: Live, server: Server) -> None:
    server.answer = Answer({"answer": "for real"})
    own = (GATEWAY.replace("/chat/completions", "/ask") + ROUTE).replace("URL", server.url)
    live(4, conftest=own)("--chatprompt-live").assert_outcomes(passed=4)
    assert server.contents == numbered(4)


def test_of_several_providers_of_ones_own_each_gets_what_is_its(live: Live, server: Server) -> None:
    marks = """
def pytest_collection_modifyitems(items):
    items[1].add_marker(pytest.mark.skip(reason="not today"))
"""
    own = GATEWAY.replace("URL", server.url)
    other = own.replace("/chat", "/other/chat")
    run = live(
        3,
        conftest=own + marks,
        **{"b/conftest.py": "import pytest\nfrom pytest_chatprompt import ProviderResponse\n" + other},
    )
    run.write({"b/b.eval.yaml": cases(["b0", "b1"]), "test_c.py": "def test_it(): pass", "d.eval.yaml": cases(["d0"])})
    run.update()
    server.answer = Answer({"answer": "for real"})
    run("--chatprompt-live", "a.eval.yaml", "b", "test_c.py", "d.eval.yaml").assert_outcomes(passed=6, skipped=1)
    sent = {body["messages"][-1]["content"]: path for path, _, body in server.requests}
    assert {name for name, path in sent.items() if path.startswith("/other/")} == {"b0", "b1"}
    assert sorted(server.contents) == ["b0", "b1", "c0", "c2", "d0"]


def test_a_provider_of_ones_own_that_fails_is_told_in_its_turn(live: Live, server: Server) -> None:
    failing = GATEWAY.replace("URL", server.url).replace(
        "        reply =", "        assert request.eval_case_id != 'c2'\n        reply ="
    )
    server.answer = Answer({"answer": "for real"})
    run = live(1, conftest=failing)
    run.write({"a.eval.yaml": cases(numbered(4))})
    run("--snapshot-update")
    run("--chatprompt-live").assert_outcomes(passed=3, failed=1)
    assert sorted(server.contents) == ["c0", "c1", "c3"]


def test_a_narrower_provider_is_sent_in_its_turn(live: Live, server: Server) -> None:
    narrow = """
@pytest.fixture
def eval_provider(eval_case, eval_provider):
    return OpenAIProvider(base_url=eval_provider.base_url, api_key="k", model="own") if eval_case.id == "c3" else eval_provider
"""
    server.answer = Answer(ANSWER, delay_seconds=0.05)
    live(5, conftest=narrow)("--chatprompt-live").assert_outcomes(passed=5)
    assert server.most_in_flight == 1
    assert server.contents == numbered(5)
    assert [body["model"] for _, _, body in server.requests] == ["gpt-5.5"] * 3 + ["own", "gpt-5.5"]


def test_a_provider_with_parameters_is_sent_in_its_turn(live: Live, server: Server) -> None:
    parametrized = """
@pytest.fixture(scope="session", params=["one", "two"])
def openai_provider(request):
    provider = OpenAIProvider(base_url="URL", api_key="k", model=request.param)
    yield provider
    provider.close()
"""
    live(2, conftest=parametrized.replace("URL", server.url))("--chatprompt-live").assert_outcomes(passed=4)
    sent = [(body["model"], body["messages"][-1]["content"]) for _, _, body in server.requests]
    assert sorted(sent) == [("one", "c0"), ("one", "c1"), ("two", "c0"), ("two", "c1")]


def test_folders_with_providers_of_their_own_go_through_them(live: Live, server: Server) -> None:
    other = CONFTEST.format(url=f"{server.url}/other", settings="")
    run = live(4, **{"sub/conftest.py": other, "sub/b.eval.yaml": cases(["s0", "s1", "s2"])})
    run("--chatprompt-live").assert_outcomes(passed=7)
    sent = {body["messages"][-1]["content"]: path for path, _, body in server.requests}
    assert {name for name, path in sent.items() if path.startswith("/other/")} == {"s0", "s1", "s2"}
    assert len(server.requests) == 7


def test_nothing_is_on_its_way_while_an_ordinary_test_runs(live: Live, server: Server) -> None:
    ordinary = f"""
import httpx, respx, time

@respx.mock
def test_mocked():
    respx.post("{server.url}/chat/completions").respond(500)
    time.sleep(0.2)
    assert httpx.post("{server.url}/chat/completions").status_code == 500
"""
    server.answer = Answer(ANSWER, delay_seconds=0.05)
    run = live(3, **{"b/test_ordinary.py": ordinary, "c.eval.yaml": cases(["d0", "d1", "d2"])})
    run("--chatprompt-live", "a.eval.yaml", "b", "c.eval.yaml").assert_outcomes(passed=7)
    assert sorted(server.contents) == ["c0", "c1", "c2", "d0", "d1", "d2"]


def test_a_payload_with_a_warning_is_sent_in_its_turn(live: Live, server: Server) -> None:
    warned = cases(["w0", "w1"]).replace("content: w1}", "content: w1}, {role: assistant, content: go on}")
    run = live(2, **{"b.eval.yaml": warned, "pytest.ini": "[pytest]\nfilterwarnings = default\n"})
    run("--chatprompt-live", "-W", "error::pytest_chatprompt.PayloadWarning").assert_outcomes(passed=3, failed=1)
    assert sorted(server.contents) == ["c0", "c1", "w0"]


SKIPS = """
@pytest.fixture(autouse=True)
def some(eval_case):
    if eval_case.id != "c0":
        pytest.skip("not today")
"""
FAILS = """
@pytest.fixture(autouse=True, scope="module")
def ground(request):
    if request.node.name.endswith("b.eval.yaml"):
        pytest.fail("no ground for these")
"""


@pytest.mark.parametrize(
    ("setup", "outcomes"),
    [
        pytest.param(SKIPS, {"passed": 1, "skipped": 4}, id="that skips"),
        pytest.param(FAILS, {"passed": 3, "errors": 2}, id="of a file that fails"),
    ],
)
def test_a_setup_of_the_projects_own_runs_before_its_case_is_sent(
    live: Live, server: Server, setup: str, outcomes: dict[str, int]
) -> None:
    server.answer = Answer(ANSWER, delay_seconds=0.1)
    run = live(3, **{"b.eval.yaml": cases(["b0", "b1"])})
    run.write({"conftest.py": (run.path / "conftest.py").read_text() + setup})
    run("--chatprompt-live").assert_outcomes(**outcomes)
    assert server.contents == numbered(outcomes["passed"])


def test_a_provider_can_be_used_after_the_run_and_in_another_one(live: Live, server: Server) -> None:
    after = """
def pytest_terminal_summary(config):
    from pytest_chatprompt import ChatMessage, ProviderRequest

    if config.option.chatprompt_live:
        assert LATER[0].send(ProviderRequest(chat_prompt=[ChatMessage("user", "after")])).text == "a real answer"

LATER = []

@pytest.fixture(scope="session", autouse=True)
def later(openai_provider):
    LATER.append(openai_provider)
"""
    live(2, conftest=after)("--chatprompt-live").assert_outcomes(passed=2)
    assert server.contents[-1] == "after"


@pytest.mark.parametrize(
    "workers", [["-n", "2"], ["-n", "2", "--dist", "worksteal"], ["-n", "2", "--dist", "loadfile"]]
)
def test_workers_send_what_is_theirs_and_once(live: Live, server: Server, workers: list[str]) -> None:
    server.answer = Answer(ANSWER, delay_seconds=0.02)
    run = live(24)
    result = run("--chatprompt-live", "--junitxml=out.xml", *workers)
    result.assert_outcomes(passed=24)
    assert sorted(server.contents) == sorted(numbered(24))
    result.stdout.fnmatch_lines(["openai*24*240*72*0*"])
    properties = ET.parse(run.path / "out.xml").getroot().iter("property")
    assert ("chatprompt_openai_cases", "24") in {(one.get("name"), one.get("value")) for one in properties}


@pytest.mark.parametrize("scope", ["session", "function"])
def test_a_failure_in_one_worker_ends_what_waits_in_the_other(live: Live, server: Server, scope: str) -> None:
    conftest = f"""
@pytest.fixture(scope="{scope}")
def openai_provider():
    provider = OpenAIProvider(base_url="{server.url}", api_key="k", model="gpt-5.5")
    yield provider
    provider.close()
"""

    def script(_: int, body: Any) -> Answer:
        name = body["messages"][-1]["content"]
        if name == "c1":
            return Answer({"choices": [{"message": {"content": ""}}]}, delay_seconds=0.5)
        return Answer(ANSWER, delay_seconds=0 if name == "c0" else 60)

    server.script = script
    run = live(8, conftest=conftest)
    started = time.monotonic()
    result = run("--chatprompt-live", "-x", "-n", "2")
    assert time.monotonic() - started < 40
    assert result.ret != 0
    assert not list(Path(tempfile.gettempdir()).glob("chatprompt-stop-*"))


def test_ctrl_c_ends_at_once_what_waits_for_an_api_that_stalls(live: Live, server: Server) -> None:
    server.stall = threading.Event()
    run = live(6)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--chatprompt-live",
        "--chatprompt-concurrency=3",
    ]
    with subprocess.Popen(
        command, cwd=run.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        while len(server.requests) < 3:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        started = time.monotonic()
        output, _ = process.communicate(timeout=50)
    assert time.monotonic() - started < 40
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in output
    server.stall.set()
    assert len(server.requests) == 3


def test_an_api_that_is_not_there_is_an_error_of_the_case(live: Live, server: Server) -> None:
    server.script = lambda _, body: Answer({}, 500) if body["messages"][-1]["content"] == "c1" else Answer(ANSWER)
    run = live(3)
    result = run("--chatprompt-live", "--junitxml=out.xml")
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at setup of c1*", "a.eval.yaml:5:5: case 'c1': OpenAI answered 500 Internal Server Error: {}"]
    )
    root = ET.parse(run.path / "out.xml").getroot()
    (suite,) = root.iter("testsuite")
    assert (suite.get("errors"), suite.get("failures"), suite.get("tests")) == ("1", "0", "3")
    properties = {
        case.get("name"): {one.get("name"): one.get("value") for one in case.iter("property")}
        for case in root.iter("testcase")
    }
    assert properties["c0"].pop("chatprompt_latency_seconds") is not None
    assert properties["c0"] == {
        "chatprompt_provider": "openai",
        "chatprompt_retries": "0",
        "chatprompt_input_tokens": "10",
        "chatprompt_output_tokens": "3",
    }
    assert properties["c1"] == {"chatprompt_provider": "openai", "chatprompt_retries": "0"}
    totals = {one.get("name"): one.get("value") for one in suite.iter("properties").__next__()}
    assert totals["chatprompt_openai_input_tokens"] == "20 + 1 unknown"


def test_what_is_asked_for_after_the_stop_is_told(live: Live, server: Server) -> None:
    stopping = """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    live = item.config.pluginmanager.get_plugin("chatprompt-live")
    if live is not None and item.name == "c1":
        live.cancel()
"""
    run = live(3, conftest=stopping)
    marked = "def pytest_collection_modifyitems(items):\n    [item.add_marker(pytest.mark.skipif(False, reason='')) for item in items]\n"
    run.write({"conftest.py": (run.path / "conftest.py").read_text() + marked})
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["a.eval.yaml:5:5: case 'c1': the run was stopped"])
    assert server.contents == ["c0"]


@pytest.mark.parametrize(
    ("data", "status", "told"),
    [
        pytest.param({"error": {"message": "no"}}, 400, "OpenAI answered 400 Bad Request: no", id="a refused request"),
        pytest.param(
            {"error": {"message": "no", "code": "content_filter"}},
            400,
            "OpenAI answered 400 Bad Request: no",
            id="a filtered prompt",
        ),
        pytest.param(
            {"choices": [{"message": {"content": " \n"}, "finish_reason": "length"}]},
            200,
            "the answer is empty (finish reason: length)",
            id="an empty answer",
        ),
    ],
)
def test_an_answer_that_says_no_fails_the_case(live: Live, server: Server, data: Any, status: int, told: str) -> None:
    server.answer = Answer(data, status)
    result = live(2)("--chatprompt-live")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines([f"a.eval.yaml:3:5: case 'c0': {told}"])


def test_an_answer_of_calls_alone_is_not_empty(live: Live, server: Server) -> None:
    function = {"name": "f", "arguments": "{}"}
    server.answers(
        {
            "choices": [
                {
                    "message": {"content": None, "tool_calls": [{"id": "c", "type": "function", "function": function}]},
                    "finish_reason": "tool_calls",
                }
            ]
        }
    )
    graded = """
def pytest_chatprompt_response(response):
    assert [call.function.name for call in response.tool_calls] == ["f"]
"""
    live(2, conftest=graded)("--chatprompt-live").assert_outcomes(passed=2)


def test_retries_are_counted_and_unknown_usage_is_unknown(live: Live, server: Server) -> None:
    without_usage = {"choices": ANSWER["choices"]}
    server.script = lambda number, _: Answer({}, 503, {"retry-after-ms": "1"}) if number < 2 else Answer(without_usage)
    result = live(3, settings="")("--chatprompt-live")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "*what the live run took*",
            "provider  cases  input tokens  output tokens  retries  median latency  slowest latency",
            "openai        3       unknown        unknown        2 * s * s",
            "*3 passed*",
        ]
    )


IMPATIENT = """
import sys
import pytest_chatprompt.live

sys.modules["pytest_chatprompt.live"].PROGRESS_SECONDS = 0.1
"""


@pytest.mark.parametrize("quiet", [["-n", "1"], ["-p", "no:terminal"], ["-p", "no:junitxml"]])
def test_a_long_wait_is_no_trouble_where_there_is_nobody_to_tell(live: Live, server: Server, quiet: list[str]) -> None:
    server.answer = Answer(ANSWER, delay_seconds=0.3)
    assert live(2, conftest=IMPATIENT)("--chatprompt-live", *quiet).ret == 0
    assert len(server.requests) == 2


@pytest.mark.parametrize("capture", [["-s"], []])
def test_a_long_wait_is_told(live: Live, server: Server, capture: list[str]) -> None:
    server.answer = Answer(ANSWER, delay_seconds=0.35)
    result = live(3, conftest=IMPATIENT)("--chatprompt-live", "--chatprompt-concurrency", "2", *capture)
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["waiting: 2 requests in flight, 0 answered"])


def test_offline_the_number_does_nothing(live: Live, server: Server) -> None:
    live(3)("--chatprompt-concurrency", "32").assert_outcomes(passed=3)
    assert server.requests == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("chatprompt-")]


def test_no_thread_is_left_after_a_run(live: Live) -> None:
    live(4)("--chatprompt-live").assert_outcomes(passed=4)
    deadline = time.monotonic() + 5
    while any(thread.name.startswith("chatprompt-") for thread in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_run_of_faults_ends_with_every_case_accounted_for(live: Live, server: Server) -> None:
    faults = [
        Answer({}, 429, {"retry-after-ms": "5"}),
        Answer({}, 503),
        Answer(fault="drop before"),
        Answer(fault="drop inside"),
        Answer(b"<html>garbage</html>"),
        Answer({}, 529, {"retry-after": "0.01"}),
        Answer(ANSWER, fault="drop after"),
    ]
    server.script = lambda number, _: faults[number // 3 % len(faults)] if number % 3 == 0 else Answer(ANSWER)
    short_waits = """
import sys
import pytest_chatprompt.providers.patience

sys.modules["pytest_chatprompt.providers.patience"]._FIRST_WAIT_SECONDS = 0.001
"""
    count = 2000
    result = live(count, settings="max_retries=8", conftest=short_waits)(
        "--chatprompt-live", "--chatprompt-concurrency", "16", "-q"
    )
    outcomes = result.parseoutcomes()
    # Garbage is no answer, and is not asked for again: those cases are errors, all others pass.
    assert set(outcomes) == {"passed", "errors"}
    assert outcomes["passed"] + outcomes["errors"] == count
    garbage = sum(1 for number in range(0, len(server.requests), 3) if number // 3 % len(faults) == 4)
    assert outcomes["errors"] == garbage
    assert set(server.contents) == set(numbered(count))

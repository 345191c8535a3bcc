"""Two passes: a case runs as it does offline, is sent, and is graded once its answer is there."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from tests.runs.conftest import MakeLiveProject, case_ids, eval_file, lines
from tests.server import Reply, Server

LIVE = "--chatprompt-live"
LOG = """
def log(*texts):
    with open("log.txt", "a") as file:
        print(*texts, file=file)
"""


# --- no override costs parallelism

OF_THE_SET_UP = """
@pytest.fixture
def eval_case(eval_case, tmp_path):
    return eval_case

@pytest.fixture
def eval_request(eval_request):
    yield eval_request

@pytest.fixture
def eval_provider(eval_provider, request):
    yield eval_provider

@pytest.fixture(autouse=True)
def tidy():
    yield

@pytest.fixture(autouse=True, scope="module")
def tidy_file():
    yield

def pytest_runtest_setup(item):
    pass
"""
OF_THE_ANSWER = """
def pytest_chatprompt_response(response):
    assert response.text

@pytest.fixture(autouse=True)
def is_short(eval_response):
    assert len(eval_response.text) < 99
"""


@pytest.mark.parametrize("conftest", [OF_THE_SET_UP, OF_THE_ANSWER], ids=["of the set-up", "of the answer"])
def test_no_override_and_no_hook_costs_parallelism(
    live_project: MakeLiveProject, server: Server, conftest: str
) -> None:
    server.gather(6)
    result = live_project(6, conftest=conftest)(LIVE)
    result.assert_outcomes(passed=6)
    assert sorted(server.last_contents) == case_ids(6)
    result.stdout.no_fnmatch_line("*one by one*")


@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_a_provider_may_be_closed_before_its_request_is_sent(
    live_project: MakeLiveProject, server: Server, scope: str
) -> None:
    conftest = f"""
@pytest.fixture(scope="{scope}", params=["one", "two"])
def openai_provider(request):
    provider = OpenAIProvider(base_url="{server.url}", api_key="k", model=request.param)
    yield provider
    provider.close()
"""
    server.gather(6)
    live_project(3, conftest=conftest)(LIVE).assert_outcomes(passed=6)
    assert sorted(body["model"] for _, _, body in server.requests) == ["one"] * 3 + ["two"] * 3


def test_a_key_that_only_the_test_has_is_sent(live_project: MakeLiveProject, server: Server) -> None:
    conftest = f"""
@pytest.fixture(autouse=True)
def key(monkeypatch, eval_case):
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-test-{{eval_case.id}}-0123456789")

@pytest.fixture
def openai_provider():
    return OpenAIProvider(base_url="{server.url}", max_retries=0)
"""
    live_project(2, conftest=conftest)(LIVE).assert_outcomes(passed=2)
    assert sorted(headers["authorization"] for _, headers, _ in server.requests) == [
        f"Bearer sk-test-c{number}-0123456789" for number in range(2)
    ]


# --- what is never sent


def test_a_case_whose_tear_down_fails_is_not_sent(live_project: MakeLiveProject, server: Server) -> None:
    conftest = """
@pytest.fixture(autouse=True)
def leaves(eval_case):
    yield
    assert eval_case.id != "c1", "left something behind"
"""
    run = live_project(3)
    run.append("conftest.py", conftest)
    result = run(LIVE)
    result.assert_outcomes(passed=3, errors=1)
    assert sorted(server.last_contents) == ["c0", "c2"]


def test_a_case_that_is_skipped_while_it_runs_is_not_sent(live_project: MakeLiveProject, server: Server) -> None:
    conftest = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if item.name == "c1":
        pytest.skip("not today")
    return (yield)
"""
    run = live_project(3, conftest=conftest)
    run(LIVE).assert_outcomes(passed=2, skipped=1)
    assert sorted(server.last_contents) == ["c0", "c2"]


def test_after_the_failure_that_ends_a_run_nothing_more_is_compared(
    live_project: MakeLiveProject, server: Server
) -> None:
    run = live_project(20)
    run.write({"a.eval.yaml": eval_file(case_ids(20)).replace("content: c1}", "content: changed}")})
    run(LIVE, "-x").assert_outcomes(passed=1, failed=1)
    assert server.last_contents == ["c0"]


def test_a_circuit_breaker_in_a_report_hook_ends_what_waits(live_project: MakeLiveProject, server: Server) -> None:
    conftest = """
failures = []

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed:
        failures.append(report)
    if len(failures) == 2:
        item.session.shouldstop = "the API is down"
    return report
"""
    run = live_project(16, conftest=conftest)
    server.reply = Reply({}, 500, delay_seconds=0.05)
    result = run(LIVE, "--chatprompt-concurrency=2")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*the API is down*"])
    assert len(server.requests) <= 8


# --- the second pass


def test_only_who_asks_for_the_answer_is_set_up_twice(live_project: MakeLiveProject) -> None:
    conftest = f"""{LOG}
@pytest.fixture(autouse=True)
def around(eval_case):
    log("set up", eval_case.id)
    yield
    log("tear down", eval_case.id)
"""
    asks = """
@pytest.fixture(autouse=True)
def graded(around, eval_response, eval_case):
    log("answer of", eval_case.id)
"""
    run = live_project(1)
    run.append("conftest.py", conftest)
    run(LIVE).assert_outcomes(passed=1)
    once = ["set up c0", "tear down c0"]
    assert lines(run.path / "log.txt") == once
    run.append("conftest.py", asks)
    (run.path / "log.txt").unlink()
    run(LIVE).assert_outcomes(passed=1)
    assert lines(run.path / "log.txt") == [*once, "set up c0", "answer of c0", "tear down c0"]


def test_fixtures_of_files_and_of_the_run_end_once_they_are_not_needed(live_project: MakeLiveProject) -> None:
    conftest = f"""{LOG}
@pytest.fixture(autouse=True, scope="session")
def whole_run():
    log("run begins")
    yield
    log("run ends")

@pytest.fixture(autouse=True, scope="module")
def file(request):
    log("begin", request.node.name)
    yield
    log("end", request.node.name)

@pytest.fixture(autouse=True)
def graded(eval_case, eval_response):
    log("answer of", eval_case.id)
"""
    run = live_project(2, **{"b.eval.yaml": eval_file(["b0", "b1"])})
    run.append("conftest.py", conftest)
    run(LIVE).assert_outcomes(passed=4)
    logged = lines(run.path / "log.txt")
    assert (logged[0], logged[-1]) == ("run begins", "run ends")
    assert [line for line in logged if line.startswith("answer")] == [
        f"answer of {name}" for name in ("c0", "c1", "b0", "b1")
    ]
    assert [line.split()[0] for line in logged if "eval.yaml" in line] == ["begin", "end"] * (
        sum("begin " in line for line in logged)
    )


def test_a_fixture_of_the_run_that_fails_as_it_ends_is_an_error_of_the_last_case(live_project: MakeLiveProject) -> None:
    conftest = """
@pytest.fixture(autouse=True, scope="session")
def whole_run():
    yield
    print("printed at the end")
    raise OSError("cannot clean up")
"""
    run = live_project(2)
    run.append("conftest.py", conftest)
    result = run(LIVE)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*ERROR at teardown of c1*", "*OSError: cannot clean up", "printed at the end"])


def test_a_second_set_up_that_sends_something_else_is_an_error(live_project: MakeLiveProject, server: Server) -> None:
    conftest = """
import itertools
from pytest_chatprompt import ChatMessage

COUNT = itertools.count()

@pytest.fixture
def eval_request(eval_request):
    return eval_request.model_copy(update={"chat_prompt": (ChatMessage("user", f"number {next(COUNT)}"),)})

def pytest_chatprompt_response(response):
    pass
"""
    run = live_project(1)
    run.append("conftest.py", conftest)
    run("--snapshot-update", LIVE).assert_outcomes(failed=1)
    # The second set-up may come before the first request has left: then it never does.
    assert len(server.requests) <= 1


@pytest.mark.parametrize("grader", ["python check", "hook", "fixture"])
def test_what_a_grader_prints_logs_and_warns_of_belongs_to_its_case(live_project: MakeLiveProject, grader: str) -> None:
    graders = """
import logging, warnings

def grade(case, response):
    print("printed for", case.id)
    logging.getLogger("g").warning("logged for %s", case.id)
    warnings.warn(f"warned for {case.id}")
    assert case.id != "c1"
"""
    conftest = {
        "python check": "",
        "hook": "import graders\n\ndef pytest_chatprompt_response(case, response):\n    graders.grade(case, response)\n",
        "fixture": (
            "import graders\n\n@pytest.fixture(autouse=True)\ndef graded(eval_case, eval_response):\n"
            "    graders.grade(eval_case, eval_response)\n"
        ),
    }[grader]
    checks = 'checks: [{type: python, value: "graders:grade"}]\n' if grader == "python check" else ""
    run = live_project(
        3,
        conftest=conftest,
        **{
            "graders.py": graders,
            "a.eval.yaml": checks + eval_file(case_ids(3)),
            "pytest.ini": "[pytest]\nfilterwarnings = default\n",
        },
    )
    result = run(LIVE)
    assert result.parseoutcomes()["passed"] == 2
    assert result.parseoutcomes()["warnings"] == 3
    text = result.stdout.str()
    assert "printed for c1" in text
    assert "logged for c1" in text
    assert "printed for c2" not in text
    assert "logged for c2" not in text
    result.stdout.fnmatch_lines(["a.eval.yaml::c0", "*warned for c0"])


@pytest.mark.parametrize(("end", "outcome"), [("skip", "skipped"), ("fail", "errors")])
def test_the_second_set_up_may_skip_or_fail(
    live_project: MakeLiveProject, server: Server, end: str, outcome: str
) -> None:
    conftest = f"""
SET_UP = []

@pytest.fixture(autouse=True)
def graded(eval_case):
    SET_UP.append(eval_case.id)
    if SET_UP.count("c1") == 2 and eval_case.id == "c1":
        pytest.{end}("not twice")

def pytest_chatprompt_response(response):
    pass
"""
    run = live_project(3)
    run.append("conftest.py", conftest)
    run(LIVE).assert_outcomes(passed=2, **{outcome: 1})
    assert sorted(server.last_contents) == case_ids(3)


def test_pdb_stops_where_an_answer_fails(live_project: MakeLiveProject) -> None:
    conftest = """
def pytest_chatprompt_response(case):
    assert case.id != "c1"

class NoDebugger:
    quitting = False

    def __init__(self, **_):
        pass
    def reset(self):
        pass
    def interaction(self, *_):
        print("stopped here")
"""
    result = live_project(2, conftest=conftest)(LIVE, "--pdb", "--pdbcls=conftest:NoDebugger")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*stopped here*"])


def test_the_duration_of_a_case_includes_that_of_its_answer(live_project: MakeLiveProject, server: Server) -> None:
    server.reply = Reply(delay_seconds=0.3)
    run = live_project(3)
    run(LIVE, "--junitxml=out.xml").assert_outcomes(passed=3)
    times = [float(case.get("time", 0)) for case in ET.parse(run.path / "out.xml").getroot().iter("testcase")]
    assert len(times) == 3
    assert min(times) >= 0.3


# --- cases that are sent while their test runs

FIXTURE_OF_RESPONSE = "@pytest.fixture\ndef eval_response(eval_response):\n    return eval_response\n"
MARKED = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xfail(reason="-", strict=True))

def pytest_chatprompt_response():
    assert False
"""
OWN = """
import httpx

class Gateway:
    def send(self, request):
        reply = httpx.post("URL/chat/completions", json={"messages": [{"content": request.question}]})
        return ProviderResponse(text=reply.json()["choices"][0]["message"]["content"])

@pytest.fixture
def openai_provider():
    yield Gateway()
"""
FUNCTION = """
@pytest.fixture(scope="session")
def openai_provider():
    return lambda request: ProviderResponse(text="so")
"""
AGENT = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["echo", "{prompt}"])
"""
SERVED = (
    OWN.replace("fixture\n", 'fixture(scope="session")\n')
    + "@pytest.fixture\ndef eval_api(eval_api):\n    eval_api.url\n    return eval_api\n"
)
SOCKETS = """
import socket

class Proxied(socket.socket):
    pass

@pytest.fixture(autouse=True)
def replace_sockets(monkeypatch):
    monkeypatch.setattr(socket, "socket", Proxied)
"""
CONNECT = """
import socket

def guarded(self, address):
    return socket.SocketType.connect(self, address)

@pytest.fixture(autouse=True)
def replace_sockets(monkeypatch):
    monkeypatch.setattr(socket.socket, "connect", guarded)
"""


@pytest.mark.parametrize(
    ("conftest", "outcome", "reason"),
    [
        pytest.param(FIXTURE_OF_RESPONSE, "passed", "the fixture eval_response is overridden in conftest.py", id="override"),
        pytest.param(MARKED, "xfailed", "the mark xfail may skip or refuse them", id="mark"),
        pytest.param(OWN, "passed", "their provider is your own, and may need fixtures that end with each of them: give them session scope", id="own"),
        pytest.param(FUNCTION, "passed", "their provider makes no HTTP request that could be compared in advance", id="no request"),
        pytest.param(AGENT, "passed", "agents run one after the other", id="agent"),
        pytest.param(SERVED, "passed", "their provider needs eval_api, which ends with each of them", id="eval_api"),
        pytest.param(SOCKETS, "passed", "conftest has replaced socket.socket", id="socket"),
        pytest.param(CONNECT, "passed", "conftest has replaced socket.socket.connect", id="connect"),
    ],
)  # fmt: skip
def test_the_summary_says_why_cases_were_sent_one_by_one(
    live_project: MakeLiveProject, server: Server, conftest: str, outcome: str, reason: str
) -> None:
    run = live_project(3, conftest="" if conftest == MARKED else conftest.replace("URL", server.url))
    if conftest == MARKED:
        run.append("conftest.py", MARKED)
    result = run(LIVE)
    result.assert_outcomes(**{outcome: 3})
    assert server.max_in_flight <= 1
    result.stdout.fnmatch_lines(["*usage of the live run*", f"3 cases were sent one by one: {reason}"])


def test_who_asks_for_one_request_at_a_time_is_told_nothing(live_project: MakeLiveProject) -> None:
    result = live_project(3, conftest=FIXTURE_OF_RESPONSE)(LIVE, "--chatprompt-concurrency", "1")
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*one by one*")


def test_one_case_alone_is_no_slow_run(live_project: MakeLiveProject) -> None:
    result = live_project(1, conftest=FIXTURE_OF_RESPONSE)(LIVE)
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*one by one*")


# --- workers of pytest-xdist


@pytest.mark.measures_processes
def test_cases_that_are_lost_with_their_worker_are_errors(live_project: MakeLiveProject, server: Server) -> None:
    conftest = """
import os

def pytest_chatprompt_response(case):
    if case.id == "c0":
        os._exit(1)
"""
    run = live_project(4, conftest=conftest)
    result = run(LIVE, "-n", "1", "--max-worker-restart=0")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*its worker crashed before its answer was graded*"])
    assert sorted(server.last_contents) == sorted(set(server.last_contents))


@pytest.mark.measures_processes
@pytest.mark.parametrize("distribution", ["load", "loadscope"])
def test_workers_report_each_case_once_in_whatever_distribution(
    live_project: MakeLiveProject, server: Server, distribution: str
) -> None:
    failing = "def pytest_chatprompt_response(case):\n    assert case.id not in ('c1', 'c7')\n"
    run = live_project(12, conftest=failing, **{"b.eval.yaml": eval_file(["b0", "b1"])})
    result = run(LIVE, "-n", "2", "--dist", distribution)
    result.assert_outcomes(passed=12, failed=2)
    assert sorted(server.last_contents) == sorted([*case_ids(12), "b0", "b1"])


@pytest.mark.parametrize("scope", ["function", "module"])
def test_a_provider_of_ones_own_is_sent_while_the_fixtures_of_its_test_last(
    live_project: MakeLiveProject, server: Server, scope: str
) -> None:
    conftest = f"""
import os
import httpx

@pytest.fixture(scope="{scope}", autouse=True)
def staging():
    os.environ["TENANT"] = "staging"
    yield
    del os.environ["TENANT"]

@pytest.fixture(scope="session")
def openai_provider():
    def send(request):
        tenant = os.environ.get("TENANT", "production")
        headers = {{"x-tenant": tenant, "authorization": "Bearer k"}}
        reply = httpx.post("{server.url}/chat/completions", headers=headers, json={{"messages": [request.question]}})
        return reply.json()["choices"][0]["message"]["content"]

    return send
"""
    run = live_project(3, conftest=conftest)
    result = run(LIVE, "--chatprompt-concurrency=3")
    result.assert_outcomes(passed=3)
    assert [headers["x-tenant"] for _, headers, _ in server.requests] == ["staging"] * 3
    result.stdout.fnmatch_lines(
        [
            "3 cases were sent one by one: their provider is your own, and may need fixtures that end with each of them: give them session scope"
        ]
    )

"""Repeats in runs: several cases, other providers, workers, stops, other plugins, and what reports have of them."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.results.report_schema import report_validator
from tests.runs.conftest import case_ids
from tests.runs.test_repeats import (
    BAD,
    DOWN,
    GOOD,
    LIVE,
    ONE_BY_ONE,
    RECORD,
    REPLAY,
    MakeRun,
    answer,
    recorded_numbers,
    repeated,
    scripted,
)
from tests.runs.test_stopping import wait_until
from tests.server import Reply, Server

__all__ = ["repeated"]


def many(count: int, repeat: int, pass_rate: float = 1.0) -> str:
    """A file with several cases, which send their own ids."""
    cases = [f"  - id: {name}\n    input_messages: [{{role: user, content: {name}}}]" for name in case_ids(count)]
    head = f"provider: openai\nrepeat: {repeat}\npass_rate: {pass_rate}\nchecks: [{{type: contains, value: good}}]"
    return "\n".join([head, "evalcases:", *cases, ""])


# --- sent ahead


def test_the_repeats_of_several_cases_are_in_flight_together(repeated: MakeRun, server: Server) -> None:
    run = repeated(many(4, 3))
    server.gather(12)
    result = run(LIVE, "--chatprompt-concurrency=12")
    result.assert_outcomes(passed=4)
    assert Counter(server.last_contents) == dict.fromkeys(case_ids(4), 3)
    assert server.max_in_flight == 12
    result.stdout.fnmatch_lines(
        ["openai *4 *120 *36 *0 *", "4 cases were sent more than once, and 12/12 answers passed."]
    )


def test_no_more_requests_are_in_flight_than_the_concurrency_allows(repeated: MakeRun, server: Server) -> None:
    run = repeated(many(4, 5))
    run(LIVE, "--chatprompt-concurrency=3").assert_outcomes(passed=4)
    assert len(server.requests) == 20
    assert server.max_in_flight <= 3


def test_a_case_that_is_sent_ahead_replays_what_is_recorded_and_sends_the_rest_if_it_has_to(
    repeated: MakeRun, server: Server
) -> None:
    # With this rate, c0 and c2 need both of their answers, whichever comes first.
    run = repeated(many(3, 2, 1.0))
    server.script = lambda _, body: BAD if body["messages"][-1]["content"] == "c1" else GOOD
    run(LIVE, RECORD).assert_outcomes(passed=2, failed=1)
    server.requests.clear()
    (run.path / "a.eval.yaml").write_text(many(3, 4, 0.5), encoding="utf-8")
    # Two of four are enough for c0 and c2, and two failures leave c1 open: two of three may still pass.
    run(LIVE, REPLAY).assert_outcomes(passed=2, failed=1)
    assert set(server.last_contents) == {"c1"}
    names = [f"__snapshots__/a.eval/{name}[openai].recording.yaml" for name in case_ids(3)]
    assert recorded_numbers(run, names[0]) == recorded_numbers(run, names[2]) == [1, 2]
    assert recorded_numbers(run, names[1])[:3] == [1, 2, 3]


def test_the_requests_of_a_case_that_is_skipped_are_ended(repeated: MakeRun, server: Server) -> None:
    skipping = (
        "import pytest\n\ndef pytest_runtest_setup(item):\n    if item.name == 'c1':\n        pytest.skip('not today')"
    )
    run = repeated(many(3, 3), **{"env/site-packages/installed.py": skipping})
    server.script = lambda _, body: Reply(
        GOOD.data, delay_seconds=20 if body["messages"][-1]["content"] == "c1" else 0.1
    )
    result = run(LIVE, "-p", "installed", "-o", "pythonpath=env/site-packages")
    result.assert_outcomes(passed=2, skipped=1)
    assert result.duration < 15


def test_cases_with_a_fixture_of_their_own_are_sent_together(repeated: MakeRun, server: Server) -> None:
    conftest = "\n@pytest.fixture(autouse=True)\ndef own(eval_case):\n    pass\n"
    run = repeated(many(2, 3), conftest)
    server.gather(6)
    run(LIVE).assert_outcomes(passed=2)
    assert server.max_in_flight == 6


def test_the_cases_of_a_session_provider_and_of_its_override_are_each_in_flight_together(
    repeated: MakeRun, server: Server
) -> None:
    conftest = """
@pytest.fixture(scope="session")
def other_provider(openai_provider):
    return openai_provider

def pytest_chatprompt_response(response):
    assert "good" in response.text
"""
    run = repeated(many(2, 3).replace("provider: openai", "provider: [openai, other]"), conftest)
    server.gather(12)
    run(LIVE, "--chatprompt-concurrency=12").assert_outcomes(passed=4)
    assert len(server.requests) == 12
    assert server.max_in_flight == 12


# --- other providers

GATEWAY = """
import httpx

@pytest.fixture(scope="{scope}")
def openai_provider({fixture}):
    def gateway(request):
        body = {{"model": "m", "messages": [{{"role": "user", "content": request.question}}]}}
        reply = httpx.post("{url}/chat/completions", json=body, timeout=60)
        return reply.json()["choices"][0]["message"]["content"]
    return gateway
"""


@pytest.mark.parametrize(
    ("scope", "fixture", "in_flight"), [("session", "", 4), ("function", "", 4), ("function", "tmp_path", 1)]
)
def test_a_provider_of_your_own_sends_in_threads_if_it_may_be_sent_ahead(
    repeated: MakeRun, server: Server, scope: str, fixture: str, in_flight: int
) -> None:
    run = repeated(many(2, 4), GATEWAY.format(scope=scope, fixture=fixture, url=server.url))
    if in_flight > 1:
        server.gather(in_flight)
    run(LIVE, RECORD).assert_outcomes(passed=2)
    assert len(server.requests) == 8
    assert server.max_in_flight >= in_flight
    assert in_flight > 1 or server.max_in_flight == 1
    assert recorded_numbers(run) == [1, 2, 3, 4]
    for options in ((REPLAY,), (LIVE, REPLAY)):
        run(*options).assert_outcomes(passed=2)
    assert len(server.requests) == 8


def test_a_provider_in_this_thread_stops_as_soon_as_the_outcome_is_certain(repeated: MakeRun, server: Server) -> None:
    run = repeated(many(1, 5), GATEWAY.format(scope="function", fixture="tmp_path", url=server.url))
    server.script = scripted(GOOD, BAD)
    run(LIVE, RECORD).assert_outcomes(failed=1)
    assert len(server.requests) == 2
    run(LIVE, REPLAY).assert_outcomes(failed=1)
    assert len(server.requests) == 2
    # With another rate the recorded answers decide nothing, and one more does.
    run.write({"a.eval.yaml": many(1, 5, 0.4)})
    server.script = None
    run(LIVE, REPLAY).assert_outcomes(passed=1)
    assert len(server.requests) == 3
    assert recorded_numbers(run) == [1, 2, 3]


AGENT = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["sh", "-c", "echo x >> {count}; test $(wc -l < {count}) != 2 && echo good || echo poor"])
"""


def test_an_agent_runs_once_after_the_other_and_its_answers_are_replayed_by_number(
    repeated: MakeRun, tmp_path: Path
) -> None:
    count = tmp_path / "count"
    run = repeated(many(1, 3, 0.6), AGENT.format(count=count))
    result = run(LIVE, RECORD, "-rP")
    result.assert_outcomes(passed=1)
    # The first and the third pass.
    result.stdout.fnmatch_lines(["2/3 answers passed: 67 % (95 % interval 21 % to 94 %); 2 of 3 must pass"])
    assert count.read_text().count("x") == 3
    assert recorded_numbers(run) == [1, 2, 3]
    for options in ((REPLAY,), (LIVE, REPLAY)):
        result = run(*options, "-rP")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["2/3 answers passed: *", "answer 2 of 3: 1 check failed: contains 'good'"])
        result.stdout.fnmatch_lines(["3 replies were replayed, which saved 0 input and 0 output tokens*"])
    run(LIVE, REPLAY, "--chatprompt-repeat=4").assert_outcomes(passed=1)
    assert count.read_text().count("x") == 4
    assert recorded_numbers(run) == [1, 2, 3, 4]


def test_a_provider_that_waits_for_no_answer_is_sent_once(repeated: MakeRun) -> None:
    conftest = """
sent = []

@pytest.fixture
def openai_provider():
    def send(request):
        sent.append(request)
        return ProviderResponse(text="", is_awaited=False)
    return send

def pytest_sessionfinish():
    with open("count.txt", "w") as file:
        file.write(str(len(sent)))

def pytest_chatprompt_response():
    raise AssertionError
"""
    run = repeated(many(1, 3), conftest)
    result = run(LIVE, "-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*EvalFileWarning: 1 check was not graded: openai does not wait for an answer"])
    # Once to compare, once to send.
    assert (run.path / "count.txt").read_text() == "2"
    run.write({"a.eval.yaml": many(1, 3).replace("checks: [{type: contains, value: good}]", "")})
    run(LIVE).assert_outcomes(passed=1)


def test_a_provider_whose_requests_change_fails_the_case_at_once(repeated: MakeRun, server: Server) -> None:
    conftest = """
import httpx

class Changing:
    calls = 0

    def send(self, request):
        type(self).calls += 1
        httpx.post("{url}/chat/completions", json={{"messages": [{{"content": "c0"}}], "call": max(self.calls, 2)}})
        return ProviderResponse(text="good")

@pytest.fixture
def openai_provider():
    return Changing()
"""
    run = repeated(many(1, 3), conftest.format(url=server.url).replace("2)", "1)"))
    result = run(LIVE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the live run sent something other than what was compared with the snapshot: *"])


# --- rows, providers, other plugins


def test_each_row_and_each_provider_has_its_own_repeats(repeated: MakeRun, server: Server) -> None:
    file = """
provider: [openai, second]
repeat: 2
evalcases:
  - id: qa
    parametrize: [{id: paris, city: Paris}, {id: rome, city: Rome}]
    input_messages: [{role: user, content: "Where is {{ city }}?"}]
  - id: once
    repeat: 1
    input_messages: [{role: user, content: hi}]
"""
    second = "\n@pytest.fixture(scope='session')\ndef second_provider(openai_provider):\n    return openai_provider\n"
    run = repeated(file, second)
    run(LIVE, RECORD).assert_outcomes(passed=6)
    assert Counter(server.last_contents) == {"Where is Paris?": 4, "Where is Rome?": 4, "hi": 2}
    assert recorded_numbers(run, "__snapshots__/a.eval/qa[second-rome].recording.yaml") == [1, 2]
    run(REPLAY).assert_outcomes(passed=6)


def test_an_invalid_case_is_reported_as_ever(repeated: MakeRun) -> None:
    run = repeated(many(2, 2))
    run.write(
        {"a.eval.yaml": many(2, 2) + "  - id: x\n    repeat: 0\n    input_messages: [{role: user, content: x}]\n"}
    )
    result = run(LIVE)
    result.assert_outcomes(passed=2, errors=1)
    result.stdout.fnmatch_lines(["*case 'x': 'repeat' must be a whole number from 1, but is the number 0"])


def test_ordinary_tests_are_not_repeated(repeated: MakeRun, server: Server) -> None:
    test = """
import httpx

def test_it(eval_api):
    httpx.post("{url}/chat/completions", json={{"model": "m", "messages": []}})
    assert len(eval_api.sent) == 1
"""
    run = repeated(many(1, 2), **{"test_b.py": test.format(url=server.url)})
    run(LIVE, "--chatprompt-repeat=3").assert_outcomes(passed=2)
    assert len(server.requests) == 4


RERUNS = """
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    # As pytest-rerunfailures does.
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for _ in range(2):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if not any(report.failed for report in reports):
            break
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
"""


def test_a_plugin_that_runs_failures_again_sends_no_case_again(repeated: MakeRun, server: Server) -> None:
    # After the first answer the outcome is open, so that the second one is sent too.
    run = repeated(many(1, 2, 0.5), RERUNS)
    server.reply = BAD
    run(LIVE, RECORD).assert_outcomes(failed=1)
    assert len(server.requests) == 2


@pytest.mark.measures_processes
def test_workers_repeat_too(repeated: MakeRun, server: Server) -> None:
    run = repeated(many(4, 3, 0.6))
    server.script = lambda _, body: answer("good" if body["messages"][-1]["content"] != "c2" else "poor")
    result = run(LIVE, RECORD, "-n", "2", "--chatprompt-report=report.json")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["4 cases were sent more than once, and */* answers passed; not all of these:"])
    cases = json.loads((run.path / "report.json").read_text(encoding="utf-8"))["results"]
    assert {case["case_id"]: case["repeats"]["passed"] >= 2 for case in cases} == {
        "c0": True,
        "c1": True,
        "c2": False,
        "c3": True,
    }
    server.requests.clear()
    run(REPLAY).assert_outcomes(passed=3, failed=1)
    assert server.requests == []


# --- stops


def test_under_x_nothing_more_is_sent_after_a_case_that_failed(repeated: MakeRun, server: Server) -> None:
    run = repeated(many(20, 4))
    server.reply = Reply(BAD.data, delay_seconds=0.1)
    result = run(LIVE, "-x", "--chatprompt-concurrency=2")
    result.assert_outcomes(failed=1)
    assert len(server.requests) <= 6


def test_ctrl_c_records_the_answers_that_have_arrived(repeated: MakeRun, server: Server) -> None:
    run = repeated(many(2, 3))
    end = threading.Event()

    def script(number: int, body: Any) -> Reply:
        # The first two answers of c0 arrive, and all of c1; then the last one of c0 is cut off.
        if body["messages"][-1]["content"] == "c0" and server.last_contents[:number].count("c0") == 2:
            end.wait(60)
        return GOOD

    server.script = script
    interrupting = """
import time
from pytest_chatprompt.runs.live_run import LiveRun

configs, calls = [], []

def pytest_configure(config):
    configs.append(config)

def pytest_chatprompt_response(response):
    calls.append(response)
    if len(calls) == 2:
        deadline = time.monotonic() + 60
        while LiveRun.of(configs[0]).pool.finished < 5:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        raise KeyboardInterrupt
"""
    run.append("conftest.py", interrupting)
    with pytest.raises(KeyboardInterrupt):
        run(LIVE, RECORD)
    end.set()
    assert len(recorded_numbers(run, "__snapshots__/a.eval/c1[openai].recording.yaml")) == 3
    assert len(recorded_numbers(run)) == 2
    wait_until(lambda: server.in_flight == 0)
    server.requests.clear()
    server.script = None
    conftest = (run.path / "conftest.py").read_text(encoding="utf-8").replace("len(calls) == 2", "False")
    run.write({"conftest.py": conftest})
    run(LIVE, REPLAY).assert_outcomes(passed=2)
    assert server.last_contents == ["c0"]


def test_a_run_that_is_stopped_from_elsewhere_is_an_error_of_the_case(repeated: MakeRun) -> None:
    stopping = """
def pytest_chatprompt_response(response):
    config.pluginmanager.get_plugin("chatprompt-live").cancel()

def pytest_configure(config):
    globals()["config"] = config
"""
    run = repeated(many(1, 9), stopping)
    result = run(LIVE, ONE_BY_ONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*case 'c0': the run was stopped"])


# --- reports


def test_reports_have_every_answer(repeated: MakeRun, server: Server) -> None:
    run = repeated()
    server.script = scripted(GOOD, DOWN, BAD, GOOD, answer("good too"))
    paths = ("report.json", "report.md", "report.html")
    result = run(LIVE, ONE_BY_ONE, "--junitxml=junit.xml", *(f"--chatprompt-report={path}" for path in paths))
    result.assert_outcomes(errors=1)
    report = json.loads((run.path / "report.json").read_text(encoding="utf-8"))
    report_validator().validate(report)
    (case,) = report["results"]
    repeats = case["repeats"]
    attempts = repeats.pop("attempts")
    assert repeats == {"planned": 5, "pass_rate": 0.8, "needed": 4, "passed": 3, "interval": [0.3006, 0.9544]}
    assert [(attempt["number"], attempt["outcome"]) for attempt in attempts] == [
        (1, "passed"),
        (2, "error"),
        (3, "failed"),
        (4, "passed"),
        (5, "passed"),
    ]
    assert [attempt.get("response", {}).get("text") for attempt in attempts] == [
        "good",
        None,
        "poor",
        "good",
        "good too",
    ]
    assert case["response"]["text"] == "good"
    assert case["error"]["message"].startswith("3/4 answers passed: ")
    (junit,) = ElementTree.parse(run.path / "junit.xml").getroot().iter("testcase")
    entries = [(str(each.get("name")), str(each.get("value"))) for each in junit.iter("property")]
    assert [value for name, value in entries if name == "chatprompt_answer"] == ["good", "poor", "good", "good too"]
    verdicts = [value.partition(":")[0] for name, value in entries if name == "chatprompt_check"]
    assert verdicts == ["passed", "failed", "passed", "passed"]
    properties = {name: value for name, value in entries if name not in ("chatprompt_answer", "chatprompt_check")}
    assert json.loads(str(properties.pop("chatprompt_latency_seconds")).replace("'", '"'))[4] == "unknown"
    # Four answers with ten and three tokens each.
    *costs, unknown = json.loads(str(properties.pop("chatprompt_cost_usd")).replace("'", '"'))
    assert (costs, unknown) == ([0.00014] * 4, "unknown")
    assert properties == {
        "chatprompt_provider": "openai",
        "chatprompt_retries": "0",
        "chatprompt_input_tokens": "[10, 10, 10, 10, 'unknown']",
        "chatprompt_output_tokens": "[3, 3, 3, 3, 'unknown']",
        "chatprompt_passed_answers": "3/4",
        "chatprompt_pass_interval": "0.3006 to 0.9544",
    }
    (error,) = junit.iter("error")
    assert "answer 3 of 5: 1 check failed" in (error.text or "")
    result.stdout.fnmatch_lines(["openai *1 *40 + 1 unknown *12 + 1 unknown *0 * $0.00056 + 1 unknown"])


def test_a_secret_in_an_answer_is_redacted_everywhere(repeated: MakeRun, server: Server) -> None:
    run = repeated()
    server.reply = answer("sk-live-0123456789")
    result = run(LIVE, RECORD, "--chatprompt-report=report.json", "--junitxml=junit.xml")
    result.assert_outcomes(failed=1)
    assert "sk-live-0123456789" not in result.stdout.str()
    for name in ("report.json", "junit.xml", "__snapshots__/a.eval/c0[openai].recording.yaml"):
        text = (run.path / name).read_text(encoding="utf-8")
        assert "sk-live-0123456789" not in text
        assert "[secret]" in text


def test_offline_reports_know_nothing_of_repeats(repeated: MakeRun) -> None:
    run = repeated()
    run("--chatprompt-report=report.json").assert_outcomes(passed=1)
    assert "repeats" not in (run.path / "report.json").read_text(encoding="utf-8")


# --- judges, costs and providers side by side

JUDGED = """
provider: openai
repeat: 3
pass_rate: 0.6
evalcases:
  - id: c0
    checks: [{type: llm_rubric, value: is fine}]
    input_messages: [{role: user, content: c0}]
"""


def judged(number_of_poor: int, together: int) -> Callable[[int, Any], Reply]:
    """Answers with numbers, the first after so many were asked for; a judge lets all but one of them pass."""
    lock, numbers, asked = threading.Lock(), iter(range(100)), threading.Semaphore(0)

    def script(_: int, body: Any) -> Reply:
        if "response_format" not in body:
            with lock:
                number = next(numbers)
            if number + 1 == together:
                asked.release(100)
            assert asked.acquire(timeout=60)
            return answer(f"answer {number}")
        passes = f"answer {number_of_poor}" not in json.dumps(body)
        return answer(json.dumps({"reason": "it is so", "pass": passes}))

    return script


@pytest.mark.parametrize(("options", "together"), [((), 3), ((ONE_BY_ONE,), 1)])
def test_a_judge_is_asked_about_each_answer_and_its_verdicts_are_replayed_with_it(
    repeated: MakeRun, server: Server, options: tuple[str, ...], together: int
) -> None:
    run = repeated(JUDGED)
    # Else two that pass could be certain before the third is sent.
    server.script = judged(0, together)
    result = run(LIVE, RECORD, "-rP", *options)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["2/3 answers passed: *; 2 of 3 must pass", "*llm_rubric 'is fine': *it is so*"])
    assert len(server.requests) == 6
    numbers = recorded_numbers(run)
    assert Counter(numbers) == {1: 2, 2: 2, 3: 2}
    server.requests.clear()
    for mode in ((REPLAY,), (LIVE, REPLAY)):
        result = run(*mode, "-rP")
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(["2/3 answers passed: *; 2 of 3 must pass"])
        result.stdout.fnmatch_lines(["6 replies were replayed, *"])
    assert server.requests == []


def test_a_judge_that_gives_no_verdict_leaves_an_answer_unknown(repeated: MakeRun, server: Server) -> None:
    run = repeated(JUDGED.replace("0.6", "1.0"))
    server.script = lambda _, body: answer("no verdict" if "response_format" in body else "good")
    result = run(LIVE, ONE_BY_ONE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*case 'c0': 3 answers could not be obtained or graded; 3 of 3 must pass"])


def test_providers_side_by_side_count_all_answers(repeated: MakeRun, server: Server) -> None:
    second = "\n@pytest.fixture(scope='session')\ndef second_provider(openai_provider):\n    return openai_provider\n"
    run = repeated(many(2, 3, 0.3).replace("provider: openai", "provider: [openai, second]"), second)
    server.reply = GOOD
    result = run(LIVE, "--chatprompt-concurrency=12")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*providers side by side*"])


def test_an_estimate_counts_each_repeat(repeated: MakeRun) -> None:
    run = repeated(JUDGED)
    result = run(LIVE, "--collect-only")
    result.stdout.fnmatch_lines(["(judge) *3 *", "openai *3 *", "total *6 *"])

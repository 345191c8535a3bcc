"""Prefetching: a live run has several requests in flight at once, and reports the cases one after the other."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from pytest_chatprompt.runs import live_run
from tests.runs.conftest import LIVE_CONFTEST, MakeLiveProject, Run, case_ids, eval_file
from tests.server import Reply, Server


def test_as_many_requests_are_in_flight_as_allowed_and_each_is_sent_once(
    live_project: MakeLiveProject, server: Server
) -> None:
    server.gather(4)
    live_project(12)("--chatprompt-live", "--chatprompt-concurrency", "4").assert_outcomes(passed=12)
    assert server.max_in_flight == 4
    assert sorted(server.last_contents) == sorted(case_ids(12))


def test_only_so_many_cases_wait_for_an_answer_before_them(
    live_project: MakeLiveProject, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_run, "_MOST_HELD", 5)
    sent_with_the_first: list[str] = []

    def script(_: int, body: Any) -> Reply:
        """Keep the first case waiting until others have been sent, and could be too many."""
        if body["messages"][-1]["content"] == "c0":
            deadline = time.monotonic() + 60
            while len(server.requests) < 5 and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(0.2)
            sent_with_the_first.extend(sorted(server.last_contents))
        return server.reply

    server.script = script
    live_project(12)("--chatprompt-live", "--chatprompt-concurrency", "2").assert_outcomes(passed=12)
    assert sent_with_the_first == ["c0", "c1", "c2", "c3", "c4"]
    assert sorted(server.last_contents) == sorted(case_ids(12))


def test_the_ini_limits_the_requests_in_flight(live_project: MakeLiveProject, server: Server) -> None:
    server.gather(2)
    run = live_project(6)
    run("--chatprompt-live", "-o", "chatprompt_concurrency=2").assert_outcomes(passed=6)
    assert server.max_in_flight == 2


def test_a_concurrency_of_one_has_one_request_in_flight(live_project: MakeLiveProject, server: Server) -> None:
    live_project(4)("--chatprompt-live", "--chatprompt-concurrency", "1").assert_outcomes(passed=4)
    assert server.max_in_flight == 1


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5"])
def test_an_invalid_concurrency_is_a_usage_error(run: Run, value: str) -> None:
    result = run(f"--chatprompt-concurrency={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --chatprompt-concurrency must be a whole number from 1, but is '{value}'"])


def test_cases_are_reported_in_their_order_whatever_the_order_of_the_replies(
    live_project: MakeLiveProject, server: Server
) -> None:
    server.script = lambda _, body: Reply(delay_seconds=0.2 if body["messages"][-1]["content"] == "c0" else 0)
    result = live_project(4)("--chatprompt-live", "-v")
    result.stdout.fnmatch_lines([f"a.eval.yaml::c{number} PASSED*" for number in range(4)])


def test_only_selected_cases_are_sent(live_project: MakeLiveProject, server: Server) -> None:
    live_project(6)("--chatprompt-live", "-k", "c1 or c3").assert_outcomes(passed=2, deselected=4)
    assert sorted(server.last_contents) == ["c1", "c3"]


def test_a_case_that_differs_from_its_snapshot_or_has_none_is_never_sent(
    live_project: MakeLiveProject, server: Server
) -> None:
    run = live_project(6)
    run.write({"a.eval.yaml": eval_file(case_ids(6)).replace("content: c2", "content: changed")})
    (run.path / "__snapshots__/a.eval/c4[openai].yaml").unlink()
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=4, failed=2)
    assert sorted(server.last_contents) == ["c0", "c1", "c3", "c5"]
    result.stdout.fnmatch_lines(["*case 'c2': what is sent to openai is not what its snapshot says*"])


def test_an_update_writes_the_snapshots_and_sends_each_case_once(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(4)
    run.write({"a.eval.yaml": eval_file(case_ids(4)).replace("content: c2", "content: changed")})
    run.update("--chatprompt-live").assert_outcomes(passed=4)
    assert sorted(server.last_contents) == ["c0", "c1", "c3", "changed"]


def test_cases_that_may_be_skipped_are_not_prefetched(live_project: MakeLiveProject, server: Server) -> None:
    marks = """
def pytest_collection_modifyitems(items):
    items[2].add_marker(pytest.mark.skip(reason="not today"))
    items[3].add_marker(pytest.mark.skipif(True, reason="never"))
    items[4].add_marker(pytest.mark.xfail(run=False))
"""
    live_project(6, conftest=marks)("--chatprompt-live").assert_outcomes(passed=3, skipped=2, xfailed=1)
    assert sorted(server.last_contents) == ["c0", "c1", "c5"]


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
    eval_api.post("URL/ask").respond(json={"answer": "offline"})
    return eval_api
"""


def test_cases_of_a_custom_provider_are_prefetched_too(live_project: MakeLiveProject, server: Server) -> None:
    # Offline, eval_api answers this path as OpenAI's API.
    gateway = GATEWAY.replace("URL", server.url)
    hook = """
def pytest_chatprompt_response(response):
    assert response.text == "a live answer"
"""
    server.reply = Reply({"answer": "a live answer"})
    server.gather(3)
    result = live_project(4, conftest=gateway + hook)("--chatprompt-live", "--chatprompt-concurrency", "3")
    result.assert_outcomes(passed=4)
    assert sorted(server.last_contents) == case_ids(4)
    assert server.max_in_flight == 3


@pytest.mark.parametrize("keyword", ["", "async "], ids=["sync", "async"])
def test_the_traceback_of_a_custom_provider_begins_in_its_code(
    live_project: MakeLiveProject, server: Server, keyword: str
) -> None:
    provider = f"""
import httpx

@pytest.fixture(scope="session")
def openai_provider():
    {keyword}def send(request):
        reply = httpx.post("{server.url}/chat/completions", json={{"messages": [{{"content": request.question}}]}})
        if "answer" in reply.json():
            raise LookupError("no answer today")
        return "fine"

    return send
"""
    server.reply = Reply({"answer": "a live answer"})
    result = live_project(2, conftest=provider)("--chatprompt-live")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*LookupError: no answer today", "conftest.py:*: LookupError"])
    for text in ("concurrent", "During handling", "tracebackhide"):
        result.stdout.no_fnmatch_line(f"*{text}*")


def test_cases_of_a_custom_provider_that_needs_a_route_are_sent_together_too(
    live_project: MakeLiveProject, server: Server
) -> None:
    server.reply = Reply({"answer": "a live answer"})
    gateway = (GATEWAY.replace("/chat/completions", "/ask") + ROUTE).replace("URL", server.url)
    server.gather(4)
    live_project(4, conftest=gateway)("--chatprompt-live").assert_outcomes(passed=4)
    assert sorted(server.last_contents) == case_ids(4)


def test_each_of_several_custom_providers_gets_its_own_cases(live_project: MakeLiveProject, server: Server) -> None:
    marks = """
def pytest_collection_modifyitems(items):
    items[1].add_marker(pytest.mark.skip(reason="not today"))
"""
    gateway = GATEWAY.replace("URL", server.url)
    other = gateway.replace("/chat", "/other/chat")
    run = live_project(
        3,
        conftest=gateway + marks,
        **{"b/conftest.py": "import pytest\nfrom pytest_chatprompt import ProviderResponse\n" + other},
    )
    run.write(
        {"b/b.eval.yaml": eval_file(["b0", "b1"]), "test_c.py": "def test_it(): pass", "d.eval.yaml": eval_file(["d0"])}
    )
    run.update()
    server.reply = Reply({"answer": "a live answer"})
    run("--chatprompt-live", "a.eval.yaml", "b", "test_c.py", "d.eval.yaml").assert_outcomes(passed=6, skipped=1)
    paths = {body["messages"][-1]["content"]: path for path, _, body in server.requests}
    assert {name for name, path in paths.items() if path.startswith("/other/")} == {"b0", "b1"}
    assert sorted(server.last_contents) == ["b0", "b1", "c0", "c2", "d0"]


def test_an_error_of_a_custom_provider_is_reported_for_its_own_case(
    live_project: MakeLiveProject, server: Server
) -> None:
    failing = GATEWAY.replace("URL", server.url).replace(
        "        reply =", "        assert request.eval_case_id != 'c2'\n        reply ="
    )
    server.reply = Reply({"answer": "a live answer"})
    run = live_project(1, conftest=failing)
    run.write({"a.eval.yaml": eval_file(case_ids(4))})
    run("--snapshot-update")
    run("--chatprompt-live").assert_outcomes(passed=3, failed=1)
    assert sorted(server.last_contents) == ["c0", "c1", "c3"]


def test_cases_of_a_parametrized_provider_are_sent_once_for_each_parameter(
    live_project: MakeLiveProject, server: Server
) -> None:
    parametrized = """
@pytest.fixture(scope="session", params=["one", "two"])
def openai_provider(request):
    provider = OpenAIProvider(base_url="URL", api_key="k", model=request.param)
    yield provider
    provider.close()
"""
    live_project(2, conftest=parametrized.replace("URL", server.url))("--chatprompt-live").assert_outcomes(passed=4)
    sent = [(body["model"], body["messages"][-1]["content"]) for _, _, body in server.requests]
    assert sorted(sent) == [("one", "c0"), ("one", "c1"), ("two", "c0"), ("two", "c1")]


def test_the_cases_of_a_folder_go_through_the_provider_of_that_folder(
    live_project: MakeLiveProject, server: Server
) -> None:
    other = LIVE_CONFTEST.format(url=f"{server.url}/other", settings="")
    run = live_project(4, **{"sub/conftest.py": other, "sub/b.eval.yaml": eval_file(["s0", "s1", "s2"])})
    run("--chatprompt-live").assert_outcomes(passed=7)
    paths = {body["messages"][-1]["content"]: path for path, _, body in server.requests}
    assert {name for name, path in paths.items() if path.startswith("/other/")} == {"s0", "s1", "s2"}
    assert len(server.requests) == 7


def test_no_request_is_in_flight_while_an_ordinary_test_runs(live_project: MakeLiveProject, server: Server) -> None:
    ordinary = f"""
import httpx, respx, time

@respx.mock
def test_mocked():
    respx.post("{server.url}/chat/completions").respond(500)
    time.sleep(0.2)
    assert httpx.post("{server.url}/chat/completions").status_code == 500
"""
    server.reply = Reply(delay_seconds=0.05)
    run = live_project(3, **{"b/test_ordinary.py": ordinary, "c.eval.yaml": eval_file(["d0", "d1", "d2"])})
    run("--chatprompt-live", "a.eval.yaml", "b", "c.eval.yaml").assert_outcomes(passed=7)
    assert sorted(server.last_contents) == ["c0", "c1", "c2", "d0", "d1", "d2"]


def test_a_case_with_a_preflight_warning_is_not_prefetched(live_project: MakeLiveProject, server: Server) -> None:
    with_warning = eval_file(["w0", "w1"]).replace("content: w1}", "content: w1}, {role: assistant, content: go on}")
    run = live_project(2, **{"b.eval.yaml": with_warning, "pytest.ini": "[pytest]\nfilterwarnings = default\n"})
    run("--chatprompt-live", "-W", "error::pytest_chatprompt.PayloadWarning").assert_outcomes(passed=3, failed=1)
    assert sorted(server.last_contents) == ["c0", "c1", "w0"]


SKIPPING_FIXTURE = """
@pytest.fixture(autouse=True)
def skip_most(eval_case):
    if eval_case.id != "c0":
        pytest.skip("not today")
"""
FAILING_FIXTURE = """
@pytest.fixture(autouse=True, scope="module")
def set_up_file(request):
    if request.node.name.endswith("b.eval.yaml"):
        pytest.fail("the set-up failed")
"""


@pytest.mark.parametrize(
    ("fixture", "outcomes"),
    [
        pytest.param(SKIPPING_FIXTURE, {"passed": 1, "skipped": 4}, id="a fixture that skips"),
        pytest.param(FAILING_FIXTURE, {"passed": 3, "errors": 2}, id="a fixture of a file that fails"),
    ],
)
def test_fixtures_of_the_project_run_before_their_case_is_sent(
    live_project: MakeLiveProject, server: Server, fixture: str, outcomes: dict[str, int]
) -> None:
    server.reply = Reply(delay_seconds=0.1)
    run = live_project(3, **{"b.eval.yaml": eval_file(["b0", "b1"])})
    run.append("conftest.py", fixture)
    run("--chatprompt-live").assert_outcomes(**outcomes)
    assert sorted(server.last_contents) == case_ids(outcomes["passed"])


def test_a_provider_can_still_send_after_the_run(live_project: MakeLiveProject, server: Server) -> None:
    after = """
def pytest_terminal_summary(config):
    from pytest_chatprompt import ChatMessage, ProviderRequest

    if config.option.chatprompt_live:
        assert PROVIDERS[0].send(ProviderRequest(chat_prompt=[ChatMessage("user", "after")])).text == "a real answer"

PROVIDERS = []

@pytest.fixture(scope="session", autouse=True)
def keep_provider(openai_provider):
    PROVIDERS.append(openai_provider)
"""
    live_project(2, conftest=after)("--chatprompt-live").assert_outcomes(passed=2)
    assert server.last_contents[-1] == "after"


def test_the_concurrency_has_no_effect_offline(live_project: MakeLiveProject, server: Server) -> None:
    live_project(3)("--chatprompt-concurrency", "32").assert_outcomes(passed=3)
    assert server.requests == []
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("chatprompt-")]


@pytest.mark.parametrize("distribution", ["worksteal", "loadfile"])
def test_workers_send_each_case_once(live_project: MakeLiveProject, server: Server, distribution: str) -> None:
    server.reply = Reply(delay_seconds=0.02)
    run = live_project(12)
    result = run("--chatprompt-live", "-n", "2", "--dist", distribution)
    result.assert_outcomes(passed=12)
    assert sorted(server.last_contents) == sorted(case_ids(12))
    result.stdout.fnmatch_lines(["openai*12*120*36*0*"])


def test_under_n_the_workers_share_the_requests_in_flight(live_project: MakeLiveProject, server: Server) -> None:
    # Long enough that those of both workers meet.
    server.reply = Reply(delay_seconds=0.1)
    server.gather(4)
    live_project(12)("--chatprompt-live", "--chatprompt-concurrency", "4", "-n", "2").assert_outcomes(passed=12)
    assert server.max_in_flight == 4

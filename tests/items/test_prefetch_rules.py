"""Prefetch rules: a case that may still be skipped, or refused its connection, is never sent ahead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_chatprompt.live.snapshot_matcher import SnapshotMatcher, UpcomingCase
from tests.items.conftest import MakeLiveProject, case_ids, eval_file
from tests.server import Reply, Server

SETUP_HOOK = """
def pytest_runtest_setup(item):
    if item.name in ("c2", "c4"):
        pytest.skip("not today")
"""
CALL_HOOK = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    if item.name in ("c2", "c4"):
        pytest.skip("not today")
    return (yield)
"""
FUNCTION_HOOK = """
@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if pyfuncitem.name in ("c2", "c4"):
        pytest.skip("not today")
"""
FIXTURE_HOOK = """
@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    value = yield
    if fixturedef.argname == "eval_case" and request.node.name in ("c2", "c4"):
        pytest.skip("not today")
    return value
"""
REGISTERED_HOOK = """
class Skipping:
    def pytest_runtest_setup(self, item):
        if item.name in ("c2", "c4"):
            pytest.skip("not today")

def pytest_configure(config):
    config.pluginmanager.register(Skipping())
"""
BUILT_IN_HOOK = """
import gc

class Collecting:
    pytest_runtest_setup = staticmethod(gc.collect)

def pytest_configure(config):
    config.pluginmanager.register(Collecting())
"""
PROTOCOL_HOOK = """
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    if item.name in ("c2", "c4"):
        return True
"""
LOOP_HOOK = """
@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    if session.config.option.collectonly:
        return True
    for item in session.items:
        if item.name not in ("c2", "c4"):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    return True
"""


@pytest.mark.parametrize(
    ("hook", "name", "skipped"),
    [
        pytest.param(SETUP_HOOK, "pytest_runtest_setup", 2, id="the set-up"),
        pytest.param(CALL_HOOK, "pytest_runtest_call", 2, id="a wrapper of the call"),
        pytest.param(FUNCTION_HOOK, "pytest_pyfunc_call", 2, id="the call of the function"),
        pytest.param(FIXTURE_HOOK, "pytest_fixture_setup", 2, id="the set-up of a fixture"),
        pytest.param(REGISTERED_HOOK, "pytest_runtest_setup", 2, id="a plugin that the conftest registers"),
        pytest.param(PROTOCOL_HOOK, "pytest_runtest_protocol", 0, id="the protocol of an item"),
        pytest.param(LOOP_HOOK, "pytest_runtestloop", 0, id="the loop of the run"),
    ],
)
def test_a_case_that_a_hook_may_skip_is_sent_in_its_turn(
    live_project: MakeLiveProject, server: Server, hook: str, name: str, skipped: int
) -> None:
    run = live_project(6)
    run.append("conftest.py", hook)
    server.reply = Reply(delay_seconds=0.02)
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=4, skipped=skipped)
    assert server.last_contents == ["c0", "c1", "c3", "c5"]
    assert server.max_in_flight == 1
    result.stdout.fnmatch_lines([f"4 cases were sent one by one: the hook {name} in conftest.py may skip them"])


def test_a_hook_without_source_code_may_skip_too(live_project: MakeLiveProject, server: Server) -> None:
    result = live_project(3, conftest=BUILT_IN_HOOK)("--chatprompt-live")
    result.assert_outcomes(passed=3)
    assert server.max_in_flight == 1
    result.stdout.fnmatch_lines(["3 cases were sent one by one: the hook pytest_runtest_setup in gc may skip them"])


def test_a_local_plugin_counts_as_the_project_does(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(6, **{"plugins/local_plugin.py": "import pytest\n" + SETUP_HOOK})
    result = run("--chatprompt-live", "-p", "local_plugin", "-o", "pythonpath=plugins")
    result.assert_outcomes(passed=4, skipped=2)
    assert server.last_contents == ["c0", "c1", "c3", "c5"]
    result.stdout.fnmatch_lines(
        ["4 cases were sent one by one: the hook pytest_runtest_setup in plugins/local_plugin.py may skip them"]
    )


def test_the_hook_of_a_folder_counts_for_the_cases_below_it_only(live_project: MakeLiveProject, server: Server) -> None:
    sub = {
        "sub/conftest.py": "import pytest\n" + SETUP_HOOK.replace("c2", "s1"),
        "sub/b.eval.yaml": eval_file(["s0", "s1", "s2"]),
    }
    server.gather(4)
    result = live_project(4, **sub)("--chatprompt-live", "a.eval.yaml", "sub")
    result.assert_outcomes(passed=6, skipped=1)
    assert sorted(server.last_contents[:4]) == case_ids(4)
    assert server.last_contents[4:] == ["s0", "s2"]
    assert server.max_in_flight == 4
    result.stdout.fnmatch_lines(
        ["2 cases were sent one by one: the hook pytest_runtest_setup in sub/conftest.py may skip them"]
    )


def test_hooks_that_come_after_a_case_do_not_matter(live_project: MakeLiveProject, server: Server) -> None:
    hooks = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    return (yield)

def pytest_runtest_logreport(report):
    pass

def pytest_runtest_teardown(item):
    pass
"""
    server.gather(4)
    result = live_project(4, conftest=hooks)("--chatprompt-live")
    result.assert_outcomes(passed=4)
    assert server.max_in_flight == 4
    result.stdout.no_fnmatch_line("*one by one*")


# --- plugins that are installed

INSTALLED = """
import pytest

@pytest.fixture(autouse=True)
def installed():
    pass

def pytest_runtest_setup(item):
    pass
"""


def test_an_installed_plugin_is_trusted(live_project: MakeLiveProject, server: Server) -> None:
    server.gather(4)
    run = live_project(4, **{"env/site-packages/installed.py": INSTALLED})
    run("--chatprompt-live", "-p", "installed", "-o", "pythonpath=env/site-packages").assert_outcomes(passed=4)
    assert server.max_in_flight == 4


def test_a_fixture_that_the_ini_uses_is_not_trusted(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(4, **{"env/site-packages/installed.py": INSTALLED.replace("autouse=True", "")})
    options = ["-p", "installed", "-o", "pythonpath=env/site-packages", "-o", "usefixtures=installed"]
    result = run("--chatprompt-live", *options)
    result.assert_outcomes(passed=4)
    assert server.max_in_flight == 1
    result.stdout.fnmatch_lines(
        ["4 cases were sent one by one: the fixture installed in env/site-packages/installed.py may skip them"]
    )


def test_a_request_of_a_case_that_an_installed_plugin_skips_is_ended(
    live_project: MakeLiveProject, server: Server
) -> None:
    skipping = INSTALLED.replace(
        "item):\n    pass", "item):\n    if item.name == 'c1':\n        pytest.skip('not today')"
    )
    server.script = lambda _, body: Reply(delay_seconds=20 if body["messages"][-1]["content"] == "c1" else 0.1)
    run = live_project(3, **{"env/site-packages/installed.py": skipping})
    result = run("--chatprompt-live", "-p", "installed", "-o", "pythonpath=env/site-packages", "--durations=1")
    result.assert_outcomes(passed=2, skipped=1)
    # An ordinary test would have to wait for it.
    assert result.duration < 15


# --- parameters and fixtures of single items


def test_the_runs_of_pytest_repeat_are_sent_together(
    live_project: MakeLiveProject, server: Server, use_plugin: Callable[[str], None]
) -> None:
    use_plugin("repeat")
    server.gather(6)
    result = live_project(2)("--chatprompt-live", "--count", "3")
    result.assert_outcomes(passed=6)
    assert sorted(server.last_contents) == ["c0"] * 3 + ["c1"] * 3
    assert server.max_in_flight == 6
    result.stdout.no_fnmatch_line("*one by one*")


def test_a_fixture_that_a_hook_adds_to_one_case_may_skip_that_case(
    live_project: MakeLiveProject, server: Server
) -> None:
    adding = """
@pytest.fixture
def never():
    pytest.skip("not today")

def pytest_collection_modifyitems(items):
    items[2].fixturenames.insert(0, "never")
"""
    run = live_project(4)
    run.append("conftest.py", adding)
    run("--chatprompt-live").assert_outcomes(passed=3, skipped=1)
    assert sorted(server.last_contents) == ["c0", "c1", "c3"]


# --- fixtures with session scope

SESSION_FIXTURE = """
import pytest, time

@pytest.fixture(scope="session", autouse=True)
def database():
    {body}
"""


@pytest.mark.parametrize(
    ("body", "outcomes"),
    [
        pytest.param("pytest.skip('no database')", {"passed": 4, "skipped": 3}, id="skips"),
        pytest.param("raise OSError('no database')", {"passed": 4, "errors": 3}, id="fails"),
    ],
)
def test_a_case_is_not_sent_before_the_session_fixtures_of_its_folder_have_run(
    live_project: MakeLiveProject, server: Server, body: str, outcomes: dict[str, int]
) -> None:
    files = {"b/conftest.py": SESSION_FIXTURE.format(body=body), "b/b.eval.yaml": eval_file(["b0", "b1", "b2"])}
    run = live_project(3, **{"c.eval.yaml": eval_file(["d0"])})
    run.write(files)
    run("a.eval.yaml", "b", "c.eval.yaml", "--chatprompt-live").assert_outcomes(**outcomes)
    assert sorted(server.last_contents) == ["c0", "c1", "c2", "d0"]


def test_a_case_is_not_sent_ahead_if_a_session_fixture_of_its_folder_has_failed(
    live_project: MakeLiveProject, server: Server
) -> None:
    body = "raise OSError('no database')"
    files = {"b/conftest.py": SESSION_FIXTURE.format(body=body), "b/b.eval.yaml": eval_file(["b0", "b1"])}
    run = live_project(1)
    run.write(files)
    result = run("b/b.eval.yaml::b0", "a.eval.yaml", "b/b.eval.yaml::b1", "--chatprompt-live")
    result.assert_outcomes(passed=1, errors=2)
    assert server.last_contents == ["c0"]


def test_after_the_session_fixtures_of_a_folder_its_cases_are_sent_together(
    live_project: MakeLiveProject, server: Server
) -> None:
    files = {"b/conftest.py": SESSION_FIXTURE.format(body="pass"), "b/b.eval.yaml": eval_file(case_ids(5))}
    run = live_project(1, **files)
    server.gather(5, after=1)
    result = run("--chatprompt-live", "a.eval.yaml", "b")
    result.assert_outcomes(passed=6)
    assert server.max_in_flight == 5
    result.stdout.no_fnmatch_line("*one by one*")


# --- connections that a tool refuses

# What pytest-socket does: no sockets in tests, and all of them between two tests.
SOCKET_PLUGIN = """
import socket
import pytest

true_socket = socket.socket

class GuardedSocket(socket.socket):
    def __new__(cls, *args, **kwargs):
        raise RuntimeError("A test tried to use socket.socket.")

def pytest_addoption(parser):
    parser.addoption("--disable-socket", action="store_true")
    parser.addoption("--force-enable-socket", action="store_true")

def pytest_configure(config):
    for name in ("enable_socket", "disable_socket"):
        config.addinivalue_line("markers", name)

def pytest_runtest_setup(item):
    if item.config.getoption("force_enable_socket") or item.get_closest_marker("enable_socket"):
        return
    if item.config.getoption("disable_socket") or item.get_closest_marker("disable_socket"):
        socket.socket = GuardedSocket

def pytest_runtest_teardown():
    socket.socket = true_socket
"""
WITH_SOCKET_PLUGIN = ("-p", "socket_plugin", "-o", "pythonpath=env/site-packages")
PLUGIN_FILE = {"env/site-packages/socket_plugin.py": SOCKET_PLUGIN}


def test_nothing_is_sent_between_tests_that_may_not_use_sockets(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(5, **PLUGIN_FILE)
    # The first case may, and the others may not.
    text = (run.path / "a.eval.yaml").read_text().replace("- id: c0\n", "- id: c0\n    tags: [enable_socket]\n")
    run.write({"a.eval.yaml": text})
    result = run("--chatprompt-live", *WITH_SOCKET_PLUGIN, "--disable-socket")
    result.assert_outcomes(passed=1, failed=4)
    assert server.last_contents == ["c0"]
    result.stdout.fnmatch_lines(["*A test tried to use socket.socket.*"])


def test_connections_that_are_open_already_do_not_evade_what_refuses_sockets(
    live_project: MakeLiveProject, server: Server
) -> None:
    run = live_project(3, **PLUGIN_FILE)
    text = (run.path / "a.eval.yaml").read_text().replace("- id: c1\n", "- id: c1\n    tags: [disable_socket]\n")
    run.write({"a.eval.yaml": text})
    server.reply = Reply(delay_seconds=0.05)
    run("--chatprompt-live", *WITH_SOCKET_PLUGIN).assert_outcomes(passed=2, failed=1)
    assert sorted(server.last_contents) == ["c0", "c2"]


def test_sockets_that_are_allowed_by_force_are_no_reason(live_project: MakeLiveProject, server: Server) -> None:
    server.gather(3)
    run = live_project(3, **PLUGIN_FILE)
    options = ["--disable-socket", "--force-enable-socket"]
    run("--chatprompt-live", *WITH_SOCKET_PLUGIN, *options).assert_outcomes(passed=3)
    assert server.max_in_flight == 3


REPLACED = """
import socket

class Proxied(socket.socket):
    pass

def open_socket(*arguments, **options):
    return Proxied(*arguments, **options)

def guarded_connect(self, address):
    return socket.SocketType.connect(self, address)

@pytest.fixture(scope="session", autouse=True)
def replace_sockets():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr({target}, {name!r}, {value})
        yield
"""


@pytest.mark.parametrize(
    ("target", "name", "value", "reason"),
    [
        pytest.param("socket", "socket", "Proxied", "conftest has replaced socket.socket", id="the class"),
        pytest.param("socket", "socket", "open_socket", "conftest has replaced socket.socket", id="by a function"),
        pytest.param(
            "socket.socket", "connect", "guarded_connect", "conftest has replaced socket.socket.connect", id="a method"
        ),
    ],
)
def test_whatever_replaces_sockets_may_refuse_connections(
    live_project: MakeLiveProject, server: Server, target: str, name: str, value: str, reason: str
) -> None:
    run = live_project(3)
    run.append("conftest.py", REPLACED.format(target=target, name=name, value=value))
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=3)
    assert server.max_in_flight == 1
    result.stdout.fnmatch_lines([f"3 cases were sent one by one: {reason}"])


# --- why a run was slow

FIXTURE = """
@pytest.fixture
def {name}({name}):
    return {name}
"""
FUNCTION_SCOPE = """
@pytest.fixture
def openai_provider():
    provider = OpenAIProvider(base_url="URL", api_key="k", max_retries=0)
    yield provider
    provider.close()
"""
PARAMETRIZED = """
@pytest.fixture(scope="session", params=["m"])
def openai_provider(request):
    provider = OpenAIProvider(base_url="URL", api_key="k", max_retries=0, model=request.param)
    yield provider
    provider.close()
"""
AUTOUSE = """
@pytest.fixture(autouse=True)
def tidy():
    pass
"""
MARKED = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.skipif(False, reason="-"))
"""
AGENT = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["echo", "{prompt}"])
"""
FUNCTION = """
@pytest.fixture(scope="session")
def openai_provider():
    return lambda request: ProviderResponse(text="so")
"""


@pytest.mark.parametrize(
    ("conftest", "reason"),
    [
        pytest.param(
            FIXTURE.format(name="eval_response"),
            "the fixture eval_response is overridden in conftest.py",
            id="override",
        ),
        pytest.param(
            FIXTURE.format(name="eval_api"), "the fixture eval_api in conftest.py may skip them", id="eval_api"
        ),
        pytest.param(AUTOUSE, "the fixture tidy in conftest.py may skip them", id="autouse"),
        pytest.param(FUNCTION_SCOPE, "the fixture openai_provider in conftest.py has code after its yield", id="scope"),
        pytest.param(PARAMETRIZED, "the fixture openai_provider is parametrized", id="parameters"),
        pytest.param(MARKED, "the mark skipif may skip or refuse them", id="mark"),
        pytest.param(AGENT, "agents run one after the other", id="agent"),
        pytest.param(
            FUNCTION, "their provider makes no HTTP request that could be compared in advance", id="no request"
        ),
    ],
)
def test_the_summary_says_why_cases_were_sent_one_by_one(
    live_project: MakeLiveProject, server: Server, conftest: str, reason: str
) -> None:
    result = live_project(3, conftest=conftest.replace("URL", server.url))("--chatprompt-live")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["*usage of the live run*", f"3 cases were sent one by one: {reason}"])


def test_cases_with_preflight_warnings_are_told_too(live_project: MakeLiveProject) -> None:
    texts = eval_file(["w0", "w1", "w2"])
    for name in ("w1", "w2"):
        texts = texts.replace(f"content: {name}}}", f"content: {name}}}, {{role: assistant, content: go on}}")
    run = live_project(1, **{"b.eval.yaml": texts, "pytest.ini": "[pytest]\nfilterwarnings = default\n"})
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=4, warnings=1)
    result.stdout.fnmatch_lines(["2 cases were sent one by one: preflight warns about them"])


def test_several_reasons_are_told_the_most_frequent_first(live_project: MakeLiveProject) -> None:
    marked = """
def pytest_collection_modifyitems(items):
    for item in items[:2]:
        item.add_marker(pytest.mark.skipif(False, reason="-"))
"""
    files = {"b/conftest.py": "import pytest\n" + AUTOUSE, "b/b.eval.yaml": eval_file(["b0", "b1", "b2"])}
    result = live_project(3, conftest=marked, **files)("--chatprompt-live")
    result.assert_outcomes(passed=6)
    assert [line for line in result.outlines if "one by one" in line] == [
        "3 cases were sent one by one: the fixture tidy in b/conftest.py may skip them",
        "2 cases were sent one by one: the mark skipif may skip or refuse them",
    ]


@pytest.mark.measures_processes
@pytest.mark.parametrize("workers", ["load", "worksteal"])
def test_under_n_the_workers_tell_why_too(live_project: MakeLiveProject, workers: str) -> None:
    run = live_project(6, conftest=FIXTURE.format(name="eval_response"))
    result = run("--chatprompt-live", "-n", "2", "--dist", workers)
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(
        [
            "Under -n each worker has at most two requests in flight; *",
            "6 cases were sent one by one: the fixture eval_response is overridden in conftest.py",
        ]
    )


def test_who_asks_for_one_request_at_a_time_is_told_nothing(live_project: MakeLiveProject) -> None:
    run = live_project(3, conftest=FIXTURE.format(name="eval_response"))
    result = run("--chatprompt-live", "--chatprompt-concurrency", "1")
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*one by one*")


def test_one_case_alone_is_no_slow_run(live_project: MakeLiveProject) -> None:
    result = live_project(1, conftest=FIXTURE.format(name="eval_response"))("--chatprompt-live")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*one by one*")


def test_under_stepwise_few_cases_are_sent_ahead(live_project: MakeLiveProject, server: Server) -> None:
    failing = """
def pytest_chatprompt_response(case):
    assert case.id != "c0"
"""
    run = live_project(20, conftest=failing)
    server.reply = Reply(delay_seconds=0.1)
    run.pytester.runpytest_inprocess(
        "--chatprompt-live", "--stepwise", "--chatprompt-concurrency", "2"
    ).assert_outcomes(failed=1)
    assert len(server.requests) <= 3


def test_a_session_fixture_that_has_failed_is_a_reason(live_project: MakeLiveProject, server: Server) -> None:
    conftest = """
@pytest.fixture(scope="session")
def broken():
    raise RuntimeError("no database")

def pytest_collection_modifyitems(items):
    for item in items[1:]:
        if item.config.getoption("chatprompt_live"):
            item.fixturenames.append("broken")
"""
    result = live_project(4, conftest=conftest)("--chatprompt-live")
    result.assert_outcomes(passed=1, errors=3)
    assert len(server.requests) == 1


def test_a_provider_without_a_fixture_is_not_sent_ahead(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(2)
    run.write({"b.eval.yaml": eval_file(["b0", "b1"]).replace("provider: openai", "provider: nobody")})
    run("--chatprompt-live").assert_outcomes(passed=2, errors=2)
    assert len(server.requests) == 2


def test_cases_are_sent_ahead_without_pytest_timeout_too(live_project: MakeLiveProject, server: Server) -> None:
    result = live_project(4, conftest=FUNCTION_OF_HTTPX.replace("URL", server.url))(
        "--chatprompt-live", "-p", "no:timeout"
    )
    result.assert_outcomes(passed=4)
    result.stdout.no_fnmatch_line("*one by one*")


FUNCTION_OF_HTTPX = """
import httpx

@pytest.fixture(scope="session")
def openai_provider():
    def send(request):
        body = {"messages": [{"role": "user", "content": request.question}]}
        reply = httpx.post("URL/v1/chat/completions", json=body)
        return reply.json()["choices"][0]["message"]["content"]
    return send
"""


def test_the_masks_of_each_folder_count_for_its_cases(
    live_project: MakeLiveProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    masks = """
import pytest

@pytest.fixture(scope="session")
def eval_masks():
    return {{"{0}": "<{0}>"}}
"""
    matched: dict[str, bool] = {}
    match = SnapshotMatcher.match

    def match_and_note(matcher: SnapshotMatcher, case: UpcomingCase, *arguments: Any) -> Any:
        result = match(matcher, case, *arguments)
        matched[case.node_id] = result is not None
        return result

    files = {
        f"{name}/{file}": text
        for name in ("b", "d")
        for file, text in {
            "conftest.py": masks.format(name),
            f"{name}.eval.yaml": eval_file([f"{name}0", f"{name}1"]),
        }.items()
    }
    run = live_project(2, **files)
    monkeypatch.setattr(SnapshotMatcher, "match", match_and_note)
    run("--chatprompt-live").assert_outcomes(passed=6)
    # The first cases of the folders run themselves: their masks are not known before.
    assert matched == {"a.eval.yaml::c1": True, "b/b.eval.yaml::b1": True, "d/d.eval.yaml::d1": True}

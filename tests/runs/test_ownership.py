"""Ownership: a request belongs to the test in whose context it was made, and what outlives its test is refused."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.runs.conftest import Run
from tests.server import Server

APP = """
import asyncio

import httpx

URL = "https://api.openai.com/v1/chat/completions"


def ask(text="hi"):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(URL, json=body).json()["choices"][0]["message"]["content"]


async def ask_async(text="hi"):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    async with httpx.AsyncClient() as client:
        return (await client.post(URL, json=body)).json()["choices"][0]["message"]["content"]


async def try_later(event, done, text="late"):
    await event.wait()
    try:
        await ask_async(text)
    except Exception:
        pass
    done.set()


class Worker:
    # Sends what is put into its queue.

    def __init__(self):
        self.queue = asyncio.Queue()
        self.task = asyncio.create_task(self.work())

    async def work(self):
        while True:
            text, answer = await self.queue.get()
            answer.set_result(await ask_async(text))

    async def ask(self, text):
        answer = asyncio.get_running_loop().create_future()
        await self.queue.put((text, answer))
        return await asyncio.wait_for(answer, 30)
"""
SESSION_LOOP = """
filterwarnings = error
asyncio_mode = auto
asyncio_default_fixture_loop_scope = session
asyncio_default_test_loop_scope = session
"""
LATE = [
    "*network access after the end of a test*",
    "test_it.py::test_first: what it started tried to send POST https://api.openai.com/v1/chat/completions",
    "It was blocked. End what a test starts before the test ends, or start it in a fixture of a wider scope.",
]


@pytest.fixture
def own(run: Run) -> Run:
    """A project with an app that sends."""
    run.write({"app.py": APP, "pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = .\n"})
    return run


@pytest.fixture
def with_asyncio(own: Run, use_plugin: Callable[[str], None]) -> Run:
    """A project with pytest-asyncio, whose tests share one event loop."""
    use_plugin("asyncio")
    own.write({"pytest.ini": f"[pytest]\npythonpath = .\n{SESSION_LOOP}"})
    return own


@pytest.fixture
def with_anyio(own: Run, use_plugin: Callable[[str], None]) -> Run:
    """A project with anyio's plugin, whose tests of a module share one event loop and one task."""
    use_plugin("anyio")
    own.write(
        {
            "conftest.py": """
import pytest

@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"

@pytest.fixture(scope="module", autouse=True)
async def loop_of_the_module(anyio_backend):
    yield
"""
        }
    )
    return own


TASKS = """
import asyncio
import app
import pytest

pytestmark = pytest.mark.{mark}
event, done = asyncio.Event(), asyncio.Event()
tasks = []

async def test_first(eval_api):
    tasks.append(asyncio.create_task(app.try_later(event, done)))
    assert await app.ask_async("one") == "(offline)"
    assert [sent.question for sent in eval_api.sent] == ["one"]

async def test_second({fixture}):
    event.set()
    await asyncio.wait_for(done.wait(), 30)
    {check}
"""
OF_SECOND = 'await app.ask_async("two"); assert [sent.question for sent in eval_api.sent] == ["two"]'


@pytest.mark.parametrize("plugin", ["asyncio", "anyio"])
def test_a_task_that_outlives_its_test_is_refused_in_the_next_one(plugin: str, request: pytest.FixtureRequest) -> None:
    own: Run = request.getfixturevalue(f"with_{plugin}")
    own.write({"test_it.py": TASKS.format(mark=plugin, fixture="eval_api", check=OF_SECOND)})
    result = own()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(LATE, consecutive=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("plugin", ["asyncio", "anyio"])
def test_it_is_refused_while_an_ordinary_test_runs_too(plugin: str, request: pytest.FixtureRequest) -> None:
    own: Run = request.getfixturevalue(f"with_{plugin}")
    # asyncio looks names up in a thread that knows no context, so an address.
    check = "app.URL = 'http://192.0.2.1/v1/chat/completions'; "
    own.write(
        {"test_it.py": TASKS.format(mark=plugin, fixture="", check="").replace("event.set()", check + "event.set()")}
    )
    result = own()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["test_it.py::test_first: what it started tried to reach 192.0.2.1:80, tried by *"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_task_of_a_test_without_eval_api_is_no_part_of_what_a_later_one_sends(with_asyncio: Run) -> None:
    with_asyncio.write(
        {
            "test_it.py": TASKS.format(mark="asyncio", fixture="eval_api", check=OF_SECOND)
            .replace("test_first(eval_api)", "test_first()")
            .replace('    assert await app.ask_async("one") == "(offline)"\n', "")
            .replace('    assert [sent.question for sent in eval_api.sent] == ["one"]\n', "")
        }
    )
    result = with_asyncio()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(LATE, consecutive=True)


@pytest.mark.parametrize("plugin", ["asyncio", "anyio"])
@pytest.mark.parametrize("scope", ["session", "module"])
def test_a_worker_of_a_wider_fixture_works_for_the_test_that_runs(
    plugin: str, scope: str, request: pytest.FixtureRequest
) -> None:
    own: Run = request.getfixturevalue(f"with_{plugin}")
    if plugin == "anyio":
        own.write({"conftest.py": (own.path / "conftest.py").read_text().replace('"module"', f'"{scope}"')})
    own.write(
        {
            "test_it.py": f"""
import pytest, app
pytestmark = pytest.mark.{plugin}

@pytest.fixture(scope="{scope}")
async def worker({"anyio_backend" if plugin == "anyio" else ""}):
    worker = app.Worker()
    yield worker
    worker.task.cancel()

@pytest.mark.parametrize("number", [1, 2, 3])
async def test_it(eval_api, worker, number):
    assert await worker.ask(str(number)) == "(offline)"
    assert [sent.question for sent in eval_api.sent] == [str(number)]
"""
        }
    )
    result = own()
    result.assert_outcomes(passed=3)
    assert result.ret == 0


def test_a_worker_of_a_fixture_that_is_asked_for_late_works_for_the_test_that_runs(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import contextvars, queue, threading
import pytest, app

@pytest.fixture(scope="session")
def worker():
    jobs, answers = queue.Queue(), queue.Queue()

    def work():
        while (text := jobs.get()) is not None:
            answers.put(app.ask(text))

    # One carries the context of the fixture, one carries none.
    threads = [threading.Thread(target=work), threading.Thread(target=contextvars.copy_context().run, args=[work])]
    for thread in threads:
        thread.start()
    yield jobs, answers
    for thread in threads:
        jobs.put(None)
    for thread in threads:
        thread.join(30)

@pytest.mark.parametrize("number", range(6))
def test_it(eval_api, request, number):
    jobs, answers = request.getfixturevalue("worker")
    jobs.put(str(number))
    assert answers.get(timeout=30) == "(offline)"
    assert [sent.question for sent in eval_api.sent] == [str(number)]
"""
        }
    )
    result = own()
    result.assert_outcomes(passed=6)
    assert result.ret == 0


def test_whatever_takes_the_context_along_belongs_to_the_test(with_asyncio: Run) -> None:
    with_asyncio.write(
        {
            "test_it.py": """
import asyncio, contextvars, threading
from concurrent.futures import ThreadPoolExecutor
import anyio.from_thread, anyio.to_thread, pytest, app

pool = ThreadPoolExecutor(1, thread_name_prefix="mine")

async def in_tasks():
    async with asyncio.TaskGroup() as group:
        group.create_task(app.ask_async("one"))
        group.create_task(app.ask_async("two"))

async def in_threads():
    await asyncio.to_thread(app.ask, "one")
    await asyncio.get_running_loop().run_in_executor(None, app.ask, "two")

async def in_a_pool_of_the_app():
    await asyncio.get_running_loop().run_in_executor(pool, app.ask, "one")
    pool.submit(contextvars.copy_context().run, app.ask, "two").result()

async def in_anyio():
    async with anyio.create_task_group() as group:
        group.start_soon(app.ask_async, "one")
    await anyio.to_thread.run_sync(lambda: anyio.from_thread.run(app.ask_async, "two"))

async def in_bare_threads():
    for target in (lambda: app.ask("one"), lambda: asyncio.run(app.ask_async("two"))):
        thread = threading.Thread(target=target)
        thread.start()
        await asyncio.to_thread(thread.join)

@pytest.fixture(scope="session", autouse=True)
def the_pool():
    yield
    pool.shutdown()

@pytest.mark.parametrize("round", [1, 2])
@pytest.mark.parametrize("send", [in_tasks, in_threads, in_a_pool_of_the_app, in_anyio, in_bare_threads])
async def test_it(eval_api, send, round):
    await send()
    assert sorted(sent.question for sent in eval_api.sent) == ["one", "two"]
"""
        }
    )
    result = with_asyncio()
    result.assert_outcomes(passed=10)
    assert result.ret == 0


@pytest.mark.parametrize("scope", ["function", "module", "session"])
def test_tasks_and_fixtures_of_loops_of_each_scope_belong_to_their_tests(with_asyncio: Run, scope: str) -> None:
    with_asyncio.write(
        {
            "pytest.ini": f"[pytest]\npythonpath = .\n{SESSION_LOOP.replace('session', scope)}",
            "test_it.py": """
import asyncio
import pytest, app

@pytest.fixture
async def asked_before():
    await app.ask_async("set-up")
    task = asyncio.create_task(app.ask_async("task"))
    yield
    await task
    await app.ask_async("tear-down")

@pytest.mark.parametrize("number", [1, 2, 3])
async def test_it(eval_api, asked_before, number):
    await app.ask_async(str(number))
    await asyncio.sleep(0.05)
    assert sorted(sent.question for sent in eval_api.sent) == [str(number), "set-up", "task"]
""",
        }
    )
    result = with_asyncio()
    result.assert_outcomes(passed=3)
    assert result.ret == 0


ASKED_LATE = {
    "test": """
async def test_it(request, anyio_backend):
    eval_api = request.getfixturevalue("eval_api")
    assert await app.ask_async("one") == "{answer}"
    assert [sent.question for sent in eval_api.sent] == ["one"]
""",
    "fixture": """
@pytest.fixture
async def api(request, anyio_backend):
    eval_api = request.getfixturevalue("eval_api")
    yield eval_api
    assert await app.ask_async("tear-down") == "{answer}"

async def test_it(api):
    assert await app.ask_async("one") == "{answer}"
    assert [sent.question for sent in api.sent] == ["one"]
""",
}


@pytest.mark.parametrize("plugin", ["asyncio", "anyio"])
@pytest.mark.parametrize("where", ["test", "fixture"])
def test_eval_api_may_be_asked_for_in_async_code(plugin: str, where: str, request: pytest.FixtureRequest) -> None:
    own: Run = request.getfixturevalue(f"with_{plugin}")
    code = ASKED_LATE[where].format(answer="(offline)")
    again = (
        code.replace("def test_it", "def test_again")
        .replace("def api", "def api_again")
        .replace("(api)", "(api_again)")
        .replace(" api.sent", " api_again.sent")
    )
    head = f"import pytest, app\npytestmark = pytest.mark.{plugin}\n"
    own.write({"test_it.py": head + code + again})
    if plugin == "asyncio":
        own.write({"conftest.py": "import pytest\n@pytest.fixture\ndef anyio_backend(): pass\n"})
    result = own()
    result.assert_outcomes(passed=2)
    assert result.ret == 0


def test_a_reply_is_recorded_where_eval_api_was_asked_for_in_an_async_test(with_asyncio: Run, server: Server) -> None:
    server.reply_with({"choices": [{"message": {"content": "paid"}}]})
    with_asyncio.write(
        {
            "conftest.py": f"""
import pytest, app
app.URL = "{server.url}/v1/chat/completions"
@pytest.fixture
def anyio_backend(): pass
""",
            "test_it.py": "import pytest, app\n" + ASKED_LATE["test"].format(answer="paid"),
        }
    )
    result = with_asyncio("--chatprompt-live", "--chatprompt-record")
    result.assert_outcomes(passed=1)
    assert with_asyncio.snapshots() == ["__snapshots__/test_it/test_it.recording.yaml"]


# --- threads

LATE_THREAD = """
import threading
import {module}
import app

go_on, done = threading.Event(), threading.Event()

def late():
    app.ask("early")
    go_on.wait(30)
    try:
        app.ask("late")
    except Exception:
        pass
    done.set()

def test_first(eval_api):
    {start}
    while not eval_api.sent:
        pass

def test_second(eval_api):
    go_on.set()
    assert done.wait(30)
    assert eval_api.sent == ()
"""
STARTS = {
    "a thread": "threading.Thread(target=late, name='mine').start()",
    "a thread that threading did not start": "_thread.start_new_thread(late, ())",
    "a thread with the context of the test": (
        "threading.Thread(target=contextvars.copy_context().run, args=[late], name='mine').start()"
    ),
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_a_thread_that_has_sent_and_goes_on_is_warned_about_and_then_refused(own: Run, start: str) -> None:
    module = "_thread" if "_thread" in start else "contextvars"
    own.write(
        {
            "pytest.ini": "[pytest]\npythonpath = .\nfilterwarnings = default\n",
            "test_it.py": LATE_THREAD.format(module=module, start=start),
        }
    )
    result = own()
    result.assert_outcomes(passed=2, warnings=1)
    name = "mine" if "mine" in start else "*"
    result.stdout.fnmatch_lines(
        [
            f"*CaptureWarning: test_it.py::test_first: the thread '{name}' has sent requests in this test and goes on, "
            "at test_it.py:10; what it sends from now on is refused. End it before the test ends, or start it in a "
            "fixture of a wider scope."
        ]
    )
    result.stdout.fnmatch_lines(LATE, consecutive=True)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


LOGGING = """
    # Without a line of the test between pytest, which takes the record as the second handler does, and the waiting.
    texts = map(operator.call, [str, functools.partial(go_on.wait, 30)])
    try:
        logging.warning(type("Slow", (), {"__str__": staticmethod(functools.partial(next, texts))})())
    except TypeError:
        pass
"""


def test_a_thread_goes_on_while_pytest_takes_what_it_logs(own: Run) -> None:
    thread = LATE_THREAD.format(module="functools, logging, operator", start=STARTS["a thread"])
    ini = "[pytest]\npythonpath = .\nfilterwarnings = default\n"
    own.write({"pytest.ini": ini, "test_it.py": thread.replace("    go_on.wait(30)\n", LOGGING)})
    result = own()
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(LATE, consecutive=True)


def test_a_thread_that_has_sent_in_its_case_and_goes_on_is_not_taken_for_the_next_one(own: Run) -> None:
    own.write(
        {
            "conftest.py": """
import threading
import pytest, app

early, go_on, done = threading.Event(), threading.Event(), threading.Event()

def late():
    app.ask("early")
    early.set()
    go_on.wait(60)
    try:
        app.ask("late")
    except Exception:
        pass
    done.set()

@pytest.fixture
def first_provider():
    def send(request):
        threading.Thread(target=late, daemon=True).start()
        assert app.ask(request.question)
        assert early.wait(60)
        return "ok"
    return send

@pytest.fixture
def second_provider():
    def send(request):
        go_on.set()
        assert done.wait(60)
        return app.ask(request.question)
    return send
""",
            "a.eval.yaml": "evalcases:\n"
            "  - {id: a, provider: first, input_messages: [{role: user, content: one}]}\n"
            "  - {id: b, provider: second, input_messages: [{role: user, content: two}]}\n",
        }
    )
    result = own("--snapshot-update")
    result.stdout.fnmatch_lines(
        ["a.eval.yaml::a: what it started tried to send POST https://api.openai.com/v1/chat/completions"]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    request: Any = own.snapshot("__snapshots__/a.eval/b[second].yaml")["request"]
    assert request["messages"] == [{"role": "user", "content": "two"}]


def test_idle_threads_and_threads_that_end_are_not_warned_about(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import _thread, queue, threading, time
from concurrent.futures import ThreadPoolExecutor
import anyio, anyio.to_thread, pytest, app

pool = ThreadPoolExecutor(1, thread_name_prefix="mine")
go_on = threading.Event()

def test_that_sends_nothing(eval_api):
    threading.Thread(target=go_on.wait, args=(30,)).start()
    _thread.start_new_thread(go_on.wait, (30,))

@pytest.mark.parametrize("number", [1, 2])
def test_of_pools(eval_api, number):
    pool.submit(app.ask).result()
    anyio.run(anyio.to_thread.run_sync, app.ask)
    assert len(eval_api.sent) == 2

def test_of_one_that_is_about_to_end(eval_api):
    threading.Thread(target=lambda: (app.ask(), time.sleep(0.05))).start()
    while not eval_api.sent:
        pass

def test_other():
    go_on.set()
    pool.shutdown()
"""
        }
    )
    result = own()
    result.assert_outcomes(passed=5)
    assert result.ret == 0


# --- between eval items, and until the run ends

TWO_CASES = """
evalcases:
  - {id: first, provider: own, input_messages: [{role: user, content: one}]}
  - {id: second, provider: own, input_messages: [{role: user, content: two}]}
"""
HELPERS = """
import asyncio, socket, threading, time
from concurrent.futures import ThreadPoolExecutor
import pytest, app

pool = ThreadPoolExecutor(1)
finished = []

def reach():
    try:
        socket.create_connection(("192.0.2.1", 80), 1)
    except OSError as error:
        finished.append(str(error))
    else:
        finished.append("reached")

@pytest.fixture
def own_provider():
    return lambda request: app.ask(request.question)
"""
BETWEEN = (
    HELPERS
    + """
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    result = yield
    if item.name == "first":
        {between}
        assert finished and finished != ["reached"]
    return result
"""
)
WAYS = {
    "this thread": "reach()",
    "a pool": "pool.submit(reach).result()",
    "a timer": "timer = threading.Timer(0.01, reach); timer.start(); timer.join()",
    "a thread of asyncio": "asyncio.run(asyncio.to_thread(reach))",
}


@pytest.mark.parametrize("code", WAYS.values(), ids=WAYS)
def test_between_eval_items_nothing_leaves_the_process(own: Run, code: str) -> None:
    own.write({"a.eval.yaml": TWO_CASES, "conftest.py": BETWEEN.format(between=code)})
    result = own("--snapshot-update")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["between tests: something tried to reach 192.0.2.1:80, called at conftest.py:11"])


@pytest.mark.parametrize("arguments", [[], ["-n", "1"]], ids=["", "xdist"])
def test_what_a_case_has_left_behind_is_told_at_it(own: Run, arguments: list[str]) -> None:
    own.write(
        {
            "a.eval.yaml": TWO_CASES,
            "conftest.py": """
import contextvars, socket, threading
import pytest, app

go_on, threads = threading.Event(), []

def reach():
    go_on.wait(30)
    for _ in range(2):
        try:
            socket.getaddrinfo("api.example", 443)
        except OSError:
            pass

@pytest.fixture(autouse=True)
def background(eval_case):
    if eval_case.id == "first":
        threads.append(threading.Thread(target=contextvars.copy_context().run, args=[reach]))
        threads[0].start()
    else:
        go_on.set()
        threads[0].join()

@pytest.fixture
def own_provider():
    return lambda request: app.ask(request.question)
""",
        }
    )
    result = own("--snapshot-update", *arguments)
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    line = "a.eval.yaml::first: what it started tried to reach api.example:443, called at conftest.py:11"
    result.stdout.fnmatch_lines(
        ["*network access after the end of a test*", line, "It was blocked. *"], consecutive=True
    )


def test_the_tear_down_of_a_session_after_a_run_that_was_cut_short_is_offline(own: Run) -> None:
    own.write(
        {
            "a.eval.yaml": TWO_CASES,
            "conftest.py": """
import contextlib, socket
import pytest, app

@pytest.fixture(scope="session", autouse=True)
def goodbye():
    yield
    with contextlib.suppress(OSError):
        socket.create_connection(("192.0.2.1", 80), 1)

@pytest.fixture
def own_provider():
    def send(request):
        raise KeyboardInterrupt
    return send
""",
        }
    )
    own.start().wait(timeout=60)
    assert "between tests: something tried to reach 192.0.2.1:80, called at conftest.py:9" in own.output()


def test_ordinary_tests_are_free_with_their_fixtures_and_tests_with_eval_api_are_not(own: Run) -> None:
    own.write(
        {
            "a.eval.yaml": TWO_CASES,
            "conftest.py": HELPERS,
            "test_b.py": """
import socket, subprocess
import pytest

def is_blocked():
    with socket.socket() as client:
        client.setblocking(False)
        try:
            client.connect_ex(("192.0.2.1", 80))
        except OSError as error:
            assert str(error).endswith(
                "; the ini value chatprompt_allowed_hosts names hosts that may be reached"
            )
            return True
    return False

@pytest.fixture(scope="module")
def in_ordinary_test():
    before = is_blocked()
    yield before
    assert not is_blocked()

def test_ordinary(in_ordinary_test):
    assert not in_ordinary_test
    assert not is_blocked()
""",
            "test_c.py": """
import subprocess
import pytest
from test_b import is_blocked

@pytest.fixture(scope="session")
def of_session():
    subprocess.run(["true"], check=True)
    yield is_blocked()

def test_own(of_session, eval_api):
    assert of_session
""",
        }
    )
    result = own("--snapshot-update", "a.eval.yaml", "test_b.py", "test_c.py")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["between tests: something tried to reach 192.0.2.1:80, called at test_b.py:9"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    # Runs without eval items notice nothing.
    result = own("test_c.py")
    result.assert_outcomes(failed=1)


def test_a_host_may_be_allowed_between_tests(own: Run) -> None:
    own.write(
        {
            "pytest.ini": "[pytest]\npythonpath = .\nchatprompt_allowed_hosts = 192.0.2.1\n",
            "a.eval.yaml": TWO_CASES,
            "conftest.py": HELPERS
            + """
def pytest_sessionfinish():
    with socket.socket() as client:
        client.setblocking(False)
        client.connect_ex(("192.0.2.1", 80))
""",
        }
    )
    own.update()


def test_after_the_run_other_code_of_the_process_is_free(own: Run) -> None:
    own.write({"a.eval.yaml": TWO_CASES, "conftest.py": HELPERS})
    own.update()
    reached = []

    def reach() -> None:
        with socket.socket() as client:
            client.setblocking(False)
            client.connect_ex(("192.0.2.1", 80))
        reached.append(threading.current_thread().name)

    reach()
    thread = threading.Thread(target=reach, name="later")
    thread.start()
    thread.join()
    assert reached == [threading.current_thread().name, "later"]


# --- forked processes

FORK = """
import os, socket
import multiprocessing
import httpx, app

def fork(function):
    # What it returns in a forked process.
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            text = function()
        except BaseException as error:
            text = repr(error)
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    assert os.waitpid(child, 0)[1] == 0
    return os.read(reader, 10_000).decode()

def get(url):
    return lambda: httpx.post(url, json={}).text

def look_up():
    try:
        socket.getaddrinfo("api.example", 443)
    except OSError:
        return "blocked"
    return "reached"
"""


def test_a_forked_process_reaches_a_server_on_this_machine_as_the_test_does(own: Run, server: Server) -> None:
    server.reply_with({"from": "the server"})
    own.write(
        {
            "forks.py": FORK,
            "test_it.py": f"""
from forks import *

def test_it(eval_api):
    eval_api.post("{server.url}/passed").pass_through()
    eval_api.post("{server.url}/answered").respond(text="route")
    for path in ("", "/passed"):
        expected = httpx.post("{server.url}" + path, json={{}}).text
        assert "the server" in expected
        assert fork(get("{server.url}" + path)) == expected

def test_of_a_route(eval_api):
    eval_api.post("https://api.example/answered").respond(text="route")
    assert "is sent by a forked process" in fork(get("https://api.example/answered"))
""",
        }
    )
    result = own()
    result.assert_outcomes(passed=2)

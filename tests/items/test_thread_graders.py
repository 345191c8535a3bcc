"""Graders in threads: plain functions of the case and the answer run while pytest is at earlier cases."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.items.conftest import MakeLiveProject, Run, case_ids, eval_file, lines
from tests.server import CHAT_REPLY, Reply, Server

LIVE = "--chatprompt-live"
PYTHON = 'checks: [{type: python, value: "graders:grade"}]\n'
# A check that a package brings, whose code is here.
INSTALLED = "checks: [{type: own, value: 1}]\n"
# What every grader below does is `grade`. `c0` is the first one, which the main thread sends.
GRADERS = """
import threading
from pytest_chatprompt import Check, Verdict

def log(*texts):
    where = "main" if threading.current_thread() is threading.main_thread() else "thread"
    with open("log.txt", "a") as file:
        print(*texts, where, file=file)

def grade(case, response):
    log("grade", case.id)
    do(case, response)

class Own(Check):
    value: int

    def grade(self, case, response):
        grade(case, response)
        return Verdict(True, "is an answer")

def do(case, response):
"""
HOOK = """
from graders import grade

def pytest_chatprompt_response(case, response):
    grade(case, response)
"""
FIXTURE = """
from graders import grade

@pytest.fixture(autouse=True)
def graded(eval_case, eval_response):
    grade(eval_case, eval_response)
"""
# As an entry point does, without the time that installing a package takes.
OWN_TYPE = """
import graders
from pytest_chatprompt.grading import parsing

@pytest.fixture(scope="session", autouse=True)
def own_type():
    pass

parsing._installed = lambda: {"own": type("Entry", (), {"load": lambda self: graders.Own, "value": "graders:Own"})()}
"""

KINDS = [
    pytest.param(HOOK, "", id="hook"),
    pytest.param(FIXTURE, "", id="fixture"),
    pytest.param("", PYTHON, id="python check"),
]


@pytest.fixture
def project(live_project: MakeLiveProject, server: Server) -> MakeLiveProject:
    """Makes a project with graders that do what `body` says."""

    def make(count: int, *, conftest: str, checks: str = "", body: str = "pass", head: str = "", **files: str) -> Run:
        code = "".join(f"    {line}\n" for line in body.splitlines())
        run = live_project(
            count,
            conftest=conftest,
            **{
                "graders.py": f"{head}{GRADERS}{code}",
                "a.eval.yaml": checks + eval_file(case_ids(count)),
                **files,
            },
        )
        (run.path / "log.txt").unlink(missing_ok=True)
        return run

    server.reply = Reply()
    return make


def line_of_body(run: Run) -> int:
    """The line of `graders.py` on which the body begins."""
    return 1 + lines(run.path / "graders.py").index("def do(case, response):") + 1


def calls(run: Run) -> list[str]:
    """What graders have logged, sorted: threads have no order."""
    return sorted(lines(run.path / "log.txt"))


@pytest.mark.parametrize(("conftest", "checks"), [*KINDS, pytest.param(OWN_TYPE, INSTALLED, id="check of a package")])
def test_graders_of_later_cases_run_together_in_threads_each_once(
    project: MakeLiveProject, conftest: str, checks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if checks == INSTALLED:
        from pytest_chatprompt.grading import parsing  # noqa: PLC0415

        monkeypatch.setattr(parsing, "_installed", parsing._installed)
    # None of the three goes on before all of them are there.
    run = project(
        4,
        conftest=conftest,
        checks=checks,
        head="import threading\nbarrier = threading.Barrier(3)\n",
        body="if case.id != 'c0': barrier.wait(20)",
    )
    run(LIVE, "--chatprompt-concurrency", "3").assert_outcomes(passed=4)
    assert calls(run) == ["grade c0 main", "grade c1 thread", "grade c2 thread", "grade c3 thread"]


def test_several_checks_of_one_answer_are_graded_together(project: MakeLiveProject) -> None:
    run = project(
        2,
        conftest="",
        checks='checks: [{type: python, value: "graders:grade"}, {type: python, value: "graders:grade"}]\n',
        head="import threading\nbarrier = threading.Barrier(2)\n",
        body="if case.id != 'c0': barrier.wait(20)",
    )
    run(LIVE, "--chatprompt-concurrency", "3").assert_outcomes(passed=2)
    assert calls(run).count("grade c1 thread") == 2


@pytest.mark.parametrize(("conftest", "checks"), KINDS)
def test_what_a_grader_raises_in_a_thread_is_told_with_its_case_and_line(
    project: MakeLiveProject, conftest: str, checks: str
) -> None:
    run = project(3, conftest=conftest, checks=checks, body='if case.id == "c2": raise ValueError("bad " + case.id)')
    result = run(LIVE)
    # A crash is an error of a check, and a failure of a hook.
    outcomes = {"passed": 2, "errors": 1} if checks else {"passed": 2, "failed": 1}
    result.assert_outcomes(**outcomes)
    assert calls(run) == ["grade c0 main", "grade c1 thread", "grade c2 thread"]
    line = line_of_body(run)
    place = f"(graders.py, line {line})" if checks else f"graders.py:{line}: ValueError"
    text = result.stdout.str()
    assert "bad c2" in text
    assert place in text
    # Neither threads nor this package show in it.
    assert "executor.py" not in text
    assert "thread_graders.py" not in text


@pytest.mark.parametrize(("conftest", "checks"), KINDS[:2])
def test_a_failed_assert_in_a_thread_is_explained_as_ever(project: MakeLiveProject, conftest: str, checks: str) -> None:
    conftest = conftest.replace("grade(case, response)", "grade(case, response)\n    assert response.text == case.id")
    conftest = conftest.replace(
        "grade(eval_case, eval_response)",
        "grade(eval_case, eval_response)\n    assert eval_response.text == eval_case.id",
    )
    run = project(2, conftest=conftest, checks=checks)
    result = run(LIVE)
    result.assert_outcomes(failed=2)
    # The first line in the short summary is the same for the case of the main thread and the other.
    result.stdout.fnmatch_lines(
        ["FAILED *c0*AssertionError: assert 'a real answer' == 'c0'*", "FAILED *c1*assert 'a real answer' == 'c1'*"]
    )
    result.stdout.fnmatch_lines(["*- c1", "*+ a real answer"])


@pytest.mark.parametrize(("conftest", "checks"), KINDS[:2])
def test_a_grader_in_a_thread_may_skip_its_case(project: MakeLiveProject, conftest: str, checks: str) -> None:
    run = project(
        3, conftest=conftest, checks=checks, head="import pytest\n", body='if case.id == "c1": pytest.skip("not today")'
    )
    result = run(LIVE, "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*not today"])


def test_a_check_in_a_thread_cannot_skip_its_case(project: MakeLiveProject) -> None:
    run = project(2, conftest="", checks=PYTHON, head="import pytest\n", body='if case.id == "c1": pytest.skip("no")')
    result = run(LIVE)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*a check cannot skip a test: no*"])


def test_a_grader_in_a_thread_may_end_the_run(project: MakeLiveProject) -> None:
    run = project(3, conftest=HOOK, head="import pytest\n", body='if case.id == "c1": pytest.exit("enough")')
    result = run(LIVE)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*_pytest.outcomes.Exit: enough*"])


@pytest.mark.parametrize(("conftest", "checks"), KINDS)
def test_what_a_grader_prints_and_logs_in_a_thread_is_shown_with_its_case(
    project: MakeLiveProject, conftest: str, checks: str
) -> None:
    body = """print("printed", case.id)
print("cried", case.id, file=sys.stderr)
logging.getLogger("graders").error("logged %s", case.id)"""
    run = project(3, conftest=conftest, checks=checks, head="import logging, sys\n", body=body)
    result = run(LIVE, "-rP")
    result.assert_outcomes(passed=3)
    sections = result.stdout.str().split("PASSES")[1].split("____ ")
    for name in case_ids(3):
        own = next(section for section in sections if section.startswith(f"{name} "))
        for text in ("printed", "cried", "logged"):
            assert own.count(f"{text} {name}") == 1, own
    assert "printed" not in result.stdout.str().split("PASSES")[0]


@pytest.mark.parametrize(("conftest", "checks"), KINDS)
def test_a_warning_of_a_grader_in_a_thread_is_that_of_its_case(
    project: MakeLiveProject, conftest: str, checks: str
) -> None:
    run = project(
        3,
        conftest=conftest,
        checks=checks,
        head="import warnings\n",
        body='warnings.warn(f"old {case.id}", DeprecationWarning)',
        **{"pytest.ini": "[pytest]\nfilterwarnings = default\n"},
    )
    result = run(LIVE)
    result.assert_outcomes(passed=3, warnings=3)
    result.stdout.fnmatch_lines(
        [
            line
            for name in case_ids(3)
            for line in (f"a.eval.yaml::{name}", f"*graders.py:{line_of_body(run)}: DeprecationWarning: old {name}")
        ]
    )


@pytest.mark.parametrize(("conftest", "checks"), KINDS)
def test_a_warning_that_is_an_error_fails_the_case_of_its_grader(
    project: MakeLiveProject, conftest: str, checks: str
) -> None:
    body = 'if case.id == "c2": warnings.warn("old", DeprecationWarning)'
    run = project(3, conftest=conftest, checks=checks, head="import warnings\n", body=body)
    result = run(LIVE)
    result.assert_outcomes(**({"passed": 2, "errors": 1} if checks else {"passed": 2, "failed": 1}))
    line = line_of_body(run)
    place = f"DeprecationWarning: old (graders.py, line {line})" if checks else f"graders.py:{line}: DeprecationWarning"
    assert place in result.stdout.str()


METHOD = """
from graders import grade

class Plugin:
    def pytest_chatprompt_response(self, case, response):
        grade(case, response)

def pytest_configure(config):
    config.pluginmanager.register(Plugin())
"""
WRAPPER = """
from graders import grade

@pytest.hookimpl(wrapper=True)
def pytest_chatprompt_response(case, response):
    grade(case, response)
    return (yield)
"""
UNSAFE_HOOK = """
from graders import grade

@pytest.mark.thread_unsafe
def pytest_chatprompt_response(case, response):
    grade(case, response)
"""
WITH_REQUEST = """
from graders import grade

@pytest.fixture(autouse=True)
def graded(request, eval_case, eval_response):
    grade(eval_case, eval_response)
"""
WITH_YIELD = """
from graders import grade

@pytest.fixture(autouse=True)
def graded(eval_case, eval_response):
    grade(eval_case, eval_response)
    yield
"""
WITH_PARAMETERS = """
from graders import grade

@pytest.fixture(autouse=True, params=[None])
def graded(eval_case, eval_response):
    grade(eval_case, eval_response)
"""
MARK_ALL = """
def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.thread_unsafe)
"""


@pytest.mark.parametrize(
    ("conftest", "checks", "more", "arguments"),
    [
        pytest.param(METHOD, "", "", (), id="a hook that is a method"),
        pytest.param(WRAPPER, "", "", (), id="a hook that is a wrapper"),
        pytest.param(UNSAFE_HOOK, "", "", (), id="a hook with the mark"),
        pytest.param(WITH_REQUEST, "", "", (), id="a fixture with request"),
        pytest.param(WITH_YIELD, "", "", (), id="a fixture with a yield"),
        pytest.param(WITH_PARAMETERS, "", "", (), id="a fixture with parameters"),
        pytest.param(HOOK + MARK_ALL, "", "", (), id="cases with the mark"),
        pytest.param(HOOK, "tags: [thread_unsafe]\n", "", (), id="cases with the tag"),
        pytest.param("", PYTHON, "import functools\ngrade = functools.partial(grade)\n", (), id="a check that is no function"),
        pytest.param("", PYTHON, "import pytest\ngrade = pytest.mark.thread_unsafe(grade)\n", (), id="a check with the mark"),
        pytest.param(HOOK + FIXTURE, PYTHON, "", ("--chatprompt-concurrency", "1"), id="a concurrency of one"),
        pytest.param(HOOK + FIXTURE, PYTHON, "", ("-s",), id="output that is shown at once"),
        pytest.param(HOOK + FIXTURE, PYTHON, "", ("--capture", "tee-sys"), id="output that is shown as well"),
        pytest.param(HOOK + FIXTURE, PYTHON, "", ("--pdb",), id="a debugger"),
    ],
)  # fmt: skip
def test_every_other_grader_is_called_when_pytest_runs_its_case(
    project: MakeLiveProject, conftest: str, checks: str, more: str, arguments: tuple[str, ...]
) -> None:
    run = project(3, conftest=conftest, checks=checks)
    if more:
        run.append("graders.py", more)
    result = run(LIVE, "--strict-markers", *arguments)
    result.assert_outcomes(passed=3)
    assert {line.rsplit(" ", 1)[1] for line in calls(run)} == {"main"}


def test_graders_wait_for_pytest_if_pytest_timeout_may_end_them(
    project: MakeLiveProject, use_plugin: Callable[[str], None]
) -> None:
    use_plugin("timeout")
    run = project(3, conftest=HOOK)
    run(LIVE, "--timeout", "60").assert_outcomes(passed=3)
    assert calls(run) == ["grade c0 main", "grade c1 main", "grade c2 main"]


TWO_FIXTURES = """
from graders import log

@pytest.fixture(autouse=True)
def first(eval_case, eval_response):
    log("first", eval_case.id)
    assert eval_case.id != "c1"

@pytest.fixture(autouse=True)
def second({request}eval_case, eval_response):
    log("second", eval_case.id)

def pytest_chatprompt_response(case):
    log("hook", case.id)
"""


def test_nothing_comes_after_a_fixture_that_fails_in_a_thread(project: MakeLiveProject) -> None:
    run = project(3, conftest=TWO_FIXTURES.replace("{request}", ""))
    run(LIVE).assert_outcomes(passed=2, failed=1)
    assert [line for line in calls(run) if "c1" in line] == ["first c1 thread"]
    assert [line for line in calls(run) if "c2" in line] == ["first c2 thread", "hook c2 thread", "second c2 thread"]


def test_a_grader_that_waits_for_pytest_holds_up_those_after_it(project: MakeLiveProject) -> None:
    run = project(3, conftest=TWO_FIXTURES.replace("{request}", "request, "))
    run(LIVE).assert_outcomes(passed=2, failed=1)
    assert [line for line in calls(run) if "c2" in line] == ["first c2 thread", "hook c2 main", "second c2 main"]


def test_a_fixture_gets_what_another_one_returned_in_a_thread(project: MakeLiveProject) -> None:
    conftest = """
from graders import log

@pytest.fixture(autouse=True)
def words(eval_case, eval_response):
    log("words", eval_case.id)
    return eval_response.text.split()

@pytest.fixture(autouse=True)
def words_are_few(words, eval_case):
    log(len(words), eval_case.id)
"""
    run = project(2, conftest=conftest)
    run(LIVE).assert_outcomes(passed=2)
    # `words_are_few` asks for another fixture, so it is not a function of the case and the answer alone.
    assert calls(run) == ["3 c0 main", "3 c1 main", "words c0 main", "words c1 thread"]


def test_an_empty_answer_is_shown_to_no_grader(project: MakeLiveProject, server: Server) -> None:
    server.reply = Reply({**CHAT_REPLY, "choices": [{"message": {"content": ""}, "finish_reason": "stop"}]})
    run = project(3, conftest=HOOK)
    run(LIVE).assert_outcomes(failed=3)
    assert not (run.path / "log.txt").exists()


def test_graders_get_the_case_that_a_fixture_has_made(project: MakeLiveProject) -> None:
    conftest = """
from graders import log

@pytest.fixture
def eval_case(eval_case):
    return eval_case.model_copy(update={"outcome": f"an outcome of {eval_case.id}"})

def pytest_chatprompt_response(case, request, response):
    log(case.outcome, request.chat_prompt[-1].content)
"""
    run = project(3, conftest=conftest)
    run(LIVE).assert_outcomes(passed=3)
    assert calls(run) == [
        "an outcome of c0 c0 main",
        "an outcome of c1 c1 thread",
        "an outcome of c2 c2 thread",
    ]


REPEATED = "repeat: 3\n" + PYTHON


def test_each_answer_of_a_repeated_case_is_graded_in_a_thread(project: MakeLiveProject) -> None:
    conftest = """
from graders import log

def pytest_chatprompt_response(case, response):
    log("hook", case.id)

@pytest.fixture(autouse=True)
def graded(eval_case, eval_response):
    log("fixture", eval_case.id)
"""
    run = project(2, conftest=conftest, checks=REPEATED)
    run(LIVE).assert_outcomes(passed=2)
    # The fixture looks at the first answer, when all are there.
    assert calls(run) == [
        "fixture c0 main",
        "fixture c1 main",
        *["grade c0 thread"] * 3,
        *["grade c1 thread"] * 3,
        *["hook c0 thread"] * 3,
        *["hook c1 thread"] * 3,
    ]


def test_a_hook_that_fails_in_a_thread_fails_its_answer_only(project: MakeLiveProject, server: Server) -> None:
    def script(number: int, _: object) -> Reply:
        message = {"content": f"answer {number}"}
        return Reply({**CHAT_REPLY, "choices": [{"message": message, "finish_reason": "stop"}]})

    server.script = script
    conftest = '\ndef pytest_chatprompt_response(response):\n    assert response.text != "answer 1"\n'
    run = project(1, conftest=conftest, checks="repeat: 3\npass_rate: 0.6\n")
    result = run(LIVE, "--chatprompt-report", "r.json")
    result.assert_outcomes(passed=1)
    (case,) = json.loads((run.path / "r.json").read_text())["results"]
    problems = [attempt.get("problem", "") for attempt in case["repeats"]["attempts"]]
    assert sorted(problems)[:2] == ["", ""]
    assert "conftest.py:12: AssertionError: assert 'answer 1' != 'answer 1'" in sorted(problems)[2]


def test_answers_are_recorded_though_their_graders_have_not_ended(project: MakeLiveProject) -> None:
    # The run ends at once; graders of answers that are there already would hold it up.
    body = """if case.id == "c0":
    began.wait(60)
    raise ValueError
began.set()
over.wait(60)"""
    head = "import threading\nbegan, over = threading.Event(), threading.Event()\n"
    end = "\nimport graders\n\ndef pytest_unconfigure():\n    graders.over.set()\n"
    run = project(2, conftest=HOOK + end, head=head, body=body)
    result = run(LIVE, "-x", "--chatprompt-record")
    result.assert_outcomes(failed=1)
    assert (run.path / "__snapshots__/a.eval/c1[openai].recording.yaml").exists()
    assert calls(run) == ["grade c0 main", "grade c1 thread"]


def test_a_request_of_a_grader_is_not_taken_for_one_of_the_provider(project: MakeLiveProject, server: Server) -> None:
    """While one provider of the project's own sends, requests of other threads could be its."""
    conftest = f"""
import httpx, threading
started, asked, graded = threading.Event(), threading.Event(), threading.Event()

def ask(text):
    body = {{"model": "m", "messages": [{{"role": "user", "content": text}}]}}
    return httpx.post("{server.url}/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]

def send(request):
    question = request.chat_prompt[-1].content
    text = ask(question)
    if question == "c2" and text == "a real answer":
        # c1 is graded meanwhile, in a thread; c0 in the main thread.
        asked.set()
        assert graded.wait(60)
    return text

@pytest.fixture(scope="session")
def openai_provider():
    return send

def pytest_chatprompt_response(case):
    if case.id == "{{grader}}":
        started.set()
        assert asked.wait(60)
        ask("from the hook")
        graded.set()
    elif case.id == "c0":
        # Else pytest may come to c1 before: it waits for all requests there, and starts no grader meanwhile.
        assert started.wait(60)
"""
    for grader in ("c1", "c0"):
        server.requests.clear()
        run = project(3, conftest=conftest.replace("{grader}", grader))
        run(LIVE, "--chatprompt-record").assert_outcomes(passed=3)
        assert sorted(server.last_contents) == ["c0", "c1", "c2", "from the hook"]
        for name in case_ids(3):
            assert "from the hook" not in (run.path / f"__snapshots__/a.eval/{name}[openai].recording.yaml").read_text()


def test_where_nobody_waits_for_an_answer_no_grader_is_called(project: MakeLiveProject, server: Server) -> None:
    conftest = f"""
import httpx
from pytest_chatprompt import ProviderResponse

def start(request):
    body = {{"model": "m", "messages": [{{"role": "user", "content": request.chat_prompt[-1].content}}]}}
    httpx.post("{server.url}/v1/chat/completions", json=body)
    return ProviderResponse(text="", is_awaited=False)

@pytest.fixture(scope="session")
def openai_provider():
    return start
"""
    run = project(3, conftest=HOOK + conftest)
    run(LIVE).assert_outcomes(passed=3)
    assert sorted(server.last_contents) == case_ids(3)
    assert not (run.path / "log.txt").exists()

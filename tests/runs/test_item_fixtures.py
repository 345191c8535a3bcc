"""The fixtures of eval items: those that no project overrides, and what a project sees of them."""

from __future__ import annotations

import pytest

from tests.runs.conftest import HELLO, LIVE_CONFTEST, MakeLiveProject, Run
from tests.server import CHAT_REPLY, Server

KEPT = ("eval_case", "eval_request", "eval_provider", "eval_api", "eval_snapshot")
NAMES = ("eval_case", "eval_request", "eval_provider", "eval_api", "eval_snapshot", "eval_masks", "snapshot")


def outputs(result: pytest.RunResult) -> list[str]:
    """What the project's code printed, a line each."""
    return [line.partition("> ")[2] for line in result.outlines if "> " in line]


def test_who_asks_later_gets_what_the_item_uses(run: Run) -> None:
    asks = f"""
import pytest

REQUESTS = []

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    values = item.funcargs
    print("\\n>", [item._request.getfixturevalue(name) is values[name] for name in {KEPT!r}])
    REQUESTS.append(values["eval_request"])
    yield

def pytest_sessionfinish():
    print("\\n>", len({{id(value) for value in REQUESTS}}))
"""
    run.write({"a.eval.yaml": HELLO, "b.eval.yaml": HELLO, "conftest.py": asks})
    result = run("-s", "--snapshot-update")
    result.assert_outcomes(passed=2)
    # Each case has its own.
    assert outputs(result) == [str([True] * len(KEPT))] * 2 + ["2"]


def test_hooks_see_the_values_of_a_live_case_when_it_is_compared_and_when_it_is_graded(
    live_project: MakeLiveProject,
) -> None:
    run = live_project(1)
    looks = """
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.when == "call":
        print("\\n>", sorted(item.funcargs), item.funcargs["eval_case"].id)
    return report
"""
    run.write({"conftest.py": run.path.joinpath("conftest.py").read_text() + looks})
    result = run("-s", "--chatprompt-live")
    result.assert_outcomes(passed=1)
    compared, graded = outputs(result)
    assert compared == graded
    assert "eval_request" in graded


@pytest.mark.parametrize(("outcome", "count"), [("skip", "skipped"), ("fail", "failed")])
def test_a_provider_that_ends_its_case_is_asked_once_and_told_at_the_case(
    live_project: MakeLiveProject, outcome: str, count: str
) -> None:
    run = live_project(1)
    ends = f"""
sent = []

@pytest.fixture(scope="session")
def openai_provider():
    def send(request):
        # The first time shows what is sent.
        sent.append(request)
        if len(sent) > 1:
            pytest.{outcome}("not today")
        return "an answer"
    return send

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    try:
        return (yield)
    except BaseException as error:
        with pytest.raises(type(error)) as again:
            item._request.getfixturevalue("eval_response")
        print("\\n>", again.value is error, len(sent))
        raise
"""
    run.write({"conftest.py": run.path.joinpath("conftest.py").read_text() + ends})
    run.update()
    result = run("-s", "-rs", "--chatprompt-live", "--chatprompt-concurrency=1")
    result.assert_outcomes(**{count: 1})
    assert outputs(result)[0] == "True 2"
    if outcome == "skip":
        result.stdout.fnmatch_lines(["SKIPPED [[]1[]] a.eval.yaml:*: not today"])


def test_who_asks_too_early_gets_an_error_and_nothing_is_sent(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(1)
    asks = """
@pytest.fixture(autouse=True)
def asks(request):
    request.getfixturevalue("eval_response")
"""
    run.write({"conftest.py": run.path.joinpath("conftest.py").read_text() + asks})
    result = run("--chatprompt-live")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*eval_response is not available yet*"])
    assert server.requests == []


# What it sends cannot be prepared, so it comes to the item's `eval_api`.
OWN_PROVIDER = """
import httpx

@pytest.fixture
def openai_provider():
    def send(request):
        reply = httpx.post("{url}/chat/completions", json={{"messages": [], "case": request.eval_case_id}})
        return ProviderResponse(text=reply.json()["choices"][0]["message"]["content"])

    return send
"""


def test_an_override_of_the_response_gets_what_the_item_uses(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(2, conftest=OWN_PROVIDER.format(url=server.url))
    override = """
@pytest.fixture
def eval_response(eval_response, eval_api, eval_case, request):
    values = request.node.funcargs
    print("\\n>", eval_api is values["eval_api"], eval_case is values["eval_case"], len(eval_api.sent))
    return eval_response.model_copy(update={"text": eval_case.id})

def pytest_chatprompt_response(case, response):
    assert response.text == case.id
"""
    run.write({"conftest.py": run.path.joinpath("conftest.py").read_text() + override})
    result = run("-s", "--chatprompt-live")
    result.assert_outcomes(passed=2)
    assert outputs(result) == ["True True 1"] * 2
    assert len(server.requests) == 2


def test_a_fixture_that_uses_the_response_gets_what_the_item_uses(
    live_project: MakeLiveProject, server: Server
) -> None:
    run = live_project(2, conftest=OWN_PROVIDER.format(url=server.url))
    uses = """
@pytest.fixture(autouse=True)
def uses(eval_response, eval_api, eval_case, request):
    values = request.node.funcargs
    print("\\n>", eval_api is values["eval_api"], eval_case is values["eval_case"], len(eval_api.sent))
"""
    run.write({"conftest.py": run.path.joinpath("conftest.py").read_text() + uses})
    result = run("-s", "--chatprompt-live")
    result.assert_outcomes(passed=2)
    assert outputs(result) == ["True True 1"] * 2
    assert len(server.requests) == 2


@pytest.mark.parametrize("name", KEPT)
def test_a_fixture_that_asks_for_one_gets_what_the_item_uses(run: Run, name: str) -> None:
    conftest = f"""
import pytest

@pytest.fixture(autouse=True)
def asks({name}, request):
    yield
    print("\\n>", request.node.funcargs[{name!r}] is {name})
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO})
    run.update()
    assert outputs(run("-s")) == ["True"]


@pytest.mark.parametrize("name", ["eval_api", "eval_request"])
def test_the_provider_may_ask_for_one_while_the_item_is_set_up(run: Run, name: str) -> None:
    conftest = f"""
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture
def openai_provider(request):
    value = request.getfixturevalue({name!r})
    if {name!r} == "eval_api":
        value.post(path__regex="completions").respond(json={{"choices": [{{"message": {{"content": "routed"}}}}]}})
    yield OpenAIProvider()
    if {name!r} == "eval_api":
        print("\\n>", [call.response.json()["choices"][0]["message"]["content"] for call in value.calls])
    else:
        print("\\n>", value == request.node.funcargs[{name!r}])
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO})
    run.update()
    assert outputs(run("-s")) == ["['routed']" if name == "eval_api" else "True"]


def test_what_was_sent_can_be_read_by_a_fixture_that_asks_for_the_api(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture(autouse=True)
def reads(eval_api):
    yield
    print("\\n>", [each.endpoint for each in eval_api.sent], "authorization" in eval_api.calls.last.request.headers)
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO})
    run.update()
    assert outputs(run("-s")) == ["['POST /v1/chat/completions'] True"]


def test_an_api_that_one_case_reads_does_not_keep_the_next_from_being_prepared(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture(autouse=True)
def reads(request):
    api = request.getfixturevalue("eval_api") if request.node.name == "c1" else None
    yield
    print("\\n>", len(request.node.funcargs["eval_api"].sent))
"""
    cases = "evalcases:\n" + "".join(
        f"  - {{id: c{number}, input_messages: [{{role: user, content: hi}}]}}\n" for number in range(3)
    )
    run.write({"conftest.py": conftest, "a.eval.yaml": cases})
    run.update()
    assert outputs(run("-s")) == ["0", "1", "0"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eval_case", 'EvalCase(id="other", input_messages=[{"role": "user", "content": "mine"}])'),
        ("eval_request", 'ProviderRequest(chat_prompt=[ChatMessage("user", "mine")])'),
        ("eval_provider", 'OpenAIProvider(model="mine")'),
        ("eval_masks", '{"hello": "mine"}'),
    ],
)
def test_an_override_counts_beside_the_others(run: Run, name: str, value: str) -> None:
    conftest = f"""
import pytest
from pytest_chatprompt import ChatMessage, EvalCase, OpenAIProvider, ProviderRequest

@pytest.fixture
def {name}():
    return {value}
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO})
    run.update().assert_outcomes(passed=1)
    assert "mine" in str(run.snapshot("__snapshots__/a.eval/hello[openai].yaml"))


def test_an_override_that_extends_its_own_name_is_pytests(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture
def eval_case(eval_case):
    return eval_case.model_copy(update={"metadata": {"systemPrompt": "mine"}})
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO})
    run.update()
    assert run.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"]["messages"][0]["content"] == "mine"


def test_an_override_of_syrupys_snapshot_is_what_the_item_wraps(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture
def snapshot(snapshot, request):
    print("\\n>", request.fixturename)
    return snapshot.with_defaults(exclude=lambda prop, path: prop == "model")
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO})
    assert outputs(run("-s", "--snapshot-update")) == ["snapshot"]
    assert "model" not in run.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"]


def test_masks_count_where_a_snapshot_of_the_projects_own_does_not_ask_for_them(run: Run) -> None:
    conftest = """
import pytest
from pytest_chatprompt import ChatPromptSnapshotExtension

@pytest.fixture
def eval_masks():
    return {"hello": "mine"}

@pytest.fixture
def eval_snapshot(snapshot):
    return snapshot.use_extension(ChatPromptSnapshotExtension)
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO})
    run.update().assert_outcomes(passed=1)
    assert "mine" in str(run.snapshot("__snapshots__/a.eval/hello[openai].yaml"))


@pytest.mark.parametrize("fixture", ["snapshot", "eval_snapshot"])
def test_a_mistake_in_a_matcher_is_the_failure(run: Run, fixture: str) -> None:
    conftest = f"""
import pytest

@pytest.fixture
def eval_snapshot({fixture}):
    return {fixture}(matcher=lambda data, path: path[7])
"""
    run.write({"conftest.py": conftest, "a.eval.yaml": HELLO})
    run().stdout.fnmatch_lines(["E   IndexError: *", "conftest.py:6: IndexError"])


def test_the_request_of_an_item_is_pytests(run: Run) -> None:
    shows = """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    request = item.funcargs["request"]
    print("\\n>", request is item._request, request.node is item, request.fixturename)
    return (yield)
"""
    run.write({"conftest.py": shows, "a.eval.yaml": HELLO})
    run.update()
    assert outputs(run("-s")) == outputs(run("-s", "--setup-show")) == ["True True None"]


def test_a_case_whose_request_cannot_be_built_is_an_error_of_its_set_up(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO.replace("content: hello", "content: [{type: file, value: none.md}]")})
    run("--snapshot-update").assert_outcomes(errors=1)


@pytest.mark.parametrize("option", ["--setup-show", "--setup-only", "--setup-plan"])
def test_pytest_shows_the_set_up_of_each(run: Run, option: str) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.update()
    result = run(option)
    for name in NAMES:
        result.stdout.fnmatch_lines([f"*SETUP * {name}*"])


def test_pytest_shows_the_set_up_of_the_response_in_a_live_run(run: Run, server: Server) -> None:
    run.write({"a.eval.yaml": HELLO, "conftest.py": LIVE_CONFTEST.format(url=server.url, settings="")})
    run.update()
    server.reply_with(CHAT_REPLY)
    result = run("--chatprompt-live", "--setup-show")
    result.stdout.fnmatch_lines(["*SETUP * eval_response*"])
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("file", "options"),
    [
        pytest.param("__snapshots__/test_gone.ambr", (), id="syrupys usual file"),
        pytest.param(
            "__snapshots__/test_gone/test_it.json",
            ("--snapshot-default-extension=syrupy.extensions.json.JSONSnapshotExtension",),
            id="another default extension",
        ),
    ],
)
def test_syrupy_finds_what_is_unused_beside_the_snapshots(run: Run, file: str, options: tuple[str, ...]) -> None:
    run.write({"a.eval.yaml": HELLO, "test_gone.py": "def test_it(snapshot): assert snapshot == 1\n"})
    run.update(*options)
    assert (run.path / file).is_file()
    (run.path / "test_gone.py").unlink()
    result = run(*options)
    result.stdout.fnmatch_lines(["1 snapshot passed. 1 snapshot unused."])
    run("--snapshot-update", *options)
    assert not (run.path / file).exists()


def test_syrupy_finds_yaml_of_others_unused_where_no_snapshot_of_a_case_is(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO, "__snapshots__/gone/old.yaml": "old", "__snapshots__/old.yaml": "old"})
    result = run("--snapshot-details")
    result.stdout.fnmatch_lines(["1 snapshot failed. 2 snapshots unused."])
    run.update()
    result = run()
    result.stdout.fnmatch_lines(["1 snapshot passed."])


TWO_CASES = """
evalcases:
  - id: one
    input_messages: [{role: user, content: hello}]
  - id: two
    input_messages: [{role: user, content: hello}]
"""


def test_each_case_has_the_value_of_its_parameter(run: Run) -> None:
    hook = """
import pytest

@pytest.fixture(scope="session")
def openai_provider(request):
    return (lambda prompt: request.param or "none")

def pytest_generate_tests(metafunc):
    if "openai_provider" in metafunc.fixturenames:
        metafunc.parametrize("openai_provider", [None, "one"], indirect=True, ids=["none", "one"])

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    print("\\n>", item.name, item.funcargs["eval_provider"](None))
    return (yield)
"""
    run.write({"conftest.py": hook, "a.eval.yaml": TWO_CASES})
    run.update()
    assert sorted(outputs(run("-s"))) == ["one[none] none", "one[one] one", "two[none] none", "two[one] one"]


def test_a_fixture_of_the_session_may_have_been_set_up_for_a_parameter_that_cannot_be_compared(run: Run) -> None:
    conftest = """
import pytest

@pytest.fixture(scope="session", autouse=True)
def other(request):
    return getattr(request, "param", None)

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    print("\\n>", item.name, item.funcargs["other"])
    return (yield)
"""
    test = """
import pytest

class Array:
    __hash__ = None
    def __eq__(self, other): raise ValueError("the truth value is ambiguous")
    def __repr__(self): return "array"

@pytest.mark.parametrize("other", [Array()], indirect=True, ids=["array"])
def test_it(other): ...
"""
    run.write({"conftest.py": conftest, "a_test.py": test, "b.eval.yaml": TWO_CASES})
    result = run("-s", "--snapshot-update")
    result.assert_outcomes(passed=3)
    assert outputs(result) == ["test_it[array] array", "one None", "two None"]


@pytest.mark.parametrize("name", ["autouse", "openai_provider"])
def test_a_fixture_of_the_session_that_failed_fails_each_case(run: Run, name: str) -> None:
    fixture = f"""
import pytest

@pytest.fixture(scope="session", autouse={name == "autouse"})
def {name}():
    print("\\n> set up")
    raise ValueError("broken")
"""
    run.write({"conftest.py": fixture, "a.eval.yaml": TWO_CASES})
    result = run("-s", "--tb=no")
    result.assert_outcomes(errors=2)
    assert outputs(result) == ["set up"]


@pytest.mark.parametrize(("value", "kind"), [("{}", "dict"), ("None", "NoneType")])
def test_a_fixture_snapshot_that_is_not_syrupys_is_named(run: Run, value: str, kind: str) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": f"import pytest\n\n@pytest.fixture\ndef snapshot():\n    return {value}\n",
            "test_it.py": "def test_own(eval_snapshot):\n    assert {} == eval_snapshot\n",
        }
    )
    result = run()
    result.assert_outcomes(errors=2)
    text = (
        f"*eval_snapshot needs syrupy's fixture snapshot; another one, which gives {kind}, hides it: rename that, or "
        "switch its plugin off"
    )
    result.stdout.fnmatch_lines([text, text])

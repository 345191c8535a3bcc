"""Early fixtures: overrides that only look at the case run in order, and the requests are in flight together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.items.conftest import MakeLiveProject, case_ids, eval_file, lines
from tests.server import Reply, Server

UsePlugin = Callable[[str], None]

# Writes down each call of a fixture.
LOG = """
def log(text):
    with open("log.txt", "a") as file:
        print(text, file=file)
"""
BY_CASE = """
@pytest.fixture
def eval_provider(eval_case, eval_provider):
    log(eval_case.id)
    if eval_case.id != "c3":
        return eval_provider
    return OpenAIProvider(base_url=eval_provider.base_url, api_key="k", model="other", max_retries=0)
"""
HELPERS = """
@pytest.fixture(scope="session")
def models():
    log("models")
    return {"c3": "other"}

@pytest.fixture
def model(eval_case, models):
    return models.get(eval_case.id, "gpt-5.5")

@pytest.fixture
def eval_provider(eval_case, eval_provider, model):
    log(eval_case.id)
    return OpenAIProvider(base_url=eval_provider.base_url, api_key="k", model=model, max_retries=0)
"""
BY_NAME = """
@pytest.fixture
def openai_provider(eval_case, openai_provider):
    log(eval_case.id)
    model = "other" if eval_case.id == "c3" else "gpt-5.5"
    return OpenAIProvider(base_url=openai_provider.base_url, api_key="k", model=model, max_retries=0)
"""


@pytest.mark.parametrize(
    ("conftest", "first"),
    [
        pytest.param(BY_CASE, [], id="a fixture that looks at the case"),
        pytest.param(HELPERS, ["models"], id="with fixtures of its own"),
    ],
)
def test_cases_whose_provider_depends_on_the_case_are_sent_together(
    live_project: MakeLiveProject, server: Server, conftest: str, first: list[str]
) -> None:
    run = live_project(6, conftest=LOG + conftest)
    (run.path / "log.txt").unlink()
    server.gather(4)
    result = run("--chatprompt-live", "--chatprompt-concurrency", "4")
    result.assert_outcomes(passed=6)
    assert server.max_in_flight == 4
    models = {body["messages"][-1]["content"]: body["model"] for _, _, body in server.requests}
    assert models == {name: "other" if name == "c3" else "gpt-5.5" for name in case_ids(6)}
    assert len(server.requests) == 6
    # Once for each case, in their order.
    assert lines(run.path / "log.txt") == [*first, *case_ids(6)]
    result.stdout.no_fnmatch_line("*one by one*")


def test_an_override_of_a_provider_by_its_name_runs_early_too(live_project: MakeLiveProject, server: Server) -> None:
    sub = {
        "sub/conftest.py": "import pytest\nfrom pytest_chatprompt import OpenAIProvider\n" + LOG + BY_NAME,
        "sub/b.eval.yaml": eval_file(case_ids(6)),
    }
    run = live_project(1, **sub)
    (run.path / "log.txt").unlink()
    server.gather(4)
    run("--chatprompt-live", "--chatprompt-concurrency", "4", "sub").assert_outcomes(passed=6)
    assert server.max_in_flight == 4
    assert [body["model"] for _, _, body in server.requests].count("other") == 1
    assert lines(run.path / "log.txt") == case_ids(6)


def test_an_override_of_an_override_gets_what_that_returned(live_project: MakeLiveProject, server: Server) -> None:
    sub = {
        "sub/conftest.py": "import pytest\nfrom pytest_chatprompt import OpenAIProvider\n"
        + LOG
        + BY_CASE.replace('"c3"', '"c4"').replace("log(eval_case.id)", "log(f'outer {eval_case.id}')"),
        "sub/b.eval.yaml": eval_file(case_ids(6)),
    }
    run = live_project(1, conftest=LOG + BY_CASE, **sub)
    (run.path / "log.txt").unlink()
    server.gather(4)
    run("--chatprompt-live", "--chatprompt-concurrency", "4", "sub").assert_outcomes(passed=6)
    models = {body["messages"][-1]["content"]: body["model"] for _, _, body in server.requests}
    assert sorted(name for name, model in models.items() if model == "other") == ["c3", "c4"]
    assert lines(run.path / "log.txt") == [text for name in case_ids(6) for text in (name, f"outer {name}")]


CASE = """
@pytest.fixture
def eval_case(eval_case):
    return eval_case.model_copy(update={"metadata": {"systemPrompt": f"You answer {eval_case.id}."}})
"""
REQUEST = """
@pytest.fixture
def eval_request(eval_request, eval_case):
    return eval_request.model_copy(update={"metadata": {"systemPrompt": f"You answer {eval_case.id}."}})
"""


@pytest.mark.parametrize("conftest", [CASE, REQUEST], ids=["eval_case", "eval_request"])
def test_cases_and_requests_that_fixtures_make_are_sent_together(
    live_project: MakeLiveProject, server: Server, conftest: str
) -> None:
    run = live_project(6, conftest=conftest)
    server.gather(4)
    result = run("--chatprompt-live", "--chatprompt-concurrency", "4")
    result.assert_outcomes(passed=6)
    assert server.max_in_flight == 4
    sent = sorted(body["messages"][0]["content"] for _, _, body in server.requests)
    assert sent == [f"You answer {name}." for name in case_ids(6)]
    result.stdout.no_fnmatch_line("*one by one*")


OWN = """
import httpx

class Gateway:
    def __init__(self, name):
        self.name = name

    def send(self, request):
        body = {"model": self.name, "messages": [{"content": request.question}]}
        return ProviderResponse(text=httpx.post("URL/chat/completions", json=body).json().get("answer", "(none)"))

@pytest.fixture
def eval_provider(eval_case):
    log(eval_case.id)
    return Gateway(f"for {eval_case.id}")
"""


def test_providers_of_your_own_that_fixtures_make_are_sent_through_together(
    live_project: MakeLiveProject, server: Server
) -> None:
    run = live_project(7, conftest=LOG + OWN.replace("URL", server.url))
    server.reply = Reply({"answer": "a live answer"})
    server.gather(3)
    result = run("--chatprompt-live", "--chatprompt-concurrency", "3")
    result.assert_outcomes(passed=7)
    assert server.max_in_flight == 3
    assert sorted(body["model"] for _, _, body in server.requests) == [f"for {name}" for name in case_ids(7)]
    result.stdout.no_fnmatch_line("*one by one*")


def test_a_case_that_its_fixture_skips_is_never_sent(live_project: MakeLiveProject, server: Server) -> None:
    skipping = """
@pytest.fixture
def eval_provider(eval_case, eval_provider):
    log(eval_case.id)
    if eval_case.id in ("c2", "c4"):
        pytest.skip("not today")
    if eval_case.id == "c5":
        raise LookupError("no such model")
    return eval_provider
"""
    run = live_project(1, conftest=LOG + skipping)
    run.write({"a.eval.yaml": eval_file(case_ids(7))})
    run("--snapshot-update")
    (run.path / "log.txt").unlink()
    server.gather(4)
    result = run("--chatprompt-live", "--chatprompt-concurrency", "4", "-rsE")
    result.assert_outcomes(passed=4, skipped=2, errors=1)
    assert sorted(server.last_contents) == ["c0", "c1", "c3", "c6"]
    assert lines(run.path / "log.txt") == case_ids(7)
    result.stdout.fnmatch_lines(
        [
            "SKIPPED [[]1] a.eval.yaml:7: not today",
            "SKIPPED [[]1] a.eval.yaml:11: not today",
            "ERROR a.eval.yaml::c5 - LookupError: no such model",
        ]
    )
    assert '>           raise LookupError("no such model")' in result.outlines
    result.stdout.no_fnmatch_line("*early_fixtures.py*")
    result.stdout.no_fnmatch_line("*live_run.py*")


@pytest.mark.parametrize("ending", ["raise KeyboardInterrupt", 'pytest.exit("enough")'])
def test_a_fixture_that_ends_the_run_ends_it(live_project: MakeLiveProject, server: Server, ending: str) -> None:
    run = live_project(3)
    fixture = f"""
@pytest.fixture
def eval_provider(eval_case, eval_provider):
    if eval_case.id == "c2":
        {ending}
    return eval_provider
"""
    run.append("conftest.py", fixture)
    if "exit" in ending:
        assert run("--chatprompt-live").ret == pytest.ExitCode.INTERRUPTED
    else:
        with pytest.raises(KeyboardInterrupt):
            run("--chatprompt-live")
    assert "c2" not in server.last_contents


CHANGING = """
class Gateway:
    def __init__(self):
        self.model = "gpt-5.5"
        self._sent = 0

    def send(self, request):
        import httpx

        self._sent += 1
        seen = sorted(name for name in vars(self) if name.startswith("c"))
        body = {"model": self.model, "seen": seen, "messages": [{"content": request.question}]}
        return ProviderResponse(text=httpx.post("URL/chat/completions", json=body).json().get("answer", "(none)"))

@pytest.fixture(scope="session")
def openai_provider():
    return Gateway()

@pytest.fixture
def eval_provider(eval_case, eval_provider):
    eval_provider.model = f"for {eval_case.id}"
    setattr(eval_provider, eval_case.id, True)
    return eval_provider
"""


def test_a_fixture_that_changes_a_shared_provider_runs_with_its_case(
    live_project: MakeLiveProject, server: Server
) -> None:
    run = live_project(5, conftest=CHANGING.replace("URL", server.url))
    server.reply = Reply({"answer": "a live answer"})
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=5)
    models = {body["messages"][-1]["content"]: body["model"] for _, _, body in server.requests}
    assert models == {name: f"for {name}" for name in case_ids(5)}
    assert [body["seen"] for _, _, body in server.requests] == [case_ids(count) for count in range(1, 6)]
    assert server.max_in_flight == 1
    result.stdout.fnmatch_lines(
        ["? cases were sent one by one: the fixture eval_provider in conftest.py changes what other cases use"]
    )


MODULE_SCOPE = """
@pytest.fixture(scope="module")
def eval_provider(openai_provider):
    return openai_provider
"""
PARAMETRIZED = """
@pytest.fixture(params=["one", "two"])
def model(request):
    return request.param

@pytest.fixture
def eval_provider(eval_provider, model):
    return eval_provider
"""
WITH_REQUEST = """
import dataclasses

@pytest.fixture
def eval_provider(eval_provider, request):
    return eval_provider
"""
WITH_FOLDER = """
@pytest.fixture
def place(tmp_path):
    return tmp_path

@pytest.fixture
def eval_provider(eval_provider, place):
    return eval_provider
"""
WITH_STAND_IN = """
@pytest.fixture
def eval_provider(eval_provider, eval_api):
    return eval_provider
"""
WITH_YIELD = """
@pytest.fixture
def eval_case(eval_case):
    yield eval_case
"""
AGENT = """
from pytest_chatprompt import CLIProvider

@pytest.fixture
def eval_provider(eval_case):
    return CLIProvider(["echo", eval_case.id, "{prompt}"])
"""
AUTOUSE = """
@pytest.fixture(autouse=True)
def tidy(eval_case):
    pass

@pytest.fixture
def eval_provider(eval_provider):
    return eval_provider
"""


@pytest.mark.parametrize(
    ("conftest", "count", "reason"),
    [
        pytest.param(
            MODULE_SCOPE, 3, "the fixture eval_provider in conftest.py does not have session scope", id="module scope"
        ),
        pytest.param(PARAMETRIZED, 6, "the fixture model is parametrized", id="parameters"),
        pytest.param(
            WITH_REQUEST, 3, "the fixture eval_provider in conftest.py asks for the fixture request", id="request"
        ),
        pytest.param(WITH_FOLDER, 3, "the fixture place in conftest.py asks for the fixture tmp_path", id="tmp_path"),
        pytest.param(
            WITH_STAND_IN, 3, "the fixture eval_provider in conftest.py asks for the fixture eval_api", id="eval_api"
        ),
        pytest.param(WITH_YIELD, 3, "the fixture eval_case in conftest.py has code after its yield", id="yield"),
        pytest.param(AGENT, 3, "agents run one after the other", id="agent"),
        pytest.param(AUTOUSE, 3, "the fixture tidy in conftest.py may skip them", id="autouse"),
    ],
)
def test_the_summary_says_why_fixtures_do_not_run_early(
    live_project: MakeLiveProject, server: Server, conftest: str, count: int, reason: str
) -> None:
    result = live_project(3, conftest=conftest)("--chatprompt-live")
    result.assert_outcomes(passed=count)
    assert server.max_in_flight <= 1
    result.stdout.fnmatch_lines([f"{count} cases were sent one by one: {reason}"])


def test_an_async_fixture_does_not_run_early(live_project: MakeLiveProject, server: Server) -> None:
    conftest = """
import pytest

@pytest.fixture
async def eval_provider(eval_provider):
    return eval_provider
"""
    run = live_project(2)
    run.write({"sub/conftest.py": conftest, "sub/b.eval.yaml": eval_file(["s0", "s1"])})
    result = run("--chatprompt-live", "a.eval.yaml", "sub")
    result.assert_outcomes(passed=2, errors=2)
    assert sorted(server.last_contents) == ["c0", "c1"]
    assert "was never awaited" not in result.stdout.str()


def test_a_fixture_that_several_others_ask_for_runs_once(live_project: MakeLiveProject, server: Server) -> None:
    case = """
@pytest.fixture
def eval_case(eval_case):
    log(f"case {eval_case.id}")
    return eval_case
"""
    run = live_project(6, conftest=LOG + case + BY_CASE)
    (run.path / "log.txt").unlink()
    server.gather(4)
    run("--chatprompt-live", "--chatprompt-concurrency", "4").assert_outcomes(passed=6)
    assert server.max_in_flight == 4
    assert lines(run.path / "log.txt") == [text for name in case_ids(6) for text in (f"case {name}", name)]


def test_a_session_scoped_override_runs_with_the_first_case(live_project: MakeLiveProject, server: Server) -> None:
    override = """
@pytest.fixture(scope="session")
def eval_provider(openai_provider):
    log("once")
    return openai_provider
"""
    run = live_project(6, conftest=LOG + override)
    (run.path / "log.txt").unlink()
    server.gather(4)
    run("--chatprompt-live", "--chatprompt-concurrency", "4").assert_outcomes(passed=6)
    assert server.max_in_flight == 4
    assert lines(run.path / "log.txt") == ["once"]


def test_a_run_that_stops_early_has_set_up_no_more_than_it_sends(live_project: MakeLiveProject, server: Server) -> None:
    failing = """
def pytest_chatprompt_response(case):
    assert case.id != "c0"
"""
    run = live_project(20, conftest=LOG + BY_CASE + failing)
    (run.path / "log.txt").unlink()
    server.reply = Reply(delay_seconds=0.05)
    run("--chatprompt-live", "-x", "--chatprompt-concurrency", "2").assert_outcomes(failed=1)
    assert lines(run.path / "log.txt") == ["c0", "c1", "c2"]
    assert len(server.requests) <= 3


def test_early_and_other_cases_mix(live_project: MakeLiveProject, server: Server) -> None:
    sub = {
        "sub/conftest.py": "import pytest\nfrom pytest_chatprompt import OpenAIProvider\n" + LOG + BY_CASE,
        "sub/b.eval.yaml": eval_file(["s0", "s1", "s2"]),
        "b.eval.yaml": eval_file(["b0", "b1", "b2"]),
    }
    run = live_project(3, **sub)
    run("--chatprompt-live", "a.eval.yaml", "sub", "b.eval.yaml").assert_outcomes(passed=9)
    assert sorted(server.last_contents) == sorted([*case_ids(3), "s0", "s1", "s2", "b0", "b1", "b2"])


def test_a_case_that_differs_from_its_snapshot_is_not_sent(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(6, conftest=LOG + BY_CASE)
    run.write({"a.eval.yaml": eval_file(case_ids(6)).replace("content: c2", "content: changed")})
    run("--chatprompt-live").assert_outcomes(passed=5, failed=1)
    assert sorted(server.last_contents) == ["c0", "c1", "c3", "c4", "c5"]


def test_repeated_cases_get_values_of_their_own(
    live_project: MakeLiveProject, server: Server, use_plugin: UsePlugin
) -> None:
    use_plugin("repeat")
    run = live_project(3, conftest=LOG + BY_CASE)
    (run.path / "log.txt").unlink()
    run("--chatprompt-live", "--count", "2").assert_outcomes(passed=6)
    assert sorted(server.last_contents) == sorted([*case_ids(3), *case_ids(3)])
    assert sorted(lines(run.path / "log.txt")) == sorted([*case_ids(3), *case_ids(3)])

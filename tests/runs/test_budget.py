"""The budget of a live run: what is sent, what is not and why, and which requests count."""

from __future__ import annotations

import pytest

from tests.runs.conftest import LIVE_CONFTEST, MakeLiveProject, Run, case_ids, eval_file
from tests.server import Reply, Server

# A reply of the test server costs $0.00014: 10 tokens at $5 and 3 at $30 for a million.
THREE_ANSWERS = "--chatprompt-budget-usd=0.0005"
SPENT = "the budget of $0.0005 is spent: $0.00042 so far"

# An application that sends with urllib to the test server, as if that were OpenAI.
APP = """
import json, urllib.error, urllib.request

def ask(url, text, model="gpt-5.5", **more):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": text}], **more}).encode()
    request = urllib.request.Request(f"{url}/v1/chat/completions", body, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.read().decode()
    except urllib.error.HTTPError as error:
        error.close()
        raise
"""


def test_nothing_more_is_sent_once_the_budget_is_spent(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(8)
    result = run("--chatprompt-live", THREE_ANSWERS)
    result.assert_outcomes(passed=3, errors=5)
    assert len(server.requests) == 3
    result.stdout.fnmatch_lines(["*ERROR at setup of c*", f"a.eval.yaml:*:5: case 'c*': {SPENT}"])
    # What was not sent is no part of the usage.
    result.stdout.fnmatch_lines(
        ["openai *3 *30 *9 *0 *", "Spent $0.00042 of the budget of $0.0005.", f"ERROR a.eval.yaml::c* - {SPENT}"]
    )


def test_answers_of_a_repeated_case_that_are_not_sent_for_are_no_part_of_the_usage(
    live_project: MakeLiveProject, server: Server
) -> None:
    result = live_project(2)("--chatprompt-live", "--chatprompt-repeat=4", THREE_ANSWERS)
    result.assert_outcomes(errors=2)
    assert len(server.requests) == 3
    result.stdout.fnmatch_lines(["openai *[12]            30              9        0 * $0.00042"])


def test_the_ini_value_is_a_budget_too_and_the_option_wins(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(4)
    run.append("pytest.ini", "chatprompt_budget_usd = 0.0005\n")
    run("--chatprompt-live").assert_outcomes(passed=3, errors=1)
    run("--chatprompt-live", "--chatprompt-budget-usd=1").assert_outcomes(passed=4)
    assert len(server.requests) == 7
    # Offline nothing is spent.
    run().assert_outcomes(passed=4)


def test_a_budget_that_is_large_enough_changes_nothing(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(8)
    # The first one is sent alone, since nobody knows what it costs; then the others together.
    server.gather(7, after=1)
    run("--chatprompt-live", "--chatprompt-budget-usd=5").assert_outcomes(passed=8)
    assert server.max_in_flight == 7


def test_replayed_answers_cost_nothing(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(4)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=4)
    server.requests.clear()
    run("--chatprompt-live", "--chatprompt-replay", "--chatprompt-budget-usd=0.00001").assert_outcomes(passed=4)
    (run.path / "__snapshots__/a.eval/c1[openai].recording.yaml").unlink()
    (run.path / "__snapshots__/a.eval/c3[openai].recording.yaml").unlink()
    # The first request goes; one more would be too much.
    result = run("--chatprompt-live", "--chatprompt-replay", "--chatprompt-budget-usd=0.0002")
    result.assert_outcomes(passed=3, errors=1)
    assert len(server.requests) == 1


def test_a_price_that_is_not_known_is_an_error_before_anything_is_sent(
    live_project: MakeLiveProject, server: Server
) -> None:
    run = live_project(2, settings="max_retries=0, model='my-own'", **{"b.eval.yaml": eval_file(["x"])})
    result = run("--chatprompt-live", "--chatprompt-budget-usd=5")
    result.assert_outcomes(errors=3)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'c0': not sent, because the budget of $5.00 needs every price: the price of the model "
            "'my-own' of OpenAI is not known: the price list has none; pass price=TokenPrice(input_usd=..., output_usd=...) to "
            "its provider"
        ]
    )
    assert server.requests == []


def test_without_the_price_list_it_says_how_to_install_it(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(1, conftest="\nimport sys\nsys.modules['genai_prices'] = None\n")
    result = run.apart("--chatprompt-live", "--chatprompt-budget-usd=5")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the price list is not installed (pip install 'pytest-chatprompt?prices?')"])
    assert server.requests == []


def test_what_a_hook_sends_through_a_provider_counts(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(
        1,
        conftest="""
_judge = OpenAIProvider(base_url="{url}", api_key="k", max_retries=0)

def pytest_chatprompt_response(case, request, response):
    for _ in range(5):
        _judge.send(request)
""".replace("{url}", server.url),
    )
    result = run("--chatprompt-live", THREE_ANSWERS)
    result.assert_outcomes(errors=1)
    # The answer, and two of the hook.
    assert len(server.requests) == 3
    result.stdout.fnmatch_lines([f"*case 'c0': {SPENT}"])


OWN_PROVIDER = """
import pytest
from app import ask

@pytest.fixture(scope="session")
def app_provider():
    return lambda request: ask("{url}", request.chat_prompt[-1].content{more})
"""


def own_project(run: Run, server: Server, count: int, more: str = "") -> Run:
    """A project whose cases go through an application."""
    server.reply = Reply()
    files = {"app.py": APP, "conftest.py": OWN_PROVIDER.replace("{url}", server.url).replace("{more}", more)}
    run.write({**files, "a.eval.yaml": eval_file(case_ids(count), "app")})
    run.append("pytest.ini", "pythonpath = .\n")
    run.with_snapshots()
    assert server.requests == []
    return run


@pytest.mark.parametrize("mode", [(), ("--chatprompt-record",)], ids=["unrecorded", "recorded"])
def test_what_a_provider_of_your_own_sends_counts(run: Run, server: Server, mode: tuple[str, ...]) -> None:
    own_project(run, server, 5)
    result = run("--chatprompt-live", "--chatprompt-concurrency=1", THREE_ANSWERS, *mode)
    result.assert_outcomes(passed=3, errors=2)
    assert len(server.requests) == 3
    result.stdout.fnmatch_lines([f"*case 'c4': {SPENT}"])
    recorded = [name for name in run.snapshots() if name.endswith(".recording.yaml")]
    assert len(recorded) == (3 if mode else 0)


def test_a_provider_of_your_own_with_a_model_without_a_price_is_an_error(run: Run, server: Server) -> None:
    own_project(run, server, 1, ", model='my-own'")
    result = run("--chatprompt-live", "--chatprompt-budget-usd=5")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the price of the model 'my-own' of openai-chat is not known*"])
    assert server.requests == []


OWN_TEST = """
from app import ask

def test_first(eval_api):
    for number in range(2):
        ask("{url}", str(number))

def test_second(eval_api):
    ask("{url}", "2")
    try:
        ask("{url}", "3")
    except OSError:
        pass
"""


@pytest.mark.parametrize("mode", [(), ("--chatprompt-record",)], ids=["unrecorded", "recorded"])
def test_what_tests_of_your_own_code_send_counts(run: Run, server: Server, mode: tuple[str, ...]) -> None:
    server.reply = Reply()
    run.write({"app.py": APP, "test_app.py": OWN_TEST.replace("{url}", server.url)})
    run.append("pytest.ini", "pythonpath = .\n")
    result = run("--chatprompt-live", THREE_ANSWERS, *mode)
    # The application swallows the error of the fourth request.
    result.assert_outcomes(passed=1, failed=1)
    assert len(server.requests) == 3
    result.stdout.fnmatch_lines([f"*{SPENT}*"])
    assert "no whole reply" not in result.stdout.str()
    run("--chatprompt-live").assert_outcomes(passed=2)


THREADS = """
import threading
from pytest_chatprompt import OpenAIProvider, ProviderRequest

provider = OpenAIProvider(base_url="{url}", api_key="k", max_retries=0)

def send():
    provider.send(ProviderRequest(question="hello"))

def test_main_thread(eval_api):
    send()

def test_other_thread(eval_api):
    for _ in range(2):
        thread = threading.Thread(target=send)
        thread.start()
        thread.join(60)

def test_without_the_fixture():
    send()
"""


def test_what_tests_send_through_a_provider_counts_once(run: Run, server: Server) -> None:
    server.reply = Reply()
    run.write({"test_app.py": THREADS.replace("{url}", server.url)})
    result = run("--chatprompt-live", THREE_ANSWERS)
    result.assert_outcomes(passed=2, failed=1)
    assert len(server.requests) == 3
    result.stdout.fnmatch_lines([f"*{SPENT}*"])


def test_agents_are_errors(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": eval_file(["x"], "cli"),
            "conftest.py": """
import pytest
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def cli_provider():
    return CLIProvider(command=["no-such-agent"])
""",
        }
    )
    run.update()
    result = run("--chatprompt-live", "--chatprompt-budget-usd=5")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*case 'x': not sent, because a budget needs every price: the cost of an agent is not known; leave agents out"]
    )


@pytest.mark.parametrize("value", ["0", "-1", "much", "nan", "inf", ""])
def test_a_budget_that_is_no_amount_is_refused(run: Run, value: str) -> None:
    result = run("--chatprompt-live", f"--chatprompt-budget-usd={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: --chatprompt-budget-usd must be a number above 0, in US dollars, but is {value!r}"]
    )


def test_the_ini_value_is_named_where_it_is_wrong(run: Run) -> None:
    run.append("pytest.ini", "chatprompt_budget_usd = 5 USD\n")
    result = run("--chatprompt-live")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["ERROR: chatprompt_budget_usd must be a number above 0, in US dollars, but is '5 USD'"]
    )


def test_a_budget_is_refused_under_xdist(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(1)
    run.append("pytest.ini", "chatprompt_budget_usd = 5\n")
    result = run("--chatprompt-live", "-n2")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            "ERROR: chatprompt_budget_usd does not work with -n, because the workers share no budget; remove -n, or pass "
            "-n0 if your settings add it: a live run sends many requests at once without it too"
        ]
    )
    assert server.requests == []
    run("--chatprompt-live", "-n0").assert_outcomes(passed=1)
    # Offline nothing is spent.
    run("-n1").assert_outcomes(passed=1)


ASYNC_PROVIDER = """
import httpx, pytest

@pytest.fixture(scope="session")
def app_provider():
    async def send(request):
        body = {"model": "gpt-5.5", "messages": [{"role": "user", "content": request.chat_prompt[-1].content}]}
        async with httpx.AsyncClient() as client:
            reply = await client.post("{url}/v1/chat/completions", json=body)
        return reply.text
    return send
"""


def test_an_async_provider_of_your_own_counts_too(run: Run, server: Server) -> None:
    server.reply = Reply()
    files = {"conftest.py": ASYNC_PROVIDER.replace("{url}", server.url), "a.eval.yaml": eval_file(case_ids(4), "app")}
    run.write(files)
    run.update()
    result = run("--chatprompt-live", "--chatprompt-concurrency=1", THREE_ANSWERS)
    result.assert_outcomes(passed=3, errors=1)
    assert len(server.requests) == 3
    result.stdout.fnmatch_lines([f"*case 'c3': {SPENT}"])


def test_what_a_judge_is_asked_counts(run: Run, server: Server) -> None:
    verdict = {"choices": [{"message": {"content": '{"reason": "fine", "pass": true}'}, "finish_reason": "stop"}]}
    usage = {"usage": {"prompt_tokens": 10, "completion_tokens": 3}}
    server.script = lambda _, body: Reply({**verdict, **usage}) if "response_format" in body else Reply()
    run.write(
        {
            "a.eval.yaml": "checks: [{type: llm_rubric, value: is fine}]\n" + eval_file(case_ids(3)),
            "conftest.py": LIVE_CONFTEST.format(url=server.url, settings="max_retries=0"),
        }
    )
    run.update()
    result = run("--chatprompt-live", "--chatprompt-concurrency=1", THREE_ANSWERS)
    result.assert_outcomes(passed=1, errors=2)
    assert len(server.requests) == 3
    result.stdout.fnmatch_lines(["*the judge gave no verdict: the budget of $0.0005 is spent: $0.00042 so far*"])

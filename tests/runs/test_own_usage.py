"""What a live run shows of your own code, and of apps as providers: requests, tokens, costs and answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runs.conftest import Run
from tests.server import Reply, Server

LIVE = "--chatprompt-live"
RECORD = (LIVE, "--chatprompt-record")
REPLAY = "--chatprompt-replay"
USAGE = {"prompt_tokens": 1000, "completion_tokens": 200}
# At $0.25 and $2 for a million tokens.
COST = 0.00065

APP = """
import json
import os

import httpx

URL = os.environ["APP_URL"]

def post(text, **more):
    body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": text}], **more}
    return httpx.post(f"{URL}/v1/chat/completions", json=body)

def ask(text):
    return post(text).json()["choices"][0]["message"]["content"]

def stream(text):
    lines = post(text, stream=True).text.splitlines()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"])
"""
TESTS = """
import app

def test_one(eval_api, eval_snapshot):
    assert app.ask("one") == "one, answered"
    assert eval_api.sent == eval_snapshot

def test_several(eval_api):
    assert app.ask("two") == "two, answered"
    assert app.stream("three") == "three, answered"
    assert app.post("fail").status_code == 400
"""
EVALS = """
provider: app
evalcases:
  - {id: a, input_messages: [{role: user, content: four}], checks: [{type: contains, value: answered}]}
"""
CONFTEST = """
import pytest

import app

@pytest.fixture(scope="session")
def app_provider():
    def send(request):
        app.ask("before")
        return app.ask(request.chat_prompt[-1].content)

    return send
"""


def script(_: int, body: Any) -> Reply:
    text = f"{body['messages'][-1]['content']}, answered"
    if text.startswith("fail"):
        return Reply({"error": {"message": "no"}}, 400)
    if not body.get("stream"):
        return Reply({"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": USAGE})
    chunks: list[Any] = [{"choices": [{"delta": {"content": piece}, "index": 0}]} for piece in text.partition(",")]
    chunks += [{"choices": [{"delta": {}, "index": 0, "finish_reason": "stop"}]}, {"choices": [], "usage": USAGE}]
    events = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    return Reply(events, headers={"content-type": "text/event-stream"})


@pytest.fixture
def own(run: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("APP_URL", server.url)
    server.script = script
    run.write({"app.py": APP, "test_it.py": TESTS, "conftest.py": CONFTEST})
    run(LIVE, "--snapshot-update", "-k", "one").assert_outcomes(passed=1)
    server.requests.clear()
    return run


def results(run: Run) -> dict[str, Any]:
    report = json.loads((run.path / "r.json").read_text(encoding="utf-8"))
    return {result["node_id"].partition("::")[2]: result for result in report["results"]}


def test_the_summary_has_a_row_of_your_own_code(own: Run, server: Server) -> None:
    result = own(LIVE, "--junitxml=junit.xml")
    result.assert_outcomes(passed=2)
    assert len(server.requests) == 4
    result.stdout.fnmatch_lines(
        [
            "*usage of the live run*",
            "provider  cases  requests      input tokens    output tokens  retries * cost",
            "own code      2         4  3000 + 1 unknown  600 + 1 unknown        0 * $0.0019 + 1 unknown",
        ]
    )
    xml = (own.path / "junit.xml").read_text(encoding="utf-8")
    for name, value in [
        ("provider", "own code"),
        ("requests", "3"),
        ("input_tokens", "[1000, 1000, 'unknown']"),
        ("answer", "one, answered"),
    ]:
        assert f'<property name="chatprompt_{name}" value="{value}"' in xml


def test_each_test_has_its_answers_below_it(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    own(LIVE, "-v").stdout.fnmatch_lines(
        [
            "test_it.py::test_one PASSED*",
            "    'one, answered' (* s, 1000 input and 200 output tokens, $0.00065)",
            "test_it.py::test_several PASSED*",
            "    'two, answered three, answered' (3 requests, * s, 2000 input and 400 output tokens, $0.0013)",
        ]
    )


def test_reports_have_the_answers_together_and_one_by_one(own: Run) -> None:
    own(LIVE, "--chatprompt-report=r.json", "--chatprompt-report=r.md")
    several = results(own)["test_several"]
    assert (
        several["response"].items()
        >= {
            "text": "two, answered\n\nthree, answered",
            "finish_reason": "stop",
            "input_tokens": 2000,
            "output_tokens": 400,
            "cost_usd": pytest.approx(2 * COST),
            "requests": 3,
        }.items()
    )
    assert [(answer["text"], answer["input_tokens"]) for answer in several["answers"]] == [
        ("two, answered", 1000),
        ("three, answered", 1000),
    ]
    markdown = (own.path / "r.md").read_text(encoding="utf-8")
    assert "test_it.py::test_several" in markdown
    assert "two, answered\n\nthree, answered\n(3 requests, " in markdown


def test_a_test_whose_requests_all_failed_has_no_answer(own: Run) -> None:
    own.write({"test_it.py": "import app\n\ndef test_it(eval_api):\n    app.post('fail')\n"})
    result = own(LIVE, "-v", "--chatprompt-report=r.json")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["own code      1         1       unknown *"])
    assert "response" not in results(own)["test_it"]


def test_replayed_answers_are_shown_and_not_paid_for(own: Run, server: Server) -> None:
    own(*RECORD).assert_outcomes(passed=2)
    server.requests.clear()
    result = own(REPLAY, "-v", "--chatprompt-report=r.json")
    result.assert_outcomes(passed=2)
    assert server.requests == []
    result.stdout.fnmatch_lines(
        ["    'one, answered' (* s, 1000 input and 200 output tokens, $0.00065, replayed)", "*recorded replies*"]
    )
    result.stdout.no_fnmatch_line("own code *")
    assert [answer["is_replayed"] for answer in results(own)["test_several"]["answers"]] == [True, True]
    own.write({"test_it.py": TESTS.replace('"two"', '"new"').replace('"two,', '"new,')})
    result = own(LIVE, REPLAY, "--chatprompt-report=r.json")
    result.stdout.fnmatch_lines(["own code      1         1          1000 *"])
    several = results(own)["test_several"]
    assert [answer.get("is_replayed", False) for answer in several["answers"]] == [False, True]
    assert "is_replayed" not in several["response"]


def test_an_app_as_provider_shows_what_its_requests_used(own: Run, server: Server) -> None:
    own.write({"a.eval.yaml": EVALS})
    own("a.eval.yaml", "--snapshot-update").assert_outcomes(passed=1)
    result = own("a.eval.yaml", *RECORD, "-v", "--chatprompt-report=r.json")
    result.assert_outcomes(passed=1)
    assert len(server.requests) == 2
    result.stdout.fnmatch_lines(
        [
            "    'four, answered' (2 requests, * s, 2000 input and 400 output tokens, $0.0013)",
            "app           1         2          2000            400 * $0.0013",
        ]
    )
    assert results(own)["a"]["response"]["requests"] == 2
    result = own("a.eval.yaml", REPLAY, "-v")
    result.stdout.fnmatch_lines(["    'four, answered' (2 requests, * s, 2000 input and *, $0.0013, replayed)"])
    result = own("a.eval.yaml", LIVE, "--chatprompt-repeat=2")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["app           1         4          4000            800 * $0.0026"])


@pytest.mark.parametrize("end", ["raise RuntimeError('boom')", "return None", "import pytest; pytest.skip('later')"])
def test_what_an_app_sent_before_it_failed_counts(own: Run, server: Server, end: str) -> None:
    conftest = CONFTEST.replace(
        "return app.ask(request.chat_prompt[-1].content)",
        f"text = app.ask(request.chat_prompt[-1].content)\n        if text == '(offline)':\n            return text\n        {end}",
    )
    own.write({"a.eval.yaml": EVALS, "conftest.py": conftest})
    own("a.eval.yaml", "--snapshot-update").assert_outcomes(passed=1)
    result = own("a.eval.yaml", LIVE, "--junitxml=junit.xml")
    result.assert_outcomes(**{"skipped" if "skip" in end else "failed": 1})
    assert len(server.requests) == 2
    assert "chatprompt_replayed" not in (own.path / "junit.xml").read_text(encoding="utf-8")
    result.stdout.fnmatch_lines(["app           1         2          2000            400 * $0.0013"])
    # What it sent is not recorded, and nothing of it was sent in a replay.
    result = own("a.eval.yaml", LIVE, REPLAY)
    result.stdout.fnmatch_lines(
        ["0 replies were replayed, which saved 0 input and 0 output tokens, 2 requests were sent."]
    )


def test_what_an_app_sent_before_the_budget_was_spent_counts(own: Run, server: Server) -> None:
    own.write({"a.eval.yaml": EVALS})
    own("a.eval.yaml", "--snapshot-update").assert_outcomes(passed=1)
    result = own("a.eval.yaml", LIVE, "--chatprompt-budget-usd=0.0001")
    result.assert_outcomes(errors=1)
    assert len(server.requests) == 1
    result.stdout.fnmatch_lines(["app           1          1000            200 * $0.00065"])


def test_requests_that_the_budget_refused_do_not_count(own: Run, server: Server) -> None:
    result = own(LIVE, "--chatprompt-budget-usd=0.0001")
    result.assert_outcomes(passed=1, failed=1)
    assert len(server.requests) == 1
    result.stdout.fnmatch_lines(["own code      1         1          1000            200 * $0.00065"])


def test_what_an_app_says_itself_counts(own: Run) -> None:
    conftest = CONFTEST.replace(
        "import app\n", "import app\nfrom pytest_chatprompt import ProviderResponse, TokenUsage\n"
    )
    conftest = conftest.replace(
        "return app.ask(request.chat_prompt[-1].content)",
        """
        text = app.ask(request.chat_prompt[-1].content)
        return ProviderResponse(text=text, usage=TokenUsage(input_tokens=7, output_tokens=5), cost_usd=2)
""",
    )
    own.write({"a.eval.yaml": EVALS, "conftest.py": conftest})
    own("a.eval.yaml", "--snapshot-update").assert_outcomes(passed=1)
    own("a.eval.yaml", LIVE).stdout.fnmatch_lines(["app           1         2             7              5 * $2.00"])


def test_what_goes_elsewhere_is_sent_by_its_own_client(own: Run, server: Server) -> None:
    test = "import httpx, app\n\ndef test_it(eval_api):\n    httpx.post(f'{app.URL}/other', json={'messages': [{'content': 'x'}]})\n"
    own.write({"test_it.py": test})
    result = own(LIVE)
    result.assert_outcomes(passed=1)
    assert [path for path, _, _ in server.requests] == ["/other"]
    result.stdout.no_fnmatch_line("*usage of the live run*")


def test_what_an_app_sends_elsewhere_is_no_request_to_a_model(own: Run, server: Server) -> None:
    elsewhere = "httpx.post(f'{app.URL}/other', json={'messages': [{'content': 'x'}]})"
    conftest = CONFTEST.replace("import app\n", "import httpx\n\nimport app\n").replace('app.ask("before")', "pass")
    conftest = conftest.replace("return app", "text = app").replace(
        "    return send", f"        {elsewhere}\n        return text\n\n    return send"
    )
    own.write({"a.eval.yaml": EVALS, "conftest.py": conftest})
    own("a.eval.yaml", "--snapshot-update").assert_outcomes(passed=1)
    server.requests.clear()
    result = own("a.eval.yaml", LIVE)
    result.assert_outcomes(passed=1)
    # What stays on this machine is sent when the request is prepared, too.
    assert [path for path, _, _ in server.requests] == ["/other", "/v1/chat/completions", "/other"]
    result.stdout.fnmatch_lines(["app           1          1000 *"])


PROXIED = """
import httpx

import app

def ask(text):
    body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": text}]}
    with httpx.Client(proxy=app.URL) as client:
        reply = client.post("http://model.invalid/v1/chat/completions", json=body)
    return reply.json()["choices"][0]["message"]["content"]
"""


def test_a_client_that_alone_knows_the_way_sends_itself(own: Run, server: Server) -> None:
    test = "import proxied\n\ndef test_it(eval_api):\n    assert proxied.ask('x') == 'x, answered'\n"
    conftest = CONFTEST.replace("import app", "import proxied as app").replace('app.ask("before")', "pass")
    own.write({"proxied.py": PROXIED, "test_it.py": test, "conftest.py": conftest, "a.eval.yaml": EVALS})
    own("a.eval.yaml", "--snapshot-update").assert_outcomes(passed=1)
    result = own(LIVE)
    result.assert_outcomes(passed=2)
    assert len(server.requests) == 2
    result.stdout.fnmatch_lines(
        ["app           1         1       unknown *", "own code      1         1       unknown *"]
    )
    # A recording would lack it.
    own(*RECORD).assert_outcomes(failed=2)


def test_secrets_in_answers_are_not_shown(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-my-very-own-secret-key-1234")
    own.write({"test_it.py": "import app, os\n\ndef test_it(eval_api):\n    app.ask(os.environ['OPENAI_API_KEY'])\n"})
    result = own(LIVE, "-v", "--chatprompt-report=r.json")
    result.assert_outcomes(passed=1)
    assert "very-own-secret" not in result.stdout.str() + (own.path / "r.json").read_text(encoding="utf-8")

"""A/B: in a live run what changed since a git revision is sent both ways, and the answers are compared."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from pytest_chatprompt.__main__ import main
from tests.git_repository import Git, commit_all
from tests.media import PNG
from tests.results.report_schema import report_validator
from tests.runs.conftest import LIVE_CONFTEST, Run
from tests.runs.test_repeats import BAD, DOWN, EMPTY, GOOD, answer, recorded_numbers
from tests.server import Reply, Server

LIVE = "--chatprompt-live"
AB = (LIVE, "--chatprompt-ab", "main")
CHECKS = "checks: [{type: contains, value: good}]"
OLD, NEW = {"c0": "old"}, {"c0": "new"}


def file(contents: dict[str, str], head: str) -> str:
    """An eval file whose cases send these texts."""
    cases = [
        f"  - id: {name}\n    input_messages: [{{role: user, content: {text}}}]" for name, text in contents.items()
    ]
    return "\n".join([head, "evalcases:", *cases, ""])


MakeRun = Callable[..., Run]


@pytest.fixture
def changed(run: Run, server: Server, git: Git) -> MakeRun:
    """Makes a project whose cases have changed since the branch `main`; the answers to new texts are good."""

    def make(
        before: dict[str, str] = OLD, after: dict[str, str] = NEW, head: str = CHECKS, conftest: str = "", **files: str
    ) -> Run:
        code = {"conftest.py": LIVE_CONFTEST.format(url="URL", settings="max_retries=0") + conftest, **files}
        run.write({"a.eval.yaml": file(before, head)})
        # No snapshot shows the server, which is another one in each test.
        run.write({name: content.replace("URL", "http://127.0.0.1:1") for name, content in code.items()})
        run.with_snapshots()
        run.write({name: content.replace("URL", server.url) for name, content in code.items()})
        commit_all(git, run.path)
        run.write({"a.eval.yaml": file(after, head)})
        assert server.requests == []
        return run

    server.script = lambda _, body: GOOD if "new" in body["messages"][-1]["content"] else BAD
    return make


def of_text(new: Callable[[int], Reply], old: Callable[[int], Reply]) -> Callable[[int, Any], Reply]:
    """A script of the server: the n-th reply, from 0, to a new and to an old text."""
    counts: Counter[bool] = Counter()

    def script(_: int, body: Any) -> Reply:
        is_new = "new" in body["messages"][-1]["content"]
        counts[is_new] += 1
        return (new if is_new else old)(counts[is_new] - 1)

    return script


def shown(result: pytest.RunResult) -> list[str]:
    """What the terminal shows of the comparison, blanks as one."""
    lines = [" ".join(line.split()) for line in result.outlines]
    start = next(number for number, line in enumerate(lines) if " compared -" in line)
    end = next(number for number, line in enumerate(lines) if number > start and line.startswith("=="))
    return [line for line in lines[start + 1 : end] if not line.startswith("mean ")]


def test_what_changed_is_sent_both_ways_and_nothing_is_written(changed: MakeRun, server: Server) -> None:
    run = changed({"c0": "old", "c1": "same", "c2": "old too"}, {"c0": "new", "c1": "same", "c2": "new too"})
    files = {name: (run.path / name).read_bytes() for name in run.snapshots()}
    result = run(*AB, "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    assert result.ret == 0
    assert Counter(server.last_contents) == {"old": 5, "new": 5, "old too": 5, "new too": 5}
    assert {name: (run.path / name).read_bytes() for name in run.snapshots()} == files
    result.stdout.fnmatch_lines(
        [
            "-* main and now compared -*",
            "with 95 % intervals * main * now",
            "a.eval.yaml::c0 (from never to always) * 0/5 (0 to 43 %) * 5/5 (57 to 100 %)",
            "a.eval.yaml::c2 (from never to always) * 0/5 (0 to 43 %) * 5/5 (57 to 100 %)",
            "all 2 cases * 0/10 (0 to 28 %) * 10/10 (72 to 100 %)",
            "mean input tokens * 10 (10 to 10) * 10 (10 to 10)",
            "mean output tokens * 3 (3 to 3) * 3 (3 to 3)",
            "mean cost * $0.00014 ($0.00014 to $0.00014) * $0.00014 ($0.00014 to $0.00014)",
            "mean latency *.* s (*.* s to *.* s) * s to *.* s)",
            "not sent, because nothing changes: 1 case",
            "better: +100 points (95 % interval +61 to +100, exact paired test p = 0.002)",
            "SKIPPED [[]1[]] a.eval.yaml:5: its request is as at main",
        ]
    )
    result.stdout.no_fnmatch_line("*snapshot-update*")


def test_both_versions_are_sent_in_turn_as_often_as_the_user_says(changed: MakeRun, server: Server) -> None:
    run = changed(head=f"{CHECKS}\nrepeat: 2")
    run(*AB, "--chatprompt-concurrency=1")
    assert server.last_contents == ["new", "old"] * 2
    server.requests.clear()
    run(*AB, "--chatprompt-concurrency=1", "--chatprompt-repeat=3")
    assert server.last_contents == ["new", "old"] * 3
    server.requests.clear()
    server.script = None
    server.reply = GOOD
    server.gather(20)
    changed({"c0": "old", "c1": "old"}, {"c0": "new", "c1": "new"})(*AB, "--chatprompt-concurrency=20")
    assert server.max_in_flight == 20


def test_the_old_request_is_sent_as_it_was_with_its_pictures(changed: MakeRun, server: Server, git: Git) -> None:
    server.script, server.reply = None, GOOD
    messages = "input_messages: [{role: user, content: [{type: image, value: a.png}, {type: text, value: look}]}]"
    then = f"evalcases:\n  - id: c0\n    {messages}\n"
    run = changed()
    (run.path / "a.png").write_bytes(PNG)
    run.write({"a.eval.yaml": then})
    run.update()
    commit_all(git, run.path)
    run(LIVE, "--chatprompt-repeat=1").assert_outcomes(passed=1)
    ((_, _, sent_then),) = server.requests
    server.requests.clear()
    run.write({"a.eval.yaml": f"settings: {{max_output_tokens: 50}}\n{then}"})
    (run.path / "a.png").write_bytes(PNG + b"other")
    assert run(*AB, "--chatprompt-repeat=1", "--chatprompt-concurrency=1").ret == 0
    (_, _, sent_now), (_, _, sent_again) = server.requests
    assert json.dumps(sent_again) == json.dumps(sent_then)
    assert sent_now["max_completion_tokens"] == 50


def test_worse_answers_fail_a_run_only_where_that_is_asked_for(changed: MakeRun, server: Server) -> None:
    run = changed({"c0": "old", "c1": "old"}, {"c0": "new", "c1": "new"})
    server.script = of_text(lambda _: BAD, lambda _: GOOD)
    result = run(*AB)
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    assert shown(result)[-1] == "worse: -100 points (95 % interval -100 to -61, exact paired test p = 0.002)"
    result = run(*AB, "--chatprompt-ab-fail-worse")
    result.assert_outcomes(passed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    server.script = of_text(lambda _: GOOD, lambda _: BAD)
    assert run(*AB, "--chatprompt-ab-fail-worse").ret == 0


def test_versions_that_differ_by_chance_are_not_told_apart(changed: MakeRun, server: Server) -> None:
    run = changed()
    server.script = of_text(lambda number: BAD if number == 1 else GOOD, lambda number: BAD if number == 3 else GOOD)
    assert shown(run(*AB, "--chatprompt-repeat=10", "--chatprompt-concurrency=1")) == [
        "with 95 % intervals main now",
        "a.eval.yaml::c0 9/10 (60 to 98 %) 9/10 (60 to 98 %)",
        "no difference found: 0 points (95 % interval -32 to +32, exact paired test p = 1); "
        "10 samples a side would show one of about 76 points",
    ]
    assert shown(run(*AB, "--chatprompt-repeat=1"))[-1].endswith("; 1 sample a side would show none")


def test_what_is_the_same_is_not_sent(changed: MakeRun, server: Server) -> None:
    run = changed(OLD, OLD)
    result = run(*AB)
    result.assert_outcomes(skipped=1)
    assert result.ret == 0
    assert server.requests == []
    assert shown(result) == [
        "not sent, because nothing changes: 1 case",
        "nothing differs from main, so nothing was sent",
    ]


def test_a_snapshot_that_is_laid_out_otherwise_is_the_same(changed: MakeRun, git: Git) -> None:
    contents = {"c0": "old", "c1": "old"}
    run = changed(contents, contents)
    for name, text in zip(run.snapshots(), ("provider: openai # a comment\n", "provider:   openai\n"), strict=True):
        content = (run.path / name).read_text(encoding="utf-8")
        run.write({name: content.replace("provider: openai\n", text)})
    commit_all(git, run.path)
    run(*AB).assert_outcomes(skipped=2)


# --- what cannot be compared


OWN = """
@pytest.fixture
def own_provider():
    return lambda request: "own"

@pytest.fixture(scope="session")
def eval_masks():
    return {r"\\d{4}": "<year>"}
"""


def test_what_cannot_be_compared_is_named_and_left_out(changed: MakeRun, server: Server, git: Git) -> None:
    contents = {"mask": "old 2025", "broken": "old", "picture": "old", "own": "old", "agent": "old"}
    run = changed(contents, contents, conftest=OWN)
    run.write(
        {"b.eval.yaml": file({"own": "old"}, "provider: own"), "c.eval.yaml": file({"agent": "old"}, "provider: codex")}
    )
    (run.path / "a.png").write_bytes(PNG)
    picture = (
        "evalcases:\n  - id: picture\n    input_messages: [{role: user, content: [{type: image, value: a.png}]}]\n"
    )
    run.write({"d.eval.yaml": picture, "e.eval.yaml": file({"function": "old"}, "provider: codex")})
    run.update()
    (run.path / "__snapshots__/a.eval/broken[openai].yaml").write_text("{", encoding="utf-8")
    (run.path / "a.png").rename(run.path / "../a.png")
    commit_all(git, run.path)
    (run.path / "../a.png").rename(run.path / "a.png")
    (run.path / "a.png").write_bytes(PNG + b"other")
    codex = (run.path / "__snapshots__/e.eval/function[codex].yaml").read_text(encoding="utf-8")
    run.write({"__snapshots__/e.eval/function[openai].yaml": codex})
    git("-C", str(run.path), "add", "--all")
    git("-C", str(run.path), "commit", "--quiet", "--amend", "--no-edit")
    (run.path / "a.png").write_bytes(PNG + b"another")
    run.write(
        {
            "a.eval.yaml": file({"mask": "new 2026", "broken": "new", "added": "new"}, CHECKS),
            "b.eval.yaml": file({"own": "new"}, "provider: own"),
            "c.eval.yaml": file({"agent": "new"}, "provider: codex"),
            "e.eval.yaml": file({"function": "new"}, "provider: openai"),
        }
    )
    result = run(*AB)
    result.assert_outcomes(skipped=7)
    assert result.ret == 0
    assert server.requests == []
    reasons = [line.removeprefix("not compared: ") for line in shown(result)]
    assert reasons[:3] == [
        "a.eval.yaml::mask: its snapshot at main shows what a mask has hidden: '<year>'",
        "a.eval.yaml::broken: its snapshot at main cannot be read: line 2, column 1: not valid YAML: "
        "did not find expected node content, while parsing a flow node on line 2",
        "a.eval.yaml::added: main has no snapshot of it",
    ]
    assert reasons[3:5] == [
        "b.eval.yaml::own: own makes no HTTP request",
        "c.eval.yaml::agent: codex is an agent, which sends by itself",
    ]
    assert reasons[5].startswith(f"d.eval.yaml::picture: git has no file at main with its {len(PNG)} bytes, sha256:")
    assert reasons[6:] == [
        "e.eval.yaml::function: its snapshot at main shows no request to an API",
        "no verdict: nothing could be compared",
    ]


def test_a_renamed_case_is_compared_with_what_it_was(changed: MakeRun, server: Server) -> None:
    run = changed({"then": "old", "gone": "old too"}, {"now": "old", "other": "new"})
    result = run(*AB, "-rs")
    result.assert_outcomes(skipped=2)
    assert server.requests == []
    assert shown(result)[:2] == [
        "not compared: a.eval.yaml::other: main has no snapshot of it",
        "not sent, because nothing changes: 1 case",
    ]
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] a.eval.yaml:3: its request is as that of 'then' at main"])


# --- providers of your own


OBJECT = """
import httpx

class Own:
    def send(self, request):
        text = request.chat_prompt[-1].content
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        reply = httpx.post("URL/v1/chat/completions?key=sk-own", json=body, headers={"x-app": "own"})
        return "It is " + reply.json()["choices"][0]["message"]["content"]
"""
ASYNC = """
import gzip, httpx, json

async def send(request):
    body = {"model": "m", "messages": [{"role": "user", "content": request.chat_prompt[-1].content}]}
    headers = {"x-app": "own", "content-encoding": "gzip"}
    async with httpx.AsyncClient() as client:
        reply = await client.post("URL/v1/chat/completions", content=gzip.compress(json.dumps(body).encode()), headers=headers)
    return "It is " + reply.json()["choices"][0]["message"]["content"]
"""
FUNCTION = """
import json, urllib.request

def send(request):
    body = {"model": "m", "messages": [{"role": "user", "content": request.chat_prompt[-1].content}]}
    sent = urllib.request.Request("URL/v1/chat/completions", json.dumps(body).encode(), {"x-app": "own"})
    with urllib.request.urlopen(sent) as reply:
        return "It is " + json.load(reply)["choices"][0]["message"]["content"]
"""
OWN_FIXTURE = """
@pytest.fixture(scope="session")
def own_provider():
    return MADE
"""
OWN_HEAD = "provider: own\nchecks: [{type: equals, value: It is good}]"


@pytest.fixture
def by_own(changed: MakeRun) -> MakeRun:
    """Makes a project whose cases are sent through a provider of its own."""

    def make(code: str, made: str = "send", head: str = OWN_HEAD, **more: Any) -> Run:
        return changed(head=head, conftest=code + OWN_FIXTURE.replace("MADE", made), **more)

    return make


@pytest.mark.parametrize(
    ("code", "made"),
    [
        pytest.param(OBJECT, "Own()", id="an object"),
        pytest.param(ASYNC, "send", id="an async function"),
        pytest.param(FUNCTION, "send", id="a plain function"),
    ],
)
def test_a_provider_of_your_own_sends_the_old_body_with_its_own_client(
    by_own: MakeRun, server: Server, code: str, made: str
) -> None:
    run = by_own(code, made)
    server.script = lambda _, body: GOOD if "new" in body["messages"][-1]["content"] else BAD
    result = run(*AB, "--chatprompt-record")
    result.assert_outcomes(passed=1)
    assert Counter(server.last_contents) == {"old": 5, "new": 5}
    assert {headers["x-app"] for _, headers, _ in server.requests} == {"own"}
    assert len({path for path, _, _ in server.requests}) == 1
    # The checks look at what the provider makes of the answer.
    assert shown(result) == [
        "with 95 % intervals main now",
        "a.eval.yaml::c0 (from never to always) 0/5 (0 to 43 %) 5/5 (57 to 100 %)",
        "no difference found: +100 points (95 % interval 0 to +100, exact paired test p = 0.062); 5 samples a side would show none",
    ]
    server.requests.clear()
    assert shown(run(*AB, "--chatprompt-replay")) == shown(result)
    assert server.requests == []


SEVERAL = """
import httpx

def ask(text):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    reply = httpx.post("URL/v1/chat/completions", json=body)
    reply.raise_for_status()
    return reply.json()["choices"][0]["message"]["content"]

def send(request):
    text = request.chat_prompt[-1].content
    return "It is " + ask(f"LATER, {ask(text)}")

send.base_url = "URL/v1"
"""


def test_of_several_requests_the_first_one_alone_is_sent_and_its_answer_is_graded(
    by_own: MakeRun, server: Server
) -> None:
    run = by_own(SEVERAL, head="provider: own\nchecks: [{type: equals, value: good}]")
    result = run(*AB, "--chatprompt-repeat=6")
    result.assert_outcomes(passed=1)
    assert Counter(server.last_contents) == {"old": 6, "new": 6}
    assert shown(result)[1] == "a.eval.yaml::c0 (from never to always) 0/6 (0 to 39 %) 6/6 (61 to 100 %)"
    result.stdout.fnmatch_lines(["own * 1 * 120 * 36 *"])
    run(*AB, "--collect-only").stdout.fnmatch_lines(["own *10 *"])


def test_a_list_of_models_is_no_request_that_is_compared(by_own: MakeRun, server: Server) -> None:
    code = SEVERAL.replace("    text = request", f"    httpx.get('{server.url}/v1/models')\n    text = request")
    run = by_own(code, head="provider: own\nchecks: [{type: equals, value: good}]")
    assert shown(run(*AB))[1] == "a.eval.yaml::c0 (from never to always) 0/5 (0 to 43 %) 5/5 (57 to 100 %)"
    assert Counter(server.last_contents) == {"old": 5, "new": 5}


def test_a_first_answer_that_nobody_can_read_is_named(by_own: MakeRun, server: Server) -> None:
    route = """
@pytest.fixture(autouse=True)
def route(eval_api):
    eval_api.post(path="/ask").respond(json={"choices": [{"message": {"content": "any"}}]})
"""
    run = by_own(SEVERAL.replace("/v1/chat/completions", "/ask") + route)
    result = run(*AB)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the first request, which alone is sent, got no answer that can be read"])
    assert Counter(server.last_contents) == {"old": 5, "new": 5}


def test_requests_after_the_first_are_not_compared(by_own: MakeRun, server: Server) -> None:
    run = by_own(SEVERAL, after=OLD)
    text = (run.path / "conftest.py").read_text(encoding="utf-8")
    run.write({"conftest.py": text.replace("LATER", "later")})
    result = run(*AB)
    result.assert_outcomes(skipped=1)
    assert server.requests == []
    assert (
        shown(result)[0] == "not compared: a.eval.yaml::c0: its first request is as at main, and only that is compared"
    )


def test_what_a_provider_of_your_own_raises_is_no_answer(by_own: MakeRun, server: Server) -> None:
    run = by_own(SEVERAL)
    server.script = of_text(lambda number: DOWN if number == 1 else GOOD, lambda _: BAD)
    result = run(*AB, "--chatprompt-concurrency=1")
    result.assert_outcomes(passed=1)
    missing = "not counted, because an answer is missing or could not be graded: 1 pair: the provider raised HTTPStatusError: "
    assert any(line.startswith(missing) for line in shown(result))
    server.script = of_text(lambda _: DOWN, lambda _: DOWN)
    result = run(*AB)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["the provider raised HTTPStatusError: Client error '401 Unauthorized' for url *"])


# --- tests of your own code


OWN_TEST = """
import httpx

def ask(text, path="/v1/chat/completions"):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    headers = {"authorization": "Bearer sk-own-0123456789"}
    return httpx.post(f"URL{path}", json=body, headers=headers).json()["choices"][0]["message"]["content"]

def test_own(eval_api, eval_snapshot):
    ask(f"later: {ask('old')}")
    assert eval_api.sent == eval_snapshot
"""

JSON_TEXT = '.json()["choices"][0]["message"]["content"]'


@pytest.fixture
def by_code(changed: MakeRun, server: Server) -> MakeRun:
    """Makes a project with a test of its own code, which has changed since the branch `main`."""

    def make(code: str = OWN_TEST, after: Callable[[str], str] = lambda code: code.replace("old", "new")) -> Run:
        run = changed(**{"test_own.py": code})
        (run.path / "a.eval.yaml").unlink()
        run.write({"test_own.py": after(code).replace("URL", server.url)})
        return run

    return make


def test_the_first_request_of_your_own_code_is_sent_both_ways(by_code: MakeRun, server: Server) -> None:
    run = by_code()
    server.script = of_text(lambda _: answer("to be or not to be"), lambda number: answer(f"to be {number}"))
    result = run(*AB, "--chatprompt-report=report.json", "--chatprompt-report=page.html", "--chatprompt-report=r.md")
    result.assert_outcomes(passed=1)
    assert Counter(server.last_contents) == {"old": 5, "new": 5}
    assert {headers["authorization"] for _, headers, _ in server.requests} == {"Bearer sk-own-0123456789"}
    assert shown(result) == [
        "with 95 % intervals main now",
        "1 case without a check: answers of the two versions share 44 % of their words, those of one version 83 %",
        "no verdict: no answer was graded",
    ]
    result.stdout.fnmatch_lines(["own code * 1 * 100 * 30 *", "mean output tokens * 3 (3 to 3) * 3 (3 to 3)"])
    report = json.loads((run.path / "report.json").read_text(encoding="utf-8"))
    report_validator().validate(report)
    (own,) = report["results"]
    versions = own["versions"]
    assert [each["response"]["text"] for each in versions["after"]["attempts"]] == ["to be or not to be"] * 5
    assert sorted(each["response"]["text"] for each in versions["before"]["attempts"]) == [
        f"to be {n}" for n in range(5)
    ]
    assert own["snapshot"]["state"] == "different"
    markdown = (run.path / "r.md").read_text(encoding="utf-8")
    assert "- old" in markdown
    assert "+ new" in markdown
    assert "what is sent changed" in (run.path / "page.html").read_text(encoding="utf-8")


def test_your_own_code_is_recorded_and_replayed_and_repeated_as_the_user_says(by_code: MakeRun, server: Server) -> None:
    run = by_code()
    server.script = of_text(lambda _: GOOD, lambda _: BAD)
    expected = shown(run(*AB, "--chatprompt-record", "--chatprompt-repeat=2"))
    assert recorded_numbers(run, "__snapshots__/test_own/test_own.recording.yaml") == [1, 1, 2, 2]
    assert Counter(server.last_contents) == {"old": 2, "new": 2}
    server.requests.clear()
    assert shown(run(*AB, "--chatprompt-replay", "--chatprompt-repeat=2", "-n1")) == expected
    assert server.requests == []


def test_the_budget_holds_for_your_own_code(by_code: MakeRun, server: Server) -> None:
    code = OWN_TEST.replace('"m"', '"gpt-4.1"')
    run = by_code(code + code.partition("\n\n")[2].replace("test_own", "test_too"))
    server.script, server.reply = None, GOOD
    # An answer costs $0.000044.
    result = run(*AB, "--chatprompt-budget-usd=0.0002", "--chatprompt-concurrency=1")
    result.assert_outcomes(passed=2)
    assert server.last_contents == ["new", "old"] * 2
    reason = "the budget of $0.0002 is spent: $0.00018 so far"
    assert f"not compared: test_own.py::test_too: {reason}" in shown(result)


def test_a_stream_that_your_own_code_asks_for_is_read_whole(by_code: MakeRun, server: Server) -> None:
    chunks = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("to be ", "or not")]
    events = b"".join(b"data: %s\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"
    code = OWN_TEST.replace('"model": "m"', '"stream": True, "model": "m"')
    run = by_code(code.replace(JSON_TEXT, ".text"))
    server.script = of_text(
        lambda _: Reply(events, headers={"content-type": "text/event-stream"}),
        lambda _: Reply({"error": "no"}, 503, {"retry-after": "0"}),
    )
    result = run(*AB, "--chatprompt-repeat=1", "--chatprompt-report=report.json")
    assert Counter(server.last_contents) == {"old": 6, "new": 1}
    result.assert_outcomes(passed=1)
    (own,) = json.loads((run.path / "report.json").read_text(encoding="utf-8"))["results"]
    (after,), (before,) = own["versions"]["after"]["attempts"], own["versions"]["before"]["attempts"]
    assert after["response"]["text"] == "to be or not"
    assert before["outcome"] == "error"
    assert before["problem"].startswith("127.0.0.1 answered 503 Service Unavailable: no\n")


def test_your_own_code_that_cannot_be_compared_is_named(by_code: MakeRun, server: Server) -> None:
    # What stands in the test, now, and why it is not sent.
    rows = [
        ("", "", "its request is as at main"),
        ("later", "other", "not compared: its first request is as at main, and only that is compared"),
        ("test_2", "test_new", "not compared: main has no snapshot of it"),
        (
            "'old'",
            "'new', '/v1/embeddings'",
            "not compared: POST /v1/embeddings is of no API whose answers can be read",
        ),
        (
            "eval_api.sent == eval_snapshot",
            "eval_api.sent == eval_snapshot(exclude=lambda prop, path: prop == 'model')",
            "not compared: it does not compare all of a request that it sends with eval_snapshot",
        ),
        (
            "assert eval_api.sent == eval_snapshot",
            "assert eval_api.sent",
            "not compared: it does not compare all of a request that it sends with eval_snapshot",
        ),
    ]
    head, _, function = OWN_TEST.replace(JSON_TEXT, ".text[:0]").rpartition("\ndef test_own")
    functions = [f"\ndef test_{number}{function}" for number in range(len(rows))]
    changed_functions = [code.replace(then, now) for code, (then, now, _) in zip(functions, rows, strict=True)]
    run = by_code(head + "".join(functions), lambda _: head + "".join(changed_functions))
    result = run(*AB, "-rs")
    result.assert_outcomes(skipped=6)
    assert server.requests == []
    assert [line for line in result.outlines if line.startswith("SKIPPED")] == [
        f"SKIPPED [1] test_own.py:{9 + 4 * number}: {reason}" for number, (_, _, reason) in enumerate(rows)
    ]
    assert shown(result)[-1] == "no verdict: nothing could be compared"
    assert shown(run(*AB, "-k", "test_0"))[-1] == "nothing differs from main, so nothing was sent"


def test_a_request_with_a_placeholder_for_its_key_is_not_sent(by_code: MakeRun, server: Server) -> None:
    code = """
import pytest
from pytest_chatprompt import EvalCase

@pytest.fixture
def eval_case():
    return EvalCase(id="own", provider="anthropic", input_messages=[{"role": "user", "content": "old"}])

def test_own(eval_response, eval_api, eval_snapshot):
    assert eval_api.sent == eval_snapshot
"""
    result = by_code(code)(*AB)
    result.assert_outcomes(skipped=1)
    assert server.requests == []
    assert shown(result)[0] == (
        "not compared: test_own.py::test_own: a provider or another process sends it, with a placeholder for its key"
    )


def test_your_own_code_is_sent_to_no_other_model(by_code: MakeRun, server: Server) -> None:
    result = by_code(after=str)(*MODEL)
    result.assert_outcomes(skipped=1)
    assert server.requests == []
    assert shown(result)[0] == (
        "not compared: test_own.py::test_own: what a test of your own code sends goes where it says itself"
    )


def test_your_own_code_whose_test_fails_sends_nothing(by_code: MakeRun, server: Server) -> None:
    code = OWN_TEST + OWN_TEST.partition("\n\n")[2].replace("test_own", "test_too")
    first, second = (f"    {line}\n" for line in ("assert 1 == 2", "httpx.post('https://nobody.example/')"))
    changed_code = code.replace("old", "new").replace("== eval_snapshot\n", f"== eval_snapshot\n{first}", 1) + second
    by_code(code, lambda _: changed_code)(*AB).assert_outcomes(failed=2)
    assert server.requests == []


def test_your_own_code_without_an_answer_is_an_error(by_code: MakeRun, server: Server) -> None:
    run = by_code()
    server.script, server.reply = None, DOWN
    result = run(*AB, "--chatprompt-report=report.json")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "neither version has an answer",
            "127.0.0.1 answered 401 Unauthorized: down",
            "Check the key: the environment variable that your code reads, or api_key.",
        ]
    )


# --- what makes no sense


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--chatprompt-ab=main"], "--chatprompt-ab compares the answers of a live run; add --chatprompt-live"),
        ([*AB, "--snapshot-update"], "--chatprompt-ab writes no snapshots: remove --snapshot-update"),
        ([*AB, "--chatprompt-remove-unused"], "--chatprompt-ab writes no snapshots: remove --chatprompt-remove-unused"),
        ([*AB, "--chatprompt-accept=new"], "--chatprompt-ab writes no snapshots: remove --chatprompt-accept"),
        ([*AB, "--chatprompt-against=main"], "--chatprompt-against only compares: remove --chatprompt-live"),
        ([LIVE, "--chatprompt-ab-fail-worse"], "--chatprompt-ab-fail-worse needs --chatprompt-ab REF"),
        ([LIVE, "--chatprompt-repeat=5..40"], "--chatprompt-repeat takes a range only with --chatprompt-ab"),
        (
            [*AB, "--chatprompt-repeat=5..5"],
            "--chatprompt-repeat 5..5: the first number must be the lower one, as in 5..40",
        ),
        ([*AB, "--chatprompt-repeat=5.."], "--chatprompt-repeat must be a whole number from 1, but is ''"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_without_the_repository_or_the_revision_there_is_nothing_to_compare_with(
    run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(run.path.parent))
    result = run(*AB)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --chatprompt-ab: git reads no repository in *: fatal: not a git repository*"])
    commit_all(git, run.path)
    result = run(LIVE, "--chatprompt-ab=no-such")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --chatprompt-ab: git knows no revision 'no-such' in *"])


# --- more where it is undecided


def test_more_is_sent_of_a_case_whose_pairs_disagree(changed: MakeRun, server: Server) -> None:
    run = changed()
    server.script = of_text(lambda _: GOOD, lambda number: GOOD if number == 0 else BAD)
    result = run(*AB, "--chatprompt-repeat=5..40", "--chatprompt-concurrency=1")
    # Of the first 5 pairs 4 disagree, of 10 nine: enough.
    assert Counter(server.last_contents) == {"old": 10, "new": 10}
    assert shown(result)[-1] == "better: +90 points (95 % interval +49 to +98)"


def test_no_more_is_sent_where_all_pairs_agree_or_the_most_is_reached(changed: MakeRun, server: Server) -> None:
    run = changed({"agree": "old", "differ": "old"}, {"agree": "new", "differ": "new again"})
    differ = of_text(lambda number: GOOD if number % 2 else BAD, lambda number: BAD if number % 2 else GOOD)

    def script(number: int, body: Any) -> Reply:
        return GOOD if body["messages"][-1]["content"] == "new" else differ(number, body)

    server.script = script
    run(*AB, "--chatprompt-repeat=2..7", "-k", "differ", "--chatprompt-concurrency=1")
    assert Counter(server.last_contents) == {"old": 7, "new again": 7}
    server.requests.clear()
    server.script = of_text(lambda _: GOOD, lambda _: GOOD)
    result = run(*AB, "--chatprompt-repeat=2..7", "-k", "agree")
    assert Counter(server.last_contents) == {"old": 2, "new": 2}
    assert (
        shown(result)[-1]
        == "no difference found: 0 points (95 % interval -66 to +66); 2 samples a side would show none"
    )


def test_no_more_is_sent_once_the_run_is_certain(changed: MakeRun, server: Server) -> None:
    run = changed({"c0": "old", "c1": "old", "c2": "old"}, {"c0": "new", "c1": "new also", "c2": "new too"})
    result = run(*AB, "--chatprompt-repeat=2..40")
    # Eight pairs that disagree are enough.
    assert Counter(server.last_contents) == {"old": 8 + 2 + 2, "new": 8, "new also": 2, "new too": 2}
    assert shown(result)[-1].startswith("better: ")


# --- answers that say nothing


def test_errors_of_the_api_are_no_outcomes(changed: MakeRun, server: Server) -> None:
    run = changed()
    server.script = of_text(lambda number: DOWN if number == 1 else GOOD, lambda _: BAD)
    result = run(*AB)
    result.assert_outcomes(passed=1)
    assert shown(result)[1:] == [
        "a.eval.yaml::c0 (from never to always) 0/5 (0 to 43 %) 4/4 (51 to 100 %)",
        "not counted, because an answer is missing or could not be graded: 1 pair: OpenAI answered 401 Unauthorized: down",
        "no difference found: +100 points (95 % interval 0 to +100, exact paired test p = 0.12); 4 samples a side would show none",
    ]


def test_a_case_without_any_answer_is_an_error(changed: MakeRun, server: Server) -> None:
    run = changed()
    server.script, server.reply = None, DOWN
    result = run(*AB)
    result.assert_outcomes(errors=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'c0': neither version has an answer",
            "OpenAI answered 401 Unauthorized: down",
            "not compared: a.eval.yaml::c0: no answer of one version, or of both, was graded: OpenAI answered 401 Unauthorized: down",
            "no verdict: nothing could be compared",
        ]
    )
    # With answers to one version there is nothing to compare, and no error.
    server.script = of_text(lambda _: GOOD, lambda _: DOWN)
    result = run(*AB)
    result.assert_outcomes(passed=1)
    assert shown(result)[-2:] == [
        "not compared: a.eval.yaml::c0: no answer of one version, or of both, was graded: OpenAI answered 401 Unauthorized: down",
        "no verdict: nothing could be compared",
    ]
    assert result.ret == 0
    # Else a model whose name is wrong would never be worse.
    result = run(*AB, "--chatprompt-ab-fail-worse")
    result.assert_outcomes(passed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_an_empty_answer_does_not_pass(changed: MakeRun, server: Server) -> None:
    run = changed(head="checks: [{type: not_contains, value: good}]")
    server.script = of_text(lambda _: EMPTY, lambda _: BAD)
    assert shown(run(*AB))[1] == "a.eval.yaml::c0 (from always to never) 5/5 (57 to 100 %) 0/5 (0 to 43 %)"


def test_a_case_whose_test_fails_is_named(changed: MakeRun, server: Server) -> None:
    run = changed({"c0": "old", "c1": "old"}, {"c0": "new", "c1": "new"})
    run.append("conftest.py", "\n\ndef pytest_runtest_call(item):\n    assert item.name != 'c0', 'not today'\n")
    result = run(*AB)
    result.assert_outcomes(passed=1, failed=1)
    assert len(server.requests) == 10
    assert "not compared: a.eval.yaml::c0: AssertionError: not today" in shown(result)
    assert shown(run(*AB, "-k", "c0"))[-1] == "no verdict: nothing could be compared"
    run("-k", "c9", *AB).stdout.no_fnmatch_line("*compared*")


# --- what grades


def test_the_hook_of_the_project_grades_both_versions(changed: MakeRun) -> None:
    hook = "\ndef pytest_chatprompt_response(response):\n    assert 'good' in response.text\n"
    run = changed(head="", conftest=hook)
    assert shown(run(*AB))[1] == "a.eval.yaml::c0 (from never to always) 0/5 (0 to 43 %) 5/5 (57 to 100 %)"


def test_a_fixture_that_asks_for_the_answer_is_not_set_up(changed: MakeRun) -> None:
    fixture = "\n@pytest.fixture(autouse=True)\ndef look(eval_response):\n    assert 'good' in eval_response.text\n"
    run = changed(conftest=fixture)
    result = run(*AB)
    result.assert_outcomes(passed=1)
    assert shown(result)[1] == "a.eval.yaml::c0 (from never to always) 0/5 (0 to 43 %) 5/5 (57 to 100 %)"


def test_a_check_of_the_request_neither_grades_nor_keeps_it_from_being_sent(changed: MakeRun, server: Server) -> None:
    run = changed(head="checks: [{type: contains, of: request, value: old}]")
    result = run(*AB)
    result.assert_outcomes(passed=1)
    assert len(server.requests) == 10
    assert shown(result)[-1] == "no verdict: no answer was graded"


def test_without_checks_too_it_is_told_why_there_is_no_answer(changed: MakeRun, server: Server) -> None:
    run = changed(head="")
    server.script = of_text(lambda _: DOWN, lambda _: GOOD)
    result = run(*AB)
    result.assert_outcomes(passed=1)
    assert shown(result)[-2:] == [
        "not compared: a.eval.yaml::c0: no answer of one version, or of both, was graded: OpenAI answered 401 Unauthorized: down",
        "no verdict: no answer was graded",
    ]


def test_without_checks_it_is_told_how_far_the_answers_differ(changed: MakeRun, server: Server) -> None:
    run = changed(head="")
    server.script = of_text(lambda _: answer("to be or not to be"), lambda number: answer(f"to be {number}"))
    result = run(*AB)
    result.assert_outcomes(passed=1)
    assert shown(result) == [
        "with 95 % intervals main now",
        "1 case without a check: answers of the two versions share 44 % of their words, those of one version 83 %",
        "no verdict: no answer was graded",
    ]
    assert "those of one version" not in run(*AB, "--chatprompt-repeat=1").stdout.str()


def test_the_judge_grades_both_versions(changed: MakeRun, server: Server) -> None:
    head = "checks: [{type: llm_rubric, value: It is good}]"

    def script(_: int, body: Any) -> Reply:
        if "response_format" in body:
            is_good = "a good answer" in json.dumps(body)
            return answer(json.dumps({"reason": "any", "pass": is_good}))
        return answer("a good answer" if body["messages"][-1]["content"] == "new" else "a poor answer")

    run = changed(head=head)
    server.script = script
    assert shown(run(*AB))[1] == "a.eval.yaml::c0 (from never to always) 0/5 (0 to 43 %) 5/5 (57 to 100 %)"
    assert len(server.requests) == 20


# --- the rest of a live run


def test_workers_compare_too(changed: MakeRun, server: Server) -> None:
    names = [f"c{number}" for number in range(4)]
    run = changed(dict.fromkeys(names, "old"), dict.fromkeys(names, "new"))
    result = run(*AB, "-n2")
    result.assert_outcomes(passed=4)
    assert len(server.requests) == 40
    assert shown(result)[-1].startswith("better: +100 points")


def test_the_answers_to_both_versions_are_recorded_and_replayed(changed: MakeRun, server: Server) -> None:
    run = changed()
    expected = shown(run(*AB, "--chatprompt-record"))
    name = "__snapshots__/a.eval/c0[openai].recording.yaml"
    assert recorded_numbers(run, name) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    content = (run.path / name).read_bytes()
    server.requests.clear()
    result = run(*AB, "--chatprompt-replay")
    assert server.requests == []
    assert shown(result) == expected
    result.stdout.no_fnmatch_line("*no request asked for*")
    result.stdout.fnmatch_lines(["10 replies were replayed, *"])
    assert (run.path / name).read_bytes() == content
    # Of either version what is missing is sent.
    run(*AB, "--chatprompt-replay", "--chatprompt-repeat=6")
    assert Counter(server.last_contents) == {"old": 1, "new": 1}
    assert recorded_numbers(run, name)[-2:] == [6, 6]


def test_an_estimate_has_the_cost_of_both_versions(changed: MakeRun, server: Server) -> None:
    run = changed({"c0": "old", "c1": "same"}, {"c0": "new", "c1": "same"})
    run(*AB, "--collect-only").stdout.fnmatch_lines(["openai *10 *", "total *10 *"])
    run(*AB, "--collect-only", "--chatprompt-repeat=2..7").stdout.fnmatch_lines(["openai *14 *", "total *14 *"])
    assert server.requests == []
    run(*AB, "--chatprompt-record")
    run(*AB, "--collect-only", "--chatprompt-replay").stdout.fnmatch_lines(
        ["1 case would be replayed, and cost nothing."]
    )


def test_a_budget_that_ends_a_run_leaves_what_is_known(changed: MakeRun, server: Server) -> None:
    run = changed({"c0": "old", "c1": "old"}, {"c0": "new", "c1": "new"})
    # An answer costs $0.00014.
    result = run(*AB, "--chatprompt-budget-usd=0.0009", "--chatprompt-concurrency=1", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    assert result.ret == 0
    assert server.last_contents == ["new", "old"] * 3
    reason = "the budget of $0.0009 is spent: $0.00084 so far"
    result.stdout.fnmatch_lines([f"SKIPPED * a.eval.yaml:*: not compared: {reason}"])
    assert shown(result)[1:] == [
        "a.eval.yaml::c0 (from never to always) 0/3 (0 to 56 %) 3/3 (44 to 100 %)",
        f"not compared: a.eval.yaml::c1: {reason}",
        f"not counted, because an answer is missing or could not be graded: 2 pairs: {reason}",
        "no difference found: +100 points (95 % interval 0 to +100, exact paired test p = 0.25); 3 samples a side would show none",
    ]


def test_a_report_has_the_answers_to_both_versions(changed: MakeRun) -> None:
    run = changed({"c0": "old", "c1": "same", "c2": "old"}, {"c0": "new", "c1": "same", "c3": "new"})
    reports = [f"--chatprompt-report=report.{suffix}" for suffix in ("json", "md", "html")]
    run(*AB, "--chatprompt-repeat=2", *reports)
    report = json.loads((run.path / "report.json").read_text(encoding="utf-8"))
    report_validator().validate(report)
    c0, c1, c3 = report["results"]
    assert report["against"] == "main"
    assert report["ab"] == {
        "compared_with": "main",
        "is_sequential": False,
        "both": 0,
        "only_before": 0,
        "only_after": 2,
        "neither": 0,
        "difference": 1.0,
        "interval": [0.0, 1.0],
        "p_value": 0.5,
        "verdict": "no difference found",
        "detectable": None,
        "summary": "no difference found: +100 points (95 % interval 0 to +100, exact paired test p = 0.5); "
        "2 samples a side would show none",
    }
    assert c0["versions"]["is_graded"]
    after, before = c0["versions"]["after"], c0["versions"]["before"]
    assert (before["passed"], before["answers"], before["interval"]) == (0, 2, [0.0, 0.6576])
    assert (after["passed"], after["answers"], after["interval"]) == (2, 2, [0.3424, 1.0])
    assert [(each["number"], each["response"]["text"]) for each in before["attempts"]] == [(1, "poor"), (2, "poor")]
    assert c0["response"]["text"] == "good"
    assert c0["snapshot"]["state"] == "different"
    assert c1["versions"] == {"is_same": True}
    assert c3["versions"] == {"left_out": "main has no snapshot of it"}
    markdown = (run.path / "report.md").read_text(encoding="utf-8").splitlines()
    assert markdown[0] == f"## {report['ab']['summary']}"
    assert markdown[2] == "3 tests of prompts: 1 passed, 2 skipped."
    assert markdown[4].startswith("| with 95 % intervals | main | now |")
    assert markdown[6] == "| `a.eval.yaml::c0 (from never to always)` | 0/2 (0 to 66 %) | 2/2 (34 to 100 %) |"
    assert "- `not compared: a.eval.yaml::c3: main has no snapshot of it`" in markdown
    assert "before, answer 1: passed" not in markdown
    assert [line for line in markdown if line.startswith(("before, ", "after, "))] == [
        "before, answer 1: failed",
        "before, answer 2: failed",
        "after, answer 1: passed",
        "after, answer 2: passed",
    ]
    assert {"- old", "+ new"} <= {*markdown}
    assert "--snapshot-update" not in "".join(markdown)
    page = (run.path / "report.html").read_text(encoding="utf-8")
    assert f"<h1>{report['ab']['summary']}</h1>" in page
    assert "main → now" in page
    assert "Better (1)" in page
    assert "failed → passed; 0/2 → 2/2 passed; what is sent changed" in page
    assert "Notes (2)" in page
    assert "<bdi>not compared: a.eval.yaml::c3: main has no snapshot of it</bdi>" in page
    assert '<th scope="row"><bdi>a.eval.yaml::c0 (from never to always)</bdi></th><td>0/2 (0 to 66 %)</td>' in page
    # In a report of several shards it is the same.
    assert main(["merge", "report.json", "-o", "all.json"]) == 0
    assert json.loads((run.path / "all.json").read_text(encoding="utf-8"))["ab"] == report["ab"]


def test_a_run_that_is_ended_says_nothing(changed: MakeRun) -> None:
    run = changed(conftest="\ndef pytest_chatprompt_response(response):\n    raise KeyboardInterrupt\n")
    result = run.pytester.runpytest_inprocess("-p", "no:cacheprovider", *AB, no_reraise_ctrlc=True)
    assert result.ret == pytest.ExitCode.INTERRUPTED


# --- another model


MODEL = (LIVE, "--chatprompt-ab", "model=gpt-5-mini")


@pytest.fixture
def by_model(changed: MakeRun, server: Server) -> MakeRun:
    """Makes a project in which nothing has changed; the answers of the small model are good."""

    def make(head: str = CHECKS, **files: str) -> Run:
        run = changed({"c0": "first", "c1": "second"}, {"c0": "first", "c1": "second"}, head, **files)
        server.script = lambda _, body: GOOD if body["model"] == "gpt-5-mini" else BAD
        return run

    return make


def test_each_case_is_sent_to_another_model_too(by_model: MakeRun, server: Server) -> None:
    run = by_model()
    result = run(*MODEL, "--chatprompt-concurrency=1", "--chatprompt-repeat=3", "--chatprompt-report=report.json")
    result.assert_outcomes(passed=2)
    models = [body["model"] for _, _, body in server.requests]
    assert models == [models[0], "gpt-5-mini"] * 6
    bodies = [{**body, "model": ""} for _, _, body in server.requests]
    assert bodies[:6] == [bodies[0]] * 6
    result.stdout.fnmatch_lines(["-* now and model=gpt-5-mini compared -*"])
    assert shown(result) == [
        "with 95 % intervals now model=gpt-5-mini",
        "a.eval.yaml::c0 (from never to always) 0/3 (0 to 56 %) 3/3 (44 to 100 %)",
        "a.eval.yaml::c1 (from never to always) 0/3 (0 to 56 %) 3/3 (44 to 100 %)",
        "all 2 cases 0/6 (0 to 39 %) 6/6 (61 to 100 %)",
        "better: +100 points (95 % interval +45 to +100, exact paired test p = 0.031)",
    ]
    report = json.loads((run.path / "report.json").read_text(encoding="utf-8"))
    assert (report["against"], report["ab"]["compared_with"]) == (None, "model=gpt-5-mini")


def test_the_reports_show_what_is_sent_to_another_model(by_model: MakeRun) -> None:
    run = by_model(f"{CHECKS}\nsettings: {{temperature: 1}}")
    run.write({"a.eval.yaml": file({"c0": "changed", "c1": "second"}, f"{CHECKS}\nsettings: {{temperature: 1}}")})
    run("--snapshot-update")
    run.write({"a.eval.yaml": file({"c0": "unseen", "c1": "second"}, f"{CHECKS}\nsettings: {{temperature: 1}}")})
    reports = [f"--chatprompt-report=report.{suffix}" for suffix in ("json", "md", "html")]
    run(*MODEL, "--chatprompt-repeat=1", *reports).assert_outcomes(failed=1, passed=1)
    report = json.loads((run.path / "report.json").read_text(encoding="utf-8"))
    report_validator().validate(report)
    accepted, sent = report["changes"]
    assert (sent["removed"], sent["added"]) == (["model: gpt-5.5"], ["model: gpt-5-mini"])
    markdown = (run.path / "report.md").read_text(encoding="utf-8")
    assert "- model: gpt-5.5\n+ model: gpt-5-mini\n" in markdown
    # There is nothing to accept in what passes: its snapshot is as it was.
    assert f"--chatprompt-accept {accepted['id']}" in markdown
    assert f"--chatprompt-accept {sent['id']}" not in markdown
    assert f"--chatprompt-accept {sent['id']}" not in (run.path / "report.html").read_text(encoding="utf-8")
    by_provider = run(LIVE, "--chatprompt-ab=provider=anthropic", "--chatprompt-repeat=1", *reports)
    by_provider.assert_outcomes(failed=1, passed=1)
    assert "+ endpoint: POST /v1/messages" in (run.path / "report.md").read_text(encoding="utf-8")


def test_what_is_known_of_another_model_comes_first(by_model: MakeRun) -> None:
    run = by_model(f"{CHECKS}\nsettings: {{max_output_tokens: 50000}}")
    result = run(LIVE, "--chatprompt-ab=model=gpt-4o", "--chatprompt-repeat=1", "--chatprompt-report=review.md")
    (found,) = [line for line in shown(result) if line.startswith("preflight: ")]
    assert found == (
        "preflight: a.eval.yaml::c0, a.eval.yaml::c1: max_output_tokens is 50000, but OpenAI's gpt-4o supports at most "
        "16384; lower it, or set model_limits if this model supports more"
    )
    assert shown(result)[0] == found
    assert f"- `{found}`" in (run.path / "review.md").read_text(encoding="utf-8")


def test_what_differs_from_its_snapshot_is_not_sent_to_another_model(by_model: MakeRun, server: Server) -> None:
    run = by_model()
    run.write({"a.eval.yaml": file({"c0": "changed", "c1": "second"}, CHECKS)})
    result = run(*MODEL)
    result.assert_outcomes(passed=1, failed=1)
    assert set(server.last_contents) == {"second"}
    assert any(line.startswith("not compared: a.eval.yaml::c0: ") for line in shown(result))
    # What to type accepts what is sent, and sends nothing.
    result = run(*MODEL, "--chatprompt-ab-fail-worse", "--chatprompt-repeat=1..3", "-vv")
    command = next(line for line in result.outlines if line.startswith("To accept it: "))
    assert run(*shlex.split(command)[4:]).ret == 0
    run.write({"a.eval.yaml": file({"c0": "changed again", "c1": "another change"}, CHECKS)})
    result = run(*MODEL, "--chatprompt-ab-fail-worse", "--chatprompt-repeat=1..3")
    command = next(line for line in result.outlines if line.startswith("To accept all: "))
    assert run(*shlex.split(command)[4:]).ret == 0


def test_a_case_that_is_sent_to_the_model_already_is_not_sent_twice(by_model: MakeRun, server: Server) -> None:
    run = by_model(f"{CHECKS}\nsettings: {{model: gpt-5-mini}}")
    result = run(*MODEL, "-rs")
    result.assert_outcomes(skipped=2)
    assert server.requests == []
    result.stdout.fnmatch_lines(
        ["nothing differs from model=gpt-5-mini, so nothing was sent", "SKIPPED * it is sent to gpt-5-mini already"]
    )


def test_a_provider_without_models_is_named(by_model: MakeRun, server: Server) -> None:
    run = by_model()
    text = (run.path / "conftest.py").read_text(encoding="utf-8")
    own = "\n\nclass Own(OpenAIProvider):\n    default_model = ''\n\n@pytest.fixture"
    run.write({"conftest.py": text.replace("\n@pytest.fixture", own, 1).replace("= OpenAIProvider(", "= Own(")})
    run.update()
    result = run(*MODEL)
    result.assert_outcomes(skipped=2)
    assert server.requests == []
    assert shown(result)[0].startswith("not compared: a.eval.yaml::c0, a.eval.yaml::c1: OpenAI has no setting 'model'")


@pytest.mark.parametrize(("kind", "example"), [("model", "gpt-5-mini"), ("provider", "anthropic")])
def test_a_model_or_a_provider_needs_a_name(run: Run, kind: str, example: str) -> None:
    result = run(LIVE, f"--chatprompt-ab={kind}=")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    message = f"--chatprompt-ab {kind}= names no {kind}; write one, such as {kind}={example}"
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


# --- another provider


ANTHROPIC = """
from pytest_chatprompt import AnthropicProvider

@pytest.fixture(scope="session")
def anthropic_provider():
    return AnthropicProvider(base_url="URL")
"""
PROVIDER = (LIVE, "--chatprompt-ab", "provider=anthropic")


@pytest.fixture
def by_provider(changed: MakeRun, server: Server, monkeypatch: pytest.MonkeyPatch) -> MakeRun:
    """Makes a project in which nothing has changed; the answers of Anthropic are good."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-live-0123456789")

    def script(_: int, body: Any) -> Reply:
        usage = {"input_tokens": 12, "output_tokens": 9}
        reply = Reply({"content": [{"type": "text", "text": "good"}], "stop_reason": "end_turn", "usage": usage})
        return reply if "max_tokens" in body else BAD

    def make(head: str = CHECKS, conftest: str = "", **files: str) -> Run:
        run = changed({"c0": "first"}, {"c0": "first"}, head, ANTHROPIC + conftest, **files)
        server.script = script
        return run

    return make


def test_each_case_is_sent_through_another_provider_too(by_provider: MakeRun, server: Server) -> None:
    run = by_provider(
        f"{CHECKS}\nsettings: {{openai: {{max_output_tokens: 50}}, anthropic: {{max_output_tokens: 60}}}}"
    )
    result = run(*PROVIDER, "--chatprompt-concurrency=1", "--chatprompt-repeat=6", "--chatprompt-record")
    result.assert_outcomes(passed=1)
    assert [path for path, _, _ in server.requests] == ["/chat/completions", "/v1/messages"] * 6
    (_, _, first), (_, headers, second), *_ = server.requests
    assert (first["max_completion_tokens"], second["max_tokens"]) == (50, 60)
    assert headers["x-api-key"] == "sk-ant-live-0123456789"
    assert second["messages"][-1]["content"] == "first"
    assert shown(result) == [
        "with 95 % intervals now provider=anthropic",
        "a.eval.yaml::c0 (from never to always) 0/6 (0 to 39 %) 6/6 (61 to 100 %)",
        "better: +100 points (95 % interval +45 to +100, exact paired test p = 0.031)",
    ]
    result.stdout.fnmatch_lines(["openai and anthropic * 1 * 132 * 72 *"])
    server.requests.clear()
    assert run(*PROVIDER, "--chatprompt-repeat=6", "--chatprompt-replay").ret == 0
    assert server.requests == []
    run(*PROVIDER, "--collect-only").stdout.fnmatch_lines(["anthropic *5 *", "openai *5 *", "total *10 *"])


def test_what_another_provider_changes_comes_first(by_provider: MakeRun) -> None:
    run = by_provider()
    run.write({"a.eval.yaml": "evalcases:\n  - id: c0\n    input_messages: [{role: user, name: Ada, content: hi}]\n"})
    run.update()
    first = shown(run(*PROVIDER, "--chatprompt-repeat=1"))[0]
    assert first.startswith("adjusted: a.eval.yaml::c0: ")


def test_a_fixture_that_another_provider_lacks_is_an_error(by_provider: MakeRun) -> None:
    run = by_provider(conftest="\n@pytest.fixture\ndef own_provider(gone):\n    pass\n")
    result = run(LIVE, "--chatprompt-ab=provider=own")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*fixture 'gone' not found"])


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("openai", "nothing differs from provider=openai, so nothing was sent"),
        ("codex", "not compared: a.eval.yaml::c0: codex is an agent, which sends by itself"),
        ("plain", "not compared: a.eval.yaml::c0: plain makes no HTTP request"),
        (
            "antropic",
            "a.eval.yaml:3:5: case 'c0': unknown provider 'antropic' (from --chatprompt-ab): there is no fixture "
            "'antropic_provider', only those of *; did you mean 'anthropic'?",
        ),
    ],
)
def test_what_cannot_be_compared_by_provider_is_named(
    by_provider: MakeRun, server: Server, name: str, line: str
) -> None:
    run = by_provider(conftest="\n@pytest.fixture\ndef plain_provider():\n    return lambda request: 'good'\n")
    run(LIVE, f"--chatprompt-ab=provider={name}").stdout.fnmatch_lines([line])
    assert server.requests == []


def test_a_provider_of_your_own_is_compared_with_a_built_in_one(by_own: MakeRun, server: Server) -> None:
    run = by_own(SEVERAL, head="checks: [{type: equals, value: good}]", after=OLD)
    server.script = lambda _, body: GOOD if body["model"] == "m" else BAD
    line = "a.eval.yaml::c0 (from never to always) 0/5 (0 to 43 %) 5/5 (57 to 100 %)"
    assert shown(run(LIVE, "--chatprompt-ab=provider=own"))[1] == line
    assert Counter(server.last_contents) == {"old": 10}
    run("--chatprompt-provider=own", "--snapshot-update")
    result = run(LIVE, "--chatprompt-provider=own", "--chatprompt-ab=provider=openai")
    assert shown(result)[1] == "a.eval.yaml::c0 (from always to never) 5/5 (57 to 100 %) 0/5 (0 to 43 %)"
    assert Counter(server.last_contents) == {"old": 20}


def test_a_provider_of_your_own_that_chooses_its_model_is_named(by_own: MakeRun, server: Server) -> None:
    run = by_own(SEVERAL, after=OLD)
    line = "not compared: a.eval.yaml::c0: own sends the same, whatever model the settings name"
    assert shown(run(*MODEL))[0] == line
    text = (run.path / "conftest.py").read_text(encoding="utf-8")
    takes = text.replace("def ask(text)", "def ask(text, model='m')").replace('"model": "m"', '"model": model')
    run.write({"conftest.py": takes.replace("ask(text)}", "ask(text, (request.settings or {}).get('model', 'm'))}")})
    assert server.requests == []
    run(*MODEL).assert_outcomes(passed=1)
    assert Counter(body["model"] for _, _, body in server.requests) == {"m": 5, "gpt-5-mini": 5}


def test_another_server_that_gets_the_same_is_another_provider(by_provider: MakeRun, server: Server) -> None:
    gateway = """
@pytest.fixture(scope="session")
def gateway_provider():
    return OpenAIProvider(base_url="URL/gateway", api_key="any", max_retries=0)
"""
    run = by_provider(conftest=gateway)
    server.script, server.reply = None, GOOD
    run(LIVE, "--chatprompt-ab=provider=gateway").assert_outcomes(passed=1)
    assert Counter(path for path, _, _ in server.requests) == {"/chat/completions": 5, "/gateway/chat/completions": 5}


TARGETS = """
targets:
  - {name: small, provider: openai, model: gpt-5-mini}
  - {name: large, provider: openai, model: gpt-5, max_output_tokens: 70}
"""


def test_a_name_with_a_model_is_a_provider(by_model: MakeRun) -> None:
    result = by_model()(LIVE, "--chatprompt-ab=provider=openai:gpt-5-mini")
    result.assert_outcomes(passed=2)
    assert shown(result)[0] == "with 95 % intervals now provider=openai:gpt-5-mini"
    assert shown(result)[-1].startswith("better: +100 points")


def test_a_target_of_agentv_is_a_provider(changed: MakeRun, server: Server) -> None:
    files = {".agentv/targets.yaml": TARGETS}
    run = changed({"c0": "first"}, {"c0": "first"}, f"target: small\n{CHECKS}", **files)
    server.script = lambda _, body: GOOD if body["model"] == "gpt-5" else BAD
    result = run(LIVE, "--chatprompt-ab=provider=large", "--chatprompt-repeat=6")
    result.assert_outcomes(passed=1)
    bodies = [body for _, _, body in server.requests]
    assert Counter((body["model"], body.get("max_completion_tokens")) for body in bodies) == {
        ("gpt-5-mini", None): 6,
        ("gpt-5", 70): 6,
    }
    assert shown(result)[-1].startswith("better: +100 points")
    server.requests.clear()
    run(LIVE, "--chatprompt-ab=model=gpt-5", "--chatprompt-repeat=6").assert_outcomes(passed=1)
    assert Counter(body["model"] for _, _, body in server.requests) == {"gpt-5-mini": 6, "gpt-5": 6}
    run(LIVE, "--chatprompt-ab=provider=smal").stdout.fnmatch_lines(
        ["*unknown provider 'smal' (from --chatprompt-ab): * did you mean 'small'?"]
    )

"""Many repeated cases with faults: each answer that the server gave is accounted for, live and replayed."""

from __future__ import annotations

import gc
import json
import random
import threading
from collections import Counter, defaultdict
from typing import Any

import pytest

from pytest_chatprompt.grading.grade import RequiredPasses
from tests.runs.conftest import LIVE_CONFTEST, Run, case_ids
from tests.server import CHAT_REPLY, Reply, Server

REPEAT, PASS_RATE = 5, 0.8
OWN_CHECKS = """
def crash(case, response):
    assert response.text != "crash" or 1 / 0
"""


def answer(text: str) -> Reply:
    return Reply({**CHAT_REPLY, "choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


# What the server replies, and what the answer counts as. Two thirds are good.
GOOD = (answer("good"), "passed")
FAULTS = (
    (answer("poor"), "failed"),
    (answer("poor"), "failed"),
    (answer(""), "failed"),
    (Reply({"error": {"message": "no"}}, 400), "failed"),
    (answer("crash"), "error"),
    (Reply({"error": {"message": "down"}}, 500), "error"),
    (Reply(b"<html>", 200), "error"),
    (Reply(fault="drop before"), "error"),
    (Reply(fault="drop inside"), "error"),
)


@pytest.mark.parametrize(
    ("count", "concurrency"),
    [(35, 64), pytest.param(100, 64, marks=pytest.mark.soak), pytest.param(100, 8, marks=pytest.mark.soak)],
)
def test_every_answer_of_many_cases_counts_once_and_under_its_number(
    run: Run, server: Server, count: int, concurrency: int
) -> None:
    cases = [f"  - id: {name}\n    input_messages: [{{role: user, content: {name}}}]" for name in case_ids(count)]
    head = [
        "provider: openai",
        f"repeat: {REPEAT}",
        f"pass_rate: {PASS_RATE}",
        "checks: [{type: contains, value: good}, {type: python, value: 'own_checks:crash'}]",
        "evalcases:",
    ]
    run.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = .\n",
            "own_checks.py": OWN_CHECKS,
            "a.eval.yaml": "\n".join([*head, *cases, ""]),
            "conftest.py": LIVE_CONFTEST.format(url=server.url, settings="max_retries=0"),
        }
    )
    run.update().assert_outcomes(passed=count)
    choose = random.Random(19)
    given: dict[str, Counter[str]] = defaultdict(Counter)
    lock = threading.Lock()

    def script(_: int, body: Any) -> Reply:
        with lock:
            reply, outcome = choose.choice(FAULTS) if choose.random() < 1 / 3 else GOOD
            given[body["messages"][-1]["content"]][outcome] += 1
        return Reply(reply.data, reply.status, delay_seconds=choose.random() * 0.02, fault=reply.fault)

    server.script = script
    required = RequiredPasses(REPEAT, PASS_RATE)
    arguments = ("--chatprompt-live", "--chatprompt-record", f"--chatprompt-concurrency={concurrency}", "-q")
    # Warnings are errors in this run: none of what tests before have left behind is to be collected in it.
    gc.collect()
    live = results_of(run, *arguments)
    assert [live[name] for name in live.keys() ^ given.keys()] == []
    outcomes: Counter[str] = Counter()
    for name, counts in given.items():
        attempts = live[name]["repeats"]["attempts"]
        assert Counter(attempt["outcome"] for attempt in attempts) == counts, name
        numbers = [attempt["number"] for attempt in attempts]
        assert numbers == sorted(set(numbers))
        assert set(numbers) <= set(range(1, REPEAT + 1))
        outcome = required.outcome(counts["passed"], counts["failed"], counts["error"])
        assert live[name]["outcome"] == outcome, name
        outcomes[live[name]["outcome"]] += 1
    assert len(server.requests) == sum(counts.total() for counts in given.values())
    assert server.max_in_flight <= concurrency
    # Of each kind there are some.
    assert min(outcomes[outcome] for outcome in ("passed", "failed", "error")) > 0

    # What was answered is replayed as it was; what got no answer, or was refused, is still unknown.
    server.requests.clear()
    replayed = results_of(run, "--chatprompt-replay", "-q")
    assert server.requests == []
    for name, result in live.items():
        expected = {
            a["number"]: (a["outcome"], a["response"]["text"]) for a in result["repeats"]["attempts"] if "response" in a
        }
        attempts = replayed[name].get("repeats", {"attempts": []})["attempts"]
        assert {a["number"]: (a["outcome"], a["response"]["text"]) for a in attempts if "response" in a} == expected, (
            name
        )


def results_of(run: Run, *arguments: str) -> dict[str, Any]:
    """The results of a run, by case."""
    run(*arguments, "--chatprompt-report=report.json")
    results = json.loads((run.path / "report.json").read_text(encoding="utf-8"))["results"]
    return {result["case_id"]: result for result in results}

"""A judge of a case that is sent several times: it is asked about each answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runs.conftest import Run
from tests.runs.test_judge import FILE, RECORDING, asked, by_rubric, chat, is_judge, judged_project, many, verdict
from tests.server import Reply, Server

__all__ = ["judged_project"]

REPEATED = FILE.replace("    checks:", "    repeat: 4\n    pass_rate: RATE\n    checks:")


def greeting(server: Server) -> None:
    """Every second answer greets, and the judge sees it."""
    count = iter(range(100))

    def script(_: int, body: Any) -> Reply:
        if is_judge(body):
            return verdict(body["messages"][1]["content"].endswith("| Hello Ada!"))
        with server.lock:
            return chat("Hello Ada!" if next(count) % 2 else "Go away.")

    server.script = script


@pytest.mark.parametrize(("rate", "outcomes"), [(0.5, {"passed": 1}), (0.75, {"failed": 1})])
def test_each_answer_is_judged_recorded_and_replayed(
    judged_project: Run,
    server: Server,
    rate: float,
    outcomes: dict[str, int],
) -> None:
    judged_project.write({"a.eval.yaml": REPEATED.replace("RATE", str(rate))})
    greeting(server)
    judged_project("--chatprompt-live", "--chatprompt-record").assert_outcomes(**outcomes)
    answers = len(server.requests) - len(asked(server))
    assert len(asked(server)) == answers
    exchanges = judged_project.snapshot(RECORDING)["exchanges"]
    models = [(exchange.get("repeat", 1), exchange["request"]["body"]["model"]) for exchange in exchanges]
    assert models == [(number, model) for number in range(1, answers + 1) for model in ("judged", "critic")]
    sent = len(server.requests)
    result = judged_project("--chatprompt-replay", "--chatprompt-report=run.json")
    result.assert_outcomes(**outcomes)
    assert len(server.requests) == sent
    report = json.loads((judged_project.path / "run.json").read_text(encoding="utf-8"))
    assert report["results"][0]["repeats"]["passed"] == 2


def test_a_judge_without_a_verdict_is_an_error_of_its_answer(judged_project: Run, server: Server) -> None:
    judged_project.write({"a.eval.yaml": REPEATED.replace("RATE", "1.0")})
    server.script = lambda _, body: chat("no idea") if is_judge(body) else chat("Hello Ada!")
    result = judged_project("--chatprompt-live")
    result.assert_outcomes(errors=1)
    assert "it is 'no idea'" in result.stdout.str()


def test_repeated_cases_that_are_sent_ahead_are_judged_too(judged_project: Run, server: Server) -> None:
    judged_project.write({"a.eval.yaml": many(3, "repeat: 2\n")})
    judged_project.update()
    server.script = by_rubric
    result = judged_project("--chatprompt-live")
    result.assert_outcomes(passed=3)
    assert (len(server.requests), len(asked(server))) == (3 * 2 * 3, 3 * 2 * 2)
    assert not any("one by one" in line for line in result.outlines)


# Each request costs ten cents: both models reply with 100 tokens of input.
PRICE = "max_retries=0, price=TokenPrice(input_usd=1000, output_usd=0)"


def priced(project: Run, rate: str, repeat: int = 3) -> None:
    """Let each request to either model cost $0.10."""
    conftest = (project.path / "conftest.py").read_text(encoding="utf-8").replace("max_retries=0", PRICE)
    project.write(
        {
            "conftest.py": conftest.replace("import OpenAIProvider,", "import OpenAIProvider, TokenPrice,"),
            "a.eval.yaml": REPEATED.replace("RATE", rate).replace("repeat: 4", f"repeat: {repeat}"),
        }
    )


@pytest.mark.parametrize(
    ("budget", "sent", "rate", "outcomes"),
    [
        pytest.param("0.6", 6, "1.0", {"passed": 1}, id="enough for three answers and their judge"),
        pytest.param("0.5", 5, "1.0", {"errors": 1}, id="one request too little"),
        pytest.param("0.4", 4, "0.6", {"passed": 1}, id="enough for two answers, and two have to pass"),
        pytest.param("0.1", 1, "1.0", {"errors": 1}, id="one answer and no judge"),
    ],
)
def test_repeats_and_their_judge_keep_to_the_budget_together(
    judged_project: Run, server: Server, budget: str, sent: int, rate: str, outcomes: dict[str, int]
) -> None:
    priced(judged_project, rate)
    # One after the other: which of them the money is left for would be chance.
    result = judged_project("--chatprompt-live", "--chatprompt-budget-usd", budget, "--chatprompt-concurrency", "1")
    result.assert_outcomes(**outcomes)
    assert len(server.requests) == sent
    result.stdout.fnmatch_lines([f"Spent $0.{sent}0 of the budget of ${float(budget):.2f}."])
    is_spent = f"the budget of ${float(budget):.2f} is spent" in result.stdout.str()
    assert is_spent == bool(outcomes.get("errors"))


def test_repeats_and_judges_in_flight_together_never_exceed_the_budget(judged_project: Run, server: Server) -> None:
    priced(judged_project, "1.0", 9)
    result = judged_project("--chatprompt-live", "--chatprompt-budget-usd", "0.7")
    result.assert_outcomes(errors=1)
    assert len(server.requests) == 7
    result.stdout.fnmatch_lines(["Spent $0.70 of the budget of $0.70."])


def test_what_the_judge_costs_is_in_the_table_in_junit_and_with_each_answer(
    judged_project: Run, server: Server
) -> None:
    priced(judged_project, "1.0")
    result = judged_project("--chatprompt-live", "--junitxml=junit.xml", "--chatprompt-report=run.json")
    result.assert_outcomes(passed=1)
    assert len(server.requests) == 6
    rows = [line.split() for line in result.outlines]
    assert [(row[0], row[-1]) for row in rows if row[:1] in (["(judge)"], ["openai"])] == [
        ("(judge)", "$0.30"),
        ("openai", "$0.30"),
    ]
    xml = (judged_project.path / "junit.xml").read_text(encoding="utf-8")
    assert '<property name="chatprompt_judge_cost_usd" value="0.3' in xml
    report = json.loads((judged_project.path / "run.json").read_text(encoding="utf-8"))
    for attempt in report["results"][0]["repeats"]["attempts"]:
        (vote,) = attempt["judge"]
        assert vote["cost_usd"] == pytest.approx(0.1)
        assert (vote["input_tokens"], vote["output_tokens"]) == (100, 20)

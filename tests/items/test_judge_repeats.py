"""A judge of a case that is sent several times: it is asked about each answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.items.conftest import Run
from tests.items.test_judge import FILE, RECORDING, asked, by_rubric, chat, is_judge, judged_project, many, verdict
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

"""Repeats: a case is sent several times, each answer is graded, and the case passes at its pass rate."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.items.conftest import LIVE_CONFTEST, Run
from tests.server import Reply, Server

FILE = """
provider: openai
repeat: 5
pass_rate: 0.8
checks:
  - {type: contains, value: good}
evalcases:
  - id: c0
    input_messages: [{role: user, content: c0}]
"""
LIVE = "--chatprompt-live"
RECORD = "--chatprompt-record"
REPLAY = "--chatprompt-replay"
RECORDING = "__snapshots__/a.eval/c0[openai].recording.yaml"


def answer(text: str) -> Reply:
    """A reply of chat completions."""
    return Reply(
        {
            "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 3},
        }
    )


GOOD, BAD, EMPTY, DOWN = answer("good"), answer("poor"), answer(""), Reply({"error": {"message": "down"}}, 401)


def scripted(*replies: Reply) -> Callable[[int, Any], Reply]:
    """A script of the server: one reply after the other."""
    return lambda number, _: replies[number]


MakeRun = Callable[..., Run]


@pytest.fixture
def repeated(run: Run, server: Server) -> MakeRun:
    """Makes a project with a case that is sent five times to the test server, with its snapshot written."""

    def make(file: str = FILE, conftest: str = "", **files: str) -> Run:
        run.write(
            {
                "a.eval.yaml": file,
                "conftest.py": LIVE_CONFTEST.format(url=server.url, settings="max_retries=0") + conftest,
                **files,
            }
        )
        run.update()
        assert server.requests == []
        return run

    server.reply = GOOD
    return make


def recorded_numbers(run: Run, name: str = RECORDING) -> list[int]:
    """The numbers of the recorded answers."""
    text = (run.path / name).read_text(encoding="utf-8")
    return [exchange.get("repeat", 0) for exchange in yaml.safe_load(text)["exchanges"]]


def test_a_case_is_sent_as_often_as_its_author_wrote_with_the_same_request(repeated: MakeRun, server: Server) -> None:
    run = repeated()
    server.gather(5)
    run(LIVE).assert_outcomes(passed=1)
    assert len(server.requests) == 5
    assert server.max_in_flight == 5
    assert len({json.dumps(body) for _, _, body in server.requests}) == 1
    server.requests.clear()
    # Offline there is one request, and one snapshot.
    run().assert_outcomes(passed=1)
    assert server.requests == []
    assert run.snapshots() == ["__snapshots__/a.eval/c0[openai].yaml"]


def test_four_of_five_pass_and_the_summary_has_the_rate_with_its_interval(repeated: MakeRun, server: Server) -> None:
    run = repeated()
    server.script = scripted(GOOD, GOOD, BAD, GOOD, GOOD)
    result = run(LIVE, "--junitxml=junit.xml", "-rP", "--chatprompt-concurrency=1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "*Captured answers call*",
            "4/5 answers passed: 80 % (95 % interval 38 % to 96 %); 4 of 5 must pass",
            "answer 3 of 5: 1 check failed: contains 'good'",
            "a.eval.yaml:6:5: contains 'good': the answer does not contain it",
            "  answer: 'poor'",
            "1 case was sent more than once, and 4/5 answers passed; not all of these:",
            "  4/5  80 % (95 % interval 38 % to 96 %)  a.eval.yaml::c0",
        ]
    )

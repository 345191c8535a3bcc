"""The usage of a live run: the table of tokens, retries and latency at its end."""

from __future__ import annotations

import pytest

from tests.runs.conftest import MakeLiveProject, case_ids, eval_file
from tests.server import CHAT_REPLY, Reply, Server


def test_the_summary_counts_retries_and_shows_unknown_usage(live_project: MakeLiveProject, server: Server) -> None:
    without_usage = {"choices": CHAT_REPLY["choices"]}
    server.script = lambda number, _: Reply({}, 503, {"retry-after-ms": "1"}) if number < 2 else Reply(without_usage)
    result = live_project(3, settings="")("--chatprompt-live")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        [
            "*usage of the live run*",
            "provider  cases  input tokens  output tokens  retries  median latency  slowest latency",
            "openai        3       unknown        unknown        2 * s * s",
            "*3 passed*",
        ]
    )


@pytest.mark.parametrize("arguments", [["-n", "2"], []], ids=["with workers", "without workers"])
def test_offline_there_is_no_usage_and_no_note_about_workers(
    live_project: MakeLiveProject, arguments: list[str]
) -> None:
    result = live_project(2)(*arguments)
    result.assert_outcomes(passed=2)
    assert "usage of the live run" not in result.stdout.str()
    assert "Under -n" not in result.stdout.str()


def test_the_table_says_what_the_answers_of_a_provider_cost(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(3)
    without_usage = {"choices": CHAT_REPLY["choices"]}
    server.script = lambda number, _: Reply(without_usage) if number == 1 else Reply()
    result = run("--chatprompt-live", "--chatprompt-concurrency", "1")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["provider  cases * slowest latency * cost", "openai        3 * s  $0.00028 + 1 unknown"]
    )


def test_the_cost_of_each_failed_answer_of_a_repeated_case_is_unknown(
    live_project: MakeLiveProject, server: Server
) -> None:
    refused = Reply({"error": {"message": "no"}}, 400)
    server.script = lambda _, body: refused if body["messages"][-1]["content"] == "c0" else Reply()
    run = live_project(2)
    run.write({"a.eval.yaml": f"repeat: 3\npass_rate: 0.3\n{eval_file(case_ids(2))}"})
    result = run("--chatprompt-live", "--chatprompt-concurrency=1")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["openai        2  10 + 3 unknown  3 + 3 unknown *  $0.00014 + 3 unknown"])


def test_an_absurd_count_of_tokens_ends_no_run(live_project: MakeLiveProject, server: Server) -> None:
    server.reply_with(CHAT_REPLY | {"usage": {"prompt_tokens": 10**400, "completion_tokens": 3}})
    result = live_project(1)("--chatprompt-live", "--chatprompt-report=r.json")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["openai        1       unknown              3 *"])

"""Repeats: a case is sent several times, each answer is graded, and the case passes at its pass rate."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from tests.runs.conftest import LIVE_CONFTEST, Run
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


def with_cases(*names: str) -> str:
    """The file with these cases, which send their own ids."""
    head, _, case = FILE.partition("  - id: c0\n")
    return head + "".join(f"  - id: {name}\n{case.replace('c0', name)}" for name in names)


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


def both(first: Callable[[int, Any], Reply] | None, then: Callable[[int, Any], Reply]) -> Callable[[int, Any], Reply]:
    """A script of the server that does both, and gives the reply of the second."""

    def script(number: int, body: Any) -> Reply:
        assert first is not None
        first(number, body)
        return then(number, body)

    return script


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
        run.with_snapshots()
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


def attempts_of(run: Run, *arguments: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    """Run with a report in JSON; gives what it says of the only case."""
    result = run(*arguments, "--chatprompt-report=report.json")
    (case,) = json.loads((run.path / "report.json").read_text(encoding="utf-8"))["results"]
    return result, case


# --- the outcome


ONE_BY_ONE = "--chatprompt-concurrency=1"


# By case: its replies, how it ends, and what is said of it.
ENDS: dict[str, tuple[list[Reply], str, str]] = {
    "fails-as-soon-as-too-many-fail": (
        [BAD, BAD],
        "FAILED",
        "0/2 answers passed: 0 % (95 % interval 0 % to 66 %); 3 not sent; 4 of 5 must pass",
    ),
    "the-last-answer-decides": (
        [GOOD, BAD, GOOD, GOOD, BAD],
        "FAILED",
        "3/5 answers passed: 60 % (95 % interval 23 % to 88 %); 4 of 5 must pass",
    ),
    "an-empty-answer-fails": (
        [EMPTY, BAD],
        "FAILED",
        "0/2 answers passed: 0 % (95 % interval 0 % to 66 %); 3 not sent; 4 of 5 must pass",
    ),
    "too-many-fail-whatever-the-error-was": (
        [DOWN, BAD, BAD],
        "FAILED",
        "0/2 answers passed: 0 % (95 % interval 0 % to 66 %); 1 answer could not be obtained or graded; 2 not sent; 4 of 5 must pass",
    ),
    "one-more-answer-could-have-passed-or-failed": (
        [DOWN, BAD, GOOD, GOOD, GOOD],
        "ERROR",
        "3/4 answers passed: 75 % (95 % interval 30 % to 95 %); 1 answer could not be obtained or graded; 4 of 5 must pass",
    ),
    "no-answer-at-all": (
        [DOWN] * 4,
        "ERROR",
        "4 answers could not be obtained or graded; 1 not sent; 4 of 5 must pass",
    ),
    "passes-as-soon-as-enough-pass": ([GOOD] * 4, "PASSED", ""),
    "enough-pass-beside-an-error": ([DOWN, *[GOOD] * 4], "PASSED", ""),
}


def test_a_case_ends_as_soon_as_its_outcome_is_certain(repeated: MakeRun, server: Server) -> None:
    run = repeated(with_cases(*ENDS))
    scripts = {name: iter(replies) for name, (replies, _, _) in ENDS.items()}
    server.script = lambda _, body: next(scripts[body["messages"][-1]["content"]])
    result = run(LIVE, ONE_BY_ONE, "-rA")
    result.assert_outcomes(failed=4, errors=2, passed=2)
    assert Counter(server.last_contents) == {name: len(replies) for name, (replies, _, _) in ENDS.items()}
    for line, (name, (_, outcome, summary)) in enumerate(ENDS.items()):
        last = f"{outcome} a.eval.yaml::{name}" + (f" - {summary}" if summary else "")
        result.stdout.fnmatch_lines([f"{last[:75]}*"])
        assert not summary or f"a.eval.yaml:{8 + 2 * line}:5: case '{name}': {summary}" in result.outlines


def test_each_answer_that_does_not_pass_is_told_and_equal_problems_once(repeated: MakeRun, server: Server) -> None:
    run = repeated(FILE.replace("0.8", "1.0"))
    server.gather(5)
    replies = scripted(BAD, DOWN, answer("worse"), DOWN, EMPTY)
    server.script = both(server.script, replies)
    result, case = attempts_of(run, LIVE)
    result.assert_outcomes(failed=1)
    problems = sorted(attempt["problem"] for attempt in case["repeats"]["attempts"])
    down = "OpenAI answered 401 Unauthorized: down\nCheck the key: the environment variable OPENAI_API_KEY, or api_key."
    assert problems == [
        "1 check failed: contains 'good'\n\n"
        "a.eval.yaml:6:5: contains 'good': the answer does not contain it\n  answer: 'poor'",
        "1 check failed: contains 'good'\n\n"
        "a.eval.yaml:6:5: contains 'good': the answer does not contain it\n  answer: 'worse'",
        down,
        down,
        "the answer is empty (finish reason: stop)",
    ]
    numbers = [str(attempt["number"]) for attempt in case["repeats"]["attempts"] if attempt["problem"] == down]
    assert f"answers {' and '.join(numbers)} of 5: {down}" in result.stdout.str()


def test_what_is_in_flight_when_the_outcome_is_certain_is_graded_and_recorded_and_the_rest_is_not_sent(
    repeated: MakeRun, server: Server
) -> None:
    run = repeated(FILE.replace("repeat: 5", "repeat: 9").replace("0.8", "1.0"))
    others_arrived = threading.Event()

    def script(number: int, _: Any) -> Reply:
        if number < 2:
            # The first failure is known while two others are in flight.
            others_arrived.wait(60)
            return BAD if number == 0 else Reply(GOOD.data, delay_seconds=0.5)
        others_arrived.set()
        return Reply(GOOD.data, delay_seconds=0.5)

    server.script = script
    result, case = attempts_of(run, LIVE, RECORD, "--chatprompt-concurrency=3")
    result.assert_outcomes(failed=1)
    sent = len(server.requests)
    # The thread of the first answer may begin with one more before it is graded.
    assert sent in (3, 4)
    repeats = case["repeats"]
    outcomes = Counter(attempt["outcome"] for attempt in repeats["attempts"])
    assert outcomes == {"failed": 1, "passed": sent - 1}
    assert (repeats["planned"], repeats["needed"], repeats["pass_rate"]) == (9, 9, 1.0)
    assert recorded_numbers(run) == [attempt["number"] for attempt in repeats["attempts"]]
    result.stdout.fnmatch_lines([f"*{sent - 1}/{sent} answers passed: *; {9 - sent} not sent; 9 of 9 must pass"])


def test_a_slow_answer_does_not_keep_a_case_from_stopping(repeated: MakeRun, server: Server) -> None:
    run = repeated(FILE.replace("repeat: 5", "repeat: 30").replace("0.8", "1.0"))
    end = threading.Event()

    def script(number: int, _: Any) -> Reply:
        if number == 0:
            end.wait(60)
            return GOOD
        if number == 1:
            threading.Timer(1, end.set).start()
        return BAD

    server.script = script
    run(LIVE, "--chatprompt-concurrency=2").assert_outcomes(failed=1)
    assert len(server.requests) < 10


@pytest.mark.parametrize(
    ("option", "count", "outcome"),
    [("1", 1, "passed"), ("3", 3, "passed"), ("7", 7, "passed")],
)
def test_the_option_wins_over_the_file(
    repeated: MakeRun, server: Server, option: str, count: int, outcome: str
) -> None:
    run = repeated(FILE.replace("0.8", "1.0"))
    run(LIVE, f"--chatprompt-repeat={option}").assert_outcomes(**{outcome: 1})
    assert len(server.requests) == count


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", ""])
def test_an_invalid_option_is_a_usage_error(run: Run, value: str) -> None:
    result = run(f"--chatprompt-repeat={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --chatprompt-repeat must be a whole number from 1, but is '{value}'"])


def test_nothing_is_sent_where_the_snapshot_differs(repeated: MakeRun, server: Server) -> None:
    run = repeated()
    run.write({"a.eval.yaml": FILE.replace("content: c0", "content: changed")})
    run(LIVE).assert_outcomes(failed=1)
    assert server.requests == []
    run.update(LIVE).assert_outcomes(passed=1)
    assert len(server.requests) in (4, 5)


def test_all_answers_are_answers_to_one_request_whatever_the_masks_hide(repeated: MakeRun, server: Server) -> None:
    changing = """
import itertools

class StampedProvider(OpenAIProvider):
    stamps = itertools.count()

    def prepare(self, request):
        prepared = super().prepare(request)
        stamp = b', "user": "stamp-%d"}' % next(self.stamps)
        return prepared._replace(content=prepared.content.removesuffix(b"}") + stamp)

@pytest.fixture(scope="session")
def openai_provider():
    provider = StampedProvider(base_url="URL", api_key="k", max_retries=0)
    yield provider
    provider.close()

@pytest.fixture(scope="session")
def eval_masks():
    return {r"stamp-\\d+": "<stamp>"}
"""
    file = FILE + "  - id: c1\n    input_messages: [{role: user, content: c1}]\n"
    run = repeated(file, changing.replace("URL", server.url))
    run(LIVE, "--chatprompt-concurrency=2").assert_outcomes(passed=2)
    stamps = [body["user"] for _, _, body in server.requests if body["messages"][-1]["content"] == "c1"]
    assert len(set(stamps)) == 1


@pytest.mark.parametrize(("reply", "passed"), [(BAD, "0/2"), (GOOD, "4/4")], ids=["bad", "good"])
def test_checks_of_the_request_are_graded_once_and_told_beside_replayed_answers(
    repeated: MakeRun, server: Server, reply: Reply, passed: str
) -> None:
    run = repeated()
    server.reply = reply
    run(LIVE, ONE_BY_ONE, "--chatprompt-record")
    run.write(
        {"a.eval.yaml": FILE.replace("checks:", "checks:\n  - {type: not_contains, of: request, value: careful}")}
    )
    result = run("--chatprompt-replay")
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert text.count("a.eval.yaml:6:5: not_contains 'careful' of='request'") == 1
    assert f"{passed} answers passed" in text


def test_a_check_that_cannot_be_graded_is_an_error_of_its_answer(repeated: MakeRun, server: Server) -> None:
    crash = "def crash(case, response):\n    assert response.text != 'crash' or 1 / 0\n"
    run = repeated(
        FILE.replace("checks:", "checks:\n  - {type: python, value: 'own_checks:crash'}"),
        **{"own_checks.py": crash, "pytest.ini": "[pytest]\npythonpath = .\n"},
    )
    server.script = scripted(GOOD, GOOD, GOOD, BAD, answer("crash"))
    result, case = attempts_of(run, LIVE, ONE_BY_ONE)
    result.assert_outcomes(errors=1)
    assert [attempt["outcome"] for attempt in case["repeats"]["attempts"]] == [*["passed"] * 3, "failed", "error"]
    result.stdout.fnmatch_lines(["*python 'own_checks:crash': crashed with ZeroDivisionError: *"])


# --- recordings


def distinct(number: int, _: Any) -> Reply:
    """Answers that differ; the third one is poor."""
    return answer(f"{'poor' if number == 2 else 'good'} {number}")


LOG = """
def pytest_chatprompt_response(response):
    with open("answers.txt", "a") as file:
        print(response.text, file=file)
"""


def answers_of(case: dict[str, Any]) -> dict[int, str]:
    return {attempt["number"]: attempt["response"]["text"] for attempt in case["repeats"]["attempts"]}


def test_each_answer_is_recorded_under_its_number_and_replayed_as_itself(repeated: MakeRun, server: Server) -> None:
    run = repeated()
    server.gather(5)
    server.script = both(server.script, distinct)
    live, live_case = attempts_of(run, LIVE, RECORD)
    live.assert_outcomes(passed=1)
    live.stdout.fnmatch_lines(["openai *1 *50 *15 *0 *"])
    assert recorded_numbers(run) == [1, 2, 3, 4, 5]
    assert len(set(answers_of(live_case).values())) == 5
    content = (run.path / RECORDING).read_bytes()
    server.requests.clear()
    for options in ((REPLAY,), (LIVE, REPLAY)):
        replayed, case = attempts_of(run, *options, "-rP")
        replayed.assert_outcomes(passed=1)
        assert answers_of(case) == answers_of(live_case)
        assert {attempt["response"]["is_replayed"] for attempt in case["repeats"]["attempts"]} == {True}
        replayed.stdout.fnmatch_lines(
            [
                "4/5 answers passed: 80 % (95 % interval 38 % to 96 %); 4 of 5 must pass",
                "5 replies were replayed, which saved 50 input and 15 output tokens*.",
            ]
        )
    assert server.requests == []
    assert (run.path / RECORDING).read_bytes() == content


def test_live_with_replay_sends_what_is_missing_of_the_repeats(repeated: MakeRun, server: Server) -> None:
    run = repeated()
    server.script = distinct
    run(LIVE, RECORD, "--chatprompt-repeat=2").assert_outcomes(passed=1)
    assert recorded_numbers(run) == [1, 2]
    server.gather(5, after=0)
    server.script = distinct
    result, case = attempts_of(run, LIVE, REPLAY)
    result.assert_outcomes(passed=1)
    assert len(server.requests) in (4, 5)
    texts = answers_of(case)
    assert sorted([texts[1], texts[2]]) == ["good 0", "good 1"]
    assert recorded_numbers(run) == sorted(texts)
    result.stdout.fnmatch_lines(["2 replies were replayed, which saved 20 input and 6 output tokens, * sent."])


def test_a_recording_that_stopped_early_is_enough(repeated: MakeRun, server: Server) -> None:
    run = repeated()
    server.script = scripted(GOOD, BAD, EMPTY)
    live = run(LIVE, RECORD, ONE_BY_ONE)
    live.assert_outcomes(failed=1)
    # An empty answer is recorded too: else sending only for it again would raise the rate.
    assert recorded_numbers(run) == [1, 2, 3]
    server.requests.clear()
    for options in ((REPLAY,), (LIVE, REPLAY), (LIVE, REPLAY, ONE_BY_ONE)):
        result = run(*options)
        result.assert_outcomes(failed=1)
        summary = "*1/3 answers passed: 33 % (95 % interval 6 % to 79 %); 2 not sent; 4 of 5 must pass"
        result.stdout.fnmatch_lines([summary])
    assert server.requests == []


def test_a_replayed_run_with_too_few_recorded_answers_is_an_error_that_says_which(
    repeated: MakeRun, server: Server
) -> None:
    run = repeated()
    server.script = scripted(GOOD, BAD)
    run(LIVE, RECORD, "--chatprompt-repeat=2", ONE_BY_ONE)
    result = run(REPLAY)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:8:5: case 'c0': 2 of 5 answers are recorded, and with them the outcome is not certain: "
            "nothing is recorded for 3, 4 and 5",
            "To record it: pytest a.eval.yaml::c0 --chatprompt-live --chatprompt-replay",
            "1/2 answers passed: *",
            "answer 2 of 5: 1 check failed: contains 'good'",
        ]
    )


def test_the_answer_after_an_outage_is_missing_in_the_recording_and_sent_again(
    repeated: MakeRun, server: Server
) -> None:
    run = repeated(FILE.replace("0.8", "1.0"))
    server.script = scripted(GOOD, DOWN, GOOD, GOOD, GOOD)
    run(LIVE, RECORD, ONE_BY_ONE).assert_outcomes(errors=1)
    assert recorded_numbers(run) == [1, 3, 4, 5]
    server.requests.clear()
    server.script = None
    run(LIVE, REPLAY).assert_outcomes(passed=1)
    assert len(server.requests) == 1
    assert recorded_numbers(run) == [1, 2, 3, 4, 5]


def test_fewer_repeats_leave_recorded_answers_unused_and_keep_them(repeated: MakeRun, server: Server) -> None:
    run = repeated(FILE.replace("0.8", "1.0"))
    run(LIVE, RECORD).assert_outcomes(passed=1)
    server.requests.clear()
    for repeat, unused in ((3, 2), (1, 4)):
        for options in ((REPLAY,), (LIVE, REPLAY)):
            result = run(*options, f"--chatprompt-repeat={repeat}")
            result.assert_outcomes(passed=1)
            result.stdout.fnmatch_lines([f"{unused} recorded replies that no request asked for, in a.eval.yaml::c0; *"])
    assert server.requests == []
    # What is sent once changes nothing about the other answers.
    text = (run.path / RECORDING).read_text(encoding="utf-8")
    (run.path / RECORDING).write_text(text.replace("repeat: 1\n", "repeat: 6\n"), encoding="utf-8")
    run(LIVE, REPLAY, "--chatprompt-repeat=1").assert_outcomes(passed=1)
    assert len(server.requests) == 1
    assert sorted(recorded_numbers(run)) == [0, 2, 3, 4, 5, 6]
    run(LIVE, RECORD).assert_outcomes(passed=1)
    assert recorded_numbers(run) == [1, 2, 3, 4, 5, 6]
    # Fewer for one run are no reason to remove the others.
    run(REPLAY, "--chatprompt-remove-unused", "--chatprompt-repeat=1").assert_outcomes(passed=1)
    assert recorded_numbers(run) == [1, 2, 3, 4, 5, 6]
    result = run(REPLAY, "--chatprompt-remove-unused")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 recorded reply removed: no request asked for it."])
    assert recorded_numbers(run) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("options", [(REPLAY,), (LIVE, REPLAY), (LIVE, REPLAY, ONE_BY_ONE)])
def test_a_recording_of_another_request_answers_nothing(
    repeated: MakeRun, server: Server, options: tuple[str, ...]
) -> None:
    run = repeated().with_snapshots(LIVE, RECORD, "--chatprompt-repeat=3")
    run.write({"a.eval.yaml": FILE.replace("content: c0", "content: changed")})
    run.with_snapshots()
    server.requests.clear()
    result = run(*options)
    if LIVE in options:
        result.assert_outcomes(passed=1)
        assert len(server.requests) in (4, 5)
    else:
        result.assert_outcomes(errors=1)
        result.stdout.fnmatch_lines(["*has none of its hash", "+     content: changed"])


def test_an_unreadable_recording_is_an_error(repeated: MakeRun, server: Server) -> None:
    two = FILE + "  - id: c1\n    input_messages: [{role: user, content: c1}]\n"
    run = repeated(two)
    run.write({RECORDING.replace("c0", name): "version: 2\n" for name in ("c0", "c1")})
    for options in ((REPLAY,), (LIVE, REPLAY)):
        result = run(*options)
        result.assert_outcomes(errors=2)
        result.stdout.fnmatch_lines(["*cannot read the recording *c0*; put the file back, *, or record it again: *"])
    assert server.requests == []


# --- the hook and fixtures


HOOK = """
def pytest_chatprompt_response(case, request, response):
    assert "{word}" in response.text, "it lacks the word"
"""


def test_the_hook_looks_at_each_answer(repeated: MakeRun, server: Server) -> None:
    file = FILE.replace("checks:\n  - {type: contains, value: good}\n", "")
    run = repeated(file, HOOK.format(word="good"))
    server.script = scripted(GOOD, BAD, GOOD, GOOD, GOOD)
    result = run(LIVE, ONE_BY_ONE, "-rP")
    result.assert_outcomes(passed=1)
    server.requests.clear()
    long = "poor " * 100
    server.script = scripted(GOOD, BAD, answer(long))
    result = run(LIVE, ONE_BY_ONE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*case 'c0': 1/3 answers passed: *",
            "answer 2 of 5: conftest.py:12: AssertionError: it lacks the word",
            "assert 'good' in 'poor'",
            "  answer: 'poor'",
            "answer 3 of 5: conftest.py:12: AssertionError: it lacks the word",
            f"  answer: {long[:240]!r}…",
        ],
        consecutive=False,
    )


def test_a_failure_of_the_hook_is_told_beside_that_of_the_checks(repeated: MakeRun, server: Server) -> None:
    run = repeated(FILE, HOOK.format(word="GOOD"))
    server.script = scripted(BAD, GOOD)
    result = run(LIVE, ONE_BY_ONE)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "answer 1 of 5: 1 check failed: contains 'good'",
            "conftest.py:12: AssertionError: it lacks the word",
            "answer 2 of 5: conftest.py:12: AssertionError: it lacks the word",
        ]
    )


def test_whatever_the_hook_raises_counts_for_its_answer_but_a_skip_for_the_case(repeated: MakeRun) -> None:
    hook = """
def pytest_chatprompt_response(case, response):
    if case.id == "fail":
        pytest.fail("no")
    if case.id == "raise":
        raise KeyError("x")
    if case.id == "skip":
        pytest.skip("not today")
    pytest.xfail("known")
"""
    result = repeated(with_cases("fail", "raise", "skip", "xfail"), hook)(LIVE, ONE_BY_ONE, "-ra")
    result.assert_outcomes(failed=2, skipped=1, xfailed=1)
    result.stdout.fnmatch_lines(["answer* of 5: conftest.py:13: Failed: no"])
    result.stdout.fnmatch_lines(["answer* of 5: conftest.py:15: KeyError: 'x'"])
    result.stdout.fnmatch_lines(["SKIPPED *not today*", "XFAIL *::xfail - known"])


def test_a_skip_hides_no_failure(repeated: MakeRun, server: Server) -> None:
    run = repeated(FILE, "\ndef pytest_chatprompt_response(response):\n    pytest.skip('not today')\n")
    hook = "\ndef pytest_chatprompt_response(response):\n    if response.text == 'skip': pytest.skip('not today')\n"
    run.write({"conftest.py": LIVE_CONFTEST.format(url=server.url, settings="max_retries=0") + hook})
    server.gather(3)
    # The answer that skips comes last.
    skipping = Reply(answer("skip").data, delay_seconds=1.5)
    server.script = both(server.script, scripted(BAD, BAD, skipping, GOOD, GOOD))
    run(LIVE, "--chatprompt-concurrency=3").assert_outcomes(failed=1)


def test_a_fixture_looks_at_the_first_answer_and_has_the_last_word(repeated: MakeRun, server: Server) -> None:
    fixture = """
@pytest.fixture(autouse=True)
def first(eval_case, eval_response):
    if "skips" in eval_case.id:
        pytest.skip("not today")
    if eval_case.id == "wants-the-first":
        assert eval_response.text == "good 0"
    if eval_case.id == "wants-the-last":
        assert eval_response.text == "good 4"
    assert eval_case.id != "poor"
"""
    run = repeated(with_cases("wants-the-first", "wants-the-last", "poor", "skips", "poor-skips"), fixture)
    counts: Counter[str] = Counter()

    def script(_: int, body: Any) -> Reply:
        name = body["messages"][-1]["content"]
        counts[name] += 1
        return answer(f"{'poor' if 'poor' in name else 'good'} {counts[name] - 1}")

    server.script = script
    result = run(LIVE, ONE_BY_ONE, "-rA")
    result.assert_outcomes(passed=1, failed=3, skipped=1)
    result.stdout.fnmatch_lines(["*_ wants-the-last _*", "E*AssertionError*"])
    result.stdout.fnmatch_lines(["*_ poor _*", "E*assert 'poor' != 'poor'", "*checks*", "0/2 answers passed: *"])
    result.stdout.fnmatch_lines(["*_ poor-skips _*", "*case 'poor-skips': 0/2 answers passed: *"])
    result.stdout.fnmatch_lines(["PASSED *::wants-the-first"])


def test_without_any_answer_no_fixture_is_set_up(repeated: MakeRun, server: Server) -> None:
    run = repeated(FILE, "\n@pytest.fixture(autouse=True)\ndef first(eval_response):\n    raise RuntimeError\n")
    server.reply = DOWN
    result = run(LIVE)
    result.assert_outcomes(errors=1)
    result.stdout.no_fnmatch_line("*RuntimeError*")


def test_an_override_that_changes_the_answer_is_an_error(repeated: MakeRun) -> None:
    override = """
@pytest.fixture
def eval_response(eval_response):
    return eval_response{change}
"""
    run = repeated(FILE, override.format(change=""))
    run(LIVE).assert_outcomes(passed=1)
    conftest = (run.path / "conftest.py").read_text(encoding="utf-8")
    changed = "return eval_response.model_copy(update={'text': 'x'})"
    run.write({"conftest.py": conftest.replace("return eval_response", changed)})
    result = run(LIVE)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "*case 'c0': eval_response is overridden and changes the answer, but a case that is sent several times is "
            "graded by the answers of its provider: change them there"
        ]
    )

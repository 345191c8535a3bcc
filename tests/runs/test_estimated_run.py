"""`--chatprompt-live --collect-only`: what a run would cost, and that nothing is sent for it."""

from __future__ import annotations

import pytest

from tests.runs.conftest import MakeLiveProject, Run, case_ids, eval_file
from tests.server import Server

ESTIMATE = ("--chatprompt-live", "--collect-only", "-q")
# 1,000 tokens are assumed, at $30 for a million; the two letters of a case are no whole token.
NOTE = (
    "Nothing was sent. Input is estimated as one token for four characters, without media; output as all of "
    "max_output_tokens, or as 1000 tokens where a case sets none."
)


def lines_after_head(result: pytest.RunResult) -> list[str]:
    lines = result.stdout.lines
    start = next(number for number, line in enumerate(lines) if "estimated cost of the live run" in line)
    return [" ".join(line.split()) for line in lines[start + 1 :] if line and "collected in" not in line]


def test_each_provider_and_the_total_have_a_row(run: Run) -> None:
    prompt = "four" + " four" * 799 + "."
    run.write(
        {
            "a.eval.yaml": f"""
provider: [openai, anthropic, ollama]
settings: {{openai: {{max_output_tokens: 200}}}}
evalcases:
  - {{id: a, metadata: {{systemPrompt: ""}}, input_messages: [{{role: user, content: {prompt}}}]}}
  - {{id: b, metadata: {{systemPrompt: ""}}, input_messages: [{{role: user, content: {prompt}}}]}}
"""
        }
    )
    result = run(*ESTIMATE)
    assert result.ret == 0
    assert lines_after_head(result) == [
        "provider answers input tokens output tokens cost",
        # 1,000 at $2 and 4,096 at $10 for a million.
        "anthropic 2 2000 8192 $0.086",
        "ollama 2 2000 2000 unknown",
        # 1,000 at $5 and 200 at $30.
        "openai 2 2000 400 $0.022",
        "total 6 6000 10592 $0.11 + 2 unknown",
        NOTE,
        "2 answers without a cost: the price of the model 'gpt-oss:20b' of Ollama is not known: the price list has none; "
        "pass price=TokenPrice(input_usd=..., output_usd=...) to its provider",
    ]
    # Neither a key nor a snapshot is needed, and none is written.
    assert run.snapshots() == []


def test_nothing_is_sent_and_nothing_is_reported_as_a_test(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(3, settings="price=__import__('pytest_chatprompt').TokenPrice(input_usd=0, output_usd=1000)")
    result = run("--chatprompt-live", "--collect-only", "--chatprompt-budget-usd=2")
    result.assert_outcomes()
    assert server.requests == []
    assert "total 3 24 3000 $3.00" in lines_after_head(result)
    assert "That is more than the budget of $2.00." in lines_after_head(result)
    result.stdout.fnmatch_lines(["*3 tests collected*"])
    assert "budget" not in run("--chatprompt-live", "--collect-only", "--chatprompt-budget-usd=3").stdout.str()
    assert "estimated" not in run("--collect-only").stdout.str()


def test_cases_that_are_recorded_cost_nothing_in_a_replayed_run(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(3)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=3)
    (run.path / "__snapshots__/a.eval/c1[openai].recording.yaml").unlink()
    server.requests.clear()
    lines = lines_after_head(run(*ESTIMATE, "--chatprompt-replay"))
    assert lines[1].startswith("openai 1 ")
    assert "2 cases would be replayed, and cost nothing." in lines
    assert lines_after_head(run(*ESTIMATE))[1].startswith("openai 3 ")
    assert server.requests == []


def test_a_recorded_answer_of_a_function_costs_nothing_either(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": eval_file(["x", "y"], "own"),
            "conftest.py": "import pytest\n@pytest.fixture\ndef own_provider():\n    return lambda request: 'an answer'\n",
        }
    )
    run.update()
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    (run.path / "__snapshots__/a.eval/y[own].recording.yaml").unlink()
    lines = lines_after_head(run(*ESTIMATE, "--chatprompt-replay"))
    assert lines[1] == "own 1 0 0 unknown"
    assert "1 answer without a cost: the requests of agents and plain functions are not known beforehand" in lines
    assert "1 case would be replayed, and cost nothing." in lines


def test_what_stops_a_case_is_told_and_what_skips_it_is_not(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": eval_file([*case_ids(3), "skipped"]),
            "conftest.py": """
import pytest

@pytest.fixture(autouse=True)
def skipping(eval_case):
    if eval_case.id == "skipped":
        pytest.skip("not now")
    if eval_case.id == "c1":
        pytest.fail("no data\\nfor this case")
    if eval_case.id == "c2":
        raise RuntimeError("no data\\nfor this case")
""",
        }
    )
    lines = lines_after_head(run(*ESTIMATE))
    assert lines[1].startswith("openai 1 ")
    assert "2 cases could not be estimated: no data" in lines
    assert not [line for line in lines if "not now" in line]


def test_tests_of_your_own_code_are_not_estimated(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": eval_file(["x"]),
            "test_app.py": "def test_a(eval_api): 1/0\ndef test_b(): 1/0\n",
        }
    )
    lines = lines_after_head(run(*ESTIMATE))
    assert lines[1].startswith("openai 1 ")
    assert lines[-1] == "Not estimated, since only running shows what it sends: 1 test with eval_api."
    assert lines_after_head(run(*ESTIMATE, "a.eval.yaml"))[-1] == NOTE


def test_what_an_application_would_send_is_estimated(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": eval_file(["x"], "own"),
            "conftest.py": """
import httpx, pytest

@pytest.fixture
def own_provider():
    def send(request):
        body = {"model": "gpt-5.5", "max_tokens": 100, "messages": [{"role": "user", "content": "four " * 80}]}
        reply = httpx.post("https://api.openai.com/v1/chat/completions", json=body)
        httpx.post("https://api.openai.com/v1/chat/completions", json=body | {"max_tokens": 200})
        return reply.json()["choices"][0]["message"]["content"]
    return send
""",
        }
    )
    # 200 at $5 and 300 at $30 for a million.
    assert lines_after_head(run(*ESTIMATE))[1] == "own 1 200 300 $0.01"


def test_a_file_that_cannot_be_collected_is_an_error_as_ever(run: Run) -> None:
    run.write({"a.eval.yaml": "evalcases: [", "b.eval.yaml": eval_file(["x"])})
    result = run(*ESTIMATE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["ERROR a.eval.yaml"])
    assert lines_after_head(result)[1].startswith("openai 1 ")


def test_a_module_that_cannot_be_collected_stops_the_run_as_ever(run: Run) -> None:
    run.write({"test_a.py": "1/0", "b.eval.yaml": eval_file(["x"])})
    result = run(*ESTIMATE)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["ERROR test_a.py*"])
    result = run(*ESTIMATE, "--continue-on-collection-errors")
    assert lines_after_head(result)[1].startswith("openai 1 ")


def test_what_a_judge_is_sent_is_estimated_too(run: Run) -> None:
    checks = "checks: [{type: llm_rubric, value: is polite, votes: 3}, {type: contains, value: x}]\n"
    run.write({"a.eval.yaml": checks + eval_file(["x", "y"])})
    run.append("pytest.ini", "chatprompt_judge = anthropic\n")
    lines = lines_after_head(run(*ESTIMATE))
    assert lines[1].startswith("(judge) 6 ")
    assert lines[2].startswith("openai 2 ")
    assert lines[3].startswith("total 8 ")
    assert lines[1].split()[3] == str(6 * 4096)
    # A judge is sent the conversation too: 4,000 characters more, six times.
    run.write({"a.eval.yaml": checks + eval_file(["x" * 4001, "y" * 4001])})
    longer = lines_after_head(run(*ESTIMATE))
    assert int(longer[1].split()[2]) - int(lines[1].split()[2]) == 6 * 1000
    assert "What judges are sent is estimated without the answers, and as if nothing of it were recorded." in lines

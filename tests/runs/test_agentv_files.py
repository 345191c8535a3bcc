"""Eval files of AgentV and of Agent Skills in whole pytest runs."""

from __future__ import annotations

import json

import pytest

from tests.media import PNG
from tests.runs.conftest import Run
from tests.server import Reply, Server

INI = "[pytest]\nfilterwarnings = error\nchatprompt_files = *.eval.yaml *.jsonl evals.json\n"
PROVIDERS = """
- id: openai
  label: local
  config: {model: gpt-x, base_url: "{{ env.LOCAL_URL }}", api_key: "{{ env.LOCAL_KEY }}"}
"""
SUITE = """
providers: [local]
prompts: "{{ input }}"
tests:
  - {id: hi, assert: [{type: contains, value: Hello}, {type: script, command: [x]}], vars: {input: Say hello}}
"""


@pytest.fixture
def agentv(run: Run) -> Run:
    """A project with a file of AgentV 5, and its snapshot."""
    run.write({"pytest.ini": INI, ".agentv/providers.yaml": PROVIDERS, "evals/a.eval.yaml": SUITE})
    run.update("-W", "default").assert_outcomes(passed=1, warnings=1)
    return run


def test_a_file_of_agentv_sends_its_prompts_through_its_provider(agentv: Run) -> None:
    request = agentv.snapshot("evals/__snapshots__/a.eval/hi[local].yaml")["request"]
    assert request == {"model": "gpt-x", "messages": [{"role": "user", "content": "Say hello"}]}
    agentv.write({"evals/a.eval.yaml": SUITE.replace("Say hello", "Say hi")})
    result = agentv("-W", "default")
    result.assert_outcomes(failed=1, warnings=1)
    result.stdout.fnmatch_lines(["evals/a.eval.yaml:5:*", "*Say hello*", "*Say hi*"])


def test_what_is_not_graded_is_a_warning_at_its_line(agentv: Run) -> None:
    result = agentv("-W", "default")
    result.stdout.fnmatch_lines(
        [
            "*/evals/a.eval.yaml:5: EvalFileWarning: the assertion 'script' grades nothing here as it is written; check "
            "answers in the hook pytest_chatprompt_response, or in a fixture that takes eval_response"
        ]
    )


def test_answers_are_graded_by_the_assertions(agentv: Run, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_URL", server.url)
    monkeypatch.setenv("LOCAL_KEY", "key")
    server.reply = Reply()
    result = agentv("--chatprompt-live", "-W", "default")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*contains 'Hello': the answer does not contain it*"])


def test_lines_of_json_are_tests(run: Run) -> None:
    lines = '{"id": "one", "input": "1", "criteria": ""}\n{"id": "two", "input": "2", "tools": 3}\n'
    run.write({"pytest.ini": INI, "a.jsonl": lines})
    result = run("--snapshot-update", "-W", "default", "-v")
    result.stdout.fnmatch_lines(
        ["a.jsonl::one PASSED*", "a.jsonl::two PASSED*", "*a.jsonl:2: EvalFileWarning: 'tools'*"]
    )
    assert run.snapshots() == ["__snapshots__/a/one[openai].yaml", "__snapshots__/a/two[openai].yaml"]


@pytest.mark.parametrize("provider", ["openai", "anthropic", "codex", "cli"])
def test_the_evals_of_a_skill_run_through_apis_and_agents(run: Run, provider: str) -> None:
    eval_ = {"id": 1, "prompt": "Look", "files": ["evals/files/a.csv", "files/a.png"]}
    run.write(
        {
            "pytest.ini": INI,
            "conftest.py": (
                "import pytest\n"
                "from pytest_chatprompt import CLIProvider\n"
                "@pytest.fixture\n"
                "def cli_provider():\n"
                "    return CLIProvider(['agent', '{files}'])\n"
            ),
            "skill/evals/evals.json": json.dumps({"skill_name": "look", "evals": [eval_]}),
            "skill/evals/files/a.csv": "a,b\n1,2\n",
        }
    )
    (run.path / "skill/files").mkdir()
    (run.path / "skill/files/a.png").write_bytes(PNG)
    run.update("--chatprompt-provider", provider).assert_outcomes(passed=1)
    snapshot = run.snapshot(f"skill/evals/__snapshots__/evals/1[{provider}].yaml")
    assert snapshot["question"] == "Look\n=== evals/files/a.csv ===\na,b\n1,2\n<Image: files/a.png>"
    if provider in ("codex", "cli"):
        assert snapshot["files"] == ["skill/evals/files/a.csv", "skill/files/a.png"]
    else:
        assert "image/png" in str(snapshot["request"])

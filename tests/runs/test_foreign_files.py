"""Files of other tools in runs of pytest."""

from __future__ import annotations

import subprocess
import sys

from tests.cases.test_convert import CONFIG
from tests.runs.conftest import LIVE_CONFTEST, Run
from tests.server import CHAT_REPLY, Reply, Server

PROMPTFOO = ("-o", "chatprompt_files=promptfooconfig.yaml", "-W", "default::pytest_chatprompt.EvalFileWarning")


def test_a_converted_file_sends_the_same_requests(run: Run) -> None:
    # Marks of reading direction, and line separators, are texts that nothing may change.
    run.write({"promptfooconfig.yaml": CONFIG.replace("with", "with \\\\u2028").replace("kindly,", "kindly, \u202e")})
    assert run(*PROMPTFOO, "--snapshot-update").ret == 0
    converted = subprocess.run(
        [sys.executable, "-m", "pytest_chatprompt", "convert", "promptfooconfig.yaml"],
        cwd=run.path,
        capture_output=True,
        check=True,
    )
    assert converted.stderr.decode() == (
        "promptfooconfig.yaml:15:60: an assert 'javascript' grades nothing here; grade in the hook pytest_chatprompt_response, or in a "
        "fixture that takes eval_response\n"
        "promptfooconfig.yaml:6:5: promptfoo trims the lines of this text for Anthropic, and takes 'user:' for a role; "
        "here it is sent as it is written\n"
    )
    (run.path / "promptfooconfig.yaml").write_bytes(converted.stdout)
    # All snapshots are those of the file of before.
    result = run(*PROMPTFOO)
    result.assert_outcomes(passed=8, warnings=1)
    assert "unused" not in result.stdout.str()


UNGRADED = """
prompts: ["Say hello to {{ name }}"]
providers: [openai:gpt-x]
tests:
  - description: both
    vars: {name: Ada}
    assert: [{type: contains, value: hello}, {type: javascript, value: output}, {type: similar, value: hi}]
  - description: graded
    vars: {name: Grace}
    assert: [{type: contains, value: hello}]
  - description: fails
    vars: {name: Alan}
    assert: [{type: contains, value: "{{ name }}"}]
"""


def test_a_live_run_says_what_does_not_grade_an_answer(run: Run, server: Server) -> None:
    server.reply = Reply({**CHAT_REPLY, "choices": [{"message": {"role": "assistant", "content": "hello there"}}]})
    run.write(
        {
            "promptfooconfig.yaml": UNGRADED,
            "conftest.py": LIVE_CONFTEST.format(url=server.url, settings="max_retries=0"),
        }
    )
    run.update(*PROMPTFOO).assert_outcomes(passed=3, warnings=2)
    result = run(*PROMPTFOO, "--chatprompt-live")
    result.assert_outcomes(passed=2, failed=1, warnings=3)
    result.stdout.fnmatch_lines(
        [
            "promptfooconfig.yaml:13:14: contains 'Alan': the answer does not contain it",
            "  */promptfooconfig.yaml:5: EvalFileWarning: nothing here grades the answer by javascript, similar",
        ]
    )


def test_code_of_the_project_is_a_fixture(run: Run) -> None:
    config = "prompts: [Hi]\nproviders: [\n  'exec:python chat.py']\n"
    run.write({"promptfooconfig.yaml": config})
    result = run(*PROMPTFOO, "--snapshot-update")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "promptfooconfig.yaml:3:3: case 'test-1': unknown provider 'exec_python_chat_py': there is no fixture "
            "'exec_python_chat_py_provider', only those of *; write it in a conftest.py, to return an object with "
            "send(request), or a function"
        ]
    )
    run.write(
        {
            "conftest.py": "import pytest\n\n@pytest.fixture\ndef exec_python_chat_py_provider():\n"
            "    return lambda request: f'You said {request.question}'\n"
        }
    )
    run.update(*PROMPTFOO).assert_outcomes(passed=1)


def test_another_vendor_is_a_fixture_that_gets_its_model(run: Run) -> None:
    conftest = """
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture
def xai_provider():
    return OpenAIProvider(base_url="https://api.x.ai/v1")
"""
    run.write({"promptfooconfig.yaml": "prompts: [Hi]\nproviders: [xai:grok-4]", "conftest.py": conftest})
    run.update(*PROMPTFOO).assert_outcomes(passed=1)
    sent = run.snapshot("__snapshots__/promptfooconfig/test-1[xai%3Agrok-4].yaml")
    assert (sent["provider"], sent["request"]["model"]) == ("xai:grok-4", "grok-4")


def test_a_file_that_promptfoo_and_agentv_both_read_sends_the_same_whichever_it_is_taken_for(run: Run) -> None:
    text = """
prompts: ["Say hello to {{ name }}"]
providers: [openai:gpt-x]
tests:
  - vars: {name: Ada}
"""
    run.write({"promptfooconfig.yaml": text})
    run.update(*PROMPTFOO).assert_outcomes(passed=1)
    # An `id` in a test is AgentV's.
    run.write({"agentvconfig.yaml": text.replace("  - vars", "  - id: ada\n    vars")})
    run.update("-o", "chatprompt_files=agentvconfig.yaml").assert_outcomes(passed=1)
    one, other = (run.snapshot(name) for name in run.snapshots())
    assert one["request"] == other["request"]
    assert one["request"]["messages"] == [{"role": "user", "content": "Say hello to Ada"}]

"""`chatprompt_cache_prefix`: a test is warned about a request that does not begin with all of the one before."""

from __future__ import annotations

import pytest

from tests.runs.conftest import Run

OWN = """
import httpx
import pytest

def ask(*messages):
    messages = [{"role": "user", "content": text} for text in messages]
    httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "gpt-5.5", "messages": messages})

def embed(text):
    httpx.post("https://api.openai.com/v1/embeddings", json={"model": "e", "input": text})

def test_moves(eval_api):
    ask("It is 10:01.", "Hi")
    ask("It is 10:02.", "Hi", "And?")

def test_goes_on(eval_api):
    embed("a")
    ask("Hi")
    embed("b")
    ask("Hi", "And?")

def test_asks_once(eval_api):
    ask("Hi")

@pytest.mark.moves_cache_prefix(reason="two conversations")
def test_is_marked(eval_api):
    ask("Hi")
    ask("And?")
"""
WARNING = (
    "PayloadWarning: request 2 (POST /v1/chat/completions) does not begin with all of request 1: the first difference "
    "is at messages[0].content; the vendor can reuse nothing from there on; if it has to be so, mark the test "
    "moves_cache_prefix(reason=...), or give the case that tag [cache_prefix, https://platform.openai.com/docs/guides/prompt-caching]"
)
INI = "[pytest]\nchatprompt_cache_prefix = true\naddopts = --strict-markers\nfilterwarnings = default\n"
CONFTEST = """
import httpx
import pytest
from pytest_chatprompt import ProviderResponse

@pytest.fixture
def twice_provider():
    def send(request):
        for number in range(2):
            body = {"model": "m", "messages": [{"role": "user", "content": f"{number} {request.question}"}]}
            httpx.post("https://api.openai.com/v1/chat/completions", json=body)
        return ProviderResponse(text="yes")
    return send
"""
CASES = """
provider: twice
evalcases:
  - id: moves
    input_messages: [{role: user, content: hi}]
  - id: marked
    tags: [moves_cache_prefix]
    input_messages: [{role: user, content: hi}]
"""


def test_a_prefix_that_moves_is_a_warning_at_the_test(run: Run) -> None:
    run.write({"test_own.py": OWN, "pytest.ini": INI})
    result = run("-rw")
    result.assert_outcomes(passed=4, warnings=1)
    result.stdout.fnmatch_lines(["test_own.py::test_moves", f"  *test_own.py:12: {WARNING.replace('[', '[[]')}"])


def test_a_breakpoint_that_moves_along_is_no_warning(run: Run) -> None:
    test = """
import anthropic

def test_goes_on(eval_api):
    messages = []
    for text in ("Hi", "And?", "Bye"):
        block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
        marked = [*messages, {"role": "user", "content": [block]}]
        reply = anthropic.Anthropic().messages.create(model="claude-sonnet-5", max_tokens=9, messages=marked)
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": reply.content[0].text}]
"""
    run.write({"test_own.py": test, "pytest.ini": INI.replace("default", "error")})
    run().assert_outcomes(passed=1)


def test_it_fails_the_test_where_warnings_are_errors(run: Run) -> None:
    run.write({"test_own.py": OWN, "pytest.ini": INI.replace("default", "error")})
    result = run()
    result.assert_outcomes(passed=3, failed=1)
    assert WARNING in result.stdout.str()


def test_nothing_is_said_unless_the_project_asks_for_it(run: Run) -> None:
    run.write({"test_own.py": OWN})
    run("--strict-markers").assert_outcomes(passed=4)


def test_a_case_whose_provider_sends_several_requests_is_warned_too_and_a_tag_takes_one_out(run: Run) -> None:
    run.write({"a.eval.yaml": CASES, "conftest.py": CONFTEST, "pytest.ini": INI})
    result = run("--snapshot-update")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(["a.eval.yaml::moves", f"  *a.eval.yaml:4: {WARNING.replace('[', '[[]')}"])


def test_a_value_that_is_neither_true_nor_false_is_a_usage_error(run: Run) -> None:
    run.write({"pytest.ini": "[pytest]\nchatprompt_cache_prefix = maybe\n"})
    result = run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: chatprompt_cache_prefix must be true or false: *'maybe'*"])


def test_the_mark_is_explained(run: Run) -> None:
    run("--markers").stdout.fnmatch_lines(
        ["@pytest.mark.moves_cache_prefix: no request need begin with the one before; reason= says why"]
    )

"""Cases made in code: what an ordinary test gets for an `EvalCase` that its `eval_case` returns."""

from __future__ import annotations

from typing import Any, cast

import pytest
import yaml

from tests.runs.conftest import HELLO, LIVE_CONFTEST, Run
from tests.server import Reply, Server

CASE = """
import pytest
from pytest_chatprompt import EvalCase, EvalMessage, FilePart, TextPart, build_request

def make(**keys):
    message = EvalMessage(role="user", content=[TextPart(value="Review:"), FilePart(value="./x.py")])
    return EvalCase(id="review", input_messages=[message], **keys)
"""

FIXTURE = (
    CASE
    + """
@pytest.fixture
def eval_case():
    return make(provider="anthropic")
"""
)

REVIEWED = "Review:\n=== ./x.py ===\nprint(1)"


def test_a_case_in_code_has_a_request_a_provider_and_a_response(run: Run) -> None:
    run.write(
        {
            "tests/x.py": "print(1)\n",
            "tests/tone.md": "Be kind.\n",
            "tests/test_it.py": FIXTURE
            + f"""
def test_request(eval_request):
    assert eval_request.question == {REVIEWED!r}

def test_provider(eval_provider):
    assert type(eval_provider).__name__ == "AnthropicProvider"

def test_response(eval_response, eval_api):
    assert eval_response.text == "(offline)"
    (sent,) = eval_api.sent
    assert sent.endpoint == "POST /v1/messages"
    assert sent.body["messages"][0]["content"] == {REVIEWED!r}

def test_snapshots(eval_request, eval_snapshot):
    assert eval_snapshot == eval_request
    assert eval_snapshot == eval_request.chat_prompt

def test_built(monkeypatch, tmp_path):
    assert build_request(make()).question == {REVIEWED!r}
    message = EvalMessage(role="user", content=[FilePart(value="tone.md")])
    case = EvalCase(id="tone", input_messages=[message], guideline_patterns=["tests/*.md"])
    assert build_request(case).guidelines == ("Be kind.",)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "x.py").write_text("2")
    assert "2" in build_request(make(), folder=tmp_path / "sub", root=tmp_path).question
    assert "2" in build_request(make()).question

class TestNone:
    @pytest.fixture
    def eval_case(self, eval_case):
        return eval_case.model_copy(update={{"provider": None}})

    def test_default(self, eval_provider):
        assert type(eval_provider).__name__ == "GeminiProvider"

class TestList:
    @pytest.fixture
    def eval_case(self, eval_case):
        return make(provider=["openai"])

    def test_one(self, eval_provider):
        assert type(eval_provider).__name__ == "OpenAIProvider"
""",
            "test_no_case.py": "def test_it(eval_provider):\n    assert type(eval_provider).__name__ == 'GeminiProvider'\n",
        }
    )
    run.update("-o", "chatprompt_provider=gemini").assert_outcomes(passed=8)
    assert run.snapshots() == [
        "tests/__snapshots__/test_it/test_snapshots.1.yaml",
        "tests/__snapshots__/test_it/test_snapshots.yaml",
    ]
    assert run.snapshot("tests/__snapshots__/test_it/test_snapshots.yaml") == {
        "eval_case_id": "review",
        "question": REVIEWED,
        "messages": [{"role": "user", "content": REVIEWED}],
        "input_files": ["tests/x.py"],
    }
    assert run.snapshot("tests/__snapshots__/test_it/test_snapshots.1.yaml") == {
        "messages": [{"role": "user", "content": REVIEWED}],
    }
    # The provider of the command line beats the case's.
    run("--chatprompt-provider", "openai").assert_outcomes(passed=4, failed=4)


ERRORS = (
    CASE
    + """
class TestFile:
    @pytest.fixture
    def eval_case(self):
        return make()

    def test_missing(self, eval_request):
        pass

class TestTwo:
    @pytest.fixture
    def eval_case(self):
        return make(provider=["openai", "azure"])

    def test_two(self, eval_provider):
        pass

class TestUnknown:
    @pytest.fixture
    def eval_case(self):
        return make(provider="antropic")

    def test_unknown(self, eval_provider):
        pass

class TestNoCase:
    @pytest.fixture
    def eval_case(self):
        return {"id": "x"}

    def test_mapping(self, eval_request):
        pass

class TestBroken:
    @pytest.fixture
    def eval_case(self):
        pytest.fail("no case today", pytrace=False)

    def test_broken(self, eval_provider):
        pass

class TestEmpty:
    @pytest.fixture
    def eval_case(self):
        return EvalCase(id="blank", input_messages=[EvalMessage(role="user", content=" ")])

    def test_empty(self, eval_response):
        pass

def test_built():
    build_request(make())

def test_invalid():
    EvalCase(id="x", input_messages=[{"role": "usr", "content": "hi"}], contnet=1)

def test_without(eval_case):
    pass

@pytest.mark.xfail(raises=ValueError, strict=True)
def test_expected():
    EvalCase(id="", input_messages=[])
"""
)


@pytest.mark.parametrize("capture", ["fd", "no"])
def test_the_errors_of_a_case_in_code_are_text(run: Run, capture: str) -> None:
    run.write({"tests/test_it.py": ERRORS})
    result = run(f"--capture={capture}")
    result.assert_outcomes(errors=7, failed=2, xfailed=1)
    place = "tests/test_it.py::"
    result.stdout.fnmatch_lines_random(
        [
            f"{place}TestFile::test_missing: case 'review': input_messages[[]0].content[[]1].value: "
            "file ./x.py not found; tried tests/x.py, x.py",
            "case 'review' names several providers (openai, azure), but a test sends through one; parametrize the "
            'fixture eval_case, so that it returns the case once with each: eval_case.model_copy(update={"provider": '
            "request.param})",
            "unknown provider 'antropic': *; did you mean 'anthropic'?",
            "eval_case: {'id': 'x'} is not an EvalCase; return EvalCase(id=..., input_messages=[[]...])",
            "no case today",
            f"{place}TestEmpty::test_empty: case 'blank': input_messages: "
            "nothing to send: no message contains more than white space",
            f"E       *EvalFileError: {place}test_built: case 'review': input_messages[[]0].content[[]1].value: "
            "file ./x.py not found; tried tests/x.py, x.py",
            "E*2 validation errors for EvalCase",
            "E*contnet",
            "eval_case: tests/test_it.py::test_without is not a case of an eval file; override eval_case to use it here",
        ]
    )
    output = result.stdout.str()
    assert "All traceback entries are hidden" not in output
    assert "pytest_chatprompt/" not in output
    assert "AttributeError" not in output
    assert "attachments.py" in run("--full-trace", "-k", "test_missing").stdout.str()


def test_the_ini_applies_to_cases_in_code_too(run: Run) -> None:
    run.write(
        {
            "pytest.ini": "[pytest]\nchatprompt_guideline_patterns = **/*.md\nchatprompt_system_prompt = Be brief.\n",
            "tests/tone.md": "Be kind.\n",
            "tests/test_it.py": CASE
            + """
@pytest.fixture(params=[None, []])
def eval_case(request):
    parts = [TextPart(value="Hi."), FilePart(value="/tests/tone.md")]
    return EvalCase(
        id="tone", input_messages=[EvalMessage(role="user", content=parts)], guideline_patterns=request.param
    )

def test_it(eval_request, request):
    is_guideline = request.node.callspec.params["eval_case"] is None
    assert eval_request.guidelines == (("Be kind.",) if is_guideline else ())
    assert eval_request.metadata == {"systemPrompt": "Be brief."}
""",
        }
    )
    run().assert_outcomes(passed=2)


def test_an_eval_item_with_a_case_in_code_keeps_its_own_provider(run: Run) -> None:
    run.write(
        {
            "evals/a.eval.yaml": "provider: openai" + HELLO,
            "evals/x.py": "print(1)\n",
            "conftest.py": FIXTURE,
        }
    )
    run.update().assert_outcomes(passed=1)
    assert run.snapshots() == ["evals/__snapshots__/a.eval/hello[openai].yaml"]
    snapshot = run.snapshot("evals/__snapshots__/a.eval/hello[openai].yaml")
    assert snapshot["question"] == REVIEWED
    (run.path / "evals/x.py").unlink()
    result = run()
    result.stdout.fnmatch_lines(["evals/a.eval.yaml::hello: case 'review': *: file ./x.py not found; tried *"])


SENDS = (
    CASE
    + """
import httpx

@pytest.fixture(params=["one", "two"])
def eval_case(request):
    return EvalCase(id=request.param, provider="openai", input_messages=[EvalMessage(role="user", content=request.param)])

def test_it(eval_response, eval_api, eval_snapshot):
    assert eval_response.text == "a real answer"
    url = eval_api.sent[0].url
    body = {"model": "m", "messages": [{"role": "user", "content": eval_response.text}]}
    assert httpx.post(url, json=body).json()["choices"][0]["message"]["content"] == "a real answer"
    assert len(eval_api.sent) == 2
    assert eval_api.sent[0] == eval_snapshot
"""
)


def test_a_response_is_sent_recorded_and_replayed_as_all_else_in_the_test(run: Run, server: Server) -> None:
    conftest = LIVE_CONFTEST.format(url=server.url, settings="max_retries=0")
    run.write({"conftest.py": conftest, "test_it.py": SENDS.replace('"a real answer"', "eval_response.text")})
    run.update().assert_outcomes(passed=2)
    assert server.requests == []
    run.write({"test_it.py": SENDS})
    server.reply = Reply()
    live = ("--chatprompt-live", "--chatprompt-record")
    run(*live).assert_outcomes(passed=2)
    assert len(server.requests) == 4
    path = run.path / "__snapshots__/test_it/test_it[one].recording.yaml"
    recorded = cast("list[dict[str, Any]]", yaml.safe_load(path.read_text())["exchanges"])
    assert [exchange["request"]["body"]["messages"][-1]["content"] for exchange in recorded] == ["one", "a real answer"]
    server.requests.clear()
    run("--chatprompt-replay").assert_outcomes(passed=2)
    run("--chatprompt-live", "--chatprompt-replay").assert_outcomes(passed=2)
    assert server.requests == []
    path.unlink()
    result = run("--chatprompt-replay")
    result.assert_outcomes(passed=1, errors=1)
    text = (
        "no reply is recorded for POST /chat/completions: there is no __snapshots__/test_it/test_it[one].recording.yaml"
    )
    assert result.outlines.count(text) == 1
    run("--chatprompt-live", "--chatprompt-replay").assert_outcomes(passed=2)
    assert len(server.requests) == 2


def test_a_missing_key_of_a_live_run_is_text(run: Run) -> None:
    run.write({"test_it.py": SENDS})
    result = run("--chatprompt-live", "-k", "one")
    result.stdout.fnmatch_lines(
        ["no key for OpenAI: set the environment variable OPENAI_API_KEY, or pass api_key to OpenAIProvider"]
    )
    assert "client.py" not in result.stdout.str()


FAILING = (
    FIXTURE
    + """
from pytest_chatprompt import ProviderError

@pytest.fixture
def anthropic_provider():
    def send(request):
        raise ProviderError("my own error")
    return send

def test_it(eval_response):
    pass
"""
)


def test_an_error_of_a_provider_of_the_project_shows_the_code_of_the_project(run: Run) -> None:
    run.write({"x.py": "", "test_it.py": FAILING})
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(['>       raise ProviderError("my own error")', "E       *ProviderError: my own error"])
    assert "provider_capture.py" not in result.stdout.str()


SETTINGS = (
    CASE
    + """
@pytest.fixture
def eval_case(request):
    return make(**request.function.keys)

def keys(**values):
    def mark(function):
        function.keys = values
        return function
    return mark

@keys(provider="openai", settings={"temperature": 0, "openai": {"model": "mine"}}, tools="./tools.json")
def test_sent(eval_response, eval_api):
    (sent,) = eval_api.sent
    assert (sent.body["model"], sent.body["temperature"]) == ("mine", 0)
    assert [tool["function"]["name"] for tool in sent.body["tools"]] == ["weather"]

@keys(provider=["openai", "anthropic"], tools="./tools.json")
def test_request_of_several(eval_request, eval_snapshot):
    assert eval_request == eval_snapshot

@keys(provider="openai", settings={"opnai": {"seed": 1}})
def test_unknown(eval_request):
    pass

@keys(tools="./nowhere.json")
def test_missing(eval_request):
    pass
"""
)


def test_settings_and_tools_of_a_case_in_code_count(run: Run) -> None:
    tool = '[{"type": "function", "function": {"name": "weather"}}]'
    run.write({"tests/x.py": "print(1)\n", "tests/tools.json": tool, "tests/test_it.py": SETTINGS})
    result = run("--snapshot-update")
    result.assert_outcomes(passed=2, errors=2)
    place = "tests/test_it.py::"
    result.stdout.fnmatch_lines(
        [
            f"{place}test_unknown: case 'review': settings.opnai: settings for an unknown provider 'opnai'; "
            "did you mean 'openai'?",
            f"{place}test_missing: case 'review': tools: file ./nowhere.json not found; *",
        ]
    )
    snapshot = run.snapshot("tests/__snapshots__/test_it/test_request_of_several.yaml")
    assert snapshot["tools"] == [{"type": "function", "function": {"name": "weather"}}]


AGENT = (
    CASE
    + """
import sys
from pytest_chatprompt import CLIProvider

@pytest.fixture
def eval_case():
    return make(provider="cli")

@pytest.fixture
def cli_provider():
    return CLIProvider([sys.executable, "-c", "print('done')", "{prompt_file}"])

def test_it(eval_response):
    assert eval_response.text.strip() == "TEXT"
"""
)


def test_an_agent_is_started_in_a_live_run_only(run: Run) -> None:
    run.write({"x.py": "print(1)\n", "test_it.py": AGENT.replace("TEXT", "(offline)")})
    run().assert_outcomes(passed=1)
    run.write({"test_it.py": AGENT.replace("TEXT", "done")})
    run("--chatprompt-live").assert_outcomes(passed=1)


LOST = """
import pytest
from pytest_chatprompt import EvalCase

@pytest.fixture
def eval_case():
    messages = [{"role": "user", "content": "hi"}, {"role": "tool", "content": "x"}]
    return EvalCase(id="lost", provider="openai", input_messages=messages)

def test_it(eval_response):
    pass
"""


def test_what_preflight_finds_is_a_warning(run: Run) -> None:
    run.write({"test_it.py": LOST})
    result = run("-W", "default")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*PayloadWarning: *"])
    run().assert_outcomes(errors=1)

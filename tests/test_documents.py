"""The example project, and the documents: every snippet runs, every link leads somewhere, every table is complete."""

from __future__ import annotations

import ast
import contextlib
import inspect
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from unittest.mock import MagicMock

import pytest
import yaml

import pytest_chatprompt
from pytest_chatprompt import AgentError, ProcessResult, ProviderResponse, Verdict
from pytest_chatprompt.__main__ import main
from pytest_chatprompt.apis import bedrock
from pytest_chatprompt.apis.chat_provider import ChatProvider, ChatProviderArguments
from pytest_chatprompt.apis.table import API_NAMES, PROVIDERS, find_api, get_api, get_provider
from pytest_chatprompt.apis.vendor_api import VendorAPI
from pytest_chatprompt.capture.secrets.names import is_secret_name
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.secrets.shapes import TOKEN_SHAPES
from pytest_chatprompt.cases.agentv_settings import AGENTS, CHAT_FIELDS
from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.loader import EvalFileKeys
from pytest_chatprompt.cases.message import EvalMessage
from pytest_chatprompt.cases.request_options import RequestSettings
from pytest_chatprompt.cases.rows import READERS
from pytest_chatprompt.errors import __doc__ as errors_docstring
from pytest_chatprompt.fixtures import __file__ as fixtures_file
from pytest_chatprompt.grading.judge import _DEFAULT_PROMPT as JUDGE_PROMPT, PROMPT_VERSION
from pytest_chatprompt.grading.table import CHECKS, ENTRY_POINT_GROUP
from pytest_chatprompt.options import add_options
from pytest_chatprompt.providers.agents.base import AgentProvider, AgentSettings
from pytest_chatprompt.providers.agents.cli import PLACEHOLDERS
from pytest_chatprompt.text.media_types import MEDIA_TYPES
from tests.apis.built_in import chat_providers
from tests.apis.sdk_differences import SDK_DIFFERENCES
from tests.capture.clients.table import CLIENTS
from tests.git_repository import Git, commit_all, git
from tests.media import PNG
from tests.providers.agents.fake_agents import write_executable
from tests.runs.conftest import HELLO, LIVE_CONFTEST, Run, run
from tests.runs.test_terminal_review import TypeAnswers, typed
from tests.server import CHAT_REPLY, Reply, Server

__all__ = ["git", "run", "typed"]

ROOT = Path(__file__).parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
README = PAGES["README.md"]
OTHERS = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "example_project/README.md")
}
LOCK = "docs/lock-your-application.md"
MOST_WORDS = 1800

# The files that the eval file of the README names.
ATTACHED = {
    "evals/loop.py": "for i in range(len(xs) - 1):\n    print(xs[i])\n",
    "guidelines/python.instructions.md": "Name things by what they are.\n",
}


def blocks(page: str, language: str, *, before: str = "", after: str = "") -> list[str]:
    """The fenced blocks of a language on a page, between two texts of it."""
    part = PAGES[page]
    part = part[part.index(after) :] if after else part
    part = part[: part.index(before)] if before else part
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return [content for its_language, content in fenced if its_language == language]


def openai_conftest() -> str:
    """The conftest of the README that overrides `openai_provider`."""
    (conftest,) = [snippet for snippet in blocks("README.md", "python") if "def openai_provider" in snippet]
    return conftest


def table_with_head(page: str, *, after: str) -> list[list[str]]:
    """The cells of the first table behind a text of a page, row by row, its head first."""
    part = PAGES[page]
    rows = re.search(r"(?:^\|.*\n)+", part[part.index(after) :], re.MULTILINE)
    assert rows is not None
    head, _, *body = rows[0].splitlines()
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in (head, *body)]


def table(page: str, *, after: str) -> list[list[str]]:
    """The cells of the first table behind a text of a page, row by row, without its head."""
    return table_with_head(page, after=after)[1:]


def quoted(cell: str) -> list[str]:
    """The texts in backticks of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def client_rows() -> list[list[str]]:
    """The rows of the table of clients: what the tests of each client prove, of those alike in one row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for client in CLIENTS:
        name, *others = client.name.split(" ")
        library = client.library + (f"; async {client.async_library}" if client.async_library else "")
        kinds = (
            ("sync", client.send),
            ("async", client.send_async),
            ("streams", client.stream or client.stream_async),
        )
        tested = ", ".join(how for how, sends in kinds if sends is not None)
        rows.setdefault((library, tested), []).append(" ".join([f"`{name}`", *others]))
    return [[", ".join(names), library, tested] for (library, tested), names in rows.items()]


# --- the example project


@pytest.fixture(scope="session", autouse=True)
def imported_sdks() -> None:
    """Imports the SDKs of the examples: pytester drops after each run in this process what that run imported first."""
    for name in ("anthropic", "openai"):
        import_module(name)


@pytest.fixture
def example(run: Run) -> Run:
    """A copy of the example project."""
    shutil.copytree(
        ROOT / "example_project",
        run.path,
        dirs_exist_ok=True,
        ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"),
    )
    return run


def test_the_example_project_passes(example: Run) -> None:
    example("--strict-config", "-W", "error").assert_outcomes(passed=54)


def test_the_recording_of_the_example_is_replayed_whatever_day_it_is(example: Run) -> None:
    before = {path: (example.path / path).read_bytes() for path in example.snapshots()}
    result = example("--strict-config", "-W", "error", "tests", "--chatprompt-replay")
    result.assert_outcomes(passed=4)
    assert "1 reply was replayed, which saved 34 input and 12 output tokens." in result.outlines
    assert {path: (example.path / path).read_bytes() for path in example.snapshots()} == before
    (recording,) = [content for path, content in before.items() if path.endswith(".recording.yaml")]
    assert b"<today>" in recording
    assert Redactor({}).find(yaml.safe_load(recording)) is None


def test_an_edited_guideline_of_the_example_fails_just_the_cases_that_use_it(example: Run) -> None:
    guideline = example.path / "guidelines/python.instructions.md"
    guideline.write_text(guideline.read_text().replace("No comment repeats", "No comment ever repeats"))
    result = example()
    result.assert_outcomes(passed=51, failed=3)
    failed = [line.split(" - ")[0] for line in result.outlines if line.startswith("FAILED")]
    assert failed == [
        "FAILED evals/agents/mend.eval.yaml::cli",
        "FAILED evals/code_review/review.eval.yaml::first-page",
        "FAILED evals/code_review/review.eval.yaml::whole-module",
    ]
    changed = [f"{line[0]} {line[1:].strip()}" for line in result.outlines if re.match(r"[-+]  ", line)]
    assert changed == [
        "- - No comment repeats what the code says.",
        "+ - No comment ever repeats what the code says.",
    ]
    # It is shown with the first of them, and told for all.
    assert any("= 1 distinct change in 3 snapshots =" in line for line in result.outlines)
    assert "   request.system (2), argv[5] (1)" in result.outlines


# --- what the README shows first


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= MOST_WORDS


def test_the_first_screen_is_what_happens(run: Run) -> None:
    eval_file, snapshot = blocks("README.md", "yaml", before="## Install")
    assert len(eval_file.splitlines()) == 6
    run.write({"greeting.eval.yaml": eval_file})
    run.update()
    assert (run.path / "__snapshots__/greeting.eval/greets[anthropic].yaml").read_text() == snapshot
    # The test and its failure are those of the page to begin with, where they are what happens.
    (test,) = blocks("README.md", "python", before="## Install")
    (failure,) = blocks("README.md", "", before="## Install")
    assert test == blocks(LOCK, "python")[1]
    assert any(failure in shown for shown in blocks(LOCK, ""))


def test_the_targets_of_make_are_there() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = {name for text in PAGES.values() for name in re.findall(r"^make (\w+)", text, re.MULTILINE)}
    assert {"example", "test", "bench"} <= named <= set(targets)


# --- snippets run


def test_the_eval_file_of_the_readme_sends_what_the_conversion_shows(run: Run) -> None:
    (eval_file,) = blocks("README.md", "yaml", after="## Eval files")
    (snapshot,) = blocks("docs/conversion.md", "yaml")
    run.write({"evals/review.eval.yaml": eval_file, **ATTACHED})
    run.update("-m", "smoke").assert_outcomes(passed=1)
    path = run.path / "evals/__snapshots__/review.eval/review-loop[anthropic].yaml"
    assert path.read_text(encoding="utf-8") == snapshot
    (shown_path,) = blocks("docs/snapshots.md", "", before="## Resolve a merge conflict")
    assert shown_path == path.relative_to(run.path).as_posix() + "\n"


def test_the_tool_calls_of_the_page_on_eval_files_run(run: Run) -> None:
    (eval_file,) = blocks("docs/eval-files.md", "yaml", before="## Images, documents and audio")
    run.write({"a.eval.yaml": f"provider: [azure, openai, anthropic, gemini]\n{eval_file}"})
    run.update().assert_outcomes(passed=4)


def test_the_images_of_the_page_on_eval_files_run(run: Run) -> None:
    after, before = "## Images, documents and audio", "## What only some APIs have"
    (eval_file,) = blocks("docs/eval-files.md", "yaml", after=after, before=before)
    run.write({"a.eval.yaml": eval_file})
    (run.path / "kettle.png").write_bytes(PNG)
    run.update().assert_outcomes(passed=1)


def test_what_only_some_apis_have_runs(run: Run) -> None:
    after, before = "## What only some APIs have", "## Settings, tools and formats"
    (eval_file,) = blocks("docs/eval-files.md", "yaml", after=after, before=before)
    run.write({"a.eval.yaml": eval_file})
    run.update("-W", "ignore").assert_outcomes(passed=1)


def test_the_table_of_media_is_the_tables_of_the_apis() -> None:
    (_, *vendors), *rows = table_with_head("docs/providers.md", after="## Images, documents and audio")
    assert ["Azure OpenAI" if vendor == "Azure" else vendor for vendor in vendors] == [
        provider.vendor for provider in chat_providers()
    ]
    in_table = {quoted(kind)[0]: cells for kind, *cells in rows}
    assert list(in_table) == list(MEDIA_TYPES)
    for kind, cells in in_table.items():
        for provider, cell in zip(chat_providers(), cells, strict=True):
            support = {key: support for key, support in provider.media.items() if key == kind}.get(cast(Any, kind))
            assert cell == ("no" if support is None else "file, URL" if support.takes_urls else "file")


def test_the_table_of_differences_from_the_sdks_has_those_that_the_tests_allow() -> None:
    rows = table("docs/providers.md", after="It differs in these")
    assert [(api, sent) for api, sent, _ in rows] == list(SDK_DIFFERENCES)


def test_the_settings_and_tools_of_the_page_on_eval_files_run(run: Run) -> None:
    after, before = "## Settings, tools and formats", "## Variables and rows"
    (eval_file,) = blocks("docs/eval-files.md", "yaml", after=after, before=before)
    run.write({"a.eval.yaml": eval_file})
    run.update().assert_outcomes(passed=6)


def test_the_tables_of_settings_are_the_code() -> None:
    documented = [name for row in table("docs/eval-files.md", after="| setting | value |") for name in quoted(row[0])]
    assert documented == list(RequestSettings.model_fields)
    own_fields = [provider for provider in chat_providers() if "setting_fields" in vars(provider)]
    (_, *heads), *rows = table_with_head("docs/eval-files.md", after="Where each API has the settings")
    # A head names several vendors, or adds where the fields are: `OpenAI, Azure`, `Gemini, in ...`.
    vendors = ["Amazon Bedrock" if head.startswith("Bedrock") else head.partition(", ")[0] for head in heads]
    assert vendors == [provider.vendor for provider in own_fields]
    for names, *cells in rows:
        for provider, cell in zip(own_fields, cells, strict=True):
            fields = [provider.setting_fields.get(setting) for setting in quoted(names)]
            keys = [".".join(field.path) for field in fields if field is not None]
            paths = [key.removeprefix("generationConfig.").removeprefix("inferenceConfig.") for key in keys]
            assert paths == (quoted(names) if cell == "the same" else quoted(cell))


def test_the_rows_of_the_page_on_eval_files_are_what_happens(run: Run) -> None:
    eval_file, *_ = blocks("docs/eval-files.md", "yaml", after="## Variables and rows")
    (rows,) = blocks("docs/eval-files.md", "json")
    names, error, _ = blocks("docs/eval-files.md", "", after="## Variables and rows")
    # A dataset and an attached file are looked for in the folders above too.
    run.write({"qa.eval.yaml": eval_file, "sights.jsonl": rows, "evals/sights.jsonl": rows})
    run.write({f"programmes/{name}.txt": name for name in ("old", "new")})
    run.update().assert_outcomes(passed=8)
    assert sorted(run("--collect-only", "-q").outlines[:8]) == sorted(names.splitlines())
    run.write({"evals/qa.eval.yaml": eval_file.replace("{{ name }}?", "{{ nmae }}?")})
    assert error.strip() in run("evals", "-k", "openai-louvre").outlines


def test_captured_requests_are_named_as_documented(run: Run) -> None:
    eval_file, *_ = blocks("docs/eval-files.md", "yaml", after="## Captured requests")
    body = '{"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}'
    run.write({"qa.eval.yaml": eval_file, "captured/1234.json": body})
    run.update().assert_outcomes(passed=2)
    assert "traffic[openai-1234]" in PAGES["docs/eval-files.md"]
    run("qa.eval.yaml::traffic[openai-1234]").assert_outcomes(passed=1)


def test_the_table_of_datasets_is_the_table_of_readers() -> None:
    rows = table("docs/eval-files.md", after="| dataset |")
    assert {name for row in rows for name in quoted(row[0])} == set(READERS)


def test_the_errors_of_an_eval_file_are_what_happens(run: Run) -> None:
    eval_file, _ = blocks("docs/eval-files.md", "yaml", after="## What is an error")
    (errors,) = blocks("docs/eval-files.md", "", after="## What is an error")
    run.write({"evals/broken.eval.yaml": eval_file})
    result = run("--snapshot-update")
    result.assert_outcomes(passed=1, errors=2)
    assert [line for line in result.outlines if line.startswith("evals/broken.eval.yaml:")] == errors.splitlines()


def test_the_target_of_the_page_on_eval_files_is_a_provider(run: Run) -> None:
    (targets,) = blocks("docs/eval-files.md", "yaml", after="### Targets")
    run.write({".agentv/targets.yaml": targets, "a.eval.yaml": "target: gemini_base" + HELLO})
    run.update().assert_outcomes(passed=1)
    assert run.snapshots() == ["__snapshots__/a.eval/hello[gemini_base].yaml"]


def test_the_file_of_agentv_on_the_page_of_formats_runs(run: Run) -> None:
    _, suite = blocks("docs/formats.md", "yaml")
    run.write(
        {
            "evals/a.eval.yaml": suite,
            "evals/more/b.yaml": "- {id: more, vars: {input: hi}}\n",
            ".agentv/providers.yaml": "- {id: openai, label: local, config: {model: gpt-x}}\n",
        }
    )
    run("--snapshot-update", "-W", "default").assert_outcomes(passed=2, warnings=1)
    assert run.snapshot("evals/__snapshots__/a.eval/hello[local].yaml")["question"] == "Say hello"


def test_the_fields_of_targets_are_documented() -> None:
    rows = table("docs/eval-files.md", after="| field | what happens |")
    documented = {name for row in rows for name in quoted(row[0])}
    assert {name for fields in AGENTS.values() for name in fields} | CHAT_FIELDS <= documented


def test_the_snapshot_of_escaped_text_is_what_happens(run: Run) -> None:
    (snapshot,) = blocks("docs/snapshots.md", "yaml")
    text = '"one \\n\\ttwo\\nthree"'
    run.write({"a.eval.yaml": f"provider: openai{HELLO.replace('content: hello', f'content: {text}')}"})
    run.update()
    assert (run.path / "__snapshots__/a.eval/hello[openai].yaml").read_text(encoding="utf-8") == snapshot


def test_the_snapshot_of_an_agent_is_what_happens(run: Run) -> None:
    (snapshot,) = blocks("docs/agents.md", "yaml")
    (conftest,) = [snippet for snippet in blocks("docs/agents.md", "python") if "def cli_provider" in snippet]
    parts = "[{type: text, value: 'Rename `n` in this module:'}, {type: file, value: ./loop.py}]"
    eval_file = f"provider: cli{HELLO.replace('content: hello', f'content: {parts}')}"
    run.write({"conftest.py": conftest, "evals/a.eval.yaml": eval_file, "evals/loop.py": "n = 1\n"})
    run.update()
    assert (run.path / "evals/__snapshots__/a.eval/hello[cli].yaml").read_text(encoding="utf-8") == snapshot


def test_the_agent_of_your_own_runs(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (conftest,) = [snippet for snippet in blocks("docs/agents.md", "python") if "class TaskAgent" in snippet]
    write_executable(tmp_path, "task-agent", "pathlib.Path(sys.argv[3]).write_text(sys.stdin.read().upper())")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    hook = "\n\ndef pytest_chatprompt_response(response):\n    assert response.text == 'HELLO'\n"
    run.write({"conftest.py": conftest + hook, "a.eval.yaml": f"provider: task{HELLO}"})
    run.update("--chatprompt-live").assert_outcomes(passed=1)
    write_executable(tmp_path, "task-agent", "sys.exit(3)")
    result = run("--chatprompt-live")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["a.eval.yaml:3:5: case 'hello': task-agent exited with status 3"])


def test_the_recording_is_what_a_live_run_writes(run: Run, server: Server) -> None:
    (recording,) = blocks("docs/recordings.md", "yaml")
    server.reply_with(CHAT_REPLY)
    conftest = openai_conftest().replace("http://localhost:11434", server.url)
    run.write({"a.eval.yaml": f"provider: openai{HELLO}", "conftest.py": conftest})
    run.update("--chatprompt-live", "--chatprompt-record")
    assert len(server.requests) == 1
    path = run.path / "__snapshots__/a.eval/hello[openai].recording.yaml"
    assert path.relative_to(run.path).as_posix() in PAGES["docs/recordings.md"]
    assert re.sub(r"(?<=latency_seconds: ).*", "0.412", path.read_text(encoding="utf-8")) == recording
    run("--chatprompt-replay").assert_outcomes(passed=1)


def own_code(run: Run) -> str:
    """Write the application of the page on own code with the test that locks what it sends; gives the application."""
    application, test, *_ = blocks(LOCK, "python")
    run.write({"pytest.ini": "[pytest]\n", "assistant.py": application, "test_assistant.py": test})
    return application


def test_the_failure_of_a_check_is_what_happens(run: Run, server: Server) -> None:
    eval_file, of_request, *_ = blocks("docs/grading.md", "yaml")
    failure, _ = blocks("docs/grading.md", "")
    conftest = LIVE_CONFTEST.format(url=server.url, settings="max_retries=0")
    run.write({"conftest.py": conftest, "evals/refund.eval.yaml": eval_file})
    run.update().assert_outcomes(passed=1)
    server.reply = Reply({**CHAT_REPLY, "choices": [{"message": {"content": "As soon as we have your parcel."}}]})
    result = run("--chatprompt-live")
    result.assert_outcomes(failed=1)
    assert failure in result.stdout.str()
    run.write({"evals/refund.eval.yaml": eval_file[: eval_file.index("checks:")] + of_request + HELLO})
    result = run("--snapshot-update")
    result.assert_outcomes(failed=1)
    assert "the request does not fit the schema at $: 'temperature' is a required property" in result.stdout.str()


def test_the_failure_of_a_repeated_case_is_what_happens(run: Run, server: Server) -> None:
    eval_file = blocks("docs/grading.md", "yaml")[-1]
    _, failure = blocks("docs/grading.md", "")
    conftest = LIVE_CONFTEST.format(url=server.url, settings="max_retries=0")
    run.write({"conftest.py": conftest, "evals/refund.eval.yaml": eval_file})
    run.update().assert_outcomes(passed=1)
    texts = ["14 days.", "As soon as we have your parcel.", "14 Days", "In 14 days.", "As soon as we have your parcel."]
    server.script = lambda number, _: Reply({**CHAT_REPLY, "choices": [{"message": {"content": texts[number]}}]})
    result = run("--chatprompt-live", "--chatprompt-concurrency=1")
    result.assert_outcomes(failed=1)
    assert failure in result.stdout.str()


def test_the_judge_is_asked_as_the_page_says(run: Run) -> None:
    _, _, eval_file, _ = blocks("docs/grading.md", "yaml")
    prompt = JUDGE_PROMPT.read_text(encoding="utf-8")
    assert f"is version {PROMPT_VERSION} of it." in PAGES["docs/grading.md"]
    run.write({"a.eval.yaml": eval_file, "conftest.py": blocks("docs/grading.md", "python")[1]})
    run.update().assert_outcomes(passed=1)
    judge = run.snapshot("__snapshots__/a.eval/refund[openai].yaml")["judge"]
    assert [(each["endpoint"], each["request"]["model"]) for each in judge] == [
        ("POST /v1/messages", "claude-opus-5")
    ] * 3
    run.write({"a.eval.yaml": eval_file.replace("{type: llm_rubric} ", "{type: llm_rubric, template: judge.yaml}")})
    run.write({"judge.yaml": prompt})
    run().assert_outcomes(passed=1)


def test_the_tables_of_answers_are_what_happens(run: Run, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    (eval_file,) = blocks("docs/answers.md", "yaml")
    table, commands, comparison, *_ = blocks("docs/answers.md", "")
    conftest = LIVE_CONFTEST.format(url=server.url, settings="")
    anthropic = conftest.partition("@pytest.fixture")[2].replace("openai", "anthropic").replace("OpenAI", "Anthropic")
    conftest = conftest.replace("import OpenAIProvider", "import AnthropicProvider, OpenAIProvider")
    run.write({"conftest.py": f"{conftest}\n@pytest.fixture{anthropic}", "shop.eval.yaml": eval_file})
    run.update()
    answers = {"anthropic": "In 30 days.", "openai": "Within 14 days."}

    def reply(_: int, body: Any) -> Reply:
        is_return = "back" in body["messages"][-1]["content"]
        text = answers["anthropic" if "max_tokens" in body else "openai"] if is_return else "Yes."
        if "max_tokens" in body:
            usage = {"input_tokens": 12, "output_tokens": 9}
            return Reply({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn", "usage": usage})
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        return Reply({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage})

    server.script = reply
    first, second, compare = (shlex.split(line) for line in commands.splitlines())
    shown = run(*first[1:]).stdout.str()
    seconds = re.compile(r" *\d+\.\d\d s")
    assert seconds.sub(" s", table) in seconds.sub(" s", shown) + "\n"
    answers |= {"anthropic": "In 14 days.", "openai": "Yes, within 14 days."}
    run(*second[1:])
    assert main(compare[3:]) == 0
    assert comparison in capsys.readouterr().out


def test_the_comparison_of_two_versions_is_what_happens(run: Run, server: Server, git: Git) -> None:
    (eval_file,) = blocks("docs/answers.md", "yaml")
    _, _, _, table, *_ = blocks("docs/answers.md", "")
    eval_file = eval_file.replace("[anthropic, openai]", "openai")
    run.write({"conftest.py": LIVE_CONFTEST.format(url=server.url, settings=""), "shop.eval.yaml": eval_file})
    run.update()
    commit_all(git, run.path)
    run.write({"shop.eval.yaml": eval_file.replace("content: ", "content: Please; ")})
    server.script = lambda _, body: Reply(
        {"choices": [{"message": {"content": "14 days." if "Please" in json.dumps(body) else "No."}}]}
    )
    result = run("--chatprompt-live", "--chatprompt-ab", "main")
    lines = [line for line in result.outlines if not line.startswith("mean ")]
    assert table in "\n".join(lines)


def test_the_commands_of_the_reference_are_those_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    documented = [quoted(row[0])[0] for row in table("docs/reference.md", after="## Commands")]
    with pytest.raises(SystemExit):
        main(["--help"])
    shown = re.findall(r"^    (\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert [shlex.split(command)[3] for command in documented] == shown


def test_the_types_of_checks_are_the_table_of_types() -> None:
    documented = [name for row in table("docs/grading.md", after="## Types") for name in quoted(row[0])]
    assert sorted(documented) == sorted(CHECKS)
    (*_, snippet), (toml,) = blocks("docs/grading.md", "python"), blocks("docs/grading.md", "toml")
    ((group, types),) = tomllib.loads(toml)["project"]["entry-points"].items()
    assert group == ENTRY_POINT_GROUP
    namespace: dict[str, Any] = {"__name__": "word_checks"}
    exec(snippet, namespace)
    check = namespace[types["max_words"].partition(":")[2]].model_validate({"value": 1})
    assert check.grade(None, ProviderResponse(text="two words")) == Verdict(False, "has 2 words")


def test_the_page_to_begin_with_shows_what_happens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (snapshot,) = blocks(LOCK, "yaml")
    _, missing, failure, blocked = blocks(LOCK, "")
    application = own_code(run)
    monkeypatch.delitem(sys.modules, "assistant", raising=False)
    assert missing in run().stdout.str()
    run.update().assert_outcomes(passed=1)
    path = run.path / "__snapshots__/test_assistant/test_greets_by_name.yaml"
    assert path.relative_to(run.path).as_posix() in PAGES[LOCK]
    assert path.read_text(encoding="utf-8") == snapshot
    run.write({"assistant.py": application.replace("Greet the customer.", "Greet the customer warmly.")})
    assert failure in run().stdout.str()
    *_, off_the_network = blocks(LOCK, "python")
    reaching = """import contextlib, urllib.request


def test_it():
    with contextlib.suppress(OSError):
        urllib.request.urlopen("https://example.com")


def test_other():
    pass
"""
    run.write({"tests/conftest.py": off_the_network, "tests/test_it.py": reaching})
    result = run("tests")
    result.assert_outcomes(passed=1, failed=1)
    assert blocked in result.stdout.str()


def test_a_merge_conflict_in_a_snapshot_is_resolved_as_the_page_says(run: Run, git: Git) -> None:
    commands = blocks("docs/snapshots.md", "", after="## Resolve a merge conflict")[0].splitlines()
    assert commands[0] == "pytest --snapshot-update evals/shop.eval.yaml"
    path = "__snapshots__/a.eval/hello[openai].yaml"
    run.write({"a.eval.yaml": f"provider: openai{HELLO}", ".gitignore": "__pycache__\n"})
    run.update()
    commit_all(git, run.path)
    git("-C", str(run.path), "checkout", "-q", "-b", "theirs")
    for branch, text in (("theirs", "hello you"), ("main", "hello there")):
        git("-C", str(run.path), "checkout", "-q", branch)
        run.write({"a.eval.yaml": f"provider: openai{HELLO.replace('content: hello', f'content: {text}')}"})
        run.update()
        commit_all(git, run.path)
    with contextlib.suppress(subprocess.CalledProcessError):
        git("-C", str(run.path), "merge", "theirs")
    assert "<<<<<<<" in (run.path / path).read_text(encoding="utf-8")
    run.write({"a.eval.yaml": f"provider: openai{HELLO.replace('content: hello', 'content: hello you there')}"})
    run.update("a.eval.yaml")
    assert run.snapshot(path)["question"] == "hello you there"
    run().assert_outcomes(passed=1)


def test_the_error_of_a_request_that_is_not_recorded_is_what_happens(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary, error, removing, late = blocks("docs/recordings.md", "")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-live-0123456789abcdef")
    server.reply_with({"id": "resp_1", "object": "response", "output": []})
    application = own_code(run)
    run.update("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    run.write({"assistant.py": application.replace("Greet the customer.", "Greet the customer warmly.")})
    assert error in run("--chatprompt-replay").stdout.str()
    own_recordings = (ROOT / "tests/runs/test_own_recordings.py").read_text(encoding="utf-8")
    assert summary.strip() in own_recordings
    assert late.partition(", which may")[0] in own_recordings
    run.update("--chatprompt-live", "--chatprompt-replay").assert_outcomes(passed=1)
    assert "1 recorded reply removed: no request asked for it." in run(*removing.split()[1:]).outlines


ADJUSTED = """
guideline_patterns: ["**/*.md"]
evalcases:
  - id: guideline
    input_messages:
      - {role: user, content: [{type: file, value: a.md}, {type: text, value: hi}]}
  - id: parts
    input_messages:
      - {role: user, content: [{type: text, value: hi}, {type: text, value: " "}]}
  - id: guideline-alone
    input_messages:
      - {role: user, content: [{type: file, value: a.md}]}
      - {role: user, content: hi}
  - id: system
    input_messages:
      - {role: user, content: hi}
      - {role: system, content: one}
      - {role: system, content: two}
  - id: names
    metadata: {systemPrompt: none of this}
    input_messages:
      - {role: system, name: ada, content: one}
      - {role: user, name: ada, content: hi}
      - {role: system, content: two}
  - id: one-system
    metadata: {systemPrompt: none of this}
    input_messages:
      - {role: system, content: one}
      - {role: user, content: hi}
  - id: calls
    input_messages:
      - {role: user, content: hi}
      - role: assistant
        content: ""
        tool_calls: &calls
          - {id: a, function: {name: f, arguments: "{}"}}
          - {id: b, function: {name: f, arguments: "{}"}}
      - {role: tool, tool_call_id: a, content: null}
      - {role: tool, tool_call_id: b, content: "1"}
  - id: format
    provider: gemini
    tools: [{type: function, name: f, strict: true, parameters: &schema {type: object, additionalProperties: false}}]
    response_format: {type: json_schema, name: n, strict: true, schema: *schema}
    input_messages:
      - {role: user, content: hi}
  - id: agent
    provider: codex
    settings: {seed: 1}
    tools: [{type: function, name: f}]
    input_messages:
      - {role: user, content: hi}
"""


def test_the_review_of_a_change_is_what_happens(example: Run, typed: TypeAnswers) -> None:
    (change,) = blocks("docs/review.md", "diff")
    failures, questions, parts = blocks("docs/review.md", "")
    assert parts in example("--chatprompt-show", "evals/support/chat.eval.yaml::chat[abroad]").stdout.str()
    guideline = example.path / "guidelines/service.instructions.md"
    old, new = (line[2:] for line in change.splitlines())
    assert old in guideline.read_text(encoding="utf-8")
    guideline.write_text(guideline.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    result = example("evals/support", "--chatprompt-report", "review.json")
    assert_shortened(failures, result)
    assert len([line for line in result.outlines if "nothing but change 69b1, shown with" in line]) == 19
    assert json.loads((example.path / "review.json").read_text(encoding="utf-8"))["version"] == 1
    typed("a")
    result = example("evals/support", "--chatprompt-review")
    assert result.ret == 0
    assert_shortened(questions, result)


def assert_shortened(shown: str, result: pytest.RunResult) -> None:
    """Assert that the parts of a block stand in the output, in order; `[...]` stands for what is left out."""
    output = result.stdout.str().replace("pytest -p no:cacheprovider", "pytest") + "\n"
    for part in shown.split("[...]\n"):
        assert part in output
        output = output.partition(part)[2]


def test_the_picture_of_the_page_is_small() -> None:
    picture = (ROOT / "docs/review.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) <= 200 * 1024


def test_the_list_of_adjustments_is_what_happens(run: Run) -> None:
    run.write({"a.eval.yaml": f"provider: [openai, anthropic]{ADJUSTED}", "a.md": "x"})
    run.update("-W", "ignore")
    adjustments = {
        adjustment
        for name in run.snapshots()
        for adjustment in cast("list[str]", run.snapshot(name).get("adjustments", []))
    }
    (shown,) = blocks("docs/snapshots.md", "", after="## Adjustments")
    assert set(shown.splitlines()) <= adjustments


LOST = """
evalcases:
  - id: lost
    input_messages:
      - role: user
        content: hi
      - {role: tool, content: x}
"""


def test_the_warning_and_the_filter_of_preflight_are_what_happens(run: Run) -> None:
    (warning,) = blocks("docs/providers.md", "", after="## Preflight")
    (as_errors,) = blocks("docs/providers.md", "ini", after="## Preflight")
    prefilled = LOST.replace("lost", "prefilled").replace("role: tool", "role: assistant")
    run.write({"pytest.ini": "[pytest]\nfilterwarnings = default\n", "evals/a.eval.yaml": "provider: openai" + LOST})
    shown = run.update().stdout.str().replace(str(run.path), "/project")
    assert warning in shown
    run.write({"pytest.ini": as_errors, "evals/b.eval.yaml": "provider: openai" + prefilled})
    run("--snapshot-update").assert_outcomes(passed=1, failed=1)


def test_the_error_of_a_payload_is_what_happens(run: Run) -> None:
    (error,) = blocks("docs/providers.md", "", after="## What is sent", before="## Override a provider")
    run.write({"evals/a.eval.yaml": "provider: anthropic" + LOST})
    result = run("--snapshot-update")
    result.assert_outcomes(failed=1)
    assert error in result.stdout.str()


PYTHON_SNIPPETS = [
    pytest.param(snippet, id=f"{page} {number}")
    for page in PAGES
    for number, snippet in enumerate(blocks(page, "python"), start=1)
]


@pytest.mark.parametrize("snippet", PYTHON_SNIPPETS)
def test_each_python_snippet_runs(run: Run, snippet: str) -> None:
    names = set(re.findall(r"^def (\w+)_provider\(", snippet, re.MULTILINE)) - {"eval"}
    (name,) = names or {"openai"}
    run.write({"a.eval.yaml": f"provider: {name}" + HELLO.replace("id: hello", "id: hard")})
    tests = f"\n{snippet}".count("\ndef test_")
    parameters = re.search(r"params=(\[.*?\])", snippet)
    each = len(ast.literal_eval(parameters[1])) if parameters else 1
    run.write({"test_snippet.py" if tests else "conftest.py": snippet})
    if "import assistant" in snippet:
        run.write({"assistant.py": blocks(LOCK, "python")[0]})
    if "./loop.py" in snippet:
        run.write({"loop.py": ATTACHED["evals/loop.py"]})
    run.update().assert_outcomes(passed=1 + tests * each if tests else each)


def test_the_agent_of_the_page_reads_its_answer(tmp_path: Path) -> None:
    (snippet,) = [snippet for snippet in blocks("docs/agents.md", "python") if "class TaskAgent" in snippet]
    namespace: dict[str, Any] = {}
    exec(snippet, namespace)
    agent: AgentProvider = namespace["TaskAgent"](executable="task-agent")
    (tmp_path / "answer.md").write_text("42", encoding="utf-8")
    assert agent.read_response(ProcessResult(returncode=0, stdout="", stderr=""), tmp_path).text == "42"
    with pytest.raises(AgentError, match="task-agent"):
        agent.read_response(ProcessResult(returncode=1, stdout="", stderr="no"), tmp_path)


def test_the_file_of_promptfoo_of_the_page_runs_as_it_is(run: Run) -> None:
    config, _ = blocks("docs/formats.md", "yaml")
    chat = '[{"role": "system", "content": "Be {{ greeting }}"}, {"role": "user", "content": "{{ name }}"}]'
    conftest = (
        "import pytest\n\n@pytest.fixture\ndef exec_python_chat_py_provider():\n    return lambda request: 'Hi'\n"
    )
    run.write({"promptfooconfig.yaml": config, "chat.json": chat, "conftest.py": conftest})
    result = run.update("-v", "-o", "chatprompt_files=promptfooconfig.yaml")
    result.assert_outcomes(passed=12)
    result.stdout.fnmatch_lines(
        ["promptfooconfig.yaml::greets Ada #1 (prompt-1)[[]anthropic:claude-sonnet-4-5 (warm)] PASSED*"]
    )


def test_no_snippet_is_without_a_test() -> None:
    assert {page: len(blocks(page, "python")) for page in PAGES if blocks(page, "python")} == {
        "README.md": 3,
        "docs/agents.md": 2,
        "docs/eval-files.md": 3,
        "docs/grading.md": 3,
        "docs/live.md": 1,
        LOCK: 4,
        "docs/own-code.md": 7,
        "docs/providers.md": 8,
        "docs/review.md": 1,
        "docs/snapshots.md": 3,
    }
    # What else there is has a test of its own.
    others = [(page, language) for page in PAGES for language in ("yaml", "ini", "json", "toml", "sh", "text")]
    assert {(page, language): len(blocks(page, language)) for page, language in others if blocks(page, language)} == {
        ("README.md", "yaml"): 3,
        ("docs/agents.md", "yaml"): 1,
        ("docs/answers.md", "yaml"): 1,
        ("docs/ci.md", "yaml"): 5,
        ("docs/conversion.md", "yaml"): 1,
        ("docs/eval-files.md", "yaml"): 8,
        ("docs/eval-files.md", "json"): 1,
        ("docs/formats.md", "yaml"): 2,
        ("docs/grading.md", "yaml"): 4,
        ("docs/grading.md", "toml"): 1,
        (LOCK, "yaml"): 1,
        ("docs/providers.md", "ini"): 1,
        ("docs/recordings.md", "yaml"): 1,
        ("docs/security.md", "ini"): 1,
        ("docs/snapshots.md", "yaml"): 1,
    }


def test_a_parametrized_provider_is_named_as_the_page_says(run: Run) -> None:
    (conftest,) = [snippet for snippet in blocks("docs/providers.md", "python") if "params=" in snippet]
    run.write({"a.eval.yaml": "provider: openai" + HELLO, "conftest.py": conftest})
    run.update().assert_outcomes(passed=2)
    assert run.snapshots() == [f"__snapshots__/a.eval/hello[openai-{name}].yaml" for name in ("cold", "hot")]
    result = run("--collect-only", "-q")
    assert result.outlines[:2] == ["a.eval.yaml::hello[cold]", "a.eval.yaml::hello[hot]"]


def test_a_model_of_your_own_costs_what_the_page_says(run: Run) -> None:
    (conftest,) = [snippet for snippet in blocks("docs/providers.md", "python") if "TokenPrice" in snippet]
    run.write({"a.eval.yaml": "provider: ollama" + HELLO})
    estimate = ("--chatprompt-live", "--collect-only", "-q")
    run(*estimate).stdout.fnmatch_lines(["ollama *unknown"])
    run.write({"conftest.py": conftest})
    run(*estimate).stdout.fnmatch_lines(["ollama *$0.00"])


def test_parametrized_cases_are_named_as_the_page_says(run: Run) -> None:
    in_tests, _, conftest = blocks("docs/eval-files.md", "python")
    run.write({"a.eval.yaml": "provider: openai" + HELLO.replace("hello", "hard"), "conftest.py": conftest})
    run.write({"tests/test_review.py": in_tests, "tests/loop.py": "pass\n"})
    run.update().assert_outcomes(passed=6)
    assert run.snapshots() == [
        "__snapshots__/a.eval/hard[openai-English].yaml",
        "__snapshots__/a.eval/hard[openai-French].yaml",
        "tests/__snapshots__/test_review/test_what_is_built[anthropic].yaml",
        "tests/__snapshots__/test_review/test_what_is_built[openai].yaml",
        "tests/__snapshots__/test_review/test_what_is_sent[anthropic].yaml",
        "tests/__snapshots__/test_review/test_what_is_sent[openai].yaml",
    ]
    assert "a.eval.yaml::hard[English]" in run("--collect-only", "-q").outlines
    (run.path / "tests/loop.py").unlink()
    error = quoted(PAGES["docs/eval-files.md"].partition("in place of a line:")[2])[0].replace("...", "*")
    error = (
        error.replace("::test_it", "::test_what_is_built[[]openai[]]").replace("[0]", "[[]0]").replace("[1]", "[[]1]")
    )
    run().stdout.fnmatch_lines([error])


# --- tables are complete


CLASSES = {name: get_provider(name) for name in PROVIDERS}


def test_the_tables_of_providers_are_the_registry() -> None:
    in_full = {quoted(row[0])[0]: quoted(row[1])[0] for row in table("docs/providers.md", after="# Providers")}
    assert in_full == {name: provider.__name__ for name, provider in CLASSES.items()}
    assert {quoted(row[0])[0] for row in table("README.md", after="## Providers")} == set(PROVIDERS)
    assert {provider.__name__ for provider in CLASSES.values()} <= set(pytest_chatprompt.__all__)


def test_the_tables_of_providers_say_what_the_classes_say() -> None:
    rows = {quoted(row[0])[0]: row for row in table("docs/providers.md", after="# Providers")}
    for name, provider in CLASSES.items():
        if issubclass(provider, ChatProvider):
            assert quoted(rows[name][3]) == [provider.key_variable]
            assert quoted(rows[name][4]) == [provider().model]


def test_every_setting_of_a_provider_is_documented() -> None:
    for provider in CLASSES.values():
        page = "docs/agents.md" if issubclass(provider, AgentProvider) else "docs/providers.md"
        shared = AgentSettings if issubclass(provider, AgentProvider) else ChatProviderArguments
        own = set(inspect.signature(provider.__init__).parameters) - {"self", "settings"}
        for name in (*own, *shared.__annotations__):
            assert re.search(rf"^\|[^|]*\|? ?`{name}` \|", PAGES[page], re.MULTILINE), f"{provider.__name__}: {name}"


def test_where_each_provider_finds_its_base_url_is_documented() -> None:
    rows = table("docs/providers.md", after="### Addresses")
    documented = {quoted(row[0])[0]: quoted(row[1]) for row in rows}
    more = {
        "AzureProvider": ["AZURE_OPENAI_ENDPOINT"],
        "BedrockProvider": [*bedrock._URL_VARIABLES],
        "OllamaProvider": ["OLLAMA_BASE_URL", "OLLAMA_HOST", "/v1", "http://localhost:11434/v1"],
    }
    assert documented == {
        each.__name__: more.get(each.__name__, [each.base_url_variable, each.default_base_url])
        for each in chat_providers()
    }


def test_the_table_of_what_a_subclass_overrides_is_the_base_class() -> None:
    in_table = {
        name.partition("(")[0] for row in table("docs/providers.md", after="| to override |") for name in quoted(row[0])
    }
    functions = {name for name, value in vars(VendorAPI).items() if inspect.isfunction(value)}
    assert in_table == {*VendorAPI.__annotations__, *functions}


def test_every_placeholder_of_a_command_is_documented() -> None:
    rows = table("docs/agents.md", after="| placeholder |")
    assert [quoted(row[0])[0] for row in rows] == [f"{{{name}}}" for name in PLACEHOLDERS]


def test_the_table_of_preflight_is_the_rules() -> None:
    in_table = [name for row in table("docs/providers.md", after="| about | rules |") for name in quoted(row[1])]
    assert sorted(in_table) == sorted({rule.name for provider in chat_providers() for rule in provider.rules})


def test_the_table_of_clients_is_what_their_tests_prove() -> None:
    expected = "\n".join(f"| {' | '.join(row)} |" for row in client_rows())
    part = PAGES["docs/own-code.md"].partition("| client | sends through |")[2]
    assert "\n".join(part.partition("\n\n")[0].splitlines()[2:]) == expected


def test_the_table_of_apis_is_the_table_of_apis() -> None:
    rows = table("docs/own-code.md", after="| API | name |")
    names = []
    for _, name, requests in rows:
        for request in quoted(requests):
            host, slash, path = request.partition("/")
            assert find_api("POST", slash + path, host) is get_api(name.strip("`"))
        names.append(name.strip("`"))
    assert sorted(names) == sorted(API_NAMES)


def test_every_key_of_an_eval_file_is_documented() -> None:
    models = (EvalFileKeys, EvalCase, EvalMessage)
    keys = {field.alias or name for model in models for name, field in model.model_fields.items()}
    assert len(keys) == 39
    for key in keys:
        assert re.search(rf"^\|.*`{re.escape(key)}`", PAGES["docs/eval-files.md"], re.MULTILINE), key


def test_every_fixture_and_option_is_in_the_reference() -> None:
    defined = r"^(?:def )?(\w+)(?:\(| = _built_in\()"
    fixtures = re.findall(defined, Path(fixtures_file).read_text(encoding="utf-8"), re.MULTILINE)
    public = [name for name in fixtures if not name.startswith("_")]
    assert len(public) == len(PROVIDERS) + 10
    for name in public:
        assert f"`{name}`" in PAGES["docs/reference.md"]
    in_table = [name for row in table("docs/reference.md", after="## Options") for name in quoted(" ".join(row[:2]))]
    assert sorted(name.split()[0] for name in in_table) == sorted(_declared_options())


def _declared_options() -> list[str]:
    """The options and ini values that `options.py` declares."""
    parser = MagicMock()
    add_options(parser)
    declared = (*parser.getgroup().addoption.call_args_list, *parser.addini.call_args_list)
    return [call.args[0] for call in declared]


def test_every_public_name_is_in_the_reference() -> None:
    (errors,) = blocks("docs/reference.md", "")
    named = set(re.findall(r"\w+(?:Error|Warning)\b", errors)) | {"PayloadWarning", "CaptureWarning"}
    for row in table("docs/reference.md", after="## Public names"):
        named.update(quoted(row[0]))
    assert named == set(pytest_chatprompt.__all__)


def test_the_tree_of_errors_is_that_of_the_module_and_the_classes() -> None:
    (tree,) = blocks("docs/reference.md", "")
    assert tree == textwrap.dedent(re.findall(r"(?:^    .*\n)+", errors_docstring or "", re.MULTILINE)[0])
    parents = ["ChatPromptError"]
    for line in tree.splitlines()[1:]:
        depth = (len(line) - len(line.lstrip("│├└─ "))) // 4
        name = line.lstrip("│├└─ ").split()[0]
        parents[depth:] = [name]
        assert parents[depth - 1] in {base.__name__ for base in getattr(pytest_chatprompt, name).__bases__}


def test_what_the_page_on_security_calls_secret_is_secret() -> None:
    section = PAGES["docs/security.md"].partition("- Environment variables")[2].partition("\n- ")[0]
    endings = [word for word in quoted(section) if re.fullmatch(r"[A-Z]+", word) and word != "PGPASSWORD"]
    assert len(endings) == 17
    for ending in endings:
        # The shell's own PWD is the working folder.
        assert is_secret_name(ending) or ending == "PWD"
        assert is_secret_name(f"my_{ending.lower()}")
        assert is_secret_name(f"MY_{ending}_2")
        assert not is_secret_name(f"MY{ending}X")
    for name in re.findall(r"`(\w+)`", section):
        assert is_secret_name(name) or name == "PWD"


def test_what_the_page_on_security_calls_no_secret_is_none() -> None:
    section = PAGES["docs/security.md"].partition("Names of data say nothing")[2].partition("To allow")[0]
    names, endings = section.split("names that end in")
    assert not any(is_secret_name(name) for name in quoted(names))
    assert not any(is_secret_name(f"TOKEN_{ending}") for ending in quoted(endings))


def test_the_list_of_token_shapes_is_complete() -> None:
    shapes = PAGES["docs/security.md"].partition("**Tokens of a known shape,**")[2].partition("\n\n")[2]
    listed = quoted(shapes.partition(".\n\n")[0])
    starts = {shape.start for shape in TOKEN_SHAPES}
    assert all(any(each.startswith(start) for each in listed) for start in starts)
    assert all(any(each.startswith(start) for start in starts) for each in listed)


def test_the_failure_of_a_secret_is_what_happens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (failure,) = blocks("docs/security.md", "", after="### Secrets", before="#### What is looked for")
    key = "k3y-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", key)
    conftest = openai_conftest().replace("temperature=0", f"extra_body={{'user': '{key}'}}")
    run.write({"evals/a.eval.yaml": f"provider: openai{HELLO}", "conftest.py": conftest})
    result = run("--snapshot-update")
    result.assert_outcomes(failed=1)
    assert failure.strip() in result.outlines


def test_the_secrets_that_the_page_on_security_allows_are_allowed(run: Run) -> None:
    (ini,) = blocks("docs/security.md", "ini")
    run.write({"a.eval.yaml": HELLO.replace("content: hello", "content: sk-demo-9f86d081884c7d659a2feaa0c55ad015")})
    run("--snapshot-update").assert_outcomes(failed=1)
    run.write({"pytest.ini": ini})
    run.update().assert_outcomes(passed=1)


def test_every_rule_of_the_conversion_has_a_test_named_after_it() -> None:
    tests = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    named = set(re.findall(r"^def test_([a-f]\d)_", "\n".join(tests), re.MULTILINE))
    assert named == {rule.lower() for rule in _rules()}


def _rules() -> list[str]:
    """The rules of the conversion, by letter and number."""
    return re.findall(r"^- \*\*([A-F]\d)\.\*\*", PAGES["docs/conversion.md"], re.MULTILINE)


def test_every_rule_that_the_code_names_is_in_the_conversion() -> None:
    rules = _rules()
    assert rules == sorted(rules)
    assert len(rules) == len(set(rules)) == 31
    sources = [
        path.read_text(encoding="utf-8")
        for room in ("pytest_chatprompt", "tests")
        for path in (ROOT / room).rglob("*.py")
    ]
    mentions = re.findall(r"\b[Rr]ules? ((?:[A-F]\d?\b(?:, | and | to )?)+)", "\n".join(sources))
    named = set(re.findall(r"[A-F]\d", " ".join(mentions)))
    assert len(named) > 5
    assert named <= set(rules)


# --- links


def test_every_relative_link_leads_to_a_file_and_a_heading() -> None:
    links = [(page, link) for page in (*PAGES, *OTHERS) for link in _links(page)]
    assert len(links) > 50
    for page, link in links:
        path, _, heading = link.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page}: {link}"
        if heading:
            assert heading in _headings(file.read_text(encoding="utf-8")), f"{page}: {link}"


def test_every_page_that_the_code_names_is_there() -> None:
    sources = [ROOT / "Makefile", ROOT / "pyproject.toml", *sorted((ROOT / "pytest_chatprompt").rglob("*.*"))]
    texts = [path.read_text(encoding="utf-8") for path in sources if path.suffix not in (".pyc", ".png")]
    named = {name for text in texts for name in re.findall(r"(?<![\w/])docs/[\w-]+\.md(?:#[\w-]+)?", text)}
    assert len(named) > 2
    for page, _, heading in (name.partition("#") for name in named):
        assert page in PAGES
        assert not heading or heading in _headings(PAGES[page])


def test_every_page_is_linked_from_the_readme() -> None:
    assert {page for page in PAGES if page != "README.md"} <= {link.partition("#")[0] for link in _links("README.md")}


def _links(page: str) -> list[str]:
    links = re.findall(r"\]\(([^)\s]+)\)", without_blocks({**PAGES, **OTHERS}[page]))
    return [link for link in links if not link.startswith(("http://", "https://"))]


def _headings(text: str) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", without_blocks(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_module_that_the_guide_for_contributors_names_is_there() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:[a-z_]+/)*[a-z0-9_]+\.(?:py|yaml))`", guide))
    folders = (ROOT, ROOT / "pytest_chatprompt", ROOT / "tests")
    missing = {name for name in named if not any((folder / name).exists() for folder in folders)}
    # The example of an API that somebody adds.
    assert {name for name in missing if "ai21" not in name} == set()
    assert len(named) > 40

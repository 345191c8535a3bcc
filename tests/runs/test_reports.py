"""`--chatprompt-report`: which files a run writes, what is in them, and what is said where one cannot be written."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.runs.conftest import HELLO, Run

OWN = """
import httpx
import pytest

def test_asks(eval_api, eval_snapshot):
    httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "one", "messages": []})
    assert eval_api.sent == eval_snapshot

@pytest.fixture
def broken():
    yield
    raise RuntimeError("broken")

def test_ends_badly(eval_api, eval_snapshot, broken):
    httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "one", "messages": []})
    assert eval_api.sent == eval_snapshot

def test_of_somebody_else():
    pass
"""
OTHERS = """
  - id: same
    input_messages: [{role: user, content: x}]
  - id: checked
    checks: [{type: contains, value: nowhere, of: request}]
    input_messages: [{role: user, content: x}]
"""
INVALID = "\n  - id: invalid\n    input_messages: []\n"


@pytest.fixture
def project(run: Run) -> Run:
    """A project with a case that differs, one that does not, one that a check refuses and one that is invalid."""
    run.write(
        {
            "a.eval.yaml": f"{HELLO}{OTHERS}",
            "test_own.py": OWN,
        }
    )
    run("--snapshot-update")
    run.write(
        {"a.eval.yaml": (run.path / "a.eval.yaml").read_text().replace("content: hello", "content: bye") + INVALID}
    )
    return run


def results(run: Run, name: str) -> dict[str, Any]:
    data = json.loads((run.path / name).read_text(encoding="utf-8"))
    assert next(iter(data)) == "version"
    return {result["node_id"]: result for result in data["results"]}


@pytest.mark.parametrize("arguments", [[], pytest.param(["-n2"], marks=pytest.mark.measures_processes)])
def test_the_report_tells_what_each_test_did(project: Run, arguments: list[str]) -> None:
    result = project("--chatprompt-report", "out/review.json", *arguments)
    result.assert_outcomes(passed=4, failed=2, errors=2)
    result.stdout.fnmatch_lines(["*- wrote the report out/review.json -*"])
    found = results(project, "out/review.json")
    assert {name: each["outcome"] for name, each in found.items()} == {
        "a.eval.yaml::hello": "failed",
        "a.eval.yaml::same": "passed",
        "a.eval.yaml::checked": "failed",
        "a.eval.yaml::invalid": "error",
        "test_own.py::test_asks": "passed",
        "test_own.py::test_ends_badly": "error",
    }
    assert found["a.eval.yaml::same"]["snapshot"]["sent"]["request"]["messages"][-1]["content"] == "x"
    differing = found["a.eval.yaml::hello"]["snapshot"]
    assert (differing["state"], differing["stored"]["question"], differing["sent"]["question"]) == (
        "different",
        "hello",
        "bye",
    )
    assert found["a.eval.yaml::checked"]["snapshot"]["state"] == "same"
    assert found["test_own.py::test_ends_badly"]["snapshot"]["state"] == "same"
    assert "broken" in found["test_own.py::test_ends_badly"]["error"]["message"]


def test_the_review_is_written_in_each_format(project: Run) -> None:
    project("--chatprompt-report", "review.html", "--chatprompt-report", "review.md")
    page, comment = ((project.path / name).read_text(encoding="utf-8") for name in ("review.html", "review.md"))
    assert page.startswith("<!doctype html>")
    assert "1 distinct change in 1 snapshot" in page
    assert comment.startswith("## 1 distinct change in 1 snapshot\n")


@pytest.mark.parametrize("arguments", [[], ["-n", "2"]])
def test_what_could_not_be_collected_is_in_the_reports(run: Run, arguments: list[str]) -> None:
    run.write({"sub/broken.eval.yaml": "evalcases: [\n", "a.eval.yaml": HELLO})
    run.write(
        {
            "test_bad.py": "import no_such_module\n",
            "test_skip.py": "import pytest\npytest.skip('x', allow_module_level=True)\n",
        }
    )
    run("--chatprompt-report", "r.json", "--chatprompt-report", "r.md", "--continue-on-collection-errors", *arguments)
    found = results(run, "r.json")
    assert {
        name: (found[name]["path"], found[name]["line"], found[name]["error"]) for name in found if "::" not in name
    } == {
        "sub/broken.eval.yaml": (
            "sub/broken.eval.yaml",
            2,
            {
                "message": "not valid YAML: did not find expected node content, while parsing a flow node on line 2",
                "path": "sub/broken.eval.yaml",
                "line": 2,
            },
        ),
        "test_bad.py": (
            "test_bad.py",
            1,
            {"message": "ModuleNotFoundError: No module named 'no_such_module'", "path": "test_bad.py"},
        ),
    }
    assert (
        "- `sub/broken.eval.yaml`: `not valid YAML: did not find expected node content, while parsing a flow node on line 2`"
        in (run.path / "r.md").read_text()
    )


def test_a_run_without_tests_of_this_plugin_has_an_empty_report(run: Run) -> None:
    run.write({"test_it.py": "def test_it(): pass\n"})
    reports = [word for name in ("a.json", "b.json", "c.md") for word in ("--chatprompt-report", name)]
    run(*reports).assert_outcomes(passed=1)
    assert (run.path / "c.md").read_text(encoding="utf-8").startswith("## No snapshot differs")
    assert results(run, "a.json") == results(run, "b.json") == {}


def test_a_report_that_cannot_be_written_fails_the_run_and_says_why(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO, "file": ""})
    run.update()
    result = run("--chatprompt-report", "file/a.json", "--chatprompt-report", "b.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["cannot write the report file/a.json: *"])
    assert "a.eval.yaml::hello" in results(run, "b.json")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("a.xml", "'a.xml' has an unknown suffix; end it with .html, .md, .json"),
        ("a", "'a' has an unknown suffix; *"),
        ("folder.json", "'folder.json' is a folder; name a file"),
    ],
)
def test_what_is_no_report_is_a_usage_error(run: Run, path: str, message: str) -> None:
    run.write({"folder.json/x": ""})
    result = run("--chatprompt-report", path)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --chatprompt-report: {message}"])


MASKED = """
import httpx
import pytest

@pytest.fixture
def eval_masks():
    return {r"\\d{4}-\\d\\d": "<month>", r"(odd)": lambda match: 1}

def ask(text):
    body = {"model": "one", "messages": [{"role": "user", "content": text}]}
    httpx.post("https://api.openai.com/v1/chat/completions", json=body)

def test_asks(eval_api):
    ask("in 2026-11")

def test_compares(eval_api, eval_snapshot):
    ask("in 2026-12")
    assert eval_api.sent == eval_snapshot

def test_odd(eval_api):
    ask("odd")
"""


def test_what_tests_send_is_masked_as_their_snapshots_are(run: Run) -> None:
    run.write({"test_own.py": MASKED})
    run("--snapshot-update", "-k", "compares").assert_outcomes(passed=1)
    run("--chatprompt-report=a.json").assert_outcomes(passed=3)
    found = results(run, "a.json")
    content = {
        name.partition("::")[2]: [each["request"]["messages"][0]["content"] for each in result.get("requests", ())]
        for name, result in found.items()
    }
    assert content == {"test_asks": ["in <month>"], "test_compares": ["in <month>"], "test_odd": []}
    sent = found["test_own.py::test_compares"]["snapshot"]["sent"]["requests"]
    assert sent[0]["request"]["messages"][0]["content"] == "in <month>"
    shown = run("--chatprompt-show", "-k", "asks or compares").stdout.str()
    assert "content: in <month>" in shown
    assert "2026-1" not in shown

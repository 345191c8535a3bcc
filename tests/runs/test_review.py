"""What a run tells about changes: each of them once, and nothing of it lost."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.git_repository import Git, commit_all
from tests.runs.conftest import HELLO, MakeLiveProject, Run

EVALS = """
guideline_patterns: ["*.md"]
evalcases:
  - id: first
    provider: [openai, anthropic]
    input_messages: [{role: user, content: [{type: text, value: hello}, {type: file, value: rules.md}]}]
  - id: second
    provider: gemini
    input_messages: [{role: user, content: [{type: text, value: hi}, {type: file, value: rules.md}]}]
"""
OWN = """
from pathlib import Path

import httpx

def test_own(eval_api, eval_snapshot):
    messages = [{"role": "system", "content": Path("rules.md").read_text()}, {"role": "user", "content": "x"}]
    httpx.post("https://api.openai.com/v1/chat/completions", json={"messages": messages})
    assert eval_api.sent == eval_snapshot
"""
RULES = "Be kind.\nGoods may be returned within 14 days.\nAnswer in one paragraph.\n"
CHANGED = RULES.replace("14 days", "30 days")


@pytest.fixture
def shop(run: Run) -> Run:
    """A project whose cases and test send a guideline that has changed."""
    run.write({"a.eval.yaml": EVALS, "test_own.py": OWN, "rules.md": RULES})
    run.with_snapshots().write({"rules.md": CHANGED})
    return run


def section(result: pytest.RunResult, title: str, end: tuple[str, ...] = ("====", "----")) -> list[str]:
    """The lines of the terminal under a title, up to the next one."""
    start = next(index for index, line in enumerate(result.outlines) if f"= {title} =" in line)
    lines = result.outlines[start + 1 :]
    return lines[: next(index for index, line in enumerate(lines) if line.startswith(end))]


CHANGE = [
    "change 5957: 4 snapshots, 3 providers, 2 files: a.eval.yaml::first[openai], a.eval.yaml::first[anthropic],"
    " a.eval.yaml::second and 1 more",
    "   request.messages[0].content (1), request.system (1), request.systemInstruction.parts[0].text (1),"
    " requests[0].request.messages[0].content (1)",
    "   the first 38 to 92 characters are as before; vendors' caches end there, at request.messages[0].content (1), request.system (1) and 2 more places",
    "   - Goods may be returned within 14 days.",
    "   + Goods may be returned within 30 days.",
]


def test_a_change_of_many_cases_is_shown_once_and_listed_at_the_end(shop: Run) -> None:
    result = shop("--junitxml=junit.xml")
    result.assert_outcomes(failed=4)
    told = "nothing but change 5957, shown with a.eval.yaml::first[openai] and at the end"
    failures = "\n".join(section(result, "FAILURES", ("====",)))
    assert failures.count("Goods may be returned within 30 days.") == 1
    assert f"a.eval.yaml:4:5: case 'first': {told}" in failures
    assert f"a.eval.yaml:7:5: case 'second': {told}" in failures
    assert failures.count(told) == 3
    lines = section(result, "1 distinct change in 4 snapshots")
    command = "pytest -p no:cacheprovider --junitxml=junit.xml"
    assert lines[: len(CHANGE) + 3] == [
        *CHANGE,
        f"   To accept it: {command} --chatprompt-accept 5957",
        "",
        f"To accept all: {command} --snapshot-update",
    ]
    summary = [line for line in result.outlines if line.startswith("FAILED")]
    assert [line.partition(" - ")[2] for line in summary][1:] == ["change 5957"] * 3
    failed = list(ElementTree.parse(shop.path / "junit.xml").iter("failure"))
    assert [each.attrib["message"].partition(": ")[2] for each in failed] == ['"14 days." → "30 days."'] * 4
    assert all("Goods may be returned within 30 days." in str(each.text) for each in failed)


@pytest.mark.parametrize("ci", ["", "true"])
def test_the_short_summary_has_a_line_for_each_test(shop: Run, monkeypatch: pytest.MonkeyPatch, ci: str) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    if ci:
        monkeypatch.setenv("CI", ci)
    lines = shop("--tb=no").outlines
    start = next(index for index, line in enumerate(lines) if "short test summary" in line)
    assert lines[start + 1 : -1] == [
        'FAILED a.eval.yaml::first[openai] - request.messages[0].content: "14 days." → "30 days."',
        "FAILED a.eval.yaml::first[anthropic] - change 5957",
        "FAILED a.eval.yaml::second - change 5957",
        "FAILED test_own.py::test_own - change 5957",
    ]


@pytest.mark.parametrize("arguments", [["--tb=no"], ["--tb=line"], ["-q"], ["-n", "2"]])
def test_no_option_hides_a_change(shop: Run, arguments: list[str]) -> None:
    lines = section(shop(*arguments), "1 distinct change in 4 snapshots")
    assert lines[2].startswith("   the first 38 to 92 characters are as before; vendors' caches end there, at ")
    assert lines[3:5] == CHANGE[3:]
    assert lines[0].startswith("change 5957: 4 snapshots, 3 providers, 2 files: ")


@pytest.mark.parametrize(("style", "is_listed"), [("no", True), ("line", True), ("short", False)])
def test_a_single_case_is_listed_where_its_failure_is_not_shown(run: Run, style: str, is_listed: bool) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.with_snapshots()
    run.write({"a.eval.yaml": HELLO.replace("content: hello", "content: goodbye")})
    output = run(f"--tb={style}").stdout.str()
    assert ("1 distinct change in 1 snapshot" in output) is is_listed
    assert "goodbye" in output.partition("short test summary")[0]


def test_with_vv_each_case_shows_all_of_its_diff(shop: Run) -> None:
    output = "\n".join(section(shop("-vv"), "FAILURES", ("====",)))
    assert output.count("Goods may be returned within 30 days.") == 4
    assert "nothing but" not in output


def test_the_changed_words_of_a_long_line_are_marked(run: Run) -> None:
    long = " ".join(f"word{number}" for number in range(40))
    run.write({"a.eval.yaml": EVALS, "test_own.py": OWN, "rules.md": f"{long} 14 days {long}\nthe end\n"})
    run.update()
    run.write({"rules.md": f"{long} 30 days {long}\nthe end\n"})
    for name in ("a.eval.yaml::second", "test_own.py"):
        result = run(name)
        (line,) = [line for line in result.outlines if "[-14-]{+30+}" in line]
        assert line.startswith("~ …")
        assert len(line) < 160
        assert long not in result.stdout.str()
    assert "\x1b[31m[-14-]\x1b[0m\x1b[32m{+30+}\x1b[0m" in run("a.eval.yaml::second", "--color=yes").stdout.str()


def test_a_run_that_ended_early_gives_the_command_for_what_it_showed(shop: Run) -> None:
    lines = section(shop("--maxfail=2"), "1 distinct change in 2 snapshots")
    assert lines[-1] == (
        "To accept all: pytest 'a.eval.yaml::first[openai]' 'a.eval.yaml::first[anthropic]' --snapshot-update"
    )


@pytest.mark.parametrize("words", [["-c", "other.ini"], ["-cother.ini"], ["--config-file=other.ini", "--rootdir=."]])
def test_a_command_for_one_case_has_the_folder_and_the_ini_file_of_the_run(shop: Run, words: list[str]) -> None:
    shop.write({"other.ini": "[pytest]\n"})
    lines = shop(*words, "--maxfail=2").outlines
    chosen = " ".join(words)
    assert f"To accept it: pytest 'a.eval.yaml::first[openai]' {chosen} --snapshot-update" in lines
    cases = "'a.eval.yaml::first[openai]' 'a.eval.yaml::first[anthropic]'"
    assert f"To accept all: pytest {cases} {chosen} --snapshot-update" in lines


def test_the_command_for_ordinary_tests_replays_as_the_run_does(run: Run) -> None:
    test = "def test_it(eval_snapshot):\n    assert {'question': 'x'} == eval_snapshot\n"
    run.write({"test_it.py": test})
    run.update()
    run.write({"test_it.py": test.replace("'x'", "'y'")})
    result = run("-x", "--tb=no", "--chatprompt-replay")
    assert "To accept all: pytest test_it.py::test_it --chatprompt-replay --snapshot-update" in result.outlines
    assert "To accept all" not in run("--tb=no", "--no-summary").stdout.str()


def test_the_command_repeats_what_the_run_chose_but_sends_nothing(shop: Run) -> None:
    result = shop("-k", "first", "--chatprompt-live", "-o", "chatprompt_files=*.eval.yaml")
    (line,) = [line for line in result.outlines if line.startswith("To accept all: ")]
    assert line.endswith("-k first -o 'chatprompt_files=*.eval.yaml' --snapshot-update")
    assert "--chatprompt-live" not in line


def test_a_renamed_case_is_told_as_renamed(run: Run) -> None:
    test = "def test_old(eval_snapshot):\n    assert {'question': 'x'} == eval_snapshot\n"
    run.write({"a.eval.yaml": HELLO, "test_it.py": test})
    run.update()
    run.write({"a.eval.yaml": HELLO.replace("id: hello", "id: a/b"), "test_it.py": test.replace("old", "new")})
    result = run()
    result.assert_outcomes(failed=2)
    assert (
        "a.eval.yaml:3:5: case 'a/b': what is sent to openai has no snapshot yet: it is renamed from 'hello', whose snapshot"
        " shows just this"
    ) in result.outlines
    assert "FAILED a.eval.yaml::a/b - renamed from 'hello', no snapshot yet" in result.outlines
    assert "FAILED test_it.py::test_new - what is sent has no snapshot yet" in result.outlines
    assert "  __snapshots__/a.eval/hello[openai].yaml" in result.outlines
    # A test that fails may need what no test has compared with.
    assert not [line for line in result.outlines if "test_old" in line]
    updated = run.update()
    assert "  __snapshots__/a.eval/hello[openai].yaml" in updated.outlines
    assert "  __snapshots__/test_it/test_old.yaml" in updated.outlines


def test_a_test_that_fails_for_another_reason_keeps_its_message(run: Run) -> None:
    test = """
def test_it(eval_snapshot):
    is_same = {"question": "TEXT"} == eval_snapshot
    raise ValueError("something else")
"""
    run.write({"test_it.py": test.replace("    raise", "    return").replace(' ValueError("something else")', "")})
    run.update()
    run.write({"test_it.py": test.replace("TEXT", "other")})
    result = run()
    assert "FAILED test_it.py::test_it - ValueError: something else" in result.outlines


# --- a test of own code that fails for nothing but its snapshot

MANY = """
import httpx
import pytest

def ask(text):
    messages = [{"role": "system", "content": "Answer in 14 days."}, {"role": "user", "content": text}]
    httpx.post("https://api.openai.com/v1/chat/completions", json={"messages": messages})

@pytest.mark.parametrize("number", range(4))
def test_it(eval_api, eval_snapshot, number):
    ask(str(number))
    assert eval_api.sent == eval_snapshot
"""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-v"],
        ["-x", "--maxfail=4"],
        ["--showlocals"],
        *([f"--tb={style}"] for style in ("short", "long", "native")),
    ],
    ids=" ".join,
)
def test_one_change_of_many_tests_of_own_code_takes_two_lines_for_each(run: Run, arguments: list[str]) -> None:
    run.write({"test_it.py": MANY})
    run.with_snapshots().write({"test_it.py": MANY.replace("14 days", "30 days")})
    result = run("--junitxml=junit.xml", *arguments)
    result.assert_outcomes(failed=4)
    first, *others = "\n".join(section(result, "FAILURES", ("====",))).split(" test_it[")[1:]
    assert first.splitlines()[1:4] == [
        "test_it.py:12: what is sent is not what its snapshot says",
        "",
        "__snapshots__/test_it/test_it[0].yaml",
    ]
    told = "test_it.py:12: nothing but change 1ff2, shown with test_it.py::test_it[0] and at the end"
    assert [other.splitlines()[1] for other in others] == [told] * 3
    assert {len(other.splitlines()) for other in others[:-1]} == {3}  # the header of the next one is the last line
    output = result.stdout.str()
    assert output.count("Answer in 30 days.") == 2  # and at the end
    texts = [str(each.text) for each in ElementTree.parse(run.path / "junit.xml").iter("failure")]
    assert all("Answer in 30 days." in text and "def test_it" not in text for text in texts)


def test_new_snapshots_of_own_code_take_four_lines_for_each(run: Run) -> None:
    run.write({"test_it.py": MANY})
    lines = section(run(), "FAILURES", ("====",))
    assert len(lines) == 4 * 4
    assert lines[1:4] == [
        "test_it.py:12: what is sent has no snapshot yet",
        "There is no __snapshots__/test_it/test_it[0].yaml.",
        "To write it, for review: pytest 'test_it.py::test_it[0]' --snapshot-update",
    ]


FORMS = """
import unittest

import pytest

from helper import compare

SENT = {"question": "TEXT"}

def test_words(eval_snapshot):
    assert SENT == eval_snapshot, "the question"

def test_reversed(eval_snapshot):
    assert eval_snapshot == SENT

def test_several(eval_snapshot):
    assert {"a": 1} == eval_snapshot
    assert SENT == eval_snapshot
    assert {"b": 1} == eval_snapshot

def test_subtests(eval_snapshot, subtests):
    with subtests.test("of one"):
        assert SENT == eval_snapshot

class Unit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _fixtures(self, eval_snapshot):
        self.snapshot = eval_snapshot

    def test_first(self):
        self.assertEqual(self.snapshot, SENT)

    def test_second(self):
        self.assertEqual(SENT, self.snapshot)
"""
# What fails for something else as well, or may do so.
OTHERS = """
import unittest

import pytest

from helper import compare

SENT = {"question": "TEXT"}

def test_and(eval_snapshot):
    assert SENT == eval_snapshot and SENT

def test_or(eval_snapshot):
    assert SENT == eval_snapshot or SENT == {}

def test_within(eval_snapshot):
    assert [SENT] == [eval_snapshot]

def test_finally(eval_snapshot):
    try:
        raise ValueError("it cannot be asked")
    finally:
        assert SENT == eval_snapshot

def test_noted(eval_snapshot):
    try:
        assert SENT == eval_snapshot
    except AssertionError as error:
        error.add_note("in the first round")
        raise

def test_another(eval_snapshot):
    is_same = SENT == eval_snapshot
    assert SENT == {}

def test_another_snapshot(eval_snapshot):
    with pytest.raises(AssertionError):
        assert SENT == eval_snapshot.with_defaults()
    pytest.fail("[- snapshot]")

def test_error(eval_snapshot):
    is_same = SENT == eval_snapshot
    raise RuntimeError("assert [+ received] == [- snapshot]")

def test_helper(eval_snapshot):
    compare(SENT, eval_snapshot)

def test_refused(eval_api, eval_snapshot):
    import httpx

    httpx.get("https://example.com")
    assert SENT == eval_snapshot

class Unit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _fixtures(self, eval_snapshot):
        self.snapshot = eval_snapshot

    def test_words(self):
        self.assertEqual(SENT, self.snapshot, "the question")

    def test_words_of_a_reversed_one(self):
        self.assertEqual(self.snapshot, SENT, "the question")
"""
DEBUGGER = """
import pdb
from traceback import walk_tb

class Debugger(pdb.Pdb):
    def interaction(self, *arguments):
        # Since Python 3.13 it is the error.
        *_, (frame, _) = walk_tb(getattr(arguments[-1], "__traceback__", arguments[-1]))
        print("stands in", frame.f_code.co_name)
"""
HELPER = "def compare(left, right):\n    assert left == right\n"


def changed_forms(run: Run, module: str) -> pytest.RunResult:
    run.write(
        {"test_it.py": module.replace("TEXT", "old"), "helper.py": HELPER, "pytest.ini": "[pytest]\npythonpath=.\n"}
    )
    run("--snapshot-update")
    run.write({"test_it.py": module.replace("TEXT", "new")})
    return run()


def test_an_assertion_of_nothing_but_a_snapshot_is_shown_without_traceback(run: Run) -> None:
    result = changed_forms(run, FORMS)
    told = "nothing but change 44c5, shown with test_it.py::test_words and at the end"
    assert [line for line in section(result, "FAILURES", ("====",)) if not line.startswith("____")] == [
        "test_it.py:11: the question: what is sent is not what its snapshot says",
        "",
        "__snapshots__/test_it/test_words.yaml",
        "@@ question @@",
        "- question: old",
        "+ question: new",
        "",
        "To accept it: pytest test_it.py::test_words --snapshot-update",
        f"test_it.py:14: {told}",
        f"test_it.py:18: {told}",
        f"test_it.py:23: {told}",
        "contains 1 failed subtest",
        f"test_it.py:31: {told}",
        f"test_it.py:34: {told}",
    ]


def test_a_failure_that_says_more_than_its_snapshot_keeps_its_traceback(run: Run) -> None:
    result = changed_forms(run, OTHERS)
    blocks = "\n".join(section(result, "FAILURES", ("====",))).split("\n____")
    assert ["\n>  " in block for block in blocks] == [True] * 12
    assert "ValueError: it cannot be asked" in blocks[3]
    assert "in the first round" in blocks[4]
    assert "FAILED test_it.py::test_finally - change 44c5" not in result.outlines
    assert "nothing answers GET https://example.com/ offline" in blocks[9]


def test_a_snapshot_that_cannot_be_read_takes_one_line(run: Run) -> None:
    run.write({"test_it.py": MANY, "__snapshots__/test_it/test_it[[]0].yaml/x": ""})
    (run.path / "__snapshots__/test_it/test_it[0].yaml").mkdir(parents=True)
    result = run("test_it.py::test_it[0]")
    assert section(result, "FAILURES", ("----", "====")) == [
        "__________________________________ test_it[0] __________________________________",
        "test_it.py:12: the snapshot __snapshots__/test_it/test_it[0].yaml is a folder; remove it, or put the file back",
    ]


def test_a_snapshot_that_the_revision_does_not_have_takes_two_lines(run: Run, git: Git) -> None:
    run.write({"test_it.py": MANY})
    commit_all(git, run.path)
    run.update()
    result = run("--chatprompt-against", "main", "test_it.py::test_it[0]")
    assert section(result, "FAILURES", ("----", "===="))[1:] == [
        "test_it.py:12: what is sent has no snapshot yet",
        "There is no main:__snapshots__/test_it/test_it[0].yaml.",
    ]


def test_the_debugger_stands_in_the_test_that_differs(run: Run) -> None:
    run.write({"test_it.py": MANY, "debugger.py": DEBUGGER})
    run.pytester.syspathinsert()
    result = run("--pdb", "--pdbcls=debugger:Debugger", "test_it.py::test_it[0]")
    result.stdout.fnmatch_lines(
        ["test_it.py:12: what is sent has no snapshot yet", "*entering PDB*", "stands in test_it"]
    )


# --- the record of a test

RECORDS = """
import json
from pathlib import Path

import pytest
from pytest_chatprompt.options import options_key

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    WANTED

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    if hasattr(report, "chatprompt_result") and not hasattr(report, "node"):
        with Path("results.jsonl").open("a") as file:
            file.write(report.chatprompt_result + "\\n")
"""


def records(run: Run) -> dict[str, Any]:
    path = run.path / "results.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return {result["node_id"]: result for result in map(json.loads, lines)}


def test_a_passing_test_has_no_record_unless_a_report_wants_it(run: Run) -> None:
    run.write({"a.eval.yaml": EVALS, "test_own.py": OWN, "rules.md": RULES})
    run.write({"conftest.py": RECORDS.replace("WANTED", "pass")})
    run.update()
    run()
    assert records(run) == {}
    run.write({"conftest.py": RECORDS.replace("WANTED", "config.stash[options_key].keeps_results = True")})
    run().assert_outcomes(passed=4)
    found = records(run)
    assert list(found) == [
        "a.eval.yaml::first[openai]",
        "a.eval.yaml::first[anthropic]",
        "a.eval.yaml::second",
        "test_own.py::test_own",
    ]
    assert found["a.eval.yaml::second"] == {
        "node_id": "a.eval.yaml::second",
        "path": "a.eval.yaml",
        "line": 7,
        "case_id": "second",
        "provider": "gemini",
        "outcome": "passed",
        "parts": [
            [
                {"name": "guideline rules.md", "characters": 95, "tokens": 24, "is_estimate": True},
                {"name": "system text", "characters": 30, "tokens": 7, "is_estimate": True},
                {"name": "last turn", "characters": 23, "tokens": 6, "is_estimate": True},
            ]
        ],
        "snapshot": {
            "path": "__snapshots__/a.eval/second[gemini].yaml",
            "state": "same",
            "sent": run.snapshot("__snapshots__/a.eval/second[gemini].yaml"),
        },
        "adjustments": ["message 1: guideline rules.md moved to the system message (matched *.md)"],
    }
    own = found["test_own.py::test_own"]
    assert own["snapshot"]["sent"] == run.snapshot("__snapshots__/test_own/test_own.yaml")
    assert (own["path"], own["line"], own["snapshot"]["state"]) == ("test_own.py", 6, "same")


@pytest.mark.parametrize("wanted", ["pass", "config.stash[options_key].keeps_results = True"])
def test_a_failing_test_has_a_record_of_its_changes(shop: Run, wanted: str) -> None:
    shop.write({"conftest.py": RECORDS.replace("WANTED", wanted)})
    shop()
    for result in records(shop).values():
        snapshot = result["snapshot"]
        (change,) = snapshot["difference"]["changes"]
        assert (change["removed"], change["added"]) == (
            ["Goods may be returned within 14 days."],
            ["Goods may be returned within 30 days."],
        )
        assert result["outcome"] == "failed"
        assert result["error"]["message"].endswith('"14 days." → "30 days."')
        assert (result["error"]["path"].rpartition("/")[2], snapshot["state"]) == (result["path"], "different")
        # Payloads only where somebody reads them.
        assert ("stored" in snapshot, "sent" in snapshot) == ((False, False) if wanted == "pass" else (True, True))


def test_a_record_holds_no_secret(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": RECORDS.replace("WANTED", "config.stash[options_key].keeps_results = True"),
        }
    )
    run.update()
    path = run.path / "__snapshots__/a.eval/hello[openai].yaml"
    path.write_text(path.read_text().replace("hello", "my-secret-0123456789abcdef"))
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "my-secret-0123456789abcdef")
    run().assert_outcomes(failed=1)
    record = (run.path / "results.jsonl").read_text()
    assert '"different"' in record
    assert "0123456789abcdef" not in record


def test_a_case_that_cannot_be_sent_has_a_record_with_the_place_of_its_error(run: Run) -> None:
    run.write(
        {"a.eval.yaml": "evalcases:\n  - {id: x, provider: nobody, input_messages: [{role: user, content: a}]}\n"}
    )
    run.write({"conftest.py": RECORDS.replace("WANTED", "pass")})
    run()
    (result,) = records(run).values()
    assert (result["outcome"], result["error"]["line"]) == ("error", 2)
    assert result["error"]["message"].startswith("unknown provider 'nobody'")
    assert "snapshot" not in result


@pytest.mark.parametrize("keeps_requests", [False, True])
def test_the_record_of_a_live_run_has_the_answer(live_project: MakeLiveProject, keeps_requests: bool) -> None:
    wanted = "config.stash[options_key].keeps_results = True" if keeps_requests else "pass"
    run = live_project(1, conftest=RECORDS.replace("WANTED", wanted))
    records(run)
    run("--chatprompt-live").assert_outcomes(passed=1)
    (result,) = records(run).values()
    assert (result["response"]["text"], result["response"]["input_tokens"]) == ("a real answer", 10)
    assert ("sent" in result.get("snapshot", {})) == keeps_requests


UNCOMPARED = """
import httpx
import pytest

def test_fails_before(eval_snapshot):
    raise ValueError("before")

def test_fails_after(eval_snapshot):
    assert {"question": "x"} == eval_snapshot
    raise ValueError("after")

def test_skips(eval_api):
    with pytest.raises(Exception):
        httpx.get("https://nobody.example/")
    pytest.skip("no answer")
"""


def test_tests_that_fail_for_something_else_have_records_without_changes(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO, "test_it.py": UNCOMPARED})
    run("--snapshot-update")
    (run.path / "__snapshots__/a.eval/hello[openai].yaml").write_text("{broken")
    run.write({"conftest.py": RECORDS.replace("WANTED", "config.stash[options_key].keeps_results = True")})
    run().assert_outcomes(failed=4)
    found = records(run)
    broken = found.pop("a.eval.yaml::hello")
    assert broken["snapshot"]["stored"] == "{broken"
    assert [result.get("snapshot") for result in found.values()] == [None] * 3
    messages = [result["error"]["message"] for result in found.values()]
    assert messages[:2] == ["ValueError: before", "ValueError: after"]
    assert "https://nobody.example/" in messages[2]

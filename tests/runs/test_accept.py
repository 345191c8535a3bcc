"""`--chatprompt-accept`: single changes of a run are written into the snapshots that have them."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.snapshots.changes import Change
from pytest_chatprompt.snapshots.files import atomic_write
from pytest_chatprompt.wording import count
from tests.runs.conftest import HELLO, LIVE_CONFTEST, Run
from tests.server import Server

EVALS = """
guideline_patterns: ["*.md"]
evalcases:
  - id: both
    provider: [openai, anthropic]
    input_messages: [{role: user, content: [{type: text, value: hello}, {type: file, value: a.md}, {type: file, value: b.md}]}]
  - id: first
    provider: gemini
    input_messages: [{role: user, content: [{type: text, value: hi}, {type: file, value: a.md}]}]
"""
OWN = """
from pathlib import Path

import httpx

def test_own(eval_api, eval_snapshot):
    messages = [{"role": "system", "content": Path(name).read_text()} for name in ("a.md", "b.md")]
    httpx.post("https://api.openai.com/v1/chat/completions", json={"messages": messages})
    assert eval_api.sent == eval_snapshot
"""
A, B = "Be kind.\nGoods return in 14 days.\nEnd.\n", "One.\nAnswer in one paragraph.\nTwo.\n"
FILES = {"a.eval.yaml": EVALS, "test_own.py": OWN, "a.md": A, "b.md": B}
CHANGED = {"a.md": A.replace("14", "30"), "b.md": B.replace("one paragraph", "a word")}
# The ids of these two changes.
FIRST, SECOND = "17a1", "d69e"


@pytest.fixture
def shop(run: Run) -> Run:
    """A project of which two guidelines have changed: one of four snapshots, one of three of these."""
    run.write(FILES)
    run.with_snapshots().write(CHANGED)
    return run


def tree(run: Run) -> dict[str, bytes]:
    return {name: (run.path / name).read_bytes() for name in run.snapshots()}


def report(run: Run, *arguments: str) -> dict[str, Any]:
    run("--tb=no", "--chatprompt-report", "report.json", *arguments)
    data: dict[str, Any] = json.loads((run.path / "report.json").read_text(encoding="utf-8"))
    return data


def ids(run: Run) -> list[str]:
    return [change["id"] for change in report(run)["changes"]]


def accept_all(run: Run, *arguments: str) -> None:
    """Accept all that the run tells."""
    data = report(run, *arguments)
    told = [*(change["id"] for change in data["changes"])]
    states = [result["snapshot"]["state"] for result in data["results"] if result["snapshot"]]
    told += ["new"] * ("new" in states) + ["unused"] * any(uses["unused"] for uses in data["snapshots"])
    run(*arguments, *(f"--chatprompt-accept={change_id}" for change_id in told))


def updated(run: Run) -> dict[str, bytes]:
    """The tree that `--snapshot-update` writes; the tree stays as it was."""
    before = tree(run)
    run.with_snapshots()
    after = tree(run)
    for name in after.keys() - before.keys():
        (run.path / name).unlink()
    for name, content in before.items():
        (run.path / name).parent.mkdir(exist_ok=True)
        (run.path / name).write_bytes(content)
    return after


@pytest.mark.parametrize(("order", "workers"), [(1, []), (-1, ["-n", "2"])], ids=["alone", "workers"])
def test_changes_that_are_accepted_one_after_the_other_give_what_an_update_writes(
    shop: Run, order: int, workers: list[str]
) -> None:
    wanted = updated(shop)
    first, second = (FIRST, SECOND)[::order]
    numbers = {first: 4, second: 3} if order == 1 else {first: 3, second: 4}
    result = shop(*workers, "--chatprompt-accept", first)
    assert result.ret == 1
    left = numbers[second]
    assert result.parseoutcomes() == ({"passed": 1, "failed": 3} if order == 1 else {"failed": 4})
    assert f"accepted change {first} in {numbers[first]} snapshots" in result.outlines
    output = result.stdout.str()
    assert f"= 1 distinct change in {left} snapshots =" in output
    assert f"change {second}: {left} snapshots, " in output
    assert f"change {first}:" not in output
    text = ("Goods return in 30 days.", "Answer in a word.")[::order][0]
    assert text not in output
    result = shop(*workers, "--chatprompt-accept", second)
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 4})
    assert f"{left} snapshot{'s' * (left > 1)} updated." in result.stdout.str()
    assert result.outlines[-2] == f"accepted change {second} in {left} snapshots"
    assert tree(shop) == wanted


def test_several_ids_are_accepted_at_once(shop: Run) -> None:
    wanted = updated(shop)
    # More of its digest is the first one again.
    told = (FIRST.upper(), SECOND, FIRST, f"{FIRST}15d8")
    result = shop(*(f"--chatprompt-accept={change_id}" for change_id in told))
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 4})
    assert tree(shop) == wanted


@pytest.mark.parametrize("verbosity", ["-q", "-vv"])
def test_of_what_is_left_nothing_is_shown_that_was_accepted(
    shop: Run, verbosity: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    result = shop(verbosity, "a.eval.yaml", "--chatprompt-accept", FIRST)
    output = result.stdout.str().partition("distinct change")[0]
    assert "Answer in a word." in output
    assert "Goods return in 30 days." not in output
    summary = [line for line in result.outlines if line.startswith("FAILED")]
    assert all('"in one paragraph." → "in a word."' in line or f"change {SECOND}" in line for line in summary)


def test_ids_are_the_same_in_each_report_and_with_workers(shop: Run) -> None:
    data = report(shop)
    assert [change["id"] for change in report(shop, "-n", "1")["changes"]] == [FIRST, SECOND]
    assert data["changes"][0]["id"] == FIRST
    assert {key: data["changes"][1][key] for key in ("id", "removed", "added", "moved")} == {
        "id": SECOND,
        "removed": ["Answer in one paragraph."],
        "added": ["Answer in a word."],
        "moved": [],
    }
    assert data["changes"][1]["node_ids"] == [
        "a.eval.yaml::both[openai]",
        "a.eval.yaml::both[anthropic]",
        "test_own.py::test_own",
    ]
    assert sum(data["changes"][1]["places"].values()) == 3
    lines = shop("-k", "both or own", "--chatprompt-report=r.md", "--chatprompt-report", "r.html").outlines
    command = f"   To accept it: pytest -p no:cacheprovider -k 'both or own' --chatprompt-accept {FIRST}"
    assert command in lines
    markdown, page = ((shop.path / f"r.{suffix}").read_text(encoding="utf-8") for suffix in ("md", "html"))
    for change_id in (FIRST, SECOND):
        assert f"<summary>change {change_id}: 3 snapshots" in markdown
        assert f"-k 'both or own' --chatprompt-accept {change_id}`" in markdown
        assert f'id="change-{change_id}"' in page
        assert f"--chatprompt-accept {change_id}" in page


def test_a_report_tells_a_run_as_it_is_with_what_was_accepted(shop: Run) -> None:
    shop.append(
        "test_own.py",
        "\n\nimport pytest\n\n@pytest.fixture(autouse=True)\ndef broken():\n    yield\n    raise ValueError\n",
    )
    data = report(shop, "--chatprompt-accept", FIRST)
    assert [change["id"] for change in data["changes"]] == [SECOND]
    outcomes = {result["node_id"]: result["outcome"] for result in data["results"]}
    assert outcomes["a.eval.yaml::first"] == "passed"
    data = report(shop, "--chatprompt-accept", SECOND)
    assert data["changes"] == []
    assert [result["outcome"] for result in data["results"]].count("passed") == 3
    own = next(result for result in data["results"] if result["node_id"] == "test_own.py::test_own")
    # Its teardown failed.
    assert (own["outcome"], own["snapshot"]["state"]) == ("error", "same")


def test_an_id_that_no_change_has_is_told_and_the_others_are_accepted(shop: Run) -> None:
    wanted = tree(shop)
    result = shop("--chatprompt-accept", "0bad")
    assert (result.ret, tree(shop)) == (1, wanted)
    told = f"--chatprompt-accept 0bad: '0bad' is no change of this run; it has {FIRST}, {SECOND}. Nothing is accepted for it."
    assert told in result.outlines
    shop("--chatprompt-accept", FIRST)
    wanted = tree(shop)
    shop.with_snapshots()
    shop.write({"a.md": A, "b.md": B})
    shop.with_snapshots().write(CHANGED)
    # Its tests count as passed, so it is written.
    result = shop("--chatprompt-accept", FIRST, "--chatprompt-accept", "0bad")
    assert (result.ret, result.parseoutcomes()) == (1, {"passed": 1, "failed": 3})
    assert told in result.outlines
    assert f"accepted change {FIRST} in 4 snapshots" in result.outlines
    assert tree(shop) == wanted
    shop.with_snapshots()
    result = shop("--chatprompt-accept", "new")
    assert result.ret == 1
    assert (
        "--chatprompt-accept new: 'new' is no change of this run; no snapshot differs. Nothing is accepted for it."
        in result.outlines
    )


def test_a_run_that_is_interrupted_accepts_nothing(shop: Run) -> None:
    before = tree(shop)
    shop.write({"test_z.py": "def test_z(): raise KeyboardInterrupt"})
    assert shop.start("--chatprompt-accept", FIRST).wait(60) == pytest.ExitCode.INTERRUPTED
    assert tree(shop) == before


def test_a_run_that_collects_not_all_tests_accepts_nothing(shop: Run) -> None:
    before = tree(shop)
    shop.write({"test_broken.py": "import nothing"})
    result = shop("--chatprompt-accept", FIRST)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    problem = f"--chatprompt-accept {FIRST}: {FIRST!r} is no change of this run; no snapshot differs. Nothing is accepted for it."
    assert problem in result.outlines
    assert tree(shop) == before


def test_without_a_terminal_nothing_is_accepted(shop: Run) -> None:
    before = tree(shop)
    result = shop("-p", "no:terminal", "--chatprompt-accept", "new")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "what is accepted is told in pytest's summary: remove -p no:terminal" in result.stderr.str()
    assert tree(shop) == before


def test_new_snapshots_are_accepted_without_the_changes_of_others(shop: Run) -> None:
    before = tree(shop)
    shop.write({"b.eval.yaml": HELLO, "test_new.py": OWN.replace("test_own", "test_new")})
    wanted = updated(shop)
    result = shop("--chatprompt-accept", "new")
    assert "accepted 2 new snapshots" in result.outlines
    assert result.parseoutcomes() == {"passed": 2, "failed": 4}
    after = tree(shop)
    assert after.keys() == wanted.keys()
    assert all(content == before.get(name, wanted[name]) for name, content in after.items())


GONE = """
guideline_patterns: ["*.md"]
evalcases:
  - id: kept
    input_messages: [{role: user, content: kept}]
  - id: gone
    provider: [openai, gemini]
    input_messages: [{role: user, content: gone}]
  - id: old name
    input_messages: [{role: user, content: renamed}]
"""
LEFT = GONE.replace("old name", "new name").replace("id: gone", "id: other").replace("content: gone", "content: other")
RECORDED = """
version: 1
exchanges:
- request:
    endpoint: POST /chat/completions
    sha256: {sha256}
    body: {{}}
  reply: {{}}
"""


@pytest.fixture
def renamed(run: Run) -> Run:
    """The project, with cases that are removed and renamed."""
    run.write({**FILES, "c.eval.yaml": GONE})
    run.with_snapshots().write(CHANGED)
    return run


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_all_ids_together_give_what_an_update_leaves(renamed: Run, workers: list[str]) -> None:
    assert len(tree(renamed)) == 8
    renamed.write({"c.eval.yaml": LEFT})
    wanted = updated(renamed)
    accept_all(renamed, *workers)
    assert tree(renamed) == wanted


def test_a_renamed_case_takes_its_snapshot_along(renamed: Run) -> None:
    renamed.write({"c.eval.yaml": GONE.replace("old name", "new name")})
    wanted = updated(renamed)
    before = tree(renamed)
    result = renamed("c.eval.yaml", "--chatprompt-accept", "new")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 4})
    removed = "1 eval snapshot removed: the case or the provider is no longer defined."
    assert [line for line in result.outlines if "eval snapshot removed" in line] == [removed]
    assert "  __snapshots__/c.eval/old name[openai].yaml" in result.outlines
    old, new = (f"__snapshots__/c.eval/{name} name[openai].yaml" for name in ("old", "new"))
    assert tree(renamed) == {name.replace(old, new): content for name, content in before.items()}
    assert tree(renamed).keys() == wanted.keys()


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_a_name_in_another_case_replaces_the_old_one(run: Run, workers: list[str]) -> None:
    run.write({"a.eval.yaml": HELLO, "test_own.py": OWN, "a.md": A, "b.md": B})
    run.with_snapshots().write({"a.eval.yaml": HELLO.replace("id: hello", "id: Hello")})
    run.write({"test_own.py": OWN.replace("test_own", "test_Own")})
    run(*workers, "--chatprompt-accept=new")
    assert run(*workers).ret == 1
    assert run(*workers, "--chatprompt-remove-unused").ret == 0
    names = ["a.eval/Hello[openai].yaml", "test_own/test_Own~349b5cab2a16.yaml"]
    assert list(tree(run)) == [f"__snapshots__/{name}" for name in names]
    assert run(*workers).ret == 0


def test_what_is_gone_stays_until_that_is_accepted(renamed: Run) -> None:
    renamed.write({"c.eval.yaml": LEFT.replace("new name", "old name")})
    names = tree(renamed).keys()
    result = renamed("c.eval.yaml", "--chatprompt-accept", "new")
    assert result.ret == 1
    assert "2 eval snapshots unused: the case or the provider is no longer defined." in result.outlines
    assert tree(renamed).keys() > names
    result = renamed("c.eval.yaml", "--chatprompt-accept", "unused")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 4})
    assert "2 eval snapshots removed: the case or the provider is no longer defined." in result.outlines
    assert not [name for name in tree(renamed) if "gone" in name]


@pytest.mark.parametrize("arguments", [[], ["-n", "1"], ["-x"], ["-k", "kept"]])
def test_nothing_is_removed_where_nothing_is_known_to_be_gone(renamed: Run, arguments: list[str]) -> None:
    names = tree(renamed).keys()
    renamed.write({"c.eval.yaml": LEFT if arguments[:1] in (["-x"], ["-k"]) else GONE})
    result = renamed("c.eval.yaml", *arguments, "--chatprompt-accept", "unused")
    assert result.ret in (1, 2)
    problem = "--chatprompt-accept unused: nothing is removed, as no case is known to be gone."
    assert problem in result.outlines
    assert tree(renamed).keys() == names


def test_a_run_without_snapshots_has_nothing_to_remove(run: Run) -> None:
    run.write({"test_it.py": "def test_it(): pass"})
    result = run("--chatprompt-accept", "unused")
    assert result.ret == 1
    assert "--chatprompt-accept unused: nothing is removed, as no case is known to be gone." in result.outlines


def test_beside_an_id_that_no_change_has_nothing_is_removed(renamed: Run) -> None:
    renamed.write({"c.eval.yaml": LEFT})
    names = tree(renamed).keys()
    renamed("--chatprompt-accept", "0bad", "--chatprompt-accept", "unused")
    assert tree(renamed).keys() == names


UNSTEADY = """
import pytest
runs = []

@pytest.fixture(autouse=True)
def unsteady(request):
    runs.append(request.node.name)
    if "both" in request.node.name and runs.count(request.node.name) == 1:
        pytest.fail("the first time")
"""


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_what_is_accepted_of_tests_that_run_again_is_what_an_update_writes(
    shop: Run, workers: list[str], use_plugin: Callable[[str], None]
) -> None:
    use_plugin("rerunfailures")
    wanted = updated(shop)
    shop.write({"conftest.py": UNSTEADY})
    reruns = (*workers, "--reruns=2")
    # Each test fails three times for the other change, or once for the fixture.
    result = shop(*reruns, f"--chatprompt-accept={FIRST}")
    assert (result.ret, result.parseoutcomes()) == (1, {"passed": 1, "failed": 3, "rerun": 6})
    assert f"accepted change {FIRST} in 4 snapshots" in result.outlines
    assert [change["id"] for change in report(shop, *reruns)["changes"]] == [SECOND]
    result = shop(*reruns, f"--chatprompt-accept={SECOND}")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 4, "rerun": 2})
    assert f"accepted change {SECOND} in 3 snapshots" in result.outlines
    assert tree(shop) == wanted


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_after_the_first_failure_what_was_compared_is_accepted(shop: Run, workers: list[str]) -> None:
    before = tree(shop)
    shop(*workers, "-x", "--chatprompt-accept", FIRST)
    after = tree(shop)
    assert [name for name in after if after[name] != before[name]] == ["__snapshots__/a.eval/both[openai].yaml"]
    assert report(shop, "--chatprompt-accept", FIRST)["changes"][0]["id"] == SECOND
    # No test fails for what is accepted, so all of them run.
    result = shop(*workers, "-x", "--chatprompt-accept", SECOND)
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 4})


def test_the_conflict_of_a_merge_is_accepted_as_a_whole(shop: Run) -> None:
    wanted = updated(shop)
    for name in ("both[openai]", "first[gemini]"):
        path = shop.path / f"__snapshots__/a.eval/{name}.yaml"
        path.write_text(f"<<<<<<< ours\n{path.read_text()}=======\nx: 1\n>>>>>>> theirs\n")
    shop(*(f"--chatprompt-accept={change}" for change in ids(shop)))
    assert tree(shop) == wanted


KILLED = """
import os
import pathlib
import signal

replace = pathlib.Path.replace
left = [{left}]

def kill(self, target):
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return replace(self, target)

pathlib.Path.replace = kill
"""


@pytest.mark.parametrize("left", [0, 4, 7])
def test_what_is_accepted_when_the_run_is_killed_is_whole_and_the_next_run_says_the_rest(run: Run, left: int) -> None:
    case = "  - id: c{}\n    input_messages: [{{role: user, content: [{{type: text, value: c{}}}, {{type: file, value: a.md}}, {{type: file, value: b.md}}]}}]\n"
    cases = "".join(case.format(number, number) for number in range(8))
    run.write({"a.eval.yaml": f"evalcases:\n{cases}", "a.md": A, "b.md": B})
    run.with_snapshots().write(CHANGED)
    wanted, before = updated(run), tree(run)
    run.write({"conftest.py": KILLED.format(left=left)})
    assert run.start("--chatprompt-accept", FIRST).wait(60) == -9
    (run.path / "conftest.py").unlink()
    killed = {name: content for name, content in tree(run).items() if "/." not in name}
    assert killed.keys() == before.keys()
    assert sum(killed[name] != before[name] for name in before) == left
    result = run()
    output = result.stdout.str()
    assert result.parseoutcomes() == {"failed": 8}
    assert f"change {FIRST}: {count(8 - left, 'snapshot')}" in output
    assert f"change {SECOND}: 8 snapshots" in output
    assert "unused" not in output
    assert run("--chatprompt-accept", FIRST, "--chatprompt-accept", SECOND).ret == 0
    # The temporary file of the killed run is left.
    assert {name: content for name, content in tree(run).items() if "/." not in name} == wanted


REPEATED = """
def test_it(eval_snapshot):
    assert {"question": "TEXT"} == eval_snapshot
"""


@pytest.mark.parametrize("is_reversed", [False, True])
def test_changes_of_one_run_are_those_of_one_comparison(run: Run, is_reversed: bool) -> None:
    run.write({"test_it.py": REPEATED.replace("TEXT", r"A\n\nB\n\nC")})
    run.with_snapshots().write({"test_it.py": REPEATED.replace("TEXT", r"B\n\nA\n\nC\nnew")})
    wanted = updated(run)
    told = sorted(ids(run), reverse=is_reversed)
    assert len(told) == 2
    result = run(*(f"--chatprompt-accept={each}" for each in told))
    assert result.ret == 0
    assert tree(run) == wanted


SUBTESTS = """
def test_it(subtests, eval_snapshot):
    for name in "abc":
        with subtests.test(name):
            assert {"question": f"TEXT {name}"} == eval_snapshot(name=name)
"""


ASSERTED_LATER = """
def test_it(eval_snapshot):
    compared = [{"question": f"TEXT {name}"} == eval_snapshot(name=name) for name in "abc"]
    assert all(compared)
"""


@pytest.mark.parametrize("test", [SUBTESTS, ASSERTED_LATER], ids=["subtests", "comparisons that are asserted later"])
@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_each_of_several_snapshots_of_a_test_is_known(run: Run, test: str, workers: list[str]) -> None:
    run.write({"test_it.py": test.replace("TEXT", "old")})
    run.with_snapshots().write({"test_it.py": test.replace("TEXT", "new")})
    wanted = updated(run)
    reporting = (*workers, "--chatprompt-report", "report.json")

    def changes() -> dict[str, str]:
        told = json.loads((run.path / "report.json").read_text())["changes"]
        return {change["added"][0]: change["id"] for change in told}

    assert "= 3 distinct changes in 3 snapshots =" in run(*reporting).stdout.str()
    for name, left in {"b": {"new a", "new c"}, "c": {"new a"}, "a": set()}.items():
        change_id = changes()[f"new {name}"]
        result = run(*reporting, "--chatprompt-accept", change_id)
        assert (result.ret == 0, set(changes())) == (not left, left)
        assert f"accepted change {change_id} in 1 snapshot" in result.outlines
        assert f"old {name}" not in result.stdout.str()
        assert run.snapshot(f"__snapshots__/test_it/test_it[{name}].yaml") == {"question": f"new {name}"}
    assert tree(run) == wanted


def test_a_change_of_several_snapshots_of_a_test_counts_as_often(run: Run) -> None:
    run.write({"test_it.py": ASSERTED_LATER.replace("TEXT {name}", "old")})
    run.with_snapshots()
    run.write({"test_it.py": ASSERTED_LATER.replace("TEXT {name}", "new")})
    result = run("--chatprompt-report", "review.md", "--chatprompt-report", "report.json")
    (change,) = json.loads((run.path / "report.json").read_text())["changes"]
    assert (change["places"], change["node_ids"]) == ({"question": 3}, ["test_it.py::test_it"])
    assert f"change {change['id']}: 3 snapshots: test_it.py::test_it" in result.outlines
    assert "Snapshots: `test_it.py::test_it`." in (run.path / "review.md").read_text()
    result = run("--chatprompt-accept", change["id"])
    assert result.ret == 0
    assert f"accepted change {change['id']} in 3 snapshots" in result.outlines


CHECKED = """
checks: [{type: not_contains, of: request, value: goodbye}]
"""


def test_what_is_accepted_has_still_to_pass_the_checks_of_what_is_sent(run: Run) -> None:
    run.write({"a.eval.yaml": CHECKED + HELLO})
    run.with_snapshots()
    run.write({"a.eval.yaml": CHECKED + HELLO.replace("content: hello", "content: goodbye")})
    (change,) = ids(run)
    result = run("--chatprompt-accept", change)
    assert (result.ret, result.parseoutcomes()) == (1, {"failed": 1})
    assert f"accepted change {change} in 1 snapshot" in result.outlines
    result.stdout.fnmatch_lines(["*: the request contains it at character*"])
    result = run()
    assert (result.ret, result.parseoutcomes()) == (1, {"failed": 1})
    result.stdout.fnmatch_lines(["*: the request contains it at character*"])


def test_what_is_accepted_is_sent_in_a_live_run(run: Run, server: Server) -> None:
    run.write({"a.eval.yaml": HELLO, "conftest.py": LIVE_CONFTEST.format(url=server.url, settings="")})
    run.with_snapshots()
    run.write({"a.eval.yaml": HELLO.replace("content: hello", "content: hi there")})
    server.reply_with({"choices": [{"message": {"content": "an answer"}, "finish_reason": "stop"}]})
    (change,) = ids(run)
    result = run("--chatprompt-live", "--chatprompt-accept", change)
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1})
    ((_, _, body),) = server.requests
    assert body == run.snapshot("__snapshots__/a.eval/hello[openai].yaml")["request"]


def test_pytest_counts_as_passed_what_is_accepted(shop: Run) -> None:
    pytester = shop.pytester
    assert pytester.runpytest_inprocess("a.eval.yaml").ret == 1
    options = ("--junitxml", "j.xml", "--chatprompt-accept", FIRST)
    pytester.runpytest_inprocess("a.eval.yaml", *options)
    suite = ET.parse(shop.path / "j.xml").getroot()[0]
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("3", "2")
    # Of what is left nothing is told that was accepted.
    xml = (shop.path / "j.xml").read_text()
    assert "in a word" in xml
    assert "30 days" not in xml
    assert pytester.runpytest_inprocess("--lf").parseoutcomes() == {"failed": 2}
    assert pytester.runpytest_inprocess("--lf", "--chatprompt-accept", SECOND).parseoutcomes() == {"passed": 2}
    assert pytester.runpytest_inprocess("--lf", "a.eval.yaml").parseoutcomes() == {"passed": 3}


RETRIED = """
def test_it(eval_snapshot):
    for text in ("TEXT", "old"):
        if {"question": text} == eval_snapshot(name="it"):
            break
"""


def test_a_snapshot_that_is_the_same_in_the_end_does_not_differ(run: Run) -> None:
    run.write({"test_it.py": RETRIED.replace("TEXT", "old")})
    run.with_snapshots()
    run.write({"test_it.py": RETRIED.replace("TEXT", "new")})
    assert report(run)["changes"] == []


NOT_FAILING = """
import pytest

@pytest.mark.xfail
def test_expected(eval_snapshot):
    assert {"question": "TEXT"} == eval_snapshot

def test_goes_on(eval_snapshot):
    is_same = {"question": "TEXT"} == eval_snapshot

def test_caught(eval_snapshot):
    with pytest.raises(AssertionError):
        assert {"question": "TEXT"} == eval_snapshot
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_what_differs_in_tests_that_do_not_fail_is_accepted_too(run: Run, workers: list[str]) -> None:
    run.write({"test_it.py": NOT_FAILING.replace("TEXT", "old")})
    run("--snapshot-update")
    run.write({"test_it.py": NOT_FAILING.replace("TEXT", "new")})
    data = report(run)
    change = data["results"][0]["snapshot"]["difference"]["changes"][0]
    change_id = Change(change["place"], tuple(change["removed"]), tuple(change["added"])).digest[:4]
    # As in the terminal, nothing fails for it.
    assert data["changes"] == []
    result = run(*workers, "--chatprompt-accept", change_id)
    # Just as in the next run: nothing is raised any more.
    assert (result.ret, result.parseoutcomes()) == (1, {"passed": 1, "xpassed": 1, "failed": 1})
    assert run(*workers).parseoutcomes() == result.parseoutcomes()
    assert f"accepted change {change_id} in 3 snapshots" in result.outlines
    assert [run.snapshot(name) for name in run.snapshots()] == [{"question": "new"}] * 3


FAILING = """
import pytest

def test_also_fails(eval_snapshot):
    is_same = {"question": "TEXT"} == eval_snapshot
    assert 1 == 2

def test_only_differs(eval_snapshot):
    assert {"question": "TEXT"} == eval_snapshot
"""


def test_a_test_that_failed_otherwise_stays_failed(run: Run) -> None:
    run.write({"test_it.py": FAILING.replace("TEXT", "old")})
    run("--snapshot-update")
    run.write({"test_it.py": FAILING.replace("TEXT", "new")})
    (change,) = ids(run)
    result = run("--chatprompt-accept", change)
    assert result.ret == 1
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    assert f"accepted change {change} in 2 snapshots" in result.outlines
    assert run.snapshot("__snapshots__/test_it/test_also_fails.yaml") == {"question": "new"}


def test_of_a_test_that_failed_otherwise_one_change_is_accepted_too(shop: Run) -> None:
    asserted = "    assert eval_api.sent == eval_snapshot\n"
    raising = f"    try:\n    {asserted}    finally:\n        raise RuntimeError('broken')\n"
    shop.write({"test_own.py": OWN.replace(asserted, raising)})
    result = shop("test_own.py", "--chatprompt-accept", FIRST)
    assert (result.ret, result.parseoutcomes()) == (1, {"failed": 1})
    result.stdout.fnmatch_lines(["FAILED test_own.py::test_own - RuntimeError: broken"])
    left = report(shop, "test_own.py")["changes"]
    assert [change["id"] for change in left] == [SECOND]


def test_what_cannot_be_written_is_told(shop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tree(shop)

    def refuse(path: Path, text: str) -> None:
        if "gemini" in path.name:
            raise PermissionError(13, "Permission denied")
        atomic_write(path, text)

    monkeypatch.setattr("pytest_chatprompt.reports.acceptance.atomic_write", refuse)
    result = shop("--chatprompt-accept", FIRST)
    assert result.ret == 1
    name = "__snapshots__/a.eval/first[gemini].yaml"
    assert f"{name} is not written: Permission denied" in result.outlines
    assert f"accepted change {FIRST} in 3 snapshots" in result.outlines
    assert tree(shop)[name] == before[name]


def test_what_was_accepted_is_told_also_if_an_unused_snapshot_cannot_be_removed(
    shop: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "__snapshots__/a.eval/gone[gemini].yaml"
    (shop.path / name).write_text((shop.path / "__snapshots__/a.eval/first[gemini].yaml").read_text())
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path.name == "gone[gemini].yaml":
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    result = shop("a.eval.yaml", "--chatprompt-accept", FIRST, "--chatprompt-accept", "unused")
    assert result.ret == 1
    assert f"{name} is not removed: Permission denied" in result.outlines
    result.stdout.fnmatch_lines([f"accepted change {FIRST} in * snapshots"])
    assert (shop.path / name).exists()


CHANGING = """
import pathlib
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    session.config.pluginmanager.register(Changing())

class Changing:
    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        path = pathlib.Path("__snapshots__/a.eval/first[gemini].yaml")
        if report.nodeid.endswith("first") and report.when == "teardown":
            path.write_text(path.read_text() + "more: 1\\n")
"""


def test_a_snapshot_that_changed_meanwhile_is_left_alone(shop: Run) -> None:
    shop.write({"conftest.py": CHANGING})
    result = shop("--chatprompt-accept", FIRST)
    assert result.ret == 1
    name = "__snapshots__/a.eval/first[gemini].yaml"
    problem = f"{name} is not written: it has changed since the run compared with it; run again"
    assert problem in result.outlines
    assert "14 days" in (shop.path / name).read_text()


def test_a_snapshot_with_a_secret_is_left_to_an_update(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.with_snapshots()
    path = run.path / "__snapshots__/a.eval/hello[openai].yaml"
    path.write_text(path.read_text().replace("hello", "my-secret-0123456789abcdef"))
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "my-secret-0123456789abcdef")
    (change,) = ids(run)
    result = run("--chatprompt-accept", change)
    assert result.ret == 1
    reason = "a secret in it is hidden here; accept it with --snapshot-update"
    assert f"__snapshots__/a.eval/hello[openai].yaml is not written: {reason}" in result.outlines
    result.stdout.no_fnmatch_line("accepted *")


@pytest.mark.parametrize(
    "option",
    [
        "--snapshot-update",
        "--snapshot-update-new-only",
        "--chatprompt-show",
        "--chatprompt-remove-unused",
        "--collect-only",
    ],
)
def test_what_is_accepted_is_all_that_a_run_does(run: Run, option: str) -> None:
    run.write({"a.eval.yaml": HELLO})
    result = run(option, "--chatprompt-accept", "new")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --chatprompt-accept writes only what it names: remove {option}"])


def test_a_revision_is_not_accepted(run: Run) -> None:
    result = run("--chatprompt-against", "main", "--chatprompt-accept", "new")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "remove --chatprompt-against" in result.stderr.str()

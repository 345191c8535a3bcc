"""Comparing against a git revision: what this branch changes, whatever its own snapshots say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.git_repository import Git, commit_all
from tests.runs.conftest import HELLO, Run, eval_file

OWN = """
import httpx

def test_asks(eval_api, eval_snapshot):
    httpx.post("https://api.openai.com/v1/chat/completions", json={"model": "one", "messages": []})
    assert eval_api.sent == eval_snapshot
"""
KEPT = HELLO.replace("id: hello", "id: kept")
FOLDER = "__snapshots__/a.eval/"


def test_what_the_branch_changes_is_told_whatever_stands_on_disk(run: Run, git: Git) -> None:
    run.write({"a.eval.yaml": HELLO + KEPT.partition("evalcases:")[2], "test_own.py": OWN})
    run.update()
    commit_all(git, run.path)
    run.write(
        {
            "a.eval.yaml": HELLO.replace("content: hello", "content: goodbye")
            + KEPT.partition("evalcases:")[2]
            + HELLO.partition("evalcases:")[2]
            .replace("id: hello", "id: new")
            .replace("content: hello", "content: new"),
            "test_own.py": OWN.replace('"one"', '"two"'),
        }
    )
    run.update()
    run().assert_outcomes(passed=4)
    files = {name: (run.path / name).read_bytes() for name in run.snapshots()}

    result = run("--chatprompt-against", "main")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "*what is sent to openai is not what its snapshot says*",
            f"*main:{FOLDER}hello[[]openai[]].yaml",
            "*-*hello",
            "*+*goodbye",
            "*what is sent to openai has no snapshot yet*",
            f"*There is no main:{FOLDER}new[[]openai[]].yaml.",
            "*main:__snapshots__/test_own/test_asks.yaml",
            "*-*model: one",
            "*+*model: two",
        ]
    )
    result.stdout.no_fnmatch_line("*--snapshot-update*")
    result.stdout.no_fnmatch_line("*unused*")
    assert {name: (run.path / name).read_bytes() for name in run.snapshots()} == files


def test_a_case_that_the_branch_renamed_is_told_as_renamed(run: Run, git: Git) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.update()
    commit_all(git, run.path)
    # Accepted since, so that its former snapshot stands in the revision alone.
    run.write({"a.eval.yaml": eval_file(["new"]) + HELLO.replace("id: hello", "id: é/b").partition("evalcases:\n")[2]})
    run.update()
    assert run.snapshots() == [f"{FOLDER}{name}[openai].yaml" for name in ("new", "é%2Fb")]
    result = run("--chatprompt-against", "main")
    assert "FAILED a.eval.yaml::é/b - renamed from 'hello', no snapshot yet" in result.outlines
    assert "FAILED a.eval.yaml::new - what is sent to openai has no snapshot yet" in result.outlines


def test_a_partial_clone_fetches_the_snapshots_that_it_lacks(run: Run, git: Git, tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    run.write({"a.eval.yaml": HELLO})
    run.update()
    commit_all(git, run.path)
    run.write({"a.eval.yaml": HELLO.replace("content: hello", "content: goodbye")})
    run.update()
    commit_all(git, run.path)
    git("clone", "--quiet", "--bare", str(run.path), str(origin))
    git("-C", str(origin), "config", "uploadpack.allowFilter", "true")
    shutil.rmtree(run.path / ".git")
    # It has what is checked out.
    git("clone", "--quiet", "--filter=blob:none", origin.as_uri(), str(tmp_path / "clone"))
    shutil.move(tmp_path / "clone/.git", run.path / ".git")
    origin.rename(tmp_path / "gone")
    unread = (
        f"a.eval.yaml:*: case 'hello': the snapshot HEAD~1:{FOLDER}hello[[]openai[]].yaml cannot be read from HEAD~1, "
        "as git ended and said why on stderr; run where git reaches the remote, or in a clone without --filter"
    )
    result = run.apart("--chatprompt-against=HEAD~1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([unread])
    # The process writes both streams into one.
    result.stdout.fnmatch_lines(["fatal: could not fetch * from promisor remote"])
    result = run("--chatprompt-live", "--chatprompt-ab=HEAD~1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([unread])
    (tmp_path / "gone").rename(origin)
    result = run("--chatprompt-against=HEAD~1")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*what is sent to openai is not what its snapshot says", "*- *hello", "*+ *goodbye"])


def test_a_revision_without_a_name_is_a_usage_error(run: Run, git: Git) -> None:
    """As from a variable of CI that is not set: the snapshots on disk would be compared, and pass."""
    run.write({"a.eval.yaml": HELLO})
    commit_all(git, run.path)
    result = run("--chatprompt-against=")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --chatprompt-against: git knows no revision '' in *"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--snapshot-update"], "--chatprompt-against only compares: remove --snapshot-update"),
        (["--snapshot-update-new-only"], "--chatprompt-against only compares: remove --snapshot-update-new-only"),
        (["--chatprompt-live"], "--chatprompt-against only compares: remove --chatprompt-live"),
        (["--chatprompt-replay"], "--chatprompt-against only compares: remove --chatprompt-replay"),
        ([], "--chatprompt-against: git knows no revision 'no-such' in *"),
    ],
)
def test_what_cannot_be_compared_is_a_usage_error(run: Run, git: Git, arguments: list[str], message: str) -> None:
    git("init", "--quiet", str(run.path))
    result = run("--chatprompt-against", "no-such", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])

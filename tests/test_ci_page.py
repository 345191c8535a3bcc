"""The page on continuous integration, and the settings of editors: what they name exists, and what they run works."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_chatprompt.__main__ import main
from pytest_chatprompt.eval_file_check import __file__ as check_file
from pytest_chatprompt.reports.markdown import LIMIT
from tests.apis.built_in import chat_providers
from tests.git_repository import Git, commit_all
from tests.runs.conftest import HELLO, LIVE_CONFTEST, Run, case_ids, eval_file, run
from tests.server import Reply, Server

__all__ = ["run"]

ROOT = Path(check_file).parent.parent
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
WORKFLOW, REVIEW, COMMENT, SHARDS, PRE_COMMIT = (
    yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
)
EDITORS = (ROOT / "docs/eval-files.md").read_text(encoding="utf-8")
PYTEST = "python -m pytest "


def arguments_of(job: dict[str, Any], value: str = r"\1") -> list[str]:
    """What the step of a job that runs pytest gives to it, with a value of the matrix, else its name."""
    (command,) = [step["run"] for step in job["steps"] if step.get("run", "").startswith(PYTEST)]
    return shlex.split(re.sub(r"\$\{\{ matrix\.(\w+) \}\}", value, command.removeprefix(PYTEST)))


def test_the_offline_job_fails_where_a_snapshot_is_missing_or_left_over_and_passes_where_all_are_there(
    run: Run,
) -> None:
    job = WORKFLOW["jobs"]["offline"]
    assert "env" not in job
    arguments = arguments_of(job)
    run.write({"a.eval.yaml": f"provider: openai{HELLO}"})
    run(*arguments).assert_outcomes(failed=1)
    run("--snapshot-update")
    run(*arguments).assert_outcomes(passed=1)
    assert (run.path / "report.xml").exists()
    run.write({"a.eval.yaml": f"provider: openai{HELLO.replace('id: hello', 'id: renamed')}"})
    assert run(*arguments).ret == pytest.ExitCode.TESTS_FAILED


def test_the_live_job_runs_on_a_schedule_only_with_the_keys_that_providers_read(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    # YAML 1.1 reads `on` as a boolean.
    assert set(WORKFLOW[True]) == {"pull_request", "schedule", "workflow_dispatch"}
    job = WORKFLOW["jobs"]["live"]
    assert job["if"] == "github.event_name != 'pull_request'"
    assert set(job["env"]) <= {provider.key_variable for provider in chat_providers()}
    assert all(value == f"${{{{ secrets.{name} }}}}" for name, value in job["env"].items())
    for name in job["env"]:
        monkeypatch.setenv(name, "")
    run.write({"folder/a.eval.yaml": f"provider: openai{HELLO}"})
    run("--snapshot-update")
    result = run(*arguments_of(job))
    # Without a key nothing is sent.
    result.assert_outcomes(errors=1)
    assert "no key for OpenAI" in result.stdout.str()


def test_the_review_of_a_pull_request_shows_what_its_merge_changes(
    run: Run, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (REVIEW[True], REVIEW["permissions"]) == ({"pull_request": None}, {"contents": "read"})
    job = REVIEW["jobs"]["review"]
    assert "secrets." not in str(job)
    run.write({"a.eval.yaml": f"provider: openai{HELLO}"})
    run.update()
    commit_all(git, run.path)
    monkeypatch.chdir(run.path)
    git("checkout", "-q", "-b", "feature")
    run.write({"a.eval.yaml": f"provider: openai{HELLO.replace('content: hello', 'content: good morning')}"})
    run.update()
    commit_all(git, run.path)
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "--message=merge", "feature")
    # A gate passes, since the change is accepted; the review shows it all the same.
    run().assert_outcomes(passed=1)
    run(*arguments_of(job)).assert_outcomes(failed=1)
    review = (run.path / "review.md").read_text(encoding="utf-8")
    assert review.startswith("## 1 distinct change in 1 snapshot against `HEAD^1`\n")
    assert "- hello\n+ good morning\n" in review
    *_, upload = job["steps"]
    assert sorted(path.name for path in run.path.glob(upload["with"]["path"])) == ["review.html", "review.md"]


# It keeps the comments of a pull request in a file for each, and knows one pull request.
GH = """
import json, pathlib, shutil, sys
arguments, folder = sys.argv[1:], pathlib.Path(__file__).parent
comments = folder / "comments"
if arguments[:2] == ["run", "download"]:
    shutil.copy(folder / "review.md", "review.md")
elif arguments[:2] == ["pr", "list"]:
    assert arguments[arguments.index("--head") + 1] == "feature"
    print("7" if "c0ffee" in (folder / "open").read_text() else "")
else:
    path = next(each for each in arguments if each.startswith("repos/"))
    body = [each.partition("@")[2] for each in arguments if each.startswith("body=@")]
    if not body:
        assert path == "repos/me/shop/issues/7/comments"
        print("\\n".join(each.name for each in comments.iterdir()))
    else:
        is_new = path == "repos/me/shop/issues/7/comments"
        assert is_new or "PATCH" in arguments and path.startswith("repos/me/shop/issues/comments/")
        name = str(len(list(comments.iterdir()))) if is_new else path.rpartition("/")[2]
        (comments / name).write_text(pathlib.Path(body[0]).read_text())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="GitHub runs it with bash")
def test_the_comment_of_a_pull_request_is_one_that_is_updated(tmp_path: Path) -> None:
    assert COMMENT[True] == {"workflow_run": {"workflows": [REVIEW["name"]], "types": ["completed"]}}
    assert COMMENT["permissions"] == {"actions": "read", "pull-requests": "write"}
    job = COMMENT["jobs"]["comment"]
    # It runs nothing of the pull request, and no value of it stands in a command.
    (step,) = job["steps"]
    assert "${{" not in step["run"]
    (tmp_path / "comments").mkdir()
    (tmp_path / "gh").write_text(f"#!{sys.executable}\n{GH}", encoding="utf-8")
    (tmp_path / "gh").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "GH_REPO": "me/shop", "RUN": "1", "BRANCH": "feature"}
    environment |= {"COMMIT": "c0ffee", "MARK": job["env"]["MARK"]}
    for open_commit, review, shown in (("old", "x", []), ("c0ffee", "one", ["one"]), ("c0ffee", "two", ["two"])):
        (tmp_path / "open").write_text(open_commit)
        (tmp_path / "review.md").write_text(review)
        work = tmp_path / f"{open_commit}-{review}"
        work.mkdir()
        subprocess.run(["bash", "-e", "-c", step["run"]], cwd=work, env=environment, check=True)
        comments = [path.read_text() for path in (tmp_path / "comments").iterdir()]
        assert comments == [f"{job['env']['MARK']}\n{text}" for text in shown]
    # GitHub takes 65,536 characters.
    assert len(job["env"]["MARK"]) + 1 + LIMIT <= 65_536


COMMAND = "python -m pytest_chatprompt "


def run_commands(merge: dict[str, Any]) -> list[int]:
    """The exit statuses of the steps of a job that run the commands of this package, with the files of their patterns."""
    commands = [step["run"] for step in merge["steps"] if step.get("run", "").startswith(COMMAND)]
    return [
        main(
            [
                name
                for word in shlex.split(command.removeprefix(COMMAND))
                for name in (sorted(map(str, Path().glob(word))) if "*" in word else [word])
            ]
        )
        for command in commands
    ]


def test_the_shards_of_the_page_are_merged_by_the_commands_of_the_page(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch, git: Git, use_plugin: Callable[[str], None]
) -> None:
    use_plugin("pytest-split")
    shard, merge = SHARDS["jobs"]["shard"], SHARDS["jobs"]["merge"]
    assert merge["needs"] == "shard"
    conftest = LIVE_CONFTEST.format(url=server.url, settings="max_retries=0")
    run.write({f"evals/{number}.eval.yaml": eval_file(case_ids(4)) for number in (1, 2)})
    run.write({"conftest.py": conftest})
    run.update()
    unused = run.path / "evals/__snapshots__/1.eval/gone[openai].yaml"
    unused.write_text("endpoint: x\n", encoding="utf-8")
    server.reply = Reply()
    commit_all(git, run.path)
    monkeypatch.chdir(run.path)
    for number in shard["strategy"]["matrix"]["shard"]:
        *_, upload = shard["steps"]
        result = run(*arguments_of(shard, str(number)))
        result.assert_outcomes(passed=2, deselected=6)
        # Whatever a shard does not use, another one may.
        assert (result.ret, "unused" in result.stdout.str()) == (0, False)
        for pattern in upload["with"]["path"].split():
            for path in run.path.glob(pattern):
                target = run.path.parent / "shards" / f"shard-{number}" / path.relative_to(run.path)
                target.parent.mkdir(parents=True, exist_ok=True)
                path.rename(target)
    assert not list(run.path.rglob("*.recording.yaml"))
    (run.path.parent / "shards").rename(run.path / "shards")
    assert run_commands(merge) == [0, 1]
    results = json.loads((run.path / "all.json").read_text(encoding="utf-8"))["results"]
    assert [result["path"] for result in results] == ["evals/1.eval.yaml"] * 4 + ["evals/2.eval.yaml"] * 4
    assert (run.path / "review.md").exists()
    assert (run.path / "review.html").exists()
    run("--chatprompt-replay").assert_outcomes(passed=8)
    assert unused.exists()


def test_the_hooks_of_the_page_are_offered() -> None:
    offered = [hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))]
    (repository,) = PRE_COMMIT["repos"]
    assert [hook["id"] for hook in repository["hooks"]] == offered
    assert re.findall(r"^\| `(chatprompt-[\w-]+)` \|", PAGE, re.MULTILINE) == offered


def test_the_schema_is_printed_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--chatprompt-schema"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    assert json.loads(printed)["type"] == "object"


def test_the_settings_of_the_editors_name_the_files_that_pytest_collects(pytestconfig: pytest.Config) -> None:
    (settings,) = re.findall(r"^```jsonc\n(.*?)^```$", EDITORS, re.MULTILINE | re.DOTALL)
    collected = pytestconfig.getini("chatprompt_files")
    assert json.loads(settings) == {"yaml.schemas": {"./eval.schema.json": collected}}

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

from pytest_chatprompt.apis.table import chat_providers
from pytest_chatprompt.eval_file_check import __file__ as check_file
from pytest_chatprompt.report_commands import main
from tests.git_repository import Git, commit_all
from tests.items.conftest import HELLO, LIVE_CONFTEST, Run, case_ids, eval_file, run
from tests.server import Reply, Server

__all__ = ["run"]

ROOT = Path(check_file).parent.parent
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
WORKFLOW, SHARDS, PRE_COMMIT = (
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
    assert main(["merge", "all.json", "-o", "all.json", "--snapshot-update"]) == 0
    assert not unused.exists()


def test_the_hooks_of_the_page_are_offered() -> None:
    offered = [hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))]
    (repository,) = PRE_COMMIT["repos"]
    assert [hook["id"] for hook in repository["hooks"]] == offered
    assert re.findall(r"^\| `(chatprompt-[\w-]+)` \|", PAGE, re.MULTILINE) == offered


def test_the_schema_that_the_page_compares_is_printed_alone(tmp_path: Path) -> None:
    assert PAGE.count(f"{PYTEST}--chatprompt-schema") == 2
    command = [sys.executable, "-m", "pytest", "--chatprompt-schema"]
    printed = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True).stdout
    assert json.loads(printed)["type"] == "object"


def test_the_settings_of_the_editors_name_the_files_that_pytest_collects(pytestconfig: pytest.Config) -> None:
    (settings,) = re.findall(r"^```jsonc\n(.*?)^```$", EDITORS, re.MULTILINE | re.DOTALL)
    collected = pytestconfig.getini("chatprompt_files")
    assert json.loads(settings) == {"yaml.schemas": {"./eval.schema.json": collected}}
    (lua,) = re.findall(r"^```lua\n(.*?)^```$", EDITORS, re.MULTILINE | re.DOTALL)
    assert re.findall(r'"(\*[^"]+)"', lua) == collected

"""The page on continuous integration, and the settings of editors: what they name exists, and what they run works."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_chatprompt.eval_file_check import __file__ as check_file
from pytest_chatprompt.providers.registry import CHAT_PROVIDERS
from tests.items.conftest import HELLO, Run, run

__all__ = ["run"]

ROOT = Path(check_file).parent.parent
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
WORKFLOW, PRE_COMMIT = (
    yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
)
EDITORS = (ROOT / "docs/eval-files.md").read_text(encoding="utf-8")
PYTEST = "python -m pytest "


def arguments_of(job: dict[str, Any]) -> list[str]:
    """What the step of a job that runs pytest gives to it."""
    (command,) = [step["run"] for step in job["steps"] if step.get("run", "").startswith(PYTEST)]
    return shlex.split(re.sub(r"\$\{\{ matrix\.(\w+) \}\}", r"\1", command.removeprefix(PYTEST)))


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
    assert set(job["env"]) <= {provider.key_variable for provider in CHAT_PROVIDERS}
    assert all(value == f"${{{{ secrets.{name} }}}}" for name, value in job["env"].items())
    for name in job["env"]:
        monkeypatch.setenv(name, "")
    run.write({"folder/a.eval.yaml": f"provider: openai{HELLO}"})
    run("--snapshot-update")
    result = run(*arguments_of(job))
    # Without a key nothing is sent.
    result.assert_outcomes(errors=1)
    assert "no key for OpenAI" in result.stdout.str()


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

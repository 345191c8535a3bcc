"""The example project and every snippet of the README, run as a user would run them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from pytest_chatprompt.fixtures import __file__ as fixtures_file
from pytest_chatprompt.options import __file__ as options_file

from .plugin.conftest import HELLO, Run, run

__all__ = ["run"]

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str, *, before: str = "", after: str = "") -> list[str]:
    """The fenced blocks of a language between two texts of the README."""
    part = README[README.index(after) :] if after else README
    part = part[: part.index(before)] if before else part
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", part, re.MULTILINE | re.DOTALL)
    return [content for its_language, content in fenced if its_language == language]


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
    example("--strict-config", "-W", "error").assert_outcomes(passed=15)


def test_an_edited_guideline_of_the_example_fails_just_the_cases_that_use_it(example: Run) -> None:
    guideline = example.path / "guidelines/python.instructions.md"
    guideline.write_text(guideline.read_text().replace("No comment repeats", "No comment ever repeats"))
    result = example()
    result.assert_outcomes(passed=12, failed=3)
    failed = [line.split(" - ")[0] for line in result.outlines if line.startswith("FAILED")]
    assert failed == [
        "FAILED evals/agents/mend.eval.yaml::cli",
        "FAILED evals/code_review/review.eval.yaml::first-page",
        "FAILED evals/code_review/review.eval.yaml::whole-module",
    ]
    changed = [f"{line[0]} {line[1:].strip()}" for line in result.outlines if re.match(r"[-+]  ", line)]
    assert (
        changed
        == [
            "- - No comment repeats what the code says.",
            "+ - No comment ever repeats what the code says.",
        ]
        * 3
    )


def test_the_first_screen_is_what_happens(run: Run) -> None:
    eval_file, snapshot = blocks("yaml", before="## Install")
    (failure,) = blocks("", before="## Install")
    assert len(eval_file.splitlines()) == 6
    run.write({"greeting.eval.yaml": eval_file})
    run.update()
    assert (run.path / "__snapshots__/greeting.eval/greets[anthropic].yaml").read_text() == snapshot
    run.write({"greeting.eval.yaml": eval_file.replace("Be brief.", "Be brief and polite.")})
    assert failure in run().stdout.str() + "\n"


def test_the_eval_file_runs(run: Run) -> None:
    (eval_file,) = blocks("yaml", after="## Eval files")
    run.write({"evals/a.eval.yaml": eval_file, "evals/loop.py": "x", "guidelines/python.instructions.md": "y"})
    run.update("-m", "smoke").assert_outcomes(passed=1)


def test_the_warning_and_the_filter_of_preflight_are_what_happens(run: Run) -> None:
    (warning,) = blocks("", after="### Preflight", before="### Agents")
    (as_errors,) = blocks("ini", after="### Preflight")
    lost = "\nevalcases:\n  - id: lost\n    input_messages:\n      - role: user\n        content: hi\n      - {role: tool, content: x}\n"
    prefilled = lost.replace("lost", "prefilled").replace("role: tool", "role: assistant")
    run.write({"pytest.ini": "[pytest]\nfilterwarnings = default\n", "evals/a.eval.yaml": "provider: openai" + lost})
    shown = run.update().stdout.str().replace(str(run.path), "/project")
    assert warning in shown
    run.write({"pytest.ini": as_errors, "evals/b.eval.yaml": "provider: openai" + prefilled})
    run("--snapshot-update").assert_outcomes(passed=1, failed=1)


@pytest.mark.parametrize("number", range(5))
def test_each_conftest_runs(run: Run, number: int) -> None:
    snippets = blocks("python")
    assert len(snippets) == 5
    (name,) = {name for name in ("gateway", "cli") if f"def {name}_provider" in snippets[number]} or {"openai"}
    head = f"provider: {name}"
    run.write({"a.eval.yaml": head + HELLO.replace("id: hello", "id: hard"), "conftest.py": snippets[number]})
    run.update().assert_outcomes(passed=1)


def test_every_fixture_and_option_is_in_the_readme() -> None:
    fixtures = re.findall(r"^def (\w+)\(", Path(fixtures_file).read_text(encoding="utf-8"), re.MULTILINE)
    options_text = Path(options_file).read_text(encoding="utf-8")
    options = re.findall(r'"(--chatprompt-\w+)"|addini\(\s*"(\w+)"', options_text)
    public = [name for name in fixtures if not name.startswith("_")]
    assert len(public) == 13
    assert len(options) == 11
    for name in (*public, *("".join(found) for found in options)):
        assert f"`{name}" in README

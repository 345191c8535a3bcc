"""Editors and report tools: what they ask of an eval item beside what pytest itself asks."""

from __future__ import annotations

import pytest

from tests.runs.conftest import Run

# What VS Code's collector asks when the session ends, of each collected item: python_files/vscode_pytest/__init__.py of
# microsoft/vscode-python. It takes an item with a `callspec` for one of a Python file.
COLLECTOR = """
from pathlib import Path

import pytest

def pytest_sessionfinish(session):
    if session.config.option.collectonly:
        Path("tree.txt").write_text("\\n".join(map(leaf, session.items)), encoding="utf-8")

def leaf(item):
    path, line, _ = item.location
    assert isinstance(item.parent, (pytest.File, pytest.Class)) and item.parent.path == item.path
    within = item.nodeid.partition("::")[2]
    if hasattr(item, "callspec"):
        file, _, name = item.nodeid.rpartition("::")
        within = f"{file.rsplit('.py', 1)[1]}::{item.originalname} > [{name.partition('[')[2]}"
    return f"{item.path.name} {line + 1} {within}"
"""
CONFTEST = """
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture(scope="session", params=["hot", "cold"])
def warm_provider(request):
    return OpenAIProvider(model=f"gpt-{request.param}")
"""
FILES = {
    "conftest.py": CONFTEST,
    "a.eval.yaml": """
provider: [openai, anthropic]
evalcases:
  - {id: hello, input_messages: [{role: user, content: hello}]}
""",
    "b.eval.yaml": """
evalcases:
  - id: rows
    parametrize: [{id: one.py, n: 1}, {n: 2}]
    input_messages: [{role: user, content: "{{ n }}"}]
""",
    "c.eval.yaml": """
provider: warm
evalcases:
  - {id: first, input_messages: [{role: user, content: hello}]}
  - {id: second, input_messages: [{role: user, content: hello}]}
""",
    "test_a.py": """
import pytest

@pytest.mark.parametrize("n", [1, 2])
def test_n(n):
    assert n
""",
}
TREE = [
    "c.eval.yaml 4 first[hot]",
    "c.eval.yaml 5 second[hot]",
    "c.eval.yaml 4 first[cold]",
    "c.eval.yaml 5 second[cold]",
    "a.eval.yaml 4 hello[openai]",
    "a.eval.yaml 4 hello[anthropic]",
    "b.eval.yaml 3 rows[one.py]",
    "b.eval.yaml 3 rows[1]",
    "test_a.py 4 ::test_n > [1]",
    "test_a.py 4 ::test_n > [2]",
]


@pytest.fixture
def workspace(run: Run) -> Run:
    run.write({**FILES, "collector.py": COLLECTOR})
    run.pytester.syspathinsert()
    return run


def test_vscode_finds_every_test_of_a_workspace_with_rows_and_providers(workspace: Run) -> None:
    result = workspace("-p", "collector", "--collect-only")
    assert result.ret == 0
    assert sorted((workspace.path / "tree.txt").read_text(encoding="utf-8").splitlines()) == sorted(TREE)


def test_vscode_finds_every_test_where_a_file_cannot_be_collected(workspace: Run) -> None:
    workspace.write({"d.eval.yaml": "evalcases: ["})
    result = workspace("-p", "collector", "--collect-only")
    result.assert_outcomes(errors=1)
    assert sorted((workspace.path / "tree.txt").read_text(encoding="utf-8").splitlines()) == sorted(TREE)


def test_vscode_runs_what_it_has_found(workspace: Run) -> None:
    workspace.update()
    root = workspace.path
    chosen = [f"{root}/a.eval.yaml::hello[anthropic]", f"{root}/b.eval.yaml::rows[one.py]"]
    workspace("-p", "collector", *chosen, f"{root}/c.eval.yaml::second[cold]").assert_outcomes(passed=3)


def test_reports_tell_rows_and_providers_apart_by_their_parameters(workspace: Run) -> None:
    # allure-pytest takes tests with the same parameters for runs of one test, and shows the last.
    workspace.write(
        {
            "parameters.py": """
def pytest_runtest_teardown(item):
    print("parameters:", item.originalname, *item.callspec.params.values())
"""
        }
    )
    workspace.update("a.eval.yaml", "b.eval.yaml")
    result = workspace("-p", "parameters", "-s", "a.eval.yaml", "b.eval.yaml")
    found = [line.partition("parameters: ")[2] for line in result.outlines if "parameters: " in line]
    assert found == ["hello openai", "hello anthropic", "rows one.py", "rows 1"]

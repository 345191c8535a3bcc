"""Runs of pytest over folders of eval files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml

Write = Callable[[Mapping[str, str]], None]

HELLO = """
evalcases:
  - id: hello
    input_messages: [{role: user, content: hello}]
"""


class Run:
    """A folder, and pytest runs in it."""

    def __init__(self, pytester: pytest.Pytester, write: Write) -> None:
        self.pytester = pytester
        self.path = pytester.path
        self.write = write

    def __call__(self, *arguments: str) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)

    def update(self, *arguments: str) -> pytest.RunResult:
        result = self("--snapshot-update", *arguments)
        assert result.ret == 0
        return result

    def snapshots(self) -> list[str]:
        return sorted(
            path.relative_to(self.path).as_posix()
            for path in self.path.rglob("*")
            if "__snapshots__" in path.parts and path.is_file()
        )

    def snapshot(self, name: str) -> dict[str, object]:
        data: dict[str, object] = yaml.safe_load((self.path / name).read_text(encoding="utf-8"))
        return data


@pytest.fixture
def run(pytester: pytest.Pytester, write_files: Write, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest in a folder of its own, in which nothing is set."""
    for variable in (
        # A run within a worker is none itself.
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
        "AZURE_OPENAI_API_KEY",
        "AZURE_OPENAI_ENDPOINT",
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
    ):
        monkeypatch.delenv(variable, raising=False)
    write_files({"pytest.ini": "[pytest]\nfilterwarnings = error\n"})
    return Run(pytester, write_files)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()

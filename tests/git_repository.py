"""A git repository for tests, without the settings of the machine."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

# Called with the arguments of git; gives what it prints.
Git = Callable[..., str]


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Git:
    """Runs git."""
    for name, value in {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout.strip()

    return run


def commit_all(git: Git, folder: Path) -> None:
    """Make a folder a repository, if it is none yet, and commit all that is in it to the branch `main`."""
    git("-C", str(folder), "init", "--quiet", "--initial-branch=main", "--template=")
    git("-C", str(folder), "add", "--all")
    git("-C", str(folder), "commit", "--quiet", "--message=all")

"""Fixtures for all tests: a project folder with eval files in it, and the profiles of hypothesis."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from pytest_chatprompt.evalfile.case import EvalCase
from pytest_chatprompt.evalfile.case_template import CaseTemplate
from pytest_chatprompt.evalfile.loader import InvalidCase, load_eval_file
from pytest_chatprompt.prompt.file_reader import FileReader
from pytest_chatprompt.prompt.request import ProviderRequest, build_request

# A shell that runs the tests in the background ignores these in all of its children, also those that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

pytest_plugins = [
    "pytester",
    "tests.server",
    "tests.raw_server",
    "tests.capture.clients.echo_server",
    "tests.providers.agents.fake_agents",
]

settings.register_profile("fast", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))


@dataclass(frozen=True)
class Project:
    """A root folder for eval files and the files that they name."""

    root: Path

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file below the root folder."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def cases(self, text: str, name: str = "evals/a.eval.yaml") -> tuple[EvalCase, ...]:
        """Load the cases of an eval file, with their variables filled in; an invalid case raises its error."""
        cases: list[EvalCase] = []
        for case in load_eval_file(self.write(name, text), self.root):
            if isinstance(case, InvalidCase):
                raise case.error
            cases.append(case.render() if isinstance(case, CaseTemplate) else case)
        return tuple(cases)

    def case(self, body: str, head: str = "") -> EvalCase:
        """Load an eval file with one case.

        Args:
            body: the keys of the case, without its id.
            head: the keys of the file, without `evalcases`.
        """
        indented = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
        return self.cases(f"{head}\nevalcases:\n  - id: a\n{indented}")[0]

    def request(self, body: str, head: str = "", project_system_prompt: str | None = None) -> ProviderRequest:
        """The request that is built from an eval file with one case."""
        return build_request(self.case(body, head), FileReader(self.root), project_system_prompt=project_system_prompt)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty root folder."""
    return Project(tmp_path)


@pytest.fixture
def write_files(pytester: pytest.Pytester) -> Callable[[Mapping[str, str]], None]:
    """Writes files, by their relative paths, into the folder in which pytester runs pytest."""

    def write(files: Mapping[str, str]) -> None:
        for name, content in files.items():
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="")

    return write

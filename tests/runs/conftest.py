"""Project folders for the tests of this folder, and runs of pytest in them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.forked_pytest import PytestProcess, RunApart, StartPytest
from tests.server import Reply, Server
from tests.terminal import Terminal

WriteFiles = Callable[[Mapping[str, str]], None]

HELLO = """
evalcases:
  - id: hello
    input_messages: [{role: user, content: hello}]
"""


# What updates have written and removed in this process, by the files, the options and the environment that they found.
# Of what is different in each test, the port of its server comes into no snapshot, and these variables change none.
_PORT = re.compile(rb"127\.0\.0\.1:\d+")
_OF_THIS_TEST = ("HOME", "USERPROFILE", "PYTEST_DEBUG_TEMPROOT", "PYTEST_CURRENT_TEST")
_updates: dict[object, tuple[dict[str, bytes], set[str]]] = {}


class Run:
    """A project folder, and runs of pytest in it."""

    def __init__(
        self, pytester: pytest.Pytester, write_files: WriteFiles, start_pytest: StartPytest, run_apart: RunApart
    ) -> None:
        self.pytester = pytester
        self._start_pytest = start_pytest
        self._run_apart = run_apart
        self.path = pytester.path
        self.write = write_files

    def __call__(self, *arguments: str) -> pytest.RunResult:
        """Run pytest."""
        return self.pytester.runpytest_inprocess("-p", "no:cacheprovider", *arguments)

    def apart(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own."""
        return self._run_apart("-p", "no:cacheprovider", *arguments)

    def start(self, *arguments: str) -> PytestProcess:
        """Start pytest in a process of its own; its output is in the file `output`."""
        with (self.path / "output").open("wb") as output:
            return self._start_pytest("-p", "no:cacheprovider", *arguments, folder=self.path, output=output.fileno())

    def start_in(self, terminal: Terminal, *arguments: str) -> PytestProcess:
        """Start pytest in a terminal."""
        options = ("-p", "no:cacheprovider", *arguments)
        return self._start_pytest(*options, folder=self.path, given=terminal.descriptor, output=terminal.descriptor)

    def output(self) -> str:
        """What the process has written so far."""
        return (self.path / "output").read_text(encoding="utf-8")

    def update(self, *arguments: str) -> pytest.RunResult:
        """Run pytest with `--snapshot-update`, successfully."""
        result = self("--snapshot-update", *arguments)
        assert result.ret == 0
        return result

    def with_snapshots(self, *arguments: str) -> Run:
        """This project with the snapshots that an update writes, or its recordings too, for tests of what comes after it.

        pytest runs only for the first project with these files in this process; the others get what it wrote then.
        """
        files = self._files()
        contents = frozenset((name, _PORT.sub(b"", content)) for name, content in files.items())
        key = arguments, contents, frozenset(item for item in os.environ.items() if item[0] not in _OF_THIS_TEST)
        if key not in _updates:
            self.update(*arguments)
            left = self._files()
            written = dict(left.items() - files.items())
            assert not any(map(_PORT.search, written.values())), "call update(): the port of this test was written"
            _updates[key] = written, files.keys() - left.keys()
        written, removed = _updates[key]
        for name in removed:
            (self.path / name).unlink(missing_ok=True)
        for name, content in written.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        return self

    def _files(self) -> dict[str, bytes]:
        paths = (path for path in self.path.rglob("*") if path.is_file())
        return {path.relative_to(self.path).as_posix(): path.read_bytes() for path in paths}

    def append(self, name: str, content: str) -> None:
        """Add text at the end of a file."""
        self.write({name: (self.path / name).read_text(encoding="utf-8") + content})

    def snapshots(self) -> list[str]:
        """The paths of all files in snapshot folders."""
        return sorted(
            path.relative_to(self.path).as_posix()
            for path in self.path.rglob("*")
            if "__snapshots__" in path.parts and path.is_file()
        )

    def snapshot(self, name: str) -> dict[str, Any]:
        """The data of a snapshot."""
        data: dict[str, Any] = yaml.safe_load((self.path / name).read_text(encoding="utf-8"))
        return data


@pytest.fixture
def run(
    pytester: pytest.Pytester,
    write_files: WriteFiles,
    start_pytest: StartPytest,
    run_apart: RunApart,
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """Runs pytest in an empty project, without any key in the environment."""
    for variable in (
        # These tests may run in a worker of pytest-xdist, but their runs of pytest do not.
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
    return Run(pytester, write_files, start_pytest, run_apart)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


# --- live runs of several cases

LIVE_CONFTEST = """
import pytest
from pytest_chatprompt import OpenAIProvider, ProviderResponse

@pytest.fixture(scope="session")
def openai_provider():
    provider = OpenAIProvider(base_url="{url}", api_key="sk-live-0123456789", {settings})
    yield provider
    provider.close()
"""

# Called with a number of cases, and optionally `conftest` (code to append), `settings` (arguments of the provider) and
# further files.
MakeLiveProject = Callable[..., Run]


def case_ids(count: int) -> list[str]:
    """`c0`, `c1`, ..."""
    return [f"c{number}" for number in range(count)]


def eval_file(ids: Sequence[str], provider: str = "openai") -> str:
    """An eval file whose cases send their own ids."""
    cases = [f"  - id: {name}\n    input_messages: [{{role: user, content: {name}}}]" for name in ids]
    return "\n".join([f"provider: {provider}", "evalcases:", *cases, ""])


@pytest.fixture
def live_project(run: Run, server: Server) -> MakeLiveProject:
    """Makes a project whose cases go to the test server, with their snapshots written."""

    def make(count: int = 8, *, conftest: str = "", settings: str = "max_retries=0", **files: str) -> Run:
        run.write(
            {
                "a.eval.yaml": eval_file(case_ids(count)),
                "conftest.py": LIVE_CONFTEST.format(url=server.url, settings=settings) + conftest,
                **files,
            }
        )
        run.with_snapshots()
        assert server.requests == []
        return run

    server.reply = Reply()
    return make

"""Fixtures for all tests: a project folder with eval files in it, and the profiles of hypothesis."""

from __future__ import annotations

import gc
import os
import pkgutil
import re
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import certifi
import pytest
from _pytest.config import _prepareconfig
from hypothesis import settings
from hypothesis.internal.charmap import intervals_from_codec
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

import pytest_chatprompt
from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.loader import load_eval_file
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.request import ProviderRequest, build_request
from pytest_chatprompt.text.yaml import parse_yaml

# A shell that runs the tests in the background ignores these in all of its children, also those that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def trying_again(install: Callable[[Any], None]) -> Callable[[Any], None]:
    """`sys.settrace`, again where another thread installs a function at the same moment.

    Before 3.12 Python refuses the second one, and calls audit hooks in between, of which the guard is one: threads that
    begin together under coverage fail now and then.
    """

    @wraps(install)
    def install_or_retry(function: Any) -> None:
        for _ in range(100):
            with suppress(RuntimeError):
                return install(function)
            time.sleep(0)
        return install(function)

    return install_or_retry


if sys.version_info < (3, 12):
    sys.settrace = trying_again(sys.settrace)

# The machine's own settings would change what tests see: `CI` lengthens pytest's summary, a key makes a secret of its
# value, a proxy or a colour changes what is sent and printed. What a test needs, it sets.
MACHINE_VARIABLES = re.compile(
    r"PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_\w+|TMPDIR|TEMP|TMP|SYSTEMROOT|LD_LIBRARY_PATH|VIRTUAL_ENV"
    r"|PYTHON(PATH|HOME|HASHSEED|DONTWRITEBYTECODE|PYCACHEPREFIX)|(PYTEST|COVERAGE|COV|HYPOTHESIS|MUTANT)_\w+"
)
for variable in [name for name in os.environ if not MACHINE_VARIABLES.fullmatch(name)]:
    del os.environ[variable]

pytest_plugins = [
    "pytester",
    "tests.forked_workers",
    "tests.forked_pytest",
    "tests.git_repository",
    "tests.inner_runs",
    "tests.installed",
    "tests.server",
    "tests.raw_server",
    "tests.capture.clients.echo_server",
    "tests.providers.agents.fake_agents",
]

# What pytest would register in each run within a test; a test that needs one asks for the fixture `use_plugin`.
UNUSED_PLUGINS = (
    "hypothesispytest",
    "anyio",
    "asyncio",
    "timeout",
    "rerunfailures",
    "pytest-split",
    "xdist.looponfail",
    "doctest",
    "faulthandler",
    "legacypath",
    "pastebin",
)

settings.register_profile("fast", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=5000)
profile = os.environ.get("HYPOTHESIS_PROFILE", "fast")
settings.load_profile(profile)
if profile == "fast":
    # Else hypothesis tries what literals stand in the modules that are imported so far. To read them takes seconds on
    # a fresh clone, and the examples change with each literal and with the order of the tests; `make fuzz` does it.
    providers._get_local_constants = Constants


P = ParamSpec("P")
T = TypeVar("T")


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
        """Load the cases of an eval file, with their variables filled in; an invalid case raises its error.

        The JSON Schema must accept each file that loads.
        """
        # The environments of `make test-clients` have no validator.
        from tests.eval_schema import schema_problems  # noqa: PLC0415

        loaded = load_eval_file(self.write(name, text), self.root)
        if all(isinstance(case.written, EvalCase) for case in loaded):
            assert schema_problems(parse_yaml(text).data()) == []
        return tuple(case.render() for case in loaded)

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
def schema_agrees(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Asserts that the schema refuses an invalid eval file as well.

    A row of a table that it cannot refuse says why: `marks=pytest.mark.beyond_schema("reason")`.
    """
    from tests.eval_schema import editor_problems  # noqa: PLC0415

    mark = request.node.get_closest_marker("beyond_schema")

    def check(path: Path) -> None:
        problems = editor_problems(path.read_text(encoding="utf-8"))
        if mark is None:
            assert problems, "the JSON Schema accepts this file; say why with the mark beyond_schema"
        else:
            (reason,) = mark.args
            assert not problems, f"the JSON Schema refuses this file, although: {reason}"

    return check


@pytest.fixture(scope="session")
def _imported_package() -> None:
    """Imports every module of the package: pytester drops after each run in this process what that run imported first."""
    for module in pkgutil.walk_packages(pytest_chatprompt.__path__, "pytest_chatprompt."):
        import_module(module.name)
    # The environments of `make test-clients` have no price list.
    with suppress(ImportError):
        import_module("genai_prices.data")
    freeze_objects()


def unmeasured(function: Callable[P, T]) -> Callable[P, T]:
    """The same function, whose coverage is not measured, since measuring doubles its time."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        trace = sys.gettrace()
        sys.settrace(None)
        try:
            return function(*args, **kwargs)
        finally:
            sys.settrace(trace)

    return call


def freeze_objects() -> None:
    """Let full collections of garbage pass over all objects that are there now: tests, and what they have imported."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Hypothesis looks at each character of Unicode once for each fresh clone; that takes long where it is measured."""
    unmeasured(intervals_from_codec)("utf-8")
    freeze_objects()


@pytest.fixture
def pytester(
    _imported_package: None,
    _remembered_distributions: None,
    _quick_registration: None,
    _forked_workers: None,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> pytest.Pytester:
    """Runs pytest in projects, with no more plugins than the tests need, which each process of a run has to import."""
    # Files of a project may change between two runs of one second: bytecode of them would be taken for the new one.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{plugin}" for plugin in UNUSED_PLUGINS))
    # It looks at each attribute of each plugin, in each run; the run that these tests are in warns as well.
    monkeypatch.setattr("_pytest.fixtures.FixtureManager._check_for_wrapped_fixture", lambda *_: None, raising=False)
    monkeypatch.setattr("_pytest.config._prepareconfig", unmeasured(_prepareconfig))
    return pytester


@pytest.fixture
def use_plugin(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets runs of pytest in the test have one of the plugins that the others do without, such as `timeout`."""

    def use(name: str) -> None:
        assert f"-p no:{name}" in os.environ["PYTEST_ADDOPTS"]
        # With `-p doctest` behind `-p no:doctest` pytest adds the options of the plugin twice, and fails.
        monkeypatch.setenv("PYTEST_ADDOPTS", os.environ["PYTEST_ADDOPTS"].replace(f"-p no:{name}", ""))

    return use


@pytest.fixture(scope="session", autouse=True)
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lets every HTTP client load one certificate: all of them take 40 ms a client, and no test needs any.

    Clients read the variable, which is removed offline, and otherwise ask certifi.
    """
    end = "-----END CERTIFICATE-----\n"
    file = tmp_path_factory.mktemp("certificates") / "one.pem"
    file.write_text(Path(certifi.where()).read_text(encoding="utf-8").partition(end)[0] + end, encoding="utf-8")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
        monkeypatch.setattr(certifi, "where", lambda: str(file))
        yield


@pytest.fixture(autouse="COVERAGE_PROCESS_CONFIG" in os.environ)
def unmeasured_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measures the coverage of processes only in tests with the mark `measures_processes`: it doubles their time."""
    if request.node.get_closest_marker("measures_processes") is None:
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.fixture
def write_files(pytester: pytest.Pytester) -> Callable[[Mapping[str, str]], None]:
    """Writes files, by their relative paths, into the folder in which pytester runs pytest."""

    def write(files: Mapping[str, str]) -> None:
        for name, content in files.items():
            path = pytester.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", newline="")

    return write

"""The garbage of a run: what stays is not looked at again and again, and what ends is collected as ever."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from tests.items.conftest import HELLO, Run

# The inner run begins without frozen objects, as the run of a project does.
SHOWS_FROZEN = """
import gc
import pytest

gc.unfreeze()

def show(when):
    print("\\n>", when, gc.get_freeze_count() > 0)

@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.add_cleanup(lambda: show("last"))

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    show("test")
    return (yield)

def pytest_collection(session):
    show("before")
    session.config.add_cleanup(lambda: show("cleanup"))
"""


@pytest.fixture(autouse=True)
def _frozen_objects() -> Iterator[None]:
    """Freezes all objects again, as the tests of this project do."""
    yield
    gc.freeze()


def shown(result: pytest.RunResult) -> list[str]:
    """What the project's code printed, a line each."""
    return [line.partition("> ")[2] for line in result.outlines if "> " in line]


# Instead of that of all tests, which makes warnings errors.
NO_FILTERS = "[pytest]\n"


@pytest.mark.parametrize(
    "ini",
    [
        pytest.param(NO_FILTERS, id="no filters of warnings"),
        pytest.param(f"{NO_FILTERS}filterwarnings = ignore::ResourceWarning", id="hidden warnings"),
        pytest.param(f"{NO_FILTERS}filterwarnings = i::ResourceWarning", id="hidden warnings, in short"),
    ],
)
def test_what_a_run_of_cases_keeps_is_frozen_to_its_end(run: Run, ini: str) -> None:
    run.write({"conftest.py": SHOWS_FROZEN, "pytest.ini": ini, "a.eval.yaml": HELLO})
    result = run("-s", "--snapshot-update")
    result.assert_outcomes(passed=1)
    assert shown(result) == ["before False", "test True", "cleanup True", "last False"]


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({"a.eval.yaml": HELLO, "test_x.py": "def test_it(): ..."}, id="beside cases"),
        pytest.param({"test_x.py": "def test_it(eval_snapshot): ..."}, id="alone"),
    ],
)
def test_nothing_is_frozen_while_tests_of_the_project_run(run: Run, files: dict[str, str]) -> None:
    run.write({"conftest.py": SHOWS_FROZEN, "pytest.ini": NO_FILTERS, **files})
    result = run("-s", "--snapshot-update")
    result.assert_outcomes(passed=len(files))
    assert {line.split()[1] for line in shown(result)} == {"False"}


@pytest.mark.parametrize(
    ("ini", "options"),
    [
        pytest.param(f"{NO_FILTERS}filterwarnings = error", (), id="in the ini file"),
        pytest.param(NO_FILTERS, ("-W", "always::ResourceWarning"), id="on the command line"),
        pytest.param(NO_FILTERS, ("-W", "::ResourceWarning"), id="the default action"),
    ],
)
def test_nothing_is_frozen_where_the_project_asks_for_warnings(run: Run, ini: str, options: tuple[str, ...]) -> None:
    run.write({"conftest.py": SHOWS_FROZEN, "pytest.ini": ini, "a.eval.yaml": HELLO})
    result = run("-s", "--snapshot-update", *options)
    result.assert_outcomes(passed=1)
    assert {line.split()[1] for line in shown(result)} == {"False"}


BROKEN = """
class Broken:
    def __init__(self):
        self.me = self
    def __del__(self):
        raise ValueError("broken finalizer")
"""


def test_an_error_in_the_finalizer_of_what_the_project_kept_fails_the_run_where_warnings_are_errors(run: Run) -> None:
    conftest = """
kept = [Broken()]

def pytest_sessionfinish():
    kept.clear()
"""
    run.write({"a.eval.yaml": HELLO})
    run.update()
    run.write({"conftest.py": BROKEN + conftest})
    # A new process: one that is forked from another has its frozen objects.
    result = run.pytester.runpytest_subprocess("-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "PytestUnraisableExceptionWarning" in result.stderr.str()
    assert "ValueError: broken finalizer" in result.stderr.str()


def test_what_the_process_has_frozen_stays_frozen(run: Run) -> None:
    run.write(
        {
            "conftest.py": SHOWS_FROZEN.replace("gc.unfreeze", "gc.freeze"),
            "pytest.ini": NO_FILTERS,
            "a.eval.yaml": HELLO,
        }
    )
    result = run("-s", "--snapshot-update")
    result.assert_outcomes(passed=1)
    assert shown(result) == ["before True", "test True", "cleanup True", "last True"]


def test_an_error_in_the_finalizer_of_garbage_is_told(run: Run) -> None:
    conftest = """
import gc
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    Broken()
    print("frozen:", gc.get_freeze_count() > 0)
    return (yield)
"""
    run.write({"pytest.ini": NO_FILTERS, "a.eval.yaml": HELLO})
    run.update()
    run.write({"conftest.py": BROKEN + conftest})
    # In a process of its own: pytest collects no garbage at the end of a run within another.
    assert run.start("-s").wait(60) == pytest.ExitCode.OK
    assert "frozen: True" in run.output()
    assert "PytestUnraisableExceptionWarning" in run.output()
    assert "ValueError: broken finalizer" in run.output()

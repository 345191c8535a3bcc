"""Redaction: no report of a run with eval files shows a secret, whichever test it is about."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from pytest_chatprompt.capture.redaction import Redactor
from pytest_chatprompt.items.redaction_hooks import RedactionHooks
from tests.items.conftest import HELLO, Run

KEY = "sk-live-0123456789abcdef"

PYTHON_TESTS = f"""
import logging
import sys
import threading
import warnings

import pytest

KEY = "{KEY}"


def test_fails():
    assert KEY == "other"


def test_raises_from_another_error():
    try:
        raise ValueError(f"first {{KEY}}")
    except ValueError as error:
        raise RuntimeError(f"second {{KEY}}") from error


def test_shows_a_repr():
    raise ValueError({{"key": KEY, "lines": [f"a {{KEY}}"]}})


@pytest.mark.xfail(reason=f"because of {{KEY}}")
def test_xfails():
    assert False


@pytest.mark.skip(reason=f"not with {{KEY}}")
def test_is_skipped():
    pass


def test_skips_itself():
    pytest.skip(f"not now {{KEY}}")


def test_warns():
    warnings.warn(f"watch out {{KEY}}")


def test_an_error_of_a_thread():
    def run():
        raise ValueError(f"in a thread {{KEY}}")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()


def test_prints_and_logs(record_property):
    print(f"printed {{KEY}}")
    sys.stderr.writelines([f"written {{KEY}}"])
    logging.getLogger("app").warning("logged %s", KEY)
    record_property("key", KEY)
    record_property("number", 3)
    assert False


@pytest.fixture
def leaking():
    yield
    raise ValueError(f"teardown {{KEY}}")


def test_fails_in_teardown(leaking):
    pass
"""


@pytest.fixture
def leaking(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project with an eval file, Python tests that leak a key in many ways, and the key in the environment."""
    monkeypatch.setenv("APP_API_KEY", KEY)
    run.write({"pytest.ini": "[pytest]\nfilterwarnings = default\n", "a.eval.yaml": HELLO, "test_b.py": PYTHON_TESTS})
    run("--snapshot-update", "a.eval.yaml")
    return run


def everything_written(run: Run, result: pytest.RunResult) -> str:
    files = [path for path in run.path.rglob("*") if path.suffix in (".xml", ".log", ".json") and path.is_file()]
    return "\n".join([result.stdout.str(), result.stderr.str(), *(path.read_text() for path in files)])


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="terminal"),
        pytest.param(["-vv", "-rA", "--showlocals"], id="all details"),
        pytest.param(["--tb=line"], id="one line"),
        pytest.param(["--full-trace"], id="full trace"),
        pytest.param(["--junitxml=out.xml", "-o", "junit_logging=all", "-o", "junit_family=xunit1"], id="JUnit"),
        pytest.param(["--log-cli-level=INFO"], id="live log"),
        pytest.param(["--log-file=out.log", "--log-file-level=INFO"], id="log file"),
        pytest.param(["-s"], id="no capture"),
        pytest.param(["--capture=tee-sys"], id="tee"),
        pytest.param(["--debug=debug.log"], id="debug file"),
        pytest.param(["-n", "2", "-rA"], id="workers"),
    ],
)
def test_no_report_shows_a_secret(leaking: Run, arguments: list[str]) -> None:
    result = leaking(*arguments)
    result.assert_outcomes(passed=4, failed=4, skipped=2, xfailed=1, errors=1, warnings=2)
    written = everything_written(leaking, result)
    assert KEY not in written
    assert "[secret]" in written


def test_a_file_that_cannot_be_collected_shows_no_secret(leaking: Run) -> None:
    leaking.write({"test_c.py": f"raise ValueError('at import {KEY}')\n"})
    result = leaking("--continue-on-collection-errors")
    assert KEY not in result.stdout.str()
    result.stdout.fnmatch_lines(["E   ValueError: at import [[]secret[]]"])


def test_caplog_and_capsys_see_what_was_written(leaking: Run) -> None:
    leaking.write(
        {
            "test_b.py": f"""
import logging

def test_it(caplog, capsys):
    logging.getLogger("app").warning("logged %s", "{KEY}")
    print("{KEY}")
    assert caplog.messages == ["logged {KEY}"]
    assert capsys.readouterr().out == "{KEY}\\n"
"""
        }
    )
    leaking().assert_outcomes(passed=2)


def test_without_an_eval_file_nothing_is_redacted(leaking: Run) -> None:
    Path(leaking.path, "a.eval.yaml").unlink()
    assert KEY in leaking("test_b.py").stdout.str()


def test_afterwards_logging_and_output_are_as_before(leaking: Run) -> None:
    handlers, factory, streams = logging.root.handlers[:], logging.getLogRecordFactory(), (sys.stdout, sys.stderr)
    leaking("-s")
    assert (logging.root.handlers, logging.getLogRecordFactory(), (sys.stdout, sys.stderr)) == (
        handlers,
        factory,
        streams,
    )


def test_plugins_that_look_at_errors_and_reports_see_no_secret(leaking: Run) -> None:
    leaking.write(
        {
            "conftest.py": """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.excinfo is not None:
        with open("seen.log", "a") as file:
            print(item.name, call.excinfo.value, outcome.get_result().longrepr, file=file)
"""
        }
    )
    leaking()
    seen = Path(leaking.path, "seen.log").read_text()
    assert "test_raises_from_another_error" in seen
    assert KEY not in seen


def test_a_warning_that_is_only_text_is_redacted(pytestconfig: pytest.Config) -> None:
    class Recorded:
        message = f"text {KEY}"

    hooks = RedactionHooks(pytestconfig, Redactor({"APP_API_KEY": KEY}))
    hooks.pytest_warning_recorded(Recorded)
    assert Recorded.message == "text [secret]"

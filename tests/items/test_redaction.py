"""Redaction: no report of a run with eval files shows a secret, whichever test it is about."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.items.redaction_hooks import RedactionHooks
from tests.items.conftest import HELLO, Run

KEY = "sk-live-0123456789abcdef"

PYTHON_TESTS = f"""
import logging
import sys
import threading
import unittest
import warnings

import pytest

KEY = "{KEY}"
early = logging.getLogger("early")
early.addHandler(logging.StreamHandler())


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
    early.warning("logged by a handler that is older than the test %s", KEY)
    record_property("key", KEY)
    record_property("keys", [KEY, (KEY, {{KEY: 5}})])
    record_property("number", 3)
    assert False


def test_compares_long_texts():
    assert f"{{KEY * 20}} and more" == f"{{KEY * 20}}"


def test_compares_data():
    assert [{{"a": KEY + "1"}}, {{KEY}}] == [{{"a": KEY + "2"}}, {{KEY}}]


def test_shows_long_locals():
    before, after = "x" * 110, "y" * 110
    shown = before + KEY + after
    assert shown == 5


def test_raises_a_group():
    raise ExceptionGroup("several", [ValueError(f"one {{KEY}}"), ExceptionGroup("x", [KeyError(KEY)])])


def test_raises_a_group_with_a_text():
    raise ExceptionGroup(f"several {{KEY}}", [ValueError(KEY)])


def test_raises_bytes():
    raise ValueError(KEY.encode())


def test_raises_with_a_text_of_its_own():
    raise OwnError


class OwnError(Exception):
    def __str__(self):
        return f"own text {{KEY}}"


class TestUnit(unittest.TestCase):
    def test_compares(self):
        self.assertEqual(KEY, "other")


def test_raises_with_a_note():
    error = ValueError("see the note")
    error.add_note(f"a note {{KEY}}")
    raise error


def test_misses_a_file():
    open(f"/nowhere/{{KEY}}")


def test_does_not_import():
    raise ImportError(f"cannot import {{KEY}}", name=KEY, path=KEY)


def add(a, b):
    '''
    >>> add("", KEY)
    5
    '''
    return a + b


@pytest.fixture
def leaking():
    yield
    raise ValueError(f"teardown {{KEY}}")


def test_fails_in_teardown(leaking):
    pass
"""


@pytest.fixture
def leaking(run: Run, use_plugin: Callable[[str], None], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project with an eval file, Python tests that leak a key in many ways, and the key in the environment."""
    use_plugin("doctest")
    monkeypatch.setenv("APP_API_KEY", KEY)
    run.write(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = default\naddopts = --doctest-modules\n",
            "a.eval.yaml": HELLO,
            "test_b.py": PYTHON_TESTS,
        }
    )
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
        pytest.param(["-n", "2", "-rA"], id="workers"),
    ],
)
def test_no_report_shows_a_secret(leaking: Run, arguments: list[str]) -> None:
    result = leaking(*arguments)
    result.assert_outcomes(passed=4, failed=16, skipped=2, xfailed=1, errors=1, warnings=2)
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


def test_streams_loggers_finalizers_and_tracers_are_left_alone(leaking: Run) -> None:
    leaking.write(
        {
            "test_a_first.py": """
import logging, sys

def state(config):
    logging_plugin = config.pluginmanager.get_plugin("logging-plugin")
    names = "report_handler", "log_cli_handler", "log_file_handler", "caplog_handler"
    handlers = [getattr(logging_plugin, name) for name in names]
    return [
        *((handler, handler.formatter, vars(handler).keys()) for handler in handlers),
        *((stream.write, sorted(vars(stream))) for stream in (sys.stdout, sys.stderr)),
        (logging.Logger.handle, logging.Handler.handle, logging.getLogRecordFactory()),
        (logging.root.handlers, logging.root.filters, config.trace.root._writer),
    ]

def test_before(pytestconfig):
    pytestconfig.before = state(pytestconfig)

def test_it(eval_api):
    pass

def test_after(pytestconfig):
    assert state(pytestconfig) == pytestconfig.before
"""
        }
    )
    for arguments in ([], ["-s"], ["--log-cli-level=INFO", "--log-file=out.log", "--debug=debug.log"]):
        leaking(*arguments, "test_a_first.py").assert_outcomes(passed=3)


def test_plugins_that_look_at_errors_and_reports_see_no_secret(leaking: Run) -> None:
    leaking.write(
        {
            "conftest.py": f"KEY = {KEY!r}"
            + """
import logging
import traceback

import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if call.excinfo is not None:
        error = call.excinfo.value
        with open("seen.log", "a") as file:
            print(item.name, error, repr(error), type(error).__name__, report.longrepr, vars(report), file=file)
            traceback.print_exception(error, file=file)
    report.own = {"key": [KEY], "records": [logging.makeLogRecord({"msg": KEY}).__dict__]}

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    with open("seen.log", "a") as file:
        print(vars(report), file=file)
"""
        }
    )
    leaking()
    seen = Path(leaking.path, "seen.log").read_text()
    assert "test_raises_from_another_error second [secret] RuntimeError('second [secret]') RuntimeError" in seen
    assert "test_raises_with_a_text_of_its_own own text [secret] OwnError() OwnError" in seen
    assert "'own': {'key': ['[secret]']" in seen
    assert KEY not in seen


def test_parameters_of_subtests_show_no_secret(leaking: Run) -> None:
    leaking.write(
        {
            "test_b.py": f"""
import unittest

KEY = "{KEY}"

def test_fails(subtests):
    with subtests.test(f"with {{KEY}}", key=KEY, keys=[KEY]):
        assert False


class TestUnit(unittest.TestCase):
    def test_fails(self):
        with self.subTest(f"with {{KEY}}", key=KEY):
            self.fail()
""",
            # What pytest-reportlog writes, and what pytest-xdist sends.
            "conftest.py": """
import json
import pytest

@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    config = pytest.current_config
    with open("seen.log", "a") as file:
        json.dump(config.hook.pytest_report_to_serializable(config=config, report=report), file)

def pytest_configure(config):
    pytest.current_config = config
""",
        }
    )
    result = leaking("-rA")
    assert KEY not in everything_written(leaking, result)
    seen = Path(leaking.path, "seen.log").read_text()
    assert """{"msg": "with [secret]", "kwargs": {"key": "'[secret]'", "keys": "['[secret]']"}}""" in seen
    assert """{"msg": "with [secret]", "kwargs": {"key": "'[secret]'"}}""" in seen


@pytest.mark.parametrize(
    ("code", "outcome", "line"),
    [
        (f"raise ValueError('at import {KEY}')", "errors", "E   ValueError: at import [[]secret[]]"),
        (
            f"import pytest\npytest.skip('not with {KEY}', allow_module_level=True)",
            "skipped",
            "SKIPPED * not with [[]secret[]]",
        ),
    ],
    ids=["an error", "a skip"],
)
def test_a_file_that_is_collected_before_any_eval_file_shows_no_secret(
    leaking: Run, code: str, outcome: str, line: str
) -> None:
    leaking.write(
        {
            "a_first/test_a.py": code,
            "z_last/z.eval.yaml": HELLO,
            "conftest.py": """
def pytest_collectreport(report):
    write(report.longrepr)

def pytest_exception_interact(call):
    write(call.excinfo.value)

def write(shown):
    with open("seen.log", "a") as file:
        print(shown, file=file)
""",
        }
    )
    leaking.update("z_last")
    # pytest looks at it on its way to the first folder.
    Path(leaking.path, "a.eval.yaml").unlink()
    result = leaking("a_first", "z_last", "--continue-on-collection-errors", "-rs")
    # Two, as a module of tests and as one of doctests.
    result.assert_outcomes(passed=1, **{outcome: 2})
    result.stdout.fnmatch_lines([line])
    assert KEY not in result.stdout.str()
    assert KEY not in (leaking.path / "seen.log").read_text()


def test_an_internal_error_shows_no_secret(leaking: Run) -> None:
    leaking.write({"conftest.py": f"def pytest_runtest_logfinish():\n    key = '{KEY}'\n    raise ValueError(key)\n"})
    result = leaking("--showlocals")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(["INTERNALERROR> *ValueError: [[]secret[]]"])
    assert KEY not in result.stdout.str() + result.stderr.str()


@pytest.mark.parametrize("arguments", [[], ["--full-trace", "--showlocals"]], ids=["short", "full trace"])
def test_the_reason_of_an_early_end_shows_no_secret(leaking: Run, arguments: list[str]) -> None:
    leaking.write({"test_b.py": f"import pytest\ndef test_it():\n    key = '{KEY}'\n    pytest.exit(key)\n"})
    result = leaking(*arguments)
    result.stdout.fnmatch_lines(["!* *Exit: [[]secret[]] !*"])
    assert KEY not in result.stdout.str() + result.stderr.str()


def test_the_terminal_shows_no_secret_in_the_name_of_a_test(leaking: Run) -> None:
    test = f"import pytest\n@pytest.mark.parametrize('key', ['{KEY}'])\ndef test_it(key):\n    assert 0\n"
    leaking.write({"test_b.py": test})
    result = leaking("-vv")
    result.stdout.fnmatch_lines(["test_b.py::test_it[[][[]secret[]][]] FAILED*"])
    assert KEY not in result.stdout.str()


def test_runs_without_logging_and_terminal_are_redacted(leaking: Run) -> None:
    result = leaking(
        "-p", "no:logging", "-p", "no:terminal", "--junitxml=out.xml", "a.eval.yaml", "test_b.py::test_fails"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert KEY not in everything_written(leaking, result)


def test_the_data_of_a_test_stays_as_it_is(leaking: Run) -> None:
    leaking.write(
        {
            "test_b.py": f"""
from dataclasses import dataclass
import pytest

@dataclass
class Settings:
    api_key: str

@pytest.fixture(scope="session")
def settings():
    return Settings("{KEY}")

def test_fails(settings):
    raise ValueError(settings)

def test_compares(settings):
    assert [settings.api_key] == [settings, 5]

def test_passes(settings):
    assert settings.api_key == "{KEY}"
"""
        }
    )
    leaking().assert_outcomes(passed=2, failed=2)


def test_the_records_in_the_report_of_pytest_json_report_hold_no_secret(pytestconfig: pytest.Config) -> None:
    report = {"tests": [{"call": {"log": [{"msg": f"logged {KEY}", "lineno": 5}]}}]}
    RedactionHooks(pytestconfig, Redactor({"APP_API_KEY": KEY})).pytest_json_modifyreport(report)
    assert report == {"tests": [{"call": {"log": [{"msg": "logged [secret]", "lineno": 5}]}}]}


def test_a_report_of_pytest_json_report_without_a_secret_stays_as_it_is(pytestconfig: pytest.Config) -> None:
    report = {"tests": [{"nodeid": "a"}]}
    RedactionHooks(pytestconfig, Redactor({"APP_API_KEY": KEY})).pytest_json_modifyreport(report)
    assert report == {"tests": [{"nodeid": "a"}]}


def test_a_warning_that_is_only_text_is_redacted(pytestconfig: pytest.Config) -> None:
    class Recorded:
        message = f"text {KEY}"

    hooks = RedactionHooks(pytestconfig, Redactor({"APP_API_KEY": KEY}))
    hooks.pytest_warning_recorded(Recorded)
    assert Recorded.message == "text [secret]"

"""Redaction: no report of an eval item, or of a test with `eval_api`, shows a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.conftest import HELLO, Run

KEY = "sk-live-0123456789abcdef"

PYTHON_TESTS = f"""
import logging
import sys
import unittest

import pytest

KEY = "{KEY}"
pytestmark = pytest.mark.usefixtures("eval_api")


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


def test_skips_itself():
    pytest.skip(f"not now {{KEY}}")


def test_prints_and_logs(record_property):
    print(f"printed {{KEY}}")
    sys.stderr.writelines([f"written {{KEY}}"])
    logging.getLogger("app").warning("logged %s", KEY)
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


@pytest.fixture
def leaking():
    yield
    raise ValueError(f"teardown {{KEY}}")


def test_fails_in_teardown(leaking):
    pass
"""


@pytest.fixture
def leaking(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project whose tests leak a key of the environment in many ways."""
    monkeypatch.setenv("APP_API_KEY", KEY)
    run.write({"pytest.ini": "[pytest]\nfilterwarnings = default\n", "test_b.py": PYTHON_TESTS})
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
        pytest.param(["--junitxml=out.xml", "-o", "junit_logging=all", "-o", "junit_family=xunit1"], id="JUnit"),
        pytest.param(["-n", "2", "-rA"], id="workers"),
    ],
)
def test_no_report_shows_a_secret(leaking: Run, arguments: list[str]) -> None:
    result = leaking(*arguments)
    result.assert_outcomes(passed=1, failed=15, skipped=1, xfailed=1, errors=1)
    written = everything_written(leaking, result)
    assert KEY not in written
    assert "[secret]" in written


def test_a_full_trace_shows_no_secret(leaking: Run) -> None:
    # Each one shows the code of pytest, which takes long.
    result = leaking("--full-trace", "-k", "raises_from_another_error or raises_a_group_with_a_text")
    result.assert_outcomes(failed=2)
    assert KEY not in result.stdout.str()
    assert result.stdout.str().count("[secret]") >= 4


def test_caplog_and_capsys_see_what_was_written(leaking: Run) -> None:
    leaking.write(
        {
            "test_b.py": f"""
import logging

def test_it(caplog, capsys, eval_api):
    logging.getLogger("app").warning("logged %s", "{KEY}")
    print("{KEY}")
    assert caplog.messages == ["logged {KEY}"]
    assert capsys.readouterr().out == "{KEY}\\n"
"""
        }
    )
    leaking().assert_outcomes(passed=1)


def test_reports_of_other_tests_are_left_alone(leaking: Run) -> None:
    leaking.write({"test_b.py": f"def test_first(eval_api):\n    pass\ndef test_it():\n    assert '{KEY}' == ''\n"})
    assert KEY in leaking().stdout.str()


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
        (sys.gettrace, sys.settrace, config.get_terminal_writer().write),
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


def test_plugins_that_show_reports_show_no_secret(leaking: Run) -> None:
    leaking.write(
        {
            "conftest.py": f"KEY = {KEY!r}"
            + """
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    report.own = {"key": [KEY]}
    return report

def pytest_runtest_logreport(report):
    with open("seen.log", "a") as file:
        print(report.longreprtext, vars(report), file=file)
"""
        }
    )
    leaking()
    seen = Path(leaking.path, "seen.log").read_text()
    assert "RuntimeError: second [secret]" in seen
    assert "OwnError: own text [secret]" in seen
    assert "'own': {'key': ['[secret]']" in seen
    assert KEY not in seen


def test_parameters_of_subtests_show_no_secret(leaking: Run) -> None:
    leaking.write(
        {
            "test_b.py": f"""
import unittest
import pytest

KEY = "{KEY}"

pytestmark = pytest.mark.usefixtures("eval_api")

def test_fails(subtests):
    print(KEY)
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
    assert seen.count('"_subtest.context": {"msg": "with [secret]", "kwargs": {"key": ') == 2
    assert KEY not in seen


def test_runs_without_logging_and_terminal_are_redacted(leaking: Run) -> None:
    result = leaking("-p", "no:logging", "-p", "no:terminal", "--junitxml=out.xml", "test_b.py::test_fails")
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

def test_fails(settings, eval_api):
    raise ValueError(settings)

def test_compares(settings, eval_api):
    assert [settings.api_key] == [settings, 5]

def test_passes(settings):
    assert settings.api_key == "{KEY}"
"""
        }
    )
    result = leaking()
    result.assert_outcomes(passed=1, failed=2)
    assert KEY not in result.stdout.str()


def test_a_report_without_a_secret_is_shown_as_pytest_shows_it(leaking: Run) -> None:
    leaking.write({"test_b.py": "def test_it(eval_api):\n    one = [1, 2]\n    assert one == [1, 3]\n"})
    shown = leaking("-vv", "--color=yes", "--showlocals").stdout.str()
    leaking.write({"test_b.py": "def test_it():\n    one = [1, 2]\n    assert one == [1, 3]\n"})
    assert shown.count("\033[") == leaking("-vv", "--color=yes", "--showlocals").stdout.str().count("\033[")


def test_the_name_of_a_secret_s_test_is_cleaned_in_junit(leaking: Run) -> None:
    test = f"import pytest\n@pytest.mark.parametrize('key', ['{KEY}'])\ndef test_it(key, eval_api):\n    assert 0\n"
    leaking.write({"test_b.py": test})
    leaking("--junitxml=out.xml")
    assert KEY not in (leaking.path / "out.xml").read_text()


def test_an_eval_item_shows_no_secret_of_its_fixtures(leaking: Run) -> None:
    conftest = f"import pytest\n@pytest.fixture\ndef openai_provider():\n    raise ValueError('{KEY}')\n"
    leaking.write({"test_b.py": "", "a.eval.yaml": HELLO, "conftest.py": conftest})
    result = leaking("-rA", "--showlocals")
    result.stdout.fnmatch_lines(["E*ValueError: [[]secret[]]"])
    assert KEY not in result.stdout.str()

"""Reports of other plugins show no secret: pytest-html, pytest-json-report and allure-pytest, in one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.items.conftest import HELLO
from tests.items.test_redaction import KEY, PYTHON_TESTS, fragments_in

EVALS = """
evalcases:
  - {id: fails, provider: leaking, input_messages: [{role: user, content: hello}]}
  - {id: error in a fixture, provider: broken, input_messages: [{role: user, content: hello}]}
  - {id: sent, input_messages: [{role: user, content: KEY}]}
"""
CONFTEST = f"""
import logging
import sys
import warnings

import pytest

KEY = "{KEY}"


class Leaking:
    def send(self, request):
        print(f"printed {{KEY}}")
        print(f"printed {{KEY}}", file=sys.stderr)
        logging.getLogger("app").warning("logged %s", KEY)
        warnings.warn(f"watch out {{KEY}}")
        raise ValueError(f"refused with {{KEY}}")


@pytest.fixture
def leaking_provider():
    return Leaking()


@pytest.fixture
def broken_provider():
    print(f"printed by a fixture {{KEY}}")
    raise RuntimeError(f"no provider for {{KEY}}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "xfails" in item.name:
            item.add_marker(pytest.mark.xfail(reason=f"because of {{KEY}}"))
        if "skipped" in item.name:
            item.add_marker(pytest.mark.skip(reason=f"not with {{KEY}}"))
"""
MARKED = """
evalcases:
  - {id: xfails, provider: leaking, input_messages: [{role: user, content: hello}]}
  - {id: skipped, input_messages: [{role: user, content: hello}]}
"""


def test_no_report_shows_a_secret(
    pytester: pytest.Pytester,
    write_files: Callable[[Mapping[str, str]], None],
    use_plugin: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # pytest-json-report asks for `fspath`.
    use_plugin("legacypath")
    monkeypatch.setenv("APP_API_KEY", KEY)
    write_files(
        {
            "pytest.ini": "[pytest]\nfilterwarnings = default\n",
            "conftest.py": CONFTEST,
            "a.eval.yaml": HELLO,
            "b.eval.yaml": EVALS.replace("KEY", KEY),
            "c.eval.yaml": MARKED,
            "test_b.py": PYTHON_TESTS,
            "test_c.py": f"raise ValueError('at import {KEY}')\n",
        }
    )
    result = pytester.runpytest_subprocess(
        "--continue-on-collection-errors",
        "--showlocals",
        "--html=report.html",
        "--self-contained-html",
        "--json-report",
        "--json-report-file=report.json",
        "--alluredir=allure",
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    reports = {
        "pytest-html": (pytester.path / "report.html").read_text(encoding="utf-8"),
        "pytest-json-report": (pytester.path / "report.json").read_text(encoding="utf-8"),
        # In the other files of allure are the errors of fixtures, as they are: it takes them from the fixtures.
        "allure-pytest": "\n".join(read_all(pytester.path / "allure", "*-result.json")),
    }
    assert fragments_in(result.stdout.str() + result.stderr.str()) == []
    assert [name for name, report in reports.items() if fragments_in(report)] == []
    # What would have leaked is in each report, without the key.
    tests = ("error in a fixture", "xfails", "skipped", "test_skips_itself", "test_fails_in_teardown")
    words = ("refused with", "no provider for", "not with", "printed", "logged", "teardown")
    expected = [*tests, *(f"{each} [secret]" for each in words)]
    assert "because of [secret]" in reports["allure-pytest"]  # the others do not write the reasons of xfails
    assert [(name, text) for name, report in reports.items() for text in expected if text not in report] == []


def read_all(folder: Path, pattern: str) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(folder.glob(pattern))]

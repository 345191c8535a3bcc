"""Reports of other plugins: those made of pytest's reports show no secret, and all of them each eval item."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

import pytest

from tests.runs.conftest import HELLO
from tests.runs.test_redaction import KEY, PYTHON_TESTS

EVALS = """
evalcases:
  - {id: fails, provider: leaking, input_messages: [{role: user, content: hello}]}
  - {id: error in a fixture, provider: broken, input_messages: [{role: user, content: hello}]}
  - {id: sent, input_messages: [{role: user, content: KEY}]}
"""
CONFTEST = f"""
import logging
import sys

import pytest

KEY = "{KEY}"


class Leaking:
    def send(self, request):
        print(f"printed {{KEY}}")
        print(f"printed {{KEY}}", file=sys.stderr)
        logging.getLogger("app").warning("logged %s", KEY)
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
ROWS = """
evalcases:
  - id: qa
    provider: [openai, anthropic]
    parametrize: [{id: one}, {id: two}]
    input_messages: [{role: user, content: hello}]
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
        }
    )
    result = pytester.runpytest_subprocess(
        "--showlocals",
        "--html=report.html",
        "--self-contained-html",
        "--json-report",
        "--json-report-file=report.json",
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    reports = {
        "pytest-html": (pytester.path / "report.html").read_text(encoding="utf-8"),
        "pytest-json-report": (pytester.path / "report.json").read_text(encoding="utf-8"),
    }
    assert KEY not in result.stdout.str() + result.stderr.str()
    assert [name for name, report in reports.items() if KEY in report] == []
    # What would have leaked is in each report, without the key.
    tests = ("error in a fixture", "xfails", "skipped", "test_skips_itself", "test_fails_in_teardown")
    words = ("refused with", "no provider for", "not with", "printed", "logged", "teardown")
    expected = [*tests, *(f"{each} [secret]" for each in words)]
    assert [(name, text) for name, report in reports.items() for text in expected if text not in report] == []


def test_allure_tells_rows_and_providers_apart(
    pytester: pytest.Pytester, write_files: Callable[[Mapping[str, str]], None], use_plugin: Callable[[str], None]
) -> None:
    # pytest-recording asks for `fspath`.
    use_plugin("legacypath")
    write_files({"a.eval.yaml": ROWS})
    pytester.runpytest_subprocess("--snapshot-update", "--alluredir=allure").assert_outcomes(passed=4)
    texts = [path.read_text(encoding="utf-8") for path in (pytester.path / "allure").iterdir()]
    results = [json.loads(text) for text in texts if "historyId" in text]
    # Allure shows those of one id as runs of one test.
    assert len({result["historyId"] for result in results}) == 4


def test_an_ide_of_jetbrains_is_told_each_eval_item(
    pytester: pytest.Pytester, write_files: Callable[[Mapping[str, str]], None], use_plugin: Callable[[str], None]
) -> None:
    # pytest-recording asks for `fspath`.
    use_plugin("legacypath")
    write_files({"a.eval.yaml": ROWS})
    pytester.runpytest_subprocess("--teamcity", "--collect-only").stdout.fnmatch_lines(
        ["*##teamcity*testCount* count='4'*"]
    )
    output = pytester.runpytest_subprocess("--teamcity", "a.eval.yaml").stdout.str()
    for name in ("openai-one", "openai-two", "anthropic-one", "anthropic-two"):
        (started, failed, finished) = re.findall(rf"##teamcity\[(test\w+) .*name='a_eval_yaml\.qa\({name}\)'", output)
        assert (started, failed, finished) == ("testStarted", "testFailed", "testFinished")
    assert output.count("what is sent to openai has no snapshot yet|nThere is no __snapshots__") == 2

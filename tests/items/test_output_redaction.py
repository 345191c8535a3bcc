"""Output redaction: it takes part only in runs that show what tests print."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.items.conftest import HELLO, Run

KEY = "sk-live-0123456789abcdef"
HOOKS = ("pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")

CONFTEST = f"""
import pytest

KEY = "{KEY}"

@pytest.fixture
def printing():
    print("set up", KEY)
    yield
    print("torn down", KEY)

@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item):
    hooks = item.config.hook
    for name in {HOOKS}:
        wrappers = [each for each in getattr(hooks, name).get_hookimpls() if each.wrapper]
        own = [each.plugin_name for each in wrappers if each.plugin_name.startswith("chatprompt")]
        with open("wrappers.txt", "a") as file:
            print(name, own, wrappers[0].plugin_name in own, file=file)
"""

TEST = """
from conftest import KEY

def test_it(printing):
    print("tested", KEY)
"""


@pytest.fixture
def printing(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A project with an eval file and a test that prints a key, and the key in the environment."""
    monkeypatch.setenv("APP_API_KEY", KEY)
    run.write({"a.eval.yaml": HELLO})
    run.update()
    run.write({"conftest.py": CONFTEST, "test_b.py": TEST})
    return run


@pytest.mark.parametrize(
    "arguments", [["-s"], ["--capture=tee-sys"], ["-p", "no:capture"]], ids=["no capture", "tee", "no plugin"]
)
def test_output_that_is_shown_is_redacted(printing: Run, arguments: Sequence[str]) -> None:
    result = printing(*arguments)
    result.assert_outcomes(passed=2)
    output = result.stdout.str()
    assert KEY not in output
    for phase in ("set up", "tested", "torn down"):
        assert f"{phase} [secret]" in output
    # Of all wrappers it is the innermost: inside of pytest's own capturing.
    lines = (printing.path / "wrappers.txt").read_text().splitlines()
    assert lines == [f"{name} ['chatprompt-output-redaction'] True" for name in HOOKS] * 2


@pytest.mark.parametrize("capture", ["fd", "sys"])
def test_a_run_that_captures_output_pays_for_no_hook_of_it(printing: Run, capture: str) -> None:
    printing(f"--capture={capture}").assert_outcomes(passed=2)
    lines = (printing.path / "wrappers.txt").read_text().splitlines()
    assert lines == [f"{name} [] False" for name in HOOKS] * 2


@pytest.mark.parametrize("capture", ["fd", "no"])
def test_the_traceback_of_a_fixture_has_no_frame_of_this_plugin(run: Run, capture: str) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.update()
    run.write(
        {
            "conftest.py": """
import pytest

@pytest.fixture
def failing():
    raise ValueError("at the beginning")

@pytest.fixture
def failing_later():
    yield
    raise ValueError("at the end")
""",
            "test_b.py": "def test_one(failing):\n    pass\n\ndef test_two(failing_later):\n    pass\n",
        }
    )
    result = run(f"--capture={capture}")
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["conftest.py:6: ValueError", "conftest.py:11: ValueError"])
    result.stdout.no_fnmatch_line("*Redaction*")
    result.stdout.no_fnmatch_line("*redaction.py*")

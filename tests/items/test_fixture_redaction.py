"""Fixture redaction: a plugin that sees errors of fixtures on their way sees no secret."""

from __future__ import annotations

import pytest

from tests.items.conftest import HELLO, Run

KEY = "sk-live-0123456789abcdef"

# As allure-pytest does: it looks at the outcome of a fixture, and puts a function around each finalizer.
CONFTEST = """
import pytest

class Listener:
    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        outcome = yield
        if outcome.excinfo is not None:
            write("set-up", outcome.excinfo[1])
        finalizers = fixturedef._finalizers
        finalizers[:] = [listening(finalizer) for finalizer in finalizers]

def listening(finalizer):
    def finalize():
        try:
            finalizer()
        except Exception as error:
            write("tear-down", error)
            raise
    return finalize

def write(phase, error):
    with open("seen.log", "a") as file:
        print(phase, error, file=file)

def pytest_configure(config):
    config.pluginmanager.register(Listener(), "allure_listener")
"""
TESTS = f"""
import pytest

@pytest.fixture
def failing():
    raise ValueError("{KEY}")

@pytest.fixture
def failing_later():
    yield
    raise ValueError("{KEY}")

@pytest.fixture
def working():
    yield 5

def test_a(failing):
    pass

def test_b(failing_later, working):
    assert working == 5
"""


def test_errors_of_fixtures_hold_no_secret(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_API_KEY", KEY)
    run.write({"a.eval.yaml": HELLO, "test_b.py": TESTS, "conftest.py": CONFTEST})
    run("--snapshot-update").assert_outcomes(passed=2, errors=2)
    assert (run.path / "seen.log").read_text() == "set-up [secret]\ntear-down [secret]\n"

"""Workers that are forked are like those that start anew, but for what they have imported."""

from __future__ import annotations

import pytest

from tests.forked_workers import CAN_FORK, StartTemplate

TEST = """
import os
import signal
import sys
import tempfile
from pathlib import Path

def test_it():
    assert ("pytest_chatprompt.runs.file" in sys.modules) is {is_forked}
    assert os.environ["OF_THE_TEST"] == "yes"
    assert tempfile.gettempdir() == {folder!r}
    assert Path.cwd() == Path({folder!r})
    assert "worker_template" not in sys.argv[0]
    assert sys.dont_write_bytecode
    assert signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL
    assert not hasattr(sys.modules["__main__"], "warm_up")
"""


@pytest.mark.parametrize("is_forked", [CAN_FORK, False], ids=["forked", "started anew, since it is measured"])
def test_a_worker_has_the_folder_and_the_environment_of_its_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, is_forked: bool
) -> None:
    monkeypatch.setenv("OF_THE_TEST", "yes")
    # `make` unsets it.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("TMPDIR", str(pytester.path))
    if not is_forked:
        monkeypatch.setenv("COVERAGE_PROCESS_CONFIG", "")
    pytester.makepyfile(test_it=TEST.format(is_forked=is_forked, folder=str(pytester.path)))
    pytester.runpytest_inprocess("-n1").assert_outcomes(passed=1)


@pytest.mark.skipif(not CAN_FORK, reason="workers start anew on this system")
@pytest.mark.usefixtures("pytester")
def test_a_worker_is_killed(start_worker_template: StartTemplate) -> None:
    worker = start_worker_template().fork()
    worker.kill()
    assert worker.wait() == 0
    assert worker.stdout.read() == b""
    worker.kill()
    worker.stdin.close()
    worker.stdout.close()

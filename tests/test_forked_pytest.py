"""A forked process of pytest is like one that starts anew, but for what it has imported."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.forked_pytest import ForkedPytest, ForkPytest, StartPytest
from tests.forked_workers import CAN_FORK

TEST = """
import os
import signal
import sys
from pathlib import Path

def test_it():
    assert ("pytest_chatprompt.live.pool" in sys.modules) is {is_forked}
    assert os.environ["OF_THE_TEST"] == "yes"
    assert sys.path[1] == os.environ["PYTHONPATH"] == {added!r}
    assert Path.cwd() == Path({folder!r})
    assert {folder!r} in sys.path
    assert not {{"tests", "worker_template.py"}} & {{Path(path).name for path in [*sys.path, sys.argv[0]]}}
    assert (sys.argv[1:], Path(sys.argv[0]).parent.name) == (["-p", "no:cacheprovider", "-k", "it"], "pytest")
    assert not hasattr(sys.modules["__main__"], "warm_up")
    assert sys.dont_write_bytecode
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
"""


@pytest.mark.parametrize("is_forked", [CAN_FORK, False], ids=["forked", "started anew, since it is measured"])
def test_it_has_the_folder_the_environment_and_the_paths_of_its_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, start_pytest: StartPytest, is_forked: bool
) -> None:
    monkeypatch.setenv("OF_THE_TEST", "yes")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path / "added"))
    if not is_forked:
        monkeypatch.setenv("COVERAGE_PROCESS_CONFIG", "")
    folder = str(pytester.path)
    test = TEST.format(is_forked=is_forked, folder=folder, added=str(pytester.path / "added"))
    pytester.makepyfile(test_it=test)
    with Path("output").open("wb") as output:
        process = start_pytest("-p", "no:cacheprovider", "-k", "it", folder=Path(folder), output=output.fileno())
    assert isinstance(process, ForkedPytest) is is_forked
    assert process.wait(60) == 0, Path("output").read_text()
    assert process.poll() == process.returncode == 0
    assert "1 passed" in Path("output").read_text()


pytestmark = pytest.mark.skipif(not CAN_FORK, reason="processes start anew on this system")


def forked(fork_pytest: ForkPytest, pytester: pytest.Pytester, body: str) -> ForkedPytest:
    pytester.makepyfile(test_it=f"import pathlib, time\ndef test_it():\n    {body}\n")
    with Path(os.devnull).open("wb") as nothing:
        return fork_pytest(["-p", "no:cacheprovider"], pytester.path, os.environ, nothing.fileno())


def test_its_exit_status_and_what_it_took_are_known(fork_pytest: ForkPytest, pytester: pytest.Pytester) -> None:
    process = forked(fork_pytest, pytester, "x = sum(range(1_000_000)); y = b'x' * 200_000_000; assert 0")
    assert process.wait() == pytest.ExitCode.TESTS_FAILED
    assert process.cpu_seconds > 0
    assert process.peak_kib > 200_000
    process.kill()


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGINT, pytest.ExitCode.INTERRUPTED),
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_it_is_ended_by_a_signal(
    fork_pytest: ForkPytest, pytester: pytest.Pytester, number: signal.Signals, status: int
) -> None:
    process = forked(fork_pytest, pytester, "pathlib.Path('here').touch(); time.sleep(600)")
    deadline = time.monotonic() + 60
    while not Path("here").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert process.poll() is None
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.01)
    process.send_signal(number)
    assert process.wait(60) == status
    assert process.poll() == status
    process.send_signal(number)

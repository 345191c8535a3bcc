"""Rate limits in a live run: Ctrl-C ends the wait."""

from __future__ import annotations

import signal

import pytest

from tests.runs.conftest import LIVE_CONFTEST, Run, case_ids, eval_file
from tests.runs.test_stopping import pytest_process, wait_until
from tests.server import Reply, Server


@pytest.fixture
def limited(run: Run, server: Server) -> Run:
    """A project whose provider may send one request in a minute."""
    server.reply = Reply()
    conftest = LIVE_CONFTEST.format(url=server.url, settings="requests_per_minute=1")
    run.write(
        {
            "a.eval.yaml": eval_file(case_ids(30)),
            "conftest.py": conftest,
        }
    )
    run.update()
    return run


def test_ctrl_c_ends_a_wait_at_once(limited: Run, server: Server) -> None:
    server.reply = Reply(delay_seconds=0.05)
    with pytest_process(limited, "--chatprompt-concurrency=2") as process:
        wait_until(lambda: len(server.requests) == 1)
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert "KeyboardInterrupt" in limited.output()
    assert len(server.requests) == 1

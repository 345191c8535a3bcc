"""Rate limits in a live run: a provider that waits holds up no other one, and Ctrl-C ends the wait."""

from __future__ import annotations

import signal

import pytest

from tests.runs.conftest import LIVE_CONFTEST, Run, case_ids, eval_file
from tests.runs.test_stopping import pytest_process, wait_until
from tests.server import Reply, Server

OTHER = """

@pytest.fixture(scope="session")
def other_provider():
    return OpenAIProvider(base_url="{url}", api_key="k", max_retries=0, model="other")
"""


@pytest.fixture
def limited(run: Run, server: Server) -> Run:
    """A project whose cases go through two providers; the first may send one request in a minute."""
    server.reply = Reply()
    conftest = LIVE_CONFTEST.format(url=server.url, settings="requests_per_minute=1") + OTHER.format(url=server.url)
    run.write(
        {
            "a.eval.yaml": eval_file(case_ids(30), "[other, openai]"),
            "conftest.py": conftest,
        }
    )
    run.update()
    return run


def models(server: Server) -> list[str]:
    return [body["model"] for _, _, body in server.requests]


def test_ctrl_c_ends_a_wait_at_once(limited: Run, server: Server) -> None:
    server.reply = Reply(delay_seconds=0.05)
    with pytest_process(limited, "--chatprompt-concurrency=2") as process:
        # All requests of the other provider arrive, although cases of the first one come before them and wait.
        wait_until(lambda: (models(server).count("other"), models(server).count("gpt-5.5")) == (30, 1))
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert "KeyboardInterrupt" in limited.output()
    assert models(server).count("gpt-5.5") == 1

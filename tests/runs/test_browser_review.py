"""`--chatprompt-review=browser`: after the run its changes are decided on a page, and the run ends as they were."""

from __future__ import annotations

import json
import os
import re
import signal
import socketserver
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from tests.forked_pytest import PytestProcess
from tests.runs.conftest import HELLO, Run
from tests.runs.test_accept import FILES, FIRST, OWN, SECOND, ids, shop, tree, updated
from tests.runs.test_stopping import wait_until

__all__ = ["shop"]

REVIEW = "--chatprompt-review=browser"
DEADLINE_SECONDS = 60


class Page:
    """The page of a run, as its script reads it and asks it."""

    def __init__(self, process: PytestProcess, run: Run) -> None:
        self.process = process
        wait_until(lambda: re.search(r"^Review at \S+ \(Ctrl-C ends it\)\n", run.output(), re.MULTILINE))
        (address,) = re.findall(r"http://\S+", run.output())
        self.host, self.path = urlsplit(address).netloc, urlsplit(address).path

    def ask(self, method: str, path: str) -> str:
        connection = HTTPConnection(self.host, timeout=DEADLINE_SECONDS)
        connection.request(method, self.path + path, headers={"Origin": f"http://{self.host}"} if path else {})
        response = connection.getresponse()
        assert response.status == 200
        text = response.read().decode()
        connection.close()
        return text

    def ids(self) -> list[str]:
        return re.findall('class="decide" data-id="(.*?)"', self.ask("GET", ""))

    def decide(self, word: str, change_id: str) -> str:
        """What the page is told of it."""
        outcome = json.loads(self.ask("POST", f"{word}/{change_id}"))[change_id]
        return "; ".join([outcome[1], *outcome[2]])

    def end(self) -> int:
        return self.process.wait(DEADLINE_SECONDS)


@contextmanager
def review(run: Run, *arguments: str) -> Iterator[Page]:
    process = run.start(REVIEW, *arguments)
    try:
        yield Page(process, run)
    finally:
        process.kill()
        process.wait(DEADLINE_SECONDS)


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], marks=pytest.mark.measures_processes, id="alone"),
        pytest.param(["-s", "-q", "--tb=no", "-k", "both or first or own"], id="quiet and without capture"),
    ],
)
def test_a_run_of_which_all_is_accepted_passes(shop: Run, arguments: list[str]) -> None:
    wanted = updated(shop)
    with review(shop, *arguments) as page:
        assert page.ids() == [FIRST, SECOND]
        assert page.decide("accept", SECOND) == "accepted in 3 snapshots"
        assert tree(shop) != wanted
        assert page.decide("accept", FIRST) == "accepted in 4 snapshots"
        assert tree(shop) == wanted
        assert page.end() == 0
    output = shop.output()
    assert output.count("http://") == 1
    assert f"accepted change {SECOND} in 3 snapshots\naccepted change {FIRST} in 4 snapshots\n" in output
    assert "4 accepted in" in output
    assert "FAILURES" not in output


def test_what_is_skipped_fails_as_ever(shop: Run) -> None:
    with review(shop, "--chatprompt-report", "report.json") as page:
        page.decide("skip", FIRST)
        page.decide("accept", SECOND)
        assert page.end() == 1
    assert f"change {FIRST}: 4 snapshots" in shop.output()
    assert f"change {SECOND}: " not in shop.output()
    data = json.loads((shop.path / "report.json").read_text(encoding="utf-8"))
    assert [change["id"] for change in data["changes"]] == [FIRST]


def test_ctrl_c_ends_the_review_and_keeps_what_is_written(shop: Run) -> None:
    with review(shop) as page:
        page.decide("accept", FIRST)
        page.process.send_signal(signal.SIGINT)
        assert page.end() == 1
    assert f"accepted change {FIRST} in 4 snapshots" in shop.output()
    assert f"change {SECOND}: 3 snapshots" in shop.output()
    assert "KeyboardInterrupt" not in shop.output()
    assert ids(shop) == [SECOND]


def test_ctrl_c_of_a_terminal_reaches_the_workers_too(shop: Run) -> None:
    log = """
import os, pathlib

def pytest_configure(config):
    if hasattr(config, "workerinput"):
        pathlib.Path(f"pid-{os.getpid()}").touch()
"""
    shop.write({"conftest.py": log})
    with review(shop, "-n", "1") as page:
        page.decide("accept", page.ids()[0])
        (worker,) = shop.path.glob("pid-*")
        os.kill(int(worker.name.partition("-")[2]), signal.SIGINT)
        page.process.send_signal(signal.SIGINT)
        assert page.end() == 1
    assert "3 failed, 1 accepted" in shop.output()
    assert "KeyboardInterrupt" not in shop.output()


def test_new_snapshots_are_accepted_with_what_they_hold_on_the_page(shop: Run) -> None:
    shop.write({**FILES, "b.eval.yaml": HELLO, "test_new.py": OWN.replace("test_own", "test_new")})
    with review(shop) as page:
        assert page.ids() == ["new"]
        assert "b.eval.yaml::hello" in page.ask("GET", "")
        assert page.decide("accept", "new") == "accepted 2 snapshots"
        assert page.end() == 0
    assert shop().ret == 0


def test_all_changes_stand_on_the_page_and_other_failures_stay(run: Run) -> None:
    test = """
import pytest

@pytest.mark.parametrize("number", range(103))
def test_own(eval_snapshot, number):
    assert {"question": f"TEXT {number}"} == eval_snapshot

def test_other():
    assert 1 == 2

@pytest.mark.xfail
def test_expected(eval_snapshot):
    assert {"question": "EXPECTED TEXT"} == eval_snapshot
"""
    run.write({"test_own.py": test})
    run("--snapshot-update")
    run.write({"test_own.py": test.replace("TEXT", "WORDS")})
    with review(run) as page:
        found = page.ids()
        # That of the test that is expected to fail, too.
        assert len(found) == 104
        for each in found:
            page.decide("accept", each)
        assert page.end() == 1
    assert "1 failed, 1 xfailed, 103 accepted" in run.output() or "1 failed, 103 accepted, 1 xfailed" in run.output()


def test_under_x_the_first_failure_is_decided(shop: Run) -> None:
    with review(shop, "-x") as page:
        for each in page.ids():
            assert page.decide("accept", each) == "accepted in 1 snapshot"
        assert page.end() == 0
    assert "the run ended early: run again for the tests that did not run" in shop.output()


def test_what_another_run_has_written_meanwhile_is_not_overwritten(shop: Run) -> None:
    with review(shop) as page:
        wanted = updated(shop)
        shop.update()
        told = page.decide("accept", FIRST)
        assert told.startswith("4 not written; __snapshots__/a.eval/both[openai].yaml is not written: it has")
        page.decide("skip", SECOND)
        assert page.end() == 1
    assert "is not written: it has changed since the run compared with it; run again" in shop.output()
    assert tree(shop) == wanted


def test_where_nothing_differs_no_page_is_served(shop: Run) -> None:
    shop.write(FILES)
    result = shop(REVIEW)
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 4})
    assert "Review at" not in result.stdout.str()


def test_a_run_without_snapshots_serves_no_page(run: Run) -> None:
    run.write({"test_other.py": "def test_other():\n    pass\n"})
    result = run(REVIEW)
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 1})


def test_where_no_page_can_be_served_the_run_says_so(shop: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(socketserver.TCPServer, "server_bind", refuse)
    result = shop(REVIEW)
    assert result.ret == 1
    assert "cannot serve the page of the review: [Errno 1] Operation not permitted" in result.outlines
    result.assert_outcomes(failed=4)

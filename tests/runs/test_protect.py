"""`chatprompt_protect`: where no person is at a terminal, `--snapshot-update` only compares, and says what differs."""

from __future__ import annotations

import io
import os
import re
import shlex
import sys
from collections.abc import Iterator

import pytest

from tests.forked_pytest import StartPytest
from tests.runs.conftest import HELLO, Run

OWN = """
import httpx

def test_own(eval_api, eval_snapshot):
    httpx.post("https://api.openai.com/v1/embeddings", json={"input": "hello"})
    assert eval_api.sent == eval_snapshot
"""
SYRUPYS = "def test_other(snapshot):\n    assert 'old' == snapshot\n"
CHANGED = re.compile(r"(?<=content: )hello|(?<=\")hello|old")
FILES = {"pytest.ini": "[pytest]\nfilterwarnings = error\nchatprompt_protect = true\n"}
EVALS = {"a.eval.yaml": HELLO, "test_own.py": OWN, "test_other.py": SYRUPYS}
# Its id in a case and in own code.
CHANGE = "7d39"
REFUSED = "--snapshot-update is refused: chatprompt_protect is set, and this run has no terminal. Nothing is written."
NOT_SEEN = "To accept all that nobody has looked at: set CHATPROMPT_ALLOW_UPDATE=1."


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs of this process have no terminal, also where its tests have one, with `-s`."""
    monkeypatch.delenv("CHATPROMPT_ALLOW_UPDATE", raising=False)
    monkeypatch.setattr(sys, "stdin", io.StringIO())


@pytest.fixture
def shop(run: Run) -> Run:
    """A protected project in which one guideline's word has changed, in a case, in own code and for syrupy itself."""
    run.write(EVALS)
    run.with_snapshots().write(FILES | {name: CHANGED.sub("bye", text) for name, text in EVALS.items()})
    return run


def tree(run: Run) -> dict[str, bytes]:
    return {name: (run.path / name).read_bytes() for name in run.snapshots()}


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_without_a_terminal_an_update_only_compares_and_says_which_ids_there_are(shop: Run, workers: list[str]) -> None:
    shop.write({"new.eval.yaml": HELLO})
    before = tree(shop)
    result = shop(*workers, "--snapshot-update")
    assert result.ret == 1
    result.assert_outcomes(failed=4)
    command = shlex.join(["pytest", "-p", "no:cacheprovider", *workers, "--chatprompt-accept", "ID"])
    told = [REFUSED, f"To accept what you name: {command}, with {CHANGE}, new", NOT_SEEN]
    assert [line for line in result.outlines if line in told] == told
    # Nor is any command told that would be refused.
    assert "--snapshot-update" not in result.stdout.str().replace(REFUSED, "")
    assert f"   To accept it: {command.replace('ID', 'new')}" in result.outlines
    assert tree(shop) == before


def test_what_is_named_is_accepted(shop: Run) -> None:
    result = shop("--chatprompt-accept", CHANGE, "a.eval.yaml", "test_own.py")
    assert (result.ret, result.parseoutcomes()) == (0, {"passed": 2})
    assert REFUSED not in result.outlines


@pytest.mark.parametrize(
    ("value", "is_allowed"),
    [("1", True), ("yes", True), ("", False), ("0", False), ("False", False), ("no", False), (" off ", False)],
)
def test_a_variable_allows_it(run: Run, value: str, is_allowed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHATPROMPT_ALLOW_UPDATE", value)
    run.write(FILES | {"a.eval.yaml": HELLO})
    result = run("--snapshot-update")
    assert (result.ret == 0) == is_allowed == (REFUSED not in result.outlines) == (run.snapshots() != [])


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_nothing_is_removed_and_no_recording_moves(shop: Run, workers: list[str]) -> None:
    shop.write(EVALS | {"a.eval.yaml": HELLO.replace("id: hello", "id: bye")})
    shop.write({"__snapshots__/a.eval/hello[openai].recording.yaml": "exchanges: []\n"})
    before = tree(shop)
    result = shop(*workers, "--snapshot-update")
    assert result.ret == 1
    assert "1 eval snapshot unused: the case or the provider is no longer defined." in result.outlines
    command = shlex.join(["pytest", "-p", "no:cacheprovider", *workers, "--chatprompt-accept=unused"])
    assert f"To remove it: {command}" in result.outlines
    assert tree(shop) == before


def test_also_where_nothing_differs_what_was_asked_for_is_refused(run: Run) -> None:
    run.write(FILES | {"test_it.py": "def test_it(): pass"})
    result = run("--snapshot-update")
    assert (result.ret, result.parseoutcomes()) == (1, {"passed": 1})
    assert result.outlines[-4:-1] == [REFUSED, "No eval snapshot differs.", NOT_SEEN]


def test_new_snapshots_alone_are_refused_too(shop: Run) -> None:
    shop.write({"new.eval.yaml": HELLO})
    before = tree(shop)
    result = shop("--snapshot-update-new-only", "new.eval.yaml")
    assert result.ret == 1
    assert REFUSED.replace("update", "update-new-only", 1) in result.outlines
    accept = "To accept what you name: pytest -p no:cacheprovider new.eval.yaml --chatprompt-accept ID, with new"
    assert accept in result.outlines
    assert tree(shop) == before


def test_a_run_without_output_fails_too(shop: Run) -> None:
    before = tree(shop)
    assert shop("-p", "no:terminal", "--snapshot-update").ret == 1
    assert tree(shop) == before


def test_a_run_that_ended_early_keeps_its_exit_status(run: Run) -> None:
    run.write(FILES)
    assert run("--snapshot-update").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_ctrl_c_ends_the_run_with_the_same_words(run: Run) -> None:
    run.write(FILES | {"test_it.py": "def test_it(): raise KeyboardInterrupt"})
    result = run.apart("--snapshot-update")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert REFUSED in result.outlines


def test_what_is_no_truth_value_is_a_usage_error(run: Run) -> None:
    result = run("-o", "chatprompt_protect=perhaps")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: chatprompt_protect must be true or false: invalid truth value 'perhaps'"])


@pytest.fixture
def terminal() -> Iterator[int]:
    """A terminal whose output nobody needs to read, as it is short."""
    ours, theirs = os.openpty()
    yield theirs
    os.close(ours)
    os.close(theirs)


@pytest.mark.measures_processes
@pytest.mark.parametrize(
    ("reads", "writes", "is_allowed"),
    [
        pytest.param(True, True, True, id="a person"),
        pytest.param(True, False, False, id="a tool that reads the output"),
        pytest.param(False, True, False, id="a tool that shows the output"),
    ],
)
def test_at_a_terminal_an_update_writes(
    shop: Run, start_pytest: StartPytest, terminal: int, reads: bool, writes: bool, is_allowed: bool
) -> None:
    before = tree(shop)
    with open(os.devnull, "r+b") as nothing:  # noqa: PTH123
        other = nothing.fileno()
        given, output = terminal if reads else other, terminal if writes else other
        options = ("-p", "no:cacheprovider", "--snapshot-update")
        status = start_pytest(*options, folder=shop.path, given=given, output=output).wait()
    assert (status == 0) == is_allowed == (tree(shop) != before)

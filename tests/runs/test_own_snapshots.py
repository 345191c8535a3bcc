"""`assert eval_api.sent == eval_snapshot` in ordinary tests: what is written, compared and shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.conftest import HELLO, Run

APP = """
import httpx

def ask(text, url="https://api.openai.com/v1/chat/completions"):
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return httpx.post(url, json=body).json()
"""

ASKS = """
import app

def test_asks(eval_api, eval_snapshot):
    app.ask("What is\\nthe time?")
    assert eval_api.sent == eval_snapshot
"""


@pytest.fixture
def own(run: Run) -> Run:
    run.write({"app.py": APP, "pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = .\n"})
    return run


def test_what_is_sent_is_written_and_compared(own: Run) -> None:
    own.write({"test_it.py": ASKS})
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py:6: what is sent has no snapshot yet",
            "There is no __snapshots__/test_it/test_asks.yaml.",
            "To write it, for review: pytest test_it.py::test_asks --snapshot-update",
            "-*",
        ]
    )
    assert own.snapshots() == []
    own.update().assert_outcomes(passed=1)
    assert (own.path / "__snapshots__/test_it/test_asks.yaml").read_text() == (
        "requests:\n"
        "- endpoint: POST /v1/chat/completions\n"
        "  request:\n"
        "    model: m\n"
        "    messages:\n"
        "    - role: user\n"
        "      content: |-\n"
        "        What is\n"
        "        the time?\n"
    )
    own().assert_outcomes(passed=1)


def test_a_comparison_that_a_time_limit_ends_is_shown_as_that(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
import app
import pytest

def end(data, path):
    pytest.fail("Timeout (>1.0s) from pytest-timeout.")

def test_asks(eval_api, eval_snapshot):
    app.ask("x")
    assert eval_api.sent == eval_snapshot
    assert eval_api.sent == eval_snapshot(matcher=end)
"""
        }
    )
    result = own("--snapshot-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["FAILED test_it.py::test_asks - Failed: Timeout (>1.0s) from pytest-timeout."])
    result.stdout.no_fnmatch_line("*eval_snapshot ---*")


def test_a_snapshot_is_read_where_a_test_replaces_open(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
from unittest import mock
import app

@mock.patch("builtins.open", mock.mock_open(read_data="You are brief."))
def test_asks(eval_api, eval_snapshot):
    with open("prompt.txt") as file:
        app.ask(file.read())
    assert eval_api.sent == eval_snapshot
"""
        }
    )
    own.update().assert_outcomes(passed=1)
    own().assert_outcomes(passed=1)


def test_different_data_under_one_name_cannot_be_written(own: Run) -> None:
    """Whatever an update writes, the next run would fail."""
    test = """
import app

def test_asks(eval_api, eval_snapshot):
    for text in ("same", "same", "other"):
        app.ask(text)
        assert eval_api.sent[-1] == eval_snapshot(name="asked")
"""
    own.write({"test_it.py": test})
    for _ in range(2):
        result = own("--snapshot-update")
        result.assert_outcomes(failed=1)
        result.stdout.fnmatch_lines(
            ["*SnapshotError: the test compares different data with test_asks[[]asked].yaml; give each its own name="]
        )
    own.write({"test_it.py": test.replace('"other"', '"same"')})
    own.update().assert_outcomes(passed=1)
    own().assert_outcomes(passed=1)


def test_a_difference_is_shown_once_and_by_place(own: Run) -> None:
    own.write({"test_it.py": ASKS})
    own.with_snapshots()
    own.write({"test_it.py": ASKS.replace("the time", "the date")})
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_it.py:6: what is sent is not what its snapshot says",
            "",
            "__snapshots__/test_it/test_asks.yaml",
            "@@ requests[[]0[]].request.messages[[]0[]].content @@",
            "          What is",
            "-         the time?",
            "+         the date?",
            "",
            "To accept it: pytest test_it.py::test_asks --snapshot-update",
        ]
    )
    everything = own("-vv")
    everything.stdout.fnmatch_lines(
        [
            ">       assert eval_api.sent == eval_snapshot",
            "E         __snapshots__/test_it/test_asks.yaml",
            "E         @@ requests[[]0[]].request.messages[[]0[]].content @@",
            "E                   What is",
            "E         -         the time?",
            "E         +         the date?",
            "E         To accept it: pytest test_it.py::test_asks --snapshot-update",
        ]
    )
    # No copy of the payload beside the diff.
    assert "role" not in result.stdout.str() + everything.stdout.str()
    assert result.stdout.str().count("the time?") == 1


NAMES = """
import unittest

import pytest

import app

class TestGreeting:
    @pytest.mark.parametrize("text", ["a/b", "a:b", "A", "a"])
    def test_it(self, eval_api, eval_snapshot, text):
        app.ask(text)
        assert eval_snapshot == eval_api.sent

class Unit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def _fixtures(self, eval_api, eval_snapshot):
        self.api, self.snapshot = eval_api, eval_snapshot

    def test_unit(self):
        app.ask("unit")
        self.assertEqual(self.api.sent, self.snapshot)

def test_two(eval_api, eval_snapshot):
    app.ask("one")
    assert eval_api.sent == eval_snapshot
    app.ask("two")
    assert eval_api.sent == eval_snapshot
    assert eval_api.sent[1] == eval_snapshot(name="the second/last")

@pytest.mark.anyio
async def test_async(eval_api, eval_snapshot):
    app.ask("async")
    assert sorted(eval_api.sent) == eval_snapshot

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""


def test_each_test_has_files_of_its_own(own: Run, use_plugin: Callable[[str], None]) -> None:
    use_plugin("anyio")
    own.write({"test_it.py": NAMES})
    own.update().assert_outcomes(passed=7)
    names = [Path(name).name for name in own.snapshots()]
    assert names == [
        "TestGreeting.test_it[a%2Fb].yaml",
        "TestGreeting.test_it[a%3Ab].yaml",
        # Their names differ by case only: some file systems would take them for one.
        "TestGreeting.test_it~63f6bf6a1240[a].yaml",
        "TestGreeting.test_it~d74424be36bd[A].yaml",
        "Unit.test_unit.yaml",
        "test_async.yaml",
        "test_two.1.yaml",
        "test_two.yaml",
        "test_two[the second%2Flast].yaml",
    ]
    for arguments in (["-n", "2"], ["test_it.py::TestGreeting::test_it[A]"]):
        assert own(*arguments).ret == 0
    own.write({"test_it.py": NAMES.replace('app.ask("unit")', 'app.ask("other")')})
    result = own()
    result.assert_outcomes(passed=6, failed=1)
    result.stdout.fnmatch_lines(["test_it.py:21: what is sent is not*", "-*content: unit", "+*content: other"])
    # `assertEqual` shows no more than the names of the two.
    own("-vv").stdout.fnmatch_lines(
        ["E * != <eval_snapshot>", "*- eval_snapshot -*", "-*content: unit", "+*content: other"]
    )


USES = (
    ASKS
    + """
def test_other(eval_api, eval_snapshot):
    app.ask("other")
    assert eval_api.sent == eval_snapshot
"""
)
RECORDING = "version: 1\nexchanges: []\n"


@pytest.fixture
def two(own: Run) -> Run:
    """A module of two tests with their snapshots and recordings, and files of others beside them."""
    own.write({"test_it.py": USES, "test_b.py": "def test_one(snapshot):\n    assert 'x' == snapshot\n"})
    own.with_snapshots().write(
        {
            "__snapshots__/test_it/test_asks.recording.yaml": RECORDING,
            "__snapshots__/test_it/test_other.recording.yaml": RECORDING,
            "__snapshots__/test_it/of_others.yaml": "value: 1\n",
        }
    )
    return own


ALL = [
    "__snapshots__/test_b.ambr",
    "__snapshots__/test_it/of_others.yaml",
    "__snapshots__/test_it/test_asks.recording.yaml",
    "__snapshots__/test_it/test_asks.yaml",
    "__snapshots__/test_it/test_other.recording.yaml",
    "__snapshots__/test_it/test_other.yaml",
]


def test_the_snapshots_of_a_removed_test_are_reported_and_removed(two: Run) -> None:
    two.write({"test_it.py": ASKS})
    for arguments in ([], ["-n", "2"]):
        result = two(*arguments)
        assert result.ret == 1
        result.stdout.fnmatch_lines(
            [
                "*- eval snapshots -*",
                "1 snapshot unused: no test compares with it.",
                "  __snapshots__/test_it/test_other.yaml",
                "1 recording unused: no case and no test is left that has it.",
                "  __snapshots__/test_it/test_other.recording.yaml",
                f"To remove them: pytest {' '.join(['-p', 'no:cacheprovider', *arguments])} --chatprompt-remove-unused",
            ],
            consecutive=True,
        )
        assert two.snapshots() == ALL
    # In Python, absence is a guess.
    result = two.update()
    result.stdout.fnmatch_lines(["1 snapshot unused: *", "To remove them: * --chatprompt-remove-unused"])
    assert two.snapshots() == ALL
    two("-n", "2", "--chatprompt-remove-unused").stdout.fnmatch_lines(
        [
            "1 snapshot removed: no test compares with it.",
            "  __snapshots__/test_it/test_other.yaml",
            "1 recording removed: no case and no test is left that has it.",
        ]
    )
    assert two.snapshots() == ALL[:4]


def test_the_snapshot_of_a_test_that_no_longer_compares_is_unused(two: Run) -> None:
    two.write({"test_it.py": USES.replace('app.ask("other")\n    assert eval_api.sent == eval_snapshot', "pass")})
    result = two()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["1 snapshot unused: no test compares with it.", "  __snapshots__/test_it/test_other.yaml"], consecutive=True
    )


CLASSES = """
class TestA:
    def test_a(self, eval_api):
        pass

class TestB:
    def test_other(self, eval_api, eval_snapshot):
        app.ask("other")
        assert eval_api.sent == eval_snapshot
"""
NEW = ["__snapshots__/test_it/test_renamed.yaml", "__snapshots__/test_it/TestB.test_other.yaml"]
SUBTEST = """
import pytest

def test_other(subtests, eval_api, eval_snapshot):
    with subtests.test("second"):
        1 / 0
        assert eval_api.sent == eval_snapshot
"""
XFAIL = """
import pytest

@pytest.mark.xfail
def test_other(eval_api, eval_snapshot):
    assert 0
    assert eval_api.sent == eval_snapshot
"""
TEARDOWN = """
import pytest

@pytest.fixture
def compares_later(eval_api, eval_snapshot):
    yield
    1 / 0
    assert eval_api.sent == eval_snapshot

def test_other(compares_later):
    pass
"""
_FILTER = "    items[:] = [item for item in items if 'other' not in item.name and 'renamed' not in item.name]\n"
HIDING = {
    "hides.py": f"def pytest_collection_modifyitems(items):\n{_FILTER}",
    "hides_first.py": "import pytest\n@pytest.hookimpl(tryfirst=True)\n"
    f"def pytest_collection_modifyitems(items):\n{_FILTER}",
    "hides_around.py": "import pytest\n@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
    f"def pytest_collection_modifyitems(items):\n{_FILTER}    return (yield)\n",
    "hides_late.py": "import pytest\n@pytest.hookimpl(tryfirst=True)\n"
    f"def pytest_runtestloop(session):\n    items = session.items\n{_FILTER}",
}


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        pytest.param(USES.replace("test_other", "test_renamed"), ["test_it.py::test_asks"], id="a test is named"),
        pytest.param(ASKS + CLASSES, ["test_it.py::TestA::test_a"], id="a test of one of two classes is named"),
        pytest.param(USES, ["-k", "asks"], id="deselected"),
        pytest.param(ASKS, ["-k", "one"], id="all deselected"),
        pytest.param(ASKS, ["--ignore", "test_it.py"], id="ignored"),
        pytest.param(USES, ["-p", "hides"], id="deselected without a word"),
        pytest.param(USES, ["-p", "hides_first"], id="deselected before anyone else sees it"),
        pytest.param(USES, ["-p", "hides_around"], id="deselected around all others"),
        pytest.param(USES, ["-p", "hides_late"], id="dropped when the run begins"),
        pytest.param(ASKS + "1 / 0\n", ["--continue-on-collection-errors"], id="not collected"),
        pytest.param(ASKS, ["--collect-only"], id="not run"),
        pytest.param(USES.replace('"other"', "1 / 0"), [], id="the test fails before"),
        pytest.param(
            USES.replace("    app.ask(", '    import pytest; pytest.skip("no")\n    app.ask('), [], id="skipped"
        ),
        pytest.param(USES, ["-x", "test_fails.py", "test_it.py"], id="stopped early"),
        pytest.param(ASKS + SUBTEST, [], id="a subtest fails before"),
        pytest.param(ASKS + SUBTEST.replace("1 / 0", 'pytest.skip("no")'), [], id="a subtest is skipped before"),
        pytest.param(ASKS + XFAIL, [], id="expected to fail"),
        pytest.param(ASKS + TEARDOWN, [], id="an error in tear-down"),
    ],
)
def test_no_snapshot_is_removed_that_a_test_may_still_need(two: Run, module: str, arguments: list[str]) -> None:
    two.write({"test_it.py": module, **HIDING})
    if "-x" in arguments:
        two.write({"test_fails.py": "def test_fails():\n    assert 0\n"})
    for options in ([], ["--snapshot-update", "--chatprompt-remove-unused"]):
        output = two(*arguments, *options).stdout
        for words in ("unused: ", "removed: ", "To remove "):
            output.no_fnmatch_line(f"*{words}*")
        assert [name for name in two.snapshots() if name not in NEW] == ALL


FORKS = """
import os
import pickle
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    # As pytest-forked does: only the reports come back from the child.
    reader, writer = os.pipe()
    if not os.fork():
        reports = runtestprotocol(item, log=False)
        with open(writer, "wb") as file:
            pickle.dump(reports, file)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        for report in pickle.load(file):
            item.ihook.pytest_runtest_logreport(report=report)
    return True
"""


def test_what_tests_of_forked_processes_compare_with_is_used(two: Run) -> None:
    two.write({"forks.py": FORKS})
    arguments = ("test_it.py", "-p", "forks", "-p", "no:warnings")
    result = two(*arguments, "--snapshot-update", "--chatprompt-remove-unused")
    assert result.ret == 0
    for words in ("unused: ", "removed: ", "To remove "):
        result.stdout.no_fnmatch_line(f"*{words}*")
    assert two.snapshots() == ALL
    two.write({"test_it.py": ASKS})
    two(*arguments, "--chatprompt-remove-unused")
    assert set(ALL) - set(two.snapshots()) == {ALL[4], ALL[5]}


def test_a_worker_that_crashes_removes_nothing(two: Run) -> None:
    two.write({"test_it.py": USES.replace('app.ask("other")', "import os; os._exit(1)")})
    two("-n", "2", "--snapshot-update", "--chatprompt-remove-unused").stdout.no_fnmatch_line("*To remove*")
    assert two.snapshots() == ALL


def test_lf_removes_nothing(two: Run) -> None:
    two.write({"test_it.py": USES.replace('"other"', "1 / 0")})
    two.pytester.runpytest_inprocess().assert_outcomes(passed=2, failed=1)
    two.write({"test_it.py": USES})
    two.pytester.runpytest_inprocess("--lf", "--snapshot-update").assert_outcomes(passed=1)
    assert set(ALL) <= set(two.snapshots())


def test_a_long_difference_of_an_assertion_with_defaults_is_shown_whole(own: Run) -> None:
    module = """
def test_it(eval_snapshot):
    assert {f"key{number}": VALUE for number in range(20)} == eval_snapshot.with_defaults(include=lambda **_: True)
"""
    own.write({"test_it.py": module.replace("VALUE", "1")})
    own.update()
    own.write({"test_it.py": module.replace("VALUE", "2")})
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*+ key19: 2"])
    own("--full-trace").stdout.fnmatch_lines(
        ["E *shown below, under eval_snapshot.", "*- eval_snapshot -*", "*+ key19: 2"]
    )


def test_defaults_and_errors_of_an_assertion(own: Run) -> None:
    own.write(
        {
            "test_it.py": """
from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.filters import props

import app
from pytest_chatprompt import ChatPromptSnapshotExtension

def test_defaults(eval_api, eval_snapshot):
    app.ask("hi")
    assert eval_api.sent == eval_snapshot.with_defaults(exclude=props("model"))

def test_matcher(eval_snapshot):
    assert {"a": [1, "x"]} == eval_snapshot(matcher=lambda data, path: "<n>" if isinstance(data, int) else data)

def test_extension(snapshot):
    assert {"a": 1} == snapshot.use_extension(ChatPromptSnapshotExtension)

def test_other_extension(eval_api, eval_snapshot):
    app.ask("hi")
    assert eval_api.sent == eval_snapshot.with_defaults(extension_class=JSONSnapshotExtension)

def test_folder(eval_snapshot):
    assert 1 == eval_snapshot

def test_value(eval_snapshot):
    assert object() == eval_snapshot

def test_key(eval_snapshot):
    assert [{"a": {1: "x"}}] == eval_snapshot

def test_mistake(eval_snapshot):
    assert {"a": 1} == eval_snapshot(matcher=lambda data, path: path[7])
""",
            "__snapshots__/test_it/test_folder.yaml/x": "",
        }
    )
    result = own("--snapshot-update")
    result.assert_outcomes(passed=4, failed=4)
    result.stdout.fnmatch_lines(
        ["E *SnapshotError: a snapshot cannot hold the key 1; compare data whose keys are text"]
    )
    result.stdout.fnmatch_lines(["*test_mistake*", "> *path[[]7[]])", "E * IndexError: tuple index out of range"])
    result.stdout.fnmatch_lines(["*the snapshot __snapshots__/test_it/test_folder.yaml is a folder; remove it, *"])
    result.stdout.fnmatch_lines(
        ["test_it.py:*: a snapshot cannot hold object <object object at *>; compare eval_api.sent, or JSON data"]
    )
    assert "is not what its snapshot says" not in result.stdout.str()
    assert "Traceback" not in result.stdout.str()
    assert "model" not in own.snapshot("__snapshots__/test_it/test_defaults.yaml")["requests"][0]["request"]
    assert own.snapshot("__snapshots__/test_it/test_matcher.yaml") == {"a": ["<n>", "x"]}
    assert own.snapshot("__snapshots__/test_it/test_extension.yaml") == {"a": 1}
    written = json.loads((own.path / "__snapshots__/test_it/test_other_extension.json").read_text())
    assert [request["endpoint"] for request in written["requests"]] == ["POST /v1/chat/completions"]
    own("-k", "not folder and not value and not key and not mistake").assert_outcomes(passed=4)


REORDERS = """
import os
import app

def test_threads(eval_api, eval_snapshot):
    texts = ["one", "two", "three"]
    if "CHANCE" in os.environ:
        texts.sort(reverse=True)
    for text in [*texts, *os.environ.get("MORE", "").split()]:
        app.ask(text)
    assert {sent} == eval_snapshot
"""
REORDERED = "The requests are the same, in another order. If the order is chance, compare sorted(eval_api.sent)."


def test_requests_in_another_order_have_a_hint_to_sort_them(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    own.write({"test_it.py": REORDERS.format(sent="eval_api.sent")})
    own.update()
    monkeypatch.setenv("CHANCE", "1")
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([REORDERED, "", "__snapshots__/test_it/test_threads.yaml"], consecutive=True)
    # With another difference it would not help.
    monkeypatch.setenv("MORE", "four")
    result = own()
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line(REORDERED)


def test_sorted_requests_are_the_same_in_any_order(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    own.write({"test_it.py": REORDERS.format(sent="sorted(eval_api.sent)")})
    own.update()
    monkeypatch.setenv("CHANCE", "1")
    own().assert_outcomes(passed=1)


DATA = """
import pytest

@pytest.fixture
def settings():
    return {"model": "gpt-5.5"}

def test_first(settings, eval_snapshot):
    assert settings == eval_snapshot

def test_second(eval_snapshot):
    assert ["a"] == eval_snapshot
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "a worker"])
def test_an_update_keeps_the_data_of_a_test_that_failed_before_it_compared(own: Run, workers: list[str]) -> None:
    own.write({"test_it.py": DATA})
    own.with_snapshots().write({"test_it.py": DATA.replace("return {", "assert not {")})
    names = own.snapshots()
    own("--snapshot-update", *workers).assert_outcomes(passed=1, errors=1)
    assert own.snapshots() == names
    # What no test compares with, syrupy removes once all tests pass.
    own.write({"test_it.py": DATA.partition("def test_second")[0]})
    own.update(*workers)
    assert own.snapshots() == names[:1]


def test_a_snapshot_that_cannot_be_written_is_told_as_that(own: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    own.write({"test_it.py": ASKS, "a.eval.yaml": HELLO})
    # Root may write everywhere.
    monkeypatch.setattr("pytest_chatprompt.snapshots.assertion.atomic_write", refuse)
    result = own("--snapshot-update")
    result.assert_outcomes(failed=2)
    reason = "cannot be written: Permission denied; make room for it, or make it writable, and run again"
    result.stdout.fnmatch_lines(
        [
            f"*case 'hello': the snapshot __snapshots__/a.eval/hello?openai?.yaml {reason}",
            f"test_it.py:6: the snapshot __snapshots__/test_it/test_asks.yaml {reason}",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")

"""`assert eval_api.sent == eval_snapshot` in all kinds of tests and runs, and beside snapshots of syrupy itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.runs.conftest import Run
from tests.server import Reply, Server

APP = """
import httpx

URL = "https://api.openai.com/v1/chat/completions"

def body(text):
    return {"model": "m", "messages": [{"role": "user", "content": text}]}

def ask(text, url=URL):
    return httpx.post(url, json=body(text)).json()

async def ask_async(text):
    async with httpx.AsyncClient() as client:
        return (await client.post(URL, json=body(text))).json()
"""


@pytest.fixture
def own(run: Run) -> Run:
    run.write({"app.py": APP, "pytest.ini": "[pytest]\nfilterwarnings = error\npythonpath = .\n"})
    return run


KINDS = """
import unittest

import anyio
import pytest

import app

@pytest.fixture(params=["asyncio"])
def anyio_backend(request):
    return request.param

@pytest.fixture
async def greeting(eval_api):
    await app.ask_async("hello")
    yield
    await app.ask_async("goodbye")

@pytest.mark.anyio
async def test_async(greeting, eval_api, eval_snapshot):
    async with anyio.create_task_group() as group:
        for text in ("one", "two"):
            group.start_soon(app.ask_async, text)
    await anyio.to_thread.run_sync(app.ask, "three")
    assert sorted(eval_api.sent) == eval_snapshot

@pytest.mark.anyio
class TestOuter:
    class TestInner:
        @pytest.mark.parametrize("text", ["a", "b"])
        async def test_it(self, eval_api, eval_snapshot, text):
            await app.ask_async(text)
            assert eval_api.sent == eval_snapshot

class TestUnit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def fixtures(self, eval_api, eval_snapshot):
        self.api, self.snapshot = eval_api, eval_snapshot

    def test_it(self):
        app.ask("unit")
        assert self.api.sent == self.snapshot

class TestAsyncUnit(unittest.IsolatedAsyncioTestCase):
    @pytest.fixture(autouse=True)
    def fixtures(self, eval_api, eval_snapshot):
        self.api, self.snapshot = eval_api, eval_snapshot

    async def test_it(self):
        await app.ask_async("async unit")
        assert self.api.sent == self.snapshot

@pytest.fixture(params=["x", "y"])
def text(request):
    return request.param

def test_fixture(text, eval_api, eval_snapshot):
    app.ask(text)
    assert eval_api.sent == eval_snapshot
"""


def contents(run: Run, name: str) -> list[str]:
    path = run.path / f"__snapshots__/test_it/{name}.yaml"
    return [line.partition("content: ")[2] for line in path.read_text().splitlines() if "content: " in line]


def test_async_tests_classes_unittest_and_parameters_have_one_snapshot_each(
    own: Run, use_plugin: Callable[[str], None]
) -> None:
    use_plugin("anyio")
    own.write({"test_it.py": KINDS})
    own.update().assert_outcomes(passed=7)
    names = [Path(name).stem for name in own.snapshots()]
    assert names == [
        "TestAsyncUnit.test_it",
        "TestOuter.TestInner.test_it[asyncio-a]",
        "TestOuter.TestInner.test_it[asyncio-b]",
        "TestUnit.test_it",
        "test_async[asyncio]",
        "test_fixture[x]",
        "test_fixture[y]",
    ]
    # An async fixture that is set up later than `eval_api` sends within the test.
    assert contents(own, "test_async[asyncio]") == ["hello", "one", "three", "two"]
    before = {name: (own.path / name).read_bytes() for name in own.snapshots()}
    own().assert_outcomes(passed=7)
    own("-n", "2", "--snapshot-update").assert_outcomes(passed=7)
    assert {name: (own.path / name).read_bytes() for name in own.snapshots()} == before


WIDER = """
import os

import pytest

import app

@pytest.fixture(scope="session")
def session_greeting():
    app.ask("session", os.environ["APP_URL"])

@pytest.fixture(scope="module")
def module_greeting():
    app.ask("module", os.environ["APP_URL"])
    yield
    app.ask("end of module", os.environ["APP_URL"])

@pytest.fixture
def earlier():
    app.ask("earlier", os.environ["APP_URL"])

@pytest.fixture
def later(eval_api):
    app.ask("later")

def test_it(earlier, eval_api, later, module_greeting, session_greeting, eval_snapshot):
    app.ask("test")
    assert eval_api.sent == eval_snapshot

def test_next(eval_api, module_greeting, eval_snapshot):
    app.ask("next")
    assert eval_api.sent == eval_snapshot
"""


def test_what_earlier_fixtures_and_those_of_a_wider_scope_send_is_not_taken(
    own: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("APP_URL", f"{server.url}/v1/chat/completions")
    server.reply = Reply()
    own.write({"test_it.py": WIDER})
    own.update().assert_outcomes(passed=2)
    assert (contents(own, "test_it"), contents(own, "test_next")) == (["later", "test"], ["next"])
    assert server.last_contents == ["session", "module", "earlier", "end of module"]


SHARED = """
import pytest
from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

import app

class TheirYAML(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    _file_extension = file_extension = "yaml"

    def serialize(self, data, **_):
        return f"theirs: {data}\\n"

def test_theirs(snapshot):
    assert "amber" == snapshot
    assert b"raw" == snapshot(extension_class=SingleFileSnapshotExtension)
    assert {"a": 1} == snapshot(extension_class=JSONSnapshotExtension)
    assert "yaml" == snapshot(extension_class=TheirYAML)

def test_both(snapshot, eval_api, eval_snapshot):
    app.ask("both")
    assert eval_api.sent == eval_snapshot
    assert "amber" == snapshot

def test_ours(eval_api, eval_snapshot):
    app.ask("ours")
    assert eval_api.sent == eval_snapshot
"""


ASKS = """
import app

def test_it(eval_api, eval_snapshot):
    app.ask("hello")
    assert eval_api.sent == eval_snapshot
"""


@pytest.mark.parametrize("linked", ["__snapshots__", "__snapshots__/test_it"])
def test_snapshots_that_are_linked_out_of_the_root_are_neither_written_nor_deleted(
    own: Run, linked: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "test_it").mkdir()
    header = "requests:\n- endpoint: POST /v1/x\n"
    precious = {outside / "test_it/other.yaml": header, outside / "other.yaml": header}
    precious |= {outside / ".999999999-other.yaml": "", outside / "test_it/.999999999-other.yaml": ""}
    for path, text in precious.items():
        path.write_text(text)
    link = own.path / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    own.write({"test_it.py": ASKS})
    result = own("--snapshot-update")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "its snapshots are in __snapshots__/test_it, which a link leads out of the root folder; "
            "replace the link by a folder"
        ]
    )
    assert {path: path.read_text() for path in outside.rglob("*.yaml")} == precious


def test_no_recording_is_written_where_a_link_leads_out_of_the_root(
    own: Run, server: Server, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (own.path / "__snapshots__").symlink_to(outside)
    url = f"{server.url}/v1/chat/completions"
    own.write({"test_it.py": f"import app\ndef test_it(eval_api):\n    app.ask('hello', {url!r})\n"})
    result = own("--chatprompt-live", "--chatprompt-record")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*its snapshots are in __snapshots__/test_it, which a link leads out of the root*"])
    assert (list(outside.iterdir()), server.requests) == ([], [])


def test_snapshots_of_syrupy_in_the_same_folder_are_untouched(own: Run) -> None:
    own.write({"test_it.py": SHARED})
    own.update().assert_outcomes(passed=3)
    before = {name: (own.path / name).read_bytes() for name in own.snapshots()}
    assert sorted(before) == [
        "__snapshots__/test_it.ambr",
        "__snapshots__/test_it/test_both.yaml",
        "__snapshots__/test_it/test_ours.yaml",
        "__snapshots__/test_it/test_theirs.1.raw",
        "__snapshots__/test_it/test_theirs.2.json",
        "__snapshots__/test_it/test_theirs.3.yaml",
    ]
    selections: tuple[list[str], ...] = ([], ["-k", "ours"], ["-k", "theirs"], ["test_it.py::test_both"])
    for arguments in selections:
        own.update(*arguments).stdout.no_fnmatch_line("*unused*")
        assert {name: (own.path / name).read_bytes() for name in own.snapshots()} == before
    for arguments in ([], ["-k", "ours"], ["-k", "theirs"]):
        result = own(*arguments)
        assert result.ret == 0
        result.stdout.no_fnmatch_line("*unused*")
    # What is removed is ours, and only once its test is gone.
    own.write({"test_it.py": SHARED.partition("def test_ours")[0]})
    own("--chatprompt-remove-unused")
    del before["__snapshots__/test_it/test_ours.yaml"]
    assert {name: (own.path / name).read_bytes() for name in own.snapshots()} == before

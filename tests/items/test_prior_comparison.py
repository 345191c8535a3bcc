"""A case that a thread has compared before it runs: what was made then is used, unless something has changed since."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.live.snapshot_matcher import SnapshotMatcher, UpcomingCase
from tests.items.conftest import MakeLiveProject, case_ids, eval_file
from tests.server import Server


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def test_what_a_thread_has_searched_is_not_searched_again(
    live_project: MakeLiveProject, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = live_project(4)
    done: list[str] = []
    find = Redactor.find

    def find_and_note(redactor: Redactor, data: Any, *arguments: Any) -> Any:
        if in_main_thread():
            done.append(f"searched {data['question']}")
        return find(redactor, data, *arguments)

    monkeypatch.setattr(Redactor, "find", find_and_note)
    # No reply comes before all cases were compared.
    server.gather(4)
    run("--chatprompt-live", "--chatprompt-concurrency", "4").assert_outcomes(passed=4)
    assert sorted(server.last_contents) == case_ids(4)
    # The first case runs before any thread compares it.
    assert done == ["searched c0"]


@pytest.mark.parametrize("options", [[], ["--chatprompt-live"]], ids=["offline", "live"])
def test_a_snapshot_that_a_project_gives_compares_as_before(live_project: MakeLiveProject, options: list[str]) -> None:
    own = """
from pytest_chatprompt import ChatPromptSnapshotExtension

@pytest.fixture
def eval_snapshot(snapshot):
    return snapshot.use_extension(ChatPromptSnapshotExtension)
"""
    run = live_project(2, conftest=own)
    run(*options).assert_outcomes(passed=2)
    run.write({"a.eval.yaml": eval_file(case_ids(2)).replace("content: c1", "content: changed")})
    run(*options).assert_outcomes(passed=1, failed=1)


# The test of the first case changes something, when a thread has compared and sent the next one.
CHANGING = """
import os
from pathlib import Path

MASKS = {{}}
PROVIDERS = []
SNAPSHOT = Path("__snapshots__/a.eval/c1[openai].yaml")

@pytest.fixture(scope="session")
def eval_masks():
    return MASKS

@pytest.fixture(scope="session")
def openai_provider():
    PROVIDERS.append(OpenAIProvider(base_url="{url}", api_key="sk-live-0123456789", max_retries=0))
    yield PROVIDERS[0]
    PROVIDERS[0].close()

def pytest_chatprompt_response(case):
    if case.id == "c0":
        {change}
"""
DIFFERS = "*case 'c1': what is sent to openai is not what its snapshot says*"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        pytest.param("SNAPSHOT.unlink()", "*case 'c1': what is sent to openai has no snapshot yet*", id="no snapshot"),
        pytest.param("SNAPSHOT.write_text(SNAPSHOT.read_text() + 'a: b\\n')", DIFFERS, id="another snapshot"),
        pytest.param("MASKS['Xy7'] = '<word>'", DIFFERS, id="another mask"),
        pytest.param("PROVIDERS[0].model = 'gpt-other'", DIFFERS, id="another model"),
        pytest.param(
            "os.environ['APP_PASSWORD'] = 'hunter2-Xy7!qw'",
            "*case 'c1': what is sent to openai holds the value of the environment variable APP_PASSWORD*",
            id="a secret that was none",
        ),
    ],
)
def test_a_change_after_a_thread_has_compared_a_case_counts(
    live_project: MakeLiveProject, server: Server, monkeypatch: pytest.MonkeyPatch, change: str, error: str
) -> None:
    # To be restored.
    monkeypatch.setenv("APP_PASSWORD", "")
    run = live_project(3, conftest=CHANGING.format(url=server.url, change=change))
    run.write({"a.eval.yaml": eval_file(case_ids(3)).replace("content: c1", "content: It is hunter2-Xy7!qw.")})
    run.update()
    server.gather(3)
    result = run("--chatprompt-live", "--chatprompt-concurrency", "3")
    result.assert_outcomes(passed=1 if "model" in change else 2, failed=2 if "model" in change else 1)
    result.stdout.fnmatch_lines([error])


def test_masks_that_differ_from_call_to_call_are_applied_again(live_project: MakeLiveProject, server: Server) -> None:
    masks = """
CALLS = []

def count(match):
    CALLS.append(match[0])
    return "<case>" if CALLS.count(match[0]) < 3 else "<again>"

@pytest.fixture(scope="session")
def eval_masks():
    return {"c1": count}
"""
    run = live_project(2, conftest=masks)
    server.gather(2)
    result = run("--chatprompt-live", "--chatprompt-concurrency", "2")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([DIFFERS])


def test_the_comparison_of_a_case_that_does_not_run_is_not_kept(
    live_project: MakeLiveProject, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    matched: list[tuple[SnapshotMatcher, str]] = []
    match = SnapshotMatcher.match

    def match_and_note(matcher: SnapshotMatcher, case: UpcomingCase, *arguments: Any) -> Any:
        matched.append((matcher, case.node_id))
        return match(matcher, case, *arguments)

    monkeypatch.setattr(SnapshotMatcher, "match", match_and_note)
    skipping = """
def pytest_chatprompt_response(case):
    if case.id == "c0":
        ITEMS[1].add_marker(pytest.mark.skip)

def pytest_collection_modifyitems(items):
    global ITEMS
    ITEMS = items
"""
    run = live_project(3, conftest=skipping)
    server.gather(3)
    run("--chatprompt-live", "--chatprompt-concurrency", "3").assert_outcomes(passed=2, skipped=1)
    assert len(matched) == 2
    assert [matcher.take_comparison(node_id) for matcher, node_id in matched] == [None, None]

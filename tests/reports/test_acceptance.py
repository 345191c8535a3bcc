"""What can be accepted of a run, by id, and how it is written."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from pytest_chatprompt.reports.acceptance import Acceptance, unknown
from pytest_chatprompt.results.records import CaseResult
from pytest_chatprompt.snapshots.changes import Change, written_sha256
from pytest_chatprompt.snapshots.files import atomic_write
from pytest_chatprompt.snapshots.layout import dump
from tests.reports.test_review_changes import differs


def sends(name: str, before: dict[str, int] | None, after: dict[str, int]) -> CaseResult:
    result = differs(name, before, after)
    assert result.snapshot is not None
    snapshot = result.snapshot.model_copy(update={"sent": after, "is_cause": True})
    return result.model_copy(update={"snapshot": snapshot})


@pytest.fixture
def acceptance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Acceptance:
    digests = {"a: 1": "aaaa00", "b: 1": "aaaa11", "c: 1": "bbbb00"}
    monkeypatch.setattr(Change, "digest", property(lambda change: digests[change.added[0]]))
    results = [sends(name, {name: 0}, {name: 1}) for name in "abc"]
    return Acceptance([*results, sends("n", None, {"n": 1})], tmp_path)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("aaaa0", ["aaaa0"]),
        ("aaaa00", ["aaaa0"]),
        ("bbbb", ["bbbb"]),
        ("bbbb0", ["bbbb"]),
        ("new", ["new"]),
        ("aaaa", ["aaaa0", "aaaa1"]),
        ("bbb", []),
        ("bbbb01", []),
        ("ne", []),
        ("", []),
    ],
)
def test_a_change_is_found_by_the_beginning_that_it_alone_has(
    acceptance: Acceptance, asked: str, found: list[str]
) -> None:
    assert acceptance.find(asked) == found


def test_of_a_beginning_that_several_have_it_is_said_which(acceptance: Acceptance) -> None:
    assert unknown("aaaa", acceptance.find("aaaa"), acceptance) == (
        "--chatprompt-accept aaaa: 'aaaa' may be aaaa0 or aaaa1; it has aaaa0, aaaa1, bbbb, new. Nothing is accepted for it."
    )


@pytest.fixture
def two_changes(tmp_path: Path) -> tuple[Acceptance, Acceptance]:
    """Two runs that have compared the same snapshot, of which two settings have changed."""
    before, after = {"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 0, "c": 1}
    result = differs("it", before, after)
    assert result.snapshot is not None
    path = tmp_path / result.snapshot.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dump(before), encoding="utf-8")
    hashes = {"stored_sha256": written_sha256(dump(before)), "sent_sha256": written_sha256(dump(after))}
    snapshot = result.snapshot.model_copy(update={"sent": after, **hashes})
    result = result.model_copy(update={"snapshot": snapshot})
    return Acceptance([result], tmp_path), Acceptance([result], tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no lock")
def test_of_two_runs_at_once_none_undoes_what_the_other_has_accepted(
    two_changes: tuple[Acceptance, Acceptance], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = two_changes
    first, second = ours.changes
    other_run = threading.Thread(target=theirs.accept, args=(second,))

    def write_late(path: Path, text: str) -> None:
        if not other_run.ident:
            other_run.start()
            other_run.join(timeout=0.3)
        atomic_write(path, text)

    monkeypatch.setattr("pytest_chatprompt.reports.acceptance.atomic_write", write_late)
    assert ours.accept(first) == []
    other_run.join(timeout=10)
    (problem,) = theirs.problems
    assert problem.endswith("it has changed since the run compared with it; run again")


def test_on_windows_changes_are_accepted_without_a_lock(
    two_changes: tuple[Acceptance, Acceptance], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    ours, _ = two_changes
    assert [ours.accept(each) for each in ours.changes] == [[], []]


def test_what_cannot_be_written_is_told_and_stays(acceptance: Acceptance, tmp_path: Path) -> None:
    folder = tmp_path / "__snapshots__"
    (folder / "a.yaml").mkdir(parents=True)
    (folder / "b.yaml").write_text(dump({"b": 2}))
    (problem,) = acceptance.accept("aaaa0")
    assert problem == "__snapshots__/a.yaml is not written: is a folder"
    changed = "it has changed since the run compared with it; run again"
    assert list(acceptance.accept("aaaa1")) == [f"__snapshots__/b.yaml is not written: {changed}"]
    assert list(acceptance.accept("bbbb")) == [f"__snapshots__/c.yaml is not written: {changed}"]
    assert {result.outcome for result in acceptance.results.values()} == {"failed"}
    assert list(acceptance.accept("new")) == []
    assert (folder / "n.yaml").read_text() == dump({"n": 1})
    (new,) = [result for result in acceptance.results.values() if result.node_id.endswith("::n")]
    assert new.snapshot is not None
    assert new.snapshot.state == "same"


def test_a_folder_outside_of_the_project_is_not_written(acceptance: Acceptance, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (tmp_path / "__snapshots__").symlink_to(outside)
    (problem,) = acceptance.accept("new")
    assert problem.startswith("__snapshots__/n.yaml is not written: its snapshots are in __snapshots__, which a link")
    assert not list(outside.iterdir())

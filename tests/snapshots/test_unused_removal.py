"""The removal of snapshots that no shard uses: what is removed, moved, kept and refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt.capture.recording.recorded_exchange import (
    RecordedExchange,
    RecordedReply,
    RecordedRequest,
    request_sha256,
)
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.snapshots.recording_files import save_recording
from pytest_chatprompt.snapshots.unused_removal import Removal, RemovalError, remove_unused

FOLDER = "evals/__snapshots__/a.eval"
ENDPOINT = "POST /v1/chat"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root folder with the snapshots of two cases and of a test."""
    root = tmp_path / "root"
    write(root, f"{FOLDER}/a[openai].yaml", "body of a")
    write(root, f"{FOLDER}/b[openai].yaml", "body of b")
    write(root, "__snapshots__/test_it/test_it.yaml", "body of it")
    return root


def write(root: Path, name: str, body: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"requests:\n- endpoint: {ENDPOINT}\n  request: {body}\n")


def record(root: Path, name: str, body: str) -> Path:
    request = RecordedRequest(endpoint=ENDPOINT, sha256=request_sha256(ENDPOINT, body), body=body)
    exchange = RecordedExchange(request=request, reply=RecordedReply(status=200, text=""), latency_seconds=0.5)
    save_recording(root / name, (exchange,), Redactor({}))
    return root / name


def test_unused_snapshots_are_removed_with_a_folder_that_is_empty_then(root: Path) -> None:
    names = [f"{FOLDER}/a[openai].yaml", f"{FOLDER}/was-gone[openai].yaml", "__snapshots__/test_it/test_it.yaml"]
    assert remove_unused(names, root, (), ()) == Removal((names[0], names[2]), (), ())
    assert [path.relative_to(root).as_posix() for path in root.rglob("*.yaml")] == [f"{FOLDER}/b[openai].yaml"]
    assert not (root / "__snapshots__/test_it").exists()
    assert remove_unused(names, root, (), ()) == Removal((), (), ())


def test_a_recording_goes_where_its_request_is_sent_now_and_stays_if_no_place_is_known_for_it(root: Path) -> None:
    write(root, "other/__snapshots__/c.eval/renamed[openai].yaml", "body of c")
    names = [f"{FOLDER}/{name}[openai].recording.yaml" for name in ("c", "gone", "own", "twice")]
    recorded = [
        record(root, name, body)
        for name, body in zip(names, ("body of c", "body of d", "sent", "body of b"), strict=True)
    ]
    taken = record(root, f"{FOLDER}/b[openai].recording.yaml", "body of b")
    used = ["other/__snapshots__/c.eval/renamed[openai].yaml"]
    place = "other/__snapshots__/c.eval/renamed[openai].recording.yaml"
    removal = remove_unused(names, root, used, [{"endpoint": ENDPOINT, "request": "sent"}])
    assert removal == Removal((names[1],), (names[2], names[3]), ((names[0], place),))
    assert [path.exists() for path in (*recorded, taken, root / place)] == [False, False, True, True, True, True]


@pytest.mark.parametrize(
    "name",
    [
        "../secret[a].yaml",
        "evals/../evals/__snapshots__/a.eval/a[openai].yaml",
        "link/secret[a].yaml",
        "evals/app.py",
        "evals/config.yaml",
        "evals/none.py",
    ],
)
def test_what_is_not_a_snapshot_in_the_root_folder_is_refused_and_nothing_is_removed(root: Path, name: str) -> None:
    (root.parent / "secret[a].yaml").write_text("requests:\n")
    (root / "link").symlink_to(root.parent)
    for other in ("app.py", "config.yaml"):
        (root / "evals" / other).write_text("value: 1\n")
    before = sorted(root.parent.rglob("*"))
    for each in (name, str(root / name)):
        with pytest.raises(RemovalError) as refusal:
            remove_unused([f"{FOLDER}/a[openai].yaml", each], root, (), ())
        assert str(refusal.value) == f"{each}: not a snapshot in {root}; nothing was removed"
    assert sorted(root.parent.rglob("*")) == before

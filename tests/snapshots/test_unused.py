"""Unused snapshots and recordings, and their removal."""

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
from pytest_chatprompt.snapshots.changes import data_sha256
from pytest_chatprompt.snapshots.files import snapshot_stems
from pytest_chatprompt.snapshots.recording_files import load_recording, save_recording
from pytest_chatprompt.snapshots.unused import (
    Removal,
    files_of_tests,
    gone_snapshots,
    holds_conflict,
    is_written_file,
    old_name,
    prune_recording,
    remove_unused,
    snapshot_folders_below,
    snapshots_by_data,
    unused_snapshots,
)


def create_files(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


def test_a_snapshot_whose_name_is_not_defined_is_unused(tmp_path: Path) -> None:
    create_files(tmp_path, "a[azure].yaml", "a[gemini].yaml", "b[azure].yaml")
    unused = unused_snapshots(sorted(tmp_path.iterdir()), ["a[azure]"])
    assert [path.name for path in unused] == ["a[gemini].yaml", "b[azure].yaml"]


def test_further_assertions_of_a_case_are_used_if_the_case_is_defined(tmp_path: Path) -> None:
    create_files(tmp_path, "a[azure].1.yaml", "a[azure][named].yaml", "b[azure].1.yaml")
    assert [path.name for path in unused_snapshots(sorted(tmp_path.iterdir()), ["a[azure]"])] == ["b[azure].1.yaml"]


def test_files_that_are_not_snapshots_are_never_unused(tmp_path: Path) -> None:
    create_files(tmp_path, "notes.yaml", "x[azure].json", "x[azure].ambr", ".123-x[azure].yaml")
    assert unused_snapshots(sorted(tmp_path.glob("*.yaml")), []) == []


def test_a_name_that_differs_in_case_or_encoding_of_accents_is_in_use(tmp_path: Path) -> None:
    create_files(tmp_path, "Case[azure].yaml", "e\u0301[azure].yaml")
    assert unused_snapshots(sorted(tmp_path.iterdir()), ["case[azure]", "é[azure]"]) == []


def test_a_name_that_differs_in_case_is_unused_beside_that_in_use(tmp_path: Path) -> None:
    # A file system that takes one for the other holds one of them.
    paths = [tmp_path / name for name in ("Case[azure].yaml", "Case[azure].recording.yaml", "case[azure].yaml")]
    assert unused_snapshots(paths, ["case[azure]"]) == paths[:2]
    assert gone_snapshots(paths[:2], ["case[azure]"]) == paths[:1]
    assert gone_snapshots([tmp_path / "Case[azure-hot].yaml"], ["case[azure]"]) == []


@pytest.mark.parametrize("case_id", ["a" * 190, "a" * 300])
def test_a_parameter_of_a_case_with_a_long_name_is_not_gone(case_id: str) -> None:
    unused = [Path(f"{stem}.yaml") for stem in snapshot_stems([(case_id, "openai-hot"), ("b" * 300, "openai")])]
    defined = snapshot_stems([(case_id, "openai"), ("other", "openai")])
    assert gone_snapshots(unused, defined) == unused[1:]


def test_recordings_are_not_among_the_gone_snapshots() -> None:
    gone = [Path("b[openai].yaml"), Path("b[openai].recording.yaml")]
    assert gone_snapshots(gone, snapshot_stems([("a", "openai")])) == gone[:1]


def test_files_are_known_by_their_names_and_first_keys(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("requests:\n")
    (tmp_path / "b[x].yaml").write_text("value: 1\n")
    (tmp_path / "c.yaml").mkdir()
    (tmp_path / "d[x].yaml").write_text("provider: openai\n")
    (tmp_path / "e.recording.yaml").touch()
    names = ["a.yaml", "b[x].yaml", "c.yaml", "d[x].yaml", "e.recording.yaml", "f.yaml"]
    assert [is_written_file(tmp_path / name) for name in names] == [True, False, False, True, True, False]


def test_temporary_files_are_not_unused(tmp_path: Path) -> None:
    (tmp_path / ".1-a.yaml").write_text("requests:\n")
    (tmp_path / "b.yaml").write_text("requests:\n")
    assert files_of_tests(tmp_path, ()) == [tmp_path / "b.yaml"]
    assert files_of_tests(tmp_path / "none", ()) == []


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
    names = [f"{FOLDER}/a[openai].yaml", "__snapshots__/test_it/test_it.yaml"]
    first, other = paths = [root / name for name in names]
    assert remove_unused(paths, [other], root, (), {}) == Removal([other], [first])
    assert remove_unused(paths[:1], paths, root, (), {}) == Removal([first])
    assert [path.relative_to(root).as_posix() for path in root.rglob("*.yaml")] == [f"{FOLDER}/b[openai].yaml"]
    assert not (root / "__snapshots__/test_it").exists()


def test_a_recording_goes_where_its_request_is_sent_now_and_stays_if_no_place_is_known_for_it(root: Path) -> None:
    write(root, "other/__snapshots__/c.eval/renamed[openai].yaml", "body of c")
    names = [f"{FOLDER}/{name}[openai].recording.yaml" for name in ("c", "gone", "twice")]
    recorded = [
        record(root, name, body) for name, body in zip(names, ("body of c", "body of d", "body of b"), strict=True)
    ]
    taken = record(root, f"{FOLDER}/b[openai].recording.yaml", "body of b")
    place = root / "other/__snapshots__/c.eval/renamed[openai].recording.yaml"
    folders = list(snapshot_folders_below(root, "__snapshots__"))
    removal = remove_unused(recorded, recorded, root, folders, {})
    c, gone, twice = recorded
    assert removal == Removal([gone], [], [twice], [(c, place)])
    assert [path.exists() for path in (*recorded, taken, place)] == [False, False, True, True, True]


def test_the_last_snapshot_and_a_recording_that_moves_may_leave_one_folder_empty(root: Path) -> None:
    write(root, "__snapshots__/old.eval/x[openai].yaml", "new body")
    write(root, f"{FOLDER}/c[openai].yaml", "new body")
    old = [record(root, "__snapshots__/old.eval/x[openai].recording.yaml", "new body")]
    old.append(old[0].with_name("x[openai].yaml"))
    removal = remove_unused(old, old, root, [root / FOLDER], {})
    assert (len(removal.moved), len(removal.removed)) == (1, 1)
    assert not old[0].parent.exists()


def test_a_file_that_cannot_be_removed_or_moved_is_left_and_the_others_are_not(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = (root / f"{FOLDER}/{name}[openai].yaml" for name in ("a", "b"))
    moved = record(root, f"{FOLDER}/c[openai].recording.yaml", "body of it")
    # There is a file where its folder would be.
    sent = {str(root / "pyproject/it.recording.yaml"): load_recording(moved, root)[0].request.sha256}
    (root / "pyproject").touch()
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path == a:
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)
    removal = remove_unused([a, b, moved], [a, b], root, (), {name: [sha256] for name, sha256 in sent.items()})
    refused = {moved: "is not moved: File exists", a: "is not removed: Permission denied"}
    assert removal == Removal([b], [a, moved], refused=refused)
    assert [path.exists() for path in (a, b, moved)] == [True, False, True]


def test_a_file_is_removed_also_if_its_empty_folder_cannot_be(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "rmdir", refuse)
    path = root / "__snapshots__/test_it/test_it.yaml"
    assert remove_unused([path], [path], root, (), {}) == Removal([path])
    assert not path.exists()


def test_hidden_folders_hold_no_snapshots(root: Path) -> None:
    write(root, ".venv/__snapshots__/a.eval/a[openai].yaml", "x")
    folders = sorted(folder.relative_to(root).as_posix() for folder in snapshot_folders_below(root, "__snapshots__"))
    assert folders == ["__snapshots__/test_it", FOLDER]


def test_a_recording_is_pruned_to_what_was_replayed_and_removed_if_that_is_nothing(root: Path) -> None:
    path = record(root, f"{FOLDER}/a[openai].recording.yaml", "one")
    (exchange,) = load_recording(path, root)
    second = exchange.model_copy(update={"latency_seconds": 0.7})
    other = exchange.model_copy(update={"repeat": 2})
    save_recording(path, (exchange, second, other), Redactor({}))
    key = [1, exchange.request.sha256]
    assert prune_recording(path, [key, key, [2, key[1]]], root, Redactor({})) == 0
    assert prune_recording(path, [key], root, Redactor({})) == 2
    assert load_recording(path, root) == (exchange,)
    assert prune_recording(path, [], root, Redactor({})) == 1
    assert not path.exists()


def test_snapshots_are_found_by_their_data_and_recordings_are_none(tmp_path: Path) -> None:
    texts = {"a[x].yaml": "a: 1\n", "b[x].yaml": "{a: 1}", "c[x].yaml": "{broken", "d.recording.yaml": "a: 2\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder[x].yaml").mkdir()
    names = [*texts, "folder[x].yaml", "gone[x].yaml"]
    assert snapshots_by_data([tmp_path / name for name in names]) == {
        data_sha256("a: 1\n"): tmp_path / "a[x].yaml",
        data_sha256("{broken"): tmp_path / "c[x].yaml",
    }


def test_a_case_is_called_by_its_id_and_by_its_bracket_if_that_differs() -> None:
    assert old_name(Path("a%2Fb[azure].yaml"), "new[azure]") == "a/b"
    assert old_name(Path("qa[azure-one].yaml"), "qa[azure-two]") == "qa[azure-one]"
    assert old_name(Path("test_it.yaml"), "test_new") == "test_it"


CONFLICT = "requests:\n<<<<<<< HEAD\n- one\n=======\n- two\n>>>>>>> theirs\n"


def test_a_snapshot_may_hold_the_conflict_of_a_merge(tmp_path: Path) -> None:
    path = tmp_path / "a[openai].yaml"
    assert not holds_conflict(path)
    assert not holds_conflict(tmp_path)
    path.write_text(CONFLICT)
    assert holds_conflict(path)


def test_a_snapshot_that_begins_with_a_conflict_is_one_of_this_plugin(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CONFLICT.removeprefix("requests:\n"))
    assert files_of_tests(tmp_path, ()) == [tmp_path / "a.yaml"]

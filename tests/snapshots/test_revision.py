"""A git revision: what its snapshots are, whatever stands on disk, and what is said where git knows no such thing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_chatprompt.snapshots.revision import Revision, RevisionError
from tests.git_repository import Git, commit_all


@pytest.fixture
def root(git: Git, tmp_path: Path) -> Path:
    """A project in a folder of a repository, whose snapshots changed since its last commit."""
    folder = tmp_path / "repo/project"
    snapshots = folder / "evals/__snapshots__/a"
    snapshots.mkdir(parents=True)
    (snapshots / "old[azure].yaml").write_text("question: old\n", encoding="utf-8")
    (snapshots / "é: x%3F[azure].yaml").write_bytes("question: ü\r\nmore: 1\r\n".encode())
    (snapshots / "large[azure].yaml").write_text("question: " + "x" * 3_000_000, encoding="utf-8")
    commit_all(git, tmp_path / "repo")
    (snapshots / "old[azure].yaml").write_text("question: new\n", encoding="utf-8")
    (snapshots / "new[azure].yaml").write_text("question: new\n", encoding="utf-8")
    (snapshots / "large[azure].yaml").unlink()
    return folder


@pytest.fixture
def revision(root: Path) -> Iterator[Revision]:
    """The last commit."""
    revision = Revision.open("HEAD", root)
    yield revision
    revision.close()


def test_a_snapshot_is_what_was_committed(revision: Revision, root: Path) -> None:
    folder = root / "evals/__snapshots__/a"
    assert revision.name == "HEAD"
    for _ in range(2):
        assert revision.read(folder / "old[azure].yaml") == "question: old\n"
        assert revision.read(folder / "new[azure].yaml") is None
        assert revision.read(folder / "é: x%3F[azure].yaml") == "question: ü\nmore: 1\n"
        large = revision.read(folder / "large[azure].yaml")
        assert large is not None
        assert len(large) == 3_000_010


def test_the_files_of_a_folder_are_those_that_were_committed(revision: Revision, root: Path, tmp_path: Path) -> None:
    folder = root / "evals/__snapshots__/a"
    names = ["large[azure].yaml", "old[azure].yaml", "é: x%3F[azure].yaml"]
    assert revision.yaml_files(folder) == [folder / name for name in names]
    assert revision.yaml_files(folder.parent) == []
    assert revision.yaml_files(folder / "old[azure].yaml") == []
    assert revision.yaml_files(root / "gone") == revision.yaml_files(tmp_path / "elsewhere") == []


def test_what_is_no_file_of_the_repository_has_no_snapshot(revision: Revision, root: Path, tmp_path: Path) -> None:
    assert revision.read(tmp_path / "elsewhere/a.yaml") is None
    # A folder, and a name that git's protocol would take for two.
    assert revision.read(root / "evals/__snapshots__/a") is None
    assert revision.read(root / "evals/a\nHEAD.yaml") is None


def test_a_project_is_found_through_a_link(root: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(root, target_is_directory=True)
    revision = Revision.open("main", link)
    assert revision.read(link / "evals/__snapshots__/a/old[azure].yaml") == "question: old\n"
    revision.close()
    # Closing twice is allowed.
    revision.close()


def test_the_repository_of_a_git_hook_is_not_taken_for_the_projects(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", "nowhere")
    revision = Revision.open("HEAD", root)
    assert revision.read(root / "evals/__snapshots__/a/old[azure].yaml") == "question: old\n"
    revision.close()


@pytest.mark.parametrize("name", ["no-such-branch", "", "-h", "HEAD:project", "HEAD~1"])
def test_what_is_no_revision_is_an_error(root: Path, name: str) -> None:
    with pytest.raises(RevisionError) as caught:
        Revision.open(name, root)
    assert str(caught.value) == (
        f"--chatprompt-against: git knows no revision {name!r} in {root}; name a branch, tag or commit, such as main "
        "(a shallow clone lacks other branches: git fetch origin main; and old commits: git fetch --unshallow)"
    )


def test_outside_of_a_repository_there_is_no_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    with pytest.raises(RevisionError) as caught:
        Revision.open("HEAD", tmp_path)
    assert str(caught.value).startswith(
        f"--chatprompt-against: git reads no repository in {tmp_path}: fatal: not a git repository"
    )


def test_why_git_refuses_a_repository_is_told_in_its_words(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As in a container of CI, whose user is not the owner of the checkout.
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(RevisionError) as caught:
        Revision.open("HEAD", root)
    assert str(caught.value) == (
        f"--chatprompt-against: git reads no repository in {root}: fatal: detected dubious ownership in repository at "
        f"'{root.parent}'\nTo add an exception for this directory, call:\n\n"
        f"\tgit config --global --add safe.directory {root.parent}"
    )


def test_without_git_there_is_no_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert shutil.which("git") is None
    with pytest.raises(RevisionError, match=r"^--chatprompt-against needs git, which is not on PATH$"):
        Revision.open("HEAD", tmp_path)


def test_a_git_that_ends_is_an_error(revision: Revision, root: Path) -> None:
    revision.close()
    with pytest.raises(RevisionError, match=r"^cannot be read from HEAD, as git ended and said why on stderr$"):
        revision.read(root / "evals/__snapshots__/a/old[azure].yaml")


def test_files_are_found_by_their_size(root: Path, git: Git) -> None:
    (root / "sub").mkdir()
    (root / "sub/ä b.bin").write_bytes(b"\0\n1234")
    (root / "other.bin").write_bytes(b"567890")
    (root / "link").symlink_to("123456")
    commit_all(git, root)
    # A submodule has no size.
    head = git("-C", str(root), "rev-parse", "HEAD")
    git("-C", str(root), "update-index", "--add", "--cacheinfo", f"160000,{head},module")
    git("-C", str(root), "commit", "--quiet", "--message=module")
    (root / "other.bin").unlink()
    revision = Revision.open("HEAD", root)
    assert sorted(revision.contents(6)) == [b"\0\n1234", b"123456", b"567890"]
    assert list(revision.contents(7)) == []
    revision.close()


def test_a_revision_is_named_by_its_option_in_errors(root: Path) -> None:
    with pytest.raises(RevisionError, match=r"^--chatprompt-ab: git knows no revision 'gone' in "):
        Revision.open("gone", root, "--chatprompt-ab")

"""The search for a file: in which folders, and what is refused (rules F1 and F2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt.text.files import NamedFileError, find_file
from tests.conftest import Project


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("x.csv", "a/b/x.csv", id="beside the eval file first"),
        pytest.param("y.csv", "a/y.csv", id="then in each folder above"),
        pytest.param("/y.csv", "y.csv", id="a leading slash is the root folder"),
        pytest.param("./c/../x.csv", "a/b/x.csv", id="normalized"),
    ],
)
def test_a_file_is_found(project: Project, name: str, found: str) -> None:
    for path in ("a/b/x.csv", "a/x.csv", "a/y.csv", "y.csv"):
        project.write(path, "")
    assert find_file(name, project.root / "a/b", project.root) == (project.root / found, found)


def test_a_missing_file_says_what_was_tried(project: Project) -> None:
    with pytest.raises(NamedFileError) as caught:
        find_file("x.csv", project.root / "a", project.root)
    assert str(caught.value) == "file x.csv not found; tried a/x.csv, x.csv"


def test_a_file_outside_the_root_folder_is_refused(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "x.csv"
    outside.write_text("")
    Path(project.root / "x.csv").symlink_to(outside)
    with pytest.raises(NamedFileError, match="is outside the root folder"):
        find_file("x.csv", project.root, project.root)

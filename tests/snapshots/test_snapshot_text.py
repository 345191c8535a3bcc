"""The text of a snapshot, compared with a file line by line and byte by byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt.snapshots.layout import SharedLines, SnapshotText

TEXTS = [
    pytest.param([], "", id="no line"),
    pytest.param([""], "\n", id="an empty line"),
    pytest.param(["a: ä", "b: €"], "a: ä\nb: €\n", id="lines"),
    pytest.param([SharedLines("1\n2")], "1\n2\n", id="nothing but shared lines"),
    pytest.param(["a", SharedLines("1\n2"), "b", "c"], "a\n1\n2\nb\nc\n", id="shared lines between others"),
    pytest.param([SharedLines("ä"), SharedLines("ö"), "b"], "ä\nö\nb\n", id="shared lines after each other"),
    pytest.param(["b", SharedLines("ä")], "b\nä\n", id="shared lines at the end"),
]


@pytest.mark.parametrize(("lines", "text"), TEXTS)
def test_the_lines_are_one_text_in_characters_and_in_bytes(lines: list[str], text: str) -> None:
    assert str(SnapshotText(lines)) == text
    assert b"".join(SnapshotText(lines).encoded()) == text.encode()


@pytest.mark.parametrize(("lines", "text"), TEXTS)
def test_a_file_with_the_same_bytes_holds_the_text(lines: list[str], text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(text.encode())
    assert SnapshotText(lines).is_in(path)
    path.write_bytes(text.encode() + b"\n")
    assert not SnapshotText(lines).is_in(path)


@pytest.mark.parametrize("content", [b"a: 1\r\n", b"a: 1", b"a: 2\n", b"", b"\xef\xbb\xbfa: 1\n"])
def test_a_file_with_other_bytes_does_not_hold_it(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(content)
    assert not SnapshotText(["a: 1"]).is_in(path)


def test_what_is_no_file_holds_nothing(tmp_path: Path) -> None:
    assert not SnapshotText([]).is_in(tmp_path)
    assert not SnapshotText([]).is_in(tmp_path / "missing.yaml")


def test_shared_lines_are_encoded_once() -> None:
    shared = SharedLines("ä\nö")
    pieces = [list(SnapshotText([f"a: {number}", shared]).encoded()) for number in range(2)]
    assert pieces == [[f"a: {number}\n".encode(), "ä\nö".encode(), b"\n"] for number in range(2)]
    assert pieces[0][1] is pieces[1][1]

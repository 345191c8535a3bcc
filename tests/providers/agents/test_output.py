"""Outputs and answers are read within bounds."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from pytest_chatprompt import AgentError
from pytest_chatprompt.providers.agents import process as output
from pytest_chatprompt.providers.agents.process import output_tail, read_answer, read_end


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b"", ("", False), id="nothing"),
        pytest.param(b"12345678", ("12345678", False), id="as much as fits"),
        pytest.param(b"one\ntwo\nend", ("\ntwo\nend", True), id="more than fits"),
        pytest.param("äää1234567".encode(), ("\ufffd1234567", True), id="a character cut in two"),
    ],
)
def test_the_end_of_an_output_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, expected: tuple[str, bool]
) -> None:
    monkeypatch.setattr(output, "MAX_OUTPUT_BYTES", 8)
    path = tmp_path / "output"
    path.write_bytes(content)
    with path.open("rb") as file:
        assert read_end(file) == expected


def test_an_answer_that_is_too_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "MAX_OUTPUT_BYTES", 1000)
    path = tmp_path / "answer.md"
    path.write_bytes(b"\xff" + b"x" * 999)
    assert read_answer(path, "agent") == "\ufffd" + "x" * 999
    path.write_bytes(b"x" * 1001)
    with pytest.raises(AgentError) as caught:
        read_answer(path, "agent")
    assert str(caught.value) == "agent wrote an answer of 1,001 bytes; the limit is 1,000"


@pytest.mark.parametrize(
    ("text", "tail"),
    [
        pytest.param(" \n", "", id="a blank output"),
        pytest.param("one\ntwo\n", "; the end of its log:\none\ntwo", id="two lines"),
        pytest.param("x\n" * 100, "; the end of its log:\n" + "\n".join("x" * 10), id="the last ten of many lines"),
        pytest.param("x" * 5000, f"; the end of its log:\n{'x' * 2000}", id="the end of a long line"),
    ],
)
def test_the_tail_of_an_output_is_its_last_lines(text: str, tail: str) -> None:
    assert output_tail(text, "log") == tail


def test_reading_does_not_move_the_position_of_a_process_that_still_writes() -> None:
    with tempfile.TemporaryFile() as file:
        os.write(file.fileno(), b"written")
        os.lseek(file.fileno(), 3, os.SEEK_SET)
        assert read_end(file) == ("written", False)
        assert os.lseek(file.fileno(), 0, os.SEEK_CUR) == 3

"""Outputs and answers are read within bounds."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt import AgentError
from pytest_chatprompt.providers.agents import process as output
from pytest_chatprompt.providers.agents.process import read_answer, stderr_tail


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
        pytest.param("one\ntwo\n", "; the end of its standard error:\none\ntwo", id="two lines"),
        pytest.param(
            "x\n" * 100, "; the end of its standard error:\n" + "\n".join("x" * 10), id="the last ten of many lines"
        ),
        pytest.param("x" * 5000, f"; the end of its standard error:\n{'x' * 2000}", id="the end of a long line"),
    ],
)
def test_the_tail_of_an_output_is_its_last_lines(text: str, tail: str) -> None:
    assert stderr_tail(text) == tail

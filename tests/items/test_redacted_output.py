"""Redacted output: what is written holds no secret, and afterwards everything is as before."""

from __future__ import annotations

import io
import logging

import pytest

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.items.redacted_output import redact_handler, redacted_streams

KEY = "sk-live-0123456789abcdef"
REDACTOR = Redactor({"API_KEY": KEY})


class Stream(io.TextIOWrapper):
    """A text stream in memory, of the same kind as `sys.stdout`."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    @property
    def written(self) -> str:
        data = self.buffer
        assert isinstance(data, io.BytesIO)
        return data.getvalue().decode()


def test_a_stream_writes_no_secret() -> None:
    stream = Stream()
    handler = logging.StreamHandler(stream)
    with redacted_streams((stream, stream), REDACTOR):
        assert stream.write(f"a {KEY}\n") == len(f"a {KEY}\n")
        stream.writelines([f"b {KEY}", "\n"])
        print("c", KEY, file=stream)
        handler.emit(logging.makeLogRecord({"msg": f"d {KEY}"}))
    assert stream.written == "a [secret]\nb [secret]\nc [secret]\nd [secret]\n"


def test_afterwards_a_stream_is_as_before() -> None:
    stream = Stream()
    before = dict(vars(stream))
    with pytest.raises(ValueError, match="x"), redacted_streams((stream,), REDACTOR):
        raise ValueError("x")
    assert vars(stream) == before
    stream.write(KEY)
    assert stream.written == KEY


def test_a_stream_refuses_what_is_no_text() -> None:
    with redacted_streams((stream := Stream(),), REDACTOR), pytest.raises(TypeError):
        stream.write(b"bytes")  # type: ignore[arg-type]


def test_a_log_handler_without_a_formatter_is_redacted() -> None:
    stream = Stream()
    handler = logging.StreamHandler(stream)
    redact_handler(handler, REDACTOR)
    handler.emit(logging.makeLogRecord({"msg": "the key is %s", "args": (KEY,)}))
    assert stream.written == "the key is [secret]\n"


def test_the_formatter_of_a_log_handler_can_still_be_set_up() -> None:
    handler = logging.StreamHandler(Stream())
    formatter = logging.Formatter()
    formatter.add_color_level = "colours"  # type: ignore[attr-defined]
    handler.setFormatter(formatter)
    redact_handler(handler, REDACTOR)
    assert getattr(handler.formatter, "add_color_level", "") == "colours"

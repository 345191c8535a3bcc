"""Redacted output: streams, log handlers and pytest's terminal write no secrets.

What writes comes in, and redacts from then on, or for as long as a context lasts. `redaction_hooks` calls these
functions. A secret that is written in several pieces is not recognised.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

import pytest

from pytest_chatprompt.items.report_redactor import TextRedactor


@contextmanager
def redacted_streams(streams: Iterable[TextIO], redactor: TextRedactor) -> Iterator[None]:
    """Redact what is written to streams, as long as the context lasts.

    The methods of the streams are replaced, rather than the streams: a log handler may hold one of them.

    Args:
        streams: text streams.
        redactor: removes the secrets of the run.
    """
    with ExitStack() as stack:
        for stream in {id(stream): stream for stream in streams}.values():
            stack.enter_context(_redacted_stream(stream, redactor))
        yield


@contextmanager
def _redacted_stream(stream: Any, redactor: TextRedactor) -> Iterator[None]:
    write = stream.write

    def redacted_write(text: str) -> int:
        write(redactor.redact(text) if isinstance(text, str) else text)
        return len(text)

    def writelines(lines: Iterable[str]) -> None:
        for line in lines:
            redacted_write(line)

    stream.write, stream.writelines = redacted_write, writelines
    try:
        yield
    finally:
        del stream.write, stream.writelines


def redact_handler(handler: logging.Handler, redactor: TextRedactor) -> None:
    """Redact what a log handler writes; the records stay as they are, for `caplog`.

    Args:
        handler: gets a formatter around its own.
        redactor: removes the secrets of the run.
    """
    handler.setFormatter(_RedactingFormatter(handler.formatter or logging.Formatter(), redactor))


def redact_terminal(reporter: pytest.TerminalReporter, redactor: TextRedactor) -> None:
    """Redact all that pytest writes to the terminal, such as the names of tests and the reason of an early end.

    Args:
        reporter: pytest's terminal reporter.
        redactor: removes the secrets of the run.
    """
    writer: Any = reporter.config.get_terminal_writer()
    write = writer.write

    def redacted_write(text: str, **options: Any) -> None:
        write(redactor.redact(text), **options)

    writer.write = redacted_write


class _RedactingFormatter(logging.Formatter):
    """Redacts the text that another formatter makes."""

    def __init__(self, formatter: logging.Formatter, redactor: TextRedactor) -> None:
        super().__init__()
        self._formatter = formatter
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.redact(self._formatter.format(record))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._formatter, name)

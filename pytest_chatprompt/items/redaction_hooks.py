"""Redaction hooks: remove secrets from everything that pytest reports, before other plugins see it.

A `RedactionHooks` is registered as a plugin together with the run's `EvalSession`, and works for all tests of the run,
those in Python files too. It redacts errors, reports, warnings, the output of pytest's log handlers, and what tests
print while capturing is off. `docs/security.md` says what is covered.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Final, TextIO, cast

import pytest

from pytest_chatprompt.capture.redaction import Redactor

# Handlers of pytest's logging plugin whose output people read; `caplog` has one of its own, which a test compares.
_LOG_HANDLERS: Final = ("report_handler", "log_cli_handler", "log_file_handler")


@dataclass(eq=False)
class RedactionHooks:
    """The hooks that remove secrets.

    Args:
        config: the run's configuration.
        redactor: the secrets of the run.
    """

    config: pytest.Config
    redactor: Redactor
    _streams: tuple[TextIO, TextIO] | None = None

    def install(self) -> None:
        """Redact what pytest's log handlers and its debug file write."""
        logging_plugin: Any = self.config.pluginmanager.get_plugin("logging-plugin")
        for name in _LOG_HANDLERS:
            handler = getattr(logging_plugin, name, None)
            if isinstance(handler, logging.Handler):
                handler.setFormatter(_RedactingFormatter(handler.formatter or logging.Formatter(), self.redactor))
        if self.config.option.debug:
            # pytest writes its debug file through this tracer, and has no public way to get at the writer.
            tracer: Any = self.config.trace.root
            write = tracer._writer
            tracer.setwriter(lambda text: write(self.redactor.redact(text)))

    # The innermost wrappers of the three phases: inside of pytest's own capturing.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        """Redact what fixtures print, if pytest does not capture it (`-s`, `--capture=tee-sys`)."""
        self._streams = (sys.stdout, sys.stderr)
        with self._redacted_output():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Redact what a test prints, if pytest does not capture it."""
        with self._redacted_output():
            return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        """Redact what fixtures print at their end, if pytest does not capture it."""
        with self._redacted_output():
            return (yield)

    @contextmanager
    def _redacted_output(self) -> Iterator[None]:
        is_shown = self.config.getoption("capture") in ("no", "tee-sys")
        # Other streams are those of a fixture such as `capsys`: a test compares what it wrote there.
        if not is_shown or (sys.stdout, sys.stderr) != self._streams:
            yield
            return
        stdout, stderr = (cast(TextIO, _RedactingStream(stream, self.redactor)) for stream in self._streams)
        with redirect_stdout(stdout), redirect_stderr(stderr):
            yield

    # The innermost wrapper: it sees the error before pytest, and the report before any other plugin.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Redact the error of a test, and its report."""
        if call.excinfo is not None:
            _redact_error(call.excinfo.value, self.redactor)
        report = yield
        self._redact_report(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Redact a report again: plugins may have added to it, as pytest's own adds the reason of an xfail."""
        self._redact_report(report)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Redact the report of a file that could not be collected."""
        report = yield
        self._redact_report(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: Any) -> None:
        """Redact a warning; errors of threads are reported as warnings too."""
        if isinstance(warning_message.message, Warning):
            _redact_error(warning_message.message, self.redactor)
        else:
            warning_message.message = self.redactor.redact(str(warning_message.message))

    def _redact_report(self, report: Any) -> None:
        report.sections = [(name, self.redactor.redact(content)) for name, content in report.sections]
        if report.longrepr is not None:
            text = str(report.longrepr)
            if self.redactor.redact(text) != text:
                report.longrepr = _redact_data(report.longrepr, self.redactor)
        if hasattr(report, "wasxfail"):
            report.wasxfail = self.redactor.redact(report.wasxfail)
        if getattr(report, "user_properties", None):
            report.user_properties = [
                (name, self.redactor.redact(value) if isinstance(value, str) else value)
                for name, value in report.user_properties
            ]


class _RedactingFormatter(logging.Formatter):
    """Redacts the text that another formatter makes; the records stay as they are, for `caplog`."""

    def __init__(self, formatter: logging.Formatter, redactor: Redactor) -> None:
        super().__init__()
        self._formatter = formatter
        self._redactor = redactor

    def format(self, record: logging.LogRecord) -> str:
        return self._redactor.redact(self._formatter.format(record))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._formatter, name)


class _RedactingStream:
    """A text stream that redacts what is written to it, and is another stream in all else."""

    def __init__(self, stream: TextIO, redactor: Redactor) -> None:
        self._stream = stream
        self._redactor = redactor

    def write(self, text: str) -> int:
        self._stream.write(self._redactor.redact(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _redact_error(error: BaseException, redactor: Redactor) -> None:
    """Redact the arguments and attributes of an error, and of those that caused it: its text is made of them."""
    chain: list[BaseException] = []
    pending: BaseException | None = error
    while pending is not None and pending not in chain:
        chain.append(pending)
        pending = pending.__cause__ or pending.__context__
    for each in chain:
        redacted = _redact_data(each.args, redactor)
        if redacted != each.args:
            each.args = redacted
        # Some errors keep their text in an attribute, as those of `pytest.skip` and `pytest.fail` do.
        attributes = vars(each)
        attributes.update({name: redactor.redact(text) for name, text in attributes.items() if isinstance(text, str)})


def _redact_data(value: Any, redactor: Redactor) -> Any:
    """Redact every string in the arguments of an error, or in a report's representation of one."""
    if isinstance(value, str):
        return redactor.redact(value)
    if type(value) in (list, tuple):
        return type(value)(_redact_data(item, redactor) for item in value)
    if type(value) is dict:
        return {_redact_data(key, redactor): _redact_data(item, redactor) for key, item in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            object.__setattr__(value, field.name, _redact_data(getattr(value, field.name), redactor))
    return value

"""Redaction hooks: remove secrets from everything that pytest reports, before other plugins see it.

A `RedactionHooks` is registered as a plugin together with the run's `EvalSession`, and works for all tests of the run,
those in Python files too. It redacts errors, reports with the output that they hold, warnings and the terminal.
Streams, loggers, finalizers and tracers are left alone. `docs/security.md` says what is covered.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from _pytest.skipping import xfailed_key

from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.items.redacted_errors import redact_error, redact_representation, redact_value
from pytest_chatprompt.items.redacted_reports import RedactedReports, redact_contents
from pytest_chatprompt.items.report_redactor import ReportRedactor, TextRedactor
from pytest_chatprompt.items.stand_in_error import without_secrets
from pytest_chatprompt.options import options_key


@dataclass(eq=False)
class RedactionHooks:
    """The hooks that remove secrets.

    Args:
        config: the run's configuration.
        redactor: removes the secrets of the run.
    """

    config: pytest.Config
    redactor: TextRedactor
    _reports: RedactedReports = field(init=False)

    def __post_init__(self) -> None:
        self._reports = RedactedReports(self.redactor)

    def install(self) -> None:
        """Redact all that pytest writes to the terminal, such as names of tests and the live log."""
        if self.config.pluginmanager.hasplugin("terminalreporter"):
            writer: Any = self.config.get_terminal_writer()
            write = writer.write

            def redacted_write(text: str, **options: Any) -> None:
                write(self.redactor.redact(text), **options)

            writer.write = redacted_write

    # The innermost wrapper: it sees the error before pytest, and the report before any other plugin.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Redact the error of a test, and its report."""
        if call.excinfo is not None:
            redact_error(call.excinfo.value, self.redactor)
        xfailed = item.stash.get(xfailed_key, None)
        if xfailed is not None:
            # pytest puts the reason into the report later, and plugins around it see that report first.
            item.stash[xfailed_key] = replace(xfailed, reason=self.redactor.redact(xfailed.reason))
        report = yield
        if call.excinfo is not None:
            # pytest has replaced the error of a test of unittest by now.
            redact_error(call.excinfo.value, self.redactor)
            shown = without_secrets(call.excinfo.value, self.redactor)
            if shown is not call.excinfo.value:
                call.excinfo = pytest.ExceptionInfo.from_exception(shown)
        self._reports.redact(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Redact a report again: plugins may have added to it, as pytest's own adds the reason of an xfail."""
        self._reports.redact(report)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_make_collect_report(self) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Redact the report of a file that could not be collected."""
        report = yield
        _redact_collect_report(report, self.redactor)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_assertrepr_compare(
        self, config: pytest.Config, op: str, left: Any, right: Any
    ) -> Generator[None, list[Any], list[Any]]:
        """Explain a failed comparison by values without secrets: an explanation shows parts of the values."""
        explanations = yield
        values = [redact_value(value, self.redactor) for value in (left, right)]
        if values[0] is left and values[1] is right:
            return explanations
        redacted: list[Any] = config.hook.pytest_assertrepr_compare(
            config=config, op=op, left=values[0], right=values[1]
        )
        return redacted

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: Any, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Redact an error of pytest or of a plugin."""
        redact_error(excinfo.value, self.redactor)
        redact_representation(excrepr, self.redactor)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Redact the reason of an early end."""
        redact_error(excinfo.value, self.redactor)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_json_modifyreport(self, json_report: dict[str, Any]) -> None:
        """Redact the report of pytest-json-report, which keeps the records of logging."""
        # Without a secret it is the same object.
        redacted = dict(redact_value(json_report, self.redactor))
        json_report.clear()
        json_report.update(redacted)

    @pytest.hookimpl(tryfirst=True)
    def pytest_warning_recorded(self, warning_message: Any) -> None:
        """Redact a warning; errors of threads are reported as warnings too."""
        if isinstance(warning_message.message, Warning):
            redact_error(warning_message.message, self.redactor)
        else:
            warning_message.message = self.redactor.redact(str(warning_message.message))


def _redact_collect_report(report: pytest.CollectReport, redactor: TextRedactor) -> None:
    """Redact the report of a file that could not be collected, and its error.

    Args:
        report: changed in place.
        redactor: removes the secrets of the run.
    """
    # pytest hands the error over to `pytest_exception_interact` in this attribute.
    call: Any = getattr(report, "call", None)
    if call is not None and call.excinfo is not None:
        redact_error(call.excinfo.value, redactor)
    redact_contents(report, redactor)


def redact_early_report(report: pytest.CollectReport, config: pytest.Config) -> None:
    """Redact the report of a file that was collected before any eval file: the hooks above do not act yet.

    Args:
        report: changed in place.
        config: the run's configuration.
    """
    redactor = Redactor(os.environ, config.stash[options_key].allowed_secrets)
    _redact_collect_report(report, ReportRedactor(redactor))

"""Report hooks: how the run of an eval item is reported, and kept offline.

A `ReportHooks` is registered as a plugin together with the run's `EvalSession`. It guards the network while an item
runs offline, shows errors of this package as text and a user's errors by the user's own lines, and removes secrets
from reports.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any, Final

import pluggy
import pytest

import pytest_chatprompt
from pytest_chatprompt.capture.network_guard import ConnectionAttempts, guard_network
from pytest_chatprompt.capture.redaction import Redactor
from pytest_chatprompt.errors import (
    APIConnectionError,
    APIStatusError,
    BadRequestError,
    CaptureError,
    ContentFilterError,
    MissingSettingError,
    ReplayError,
)
from pytest_chatprompt.items.failures import OWN_ERRORS, text_failure
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.options import options_key

# Where the code of pytest, pluggy and this package lives. Pytest's own code is not in the package `pytest`.
_FRAMEWORK_FOLDERS: Final = tuple(
    f"{Path(file).parent}{os.sep}"
    for file in (inspect.getfile(pytest.Function), str(pluggy.__file__), str(pytest_chatprompt.__file__))
)


@dataclass(eq=False)
class ReportHooks:
    """The hooks around each item.

    Args:
        config: the run's configuration.
        redactor: the secrets of the run.
    """

    config: pytest.Config
    redactor: Redactor
    _attempts: ConnectionAttempts = field(default_factory=ConnectionAttempts)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Block the network for an eval item and its fixtures, unless the run is live."""
        if not isinstance(item, EvalItem) or self.config.stash[options_key].live:
            return (yield)
        with guard_network() as self._attempts:
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show an error of this package as its text, at the position of the case, and redact the report."""
        if not isinstance(item, EvalItem):
            return (yield)
        if call.when == "call" and call.excinfo is None and self._attempts.blocked:
            # The error that the guard raised was swallowed.
            error = CaptureError(f"something connected to {self._attempts.blocked[0]}, and this is an offline run")
            call.excinfo = text_failure(item.with_position(error))
        report = yield from self._report(item, call)
        report.sections = [(name, self.redactor.redact(content)) for name, content in report.sections]
        text = str(report.longrepr) if report.failed else ""
        if self.redactor.redact(text) != text:
            report.longrepr = self.redactor.redact(text)
        if report.failed and report.when == "call" and call.excinfo is not None and _is_outage(call.excinfo.value):
            # It is not the case that failed. Pytest reports a failed setup as an error, in JUnit's XML as `<error>`.
            report.when = "setup"
        return report

    def _report(
        self, item: EvalItem, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.excinfo is None or self.config.option.fulltrace:
            return (yield)
        error = call.excinfo.value
        if not isinstance(error, OWN_ERRORS):
            # Fixtures that are asked for late put their own machinery between the item and the user's code.
            call.excinfo = pytest.ExceptionInfo.from_exception(
                error.with_traceback(_user_frames_only(error.__traceback__))
            )
            return (yield)
        # The error itself stays in `call`, for `xfail(raises=...)` and `--pdb`.
        report = yield
        if report.failed and call.when != "call":
            # In the call phase pytest asks the item by itself.
            report.longrepr = item.repr_failure(call.excinfo)
        return report


def _is_outage(error: BaseException) -> bool:
    """Whether an error says nothing about the case: the API, the key or the recording is missing."""
    of_the_case = (BadRequestError, ContentFilterError)
    outages = (APIStatusError, APIConnectionError, MissingSettingError, ReplayError)
    return isinstance(error, outages) and not isinstance(error, of_the_case)


def _user_frames_only(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of pytest, pluggy and this package; unchanged if there are no others."""
    kept: TracebackType | None = None
    for frame, line in reversed(list(walk_tb(traceback))):
        if not frame.f_code.co_filename.startswith(_FRAMEWORK_FOLDERS):
            kept = TracebackType(kept, frame, frame.f_lasti, line)
    return kept or traceback

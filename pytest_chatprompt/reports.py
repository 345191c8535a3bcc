"""What is told of a case that ran: its reports, and what must not stand in them.

An `EvalReports` is registered as a plugin together with the run's `EvalSession`. It keeps a case offline while it
runs, tells errors of this package by their text alone and a user's errors by the user's own lines, and blots out
secrets.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

import _pytest
import pluggy
import pytest

from pytest_chatprompt.errors import (
    ApiError,
    BadRequestError,
    ContentFilterError,
    MissingSettingError,
    RecordingError,
    ReplayError,
    UnreachableError,
)
from pytest_chatprompt.eval_item import EvalItem
from pytest_chatprompt.failures import OWN_ERRORS, plain
from pytest_chatprompt.options import settings_key
from pytest_chatprompt.secret_values import SecretValues
from pytest_chatprompt.sockets import Connections, guarded_sockets


@dataclass(eq=False)
class EvalReports:
    """The hooks around each case.

    Args:
        config: the run's configuration.
        secrets: what must not reach a report.
    """

    config: pytest.Config
    secrets: SecretValues
    _connections: Connections = field(default_factory=Connections)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Keep a case, its fixtures included, from reaching beyond this machine, unless the run is live."""
        if not isinstance(item, EvalItem) or self.config.stash[settings_key].live:
            return (yield)
        with guarded_sockets() as self._connections:
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let an error of this package be its text alone, at the place of the case, and no report hold a secret."""
        if not isinstance(item, EvalItem):
            return (yield)
        if call.when == "call" and call.excinfo is None and self._connections.blocked:
            # Something took no notice of the error that it got.
            error = RecordingError(f"something reached for {self._connections.blocked[0]}, and this is an offline run")
            call.excinfo = plain(item.located(error))
        report = yield from self._report(item, call)
        report.sections = [(name, self.secrets.scrubbed(content)) for name, content in report.sections]
        told = str(report.longrepr) if report.failed else ""
        if self.secrets.scrubbed(told) != told:
            report.longrepr = self.secrets.scrubbed(told)
        if report.failed and report.when == "call" and call.excinfo is not None and _is_outage(call.excinfo.value):
            # Not the case failed but what it needs: as pytest reports a setup that fails, in JUnit an `<error>`.
            report.when = "setup"
        return report

    def _report(
        self, item: EvalItem, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        if call.excinfo is None or self.config.option.fulltrace:
            return (yield)
        error = call.excinfo.value
        if not isinstance(error, OWN_ERRORS):
            # A provider is called through fixtures that are asked for late: leave out how they got there.
            call.excinfo = pytest.ExceptionInfo.from_exception(
                error.with_traceback(_without_machinery(error.__traceback__))
            )
            return (yield)
        # The error itself stays for those who look at it: `xfail(raises=...)`, `--pdb`.
        report = yield
        if report.failed and call.when != "call":
            # In the call phase pytest asks the item by itself.
            report.longrepr = item.repr_failure(call.excinfo)
        return report


def _is_outage(error: BaseException) -> bool:
    """Whether an error says nothing of the case: the API, the key or the recorded answer is not there."""
    of_the_case = (BadRequestError, ContentFilterError)
    outages = (ApiError, UnreachableError, MissingSettingError, ReplayError)
    return isinstance(error, outages) and not isinstance(error, of_the_case)


def _without_machinery(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of pytest, pluggy and this package, or as it is if there are no others."""
    files = (_pytest.__file__, pluggy.__file__, __file__)
    folders = tuple(f"{Path(str(file)).parent}{os.sep}" for file in files)
    kept: TracebackType | None = None
    for frame, line in reversed(list(walk_tb(traceback))):
        if not frame.f_code.co_filename.startswith(folders):
            kept = TracebackType(kept, frame, frame.f_lasti, line)
    return kept or traceback

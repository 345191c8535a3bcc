"""Report hooks: how the run of an eval item is reported.

Errors of this package are shown as text at the position of the case, a user's errors by the user's own lines, and
outages as errors rather than failures. A report of an eval item, or of a test with `eval_api`, holds no secret.
"""

from __future__ import annotations

import inspect
import os
import sysconfig
from collections.abc import Generator
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any, Final

import pluggy
import pytest

import pytest_chatprompt
from pytest_chatprompt.capture.secrets.redaction import Redactor, changes_texts, map_texts
from pytest_chatprompt.errors import CaptureError
from pytest_chatprompt.options import options_key
from pytest_chatprompt.runs.code_snapshots import assertions_key, failure_text, last_assertion
from pytest_chatprompt.runs.item import (
    CHECK_PROPERTY,
    ENDED_EARLY,
    PACKAGE_ERRORS,
    EvalItem,
    add_uses,
    has_notes,
    is_outage,
    notes_of,
    set_properties,
    take_notes,
    text_failure,
)
from pytest_chatprompt.runs.network_hooks import NetworkHooks
from pytest_chatprompt.runs.own_code import OwnCodeCapture
from pytest_chatprompt.wording import shown_path, visible, visible_line

# Where the code of pytest, pluggy and this package lives. Pytest's own code is not in the package `pytest`.
_FRAMEWORK_FOLDERS: Final = tuple(
    f"{Path(file).parent}{os.sep}"
    for file in (inspect.getfile(pytest.Function), str(pluggy.__file__), str(pytest_chatprompt.__file__))
)
# Of the attributes of a report those that hold no text of others, or none that the node id has not.
_PLAIN: Final = frozenset({"keywords", "outcome", "when", "duration", "start", "stop"})
_PACKAGE_FOLDER: Final = _FRAMEWORK_FOLDERS[-1]
# Between this package's code and its error there may be that of the HTTP client.
_INSTALLED_FOLDERS: Final = tuple(f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "purelib", "platlib"))
# What wraps the making of a report.
_Report = Generator[None, pytest.TestReport, pytest.TestReport]


class ReportHooks:
    """The hooks that make the reports of eval items."""

    def __init__(self, config: pytest.Config, network: NetworkHooks, redactor: Redactor) -> None:
        self.config = config
        self.network = network
        self.redactor = redactor
        # What the last clean report held.
        self._last_values: list[Any] = []
        # The ids of the tests whose reports are this plugin's.
        self._node_ids: set[str] = set()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> _Report:
        """Show an error of this package as its text, at the position of the case."""
        report = yield from (
            self._report_case(item, call) if isinstance(item, EvalItem) else self._report_test(item, call)
        )
        add_uses(item, report)
        return report

    def _report_test(self, item: pytest.Item, call: pytest.CallInfo[None]) -> _Report:
        """The report of an ordinary test."""
        capture = OwnCodeCapture.of(item)
        report = (yield) if capture is None else (yield from _report_own_code(capture, call))
        self._show_text_only(item, call, report)
        _place_at_test(item, report)
        self._show_comparison(item, call, report)
        if capture is None and assertions_key not in item.stash:
            return report
        self._node_ids.add(item.nodeid)
        self._add_result(item, report)
        if call.when == "teardown":
            OwnCodeCapture.forget(item)
            # It holds what the test compared.
            item.stash[assertions_key] = {}
        return report

    def _report_case(self, item: EvalItem, call: pytest.CallInfo[None]) -> _Report:
        """The report of an eval item."""
        self._node_ids.add(item.nodeid)
        swallowed = self.network.take_swallowed(call)
        if swallowed:
            call.excinfo = text_failure(item.with_position(CaptureError(swallowed)))
        error = None if call.excinfo is None or self.config.getoption("fulltrace", False) else call.excinfo.value
        if error is not None and not isinstance(error, PACKAGE_ERRORS):
            # Fixtures that are asked for late put their own machinery between the item and the user's code.
            traceback = user_frames(error.__traceback__) or error.__traceback__
            call.excinfo = pytest.ExceptionInfo.from_exception(error.with_traceback(traceback))
        # An error of this package stays in `call`, for `xfail(raises=...)` and `--pdb`.
        report = yield
        if report.failed and call.excinfo is not None and isinstance(error, PACKAGE_ERRORS):
            if call.when != "call":
                # In the call phase pytest asks the item by itself.
                report.longrepr = item.repr_failure(call.excinfo)
            # Plugins annotate this line of the file, and it is that of JUnit's XML.
            path, _, name = report.location
            report.location = path, item.line_of(error) - 1, name
        if report.failed:
            failed_checks = notes_of(item).failed_checks
            if failed_checks:
                # They came before it: all failures of a case are reported.
                _add_section(report, "checks", failed_checks)
            hint = "" if self.config.stash[options_key].live else _missing_variable(call)
            if hint:
                _add_section(report, "eval_api", hint)
        _place_at_test(item, report)
        if report.failed and report.when == "call" and call.excinfo is not None and is_outage(call.excinfo.value):
            # The case itself did not fail. Pytest reports a failed setup as an error, in JUnit's XML as `<error>`.
            report.when = "setup"
        if report.failed or not item.awaits_answer:
            self._add_result(item, report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remove the secrets from a report of this plugin, in the process that made it, before others show it."""
        if report.nodeid not in self._node_ids:
            return
        # To make data of each report takes long, and most hold little, or the same as that of the phase before.
        values = [value for name, value in vars(report).items() if name not in _PLAIN]
        if report.longrepr is None and (values == self._last_values or not changes_texts(values, self._clean)):
            self._last_values = values
            return
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        clean = map_texts(data, self._clean)
        if clean is not data:
            shown = self.config.hook.pytest_report_from_serializable(config=self.config, data=clean)
            vars(report).update({name: value for name, value in vars(shown).items() if name in vars(report)})

    def _clean(self, text: str) -> str:
        from pytest_chatprompt.providers.response import replace_surrogates  # noqa: PLC0415

        # Neither a file in UTF-8 nor a worker of pytest-xdist takes half a character.
        return replace_surrogates(self.redactor.redact(text))

    def _add_result(self, item: pytest.Item, report: pytest.TestReport) -> None:
        # Two versions of what a test of own code sends are compared when it is over.
        is_last = report.when == "call" or (has_notes(item) and notes_of(item).versions is not None)
        if not (report.failed or is_last):
            return
        notes, capture = take_notes(item), OwnCodeCapture.of(item)
        answers = [] if capture is None else capture.answers()
        if report.failed or self.config.stash[options_key].keeps_results or notes.answer or notes.versions or answers:
            # Most tests pass, and no report shows what they sent.
            from pytest_chatprompt.runs.case_results import add_result  # noqa: PLC0415

            add_result(item, report, self.redactor, notes, answers)
        elif notes.checks is not None:
            # Of a case that passes, JUnit's XML alone shows what its checks said.
            set_properties(item, report, [(CHECK_PROPERTY, check.sentence) for check in notes.checks.graded])

    def _show_text_only(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        """Show an error of this package as its text in an ordinary test, if none of the user's code led to it."""
        if call.excinfo is None or not report.failed or self.config.getoption("fulltrace", False):
            return
        error = call.excinfo.value
        if isinstance(error, PACKAGE_ERRORS) and user_frames(error.__traceback__, _INSTALLED_FOLDERS) is None:
            report.longrepr = item.repr_failure(text_failure(str(error)))
            # The section was added for tracebacks, which show the error in another way.
            report.sections[:] = [section for section in report.sections if section != ("eval_api", str(error))]

    def _show_comparison(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        """Show a failed comparison with a snapshot: alone if the test fails for nothing else, or below its failure."""
        assertion = last_assertion(item) if report.when == "call" and report.failed else None
        if assertion is None or not assertion.has_failed:
            return
        comparison = "\n".join(assertion.describe_failure())
        shows_all = self.config.get_verbosity() > 1 or self.config.getoption("fulltrace", False)
        if call.excinfo is not None and not shows_all and not getattr(report.longrepr, "sections", ()):
            text = failure_text(call.excinfo.value, comparison)
            if text is not None:
                report.longrepr = _text_at_assert(item, call.excinfo.value, text)
                return
        if comparison.splitlines()[-1] not in report.longreprtext:
            _add_section(report, "eval_snapshot", comparison)


def _report_own_code(capture: OwnCodeCapture, call: pytest.CallInfo[None]) -> _Report:
    """The report of an ordinary test with `eval_api`, with what was wrong with its requests."""
    problem = capture.take_problem(call)
    if not capture.api.is_live:
        # AWS's SDK asks a server for credentials that it lacks: the credentials are what is missing.
        problem = _missing_variable(call) or problem
    # A request of the set-up is one of the test.
    finding = "" if call.when == "setup" else capture.warn_of_findings()
    problem = problem or finding
    if problem and (call.excinfo is None or call.excinfo.errisinstance(ENDED_EARLY)):
        call.excinfo = text_failure(problem)
    report = yield
    if problem and call.excinfo is not None and call.excinfo.errisinstance(ENDED_EARLY):
        # A test case of unittest brings its outcome only now.
        report.outcome = "failed"
        report.longrepr = visible(problem)
        vars(report).pop("wasxfail", None)
    elif problem and report.failed and problem not in report.longreprtext:
        # The error of a client may say no more than its status.
        _add_section(report, "eval_api", problem)
        crash = getattr(report.longrepr, "reprcrash", None)
        if crash is not None:
            crash.message = visible_line(problem.partition("\n")[0])
    if call.when == "call":
        capture.has_passed = report.passed
    return report


def _missing_variable(call: pytest.CallInfo[None]) -> str:
    """What to do if a phase of a test failed for want of an environment variable; `""` if it did not."""
    from pytest_chatprompt.capture.offline import describe_missing_variable  # noqa: PLC0415

    return describe_missing_variable(None if call.excinfo is None else call.excinfo.value)


def _place_at_test(item: pytest.Item, report: pytest.TestReport) -> None:
    """Give what was raised in this package the position of the test: `--tb=line`, `-rs` and reports show it."""
    crash: Any = getattr(report.longrepr, "reprcrash", None)
    if crash is not None and crash.path.startswith(_PACKAGE_FOLDER):
        path, line, _ = item.reportinfo()
        crash.path, crash.lineno = str(path), (line or 0) + 1
    elif isinstance(report.longrepr, tuple) and str(report.longrepr[0]).startswith(_PACKAGE_FOLDER):
        path, line, _ = item.reportinfo()
        report.longrepr = str(path), (line or 0) + 1, report.longrepr[2]


def _text_at_assert(item: pytest.Item, error: BaseException, text: str) -> Any:
    """What pytest shows of a test that fails: a text, after the place of the user's code that raised the error."""
    path, number = str(item.path), (item.reportinfo()[1] or 0) + 1
    for frame, line in walk_tb(user_frames(error.__traceback__, _INSTALLED_FOLDERS)):
        path, number = frame.f_code.co_filename, line
    place = f"{shown_path(Path(path), item.config.rootpath)}:{number}"
    representation: Any = text_failure(f"{place}: {text}").getrepr(style="value")
    crash = representation.reprcrash
    crash.path, crash.lineno, crash.message = path, number, text
    return representation


def _add_section(report: pytest.TestReport, name: str, text: str) -> None:
    """Show a text below a failure, in JUnit's XML too."""
    text = visible(text)
    representation: Any = report.longrepr
    if hasattr(representation, "addsection"):
        representation.addsection(name, text)
    else:
        report.sections.append((name, text))


def user_frames(traceback: TracebackType | None, others: tuple[str, ...] = ()) -> TracebackType | None:
    """A traceback without the frames of pytest, pluggy and this package; `None` if there are no others."""
    kept: TracebackType | None = None
    for frame, line in reversed(list(walk_tb(traceback))):
        if not frame.f_code.co_filename.startswith((*_FRAMEWORK_FOLDERS, *others)):
            kept = TracebackType(kept, frame, frame.f_lasti, line)
    return kept

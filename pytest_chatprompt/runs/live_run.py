"""The live run: an offline run whose grading waits for answers.

Each eval item runs as it does offline: its fixtures are set up, what it sends is compared with its snapshot, and its
fixtures are torn down. What has passed is sent in the pool, and the reports of the item are held. When its answer is
there, in the order of the run, the item has a second pass, which grades the answer; then its reports are logged.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import wait
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import pytest
from _pytest.logging import caplog_records_key
from _pytest.runner import call_and_report, runtestprotocol

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter, uncaptured
from pytest_chatprompt.capture.preview import can_preview, preview
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import NOT_SENT
from pytest_chatprompt.live.answers import CaseAnswers, LiveCase
from pytest_chatprompt.live.pool import CallingThread, RequestFuture, RequestPool
from pytest_chatprompt.options import options_key
from pytest_chatprompt.providers.context import Cancellation, SendContext, current_context, use_context
from pytest_chatprompt.reports.terminal import write_line
from pytest_chatprompt.runs.item import EvalItem, add_uses, notes_of
from pytest_chatprompt.runs.live_workers import StopWatcher
from pytest_chatprompt.runs.recordings import record_answers
from pytest_chatprompt.runs.run_state import SharedByRun
from pytest_chatprompt.runs.sent_in_test import why_in_its_test
from pytest_chatprompt.runs.usage_summary import run_notes_key
from pytest_chatprompt.wording import count, dollars

if TYPE_CHECKING:
    from pytest_chatprompt.live.budget import RunBudget
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.response import Provider

LIVE_RUN: Final = "chatprompt-live"
PROGRESS_SECONDS: Final = 10.0
# How long the end of a run waits for replies that are being read.
_LAST_REPLIES_SECONDS: Final = 1.0
# What a test sends while it runs is paid for and sent before the requests of the tests that wait for their answers.
_FIRST: Final = -1
# How many items may wait for an answer before them: answers that wait take memory.
_MOST_HELD: Final = 2_000


@dataclass(eq=False)
class _HeldItem:
    """An item that has had its first pass.

    Args:
        finish: grades its answer; `None` to set it up again, for a fixture or a hook that asks for the answer.
        funcargs: the values of its fixtures, for hooks that look at them.
        reports: of its phases, to be logged in its turn.
        answers: what it waits for; `None` if it was not sent, or in its test.
        index: of the item among those of a worker of pytest-xdist; `None` in other processes.
    """

    item: EvalItem
    index: int | None
    finish: Callable[[], None] | None = None
    funcargs: dict[str, Any] = field(default_factory=dict)
    reports: list[pytest.TestReport] = field(default_factory=list)
    answers: CaseAnswers | None = None


class LiveRun:
    """Holds the items of a live run until their answers are there."""

    def __init__(self, config: pytest.Config) -> None:
        options = config.stash[options_key]
        self.budget: RunBudget | None = None
        if options.budget_usd is not None:
            from pytest_chatprompt.live.budget import RunBudget  # noqa: PLC0415 - most runs have none

            self.budget = RunBudget(options.budget_usd)
        # Workers of pytest-xdist share the requests that may be in flight.
        workers: int = getattr(config, "workerinput", {"workercount": 1})["workercount"]
        self.pool = RequestPool(max(options.concurrency // workers, 1), self.budget)
        self._config = config
        # Captures the requests of providers that cannot prepare them.
        self._router = LiveCaptureRouter(SharedByRun.of(config).redactor)
        self._orders = itertools.count()
        self._held: deque[_HeldItem] = deque()
        # Ends what this thread sends.
        self._cancellation = Cancellation()
        self._stops_early = bool(config.getoption("maxfail", 0) or config.getoption("stepwise", False))
        self._most_held = self.pool.concurrency if self._stops_early else _MOST_HELD
        self._progress_at = time.monotonic()
        self._stop_watcher = StopWatcher(config, self._stop)

    @classmethod
    def of(cls, config: pytest.Config) -> LiveRun:
        """That of a live run."""
        live_run: LiveRun = config.pluginmanager.getplugin(LIVE_RUN)
        return live_run

    # --- the order of the run

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        """Run an item, then log what is ready. Before an ordinary test all is: it may change what requests need."""
        # Each request of an ordinary test has a cancellation of its own: it may send several at once.
        cancellation = self._cancellation if isinstance(item, EvalItem) else None
        context = current_context()._replace(budget=self.budget, order=_FIRST, cancellation=cancellation)
        with use_context(context), uncaptured():
            result = yield
        if isinstance(item, EvalItem) and item.answers is None:
            self._log_ready(item.session, nextitem)
        return result

    @pytest.hookimpl(tryfirst=True, specname="pytest_runtest_protocol")
    def pytest_run_pass(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a pass of an eval item in place of pytest, within all that other plugins have around a test."""
        if not isinstance(item, EvalItem):
            return None
        # Without a next test, the fixtures of the session would end before the requests.
        following: Any = nextitem or item.parent
        if item.answers is not None:
            self._run_again(self._held[0], item.answers, following)
            return True
        if self._worker is not None:
            # The controller knows by this what a crash of the worker loses.
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        held = _HeldItem(item, self._worker and self._worker.item_index)
        self._held.append(held)
        held.reports = runtestprotocol(item, log=False, nextitem=following)
        if not all(report.passed for report in held.reports):
            held.answers = None
        if held.answers is not None:
            held.answers.start()
        return True

    def _run_again(self, held: _HeldItem, answers: CaseAnswers, following: Any) -> None:
        """Grade the answers to an item: in a call of its own, or with all its fixtures if one of them asks for it."""
        item = held.item
        _, call, teardown = held.reports
        item.awaits_answer = False
        try:
            if held.finish is None:
                held.reports = runtestprotocol(item, log=False, nextitem=following)
            else:
                item.finish = held.finish
                # What pytest sets up for a test.
                item.stash[caplog_records_key] = {}
                item.funcargs = held.funcargs
                again = held.reports[1] = call_and_report(item, "call", log=False)
                # As pytest does at the end of a test.
                os.environ.pop("PYTEST_CURRENT_TEST", None)
                teardown.user_properties, teardown.sections = again.user_properties, again.sections
                add_uses(item, teardown)
        finally:
            item.finish, item.funcargs = None, {}
        graded = held.reports[1]
        graded.duration = call.duration + max(graded.duration, answers.seconds)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """End the fixtures of the folders and files of other items, before an item is set up again."""
        if isinstance(item, EvalItem) and item.answers is not None:
            item.session._setupstate.teardown_exact(item)

    def _log_ready(self, session: pytest.Session, nextitem: pytest.Item | None) -> None:
        """Log the items whose answers are there, in the order of the run; wait if nothing may be sent meanwhile."""
        goes_on = isinstance(nextitem, EvalItem)
        if self._stops_early and any(report.failed for held in self._held for report in held.reports):
            goes_on = False
        if self.pool.waiting >= self.pool.concurrency:
            self.pool.resume()
        while self._held and not (session.shouldfail or session.shouldstop):
            must_wait = not goes_on or len(self._held) >= self._most_held
            if must_wait or self._is_first_ready():
                self._log(self._held[0], nextitem)
            elif self.pool.waiting >= self.pool.concurrency:
                self.wait_until(lambda: self.pool.waiting < self.pool.concurrency or self._is_first_ready())
            else:
                return

    def _is_first_ready(self) -> bool:
        answers = self._held[0].answers
        return answers is None or answers.is_ready()

    def _log(self, held: _HeldItem, nextitem: pytest.Item | None) -> None:
        item = held.item
        if held.answers is not None:
            item.answers = held.answers
            try:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=nextitem)
            finally:
                item.answers = None
                held.answers.abandon()
        # Not before: an answer is recorded if the run ends while it is graded.
        self._held.popleft()
        if nextitem is None and not self._held:
            self._end_fixtures(held)
        worker = self._worker
        if worker is None:
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        else:
            # It says which test its reports are of.
            running, worker.item_index = worker.item_index, held.index
        for report in held.reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if worker is not None:
            worker.item_index = running

    def _end_fixtures(self, held: _HeldItem) -> None:
        """End what is set up for the whole run, with its last item."""
        held.item.stash[caplog_records_key] = {}
        report = call_and_report(held.item, "teardown", log=False, nextitem=None)
        if report.failed:
            held.reports[-1] = report

    @cached_property
    def _worker(self) -> Any:
        """What runs the tests in a worker of pytest-xdist; `None` in other processes."""
        plugins = self._config.pluginmanager.get_plugins()
        return next((plugin for plugin in plugins if hasattr(plugin, "nextitem_index")), None)

    # --- what a case asks for

    def send_later(
        self, request: pytest.FixtureRequest, case: LiveCase, api: EvalAPI, finish: Callable[[], None]
    ) -> bool:
        """Send a case once its test has passed and is over, and let `finish` grade it when its answer is there.

        `False` if it has to be sent while its test runs; why is noted for who asked for several at once.
        """
        item: EvalItem = request.node
        reason = why_in_its_test(request, case, api)
        if reason is not None:
            notes_of(item).not_sent_ahead = reason if self.pool.concurrency > 1 else None
            return False
        providers = [each.provider for each in case.versions if isinstance(each.provider, ChatProvider)]
        if providers:
            names = [name for provider in providers for name in provider.placeholders()]
            case = replace(case, variables={name: os.environ.get(name, "") for name in names})
        held = self._held[-1]
        # An unreadable recording is an error of this test.
        held.answers = self.answers_to(case)
        item.awaits_answer = True
        asks = bool(item.ihook.pytest_chatprompt_response.get_hookimpls() or item.response_fixtures)
        # Pytest shows the fixture `eval_response` where it sets it up.
        asks |= item.config.getoption("setupshow", False)
        held.finish, held.funcargs = None if asks else finish, item.funcargs
        return True

    def answers_to(self, case: LiveCase) -> CaseAnswers:
        """The answers of a case that the pool sends."""
        return CaseAnswers(case, self.pool, self.wait_until, self._router, next(self._orders))

    def router_here(self) -> LiveCaptureRouter:
        """What captures the requests that this thread is about to send, while its test runs."""
        self.pool.resume()
        return self._router

    # --- waiting

    def wait_until(self, is_over: Callable[[], object]) -> None:
        """Wait for what the requests in flight change, and show now and then that it does."""
        self.pool.resume()
        try:
            while not self.pool.wait_until(is_over, max(self._progress_at + PROGRESS_SECONDS - time.monotonic(), 0)):
                self._show_progress()
        except (KeyboardInterrupt, pytest.exit.Exception):
            # All at once: a thread whose request ends would begin with the next one.
            self.cancel()
            raise

    def _show_progress(self) -> None:
        self._progress_at = time.monotonic()
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if reporter is not None:
            with nullcontext() if capture is None else capture.global_and_fixture_disabled():
                reporter.ensure_newline()
                counts = f"{self.pool.in_flight} requests in flight, {self.pool.finished} answered"
                write_line(reporter, f"waiting: {counts}")

    # --- stopping

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self) -> None:
        """Send nothing more when a report ends the run, as under `-x`."""
        session: Any = self._config.pluginmanager.get_plugin("session")
        if session is not None and (session.shouldfail or session.shouldstop):
            self.cancel()

    def pytest_keyboard_interrupt(self) -> None:
        """Send nothing more after Ctrl-C."""
        self.cancel()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send nothing more when the run ends; record the answers of cases that were not graded."""
        self.cancel()
        self._stop_watcher.close()
        notes = self._config.stash[run_notes_key] = []
        if self.budget is not None:
            notes.append(f"Spent {dollars(self.budget.spent_usd)} of the budget of {dollars(self.budget.limit_usd)}.")
        held = [each.answers for each in self._held if each.answers is not None]
        futures = [future for answers in held for future in answers.futures()]
        wait(futures, _LAST_REPLIES_SECONDS)
        sent = sum(map(_was_sent, futures))
        recorded = sum(record_answers(answers, self._router.redactor) for answers in held)
        for start, number, noun in (("Not counted:", sent, "request"), ("Recorded", recorded, "more answer")):
            cases = "a case" if number == 1 else "cases"
            if number:
                notes.append(f"{start} {count(number, noun)}, for {cases} that did not run.")

    def _stop(self) -> None:
        """Send nothing more, and let this worker of pytest-xdist run none of the tests that it has been given."""
        session: Any = self._config.pluginmanager.get_plugin("session")
        session.shouldstop = "the run was stopped"
        self.cancel()

    def cancel(self) -> None:
        """Send nothing more, and break off the requests in flight."""
        self.pool.cancel()
        self._cancellation.cancel()


def _was_sent(future: RequestFuture[Any]) -> bool:
    """Whether a request for an answer or a vote was sent; one that has not ended was."""
    if future.cancelled() or not future.done():
        return not future.cancelled()
    error = future.exception()
    return not future.result().is_replayed if error is None else not isinstance(error, NOT_SENT)


def answers_in_test(config: pytest.Config, case: LiveCase, api: EvalAPI) -> CaseAnswers:
    """The answers of a case that are got while its test runs, in its thread; only recorded ones if the run sends none.

    What child processes send to the server of `api` counts as sent by the case.
    """
    live_run: LiveRun | None = config.pluginmanager.getplugin(LIVE_RUN)
    thread = CallingThread(SendContext(is_offline=True) if live_run is None else None)
    router = None if live_run is None else live_run.router_here()
    return CaseAnswers(case, thread, thread.wait_until, router, api=api)


def show_request(config: pytest.Config, provider: Provider, request: ProviderRequest, api: EvalAPI) -> Exchange:
    """What a provider is going to send in a live run; one that has to send in order to show it sends offline.

    No request is in flight meanwhile, as its stand-in would take it; until as many wait as may be in flight, or this
    thread waits: else each case would wait for the one before.
    """
    __tracebackhide__ = True
    live_run: LiveRun | None = config.pluginmanager.getplugin(LIVE_RUN)
    if live_run is not None and not can_preview(provider):
        live_run.pool.pause()
    with use_context(SendContext(is_offline=live_run is None, is_priced=False)):
        return preview(provider, request, api)

"""The live run: pytest's side of sending many requests at once.

`session` registers a `LiveRun` as a plugin. It has requests sent, and ends those of a test, or of all tests, as soon as
no test waits for them. `case_response` asks it for the response of each case.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter, uncaptured
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.errors import MissingSettingError, ProviderError
from pytest_chatprompt.items.early_fixtures import EarlyFixtures
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.judge_rules import JudgeRules
from pytest_chatprompt.items.prefetch_planner import PrefetchPlanner
from pytest_chatprompt.items.recordings import record_answer, record_repeats
from pytest_chatprompt.items.request_waiting import RequestWaiting, result_of
from pytest_chatprompt.items.stop_signal import StopWatcher
from pytest_chatprompt.items.usage import note_budget, note_early_answers, note_why_not_ahead
from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.live.prefetch import LiveResponse, Prefetcher
from pytest_chatprompt.live.repeated_sends import RepeatedSends
from pytest_chatprompt.live.request_future import RequestFuture
from pytest_chatprompt.live.snapshot_matcher import SnapshotMatcher
from pytest_chatprompt.options import Options
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.prompt.request import ProviderRequest, build_request
from pytest_chatprompt.providers.agents.base import AgentProvider
from pytest_chatprompt.providers.context import current_context, use_context
from pytest_chatprompt.providers.response import Provider
from pytest_chatprompt.snapshots.recording_place import RecordingPlace

if TYPE_CHECKING:
    from pytest_chatprompt.grading.judge import JudgePrompt
    from pytest_chatprompt.live.budget import RunBudget
    from pytest_chatprompt.live.early_grades import EarlyGrades
    from pytest_chatprompt.live.judging import Judging
    from pytest_chatprompt.snapshots.prior_comparison import PriorComparison

# How long the end of a run waits for replies that are being read.
_LAST_REPLIES_SECONDS: Final = 1.0

# What the main thread sends is paid for before the requests of jobs: they may be paused for it.
_FIRST: Final = -2


def _build_request(reader: FileReader, system_prompt: str | None, item: EvalItem, case: EvalCase) -> ProviderRequest:
    return build_request(case, reader, project_system_prompt=system_prompt, provider_name=item.provider_name)


def _make_budget(options: Options) -> RunBudget | None:
    if options.budget_usd is None:
        return None
    from pytest_chatprompt.live.budget import RunBudget  # noqa: PLC0415 - most runs have none

    return RunBudget(options.budget_usd)


class LiveRun:
    """Sends the requests of a live run.

    Args:
        config: the run's configuration.
        options: its options.
        reader: the run's reader of attached files.
        redactor: the secrets of the run.
        router: captures the requests of providers that cannot prepare them.

    Attributes:
        executor: runs the requests.
        prefetcher: sends the requests of this item and of upcoming ones.
        planner: knows which items may be sent ahead.
        waiting: waits for requests.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        *,
        reader: FileReader,
        redactor: Redactor,
        router: LiveCaptureRouter,
    ) -> None:
        self.budget = _make_budget(options)
        self.executor = RequestExecutor(options.concurrency, self.budget)
        self.waiting = RequestWaiting(config, self.executor, self.cancel)
        self._config = config
        self._options = options
        self._redactor = redactor
        self._matcher = SnapshotMatcher(config.rootpath, reader, redactor, options.system_prompt, self._judge_prompt)
        self.prefetcher = Prefetcher(self.executor, self._matcher, router)
        judges = JudgeRules(config)
        self._early = EarlyFixtures(config, partial(_build_request, reader, options.system_prompt), judges.asks)
        self.planner = PrefetchPlanner(config, options.concurrency, self.prefetcher, self._early, judges, reader)
        self._stop_watcher = StopWatcher.for_worker(config, self._stop)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        """Pause requests in flight for an ordinary test: it may change shared state. End those of a test with it."""
        # What a test sends in its own thread costs too.
        in_budget = use_context(current_context()._replace(budget=self.budget, order=_FIRST))
        if not isinstance(item, EvalItem):
            with self.executor.pause(), in_budget:
                return (yield)
        self.planner.start(item, nextitem)
        try:
            with self.executor.turn.test_runs(), in_budget, uncaptured():
                return (yield)
        finally:
            node_id = item.nodeid
            self._early.discard(node_id)
            self.prefetcher.discard(node_id)
            self._matcher.take_comparison(node_id)
            self.waiting.abandon()

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Any:
        """Give a fixture the value that it returned early; `None` lets pytest call it."""
        __tracebackhide__ = True
        # Asked for every fixture of a run, and most runs have none that is called early.
        outcome = None if self._early.is_empty else self._early.take(request.node, fixturedef)
        if outcome is None:
            return None
        error = outcome.error
        # As pytest does when it calls the fixture itself.
        if isinstance(error, pytest.skip.Exception):
            error._use_item_location = True
        fixturedef.cached_result = (
            outcome.value,
            fixturedef.cache_key(request),
            None if error is None else (error, error.__traceback__),
        )
        value = outcome.get()
        # Pytest reads the cached result. It would call the fixture if this were `None`.
        return outcome if value is None else value

    def take_comparison(self, item: EvalItem) -> PriorComparison | None:
        """What a thread has compared with the snapshot of the item that runs; `None` if it has compared nothing yet."""
        return self._matcher.take_comparison(item.nodeid)

    def get_response(
        self, item: EvalItem, provider: Provider, compared: Exchange, place: RecordingPlace, api: EvalAPI
    ) -> LiveResponse:
        """The response to a request that was compared with its snapshot: prefetched, or else sent now.

        Args:
            item: the item that runs.
            provider: its provider.
            compared: what was compared.
            place: of its recording.
            api: its stand-in of the APIs.

        Raises:
            ProviderError: there is no response.
            SnapshotError: something other than what was compared was sent.
        """
        __tracebackhide__ = True
        prefetched = self.take_prefetched(item, provider, compared)
        if isinstance(prefetched, LiveResponse):
            return prefetched
        if not isinstance(provider, ChatProvider):
            # In this thread, where Ctrl-C arrives: it has to end an agent's process.
            return self.prefetcher.send(provider, compared, place, api)
        send = partial(self.prefetcher.send, provider, compared, place, api)
        future = self.executor.submit(-1, send, group=provider)
        return result_of(self.waiting.for_first([future]).pop())

    def take_prefetched(
        self, item: EvalItem, provider: Provider, compared: Exchange
    ) -> LiveResponse | RepeatedSends[LiveResponse] | None:
        """Prefetch other items through this item's provider, and hand over what was prefetched of this one.

        Args:
            item: the item that runs.
            provider: its provider.
            compared: what was compared with the snapshot.

        Returns:
            Its response, or the requests of a repeated case; `None` if it has to be sent now.
        """
        __tracebackhide__ = True
        if isinstance(provider, ChatProvider):
            with suppress(MissingSettingError):
                self._redactor.add_headers(provider.credentials())
        self.planner.prefetch_from(item, provider, compared)
        future = self.prefetcher.take(item.nodeid, provider)
        prefetched = None if future is None else result_of(self.waiting.for_first([future]).pop())
        if prefetched is not None and prefetched.compared.sends_the_same(compared):
            return prefetched
        if isinstance(prefetched, RepeatedSends):
            prefetched.abandon()
        note_why_not_ahead(item, self.planner.why_not_ahead(item, provider, compared))
        return None

    def judge(self, judging: Judging, live: LiveResponse, place: RecordingPlace) -> LiveResponse:
        """An answer with the votes of a judge, who is asked now.

        Args:
            judging: what to ask.
            live: the answer.
            place: of the case's recording.

        Raises:
            RequestCancelledError: the run was stopped.
        """
        __tracebackhide__ = True
        if isinstance(judging.judge, AgentProvider):
            # In this thread, as in `get_response`.
            return self.prefetcher.judge(live, judging, place)
        future = self.executor.submit(-1, lambda: self.prefetcher.judge(live, judging, place))
        return result_of(self.waiting.for_first([future]).pop())

    def wait_for_grades(self, grades: RequestFuture[EarlyGrades | None]) -> EarlyGrades | None:
        """What graders say that look at an answer in a thread; `None` if they have to be called now.

        Raises:
            RequestCancelledError: the run was stopped.
        """
        __tracebackhide__ = True
        return result_of(self.waiting.for_first([grades]).pop())

    def keep_outcomes(self, item: EvalItem, grades: EarlyGrades) -> None:
        """Give pytest what fixtures of an item have returned in a thread, when it sets them up."""
        for definition, outcome in grades.fixtures.items():
            self._early.keep(item, definition, outcome.deliver)

    def _judge_prompt(self) -> JudgePrompt | None:
        # Most runs have no judge.
        from pytest_chatprompt.items.judge_template import project_prompt  # noqa: PLC0415

        return project_prompt(self._config)

    # --- stopping

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send nothing more when this report ends the run, as under `-x`."""
        if not report.failed:
            return
        session: Any = self._config.pluginmanager.get_plugin("session")
        if session is not None and (session.shouldfail or session.shouldstop):
            self.cancel()

    def pytest_keyboard_interrupt(self) -> None:
        """Send nothing more after Ctrl-C."""
        self.cancel()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Send nothing more when the run ends; record the answers of cases that no longer run."""
        self.cancel()
        self._stop_watcher.close()
        if self.budget is not None:
            note_budget(self._config, self.budget.spent_usd, self.budget.limit_usd)
        self._record_early_answers(session)

    def _record_early_answers(self, session: pytest.Session) -> None:
        arrived = self.prefetcher.arrived(_LAST_REPLIES_SECONDS)
        items = [item for item in session.items if isinstance(item, EvalItem) and item.nodeid in arrived]
        count = 0
        for item in items:
            place, answers = self.planner.place(item), arrived[item.nodeid]
            if answers.keys() != {1}:
                count += record_repeats(place, answers, self._redactor)
                continue
            # An answer that would fail its case is not recorded.
            with suppress(ProviderError):
                count += record_answer(place, answers[1], self._redactor)
        note_early_answers(self._config, count)

    def _stop(self) -> None:
        """Send nothing more, and let this worker of pytest-xdist run none of the tests that it has been given."""
        session: Any = self._config.pluginmanager.get_plugin("session")
        session.shouldstop = "the run was stopped"
        self.cancel()

    def cancel(self) -> None:
        """Send nothing more, and break off the requests in flight."""
        self.executor.cancel()

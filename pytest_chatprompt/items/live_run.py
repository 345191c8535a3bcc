"""The live run: pytest's side of sending many requests at once.

`session` registers a `LiveRun` as a plugin. It learns providers from the items that have their turn, has the requests
of upcoming items prefetched, waits for responses, and cancels everything when the run stops. `case_runner` asks it for
the response of each case.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from concurrent.futures import Future, wait
from contextlib import nullcontext, suppress
from typing import Any, Final, TypeVar

import pytest

from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.pass_through import PassThroughRouter
from pytest_chatprompt.capture.redaction import Redactor
from pytest_chatprompt.errors import MissingSettingError, RequestCancelledError
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.stop_signal import stop_file
from pytest_chatprompt.items.upcoming import UpcomingItems
from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.live.prefetch import Prefetcher, SnapshotReview, UpcomingCase
from pytest_chatprompt.options import Options
from pytest_chatprompt.prompt.file_reader import FileReader
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.response import Provider, ProviderResponse

LIVE_RUN: Final = "chatprompt-live"
PROGRESS_SECONDS: Final = 10.0
# How often a worker of pytest-xdist looks whether the run is over.
_POLL_SECONDS: Final = 0.2
_MARKS_THAT_MAY_SKIP: Final = ("skip", "skipif", "xfail")

T = TypeVar("T")


class LiveRun:
    """Sends the requests of a live run.

    Args:
        config: the run's configuration.
        options: its options.
        reader: the run's reader of attached files.
        redactor: the secrets of the run.
        router: captures the requests of providers that cannot prepare them.
    """

    def __init__(
        self,
        config: pytest.Config,
        options: Options,
        *,
        reader: FileReader,
        redactor: Redactor,
        router: PassThroughRouter,
    ) -> None:
        self.executor = RequestExecutor(options.concurrency)
        self._config = config
        self._concurrency = options.concurrency
        self._redactor = redactor
        review = SnapshotReview(config.rootpath, reader, redactor, options.system_prompt)
        self._prefetcher = Prefetcher(self.executor, review, router)
        self._upcoming = UpcomingItems(config, options.concurrency)
        # The items that have had their turn, or have it now.
        self._started: set[str] = set()
        # The providers that are known, by the definition of their fixture.
        self._providers: dict[Any, ChatProvider] = {}
        # The provider of the item that has its turn, if it can be cancelled.
        self._current: tuple[ChatProvider, ...] = ()
        self._next_item: pytest.Item | None = None
        self._progress_at = time.monotonic()
        worker = getattr(config, "workerinput", None)
        self._stop_file = None if worker is None else stop_file(worker["testrunuid"])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        """Pause requests in flight for an ordinary test: it may change shared state."""
        if not isinstance(item, EvalItem):
            with self.executor.pause():
                return (yield)
        self._next_item = nextitem
        self._started.add(item.nodeid)
        try:
            return (yield)
        finally:
            self._prefetcher.discard(item.nodeid)

    def respond(self, item: EvalItem, provider: Provider, reviewed: Exchange) -> ProviderResponse:
        """The response to a request that was compared with its snapshot: prefetched, or else sent now.

        Args:
            item: the item that has its turn.
            provider: its provider.
            reviewed: what was compared.

        Raises:
            ProviderError: there is no response.
            SnapshotError: something else was sent than what was compared.
        """
        __tracebackhide__ = True
        if isinstance(provider, ChatProvider):
            self._current = (provider,)
            with suppress(MissingSettingError):
                self._redactor.add_headers(provider.credentials())
        self._prefetch_upcoming(item, provider, reviewed)
        future = self._prefetcher.take(item.nodeid, provider)
        prefetched = None if future is None else self._wait(future)
        if prefetched is not None and prefetched.reviewed.sends_the_same(reviewed):
            return prefetched.response
        if not isinstance(provider, ChatProvider):
            # In this thread, where Ctrl-C arrives: it has to end an agent's process.
            return self._prefetcher.send(provider, reviewed)
        return self._wait(self.executor.submit(-1, lambda: self._prefetcher.send(provider, reviewed)))

    # --- prefetching

    def _prefetch_upcoming(self, item: EvalItem, provider: Provider, reviewed: Exchange) -> None:
        """Prefetch upcoming items whose providers are known: through this item's provider, or one that came before."""
        definition = self._upcoming.provider_definition(item)
        if definition is None:
            return
        if isinstance(provider, ChatProvider) and reviewed.prepared is not None:
            is_new = definition not in self._providers
            self._providers[definition] = provider
            if is_new or self._upcoming.is_partial:
                for order, upcoming in self._prefetchable(item):
                    known = self._providers.get(self._upcoming.provider_definition(upcoming))
                    if known is not None:
                        self._prefetcher.prefetch(_upcoming_case(upcoming, order), known)
        elif reviewed.sent and reviewed.invocation is None and item.nodeid not in self._prefetcher:
            cases = (
                _upcoming_case(upcoming, order)
                for order, upcoming in self._prefetchable(item)
                if self._upcoming.provider_definition(upcoming) is definition
            )
            # This item's own request is one of those in flight.
            self._prefetcher.prefetch_captured(cases, provider, self._concurrency - 1)

    def _prefetchable(self, item: EvalItem) -> Iterator[tuple[int, EvalItem]]:
        """The items after an item that are sure to run and are not prefetched yet, each with its place in the run."""
        for order, upcoming in enumerate(self._upcoming.after(item, self._next_item), start=len(self._started)):
            if not isinstance(upcoming, EvalItem) or upcoming.nodeid in self._started:
                continue
            is_sure_to_run = not any(upcoming.get_closest_marker(name) for name in _MARKS_THAT_MAY_SKIP)
            if is_sure_to_run and upcoming.nodeid not in self._prefetcher:
                yield order, upcoming

    # --- waiting

    def _wait(self, future: Future[T]) -> T:
        while not wait([future], self._seconds_to_next_look()).done:
            if self._stop_file is not None and self._stop_file.exists():
                self.cancel()
            if time.monotonic() >= self._progress_at + PROGRESS_SECONDS:
                self._show_progress()
        if future.cancelled():
            raise RequestCancelledError
        return future.result()

    def _seconds_to_next_look(self) -> float:
        """How long to wait before progress is shown, or the stop file is looked for."""
        seconds = max(self._progress_at + PROGRESS_SECONDS - time.monotonic(), 0)
        return seconds if self._stop_file is None else min(seconds, _POLL_SECONDS)

    def _show_progress(self) -> None:
        self._progress_at = time.monotonic()
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if reporter is not None:
            with nullcontext() if capture is None else capture.global_and_fixture_disabled():
                reporter.ensure_newline()
                counts = f"{self.executor.in_flight} requests in flight, {self.executor.finished} answered"
                reporter.write_line(f"waiting: {counts}")

    # --- stopping

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send nothing more when this report ends the run, as under `-x`."""
        session: Any = self._config.pluginmanager.get_plugin("session")
        if report.failed and session is not None and (session.shouldfail or session.shouldstop):
            self.cancel()

    def pytest_keyboard_interrupt(self) -> None:
        """Send nothing more after Ctrl-C."""
        self.cancel()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send nothing more when the run ends."""
        self.cancel()

    def cancel(self) -> None:
        """Send nothing more, and break off the requests in flight."""
        self.executor.cancel()
        # With no request in flight, the providers stay usable: a fixture may go on using them.
        for provider in (*self._providers.values(), *self._current) if self.executor.in_flight else ():
            provider.cancel()


def _upcoming_case(item: EvalItem, order: int) -> UpcomingCase:
    return UpcomingCase(item.nodeid, order, item.provider_name, item.snapshot_path, item.valid_case)

"""A live run: the requests of coming cases are on their way while pytest goes on, case after case.

A `LiveRun` is registered as a plugin with the run's `EvalSession`. It learns providers from the cases that have their
turn, and sends ahead for those coming cases whose provider is then known without running their setup. Nothing is sent
ahead but a payload that equals its snapshot; every other case is sent when its turn comes, after the usual checks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from contextlib import nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import pytest

from pytest_chatprompt.coming import ComingCases
from pytest_chatprompt.errors import MissingSettingError, SnapshotError
from pytest_chatprompt.eval_api import EvalAPI
from pytest_chatprompt.eval_item import EvalItem
from pytest_chatprompt.options import Settings
from pytest_chatprompt.payload import payload
from pytest_chatprompt.providers.chat import ChatProvider
from pytest_chatprompt.providers.patience import CancelledSendError
from pytest_chatprompt.recording import Recording, prepared_recording, record, record_live
from pytest_chatprompt.requests import Provider, ProviderRequest, ProviderResponse, build_request
from pytest_chatprompt.sender import Sender
from pytest_chatprompt.snapshot import saved_text
from pytest_chatprompt.snapshot_yaml import dump
from pytest_chatprompt.stop_signal import signal_file

if TYPE_CHECKING:
    from pytest_chatprompt.session import EvalSession

PROGRESS_SECONDS: Final = 10.0
# How often a worker looks whether the run is over.
_LOOK_SECONDS: Final = 0.2
_MAY_NOT_RUN: Final = ("skip", "skipif", "xfail")

T = TypeVar("T")


class _Answer(NamedTuple):
    """An answer, and to what."""

    reviewed: Recording
    response: ProviderResponse


class _Planned(NamedTuple):
    provider: Provider
    # `None` where the case has to be looked at in its turn.
    future: Future[_Answer | None]


class LiveRun:
    """The requests of a live run.

    Args:
        config: the run's configuration.
        settings: its options.
        session: has the reader of files, the secrets and the tap.
    """

    def __init__(self, config: pytest.Config, settings: Settings, session: EvalSession) -> None:
        self.sender = Sender(settings.concurrency)
        self._config = config
        self._settings = settings
        self._secrets = session.secrets
        self._reader = session.reader()
        self._tap = session.tap()
        self._planned: dict[str, _Planned] = {}
        self._passed: set[str] = set()
        self._coming = ComingCases(config, settings.concurrency)
        # By the definition of the fixture.
        self._providers: dict[Any, ChatProvider] = {}
        # The one that has its turn, if it can be cancelled.
        self._current: tuple[ChatProvider, ...] = ()
        self._next: pytest.Item | None = None
        self._told_at = time.monotonic()
        worker = getattr(config, "workerinput", None)
        self._stop_file = None if worker is None else signal_file(worker["testrunuid"])

    # --- the turn of a case

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, Any, Any]:
        """Let nothing be on its way while an ordinary test runs, which may change the ground under it."""
        if not isinstance(item, EvalItem):
            with self.sender.quiet():
                return (yield)
        self._next = nextitem
        self._passed.add(item.nodeid)
        try:
            return (yield)
        finally:
            self._planned.pop(item.nodeid, None)

    def answer(self, item: EvalItem, provider: Provider, reviewed: Recording) -> ProviderResponse:
        """The answer to what was reviewed: the one that is on its way, or else it is sent now.

        Raises:
            ProviderError: there is none.
            SnapshotError: what left is not what was reviewed.
        """
        __tracebackhide__ = True
        if isinstance(provider, ChatProvider):
            self._current = (provider,)
            with suppress(MissingSettingError):
                self._secrets.add_headers(provider.credentials())
        self._learn(item, provider, reviewed)
        planned = self._planned.pop(item.nodeid, None)
        if planned is not None and planned.provider is provider:
            answer = self._wait(planned.future)
            if answer is not None and _is_same(answer.reviewed, reviewed):
                return answer.response
        if not isinstance(provider, ChatProvider):
            # What Ctrl-C is to end, such as an agent's process, has to run where it arrives.
            return self._sent(provider, reviewed)
        return self._wait(self.sender.submit(-1, lambda: self._sent(provider, reviewed)))

    def _sent(self, provider: Provider, reviewed: Recording) -> ProviderResponse:
        """Send what was reviewed. Runs in a thread of the sender's."""
        if isinstance(provider, ChatProvider) and reviewed.prepared is not None:
            return provider.send_prepared(reviewed.prepared)
        recording = record_live(provider, reviewed.request, self._tap)
        if recording.sent[:1] != reviewed.sent[:1] or recording.handover != reviewed.handover:
            raise SnapshotError(
                "what left in the live run is not what was compared with the snapshot: "
                "the provider sends something else each time"
            )
        return recording.response

    def _wait(self, future: Future[T]) -> T:
        while not wait([future], self._pause_seconds()).done:
            if self._stop_file is not None and self._stop_file.exists():
                self.cancel()
            if time.monotonic() >= self._told_at + PROGRESS_SECONDS:
                self._tell_progress()
        if future.cancelled():
            raise CancelledSendError("the run was stopped")
        return future.result()

    def _pause_seconds(self) -> float:
        """How long to wait before there is something to look at, or to tell."""
        left = max(self._told_at + PROGRESS_SECONDS - time.monotonic(), 0)
        return left if self._stop_file is None else min(left, _LOOK_SECONDS)

    def _tell_progress(self) -> None:
        self._told_at = time.monotonic()
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if reporter is not None:
            with nullcontext() if capture is None else capture.global_and_fixture_disabled():
                reporter.ensure_newline()
                counts = f"{self.sender.in_flight} requests in flight, {self.sender.finished} answered"
                reporter.write_line(f"waiting: {counts}")

    # --- sending ahead

    def _learn(self, item: EvalItem, provider: Provider, reviewed: Recording) -> None:
        """Send ahead for the coming cases that go through the same fixture's provider, or another one that is known."""
        definition = self._coming.provider_definition(item)
        if definition is None:
            return
        if isinstance(provider, ChatProvider) and reviewed.prepared is not None:
            is_news = definition not in self._providers
            self._providers[definition] = provider
            if is_news or self._coming.is_seen_in_part:
                for order, coming in enumerate(self._coming.after(item, self._next), start=len(self._passed)):
                    self._plan(order, coming)
        elif reviewed.sent and item.nodeid not in self._planned:
            self._plan_next(item, definition, provider)

    def _plan(self, order: int, item: pytest.Item) -> None:
        """Send a case ahead if its provider is one of those that make ready what they send."""
        provider = self._providers.get(self._coming.provider_definition(item)) if isinstance(item, EvalItem) else None
        if not isinstance(item, EvalItem) or provider is None or not self._may_be_sent_ahead(item):
            return

        def send() -> _Answer | None:
            reviewed = self._reviewed(item, lambda request: prepared_recording(provider, request))
            return None if reviewed is None else _Answer(reviewed, self._sent(provider, reviewed))

        self._planned[item.nodeid] = _Planned(provider, self.sender.submit(order, send))

    def _plan_next(self, item: EvalItem, definition: Any, provider: Provider) -> None:
        """Send ahead the next few cases of a provider that has to send, offline, to show what it sends.

        While it does so nothing may be on its way, so they are looked at together.
        """
        found: list[tuple[EvalItem, Recording]] = []
        api = EvalAPI(self._secrets)
        with self.sender.quiet():
            for coming in self._coming.after(item, self._next):
                if len(found) + 1 >= self._settings.concurrency:
                    break
                if not isinstance(coming, EvalItem) or self._coming.provider_definition(coming) is not definition:
                    continue
                if self._may_be_sent_ahead(coming):
                    reviewed = self._reviewed(coming, lambda request: record(provider, request, api))
                    if reviewed is not None:
                        found.append((coming, reviewed))
        for order, (coming, reviewed) in enumerate(found, start=len(self._passed)):
            job = partial(lambda known: _Answer(known, self._sent(provider, known)), reviewed)
            self._planned[coming.nodeid] = _Planned(provider, self.sender.submit(order, job))

    def _may_be_sent_ahead(self, item: EvalItem) -> bool:
        is_new = item.nodeid not in self._planned and item.nodeid not in self._passed
        return is_new and not any(item.get_closest_marker(name) for name in _MAY_NOT_RUN)

    def _reviewed(self, item: EvalItem, recorded: Callable[[ProviderRequest], Recording]) -> Recording | None:
        """What a case sends, if it equals its snapshot and there is nothing to say of it."""
        try:
            prompt = self._settings.system_prompt
            request = build_request(item.readable_case(), self._reader, project_system_prompt=prompt)
            recording = recorded(request)
            data = payload(recording, item.provider_name, self._config.rootpath)
            is_reviewed = saved_text(item.snapshot_path) == dump(data)
        except Exception:
            return None
        if not is_reviewed or recording.response.findings or self._secrets.find(data) is not None:
            return None
        return recording

    # --- stopping

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Send nothing more when this report ends the run."""
        session: Any = self._config.pluginmanager.get_plugin("session")
        if report.failed and session is not None and (session.shouldfail or session.shouldstop):
            self.cancel()

    def pytest_keyboard_interrupt(self) -> None:
        """Send nothing more."""
        self.cancel()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Send nothing more."""
        self.cancel()

    def cancel(self) -> None:
        """Let nothing more be sent, and break off what is in flight."""
        self.sender.cancel()
        # Where nothing is on its way the providers are left as they are: somebody may go on with them.
        for provider in (*self._providers.values(), *self._current) if self.sender.in_flight else ():
            provider.cancel()


def _is_same(one: Recording, other: Recording) -> bool:
    return (one.sent, one.prepared) == (other.sent, other.prepared)

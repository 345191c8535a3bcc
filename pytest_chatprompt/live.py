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
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import pytest

from pytest_chatprompt import fixtures
from pytest_chatprompt.attachments import FileReader
from pytest_chatprompt.case import EvalCase
from pytest_chatprompt.collection import EvalItem
from pytest_chatprompt.errors import ChatPromptError, MissingSettingError
from pytest_chatprompt.options import Settings
from pytest_chatprompt.providers.chat import ChatProvider, Prepared
from pytest_chatprompt.recording import Recording, is_rehearsed_alone, payload, prepared_recording
from pytest_chatprompt.requests import ProviderResponse, build_request
from pytest_chatprompt.secret_values import SecretValues
from pytest_chatprompt.sender import Sender
from pytest_chatprompt.snapshot import saved_text
from pytest_chatprompt.snapshot_yaml import dump

PROGRESS_SECONDS: Final = 10.0
# A case whose fixtures are these can be sent without running its setup.
_OWN_FIXTURES: Final = ("eval_case", "eval_request", "eval_provider", "eval_response", "eval_snapshot")
_MAY_NOT_RUN: Final = ("skip", "skipif", "xfail")

T = TypeVar("T")
Sent = tuple[Prepared, ProviderResponse]


@dataclass(frozen=True, slots=True)
class _Planned:
    provider: ChatProvider
    # `None` where the case has to be looked at in its turn.
    future: Future[Sent | None]


class LiveRun:
    """The requests of a live run.

    Args:
        config: the run's configuration.
        settings: its options.
        reader: reads the files that cases name.
        secrets: what must not be sent.
    """

    def __init__(self, config: pytest.Config, settings: Settings, reader: FileReader, secrets: SecretValues) -> None:
        self.sender = Sender(settings.concurrency)
        self._config = config
        self._settings = settings
        self._reader = reader
        self._secrets = secrets
        self._planned: dict[str, _Planned] = {}
        self._passed: set[str] = set()
        self._positions: dict[str, int] = {}
        self._providers: dict[Any, ChatProvider] = {}
        self._definitions: dict[tuple[pytest.Item | pytest.Collector | None, str], Any] = {}
        self._next: pytest.Item | None = None
        self._told_at = time.monotonic()

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

    def answer(self, item: EvalItem, provider: ChatProvider, reviewed: Recording) -> ProviderResponse:
        """The answer to a payload that was reviewed: the one that is on its way, or else it is sent now.

        Raises:
            ProviderError: there is none.
        """
        prepared = reviewed.prepared
        assert prepared is not None  # noqa: S101 - of a provider that makes ready what it sends
        with suppress(MissingSettingError):
            self._secrets.add_headers(provider.credentials())
        self._learn(item, provider)
        planned = self._planned.pop(item.nodeid, None)
        if planned is not None and planned.provider is provider:
            sent = self._wait(planned.future)
            if sent is not None and sent[0] == prepared:
                return sent[1]
        return self._wait(self.sender.submit(-1, lambda: provider.send_prepared(prepared)))

    def _wait(self, future: Future[T]) -> T:
        while not wait([future], PROGRESS_SECONDS).done:
            self._tell_progress()
        return future.result()

    def _tell_progress(self) -> None:
        if time.monotonic() - self._told_at < PROGRESS_SECONDS:
            return
        self._told_at = time.monotonic()
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        capture = self._config.pluginmanager.get_plugin("capturemanager")
        if reporter is not None:
            with nullcontext() if capture is None else capture.global_and_fixture_disabled():
                reporter.ensure_newline()
                counts = f"{self.sender.in_flight} requests in flight, {self.sender.finished} answered"
                reporter.write_line(f"waiting: {counts}")

    # --- sending ahead

    def _learn(self, item: EvalItem, provider: ChatProvider) -> None:
        """Take note of the provider of a fixture, and send ahead for the coming cases that go through it."""
        definition = self._definition(item)
        is_news = definition is not None and definition not in self._providers and is_rehearsed_alone(provider)
        if is_news:
            self._providers[definition] = provider
        if is_news or self._is_seen_in_part():
            for order, coming in enumerate(self._coming(item), start=len(self._passed)):
                self._plan(order, coming)

    def _plan(self, order: int, item: pytest.Item) -> None:
        if not isinstance(item, EvalItem) or item.nodeid in self._planned or item.nodeid in self._passed:
            return
        case = item.case
        provider = self._providers.get(self._definition(item))
        if provider is None or not isinstance(case, EvalCase):
            return
        if any(item.get_closest_marker(name) for name in _MAY_NOT_RUN):
            return
        future = self.sender.submit(order, self._job(item, case, provider))
        self._planned[item.nodeid] = _Planned(provider, future)

    def _job(self, item: EvalItem, case: EvalCase, provider: ChatProvider) -> Callable[[], Sent | None]:
        def send() -> Sent | None:
            prepared = self._reviewed(item, case, provider)
            if prepared is None:
                return None
            try:
                return prepared, provider.send_prepared(prepared)
            except MissingSettingError:
                # The setup of the case may yet set it.
                return None

        return send

    def _reviewed(self, item: EvalItem, case: EvalCase, provider: ChatProvider) -> Prepared | None:
        """What a case sends, if it equals its snapshot and there is nothing to say of it."""
        try:
            request = build_request(case, self._reader, project_system_prompt=self._settings.system_prompt)
            recording = prepared_recording(provider, request)
            data = payload(recording, item.provider_name, self._config.rootpath)
            is_reviewed = saved_text(item.snapshot_path) == dump(data)
        except (ChatPromptError, OSError):
            return None
        if not is_reviewed or recording.response.findings or self._secrets.find(data) is not None:
            return None
        return recording.prepared

    def _definition(self, item: EvalItem) -> Any:
        """The definition of the session's fixture that gives an item its provider; `None` if it is not that simple."""
        if set(getattr(getattr(item, "callspec", None), "params", ())) - {"_eval_provider_name"}:
            return None
        key = (item.parent, item.provider_name)
        if key not in self._definitions:
            self._definitions[key] = self._looked_up(item)
        return self._definitions[key]

    def _looked_up(self, item: EvalItem) -> Any:
        # The fixtures that are in force at a node: pytest has no public way to ask before the node is set up.
        manager = item.session._fixturemanager
        for name in _OWN_FIXTURES:
            definitions = manager.getfixturedefs(name, item)
            if not definitions or definitions[-1].func.__module__ != fixtures.__name__:
                return None
        definitions = manager.getfixturedefs(f"{item.provider_name}_provider", item)
        if not definitions or definitions[-1].scope != "session" or definitions[-1].params is not None:
            return None
        return definitions[-1]

    # --- which cases are coming

    def _is_seen_in_part(self) -> bool:
        """Whether the coming cases are known a few at a time only."""
        return bool(self._config.getoption("maxfail", 0)) or hasattr(self._config, "workerinput")

    def _coming(self, item: EvalItem) -> list[pytest.Item]:
        """The cases that this process runs after an item, as far as they may be sent ahead."""
        if hasattr(self._config, "workerinput"):
            coming = self._assigned(item)
        else:
            items = item.session.items
            self._positions = self._positions or {one.nodeid: place for place, one in enumerate(items, start=1)}
            coming = items[self._positions[item.nodeid] :]
        # A run that stops at the first failure is not to have paid for all that comes after it.
        return coming[: self._settings.concurrency] if self._config.getoption("maxfail", 0) else coming

    def _assigned(self, item: EvalItem) -> list[pytest.Item]:
        """What pytest-xdist has assigned to this worker for good."""
        nexts = [] if self._next is None else [self._next]
        queue = next(
            filter(None, (getattr(one, "torun", None) for one in self._config.pluginmanager.get_plugins())), None
        )
        # What is assigned may be taken back when workers steal from one another.
        if queue is None or not hasattr(queue, "lock") or self._config.getoption("dist", None) == "worksteal":
            return nexts
        with queue.lock() as indices:
            assigned = [index for index in indices if isinstance(index, int)]
        return [*nexts, *(item.session.items[index] for index in assigned)]

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
        for provider in self._providers.values():
            provider.cancel()

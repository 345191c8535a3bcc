"""Prefetch: send the requests of upcoming cases while pytest runs the cases before them.

An upcoming case and its provider come in. If what the case sends equals its snapshot, and nothing else is to be said
about it, the request is sent in a thread of the `RequestExecutor`, and `take` gives its future when the case runs.
Every other case is sent when it runs, after the usual checks. `items.look_ahead` and `items.live_run` call it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import wait
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.pass_through import PassThroughRouter
from pytest_chatprompt.capture.preview import preview_prepared
from pytest_chatprompt.capture.recorder import capture_live, capture_offline
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.evalfile.case import EvalCase
from pytest_chatprompt.live.executor import RequestExecutor, RequestFuture
from pytest_chatprompt.prompt.file_reader import FileReader
from pytest_chatprompt.prompt.request import ProviderRequest, build_request
from pytest_chatprompt.providers.chat.base import ChatProvider
from pytest_chatprompt.providers.response import Provider, ProviderResponse
from pytest_chatprompt.snapshots.files import read_snapshot
from pytest_chatprompt.snapshots.serializer import dump
from pytest_chatprompt.snapshots.snapshot_data import snapshot_data


@dataclass(frozen=True, slots=True)
class UpcomingCase:
    """A case that pytest runs later.

    Args:
        node_id: its node id.
        order: its place in the run; requests of lower numbers are sent first.
        provider_name: the name by which its provider was asked for.
        snapshot_path: the file of its snapshot; need not exist.
        load: gives the case, or raises `EvalFileError`.
    """

    node_id: str
    order: int
    provider_name: str
    snapshot_path: Path
    load: Callable[[], EvalCase]


class Prefetched(NamedTuple):
    """A response that was prefetched, and what was compared with the snapshot before it was sent."""

    compared: Exchange
    response: ProviderResponse


class _Entry(NamedTuple):
    provider: Provider
    # Its result is `None` where the case has to be sent when it runs.
    future: RequestFuture[Prefetched | None]


@dataclass(frozen=True, slots=True)
class SnapshotMatcher:
    """Decides whether an upcoming case may be sent: it has to equal its snapshot, and to need no word to the user.

    Args:
        root: pytest's root folder.
        reader: the run's reader of attached files.
        redactor: the secrets of the run.
        system_prompt: the project's default system prompt; `None` for none.
    """

    root: Path
    reader: FileReader
    redactor: Redactor
    system_prompt: str | None

    def match(self, case: UpcomingCase, capture: Callable[[ProviderRequest], Exchange]) -> Exchange | None:
        """What a case sends, if it equals its snapshot and neither preflight nor the redactor objects; else `None`.

        Args:
            case: the case.
            capture: shows what its provider sends for a request.
        """
        try:
            request = build_request(
                case.load(),
                self.reader,
                project_system_prompt=self.system_prompt,
                provider_name=case.provider_name,
            )
            exchange = capture(request)
            data = snapshot_data(exchange, case.provider_name, self.root)
            is_equal = read_snapshot(case.snapshot_path) == dump(data)
        except Exception:
            # Whatever is wrong with the case is reported when it runs.
            return None
        if not is_equal or exchange.response.findings or self.redactor.find(data) is not None:
            return None
        return exchange


class Prefetcher:
    """Sends the requests of upcoming cases.

    Args:
        executor: runs the requests.
        matcher: decides which requests may be sent ahead.
        router: captures the requests of providers that cannot prepare them.
    """

    def __init__(self, executor: RequestExecutor, matcher: SnapshotMatcher, router: PassThroughRouter) -> None:
        self._executor = executor
        self._matcher = matcher
        self._router = router
        self._entries: dict[str, _Entry] = {}

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._entries

    def prefetch(self, case: UpcomingCase, provider: ChatProvider) -> None:
        """Prefetch a case whose provider prepares its requests; the comparison runs in the executor's thread too."""

        def send() -> Prefetched | None:
            compared = self._matcher.match(case, partial(preview_prepared, provider))
            return None if compared is None else Prefetched(compared, self.send(provider, compared))

        self._entries[case.node_id] = _Entry(provider, self._executor.submit(case.order, send))

    def prefetch_captured(self, cases: Iterable[UpcomingCase], provider: Provider, count: int) -> None:
        """Prefetch the next cases of a provider that has to send, offline, in order to show what it sends.

        No request may be in flight meanwhile, so these cases are compared with their snapshots together.

        Args:
            cases: upcoming cases of the provider, in their order.
            provider: an object with `send`, or a plain function.
            count: how many to prefetch at most.
        """
        accepted: list[tuple[UpcomingCase, Exchange]] = []
        api = EvalAPI(self._matcher.redactor)
        with self._executor.pause():
            for case in cases:
                if len(accepted) >= count:
                    break
                compared = self._matcher.match(case, lambda request: capture_offline(provider, request, api))
                if compared is not None:
                    accepted.append((case, compared))
        for case, compared in accepted:
            send = partial(self._send_compared, provider, compared)
            self._entries[case.node_id] = _Entry(provider, self._executor.submit(case.order, send))

    def take(self, node_id: str, provider: Provider) -> RequestFuture[Prefetched | None] | None:
        """Hand over the future of the case that runs now; `None` if it was not prefetched through this provider."""
        entry = self._entries.pop(node_id, None)
        if entry is None or entry.provider is provider:
            return None if entry is None else entry.future
        entry.future.abandon()
        return None

    def discard(self, node_id: str) -> None:
        """Forget a case that has run, and end its request if it did not use it."""
        entry = self._entries.pop(node_id, None)
        if entry is not None:
            entry.future.abandon()

    def arrived(self, wait_seconds: float = 0) -> dict[str, Prefetched]:
        """The responses that have arrived for cases that have not run, by node id.

        Args:
            wait_seconds: how long to wait for those that are being read; after `RequestExecutor.cancel` all end soon,
                except the requests of providers that cannot be cancelled.
        """
        wait([entry.future for entry in self._entries.values()], wait_seconds)
        done = {node_id: entry.future for node_id, entry in self._entries.items() if entry.future.done()}
        results = {
            node_id: future.result()
            for node_id, future in done.items()
            if not future.cancelled() and future.exception() is None
        }
        return {node_id: result for node_id, result in results.items() if result is not None}

    def send(self, provider: Provider, compared: Exchange) -> ProviderResponse:
        """Send the request that was compared with the snapshot, now and in the calling thread.

        Raises:
            ProviderError: there is no response.
            SnapshotError: what was sent is not what was compared.
        """
        if isinstance(provider, ChatProvider) and compared.prepared is not None:
            return provider.send_prepared(compared.prepared)
        exchange = capture_live(provider, compared.request, self._router, compared.replies)
        if exchange.sent[:1] != compared.sent[:1] or exchange.invocation != compared.invocation:
            raise SnapshotError(
                "the live run sent something other than what was compared with the snapshot: "
                "the provider's requests change from call to call; remove what changes, such as a time or a random id"
            )
        return exchange.response

    def _send_compared(self, provider: Provider, compared: Exchange) -> Prefetched:
        return Prefetched(compared, self.send(provider, compared))

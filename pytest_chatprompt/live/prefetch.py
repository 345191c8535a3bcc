"""Prefetch: send the requests of upcoming cases while pytest runs the cases before them.

An upcoming case and its provider come in. If what the case sends equals its snapshot, and it causes no
warning, the request is sent in a thread of the `RequestExecutor`, and `take` gives its future when the case runs.
Every other case is sent when it runs, after the usual checks. `items.prefetch_planner` and `items.live_run` call it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.preview import preview_prepared
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import MissingSettingError, RequestCancelledError, SnapshotError
from pytest_chatprompt.live.executor import RequestExecutor
from pytest_chatprompt.live.repeated_sends import RepeatedSends, abandon
from pytest_chatprompt.live.request_future import RequestFuture
from pytest_chatprompt.live.sending import SentExchange, send_once
from pytest_chatprompt.live.snapshot_matcher import MatchedCase, SnapshotMatcher, UpcomingCase
from pytest_chatprompt.providers.agents.base import AgentProvider
from pytest_chatprompt.providers.response import Provider, ProviderResponse
from pytest_chatprompt.snapshots.recording_place import RecordingPlace

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording
    from pytest_chatprompt.live.early_grades import EarlyGrades
    from pytest_chatprompt.live.judging import Judging, Votes


class LiveResponse(NamedTuple):
    """A response, and whether it was sent or replayed.

    Args:
        compared: what was compared with the snapshot before it was sent.
        response: the response.
        recording: what was replayed and recorded, for the judge too; `None` if the run does neither.
        is_replayed: whether it was recorded earlier, and nothing was sent for it.
        judging: what a judge was asked about it; `None` if it was asked nothing.
        votes: what the judge said.
        grades: the future of what graders say that look at it in a thread; `None` if none does.
    """

    compared: Exchange
    response: ProviderResponse
    recording: OpenRecording | None
    is_replayed: bool = False
    judging: Judging | None = None
    votes: Votes = ()
    grades: RequestFuture[EarlyGrades | None] | None = None

    def abandon(self) -> None:
        """Let no grader begin with it that has not begun."""
        if self.grades is not None:
            self.grades.abandon()


# What becomes of a case that is sent ahead; `None` where it has to be sent when it runs.
SentAhead = LiveResponse | RepeatedSends[LiveResponse] | None


class _Entry(NamedTuple):
    provider: Provider
    future: RequestFuture[SentAhead]


class Prefetcher:
    """Sends the requests of upcoming cases.

    Args:
        executor: runs the requests.
        matcher: decides which requests may be sent ahead.
        router: captures the requests of providers that cannot prepare them.
    """

    def __init__(self, executor: RequestExecutor, matcher: SnapshotMatcher, router: LiveCaptureRouter) -> None:
        self._executor = executor
        self._matcher = matcher
        self._router = router
        self._entries: dict[str, _Entry] = {}

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._entries

    def prefetch(self, case: UpcomingCase, provider: ChatProvider) -> None:
        """Prefetch a case whose provider prepares its requests; the comparison runs in the executor's thread too."""
        self._learn_keys(provider, case.judge)

        def send() -> SentAhead:
            with self._executor.turn:
                matched = self._matcher.match(case, partial(preview_prepared, provider))
            return None if matched is None else self._send_matched(provider, matched, case)

        self._entries[case.node_id] = _Entry(provider, self._executor.submit(case.order, send, group=provider))

    def prefetch_captured(self, cases: Iterable[tuple[UpcomingCase, Provider]], count: int) -> None:
        """Prefetch the next cases of providers that have to send, offline, in order to show what they send.

        No request may be in flight meanwhile, so these cases are compared with their snapshots together.

        Args:
            cases: upcoming cases in their order, each with its provider: an object with `send`, or a plain function.
            count: how many to prefetch at most.
        """
        from pytest_chatprompt.capture.provider_capture import capture_offline  # noqa: PLC0415 - most prepare theirs

        accepted: list[tuple[UpcomingCase, Provider, MatchedCase]] = []
        api = EvalAPI(self._matcher.redactor)
        with self._executor.pause():
            remaining = iter(cases)
            # What is taken from them is compared, so the number comes first.
            while len(accepted) < count and (upcoming := next(remaining, None)) is not None:
                case, provider = upcoming
                self._learn_keys(case.judge)
                matched = self._matcher.match(case, partial(capture_offline, provider, api=api))
                if matched is not None:
                    accepted.append((case, provider, matched))
        for case, provider, matched in accepted:
            send = partial(self._send_matched, provider, matched, case)
            self._entries[case.node_id] = _Entry(provider, self._executor.submit(case.order, send, group=provider))

    def take(self, node_id: str, provider: Provider) -> RequestFuture[SentAhead] | None:
        """Hand over the future of the case that runs now; `None` if it was not prefetched through this provider."""
        entry = self._entries.pop(node_id, None)
        if entry is None or entry.provider is provider:
            return None if entry is None else entry.future
        abandon(entry.future)
        return None

    def discard(self, node_id: str) -> None:
        """Forget a case that has run, and end its request if it did not use it."""
        entry = self._entries.pop(node_id, None)
        if entry is not None:
            abandon(entry.future)

    def arrived(self, wait_seconds: float = 0) -> dict[str, dict[int, LiveResponse]]:
        """The responses that have arrived for cases that have not run: by node id, then by the number of the answer.

        Args:
            wait_seconds: how long to wait for those that are being read; after `RequestExecutor.cancel` all end soon,
                except the requests of providers that cannot be cancelled.
        """
        deadline = time.monotonic() + wait_seconds
        wait([entry.future for entry in self._entries.values()], wait_seconds)
        futures: dict[tuple[str, int], Future[Any]] = {}
        for node_id, entry in self._entries.items():
            result = _result(entry.future)
            repeats = result.futures if isinstance(result, RepeatedSends) else {1: entry.future}
            futures.update({(node_id, number): future for number, future in repeats.items()})
        wait(futures.values(), max(deadline - time.monotonic(), 0))
        responses: dict[str, dict[int, LiveResponse]] = {}
        for (node_id, number), future in futures.items():
            response = _result(future)
            if response is not None:
                responses.setdefault(node_id, {})[number] = response
        return responses

    def send_repeats(
        self, provider: Provider, matched: MatchedCase, place: RecordingPlace, numbers: Sequence[int], order: int
    ) -> RepeatedSends[LiveResponse]:
        """Send the request that was compared with the snapshot several times, in threads.

        Args:
            provider: the provider.
            matched: what was compared, and what a judge will be asked about each answer.
            place: of the case's recording.
            numbers: of the answers to send for, from 1. If some of them are recorded, and the run replays, it is these
                alone: with them the outcome of the case may be certain.
            order: their place in the run.

        Raises:
            ReplayError: the recording is unreadable.
        """
        loaded = place.load() if place.mode.replays else ()
        compared = matched.exchange
        recorded = place.of_repeat(1, loaded).recorded_repeats(compared)
        known = [number for number in numbers if number in recorded]

        def send(number: int) -> LiveResponse:
            own_place = place.of_repeat(number, loaded)
            return self._graded(self.send(provider, compared, own_place), matched, own_place, order)

        return RepeatedSends(
            self._executor, order, known or numbers, send, compared=compared, group=provider, is_recorded=bool(known)
        )

    def _learn_keys(self, *providers: ChatProvider | None) -> None:
        """Keep the keys of providers out of what is written and shown."""
        for provider in providers:
            with suppress(MissingSettingError):
                if provider is not None:
                    self._matcher.redactor.add_headers(provider.credentials())

    def _send_matched(self, provider: Provider, matched: MatchedCase, case: UpcomingCase) -> SentAhead:
        repeat = case.repeat(case.load())
        if repeat == 1:
            live = self.send(provider, matched.exchange, case.place)
            return self._graded(live, matched, case.place, case.order)
        numbers = range(1, repeat + 1)
        return self.send_repeats(provider, matched, case.place, numbers, case.order)

    def _graded(self, live: LiveResponse, matched: MatchedCase, place: RecordingPlace, order: int) -> LiveResponse:
        """An answer that is judged, and that the graders of the case look at from now on."""
        if matched.grade is None:
            return self._judged(live, matched.judging, place, order)
        # A job of its own, and before the judge: the answer is here, and does not wait for them.
        grade = partial(matched.grade, live.response, partial(self._executor.overlap, order))
        grades = self._executor.submit(order, grade)
        return self._judged(live._replace(grades=grades), matched.judging, place, order)

    def _judged(self, live: LiveResponse, judging: Judging | None, place: RecordingPlace, order: int) -> LiveResponse:
        if judging is None:
            return live
        try:
            return self.judge(live, judging, place, order)
        except RequestCancelledError:
            # The answer is there, and is recorded if the run records.
            return live

    def send(
        self, provider: Provider, compared: Exchange, place: RecordingPlace, api: EvalAPI | None = None
    ) -> LiveResponse:
        """Send the request that was compared with the snapshot, now and in the calling thread, or replay its reply.

        Args:
            provider: the provider.
            compared: what was compared.
            place: of the case's recording.
            api: the stand-in of the case, to whose server child processes send; `None` if it has none.

        Raises:
            ProviderError: there is no response.
            SnapshotError: what was sent is not what was compared.
            ReplayError: the recording is unreadable.
        """
        recording = place.open(getattr(provider, "base_url", None))
        exchange, is_replayed = send_once(provider, compared, place, recording, self._router, api)
        if not place.sends_the_same(exchange, compared):
            raise SnapshotError(
                "the live run sent something other than what was compared with the snapshot: "
                "the provider's requests change from call to call; mask what changes, such as a time or a random id, "
                "with the fixture eval_masks, or remove it"
            )
        return LiveResponse(compared, exchange.response, recording, is_replayed)

    def judge(self, live: LiveResponse, judging: Judging, place: RecordingPlace, order: int = -1) -> LiveResponse:
        """Ask a judge about an answer, in this thread and in those that are free.

        Args:
            live: the answer.
            judging: what to ask.
            place: of the case's recording.
            order: the place of the case in the run.

        Raises:
            RequestCancelledError: the run was stopped.
        """
        from pytest_chatprompt.live.judging import judge_answer, run_in_turn  # noqa: PLC0415

        def send(judge: Provider, shown: Exchange, part: OpenRecording | None) -> SentExchange:
            return send_once(judge, shown, place, part, self._router)

        # An agent is a process that Ctrl-C has to end, which arrives in the main thread.
        is_agent = isinstance(judging.judge, AgentProvider)
        run = run_in_turn if is_agent else partial(self._executor.overlap, order)
        votes = judge_answer(judging, live.response, live.recording, send, run)
        return live._replace(judging=judging, votes=votes)


def _result(future: Future[Any]) -> Any:
    """The result of a future; `None` if it has none, or not yet."""
    if not future.done() or future.cancelled() or future.exception() is not None:
        return None
    return future.result()

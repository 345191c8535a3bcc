"""The answers to one case of a live run: requests that are sent in the pool or replayed, and the judge's votes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.live.pool import RequestFuture, RequestPool, result_of
from pytest_chatprompt.live.send_or_replay import send_or_replay
from pytest_chatprompt.providers.context import SendContext, current_context, use_context
from pytest_chatprompt.providers.response import Provider, ProviderResponse
from pytest_chatprompt.snapshots.recording_place import RecordingPlace

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange
    from pytest_chatprompt.grading.judge import JudgeVote
    from pytest_chatprompt.live.judging import Judging, Votes


class LiveResponse(NamedTuple):
    """A response, and whether it was sent or replayed.

    Args:
        compared: what was compared with the snapshot before it was sent.
        recording: what was replayed and recorded, for the judge too; `None` if the run does neither.
        is_replayed: whether it was recorded earlier, and nothing was sent for it.
        judging: what a judge was asked about it; `None` if it was asked nothing.
    """

    compared: Exchange
    response: ProviderResponse
    recording: OpenRecording | None
    is_replayed: bool = False
    requests: int = 1
    judging: Judging | None = None
    votes: Votes = ()


@dataclass(frozen=True)
class LiveCase:
    """What is sent for one case, once it was compared with the snapshot.

    Args:
        repeat: how often it is sent, at least 1.
        judging: what a judge is asked about each answer; `None` for nothing.
        variables: the environment variables of the provider, as they were in the test.
    """

    provider: Provider
    compared: Exchange
    place: RecordingPlace
    repeat: int = 1
    judging: Judging | None = None
    variables: Mapping[str, str] | None = None

    def send(self, router: LiveCaptureRouter | None, number: int = 1, api: EvalAPI | None = None) -> LiveResponse:
        """Send the request that was compared with the snapshot, now and in the calling thread, or replay its reply.

        `router` captures the requests of providers that cannot prepare them, without it nothing is sent; to the server
        of `api` child processes send.

        Raises:
            ProviderError: there is no response.
            SnapshotError: what was sent is not what was compared.
            ReplayError: the recording is unreadable, or lacks what may not be sent.
        """
        __tracebackhide__ = True
        place = self.place_of(number)
        live = current_context()._replace(variables=self.variables)
        with use_context(SendContext(is_offline=True) if router is None else live):
            recording = place.open(getattr(self.provider, "base_url", None))
            exchange, is_replayed = send_or_replay(place, router, self.provider, self.compared, recording, api)
        if router is not None:
            check_sent(place, exchange, self.compared)
        return LiveResponse(self.compared, exchange.response, recording, is_replayed, requests_of(exchange))

    def place_of(self, number: int) -> RecordingPlace:
        """The place of the recording of an answer, by its number."""
        return self.place.of_repeat(number, self._recorded) if self.repeat > 1 else self.place

    def recorded_numbers(self) -> list[int]:
        """Which of its repeated answers are recorded, if the run replays."""
        recorded = self.place.of_repeat(1, self._recorded).recorded_repeats(self.compared)
        return [number for number in range(1, self.repeat + 1) if number in recorded]

    @cached_property
    def _recorded(self) -> tuple[RecordedExchange, ...]:
        return self.place.load() if self.place.mode.replays else ()


def requests_of(exchange: Exchange) -> int:
    """How many requests to models an answer took: a provider of one's own may send several."""
    if exchange.prepared is not None:
        return 1
    from pytest_chatprompt.capture.recording.model_answers import count_model_requests  # noqa: PLC0415

    return max(count_model_requests(exchange.sent), 1)


def check_sent(place: RecordingPlace, sent: Exchange, compared: Exchange) -> None:
    """Fail if something other than what was compared with the snapshot was sent."""
    if not place.sends_the_same(sent, compared):
        raise SnapshotError(
            "the live run sent something other than what was compared with the snapshot: "
            "the provider's requests change from call to call; mask what changes, such as a time or a random id, "
            "with the fixture eval_masks, or remove it"
        )


class CaseAnswers:
    """The answers of one case that are in flight, or have come.

    Of a repeated case as many requests are in flight at once as the pool runs, and each further one is sent when it is
    asked for: so nothing is sent that the verdicts on the answers before make needless. Recorded answers come first.

    Attributes:
        futures: the future of each answer that was asked for, by its number.
        votes: the futures of what the judge says about an answer that has come, by its number.
        seconds: how long the slowest request took so far.
    """

    def __init__(self, pool: RequestPool, order: int, case: LiveCase, router: LiveCaptureRouter) -> None:
        self.case = case
        self.futures: dict[int, RequestFuture[LiveResponse]] = {}
        self.votes: dict[int, list[RequestFuture[JudgeVote]]] = {}
        self.seconds = 0.0
        self._pool = pool
        self._order = order
        self._router = router
        recorded = case.recorded_numbers() if case.repeat > 1 else []
        self._recorded = len(recorded)
        self._left = deque([*recorded, *(number for number in range(1, case.repeat + 1) if number not in recorded)])
        # With those that are recorded, the outcome may be certain.
        self._send_next(len(recorded) or pool.concurrency)

    def _send_next(self, count: int) -> None:
        for _ in range(min(count, len(self._left))):
            number = self._left.popleft()
            self.futures[number] = self._pool.submit(self._order, partial(self._send, number))

    def _send(self, number: int) -> LiveResponse:
        started_at = time.monotonic()
        live = self.case.send(self._router, number)
        self.seconds = max(self.seconds, time.monotonic() - started_at)
        if self.case.judging is not None:
            # Most cases have no judge.
            from pytest_chatprompt.live.judging import judge_asks  # noqa: PLC0415

            judging = self.case.judging
            asks = judge_asks(
                judging, live.response, live.recording, partial(send_or_replay, self.case.place, self._router)
            )
            # Jobs of their own: a thread that waited for others would keep its place.
            self.votes[number] = [self._pool.submit(self._order, ask) for ask in asks]
        return live

    def is_ready(self) -> bool:
        """Whether all that was asked for has come."""
        return all(future.done() for future in self.all_futures())

    def all_futures(self) -> list[RequestFuture[Any]]:
        """The futures of the answers and of the votes so far."""
        return [*self.futures.values(), *(vote for votes in list(self.votes.values()) for vote in votes)]

    def arriving(
        self,
        is_certain: Callable[[], bool],
        wait: Callable[[Collection[RequestFuture[LiveResponse]]], Collection[RequestFuture[LiveResponse]]],
    ) -> Iterator[tuple[int, RequestFuture[LiveResponse]]]:
        """The answers as they come, each with its number; `wait` waits for the first of some futures.

        As soon as the outcome is certain by the answers so far, no further request starts; what is in flight is waited
        for.
        """
        given: set[int] = set()
        while True:
            if is_certain() and len(given) >= self._recorded:
                for future in self.futures.values():
                    future.cancel()
            waiting = {
                future: number
                for number, future in self.futures.items()
                if number not in given and not (future.cancelled() and is_certain())
            }
            if not waiting:
                if is_certain() or not self._left:
                    return
                self._send_next(self._pool.concurrency)
                continue
            for future in sorted(wait(waiting), key=waiting.__getitem__):
                given.add(waiting[future])
                yield waiting[future], future
                if len(given) > self._recorded and not is_certain():
                    # The answer is graded now.
                    self._send_next(1)

    def judged(self, number: int) -> LiveResponse:
        """An answer that has come, with the votes on it if all of these have come too; else without them."""
        __tracebackhide__ = True
        live = result_of(self.futures[number])
        votes = self.votes.get(number)
        if votes is None or self.case.judging is None or not all(map(_has_result, votes)):
            return live
        from pytest_chatprompt.live.judging import votes_by_question  # noqa: PLC0415

        judging = self.case.judging
        return live._replace(judging=judging, votes=votes_by_question(judging, [vote.result() for vote in votes]))

    def arrived(self) -> dict[int, LiveResponse]:
        """The answers that have come, by their numbers."""
        return {number: future.result() for number, future in self.futures.items() if _has_result(future)}

    def abandon(self) -> None:
        """Send nothing more, and end the requests in flight."""
        self._left.clear()
        for future in self.all_futures():
            future.abandon()


def _has_result(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None

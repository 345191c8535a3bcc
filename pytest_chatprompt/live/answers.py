"""The answers to one case of a live or replayed run, and the judge's votes on them: what is sent for it, and when."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.live_capture import LiveCaptureRouter
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.errors import SnapshotError
from pytest_chatprompt.live.pool import CallingThread, RequestFuture, RequestPool, result_of
from pytest_chatprompt.live.send_or_replay import send_or_replay, unsaved_recording
from pytest_chatprompt.providers.context import current_context, use_context
from pytest_chatprompt.providers.response import Provider, ProviderResponse
from pytest_chatprompt.snapshots.recording_place import RecordingPlace

if TYPE_CHECKING:
    from pytest_chatprompt.capture.recording.open_recording import OpenRecording
    from pytest_chatprompt.capture.recording.recorded_exchange import RecordedExchange
    from pytest_chatprompt.grading.judge import JudgeVote
    from pytest_chatprompt.live.judging import Judging

# pytest shows no frame of this module.
__tracebackhide__ = True


class LiveResponse(NamedTuple):
    """A response, with the recording of it and of what its judge says, if the run replays or records."""

    response: ProviderResponse
    recording: OpenRecording | None
    is_replayed: bool
    requests: int


class Version(NamedTuple):
    """A request of a case, and what sends it."""

    provider: Provider
    exchange: Exchange


@dataclass(frozen=True)
class LiveCase:
    """What is sent for one case, once it was compared with the snapshot.

    Args:
        versions: what was compared; if there is another version, that is sent in turn with it.
        repeat: how often each is sent.
        variables: the environment variables of the provider, as they were in the test.
        batch: how many requests are sent before anybody asks for more; `None` for as many as may be in flight.
    """

    versions: tuple[Version, ...]
    place: RecordingPlace
    repeat: int = 1
    judging: Judging | None = None
    variables: Mapping[str, str] | None = None
    batch: int | None = None

    @property
    def compared(self) -> Exchange:
        """What was compared."""
        return self.versions[0].exchange

    @property
    def numbers(self) -> range:
        """The numbers of its answers."""
        return range(1, self.repeat * len(self.versions) + 1)

    def version_of(self, number: int) -> Version:
        """What is sent for an answer, by its number."""
        return self.versions[(number - 1) % len(self.versions)]

    def repeat_of(self, number: int) -> int:
        """Which answer to its version an answer is, by its number."""
        return (number - 1) // len(self.versions) + 1

    def place_of(self, number: int) -> RecordingPlace:
        """The place of the recording of an answer, by its number."""
        # What is recorded for the other version is not unused.
        loaded = self._recorded if len(self.versions) == 1 else self._recorded_for[(number - 1) % len(self.versions)]
        return self.place.of_repeat(self.repeat_of(number), loaded)

    def recorded_numbers(self) -> list[int]:
        """Which of its answers are recorded, if the run replays."""
        recorded = [{exchange.repeat for exchange in each} for each in self._recorded_for]
        return [number for number in self.numbers if self.repeat_of(number) in recorded[(number - 1) % len(recorded)]]

    @cached_property
    def _recorded_for(self) -> list[tuple[RecordedExchange, ...]]:
        """What is recorded for each version."""
        place = self.place.of_repeat(1, self._recorded)
        # Most runs replay nothing.
        return [place.recorded_for(version.exchange) if self._recorded else () for version in self.versions]

    @cached_property
    def _recorded(self) -> tuple[RecordedExchange, ...]:
        return self.place.load() if self.place.mode.replays else ()

    def check_sent(self, sent: Exchange, number: int = 1) -> None:
        """Fail if something other than what was compared with the snapshot was sent."""
        if not self.place.sends_the_same(sent, self.version_of(number).exchange):
            raise SnapshotError(
                "the live run sent something other than what was compared with the snapshot: "
                "the provider's requests change from call to call; mask what changes, such as a time or a random id, "
                "with the fixture eval_masks, or remove it"
            )


@dataclass(eq=False)
class CaseAnswers:
    """The answers of one case, and the judge's votes on them, that are in flight or have come.

    Of a repeated case as many requests are in flight at once as `jobs` runs, and each further one is sent when it is
    asked for: so nothing is sent that the verdicts on the answers before make needless. Recorded answers come first.

    Args:
        jobs: runs the requests.
        wait: waits until something is true that only the end of a job changes.
        router: captures the requests of providers that cannot prepare them; without it nothing is sent.
        api: child processes send to its server.

    Attributes:
        seconds: how long the slowest request took so far.
        seen: the recordings of the requests for each answer, also for one that did not come; `None` where a built-in
            provider sends and the run neither replays nor records.
    """

    case: LiveCase
    jobs: RequestPool | CallingThread
    wait: Callable[[Callable[[], object]], None]
    router: LiveCaptureRouter | None
    order: int = 0
    api: EvalAPI | None = None
    seconds: float = 0.0
    seen: dict[int, OpenRecording | None] = field(default_factory=dict)
    # By the numbers of the answers.
    _futures: dict[int, RequestFuture[LiveResponse]] = field(default_factory=dict)
    _votes: dict[int, list[RequestFuture[JudgeVote]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        numbers = self.case.numbers
        recorded = self.case.recorded_numbers() if len(numbers) > 1 else []
        missing = [number for number in numbers if number not in recorded]
        self._recorded = len(recorded)
        # Where none is recorded, the error is that of a case that is sent once.
        self._left = deque(recorded if recorded and self.router is None else recorded + missing)

    def start(self) -> None:
        """Send the first requests. With the answers that are recorded, the outcome may be certain."""
        self._send_next(self._recorded or self.jobs.concurrency)

    def _send_next(self, count: int) -> None:
        for _ in range(min(self.case.batch or count, len(self._left))):
            number = self._left.popleft()
            self._futures[number] = self.jobs.submit(self.order, partial(self._send, number))

    def _send(self, number: int) -> LiveResponse:
        """Send the request that was compared with the snapshot, or replay its reply."""
        started_at = time.monotonic()
        case, place = self.case, self.case.place_of(number)
        with use_context(current_context()._replace(variables=case.variables)):
            provider, shown = case.version_of(number)
            recording = place.open(getattr(provider, "base_url", None))
            seen = self.seen[number] = recording or unsaved_recording(shown)
            sent, is_replayed = send_or_replay(place, self.router, provider, shown, seen, self.api)
        if self.router is not None:
            case.check_sent(sent, number)
        # Replies that nobody records would wait with the answer.
        self.seen[number] = recording
        self.seconds = max(self.seconds, time.monotonic() - started_at)
        if isinstance(self.jobs, RequestPool):
            # In its test a fixture of the project may put another answer in its place.
            self._votes[number] = self._ask_judge(sent.response, recording)
        return LiveResponse(sent.response, recording, is_replayed, _requests_of(sent))

    def _ask_judge(self, response: ProviderResponse, recording: OpenRecording | None) -> list[RequestFuture[JudgeVote]]:
        if self.case.judging is None:
            return []
        # Most cases have no judge.
        from pytest_chatprompt.live.judging import judge_asks  # noqa: PLC0415

        send = partial(send_or_replay, self.case.place, self.router)
        # Jobs of their own: a thread that waited for others would keep its place.
        asks = judge_asks(self.case.judging, response, recording, send)
        return [self.jobs.submit(self.order, ask) for ask in asks]

    def futures(self) -> list[RequestFuture[Any]]:
        """The futures of the answers and of the votes so far."""
        return [future for number in self._futures for future in self._futures_of(number)]

    def _futures_of(self, number: int) -> list[RequestFuture[Any]]:
        return [self._futures[number], *self._votes.get(number, ())]

    def is_ready(self) -> bool:
        """Whether all that was asked for has come."""
        return all(future.done() for future in self.futures())

    def arriving(self, is_certain: Callable[[], bool]) -> Generator[int]:
        """The numbers of the answers as they come, each with the votes on it.

        As soon as the outcome is certain by the answers so far, no further request starts; what is in flight is waited
        for. Nothing goes on once nobody asks for more.
        """
        given: set[int] = set()
        try:
            if not self._futures:
                self.start()
            while True:
                # A batch is looked at when all of it is there.
                is_open = self.case.batch is not None and len(given) < len(self._futures)
                ends = not is_open and is_certain() and len(given) >= self._recorded
                if ends:
                    self._futures = {number: each for number, each in self._futures.items() if not each.cancel()}
                waiting = [number for number in self._futures if number not in given]
                if not waiting:
                    if ends or not self._left:
                        return
                    self._send_next(self.jobs.concurrency)
                    continue
                self.wait(partial(self._come, waiting))
                for number in self._come(waiting):
                    given.add(number)
                    yield number
                    if self.case.batch is None and len(given) > self._recorded and not is_certain():
                        # The answer is graded now.
                        self._send_next(1)
        finally:
            self.abandon()

    def _come(self, numbers: list[int]) -> list[int]:
        """Those of some answers that have come."""
        return sorted(number for number in numbers if all(future.done() for future in self._futures_of(number)))

    def answer(self, number: int) -> LiveResponse:
        """An answer that has come."""
        return result_of(self._futures[number])

    def votes_on(
        self, number: int, response: ProviderResponse, recording: OpenRecording | None
    ) -> tuple[JudgeVote, ...]:
        """What the judge says about an answer, by its number; it is asked now if it was not when the answer came."""
        votes = self._votes[number] if number in self._votes else self._ask_judge(response, recording)
        self.wait(lambda: all(vote.done() for vote in votes))
        return tuple(map(result_of, votes))

    def arrived(self) -> dict[int, LiveResponse]:
        """The answers that have come, by their numbers."""
        done = {number: future for number, future in self._futures.items() if future.done() and not future.cancelled()}
        return {number: future.result() for number, future in done.items() if future.exception() is None}

    def abandon(self) -> None:
        """Send nothing more, and end the requests in flight."""
        self._left.clear()
        for future in self.futures():
            future.abandon()


def _requests_of(exchange: Exchange) -> int:
    """How many requests to models an answer took: a provider of one's own may send several."""
    if exchange.prepared is not None:
        return 1
    from pytest_chatprompt.capture.recording.model_answers import count_model_requests  # noqa: PLC0415

    return max(count_model_requests(exchange.sent), 1)

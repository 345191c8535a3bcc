"""Where the answers of a repeated case come from: requests in flight together, one by one, or recordings.

What a case sends comes in; its answers come out as they arrive, each with its number. As soon as the outcome of the
case is certain, nothing more is sent; what is in flight is waited for. `repeated_case` asks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.errors import ProviderError, RequestCancelledError
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.live_run import LiveRun
from pytest_chatprompt.items.recordings import replay_answer
from pytest_chatprompt.items.request_waiting import result_of
from pytest_chatprompt.live.judging import Judging
from pytest_chatprompt.live.prefetch import LiveResponse
from pytest_chatprompt.live.repeated_sends import RepeatedSends
from pytest_chatprompt.live.snapshot_matcher import MatchedCase
from pytest_chatprompt.providers.agents.base import AgentProvider
from pytest_chatprompt.providers.response import Provider
from pytest_chatprompt.snapshots.recording_place import RecordingPlace

IsCertain = Callable[[], bool]


class RepeatedAnswer(NamedTuple):
    """One answer of a repeated case.

    Args:
        number: from 1.
        live: the answer; `None` if there is none.
        error: why there is none; else `None`.
    """

    number: int
    live: LiveResponse | None
    error: ProviderError | None = None

    @classmethod
    def of(cls, number: int, get: Callable[[], LiveResponse]) -> RepeatedAnswer:
        """Get the answer of a number, or the provider's error.

        Raises:
            RequestCancelledError: the run was stopped.
        """
        __tracebackhide__ = True
        try:
            return cls(number, get())
        except RequestCancelledError:
            # It was this run that broke the request off: that says nothing about the API.
            raise
        except ProviderError as error:
            return cls(number, None, error)


class RepeatedAnswers(Protocol):
    """Gives the answers of one repeated case."""

    def answers(self, is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """The answers, as they arrive.

        Args:
            is_certain: whether the outcome is certain by the answers that were given so far.

        Raises:
            SnapshotError: something other than what was compared with the snapshot was sent.
            ReplayError: a recording is unreadable, or lacks a request.
        """
        ...


@dataclass(frozen=True, slots=True)
class LiveAnswers:
    """Answers of a live run; those that are recorded are replayed if the run replays.

    Args:
        live_run: sends and waits.
        item: the item that runs.
        provider: its provider.
        compared: what was compared with its snapshot.
        place: of its recording.
        api: its stand-in of the APIs.
        repeat: how often it is sent.
        judging: what a judge is asked about each answer; `None` for nothing.
        case: the fixture `eval_case`.
    """

    live_run: LiveRun
    item: EvalItem
    provider: Provider
    compared: Exchange
    place: RecordingPlace
    api: EvalAPI
    repeat: int
    judging: Judging | None
    case: EvalCase

    def answers(self, is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """See `RepeatedAnswers`."""
        __tracebackhide__ = True
        numbers = range(1, self.repeat + 1)
        prefetched = self.live_run.take_prefetched(self.item, self.provider, self.compared)
        if isinstance(prefetched, RepeatedSends):
            sends = prefetched
        elif self.live_run.planner.may_overlap(self.item, self.provider, self.compared):
            sends = self._send(numbers)
        else:
            yield from self._one_by_one(numbers, is_certain)
            return
        yield from self._arriving(sends, is_certain)
        missing = [number for number in numbers if number not in sends.futures]
        if missing and not is_certain():
            yield from self._arriving(self._send(missing), is_certain)

    def _send(self, numbers: range | list[int]) -> RepeatedSends[LiveResponse]:
        # A judge that is an agent runs in this thread.
        is_agent = self.judging is not None and isinstance(self.judging.judge, AgentProvider)
        grade = self.live_run.planner.graders.of(self.item)
        matched = MatchedCase(
            self.compared,
            None if is_agent else self.judging,
            grade and partial(grade, self.case, self.compared.request),
        )
        return self.live_run.prefetcher.send_repeats(self.provider, matched, self.place, numbers, -1)

    def _arriving(self, sends: RepeatedSends[LiveResponse], is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """The answers of requests in flight together, as they arrive."""
        __tracebackhide__ = True
        given: set[int] = set()
        while True:
            if is_certain() and not sends.is_recorded:
                sends.stop()
            waiting = {
                future: number
                for number, future in sends.futures.items()
                if number not in given and not (future.cancelled() and is_certain())
            }
            if not waiting:
                return
            for future in sorted(self.live_run.waiting.for_first(waiting), key=waiting.__getitem__):
                number = waiting[future]
                given.add(number)
                yield RepeatedAnswer.of(number, partial(result_of, future))
                if not is_certain():
                    # The answer is graded now.
                    sends.send_next()

    def _one_by_one(self, numbers: range, is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """Send in this thread, where Ctrl-C arrives: it has to end an agent's process."""
        __tracebackhide__ = True
        loaded = self.place.load() if self.place.mode.replays else ()
        recorded = self.place.of_repeat(1, loaded).recorded_repeats(self.compared)
        for number in sorted(numbers, key=lambda number: number not in recorded):
            if number not in recorded and is_certain():
                return
            place = self.place.of_repeat(number, loaded)
            send = partial(self.live_run.prefetcher.send, self.provider, self.compared, place, self.api)
            yield RepeatedAnswer.of(number, send)


@dataclass(frozen=True, slots=True)
class RecordedAnswers:
    """Answers of a replayed run: all that are recorded for this very request, though the outcome may be certain before.

    Args:
        provider: the provider of the item that runs.
        compared: what was compared with its snapshot.
        place: of its recording.
        api: its stand-in of the APIs.
        repeat: how often it is to be sent.
    """

    provider: Provider
    compared: Exchange
    place: RecordingPlace
    api: EvalAPI
    repeat: int

    def answers(self, is_certain: IsCertain) -> Iterator[RepeatedAnswer]:
        """See `RepeatedAnswers`; without any recorded answer the error is that of a case that is sent once."""
        __tracebackhide__ = True
        del is_certain
        loaded = self.place.load()
        recorded = self.place.of_repeat(1, loaded).recorded_repeats(self.compared)
        for number in [number for number in recorded if number <= self.repeat] or [1]:
            place = self.place.of_repeat(number, loaded)
            replay = partial(replay_answer, place, self.provider, self.compared, self.api)
            yield RepeatedAnswer.of(number, replay)

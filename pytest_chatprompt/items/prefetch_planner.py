"""The prefetch planner: which items of a live run are sent before pytest runs them.

The item that runs comes in, with its provider and what it sends. From it the planner learns which fixture gives
which provider, and it prefetches the upcoming items whose providers it knows. `live_run` owns it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pytest

from pytest_chatprompt.apis.chat_provider import ChatProvider
from pytest_chatprompt.capture.sent_request import Exchange
from pytest_chatprompt.items.early_fixtures import EarlyFixtures
from pytest_chatprompt.items.item import EvalItem
from pytest_chatprompt.items.judge_rules import UNSHOWN_REASON, JudgeRules, shown_ahead
from pytest_chatprompt.items.prefetch_rules import PrefetchDecision, PrefetchRules
from pytest_chatprompt.items.recordings import recording_place
from pytest_chatprompt.items.refused_connections import reason_not_to_send
from pytest_chatprompt.items.repeat_count import repeat_of
from pytest_chatprompt.items.thread_graders import ThreadGraders
from pytest_chatprompt.items.upcoming import UpcomingItems
from pytest_chatprompt.live.prefetch import Prefetcher
from pytest_chatprompt.live.snapshot_matcher import UpcomingCase
from pytest_chatprompt.prompt.attachments import FileReader
from pytest_chatprompt.providers.agents.base import AgentProvider
from pytest_chatprompt.providers.response import Provider
from pytest_chatprompt.snapshots.recording_place import RecordingPlace

# How many times what may be in flight: the fixtures of these next items run early.
_EARLY_ROUNDS: Final = 2
_AGENT_REASON: Final = "agents run one after the other"
_TIMEOUT_REASON: Final = "pytest-timeout could not end the requests of a provider of your own"
_NO_REQUEST_REASON: Final = "their provider makes no HTTP request that could be compared in advance"
_FINDING_REASON: Final = "preflight warns about them"


class PrefetchPlanner:
    """Picks the upcoming items whose requests are sent now, and has them prefetched.

    Args:
        config: the run's configuration.
        concurrency: how many requests may be in flight at once.
        prefetcher: sends them.
        early: the fixtures that run before their items do.
        judges: know whom items ask.
        reader: the run's reader of attached files.

    Attributes:
        graders: what looks at answers in the threads that send.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - each is a fact of its own
        self,
        config: pytest.Config,
        concurrency: int,
        prefetcher: Prefetcher,
        early: EarlyFixtures,
        judges: JudgeRules,
        reader: FileReader,
    ) -> None:
        self._config = config
        self._concurrency = concurrency
        self._prefetcher = prefetcher
        self._upcoming = UpcomingItems(config, concurrency)
        self._early = early
        self._rules = PrefetchRules(config, early)
        self._judges = judges
        self.graders = ThreadGraders(config, concurrency, reader, self._rules)
        # The items that have run or run now, and what pytest says comes next.
        self._started: dict[str, EvalItem] = {}
        self._next_item: pytest.Item | None = None
        # The providers that are known, by the definition of their fixture.
        self._providers: dict[Any, ChatProvider] = {}
        # The items whose fixtures ran early, and those of them whose judges or providers cannot prepare their requests.
        self._set_up: set[str] = set()
        self._unshown_judges: set[str] = set()
        self._unprepared: dict[str, tuple[UpcomingCase, Provider]] = {}

    def start(self, item: EvalItem, next_item: pytest.Item | None) -> None:
        """Note that an item runs now."""
        self.graders.note_streams()
        self._started[item.nodeid] = item
        self._next_item = next_item

    def prefetch_from(self, item: EvalItem, provider: Provider, compared: Exchange) -> None:
        """Prefetch upcoming items: through this item's provider, or one that came before.

        Args:
            item: the item that runs.
            provider: its provider.
            compared: what it sends.
        """
        # Both forget what they were asked to wait for.
        has_news = any([self._rules.has_new_fixtures(), self._judges.has_new_fixtures()])
        if has_news:
            self._upcoming.give_again()
        if reason_not_to_send(self._config) is not None:
            return
        decision = self._rules.decide(item)
        self._set_up_early(item)
        if isinstance(provider, ChatProvider) and compared.prepared is not None:
            definition = decision.definition
            is_new = definition is not None and definition not in self._providers
            if definition is not None:
                self._providers[definition] = provider
            if is_new or has_news or (definition is not None and self._upcoming.look_again(item)):
                self._prefetch_prepared(item)
        elif compared.sent and compared.invocation is None and item.nodeid not in self._prefetcher:
            # This item's own request is one of those in flight.
            self._prefetcher.prefetch_captured(self._captured_cases(item, provider, decision), self._concurrency - 1)

    def _prefetch_prepared(self, item: EvalItem) -> None:
        """Prefetch the items after an item whose providers are known: up to thousands, whose jobs stay for a while."""
        for order, upcoming in self._prefetchable(item):
            known = self._providers.get(self._rules.decide(upcoming).definition)
            if known is not None:
                self._prefetcher.prefetch(self._upcoming_case(upcoming, order), known)

    def _set_up_early(self, item: EvalItem) -> None:
        """Run the early fixtures of the next items, and prefetch those whose providers prepare their requests."""
        following = self._upcoming.newly_after(item, self._next_item, _EARLY_ROUNDS * self._concurrency)
        for distance, upcoming in following:
            if not isinstance(upcoming, EvalItem) or upcoming.nodeid in self._set_up:
                continue
            if not self._rules.decide(upcoming).is_early or self._rules.skip_mark_reason(upcoming) is not None:
                continue
            if self._judges.is_awaited(upcoming):
                continue
            self._set_up.add(upcoming.nodeid)
            values = self._early.set_up(upcoming)
            if values is None:
                self._rules.reconsider()
                continue
            order = len(self._started) + distance
            case = replace(self._upcoming_case(upcoming, order), load=values.load_case, request=values.request)
            if values.judge is not None:
                case = replace(case, judge=shown_ahead(values.judge))
                if case.judge is None:
                    self._unshown_judges.add(upcoming.nodeid)
                    continue
            if isinstance(values.provider, ChatProvider):
                self._prefetcher.prefetch(case, values.provider)
            elif not isinstance(values.provider, AgentProvider) and not self._rules.has_timeout(upcoming):
                self._unprepared[upcoming.nodeid] = (case, values.provider)

    def _captured_cases(
        self, item: EvalItem, provider: Provider, decision: PrefetchDecision
    ) -> Iterator[tuple[UpcomingCase, Provider]]:
        """The next cases whose providers have to send, offline, in order to show what they send."""
        for order, upcoming in self._prefetchable(item):
            if upcoming.nodeid in self._unprepared:
                yield self._unprepared.pop(upcoming.nodeid)
            elif (
                decision.definition is not None
                and self._rules.decide(upcoming).definition is decision.definition
                and not self._rules.has_timeout(upcoming)
            ):
                yield self._upcoming_case(upcoming, order), provider

    def _prefetchable(self, item: EvalItem) -> Iterator[tuple[int, EvalItem]]:
        """The items after an item that are sure to run and are not prefetched yet, each with its place in the run."""
        for order, upcoming in enumerate(self._upcoming.after(item, self._next_item), start=len(self._started)):
            if not isinstance(upcoming, EvalItem) or upcoming.nodeid in self._started:
                continue
            if upcoming.nodeid in self._prefetcher or self._judges.is_awaited(upcoming):
                continue
            if self._rules.skip_mark_reason(upcoming) is None:
                yield order, upcoming

    def why_not_ahead(self, item: EvalItem, provider: Provider, compared: Exchange) -> str | None:
        """Why an item had to run before it was sent; `None` if it only was the first one.

        Args:
            item: the item that runs.
            provider: its provider.
            compared: what it sends.
        """
        if self._concurrency == 1:
            return None
        reason = (
            self._rules.decide(item).reason or self._rules.skip_mark_reason(item) or reason_not_to_send(self._config)
        )
        reason = reason or self._judges.decide(item).reason
        if reason is not None:
            return reason
        if item.nodeid in self._unshown_judges:
            return UNSHOWN_REASON
        if isinstance(provider, AgentProvider):
            return _AGENT_REASON
        if compared.response.findings:
            return _FINDING_REASON
        if compared.prepared is None:
            if not compared.sent:
                return _NO_REQUEST_REASON
            if self._rules.has_timeout(item):
                return _TIMEOUT_REASON
        return None

    def _upcoming_case(self, item: EvalItem, order: int) -> UpcomingCase:
        judge = self._judges.decide(item).judge
        return UpcomingCase(
            item.nodeid,
            order,
            item.provider_name,
            self.place(item),
            item.valid_case,
            repeat=partial(repeat_of, self._config),
            judge=judge,
            grade=self.graders.of(item),
        )

    def may_overlap(self, item: EvalItem, provider: Provider, compared: Exchange) -> bool:
        """Whether several requests of one case may be in flight together: those that may be sent ahead, in threads.

        Args:
            item: the item that runs.
            provider: its provider.
            compared: what it sends.
        """
        if isinstance(provider, ChatProvider):
            return True
        return self._concurrency > 1 and self.why_not_ahead(item, provider, compared) is None

    def place(self, item: EvalItem) -> RecordingPlace:
        """The place of the recording of an item that may be sent ahead.

        Raises:
            MaskError: its masks are invalid.
        """
        return recording_place(item, item.snapshot_folder, item.snapshot_stem, self._rules.masks(item))

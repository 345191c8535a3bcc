"""`RunBudget`: what all requests of a live run may cost together.

Whoever is about to send a request reserves its cost here, and says afterwards what it was. The first request of an
account goes; from then on a request goes if what was spent, what those in flight cost on average, and what it costs on
average itself is within the budget. A first request in flight counts as the dearest average of the others. Safe between
threads.
"""

from __future__ import annotations

import bisect
import itertools
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from pytest_chatprompt.errors import BudgetError, RequestCancelledError
from pytest_chatprompt.providers.context import Cancellation, Settle, current_context
from pytest_chatprompt.providers.prices import Billing
from pytest_chatprompt.wording import dollars

# Sums of floats are not exact.
_TOLERANCE: Final = 1e-9
# Whoever waits looks this often whether its request was cancelled.
_POLL_SECONDS: Final = 0.05


@dataclass(slots=True)
class _Account:
    """The requests that cost about the same.

    Attributes:
        answered: how many requests have cost that.
        in_flight: those that have begun and not ended.
        waiting: those that have not begun yet, in the order of the run, then of arrival.
    """

    spent: float = 0.0
    answered: int = 0
    in_flight: set[int] = field(default_factory=set)
    waiting: list[tuple[int, int]] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return self.spent / self.answered if self.answered else 0.0


class RunBudget:
    """What all requests of a run may cost together, in US dollars; the limit is above 0."""

    def __init__(self, limit_usd: float) -> None:
        self.limit_usd = limit_usd
        self._accounts: defaultdict[Billing, _Account] = defaultdict(_Account)
        # Those in flight that are sure to end. A client may leave a stream open.
        self._ending = 0
        self._numbers = itertools.count()
        self._changed = threading.Condition()

    @property
    def spent_usd(self) -> float:
        """What all requests that have ended have cost."""
        with self._changed:
            return sum(account.spent for account in self._accounts.values())

    def reserve(self, billing: Billing | None, cancellation: Cancellation | None = None) -> Settle:
        """Reserve what a request costs; a `cancellation` ends its wait.

        One that has it may wait until it is sure whether its cost is left. One without goes as long as something is.

        Raises:
            BudgetError: its cost is not left, or its price is not known.
            RequestCancelledError: it was cancelled.
        """
        unknown = "the price of this provider is not known" if billing is None else billing.why_unknown()
        if billing is None or unknown:
            raise BudgetError(f"not sent, because the budget of {dollars(self.limit_usd)} needs every price: {unknown}")
        with self._changed:
            account = self._accounts[billing]
            if cancellation is None:
                self._has_money(account, waits=False)
            else:
                self._wait(account, cancellation)
                self._ending += 1
            request = next(self._numbers)
            account.in_flight.add(request)
        return partial(self._end, account, request, cancellation is not None)

    def _wait(self, account: _Account, cancellation: Cancellation) -> None:
        """Wait until there is money for a request, and it is its turn."""
        ticket = current_context().order, next(self._numbers)
        bisect.insort(account.waiting, ticket)
        try:
            while account.waiting[0] != ticket or not self._has_money(account, waits=True):
                self._changed.wait(_POLL_SECONDS)
                if cancellation.cancelled.is_set():
                    raise RequestCancelledError
        finally:
            account.waiting.remove(ticket)
            self._changed.notify_all()

    def _has_money(self, account: _Account, *, waits: bool) -> bool:
        """Whether there is money for a request; `False` if it `waits` until that is sure, and it is not yet."""
        means = [each.mean for each in self._accounts.values()]
        # A first request in flight has no mean yet, and may cost as much as those of the dearest account.
        reserved = sum(len(each.in_flight) * (each.mean or max(means)) for each in self._accounts.values())
        is_left = self.spent_usd + reserved + account.mean <= self.limit_usd + _TOLERANCE
        if account.mean == 0:
            # A first request goes as long as anything is left.
            is_left = self.spent_usd + reserved < self.limit_usd - _TOLERANCE
        if is_left:
            # The cost of one is not known as long as the first is in flight.
            return not (waits and self._ending and account.in_flight and not account.answered)
        if waits and self._ending:
            return False
        raise BudgetError(f"the budget of {dollars(self.limit_usd)} is spent: {dollars(self.spent_usd)} so far")

    def _end(self, account: _Account, request: int, waits: bool, cost_usd: float | None) -> None:
        """End a request, once; without a cost it counts as never sent."""
        with self._changed:
            if request not in account.in_flight:
                return
            account.in_flight.remove(request)
            self._ending -= waits
            if cost_usd is not None:
                account.spent += cost_usd
                account.answered += 1
            self._changed.notify_all()

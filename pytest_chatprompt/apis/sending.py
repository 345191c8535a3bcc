"""One try of a live request: metered by the limits of its provider and the budget of the run, and its reply read."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import httpx

from pytest_chatprompt.apis.vendor_api import PreparedRequest
from pytest_chatprompt.errors import APIStatusError, MissingSettingError, UnreadableReplyError
from pytest_chatprompt.providers.context import Cancellation, Settle, current_context
from pytest_chatprompt.providers.http.error_replies import ErrorContext, error_from_reply
from pytest_chatprompt.providers.http.retry import MinuteLimits, StartedRequest
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage, load_json
from pytest_chatprompt.text.json_data import OTHER_SHAPE

# About four bytes of a body are a token. Media are counted in other ways by every vendor: they count nothing here.
_BYTES_PER_TOKEN: Final = 4
_MEDIA: Final = re.compile(rb"[A-Za-z0-9+/_-]{256,}={0,2}")


@dataclass(eq=False)
class MeteredTry:
    """One try of a request: its waits end with the cancellation, or at the deadline of the monotonic clock."""

    prepared: PreparedRequest
    limits: MinuteLimits
    cancellation: Cancellation
    timeout_seconds: float
    deadline: float
    # In seconds of the monotonic clock; `None` for what is not sent.
    _sent_at: float | None = None
    _started: StartedRequest | None = None
    _settle: Settle | None = None

    def begin(self) -> float:
        """Wait until the request may be sent, offline for nothing; gives the seconds that it may take."""
        context = current_context()
        if context.budget is not None and not context.is_offline:
            self._settle = context.budget.reserve(self.prepared.billing, self.cancellation)
        if not (self.limits.is_unlimited or context.is_offline):
            self._started = self.limits.wait_to_start(self._estimated_input(), self.cancellation, self.deadline)
        self._sent_at = time.monotonic()
        return min(self.timeout_seconds, max(self.deadline - self._sent_at, 0.0))

    def finish(self, response: ProviderResponse) -> ProviderResponse:
        """Take the answer; gives it with its latency and, unless it is a canned one, its cost."""
        latency = 0.0 if self._sent_at is None else time.monotonic() - self._sent_at
        billing = self.prepared.billing
        cost = None
        if billing is not None and current_context().is_priced:
            cost = billing.cost_usd(response.usage, response.raw)
        used = (response.usage.input_tokens or 0) + (response.usage.output_tokens or 0)
        if self._started is not None and used:
            self._started.tokens = used
        if self._settle is not None:
            self._settle(self._estimated_cost(len(response.text)) if cost is None else cost)
        return response.model_copy(update={"latency_seconds": latency, "cost_usd": cost})

    def fail(self, error: BaseException) -> None:
        """Note that there is no answer: it may have cost something if the API has begun to work on it."""
        if self._settle is not None:
            is_free = self._sent_at is None or _costs_nothing(error)
            self._settle(None if is_free else self._estimated_cost(0))

    def _estimated_input(self) -> int:
        return len(_MEDIA.sub(b"", self.prepared.content)) // _BYTES_PER_TOKEN

    def _estimated_cost(self, answer_length: int) -> float:
        """What the request has cost about, where its reply does not say how many tokens it had."""
        usage = TokenUsage(input_tokens=self._estimated_input(), output_tokens=answer_length // _BYTES_PER_TOKEN)
        billing = self.prepared.billing
        return (billing.cost_usd(usage) if billing is not None else None) or 0.0


def _costs_nothing(error: BaseException) -> bool:
    """Whether an API has not begun with an answer: it replied with an error, or was not reached."""
    is_refused = isinstance(error, APIStatusError) and not isinstance(error, UnreadableReplyError)
    is_unreached = isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout)
    return is_refused or is_unreached or isinstance(error, MissingSettingError)


def read_http_reply(
    reply: httpx.Response, read_body: Callable[[Any], ProviderResponse], error_context: Callable[[], ErrorContext]
) -> ProviderResponse:
    """Read the reply of an API."""
    if not reply.is_success:
        raise error_from_reply(reply, error_context())
    problem = "that is not valid JSON"
    try:
        data = load_json(reply.content)
        problem = "in an unexpected shape"
        return read_body(data)
    except OTHER_SHAPE as error:
        context = error_context()
        shown = context.redact(reply.content.decode(errors="replace")) or "(an empty body)"
        raise UnreadableReplyError(
            f"{context.vendor} answered with a body {problem}: {shown}\n"
            f"Check {context.target}: another service may be running there.",
            status=reply.status_code,
        ) from error

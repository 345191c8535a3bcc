"""The exchange: what a provider sent for a request, and what it returned.

`provider_capture`, `agent_requests` and `preview` make it; `snapshots` shows it, `items` and `live` compare it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pytest_chatprompt.apis.reply import Reply
    from pytest_chatprompt.apis.vendor_api import PreparedRequest
    from pytest_chatprompt.capture.sent_request import SentRequest
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.agents.base import AgentInvocation
    from pytest_chatprompt.providers.response import ProviderResponse


class Exchange(NamedTuple):
    """What a provider sent for a request, and what it returned.

    Args:
        request: what the provider was asked to send.
        response: what it returned; offline, a placeholder.
        sent: the HTTP requests that it sent, in order; empty if it sent none.
        invocation: the command and the document that an agent was given.
        prepared: the request that is ready to be sent, if the provider can prepare it without sending.
        replies: the queued replies that requests took; a live run gives them again.
    """

    request: ProviderRequest
    response: ProviderResponse
    sent: tuple[SentRequest, ...]
    invocation: AgentInvocation | None = None
    prepared: PreparedRequest | None = None
    replies: tuple[Reply, ...] = ()

    def sends_the_same(self, other: Exchange) -> bool:
        """Whether two exchanges send the same HTTP requests."""
        return (self.sent, self.prepared) == (other.sent, other.prepared)

"""What an agent sends to its model, while it is really run, against a `CaptureServer`.

An agent provider and a request come in; an `Exchange` comes out that holds the command and the document, the agent's
answer, and its HTTP requests. Offline the server answers as `eval_api` does, in a live run it forwards to the real
API. `provider_capture` calls it, for providers with `capture=True`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Final

import httpx

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.capture.volatile_values import VolatileValues
from pytest_chatprompt.errors import CaptureError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentInvocation, AgentProvider
from pytest_chatprompt.providers.context import SendContext, current_context, use_context

_NOTHING_SENT: Final = (
    "{agent} sent nothing to the server that captures what it sends: it may not read the variables that point it there "
    "(OPENAI_BASE_URL, ANTHROPIC_BASE_URL and others), or a setting of its own overrides them; "
    "set capture=False, or let its command pass the URL on"
)


def capture_agent_offline(
    provider: AgentProvider, request: ProviderRequest, invocation: AgentInvocation, api: EvalAPI
) -> Exchange:
    """Run an agent offline, and capture what it sends; `api` answers.

    Args:
        provider: the agent.
        request: what to give it.
        invocation: as the snapshot shows it.
        api: its routes and its default replies answer.

    Raises:
        AgentError: the agent failed.
        CaptureError: nothing answers what it sent, or it sent nothing.
    """
    __tracebackhide__ = True
    return _capture(provider, request, invocation, api.handler, SendContext(is_offline=True))


def capture_agent_live(
    provider: AgentProvider, request: ProviderRequest, invocation: AgentInvocation, redactor: Redactor
) -> Exchange:
    """Run an agent against its real API, and capture what it sends.

    Args:
        provider: the agent.
        request: what to give it.
        invocation: as the snapshot shows it.
        redactor: learns the credentials in the requests.

    Raises:
        AgentError: the agent failed.
        CaptureError: a request could not be forwarded, or it sent none.
    """
    __tracebackhide__ = True

    def forward(sent: httpx.Request) -> None:
        redactor.add_request(sent.headers, sent.url)

    return _capture(provider, request, invocation, forward, current_context())


def _capture(
    provider: AgentProvider,
    request: ProviderRequest,
    invocation: AgentInvocation,
    answer: Callable[[httpx.Request], httpx.Response | None],
    context: SendContext,
) -> Exchange:
    __tracebackhide__ = True
    # It imports h11, which no other run needs.
    from pytest_chatprompt.capture.server.capture_server import CaptureServer  # noqa: PLC0415
    from pytest_chatprompt.capture.server.environ import seal_environ  # noqa: PLC0415

    requests: list[httpx.Request] = []
    lock = threading.Lock()

    def handle(sent: httpx.Request) -> httpx.Response | None:
        # One at a time: a test's routes need not be safe between threads.
        with lock:
            requests.append(sent)
            return answer(sent)

    specifics = VolatileValues(keep=invocation.prompt)
    environment = {**os.environ, **provider.env}
    server = CaptureServer(handle, is_live=not context.is_offline, environment=environment)
    try:
        environ = seal_environ(server.environ, server.url) if context.is_offline else server.environ
        with use_context(context._replace(environ=environ)):
            response = provider.send(request)
    finally:
        server.close()
        if server.errors:
            # Even if the agent failed because of it, or swallowed it.
            raise CaptureError(str(server.errors[0])) from server.errors[0]
    if not requests:
        raise CaptureError(_NOTHING_SENT.format(agent=provider.executable))
    sent = tuple(SentRequest.from_httpx(captured, None) for captured in requests)
    bodies = [specifics.replace(provider.stable_body(each.body)) for each in sent]
    stable = zip(sent, bodies, strict=True)
    sent = tuple(SentRequest(each.endpoint, body, headers=each.headers) for each, body in stable)
    return Exchange(request, response, sent, invocation)

"""What an agent sends to its model, while it is really run, against a `CaptureServer`.

An agent provider and a request come in; an `Exchange` comes out that holds the command and the document, the agent's
answer, and its HTTP requests. Offline the server answers as `eval_api` does, in a live run it forwards to the real
API. `provider_capture` calls it, for providers with `capture=True`.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import httpx

from pytest_chatprompt.capture.eval_api import EvalAPI
from pytest_chatprompt.capture.exchange import Exchange
from pytest_chatprompt.capture.secrets.redaction import Redactor
from pytest_chatprompt.capture.sent_request import SentRequest
from pytest_chatprompt.errors import CaptureError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, AgentInvocation, AgentProvider
from pytest_chatprompt.providers.context import SendContext, current_context, use_context

_NOTHING_SENT: Final = (
    "{agent} sent nothing to the server that captures what it sends: it may not read the variables that point it there "
    "(OPENAI_BASE_URL, ANTHROPIC_BASE_URL and others), or a setting of its own overrides them; "
    "set capture=False, or let its command pass the URL on"
)
_UUID: Final = re.compile(r"(?<![0-9A-Fa-f])[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}(?![0-9A-Fa-f])")
# Seconds since 1970, or their thousandths.
_UNIX_TIME: Final = re.compile(r"(?<![\w.])(\d{10}(?:\.\d+)?|\d{13})(?![\w.]*\d)")
_ISO_TIME: Final = r"(?<!\d)(?:{dates})(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
_MILLISECONDS: Final = 1e11
# Clocks are rounded, and two of them may differ.
_TOLERANCE_SECONDS: Final = 2.0


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


class VolatileValues:
    """Placeholders for what differs from run to run: temporary folders, ids and times. Made before the run begins.

    `{id 1}` stands for the first UUID that the agent sent, wherever it stands again.

    Args:
        keep: what is the agent's task. A date or an id in it is part of the case, and stays.
    """

    def __init__(self, *, keep: str) -> None:
        self._keep = keep
        self._started = time.time()
        self._ids: dict[str, str] = {}
        folders = {tempfile.gettempdir(), str(Path(tempfile.gettempdir()).resolve())}
        # As `tempfile` names them, for `AgentProvider.send`.
        self._folder = re.compile(
            rf"(?:{'|'.join(map(re.escape, sorted(folders, key=len, reverse=True)))})/chatprompt-[a-z0-9_]{{8}}"
        )

    def replace(self, data: Any) -> Any:
        """Put the placeholders into JSON data; gives new data.

        Args:
            data: the body of the next request, after the run.
        """
        match data:
            case str():
                # The document stays as it is: only its paths may hold what differs.
                parts = data.split(self._keep) if self._keep else [data]
                return self._folder.sub(str(PLACEHOLDER_FOLDER), self._keep.join(map(self._replace_in_text, parts)))
            case dict():
                return {key: self.replace(value) for key, value in data.items()}
            case list():
                return [self.replace(item) for item in data]
            case int() | float() if not isinstance(data, bool) and self._is_now(data):
                return "{time}"
        return data

    def _replace_in_text(self, text: str) -> str:
        text = _UUID.sub(lambda match: self._ids.setdefault(match[0], f"{{id {len(self._ids) + 1}}}"), text)
        text = _UNIX_TIME.sub(lambda match: "{time}" if self._is_now(float(match[0])) else match[0], text)
        return re.sub(_ISO_TIME.format(dates="|".join(self._dates())), self._name_date_or_time, text)

    def _name_date_or_time(self, match: re.Match[str]) -> str:
        return "{date}" if len(match[0]) == len("2000-01-01") else "{time}"

    def _dates(self) -> set[str]:
        """The dates of the run, here and in UTC."""
        moments = (self._started, time.time())
        return {datetime.fromtimestamp(at, zone).date().isoformat() for at in moments for zone in (None, UTC)}

    def _is_now(self, number: float) -> bool:
        seconds = number / 1000 if number > _MILLISECONDS else number
        return self._started - _TOLERANCE_SECONDS <= seconds <= time.time() + _TOLERANCE_SECONDS

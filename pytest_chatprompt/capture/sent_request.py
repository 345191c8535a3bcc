"""What was sent: a request as a snapshot shows it, and the exchange that it belongs to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Self
from urllib.parse import unquote

import httpx

from pytest_chatprompt.capture.secrets.names import is_secret_parameter
from pytest_chatprompt.providers.http.client import bare_request, model_headers, parsed_url
from pytest_chatprompt.providers.http.request_body import decode_body, read_body

if TYPE_CHECKING:
    from pytest_chatprompt.apis.vendor_api import PreparedRequest
    from pytest_chatprompt.prompt.request import ProviderRequest
    from pytest_chatprompt.providers.agents.base import AgentInvocation
    from pytest_chatprompt.providers.response import ProviderResponse

AnsweredBy = Literal["route", "reply", "default", "network", "recording", "nothing"]

_QUERY_PARAMETER: Final = re.compile(r"(?<=[?&;])([^=&;]*)=([^&;]*)")


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SentRequest:
    """One HTTP request that was sent; equal to one with the same endpoint, headers and body, its keys in their order.

    Args:
        endpoint: method, path and query below the base URL, without the host: `POST /v1/messages`.
        body: decoded from the bytes sent: JSON data, else text; `None` for no body.
        url: the whole URL, its secrets hidden; no part of a snapshot.
        answered_by: a `route` of the test, a `reply` that it queued, the `default` reply of the API, the `network` in a
            live run, a `recording`, or `nothing`; no part of a snapshot.
        is_late: whether a real reply had been given before, so that the request may hold it; no part of a snapshot.
        headers: those that change what the model does, such as `anthropic-beta`, by their names in lower case.
    """

    endpoint: str
    body: Any
    url: str = ""
    answered_by: AnsweredBy = "nothing"
    is_late: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def question(self) -> str:
        """The conversation of the body as a transcript, as `question` in snapshots; `""` if it is of no known API."""
        # A run that reads no conversation back does not load the APIs.
        from pytest_chatprompt.apis.table import find_api  # noqa: PLC0415

        method, _, target = self.endpoint.partition(" ")
        url = httpx.URL(self.url or target)
        api = find_api(method, url.path, url.host)
        return "" if api is None else api.read_conversation(read_body(self.body)).as_transcript()

    def __repr__(self) -> str:
        """Short: pytest shows it beside the diff, which has the body."""
        return f"<SentRequest {self.endpoint}>"

    def as_data(self) -> dict[str, Any]:
        """What a snapshot shows of it: `endpoint`, `headers` if there are any, and `request`."""
        headers = {"headers": dict(self.headers)} if self.headers else {}
        return {"endpoint": self.endpoint, **headers, "request": self.body}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SentRequest):
            return NotImplemented
        # As JSON: to Python 1, 1.0 and True are equal, and so are other orders of keys.
        return json.dumps(self.as_data()) == json.dumps(other.as_data())

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: SentRequest) -> bool:
        return self._sort_key() < other._sort_key()

    def _sort_key(self) -> tuple[str, str, str]:
        return self.endpoint, json.dumps(self.body, sort_keys=True), json.dumps(dict(self.headers))

    @classmethod
    def from_httpx(cls, request: httpx.Request, base_url: Any = None, answered_by: AnsweredBy = "nothing") -> Self:
        """Read an httpx request, whose body has been read."""
        body = decode_body(request.content, request.headers)
        headers = model_headers(request.headers.raw)
        endpoint = _endpoint(request.method, request.url, base_url, sent_target(request))
        return cls(endpoint, body, _shown_url(request.url), answered_by, headers=headers)

    @classmethod
    def of_post(cls, url: str, content: bytes, base_url: str, headers: Mapping[str, str]) -> Self:
        """Show a JSON body that will be posted; a stand-in answers it offline."""
        request = bare_request(url)
        endpoint = _endpoint("POST", request.url, base_url, sent_target(request))
        return cls(endpoint, decode_body(content, {}), _shown_url(request.url), "default", headers=headers)


def sent_target(request: httpx.Request) -> str:
    """Path and query of a request, as its client wrote them."""
    target: bytes = request.extensions.get("target") or request.url.raw_path
    return target.decode(errors="surrogateescape")


def _endpoint(method: str, url: httpx.URL, base_url: Any, target: str) -> str:
    """Method, path and query of a request, without base URL, and with the secrets in its query hidden."""
    target = _QUERY_PARAMETER.sub(_hide_secret, target)
    if isinstance(base_url, str | httpx.URL):
        base = parsed_url(base_url) if isinstance(base_url, str) else base_url
        prefix = base.raw_path.decode("ascii").rstrip("/")
        if base.host == url.host and target.startswith((f"{prefix}/", f"{prefix}?")):
            target = target.removeprefix(prefix)
    return f"{method} {target}"


def describe_request(request: httpx.Request) -> str:
    """Method and URL for errors, such as `GET https://api.example/models`, without what may be a secret."""
    return f"{request.method} {request.url.copy_with(query=None, userinfo=b'')}"


def _shown_url(url: httpx.URL) -> str:
    return _QUERY_PARAMETER.sub(_hide_secret, str(url.copy_with(userinfo=b"") if url.userinfo else url))


def _hide_secret(parameter: re.Match[str]) -> str:
    return f"{parameter[1]}=hidden" if is_secret_parameter(unquote(parameter[1])) else parameter[0]


class Exchange(NamedTuple):
    """What a provider sent for a request, and what it returned; offline, a placeholder.

    Args:
        invocation: the command and the document that an agent was given.
        prepared: the request that is ready to be sent, if the provider can prepare it without sending.
        replies: each `QueuedReply` that a request took; a live run gives them again.
        in_place_of: the first request of a provider that cannot prepare it. What was sent goes out in its place, and
            nothing after it. `None` where the provider sends as it likes.
    """

    request: ProviderRequest
    response: ProviderResponse
    sent: tuple[SentRequest, ...]
    invocation: AgentInvocation | None = None
    prepared: PreparedRequest | None = None
    replies: tuple[Any, ...] = ()
    in_place_of: SentRequest | None = None

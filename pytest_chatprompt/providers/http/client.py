"""`HTTPClient`: posts the requests of one provider to its API, each with a limit in time and in bytes."""

from __future__ import annotations

import math
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final, Self
from urllib.request import getproxies

import httpx

from pytest_chatprompt.errors import APIConnectionError, UnreadableReplyError
from pytest_chatprompt.providers.context import Cancellation, SendContext, current_context, use_context
from pytest_chatprompt.providers.http.retry import SharedPause

# By name: the values that say nothing, because clients send one of them with every request.
_MODEL_HEADERS: Final[Mapping[bytes, tuple[str, ...]]] = {
    # Features of Anthropic's models, also on Amazon Bedrock and Vertex AI:
    # https://docs.anthropic.com/en/api/beta-headers; OpenRouter passes on those of the second name.
    b"anthropic-beta": (),
    b"x-anthropic-beta": (),
    # https://docs.anthropic.com/en/api/versioning; the values are those of `AnthropicProvider` and of the SDKs.
    b"anthropic-version": ("2023-06-01", "2026-10-21"),
    # openai-python, `resources/beta` and `lib/_assistants_runs.py`: the version of an API that is in beta.
    b"openai-beta": (),
    # The tools of Groq's systems: https://console.groq.com/docs/compound/systems
    b"groq-model-version": (),
    # What becomes of fields that Azure's API does not know: `ExtraParameters` of azure-ai-inference.
    b"extra-parameters": (),
    # The deployment, and so the model: online endpoints of Azure, and images made by its Responses API.
    b"azureml-model-deployment": (),
    b"x-ms-oai-image-generation-deployment": (),
    # `InvokeModelRequest` and `InvokeModelWithResponseStreamRequest` in botocore (`data/bedrock-runtime`); Converse has
    # the same in its body.
    b"x-amzn-bedrock-guardrailidentifier": (),
    b"x-amzn-bedrock-guardrailversion": (),
    b"x-amzn-bedrock-performanceconfig-latency": (),
    b"x-amzn-bedrock-service-tier": (),
    b"x-amzn-bedrock-trace": (),
    # The tier of service, which other APIs have in the body:
    # https://cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo
    b"x-vertex-ai-llm-request-type": (),
    b"x-vertex-ai-llm-shared-request-type": (),
}


def model_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers that change what the model does, sorted by their names in lower case.

    Snapshots and recordings are for these too. All others say who asks, by what client, or how the bytes are packed:
    they differ between machines, or are secret. A header that is sent several times counts as one, its values joined.
    """
    found: dict[str, list[str]] = {}
    for name, value in headers:
        constants = _MODEL_HEADERS.get(name.lower())
        if constants is not None and (text := value.decode("latin-1")) not in constants:
            found.setdefault(name.decode("ascii").lower(), []).append(text)
    return {name: ", ".join(found[name]) for name in sorted(found)}


# No answer is that long: most are some kilobytes, an answer with images or audio in base64 some megabytes.
MAX_REPLY_BYTES: Final = 64 * 1024 * 1024
# The extension of an httpx request that names the class of the provider that sends it.
PROVIDER_EXTENSION: Final = "chatprompt_provider"
_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_OF_HTTPX: Final = {"Accept": "*/*", "Connection": "keep-alive", "User-Agent": f"python-httpx/{httpx.__version__}"}
# Brotli and Zstandard, which httpx would add if they are installed, have no way to bound what comes out.
_HEADERS: Final = {**_OF_HTTPX, "content-type": "application/json", "accept-encoding": "gzip, deflate"}


@lru_cache(maxsize=256)
def parsed_url(url: str) -> httpx.URL:
    """Parse a URL, and remember it: a run has few, and parsing one takes a tenth of a request's time offline."""
    return httpx.URL(url)


@lru_cache(maxsize=256)
def bare_request(url: str) -> httpx.Request:
    """A request to a URL without anything in it, made once: making one takes as long as reading a body."""
    return httpx.Request("POST", parsed_url(url))


def trusted_certificates() -> ssl.SSLContext:
    """The certificates that httpx trusts by the environment; reading them takes longer than most requests."""
    # Else each of many threads that begin together reads them.
    with _certificates_lock:
        return _read_certificates(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))


_certificates_lock: Final = threading.Lock()


@lru_cache(maxsize=1)
def _read_certificates(*_: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context()


@dataclass(eq=False)
class HTTPClient:
    """Posts the requests of one provider, each on a connection of its own. Safe between threads.

    `authorize` gives the headers with the key or the signature of each request, `redact` removes the key from a text of
    the network, and `extensions` go with each request, such as the class of the provider, as which `eval_api` answers.
    """

    vendor: str
    authorize: Callable[[httpx.Request], Mapping[str, str]]
    redact: Callable[[str], str]
    extensions: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.shared_pause = SharedPause()
        self._watch = _Watch()
        # The environment is looked through when the clients of vendors' SDKs are made, too.
        self._new_transport = _ProxiedTransport if getproxies() else httpx.HTTPTransport

    def post(self, url: str, content: bytes, begin: Callable[[], float], cancellation: Cancellation) -> httpx.Response:
        """Post a JSON body once, and read the whole reply, of any status.

        `begin` is called just before it goes to the network, and gives the seconds that it may take, from connecting to
        the last byte of the reply.
        """
        send = partial(self._send, url, content, begin, cancellation)
        try:
            replay = current_context().replay
            response = send() if replay is None else replay(self.unsigned_request(url, content), send)
            response.read()
        except httpx.RequestError as error:
            # The difference matters: a request that reached the API may have been answered, and paid for.
            problem = "cannot be reached" if isinstance(error, httpx.ConnectError) else "did not complete its reply"
            detail = self.redact(str(error)) or type(error).__name__
            raise APIConnectionError(f"{self.vendor} at {httpx.URL(url).host} {problem}: {detail}") from error
        return response

    def unsigned_request(self, url: str, content: bytes) -> httpx.Request:
        """A request without credentials: of the provider's headers it has those that change what the model does."""
        return httpx.Request("POST", parsed_url(url), content=content, headers={**_HEADERS, **self.sent_headers(url)})

    def sent_headers(self, url: str) -> dict[str, str]:
        """The provider's headers that change what the model does; nothing is signed."""
        with use_context(SendContext(is_offline=True)):
            headers = self.authorize(bare_request(url)).items()
        return model_headers((name.encode("ascii"), value.encode("ascii")) for name, value in headers)

    def _send(self, url: str, content: bytes, begin: Callable[[], float], cancellation: Cancellation) -> httpx.Response:
        timeout_seconds = begin()
        timeout = httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_TIMEOUT_SECONDS), pool=None)
        with _Deadline(self._watch, time.monotonic() + timeout_seconds, cancellation) as deadline:
            extensions = {**(self.extensions or {}), "timeout": timeout.as_dict(), "trace": deadline.trace}
            request = httpx.Request("POST", parsed_url(url), headers=_HEADERS, content=content, extensions=extensions)
            failure: httpx.TransportError | None = None
            try:
                # A new one for each request: an open connection would evade what refuses new ones.
                with self._new_transport(verify=trusted_certificates()) as transport:
                    # At the last moment, so that no local variable of a traceback contains the key.
                    request.headers.update(self.authorize(request))
                    reply = transport.handle_request(request)
                    body = self._read_body(reply, request.url.host)
            except httpx.TransportError as error:
                failure = error
            # A body without a length ends where its connection does, without an error.
            if deadline.is_over or isinstance(failure, httpx.TimeoutException):
                raise APIConnectionError(f"{self.vendor} did not answer within {timeout_seconds:.3g} s") from failure
            if failure is not None:
                raise failure
        # The bytes are decoded already: with this header httpx would decode them again.
        headers = [(name, value) for name, value in reply.headers.multi_items() if name != "content-encoding"]
        return httpx.Response(
            reply.status_code, headers=headers, content=body, extensions=reply.extensions, request=request
        )

    def _read_body(self, reply: httpx.Response, host: str) -> bytes:
        """Read the body of a reply that streams, and decompress no more of it than may be kept."""
        body = bytearray()
        for chunk in reply.iter_bytes():
            body += chunk
            if len(body) > MAX_REPLY_BYTES:
                raise UnreadableReplyError(
                    f"{self.vendor} at {host} answered with more than {MAX_REPLY_BYTES // 1024**2} "
                    "MiB, which is too long to be read; something other than the API may answer there",
                    status=reply.status_code,
                )
        return bytes(body)


class _ProxiedTransport(httpx.Client):
    """Sends through the proxy that httpx chooses by the environment, which only its client does, in twice the time."""

    def __init__(self, verify: ssl.SSLContext) -> None:
        try:
            super().__init__(verify=verify)
        except KeyError:
            # httpx looks through the environment, from which pytest removes a variable at the end of each test.
            super().__init__(verify=verify)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request, as a transport does."""
        # The user name in a URL is not for the API.
        return self.send(request, auth=httpx.Auth(), stream=True)


class _Deadline:
    """Ends a request when its time is over, at any step; httpx has a limit for each step, such as one read."""

    def __init__(self, watch: _Watch, ends_at: float, cancellation: Cancellation) -> None:
        self.is_over = False
        self.ends_at = ends_at
        self._watch = watch
        self._cancellation = cancellation
        self._handle: socket.socket | None = None

    def __enter__(self) -> Self:
        self._watch.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.remove(self)
        self._cancellation.use(None)
        if self._handle is not None:
            self._handle.close()

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Take the connection once it is there (https://www.encode.io/httpcore/extensions/#trace)."""
        if event.endswith("connect_tcp.complete"):
            # TLS takes the connection away from its socket object; a second one ends it all the same.
            self._handle = info["return_value"].get_extra_info("socket").dup()
            self._cancellation.use(self._handle)

    def end(self) -> None:
        """End the request."""
        self.is_over = True
        self._cancellation.shut_down()


class _Watch:
    """Ends what has passed its deadline, in one thread: to start one for each request takes a tenth of its time."""

    def __init__(self) -> None:
        self._deadlines: set[_Deadline] = set()
        self._changed = threading.Condition()
        self._wakes_at = math.inf
        self._thread: threading.Thread | None = None

    def add(self, deadline: _Deadline) -> None:
        """Watch the deadline of a request that is about to be sent."""
        with self._changed:
            self._deadlines.add(deadline)
            # A process that was forked has no thread but the one that forked it.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            elif deadline.ends_at < self._wakes_at:
                self._changed.notify()

    def remove(self, deadline: _Deadline) -> None:
        """Forget the deadline of a request that has its reply."""
        with self._changed:
            self._deadlines.discard(deadline)
            if not self._deadlines:
                # No thread stays behind when nothing is in flight.
                self._changed.notify()

    def _run(self) -> None:
        with self._changed:
            while self._deadlines:
                self._wakes_at = min(deadline.ends_at for deadline in self._deadlines)
                self._changed.wait(self._wakes_at - time.monotonic())
                for deadline in [each for each in self._deadlines if each.ends_at <= time.monotonic()]:
                    self._deadlines.remove(deadline)
                    deadline.end()
            self._thread = None

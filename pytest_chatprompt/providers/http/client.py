"""`HTTPClient`: posts the requests of one provider to its API, each with a limit in time and in bytes."""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final
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
# How often what is in flight is looked at.
_LOOK_SECONDS: Final = 0.02
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
            if replay is None:
                return send()
            # Without credentials: of the provider's headers it has those that change what the model does.
            headers = {**_HEADERS, **self.sent_headers(url)}
            response = replay(httpx.Request("POST", parsed_url(url), content=content, headers=headers), send)
            response.read()
        except httpx.RequestError as error:
            # The difference matters: a request that reached the API may have been answered, and paid for.
            problem = "cannot be reached" if isinstance(error, httpx.ConnectError) else "did not complete its reply"
            cause = self.redact(str(error)) or type(error).__name__
            raise APIConnectionError(f"{self.vendor} at {httpx.URL(url).netloc.decode()} {problem}: {cause}") from error
        return response

    def sent_headers(self, url: str) -> dict[str, str]:
        """The provider's headers that change what the model does; nothing is signed."""
        with use_context(SendContext(is_offline=True)):
            headers = self.authorize(bare_request(url)).items()
        return model_headers((name.encode("ascii"), value.encode("ascii")) for name, value in headers)

    def _send(self, url: str, content: bytes, begin: Callable[[], float], cancellation: Cancellation) -> httpx.Response:
        timeout_seconds = begin()
        timeout = httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_TIMEOUT_SECONDS), pool=None)
        ends_at = time.monotonic() + timeout_seconds
        failure: httpx.TransportError | None = None
        with self._watch.limit(ends_at, cancellation) as trace:
            extensions = {**(self.extensions or {}), "timeout": timeout.as_dict(), "trace": trace}
            request = httpx.Request("POST", parsed_url(url), headers=_HEADERS, content=content, extensions=extensions)
            try:
                # A new one for each request: an open connection would evade what refuses new ones.
                with self._new_transport(verify=trusted_certificates()) as transport:
                    # At the last moment, so that no local variable of a traceback contains the key.
                    request.headers.update(self.authorize(request))
                    reply = transport.handle_request(request)
                    body = self._read_body(reply, request.url.netloc.decode())
            except httpx.TransportError as error:
                failure = error
            # A body without a length ends where its connection does, without an error.
            if time.monotonic() >= ends_at or isinstance(failure, httpx.TimeoutException):
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


class _Watch:
    """Ends requests when their time is over, at any step: httpx has a limit for each step, such as one read.

    It looks at all of them in one thread: to start one for each request takes a tenth of its time.
    """

    def __init__(self) -> None:
        self._in_flight: list[tuple[float, Cancellation]] = []
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def limit(self, ends_at: float, cancellation: Cancellation) -> Iterator[Callable[[str, Mapping[str, Any]], None]]:
        """End a request at a time of the monotonic clock; yields the function that httpx has to `trace` it by."""
        request = (ends_at, cancellation)
        with self._lock:
            self._in_flight.append(request)
            # A process that was forked has no thread but the one that forked it.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
        with ExitStack() as connections:

            def trace(event: str, info: Mapping[str, Any]) -> None:
                # https://www.encode.io/httpcore/extensions/#trace
                if event.endswith("connect_tcp.complete"):
                    # TLS takes the connection away from its socket object; a second one ends it all the same.
                    connection = info["return_value"].get_extra_info("socket").dup()
                    cancellation.use(connections.enter_context(connection))

            try:
                yield trace
            finally:
                cancellation.use(None)
                with self._lock:
                    self._in_flight.remove(request)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._in_flight:
                    # No thread stays behind when nothing is in flight.
                    self._thread = None
                    return
                for ends_at, cancellation in self._in_flight:
                    if time.monotonic() >= ends_at:
                        cancellation.shut_down()
            time.sleep(_LOOK_SECONDS)

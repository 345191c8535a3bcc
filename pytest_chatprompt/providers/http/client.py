"""`HTTPClient`: posts the requests of one provider to its API, each with a limit in time and in bytes."""

from __future__ import annotations

import os
import ssl
import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from http.cookiejar import CookieJar
from typing import Any, Final

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
# Brotli and Zstandard, which httpx would add if they are installed, have no way to bound what comes out.
_HEADERS: Final = {"content-type": "application/json", "accept-encoding": "gzip, deflate"}


@lru_cache(maxsize=256)
def parsed_url(url: str) -> httpx.URL:
    """Parse a URL, and remember it: a run has few, and parsing one takes a tenth of a request's time offline."""
    return httpx.URL(url)


def trusted_certificates() -> ssl.SSLContext:
    """The certificates that httpx trusts by the environment; reading them takes longer than most requests."""
    return _read_certificates(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")))


@lru_cache(maxsize=1)
def _read_certificates(*_: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context()


class HTTPClient:
    """Posts the requests of one provider, each on a connection of its own. Safe between threads.

    Args:
        authorize: gives the headers that authorize a request, such as its key or its signature; called for each post.
        redact: removes the key from a text that came from the network.
        provider: the class of the provider; `eval_api` answers its requests as that class says.

    Attributes:
        shared_pause: delays requests when the API asks for it.
    """

    def __init__(
        self,
        vendor: str,
        authorize: Callable[[httpx.Request], Mapping[str, str]],
        redact: Callable[[str], str],
        provider: type | None = None,
    ) -> None:
        self.shared_pause = SharedPause()
        self._provider = provider
        self._vendor = vendor
        self._auth = _Credentials(authorize)
        self._redact = redact
        self._cookies = CookieJar()
        self._in_flight: set[Cancellation] = set()
        self._is_cancelled = False
        self._lock = threading.Lock()

    def post(self, url: str, content: bytes, begin: Callable[[], float], cancellation: Cancellation) -> httpx.Response:
        """Post a JSON body once, and read the whole reply, of any status.

        `begin` is called just before it goes to the network, and gives the seconds that it may take, from connecting to
        the last byte of the reply.
        """

        def send() -> httpx.Response:
            return self._send(url, content, begin(), cancellation)

        try:
            replay = current_context().replay
            if replay is None:
                return send()
            headers = {**_HEADERS, **self.model_headers(url, content)}
            response = replay(httpx.Request("POST", parsed_url(url), content=content, headers=headers), send)
            response.read()
        except httpx.RequestError as error:
            # The difference matters: a request that reached the API may have been answered, and paid for.
            problem = "cannot be reached" if isinstance(error, httpx.ConnectError) else "did not complete its reply"
            detail = self._redact(str(error)) or type(error).__name__
            raise APIConnectionError(f"{self._vendor} at {httpx.URL(url).host} {problem}: {detail}") from error
        return response

    def model_headers(self, url: str, content: bytes) -> dict[str, str]:
        """The headers that the provider adds to a request and that change what the model does; nothing is signed."""
        with use_context(SendContext(is_offline=True)):
            request = httpx.Request("POST", parsed_url(url), content=content)
            return model_headers(httpx.Headers(self._auth.authorize(request)).raw)

    def _send(self, url: str, content: bytes, timeout_seconds: float, cancellation: Cancellation) -> httpx.Response:
        # Offline runs need neither it nor httpcore.
        from pytest_chatprompt.providers.http.connections import open_client  # noqa: PLC0415

        timeout = httpx.Timeout(timeout_seconds, connect=min(timeout_seconds, _CONNECT_TIMEOUT_SECONDS), pool=None)
        extensions = {PROVIDER_EXTENSION: self._provider}
        try:
            with (
                open_client(trusted_certificates(), self._cookies, timeout_seconds, cancellation) as client,
                client.stream(
                    "POST",
                    url,
                    content=content,
                    headers=_HEADERS,
                    auth=self._auth,
                    timeout=timeout,
                    extensions=extensions,
                ) as reply,
            ):
                body = self._read_body(reply)
        except httpx.TimeoutException as error:
            raise APIConnectionError(
                f"{self._vendor} did not answer within {timeout_seconds:.3g} s ({type(error).__name__})"
            ) from error
        # The bytes are decoded already: with this header httpx would decode them again.
        headers = [(name, value) for name, value in reply.headers.multi_items() if name != "content-encoding"]
        return httpx.Response(
            reply.status_code, headers=headers, content=body, extensions=reply.extensions, request=reply.request
        )

    def _read_body(self, reply: httpx.Response) -> bytes:
        """Read the body of a reply that streams, and decompress no more of it than may be kept."""
        if reply.is_stream_consumed:
            # It is that of a mock.
            return reply.content
        encoding = reply.headers.get("content-encoding", "").strip().lower()
        is_compressed = encoding in ("gzip", "x-gzip", "deflate")
        decompressor: Any = None
        received, body = 0, bytearray()
        for chunk in reply.iter_raw():
            received += len(chunk)
            if is_compressed:
                try:
                    decompressor = decompressor or _decompressor(encoding, chunk)
                    body += decompressor.decompress(chunk, MAX_REPLY_BYTES - len(body) + 1)
                except zlib.error as error:
                    raise httpx.DecodingError(str(error)) from error
            else:
                body += chunk
            if max(received, len(body)) > MAX_REPLY_BYTES:
                raise UnreadableReplyError(
                    f"{self._vendor} at {reply.request.url.host} answered with more than {MAX_REPLY_BYTES // 1024**2} "
                    "MiB, which is too long to be read; something other than the API may answer there",
                    status=reply.status_code,
                )
        return bytes(body)

    @contextmanager
    def in_flight(self) -> Iterator[Cancellation]:
        """Have a request in flight in this block, with all its tries; gives what cancels it."""
        cancellation = current_context().cancellation or Cancellation()
        with self._lock:
            self._in_flight.add(cancellation)
            if self._is_cancelled:
                cancellation.cancel()
        try:
            yield cancellation
        finally:
            with self._lock:
                self._in_flight.discard(cancellation)

    def cancel(self) -> None:
        """End the requests in flight in all threads, and refuse new ones until `close` is called."""
        with self._lock:
            self._is_cancelled = True
            for cancellation in self._in_flight:
                cancellation.cancel()

    def close(self) -> None:
        """Accept requests again after `cancel`; those in flight go on."""
        self._is_cancelled = False


def _decompressor(encoding: str, first: bytes) -> Any:
    """What decompresses gzip, or deflate: that is zlib's format, and for some servers raw deflate."""
    if encoding != "deflate":
        return zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        zlib.decompressobj().decompress(first, 1)
    except zlib.error:
        return zlib.decompressobj(-zlib.MAX_WBITS)
    return zlib.decompressobj()


class _Credentials(httpx.Auth):
    """Adds the key to a request at the last moment, so that no local variable of a traceback contains it."""

    def __init__(self, authorize: Callable[[httpx.Request], Mapping[str, str]]) -> None:
        self.authorize = authorize

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        request.headers.update(self.authorize(request))
        yield request

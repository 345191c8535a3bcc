"""The APIs whose clients can be led to the server by environment variables, and where their requests are meant to go.

A client sends to `http://127.0.0.1:PORT/openai/v1/...`, where `openai` is the name here, and what follows is the path
at the real API. Where each variable is read, in the versions of the SDKs of November 2026, stands beside it; "litellm"
is 1.109, "pydantic-ai" 2.68, "langchain-openai" 1.7, "langchain-anthropic" 1.7.

The official packages of Mistral (mistralai 3.7, @mistralai/mistralai 2.7), of xAI (xai-sdk 1.21), and Node's of Ollama
(0.6) and Cohere (8.1) read no URL from a variable: give these clients the URL `http://127.0.0.1:PORT/mistral` yourself.
botocore sends no AWS_BEARER_TOKEN_BEDROCK to a URL without TLS (`auth.py`), not even an empty one, so it has to sign.
Node's client of Bedrock speaks HTTP/2, which the server does not, unless it gets a `NodeHttpHandler`.
Node's AzureOpenAI (openai 6.49, `azure.js`) takes `OPENAI_BASE_URL` before `AZURE_OPENAI_ENDPOINT`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import punctuation
from types import MappingProxyType
from typing import Final, NamedTuple
from urllib.parse import quote

import httpx

# The variables of the region of an API that has several, and what captures show where none is set.
REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_DEFAULT_REGION: Final = "us-east-1"


class RedirectedAPI(NamedTuple):
    """An API, and the variables that point its clients to the server.

    Args:
        name: the first segment of the path on the server.
        base_url: the API's URL, with `{region}` where it has regions; `""` if each user has a URL of their own.
        urls: the path that the URL in each variable ends with, below the API's own. If one of them is set outside the
            server, its URL is the real API's.
        keys: the variables of the key. The first one is always set, unless there is an `offline`.
        offline: what is set in place of the keys where nothing is forwarded.
    """

    name: str
    base_url: str
    urls: Mapping[str, str]
    keys: tuple[str, ...]
    offline: Mapping[str, str] = MappingProxyType({})

    def find_base_url(self, environment: Mapping[str, str]) -> str:
        """The API's URL in the region that variables say; `""` if each user has a URL of their own."""
        region = next((environment[name] for name in REGIONS if environment.get(name)), _DEFAULT_REGION)
        return self.base_url.replace("{region}", region)


def _keyed(name: str, base_url: str, urls: Mapping[str, str]) -> RedirectedAPI:
    """An API with one key, in the variable `NAME_API_KEY`."""
    return RedirectedAPI(name, base_url, urls, (f"{name.upper()}_API_KEY",))


REDIRECTED_APIS: Final = (
    RedirectedAPI(
        "openai",
        "https://api.openai.com",
        # openai 3.54 `lib/_client_auth.py`, Node's 6.49 `client.js`, pydantic-ai; Codex is led by its configuration.
        # OPENAI_API_BASE: langchain-openai `chat_models/base.py` prefers it, litellm `main.py` has both.
        {"OPENAI_BASE_URL": "/v1", "OPENAI_API_BASE": "/v1"},
        ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"),
    ),
    RedirectedAPI(
        "azure",
        "",
        # openai 3.54 `lib/azure.py`, Node's 6.49 `azure.js`, pydantic-ai `providers/azure.py`; litellm: AZURE_API_BASE.
        {"AZURE_OPENAI_ENDPOINT": "", "AZURE_API_BASE": ""},
        ("AZURE_OPENAI_API_KEY", "AZURE_API_KEY", "AZURE_OPENAI_AD_TOKEN"),
    ),
    RedirectedAPI(
        "anthropic",
        "https://api.anthropic.com",
        # anthropic 2.12 `_client.py`, Node's 1.12 `client.js`. litellm `main.py` prefers ANTHROPIC_API_BASE,
        # langchain-anthropic `chat_models.py` ANTHROPIC_API_URL.
        {"ANTHROPIC_BASE_URL": "", "ANTHROPIC_API_BASE": "", "ANTHROPIC_API_URL": ""},
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    ),
    RedirectedAPI(
        "gemini",
        "https://generativelanguage.googleapis.com",
        # google-genai 3.4 `_base_url.py`, Node's 2.32 `dist/node/index.cjs`.
        # litellm `llms/vertex_ai/vertex_llm_base.py` appends `/models/...` to GEMINI_API_BASE.
        {"GOOGLE_GEMINI_BASE_URL": "", "GEMINI_API_BASE": "/v1beta"},
        ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_API_KEY"),
    ),
    RedirectedAPI(
        "bedrock",
        "https://bedrock-runtime.{region}.amazonaws.com",
        # All SDKs of AWS (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html), botocore 1.44;
        # anthropic 2.12 `lib/bedrock/_client.py`; litellm `llms/bedrock/common_utils.py`.
        {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "", "ANTHROPIC_BEDROCK_BASE_URL": "", "AWS_BEDROCK_RUNTIME_ENDPOINT": ""},
        ("AWS_BEARER_TOKEN_BEDROCK",),
        {
            "AWS_ACCESS_KEY_ID": "placeholder",
            "AWS_SECRET_ACCESS_KEY": "placeholder",
            "AWS_SESSION_TOKEN": "placeholder",
            **dict.fromkeys(REGIONS, _DEFAULT_REGION),
        },
    ),
    # ollama 0.6 `_client.py`; litellm `llms/ollama/common_utils.py`; pydantic-ai `providers/ollama.py`.
    _keyed("ollama", "http://127.0.0.1:11434", {"OLLAMA_HOST": "", "OLLAMA_API_BASE": "", "OLLAMA_BASE_URL": "/v1"}),
    RedirectedAPI(
        "cohere",
        "https://api.cohere.com",
        # cohere 7.3 `client_v2.py`; pydantic-ai `providers/cohere.py`; litellm `main.py`: the URL of the chat itself.
        {"CO_API_URL": "", "CO_BASE_URL": "", "COHERE_API_BASE": "/v2/chat"},
        ("CO_API_KEY", "COHERE_API_KEY"),
    ),
    # litellm `main.py`, `llms/mistral/chat/transformation.py`; for the official package see above.
    _keyed("mistral", "https://api.mistral.ai", {"MISTRAL_API_BASE": "/v1", "MISTRAL_AZURE_API_BASE": "/v1"}),
    # groq 1.7 `_client.py`, Node's 1.6 `client.js`, pydantic-ai `providers/groq.py`; litellm `main.py`.
    _keyed("groq", "https://api.groq.com", {"GROQ_BASE_URL": "", "GROQ_API_BASE": "/openai/v1"}),
    # together 3.1, cerebras-cloud-sdk 1.91, fireworks-ai 1.2: `_client.py` of each.
    _keyed("together", "https://api.together.ai", {"TOGETHER_BASE_URL": ""}),
    _keyed("cerebras", "https://api.cerebras.ai", {"CEREBRAS_BASE_URL": ""}),
    # litellm `llms/fireworks_ai/chat/transformation.py`: FIREWORKS_API_BASE.
    _keyed("fireworks", "https://api.fireworks.ai", {"FIREWORKS_BASE_URL": "", "FIREWORKS_API_BASE": "/inference/v1"}),
    # litellm `llms/deepseek/chat/transformation.py`, `main.py`, `llms/xai/chat/transformation.py`.
    _keyed("deepseek", "https://api.deepseek.com", {"DEEPSEEK_API_BASE": "/beta"}),
    _keyed("openrouter", "https://openrouter.ai", {"OPENROUTER_API_BASE": "/api/v1"}),
    _keyed("xai", "https://api.x.ai", {"XAI_API_BASE": "/v1"}),
)


# Whose value is a proxy; clients read either case
# (https://docs.python.org/3/library/urllib.request.html#urllib.request.getproxies, curl(1)).
PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
# Whose value is the hosts that are reached without one.
NO_PROXY: Final = ("NO_PROXY", "no_proxy")
_LOOPBACK: Final = ("127.0.0.1", "localhost")


def url_variables(server_url: str) -> dict[str, str]:
    """The variables with the URLs at which SDKs find the server."""
    return {
        variable: f"{server_url}/{api.name}{path}" for api in REDIRECTED_APIS for variable, path in api.urls.items()
    }


def seal_environ(environ: Mapping[str, str], server_url: str) -> dict[str, str]:
    """Make the server the proxy for all other hosts, which refuses these requests: so a program stays offline.

    That holds for clients that respect such variables, as most do; Node's own `fetch` does not.
    """
    return {**environ, **dict.fromkeys(PROXIES, server_url), **dict.fromkeys(NO_PROXY, ",".join(_LOOPBACK))}


def build_environ(
    server_url: str, placeholder: str, environment: Mapping[str, str], *, is_live: bool
) -> dict[str, str]:
    """All variables to set for a child process: URLs, placeholder keys, no proxies.

    Where requests are forwarded, it keeps its proxies, for what it does otherwise, and its credentials for AWS.
    """
    variables = url_variables(server_url)
    for api in REDIRECTED_APIS:
        # SDKs warn of two keys, and some prefer the other one: it is replaced only where it is set.
        needed = () if api.offline else api.keys[:1]
        variables |= {key: placeholder for key in api.keys if key in needed or environment.get(key)}
        variables |= {} if is_live else api.offline
    # Empty: variables can be set here, not removed. Every client takes an empty one for none.
    variables |= {} if is_live else {name: "" for name in PROXIES if name in environment}
    hosts = [host for name in NO_PROXY for host in environment.get(name, "").split(",") if host.strip()]
    return variables | dict.fromkeys(NO_PROXY, ",".join(dict.fromkeys((*_LOOPBACK, *hosts))))


_PATH: Final = re.compile(r"/([^/?]*)/?(.*)", re.DOTALL)


class Target(NamedTuple):
    """Where a request was meant to go: at which API and path, or, if its path names no API, on the server itself."""

    api: RedirectedAPI | None
    path: str
    url: httpx.URL


def find_target(target: str, server_url: str) -> Target:
    """Find out where a request was meant to go."""
    path = target.removeprefix(server_url)
    parts = _PATH.fullmatch(path)
    if parts is None:
        # A whole URL, as clients send to a proxy; or the `*` of OPTIONS.
        return Target(None, path, httpx.URL(path if "://" in path else server_url))
    name, path_there = parts[1], f"/{parts[2]}"
    api = next((each for each in REDIRECTED_APIS if each.name == name), None)
    if api is None:
        return Target(None, path, _join(server_url, path))
    # Every user has an endpoint of their own at Azure, and this is the one that is captured.
    return Target(api, path_there, _join(api.find_base_url({}) or f"https://{name}-openai.invalid", path_there))


def find_real_url(api: RedirectedAPI, path: str, environment: Mapping[str, str]) -> httpx.URL | None:
    """The URL to forward a request to; `None` if no variable says where this API is."""
    for variable, base_path in api.urls.items():
        url = environment.get(variable, "").strip().rstrip("/")
        if url:
            url = url if "://" in url else f"http://{url}"
            if path.startswith(base_path):
                return _join(url, path.removeprefix(base_path))
            if url.endswith(base_path):
                return _join(url.removesuffix(base_path), path)
    base_url = api.find_base_url(environment)
    return _join(base_url, path) if base_url else None


def _join(base_url: str, path: str) -> httpx.URL:
    """Join a base URL with a path and a query, which cannot change its host."""
    base = httpx.URL(base_url)
    # Clients such as curl send what they are given as it is.
    written = quote(path, safe=punctuation, encoding="latin-1")
    return base.copy_with(raw_path=base.raw_path.rstrip(b"/") + written.encode("ascii"))

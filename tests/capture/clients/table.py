"""The table of clients: how each of them is made and used.

Tests run every row in the environment that has the client; what a row lacks, the client does not have. The modules of
clients are imported when a client is made.
"""

from __future__ import annotations

import importlib
import json
import urllib.request
from typing import Any, Final

from tests.capture.clients.client import (
    ANTHROPIC,
    BEDROCK,
    COHERE,
    GEMINI,
    GEMINI_BETA,
    GROQ,
    MISTRAL,
    OLLAMA,
    OPENAI,
    PLAIN,
    Client,
)

KEY: Final = "a-key-of-tests"
_BEDROCK_MODEL: Final = "anthropic.claude-v2:1"
_BODY: Final = {"question": "Hello?"}
_MESSAGES: Final[Any] = [{"role": "user", "content": "Hello?"}]
_BEDROCK_MESSAGES: Final[Any] = [{"role": "user", "content": [{"text": "Hello?"}]}]


def _module(name: str) -> Any:
    return importlib.import_module(name)


def _openai_text(client: Any) -> str:
    return client.chat.completions.create(model="m", messages=_MESSAGES).choices[0].message.content or ""


def _openai_stream(client: Any) -> str:
    with client.chat.completions.create(model="m", messages=_MESSAGES, stream=True) as stream:
        return "".join([chunk.choices[0].delta.content or "" for chunk in stream])


async def _openai_text_async(client: Any) -> str:
    completion = await client.chat.completions.create(model="m", messages=_MESSAGES)
    return completion.choices[0].message.content or ""


async def _openai_stream_async(client: Any) -> str:
    async with await client.chat.completions.create(model="m", messages=_MESSAGES, stream=True) as stream:
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def _anthropic_text(client: Any) -> str:
    return str(client.messages.create(model="m", max_tokens=9, messages=_MESSAGES).to_dict()["content"][0]["text"])


def _anthropic_stream(client: Any) -> str:
    with client.messages.stream(model="m", max_tokens=9, messages=_MESSAGES) as stream:
        return "".join(stream.text_stream)


async def _anthropic_text_async(client: Any) -> str:
    message = await client.messages.create(model="m", max_tokens=9, messages=_MESSAGES)
    return str(message.to_dict()["content"][0]["text"])


async def _anthropic_stream_async(client: Any) -> str:
    async with client.messages.stream(model="m", max_tokens=9, messages=_MESSAGES) as stream:
        return "".join([text async for text in stream.text_stream])


def _gemini_client() -> Any:
    return _module("google.genai").Client(api_key=KEY, http_options={"api_version": "v1"})


def _gemini_text(client: Any) -> str:
    return client.models.generate_content(model="gemini-pro", contents="Hello?").text or ""


def _gemini_stream(client: Any) -> str:
    stream = client.models.generate_content_stream(model="gemini-pro", contents="Hello?")
    return "".join([chunk.text or "" for chunk in stream])


async def _gemini_text_async(client: Any) -> str:
    response = await client.aio.models.generate_content(model="gemini-pro", contents="Hello?")
    return response.text or ""


async def _gemini_stream_async(client: Any) -> str:
    stream = await client.aio.models.generate_content_stream(model="gemini-pro", contents="Hello?")
    return "".join([chunk.text or "" async for chunk in stream])


def _bedrock_client() -> Any:
    return _module("boto3").client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="a-key-id", aws_secret_access_key=KEY
    )


def _bedrock_text(client: Any) -> str:
    reply = client.converse(modelId=_BEDROCK_MODEL, messages=_BEDROCK_MESSAGES)
    return str(reply["output"]["message"]["content"][0]["text"])


def _bedrock_stream(client: Any) -> str:
    reply = client.converse_stream(modelId=_BEDROCK_MODEL, messages=_BEDROCK_MESSAGES)
    deltas = [event["contentBlockDelta"]["delta"]["text"] for event in reply["stream"] if "contentBlockDelta" in event]
    return "".join(deltas)


def _httpx_stream(client: Any) -> str:
    with client.stream("POST", PLAIN.stream_url, json=_BODY) as response:
        return "".join(response.iter_text())


async def _httpx_text_async(client: Any) -> str:
    return str((await client.post(PLAIN.url, json=_BODY)).json())


async def _httpx_stream_async(client: Any) -> str:
    async with client.stream("POST", PLAIN.stream_url, json=_BODY) as response:
        return "".join([text async for text in response.aiter_text()])


def _requests_stream(session: Any) -> str:
    with session.post(PLAIN.stream_url, json=_BODY, stream=True) as response:
        return "".join([part.decode() for part in response.iter_content(None)])


def _urllib3_stream(pool: Any) -> str:
    response = pool.request("POST", PLAIN.stream_url, json=_BODY, preload_content=False)
    return "".join([part.decode() for part in response.stream(2)])


def _urllib_request(url: str) -> str:
    request = urllib.request.Request(url, json.dumps(_BODY).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(response.read().decode())


async def _aiohttp_text(session: Any) -> str:
    async with session.post(PLAIN.url, json=_BODY) as response:
        return str(await response.json())


async def _aiohttp_stream(session: Any) -> str:
    async with session.post(PLAIN.stream_url, json=_BODY) as response:
        return "".join([part.decode() async for part in response.content.iter_any()])


def _nothing(_: Any) -> None:
    """There is nothing to close."""


def _mistral_client() -> Any:
    return _module("mistralai.client").Mistral(api_key=KEY)


def _mistral_text(client: Any) -> str:
    return str(client.chat.complete(model="m", messages=_MESSAGES).choices[0].message.content)


def _mistral_stream(client: Any) -> str:
    with client.chat.stream(model="m", messages=_MESSAGES) as stream:
        return "".join([event.data.choices[0].delta.content or "" for event in stream])


async def _mistral_text_async(client: Any) -> str:
    return str((await client.chat.complete_async(model="m", messages=_MESSAGES)).choices[0].message.content)


async def _mistral_stream_async(client: Any) -> str:
    async with await client.chat.stream_async(model="m", messages=_MESSAGES) as stream:
        return "".join([event.data.choices[0].delta.content or "" async for event in stream])


async def _mistral_close_async(client: Any) -> None:
    await client.__aexit__(None, None, None)


def _groq_client() -> Any:
    return _module("groq").Groq(api_key=KEY)


def _cohere_text(client: Any) -> str:
    return str(client.chat(model="m", messages=_MESSAGES).message.content[0].text)


def _cohere_part(event: Any) -> str:
    return str(event.delta.message.content.text) if event.type == "content-delta" else ""


def _cohere_stream(client: Any) -> str:
    return "".join([_cohere_part(event) for event in client.chat_stream(model="m", messages=_MESSAGES)])


async def _cohere_text_async(client: Any) -> str:
    return str((await client.chat(model="m", messages=_MESSAGES)).message.content[0].text)


async def _cohere_stream_async(client: Any) -> str:
    return "".join([_cohere_part(event) async for event in client.chat_stream(model="m", messages=_MESSAGES)])


def _ollama_text(client: Any) -> str:
    return str(client.chat(model="m", messages=_MESSAGES).message.content)


def _ollama_stream(client: Any) -> str:
    return "".join([part.message.content for part in client.chat(model="m", messages=_MESSAGES, stream=True)])


async def _ollama_text_async(client: Any) -> str:
    return str((await client.chat(model="m", messages=_MESSAGES)).message.content)


async def _ollama_stream_async(client: Any) -> str:
    stream = await client.chat(model="m", messages=_MESSAGES, stream=True)
    return "".join([part.message.content async for part in stream])


def _langchain_client() -> Any:
    return _module("langchain_openai").ChatOpenAI(model="m", api_key=KEY)


async def _langchain_text_async(client: Any) -> str:
    return str((await client.ainvoke("Hello?")).content)


async def _langchain_stream_async(client: Any) -> str:
    return "".join([str(chunk.content) async for chunk in client.astream("Hello?")])


def _pydantic_ai_agent(provider: str, model_class: str, provider_class: str, model: str) -> Any:
    """An agent with an own provider: the default ones share an HTTP client, which nobody closes."""
    own_provider = getattr(_module(f"pydantic_ai.providers.{provider}"), provider_class)(api_key=KEY)
    own_model = getattr(_module(f"pydantic_ai.models.{provider}"), model_class)(model, provider=own_provider)
    return _module("pydantic_ai").Agent(own_model)


def _pydantic_ai_openai() -> Any:
    return _pydantic_ai_agent("openai", "OpenAIChatModel", "OpenAIProvider", "m")


def _pydantic_ai_anthropic() -> Any:
    return _pydantic_ai_agent("anthropic", "AnthropicModel", "AnthropicProvider", "claude-m")


def _pydantic_ai_google() -> Any:
    return _pydantic_ai_agent("google", "GoogleModel", "GoogleProvider", "gemini-pro")


async def _pydantic_ai_text(agent: Any) -> str:
    return str((await agent.run("Hello?")).output)


async def _pydantic_ai_stream(agent: Any) -> str:
    async with agent.run_stream("Hello?") as result:
        return "".join([text async for text in result.stream_text(delta=True)])


async def _nothing_async(_: Any) -> None:
    """There is nothing to close."""


def _litellm_text(litellm: Any) -> str:
    return str(litellm.completion("openai/m", _MESSAGES, api_key=KEY).choices[0].message.content)


def _litellm_stream(litellm: Any) -> str:
    stream = litellm.completion("openai/m", _MESSAGES, api_key=KEY, stream=True)
    return "".join([chunk.choices[0].delta.content or "" for chunk in stream])


async def _litellm_text_async(litellm: Any) -> str:
    reply = await litellm.acompletion("openai/m", _MESSAGES, api_key=KEY)
    return str(reply.choices[0].message.content)


async def _litellm_stream_async(litellm: Any) -> str:
    stream = await litellm.acompletion("openai/m", _MESSAGES, api_key=KEY, stream=True)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def _litellm_anthropic_text(litellm: Any) -> str:
    return str(litellm.completion("anthropic/m", _MESSAGES, api_key=KEY, max_tokens=9).choices[0].message.content)


async def _litellm_anthropic_text_async(litellm: Any) -> str:
    reply = await litellm.acompletion("anthropic/m", _MESSAGES, api_key=KEY, max_tokens=9)
    return str(reply.choices[0].message.content)


def _instructor_text(client: Any) -> str:
    return str(
        client.chat.completions.create(model="m", messages=_MESSAGES, response_model=None).choices[0].message.content
    )


def _llama_index_client() -> Any:
    return _module("llama_index.llms.openai").OpenAI(model="gpt-4o", api_key=KEY)


def _llama_index_stream(client: Any) -> str:
    return "".join([part.delta or "" for part in client.stream_complete("Hello?")])


async def _llama_index_text_async(client: Any) -> str:
    return str((await client.acomplete("Hello?")).text)


CLIENTS: Final = (
    Client(
        "openai", "httpx2", OPENAI,
        lambda: _module("openai").OpenAI(api_key=KEY), _openai_text, _openai_stream,
        lambda: _module("openai").AsyncOpenAI(api_key=KEY), _openai_text_async, _openai_stream_async,
    ),
    Client(
        "anthropic", "httpx2", ANTHROPIC,
        lambda: _module("anthropic").Anthropic(api_key=KEY), _anthropic_text, _anthropic_stream,
        lambda: _module("anthropic").AsyncAnthropic(api_key=KEY), _anthropic_text_async, _anthropic_stream_async,
    ),
    Client(
        "google-genai", "httpx2", GEMINI,
        _gemini_client, _gemini_text, _gemini_stream,
        _gemini_client, _gemini_text_async, _gemini_stream_async,
        aclose=lambda client: client.aio.aclose(), async_library="aiohttp",
    ),
    Client("boto3", "urllib3", BEDROCK, _bedrock_client, _bedrock_text, _bedrock_stream),
    Client(
        "httpx", "httpx", PLAIN,
        lambda: _module("httpx").Client(), lambda client: str(client.post(PLAIN.url, json=_BODY).json()), _httpx_stream,
        lambda: _module("httpx").AsyncClient(), _httpx_text_async, _httpx_stream_async, aclose=lambda client: client.aclose(),
    ),
    Client(
        "httpx2", "httpx2", PLAIN,
        lambda: _module("httpx2").Client(), lambda client: str(client.post(PLAIN.url, json=_BODY).json()), _httpx_stream,
        lambda: _module("httpx2").AsyncClient(), _httpx_text_async, _httpx_stream_async, aclose=lambda client: client.aclose(),
    ),
    Client(
        "requests", "urllib3", PLAIN,
        lambda: _module("requests").Session(), lambda session: str(session.post(PLAIN.url, json=_BODY).json()), _requests_stream,
    ),
    Client(
        "urllib3", "urllib3", PLAIN,
        lambda: _module("urllib3").PoolManager(), lambda pool: str(pool.request("POST", PLAIN.url, json=_BODY).json()), _urllib3_stream,
        close=lambda pool: pool.clear(),
    ),
    Client(
        "urllib.request", "http.client", PLAIN,
        lambda: None, lambda _: str(json.loads(_urllib_request(PLAIN.url))), lambda _: _urllib_request(PLAIN.stream_url),
        close=_nothing,
    ),
    Client(
        "aiohttp", "aiohttp", PLAIN,
        make_async=lambda: _module("aiohttp").ClientSession(), send_async=_aiohttp_text, stream_async=_aiohttp_stream,
    ),
    Client(
        "mistralai", "httpx2", MISTRAL,
        _mistral_client, _mistral_text, _mistral_stream,
        _mistral_client, _mistral_text_async, _mistral_stream_async,
        close=lambda client: client.__exit__(None, None, None), aclose=_mistral_close_async, tested_in="current",
    ),
    Client(
        "groq", "httpx", GROQ,
        _groq_client, _openai_text, _openai_stream,
        lambda: _module("groq").AsyncGroq(api_key=KEY), _openai_text_async, _openai_stream_async, tested_in="current",
    ),
    Client(
        "cohere", "httpx", COHERE,
        lambda: _module("cohere").ClientV2(KEY), _cohere_text, _cohere_stream,
        lambda: _module("cohere").AsyncClientV2(KEY), _cohere_text_async, _cohere_stream_async,
        close=_nothing, aclose=_nothing_async, tested_in="current",
    ),
    Client(
        "ollama", "httpx", OLLAMA,
        lambda: _module("ollama").Client(), _ollama_text, _ollama_stream,
        lambda: _module("ollama").AsyncClient(), _ollama_text_async, _ollama_stream_async,
        close=lambda client: client._client.close(), aclose=lambda client: client._client.aclose(), tested_in="current",
    ),
    Client(
        "langchain-openai", "httpx2", OPENAI,
        _langchain_client, lambda client: str(client.invoke("Hello?").content),
        lambda client: "".join([str(chunk.content) for chunk in client.stream("Hello?")]),
        _langchain_client, _langchain_text_async, _langchain_stream_async,
        close=_nothing, aclose=_nothing_async, tested_in="current",
    ),
    Client(
        "pydantic-ai with openai", "httpx2", OPENAI,
        make_async=_pydantic_ai_openai, send_async=_pydantic_ai_text, stream_async=_pydantic_ai_stream,
        aclose=_nothing_async, tested_in="current",
    ),
    Client(
        "pydantic-ai with anthropic", "httpx2", ANTHROPIC,
        make_async=_pydantic_ai_anthropic, send_async=_pydantic_ai_text, stream_async=_pydantic_ai_stream,
        aclose=_nothing_async, tested_in="current",
    ),
    Client(
        "pydantic-ai with google", "httpx2", GEMINI_BETA,
        make_async=_pydantic_ai_google, send_async=_pydantic_ai_text, stream_async=_pydantic_ai_stream,
        aclose=_nothing_async, tested_in="current",
    ),
    Client(
        "litellm with openai", "httpx", OPENAI,
        lambda: _module("litellm"), _litellm_text, _litellm_stream,
        lambda: _module("litellm"), _litellm_text_async, _litellm_stream_async,
        close=_nothing, aclose=_nothing_async, async_library="aiohttp", tested_in="older",
    ),
    Client(
        "litellm with anthropic", "httpx", ANTHROPIC,
        lambda: _module("litellm"), _litellm_anthropic_text, None,
        lambda: _module("litellm"), _litellm_anthropic_text_async, None,
        close=_nothing, aclose=_nothing_async, async_library="aiohttp", tested_in="older",
    ),
    Client(
        "instructor", "httpx", OPENAI,
        lambda: _module("instructor").from_openai(_module("openai").OpenAI(api_key=KEY)), _instructor_text,
        close=lambda client: client.client.close(), tested_in="older",
    ),
    Client(
        "llama-index", "httpx", OPENAI,
        _llama_index_client, lambda client: str(client.complete("Hello?").text), _llama_index_stream,
        _llama_index_client, _llama_index_text_async, None,
        close=_nothing, aclose=_nothing_async, tested_in="older",
    ),
)  # fmt: skip

"""The replies of every API as other clients read them: SDKs of vendors, and libraries on top of them.

`make test` does not collect this folder: these clients need an environment of their own.
"""

from __future__ import annotations

import asyncio
from typing import Any

import cohere
import ollama
import pydantic
import pytest
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from mistralai.client import Mistral
from mistralai.client.errors import HTTPValidationError, SDKError
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from pytest_chatprompt.apis.reply import Reply
from tests.clients.replying_server import Server, collect_what_clients_leave, server

__all__ = ["collect_what_clients_leave", "server"]
pytestmark = pytest.mark.filterwarnings("ignore")
MESSAGES: list[Any] = [{"role": "user", "content": "Hello"}]
CITY = {"type": "object", "properties": {"city": {"type": "string", "enum": ["Paris"]}}, "required": ["city"]}
WEATHER: Any = {"type": "function", "function": {"name": "get_weather", "description": "It", "parameters": CITY}}
CALL: Any = [{"name": "get_weather", "arguments": {"city": "Zürich"}}]
USED: Any = {"input_tokens": 3, "output_tokens": 5}


class Verdict(pydantic.BaseModel):
    stars: int = pydantic.Field(ge=4)
    words: list[str]


def mistral(server: Server) -> Mistral:
    server.host = "api.mistral.ai"
    return Mistral(api_key="k", server_url=server.url)


def test_mistralai(server: Server) -> None:
    api = mistral(server)
    server.replies = [Reply("Hello, you", tool_calls=CALL, usage=USED)] * 2
    whole = api.chat.complete(model="mistral-large", messages=MESSAGES)
    message = whole.choices[0].message
    assert (message.content, whole.choices[0].finish_reason, whole.usage.total_tokens) == (
        "Hello, you",
        "tool_calls",
        8,
    )
    assert message.tool_calls[0].function.arguments == '{"city": "Zürich"}'
    chunks = [event.data for event in api.chat.stream(model="mistral-large", messages=MESSAGES)]
    assert "".join(chunk.choices[0].delta.content for chunk in chunks) == "Hello, you"
    assert chunks[-1].choices[0].delta.tool_calls[0].function.arguments == '{"city": "Zürich"}'
    assert chunks[-1].usage.total_tokens == 8
    assert api.chat.parse(Verdict, model="m", messages=MESSAGES).choices[0].message.parsed == Verdict(stars=4, words=[])
    forced = api.chat.complete(model="m", messages=MESSAGES, tools=[WEATHER], tool_choice="any")
    assert forced.choices[0].message.tool_calls[0].function.arguments == '{"city": "Paris"}'
    assert len(api.embeddings.create(model="mistral-embed", inputs=["a"]).data[0].embedding) == 1024


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503, 529])
def test_mistralai_raises_its_own_error(server: Server, status: int) -> None:
    api = mistral(server)
    server.replies = [Reply(error=status)]
    with pytest.raises(HTTPValidationError if status == 422 else SDKError) as raised:
        api.chat.complete(model="m", messages=MESSAGES)
    assert raised.value.status_code == status
    assert "(queued by the test)" in str(raised.value.body)


def test_ollama(server: Server) -> None:
    api = ollama.Client(host=server.url)
    server.replies = [Reply("Hello, you", tool_calls=CALL, usage=USED)] * 2
    whole = api.chat(model="llama", messages=MESSAGES)
    assert (whole.message.content, whole.prompt_eval_count, whole.eval_count) == ("Hello, you", 3, 5)
    assert whole.message.tool_calls[0].function.arguments == {"city": "Zürich"}
    chunks = list(api.chat(model="llama", messages=MESSAGES, stream=True))
    assert "".join(chunk.message.content for chunk in chunks) == "Hello, you"
    assert [chunk.message.tool_calls[0].function.name for chunk in chunks if chunk.message.tool_calls] == [
        "get_weather"
    ]
    assert (chunks[-1].done, chunks[-1].eval_count) == (True, 5)
    text = api.chat(model="llama", messages=MESSAGES, format=Verdict.model_json_schema()).message.content
    assert Verdict.model_validate_json(text) == Verdict(stars=4, words=[])
    assert api.generate(model="llama", prompt="Hello").response == "(offline)"
    assert "".join(chunk.response for chunk in api.generate(model="llama", prompt="a", stream=True)) == "(offline)"
    for status in (400, 404, 429, 500, 503):
        server.replies = [Reply(error=status)]
        with pytest.raises(ollama.ResponseError) as raised:
            api.chat(model="llama", messages=MESSAGES)
        assert raised.value.status_code == status


def test_cohere(server: Server) -> None:
    api = cohere.ClientV2(api_key="k", base_url=server.url)
    server.replies = [Reply("Hello, you", usage=USED), Reply("I look", tool_calls=CALL, usage=USED)] * 2
    whole = api.chat(model="command", messages=MESSAGES)
    assert (whole.message.content[0].text, whole.finish_reason) == ("Hello, you", "COMPLETE")
    assert (whole.usage.tokens.input_tokens, whole.usage.tokens.output_tokens) == (3, 5)
    called = api.chat(model="command", messages=MESSAGES)
    assert (called.message.tool_plan, called.message.tool_calls[0].function.name) == ("I look", "get_weather")
    events = list(api.chat_stream(model="command", messages=MESSAGES))
    text = "".join(event.delta.message.content.text for event in events if event.type == "content-delta")
    assert (text, events[-1].delta.usage.tokens.output_tokens) == ("Hello, you", 5)
    events = list(api.chat_stream(model="command", messages=MESSAGES))
    deltas = [event.delta.message.tool_calls.function.arguments for event in events if event.type == "tool-call-delta"]
    assert "".join(deltas) == '{"city": "Zürich"}'
    schema = cohere.JsonObjectResponseFormatV2(json_schema=Verdict.model_json_schema())
    text = api.chat(model="command", messages=MESSAGES, response_format=schema).message.content[0].text
    assert Verdict.model_validate_json(text) == Verdict(stars=4, words=[])
    forced = api.chat(model="command", messages=MESSAGES, tools=[WEATHER], tool_choice="REQUIRED")
    assert forced.message.tool_calls[0].function.arguments == '{"city": "Paris"}'


@pytest.mark.parametrize("status", [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 503, 529])
def test_cohere_raises_its_own_error(server: Server, status: int) -> None:
    api = cohere.ClientV2(api_key="k", base_url=server.url, max_retries=0)
    server.replies = [Reply(error=status)]
    with pytest.raises(cohere.core.ApiError) as raised:
        api.chat(model="command", messages=MESSAGES)
    assert raised.value.status_code == status
    assert "(queued by the test)" in str(raised.value.body)


def test_langchain_openai(server: Server) -> None:
    model = ChatOpenAI(model="gpt-5.5", api_key="k", base_url=f"{server.url}/v1")
    server.replies = [Reply("Hello, you", usage=USED), Reply("Hello, you")]
    answer = model.invoke("Hello")
    assert (answer.content, answer.usage_metadata["total_tokens"]) == ("Hello, you", 8)
    assert "".join(str(chunk.content) for chunk in model.stream("Hello")) == "Hello, you"
    assert model.with_structured_output(Verdict).invoke("Hello") == Verdict(stars=4, words=[])
    forced = model.bind_tools([WEATHER], tool_choice="get_weather").invoke("Hello")
    assert forced.tool_calls[0]["args"] == {"city": "Paris"}
    embeddings = OpenAIEmbeddings(api_key="k", base_url=f"{server.url}/v1", check_embedding_ctx_length=False)
    assert len(embeddings.embed_query("Hello")) == 1536


def pydantic_ai_models(server: Server) -> dict[str, Any]:
    of_openai = OpenAIProvider(api_key="k", base_url=f"{server.url}/v1")
    return {
        "chat": OpenAIChatModel("gpt-5.5", provider=of_openai),
        "responses": OpenAIResponsesModel("gpt-5.5", provider=of_openai),
        "anthropic": AnthropicModel("claude", provider=AnthropicProvider(api_key="k", base_url=server.url)),
        "google": GoogleModel("gemini-x", provider=GoogleProvider(api_key="k", base_url=server.url)),
    }


@pytest.mark.parametrize("name", ["chat", "responses", "anthropic", "google"])
def test_pydantic_ai(server: Server, name: str) -> None:
    model = pydantic_ai_models(server)[name]
    server.replies = [Reply("Hello, you", usage=USED)]
    answer = Agent(model).run_sync("Hello")
    assert answer.output == "Hello, you"
    assert Agent(model, output_type=Verdict).run_sync("Hello").output == Verdict(stars=4, words=[])
    server.replies = [Reply(json={"stars": 5, "words": ["good"]})]
    assert Agent(model, output_type=Verdict).run_sync("Hello").output.stars == 5

    def get_weather(city: str) -> str:
        """The weather of a city."""
        return f"rain in {city}"

    server.replies = [Reply(tool_calls=[{"name": "get_weather", "arguments": {"city": "Rome"}}]), Reply("It rains")]
    loop = Agent(model, tools=[get_weather]).run_sync("Hello")
    assert loop.output == "It rains"
    assert "rain in Rome" in str(loop.all_messages())

    async def stream() -> str:
        server.replies = [Reply("Hello, you")]
        async with Agent(model).run_stream("Hello") as result:
            return str(await result.get_output())

    assert asyncio.run(stream()) == "Hello, you"

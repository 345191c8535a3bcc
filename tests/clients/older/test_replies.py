"""The replies of every API as other clients read them: those that want older versions of others.

`make test` does not collect this folder: these clients need an environment of their own.
"""

from __future__ import annotations

import asyncio
from typing import Any

import instructor
import litellm
import openai
import pydantic
import pytest

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


LITELLM = [
    ("openai/gpt-5.5", "/v1"),
    ("anthropic/claude-sonnet-5-5", ""),
    ("gemini/gemini-3.8-flash", ""),
    ("mistral/mistral-large-latest", "/v1"),
    ("ollama_chat/llama", ""),
    ("cohere_chat/command-a", "/v2/chat"),
]


@pytest.mark.parametrize(("model", "path"), LITELLM)
def test_litellm(server: Server, model: str, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    server.host = "api.mistral.ai" if model.startswith("mistral") else "localhost"
    base = {"api_key": "k", "api_base": f"{server.url}{path}"}
    if model.startswith("gemini"):
        base["api_base"] = f"{server.url}/v1beta/models/gemini-3.8-flash"
    server.replies = [Reply("Hello, you", usage=USED)] * 3
    whole = litellm.completion(model=model, messages=MESSAGES, **base)
    assert whole.choices[0].message.content == "Hello, you"
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (3, 5)
    if not model.startswith("cohere"):
        # litellm 1.106 reads each line of Cohere's events as JSON, `event: ...` and `data: ...` alike, and fails.
        chunks = list(litellm.completion(model=model, messages=MESSAGES, stream=True, **base))
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello, you"
    answer = asyncio.run(litellm.acompletion(model=model, messages=MESSAGES, **base))
    assert answer.choices[0].message.content == "Hello, you"


def test_instructor_gets_the_tool_call_that_it_forces(server: Server) -> None:
    api = instructor.from_openai(openai.OpenAI(api_key="k", base_url=f"{server.url}/v1"))
    verdict = api.chat.completions.create(model="m", messages=MESSAGES, response_model=Verdict)
    assert verdict.model_dump() == {"stars": 4, "words": []}
    server.replies = [Reply(json={"stars": 5, "words": ["good"]})]
    assert api.chat.completions.create(model="m", messages=MESSAGES, response_model=Verdict).stars == 5

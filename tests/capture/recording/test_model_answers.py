"""What models answered, read from the replies to whatever client: whole and streamed, of each API."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import httpx
import pytest

from pytest_chatprompt.apis.model_api import ChatAPI
from pytest_chatprompt.apis.openai import OpenAIProvider
from pytest_chatprompt.apis.reply import Reply
from pytest_chatprompt.apis.table import API_NAMES, get_api
from pytest_chatprompt.capture.clients.interceptor import run_now
from pytest_chatprompt.capture.recording.model_answers import ModelAnswer, model_answers, summed
from pytest_chatprompt.capture.recording.open_recording import OpenRecording, replay_or_send
from pytest_chatprompt.providers.http.client import PROVIDER_EXTENSION
from pytest_chatprompt.providers.response import ProviderResponse, TokenUsage

CHAT_APIS = [name for name in API_NAMES if isinstance(get_api(name), ChatAPI)]
# A URL of each, whole and streamed.
URLS = {
    "azure-chat": ("https://a.openai.azure.com/openai/deployments/gpt-5-mini/chat/completions",) * 2,
    "mistral": ("https://api.mistral.ai/v1/chat/completions",) * 2,
    "openai-chat": ("https://api.openai.com/v1/chat/completions",) * 2,
    "openai-responses": ("https://api.openai.com/v1/responses",) * 2,
    "anthropic": ("https://api.anthropic.com/v1/messages",) * 2,
    "gemini": (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:generateContent",
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
    ),
    "bedrock": (
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova-lite-v1:0/converse",
        "https://bedrock-runtime.eu-west-1.amazonaws.com/model/amazon.nova-lite-v1:0/converse-stream",
    ),
    "ollama-chat": ("http://a.example:11434/api/chat",) * 2,
    "ollama-generate": ("http://a.example:11434/api/generate",) * 2,
    "cohere": ("https://api.cohere.com/v2/chat",) * 2,
}
BODY = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hi"}]}
USAGE = {"input_tokens": 1000, "output_tokens": 200}
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


def post(url: str, body: Any = BODY) -> httpx.Request:
    return httpx.Request("POST", url, json=body)


def answers_to(*exchanges: tuple[httpx.Request, httpx.Response]) -> list[ModelAnswer]:
    recording = OpenRecording(sends=True)
    for request, response in exchanges:
        run_now(replay_or_send(recording, request, partial(_give, response))).read()
    return model_answers(recording)


def _give(response: httpx.Response, _: httpx.Request) -> httpx.Response:
    return response


def answer_to(request: httpx.Request, response: httpx.Response) -> ProviderResponse | None:
    ((answer, is_replayed),) = answers_to((request, response))
    assert not is_replayed
    return answer


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", CHAT_APIS)
def test_the_text_the_tokens_and_the_latency_of_each_api_are_read(name: str, is_streamed: bool) -> None:
    request = post(URLS[name][is_streamed], {**BODY, **(STREAMED if is_streamed else {"stream": False})})
    response = get_api(name).answer(request, Reply("A real answer, at last.", (), None, USAGE))
    answer = answer_to(request, response)
    assert answer is not None
    assert answer.text == "A real answer, at last."
    assert (answer.usage.input_tokens, answer.usage.output_tokens) == (1000, 200)
    assert answer.latency_seconds is not None
    assert answer.finish_reason


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", [name for name in CHAT_APIS if name != "ollama-generate"])
def test_the_calls_of_each_api_are_read(name: str, is_streamed: bool) -> None:
    request = post(URLS[name][is_streamed], {**BODY, **(STREAMED if is_streamed else {"stream": False})})
    calls: list[dict[str, Any]] = [{"name": "get_weather", "arguments": {"city": "Rome"}}, {"name": "get_time"}]
    answer = answer_to(request, get_api(name).answer(request, Reply(None, calls)))
    assert answer is not None
    assert [(call.function.name, call.function.arguments.replace(" ", "")) for call in answer.tool_calls] == [
        ("get_weather", '{"city":"Rome"}'),
        ("get_time", "{}"),
    ]


def test_the_plan_for_calls_is_the_text_of_coheres_answer() -> None:
    request = post(URLS["cohere"][1], {**BODY, **STREAMED})
    plan = Reply("I look it up.", [{"name": "get_time"}])
    answer = answer_to(request, get_api("cohere").answer(request, plan))
    assert answer is not None
    assert answer.text == "I look it up."


def test_of_several_candidates_the_first_counts() -> None:
    request = post(URLS["gemini"][1], {"generationConfig": {"candidateCount": 2}, "contents": []})
    answer = answer_to(request, get_api("gemini").answer(request, Reply("so")))
    assert answer is not None
    assert answer.text == "so"


def test_a_call_of_a_custom_tool_is_no_function_call() -> None:
    tools = [{"type": "custom", "custom": {"name": "get_weather"}}]
    request = post(URLS["openai-chat"][1], {**BODY, **STREAMED, "tools": tools})
    calls = [{"name": "get_weather", "arguments": {"input": "Rome"}}]
    answer = answer_to(request, get_api("openai-chat").answer(request, Reply(None, calls)))
    assert answer is not None
    assert answer.tool_calls == ()


def test_a_reply_that_a_provider_declares_has_only_usage() -> None:
    class Gateway(OpenAIProvider):
        offline_path = "/ask$"
        offline_reply: ClassVar[dict[str, Any]] = {"answer": "so"}

    request = post("https://gateway.example/ask")
    request.extensions[PROVIDER_EXTENSION] = Gateway
    answer = answer_to(request, httpx.Response(200, json={"answer": "so", "usage": {"prompt_tokens": 3}}))
    assert answer is not None
    assert (answer.text, answer.usage.input_tokens) == ("", 3)


def test_what_gemini_streams_as_one_array_is_read() -> None:
    request = post(URLS["gemini"][1].partition("?")[0])
    answer = answer_to(request, get_api("gemini").answer(request, Reply("A real answer.")))
    assert answer is not None
    assert answer.text == "A real answer."


def test_a_stream_without_usage_has_none() -> None:
    request = post(URLS["openai-chat"][0], {**BODY, "stream": True})
    answer = answer_to(request, get_api("openai-chat").answer(request, Reply("so")))
    assert answer is not None
    assert (answer.text, answer.usage, answer.cost_usd) == ("so", TokenUsage(), None)


def test_further_choices_and_thoughts_are_no_part_of_the_answer() -> None:
    request = post(URLS["openai-chat"][0], {**BODY, "stream": True, "n": 2})
    answer = answer_to(request, get_api("openai-chat").answer(request, Reply("so")))
    assert answer is not None
    assert answer.text == "so"
    thinking = [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 5, "output_tokens": 0}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm."}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "so"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    ]
    anthropic: Any = get_api("anthropic")
    joined = anthropic.join_stream(thinking)
    assert [block["text"] for block in joined["content"] if block["type"] == "text"] == ["so"]
    assert joined["usage"] == {"input_tokens": 5, "output_tokens": 3}
    reasoning = [
        {"contentBlockDelta": {"delta": {"reasoningContent": {"text": "Hm."}}, "contentBlockIndex": 0}},
        {"contentBlockDelta": {"delta": {"text": "so"}, "contentBlockIndex": 1}},
        {"contentBlockStop": {"contentBlockIndex": 1}},
    ]
    bedrock: Any = get_api("bedrock")
    joined = bedrock.join_stream(reasoning)
    assert joined["output"]["message"]["content"] == [{"text": "so"}]


def test_chunks_of_other_servers_are_read() -> None:
    def chunk(index: int, delta: dict[str, Any], **more: Any) -> dict[str, Any]:
        return {"model": "m", "choices": [{"index": index, "delta": delta, **more}]}

    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chunks = [
        chunk(1, {"role": "assistant", "content": "no"}),
        chunk(0, {"role": "assistant", "content": "s"}, logprobs={"content": [{"token": "s", "bytes": [115]}]}),
        # Not all repeat the fields that they have none of, and not all number their calls.
        chunk(0, {"content": "o"}, logprobs={"content": [{"token": "o", "bytes": [111]}]}),
        chunk(0, {"content": None, "tool_calls": [call]}, finish_reason="tool_calls"),
        {"model": "m", "choices": [], "usage": {"prompt_tokens": 3}},
    ]
    openai: Any = get_api("openai-chat")
    response = OpenAIProvider().read_reply(openai.join_stream(chunks))
    assert (response.text, response.finish_reason, response.usage.input_tokens) == ("so", "tool_calls", 3)
    assert [call.function.name for call in response.tool_calls] == ["f"]


def test_an_answer_has_what_its_tokens_cost() -> None:
    request = post(URLS["openai-chat"][0])
    answer = answer_to(request, get_api("openai-chat").answer(request, Reply("so", usage=USAGE)))
    assert answer is not None
    # $0.25 and $2 for a million.
    assert answer.cost_usd == pytest.approx(0.00065)


def test_embeddings_cost_their_input() -> None:
    request = post("https://api.openai.com/v1/embeddings", {"model": "text-embedding-3-small", "input": "a"})
    reply = {"data": [{"embedding": [0.1]}], "model": "text-embedding-3-small", "usage": {"prompt_tokens": 1000}}
    answer = answer_to(request, httpx.Response(200, json=reply))
    assert answer is not None
    assert (answer.text, answer.usage.output_tokens) == ("", 0)
    assert answer.cost_usd == pytest.approx(0.00002)


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(httpx.Response(200, json={"usage": {"prompt_tokens": 3}}), id="another shape"),
        pytest.param(
            httpx.Response(200, content=b'data: {"usage": {"prompt_tokens": 3}}\n\n', headers={"content-type": "text/event-stream"}),
            id="a stream without chunks",
        ),
    ],
)  # fmt: skip
def test_of_a_reply_of_another_shape_only_the_usage_is_read(response: httpx.Response) -> None:
    answer = answer_to(post(URLS["openai-chat"][0]), response)
    assert answer is not None
    assert (answer.text, answer.usage.input_tokens) == ("", 3)


def test_text_that_is_no_json_is_no_answer() -> None:
    answer = answer_to(post(URLS["openai-chat"][0]), httpx.Response(200, text="<html>"))
    assert answer is not None
    assert (answer.text, answer.usage) == ("", TokenUsage())


def test_an_error_is_a_request_without_an_answer_and_other_hosts_are_not_models() -> None:
    answers = answers_to(
        (post(URLS["openai-chat"][0]), httpx.Response(400, json={"error": {"message": "no"}})),
        (post("https://files.example/upload"), httpx.Response(200, json={})),
    )
    assert answers == [ModelAnswer(None, False)]


def test_a_sum_of_costs_is_the_same_in_each_version_of_python() -> None:
    # 0.6 in Python 3.12 and newer, 0.6000000000000001 before.
    assert summed([0.1, 0.2, 0.3]) == 0.6
    assert summed([1, 2]) == 3
    assert summed([0.1, None]) is None

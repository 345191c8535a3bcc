"""Parity of what an eval file says as the vendors say it: each provider sends what the vendor's SDK sends for the same.

Both send to a local server: the SDK its own way, the provider what is made of the eval file.
"""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    ChatProvider,
    GeminiProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    OpenRouterProvider,
)
from tests.apis.test_parity import anthropic_base64, received_request
from tests.apis.test_parity_bedrock import converse
from tests.conftest import Project
from tests.media import PDF, PNG, data_url
from tests.replies import plain_reply
from tests.server import Server

CALL = "{role: assistant, content: null, tool_calls: [{id: call_1, function: {name: find, arguments: '{}'}}]}"
DOCX = b"PK\x03\x04" + bytes(20)


def sent(project: Project, provider: ChatProvider, server: Server, body: str) -> tuple[str, Any]:
    """What a provider sends for a case of an eval file."""
    for name, content in {"a.png": PNG, "a.pdf": PDF, "a.docx": DOCX, "a.csv": b"a,b\n1,2\n"}.items():
        (project.root / name).write_bytes(content)
    provider.send(project.request("metadata: {systemPrompt: ''}\n" + body))
    provider.close()
    return received_request(server)


ANTHROPIC = """
tools:
  - {type: function, name: find}
  - {type: raw, anthropic: {type: web_search_20250305, name: web_search, max_uses: 2}}
input_messages:
  - {role: system, content: [{type: text, value: Be kind., cache_control: {type: ephemeral, ttl: 1h}}]}
  - role: user
    content:
      - {type: image, value: /a.png, cache_control: {type: ephemeral}}
      - {type: text, value: Look., cache_control: {type: ephemeral}}
      - {type: text, value: Go.}
  - role: assistant
    content: [{type: raw, anthropic: {type: thinking, thinking: Hm., signature: s}}]
    tool_calls: [{id: call_1, function: {name: find, arguments: '{}'}}]
  - {role: tool, tool_call_id: call_1, is_error: true, content: {reason: gone}}
  - {type: raw, anthropic: {role: assistant, content: [{type: redacted_thinking, data: x}]}}
  - {role: user, content: And now?}
"""


def test_anthropic_sends_what_its_sdk_sends(project: Project, server: Server) -> None:
    server.reply_with(plain_reply("anthropic"))
    image: Any = anthropic_base64("image", "image/png", PNG)
    thinking: Any = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
    messages: Any = [
        {
            "role": "user",
            "content": [
                {**image, "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "Look.", "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "Go."},
            ],
        },
        {
            "role": "assistant",
            "content": [thinking, {"type": "tool_use", "id": "call_1", "name": "find", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "call_1",
                    "content": '{\n  "reason": "gone"\n}',
                    "is_error": True,
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]},
        {"role": "user", "content": "And now?"},
    ]
    with anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client:
        client.messages.create(
            model="m",
            max_tokens=4096,
            system=[{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
            messages=messages,
            tools=[
                {"name": "find", "input_schema": {"type": "object", "properties": {}}},
                {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
            ],
        )
    theirs = received_request(server)
    assert sent(project, AnthropicProvider(model="m", base_url=server.url, api_key="k"), server, ANTHROPIC) == theirs


OPENAI = f"""
input_messages:
  - {{role: developer, content: Be kind.}}
  - {{role: user, content: [{{type: image, value: /a.png, detail: low}}, {{type: text, value: Look.}}]}}
  - {CALL}
  - {{role: tool, tool_call_id: call_1, content: {{celsius: 21}}}}
  - {{role: developer, content: Be short.}}
  - {{type: raw, NAME: {{role: user, content: And now?, name: ada}}}}
"""


@pytest.mark.parametrize("name", ["openai", "azure", "openrouter"])
def test_openai_sends_what_its_sdk_sends(project: Project, server: Server, name: str) -> None:
    server.reply_with(plain_reply("openai-chat"))
    path = "/openai/v1" if name == "azure" else "/v1"
    function: Any = {"name": "find", "arguments": "{}"}
    with openai.OpenAI(api_key="k", base_url=f"{server.url}{path}", max_retries=0) as client:
        client.chat.completions.create(
            model="m",
            messages=[
                {"role": "developer", "content": "Be kind."},
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": data_url(PNG), "detail": "low"}},
                        {"type": "text", "text": "Look."},
                    ],
                },
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
                },
                {"role": "tool", "tool_call_id": "call_1", "content": '{\n  "celsius": 21\n}'},
                {"role": "developer", "content": "Be short."},
                {"role": "user", "content": "And now?", "name": "ada"},
            ],
        )
    theirs = received_request(server)
    ours = {
        "openai": OpenAIProvider(model="m", base_url=f"{server.url}/v1", api_key="k"),
        "azure": AzureProvider(deployment="m", endpoint=server.url, api_version=None, api_key="k"),
        "openrouter": OpenRouterProvider(model="m", base_url=f"{server.url}/v1", api_key="k"),
    }
    assert sent(project, ours[name], server, OPENAI.replace("NAME", name)) == theirs


RESPONSES = f"""
tools:
  - {{type: raw, openai_responses: {{type: file_search, vector_store_ids: [v]}}}}
  - {{type: raw, openai_responses: {{type: code_interpreter, container: {{type: auto}}}}}}
input_messages:
  - {{role: developer, content: Be kind.}}
  - role: user
    content: [{{type: image, value: /a.png, detail: original}}, {{type: document, value: /a.pdf, detail: low}}]
  - {{type: raw, openai_responses: {{type: reasoning, id: rs_1, summary: [], encrypted_content: x}}}}
  - {CALL}
  - {{role: tool, tool_call_id: call_1, content: [{{type: image, value: /a.png}}]}}
"""


def test_responses_sends_what_its_sdk_sends(project: Project, server: Server) -> None:
    server.reply_with(plain_reply("openai-responses"))
    image = {"type": "input_image", "image_url": data_url(PNG)}
    document = {"type": "input_file", "filename": "a.pdf", "file_data": data_url(PDF, "application/pdf")}
    turns: Any = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{**image, "detail": "original"}, {**document, "detail": "low"}]},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "function_call", "call_id": "call_1", "name": "find", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_1", "output": [image]},
    ]
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        client.responses.create(
            model="m",
            input=turns,
            tools=[
                {"type": "file_search", "vector_store_ids": ["v"]},
                {"type": "code_interpreter", "container": {"type": "auto"}},
            ],
        )
    theirs = received_request(server)
    ours = OpenAIResponsesProvider(model="m", base_url=f"{server.url}/v1", api_key="k")
    assert sent(project, ours, server, RESPONSES) == theirs


GEMINI = """
tools:
  - {type: raw, gemini: {googleSearch: {}}}
  - {type: function, name: find}
input_messages:
  - {role: user, content: hello}
  - role: assistant
    content:
      - {type: raw, gemini: {functionCall: {id: call_1, name: find, args: {}}, thoughtSignature: c2ln}}
      - {type: raw, gemini: {functionCall: {id: call_2, name: find, args: {}}}}
      - {type: raw, gemini: {functionCall: {id: call_3, name: find, args: {}}}}
  - {role: tool, tool_call_id: call_1, content: {celsius: 21}}
  - {role: tool, tool_call_id: call_2, is_error: true, content: gone}
  - {role: tool, tool_call_id: call_3, content: [{type: text, value: Look.}, {type: image, value: /a.png}]}
"""


def test_gemini_sends_what_its_sdk_sends(project: Project, server: Server) -> None:
    server.reply_with(plain_reply("gemini"))

    def call(number: int, signature: bytes | None = None) -> types.Part:
        function = types.FunctionCall(id=f"call_{number}", name="find", args={})
        return types.Part(function_call=function, thought_signature=signature)

    def result(number: int, response: dict[str, Any], parts: Any = None) -> types.Part:
        fields: Any = {"id": f"call_{number}", "name": "find", "response": response, "parts": parts}
        return types.Part(function_response=types.FunctionResponse(**fields))

    image = types.FunctionResponsePart.from_bytes(data=PNG, mime_type="image/png")
    contents: Any = [
        types.Content(role="user", parts=[types.Part.from_text(text="hello")]),
        types.Content(role="model", parts=[call(1, b"sig"), call(2), call(3)]),
        types.Content(
            role="user",
            parts=[
                result(1, {"celsius": 21}),
                result(2, {"error": "gone"}),
                result(3, {"result": "Look."}, [image]),
            ],
        ),
    ]
    tools: Any = [
        types.Tool(function_declarations=[types.FunctionDeclaration(name="find")]),
        types.Tool(google_search=types.GoogleSearch()),
    ]
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url)) as client:
        client.models.generate_content(model="m", contents=contents, config=types.GenerateContentConfig(tools=tools))
    path, body = received_request(server)
    # Intended: the SDK writes some names in snake case, and base64 in the alphabet for URLs; the API reads both.
    _spell_as_the_reference(body)
    ours = GeminiProvider(model="m", base_url=server.url, api_version="v1", api_key="k")
    ours_path, ours_body = sent(project, ours, server, GEMINI)
    ours_body.pop("generationConfig", None)
    body.pop("generationConfig", None)
    assert (ours_path, ours_body) == (path, body)


def _spell_as_the_reference(data: Any) -> None:
    names = {
        "inline_data": "inlineData",
        "mime_type": "mimeType",
        "google_search": "googleSearch",
        "function_declarations": "functionDeclarations",
        "thought_signature": "thoughtSignature",
    }
    for inner in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        _spell_as_the_reference(inner)
    if isinstance(data, dict):
        for key in list(data):
            value = data.pop(key)
            is_base64 = key in ("data", "thought_signature", "thoughtSignature") and isinstance(value, str)
            data[names.get(key, key)] = value.replace("-", "+").replace("_", "/") if is_base64 else value


BEDROCK = """
tools:
  - {type: function, name: find}
  - {type: raw, bedrock: {systemTool: {name: nova_grounding}}}
input_messages:
  - {role: system, content: [{type: text, value: Be kind., cache_control: {type: ephemeral, ttl: 1h}}]}
  - role: user
    content:
      - {type: document, value: /a.docx}
      - {type: document, value: /a.csv}
      - {type: text, value: Look., cache_control: {type: ephemeral}}
  - role: assistant
    content: [{type: raw, bedrock: {reasoningContent: {reasoningText: {text: Hm., signature: s}}}}]
    tool_calls:
      - {id: call_1, function: {name: find, arguments: '{}'}}
      - {id: call_2, function: {name: find, arguments: '{}'}}
  - {role: tool, tool_call_id: call_1, is_error: true, content: {reason: gone}}
  - role: tool
    tool_call_id: call_2
    content: [{type: text, value: Here., cache_control: {type: ephemeral}}]
"""


def test_bedrock_sends_what_boto3_sends(project: Project, server: Server) -> None:
    server.reply_with(plain_reply("bedrock"))
    thinking = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "s"}}}
    tool = {"name": "find", "inputSchema": {"json": {"type": "object", "properties": {}}}}
    theirs = converse(
        server,
        "m",
        system=[{"text": "Be kind."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        messages=[
            {
                "role": "user",
                "content": [
                    {"document": {"format": "docx", "name": "a", "source": {"bytes": DOCX}}},
                    {"document": {"format": "csv", "name": "a 2", "source": {"bytes": b"a,b\n1,2\n"}}},
                    {"text": "Look."},
                    {"cachePoint": {"type": "default"}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    thinking,
                    {"toolUse": {"toolUseId": "call_1", "name": "find", "input": {}}},
                    {"toolUse": {"toolUseId": "call_2", "name": "find", "input": {}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "toolResult": {
                            "toolUseId": "call_1",
                            "content": [{"json": {"reason": "gone"}}],
                            "status": "error",
                        }
                    },
                    {"toolResult": {"toolUseId": "call_2", "content": [{"text": "Here."}]}},
                    {"cachePoint": {"type": "default"}},
                ],
            },
        ],
        toolConfig={"tools": [{"toolSpec": tool}, {"systemTool": {"name": "nova_grounding"}}]},
    )
    assert sent(project, BedrockProvider(model="m", base_url=server.url, api_key="k"), server, BEDROCK) == theirs

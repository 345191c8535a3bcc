"""Parity: each chat provider sends what the vendor's own SDK sends for the same conversation.

Both send to a local server, and the received requests are compared: path, query and decoded JSON. Each conversation is
written once for our providers, in the shape of an eval file, and once for each SDK, in the way that the SDK's
documentation recommends. The differences that are intended are in `sdk_differences.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    OpenAIProvider,
    ProviderRequest,
)
from pytest_chatprompt.prompt.chat_prompt import Media
from tests.apis.conversations import call
from tests.apis.sdk_differences import as_ours
from tests.media import FORMATS, PDF, PNG, data_url, in_base64
from tests.replies import plain_reply
from tests.server import Server

UNICODE = 'Zoë\u00a0said \u201chi\u201d \U0001f469\u200d\U0001f52c e\u0301 \u2028 \ufeff\x00\x7f \\ " / </b> \r\nnext\ttab  \n\n'
WEATHER = '{"city": "Z\\u00fcrich", "days": [1, 2.5, 1e3], "exact": 12345678901234567890, "none": null}'
WEATHER_ARGUMENTS = {"city": "Zürich", "days": [1, 2.5, 1000.0], "exact": 12345678901234567890, "none": None}
RESULT = '{"temperature": 21, "unit": "C"}'


@dataclass(frozen=True)
class Conversation:
    """One conversation, for our providers and for each SDK.

    Args:
        prompt: the chat prompt for our providers; OpenAI's SDK gets its messages as dicts.
        system: the system prompt, for the SDKs that take it as an argument of its own.
        messages: the turns, for Anthropic's SDK.
        contents: the turns, for Google's SDK.
        settings: `temperature` and `max_output_tokens`.
    """

    prompt: tuple[ChatMessage, ...]
    messages: list[Any]
    contents: list[types.Content]
    system: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MediaParts:
    """The content of a user message with media, for our providers and for each SDK.

    Args:
        content: for our providers.
        openai: the parts for OpenAI's SDK; `None` where its API does not take them.
        azure: whether Azure takes the same.
        anthropic: the blocks for Anthropic's SDK; `None` where its API does not take them.
        gemini: the parts for Google's SDK; `None` where its API does not take them.
    """

    content: tuple[str | Media, ...]
    openai: list[Any] | None = None
    azure: bool = True
    anthropic: list[Any] | None = None
    gemini: list[types.Part] | None = None


def user(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part.from_text(text=text)])


def model(text: str) -> types.Content:
    return types.Content(role="model", parts=[types.Part.from_text(text=text)])


def calls(*parts: types.Part) -> types.Content:
    return types.Content(role="model", parts=list(parts))


def function_call(call_id: str, name: str, arguments: dict[str, Any]) -> types.Part:
    return types.Part(function_call=types.FunctionCall(id=call_id, name=name, args=arguments))


def results(*answers: tuple[str, str, str]) -> types.Content:
    parts = [
        types.Part(function_response=types.FunctionResponse(id=call_id, name=name, response={"result": result}))
        for call_id, name, result in answers
    ]
    return types.Content(role="user", parts=parts)


def tool_use(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def tool_results(*answers: tuple[str, str]) -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": result} for call_id, result in answers]
    return {"role": "user", "content": blocks}


def simple(text: str, **settings: Any) -> Conversation:
    return Conversation(
        prompt=(ChatMessage("user", text),),
        messages=[{"role": "user", "content": text}],
        contents=[user(text)],
        settings=settings,
    )


QUESTION = ChatMessage("user", "Weather?")

CONVERSATIONS = {
    "a single message": simple("hi"),
    "a system message and several turns": Conversation(
        prompt=(
            ChatMessage("system", "Be kind.\n\n[[ ## Guidelines ## ]]\n\nNo tabs."),
            ChatMessage("user", "one"),
            ChatMessage("assistant", "two"),
            ChatMessage("user", "three"),
        ),
        system="Be kind.\n\n[[ ## Guidelines ## ]]\n\nNo tabs.",
        messages=[
            {"role": "user", "content": "one"},
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": "three"},
        ],
        contents=[user("one"), model("two"), user("three")],
    ),
    "the same role twice": Conversation(
        prompt=(
            ChatMessage("user", "one"),
            ChatMessage("user", "two"),
            ChatMessage("assistant", "three"),
            ChatMessage("assistant", "four"),
            ChatMessage("user", "five"),
        ),
        messages=[
            {"role": "user", "content": "one"},
            {"role": "user", "content": "two"},
            {"role": "assistant", "content": "three"},
            {"role": "assistant", "content": "four"},
            {"role": "user", "content": "five"},
        ],
        contents=[user("one"), user("two"), model("three"), model("four"), user("five")],
    ),
    "unicode, controls, CRLF and trailing blanks": simple(UNICODE),
    "a long text": simple("0123456789 äöü\n" * 20_000),
    "a prefilled answer": Conversation(
        prompt=(ChatMessage("user", "JSON!"), ChatMessage("assistant", '{"a":')),
        messages=[{"role": "user", "content": "JSON!"}, {"role": "assistant", "content": '{"a":'}],
        contents=[user("JSON!"), model('{"a":')],
    ),
    "a tool round trip, its result JSON": Conversation(
        prompt=(
            QUESTION,
            ChatMessage("assistant", None, tool_calls=(call("c1", "weather", WEATHER),)),
            ChatMessage("tool", RESULT, tool_call_id="c1"),
        ),
        messages=[
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [tool_use("c1", "weather", WEATHER_ARGUMENTS)]},
            tool_results(("c1", RESULT)),
        ],
        contents=[
            user("Weather?"),
            calls(function_call("c1", "weather", WEATHER_ARGUMENTS)),
            results(("c1", "weather", RESULT)),
        ],
    ),
    "an empty tool result, and text beside the call": Conversation(
        prompt=(
            QUESTION,
            ChatMessage("assistant", "Let me see.", tool_calls=(call("c1", "now"),)),
            ChatMessage("tool", "", tool_call_id="c1"),
        ),
        messages=[
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [{"type": "text", "text": "Let me see."}, tool_use("c1", "now", {})]},
            tool_results(("c1", "")),
        ],
        contents=[
            user("Weather?"),
            calls(types.Part.from_text(text="Let me see."), function_call("c1", "now", {})),
            results(("c1", "now", "")),
        ],
    ),
    "parallel tools": Conversation(
        prompt=(
            QUESTION,
            ChatMessage("assistant", None, tool_calls=(call("c1", "weather", '{"city": "Rome"}'), call("c2", "now"))),
            ChatMessage("tool", "sunny", tool_call_id="c1"),
            ChatMessage("tool", "noon", tool_call_id="c2"),
            ChatMessage("assistant", "Sunny, at noon."),
            ChatMessage("user", "Thanks."),
        ),
        messages=[
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [tool_use("c1", "weather", {"city": "Rome"}), tool_use("c2", "now", {})]},
            tool_results(("c1", "sunny"), ("c2", "noon")),
            {"role": "assistant", "content": "Sunny, at noon."},
            {"role": "user", "content": "Thanks."},
        ],
        contents=[
            user("Weather?"),
            calls(function_call("c1", "weather", {"city": "Rome"}), function_call("c2", "now", {})),
            results(("c1", "weather", "sunny"), ("c2", "now", "noon")),
            model("Sunny, at noon."),
            user("Thanks."),
        ],
    ),
    "one tool after the other": Conversation(
        prompt=(
            QUESTION,
            ChatMessage("assistant", None, tool_calls=(call("c1", "now"),)),
            ChatMessage("tool", "noon", tool_call_id="c1"),
            ChatMessage("assistant", None, tool_calls=(call("c2", "weather"),)),
            ChatMessage("tool", "sunny", tool_call_id="c2"),
        ),
        messages=[
            {"role": "user", "content": "Weather?"},
            {"role": "assistant", "content": [tool_use("c1", "now", {})]},
            tool_results(("c1", "noon")),
            {"role": "assistant", "content": [tool_use("c2", "weather", {})]},
            tool_results(("c2", "sunny")),
        ],
        contents=[
            user("Weather?"),
            calls(function_call("c1", "now", {})),
            results(("c1", "now", "noon")),
            calls(function_call("c2", "weather", {})),
            results(("c2", "weather", "sunny")),
        ],
    ),
    "names, which only OpenAI has": Conversation(
        prompt=(
            ChatMessage("system", "Be kind.", name="rules"),
            ChatMessage("user", "hi", name="bob"),
            ChatMessage("assistant", "ho", name="eve"),
            ChatMessage("user", "hm", name="bob"),
        ),
        system="Be kind.",
        messages=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "ho"},
            {"role": "user", "content": "hm"},
        ],
        contents=[user("hi"), model("ho"), user("hm")],
    ),
    "temperature 0": simple("hi", temperature=0),
    "a temperature": simple("hi", temperature=0.7),
    "an output cap": simple("hi", max_output_tokens=17),
    "a cap and a temperature": simple("hi", max_output_tokens=1, temperature=1.0),
}


def received_request(server: Server) -> tuple[str, Any]:
    """Path with query, and decoded body, of the one request that the server received."""
    ((path, _, body),) = server.requests
    server.requests.clear()
    return path, body


def sent_by(provider: ChatProvider, conversation: Conversation, server: Server) -> tuple[str, Any]:
    provider.send(ProviderRequest(chat_prompt=conversation.prompt, metadata={"systemPrompt": ""}))
    provider.close()
    return received_request(server)


def openai_arguments(conversation: Conversation, token_limit: str = "max_completion_tokens") -> dict[str, Any]:
    names = {"temperature": "temperature", "max_output_tokens": token_limit}
    # A user of the SDK writes no content where there is none.
    messages = [
        {key: value for key, value in message.as_dict().items() if value is not None} for message in conversation.prompt
    ]
    return {
        "messages": messages,
        **{names[name]: value for name, value in conversation.settings.items()},
    }


each_conversation = pytest.mark.parametrize(
    "conversation", [pytest.param(conversation, id=name) for name, conversation in CONVERSATIONS.items()]
)


@each_conversation
@pytest.mark.parametrize("token_limit", ["max_completion_tokens", "max_tokens"])
def test_openai_sends_what_its_sdk_sends(conversation: Conversation, token_limit: Any, server: Server) -> None:
    server.reply_with(plain_reply("openai-chat"))
    base_url = f"{server.url}/v1"
    with openai.OpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        client.chat.completions.create(model="m", **openai_arguments(conversation, token_limit))
    theirs = as_ours(received_request(server), "OpenAI and the like")
    ours = OpenAIProvider(
        model="m", base_url=base_url, api_key="k", max_tokens_parameter=token_limit, **conversation.settings
    )
    assert sent_by(ours, conversation, server) == theirs


@each_conversation
def test_azure_sends_to_a_deployment_what_its_sdk_sends(conversation: Conversation, server: Server) -> None:
    server.reply_with(plain_reply("azure-chat"))
    with openai.AzureOpenAI(api_key="k", azure_endpoint=server.url, api_version="2024-10-21", max_retries=0) as client:
        client.chat.completions.create(model="d", **openai_arguments(conversation))
    theirs = as_ours(received_request(server), "Azure", "OpenAI and the like")
    ours = AzureProvider(
        deployment="d", endpoint=server.url, api_version="2024-10-21", api_key="k", **conversation.settings
    )
    assert sent_by(ours, conversation, server) == theirs


@each_conversation
def test_azure_sends_to_the_v1_path_what_its_sdk_sends(conversation: Conversation, server: Server) -> None:
    server.reply_with(plain_reply("azure-chat"))
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/openai/v1/", max_retries=0) as client:
        client.chat.completions.create(model="d", **openai_arguments(conversation))
    theirs = as_ours(received_request(server), "OpenAI and the like")
    ours = AzureProvider(deployment="d", endpoint=server.url, api_version=None, api_key="k", **conversation.settings)
    assert sent_by(ours, conversation, server) == theirs


@each_conversation
def test_anthropic_sends_what_its_sdk_sends(conversation: Conversation, server: Server) -> None:
    server.reply_with(plain_reply("anthropic"))
    settings = dict(conversation.settings)
    # The API demands `max_tokens`, so each user of the SDK sets it; our provider has a default.
    max_tokens = settings.pop("max_output_tokens", 4096)
    system: dict[str, Any] = {} if conversation.system is None else {"system": conversation.system}
    # Since 2.0 the SDK has no arguments for sampling, because its API version refuses them. Users of the older API
    # version pass them in `extra_body` (https://platform.claude.com/docs/en/api/migration-2026-10-21).
    with anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client:
        client.messages.create(
            model="m", max_tokens=max_tokens, messages=conversation.messages, extra_body=settings, **system
        )
    theirs = received_request(server)
    ours = AnthropicProvider(model="m", base_url=server.url, api_key="k", **conversation.settings)
    assert sent_by(ours, conversation, server) == theirs


@each_conversation
def test_gemini_sends_what_its_sdk_sends(conversation: Conversation, server: Server) -> None:
    server.reply_with(plain_reply("gemini"))
    config = types.GenerateContentConfig(system_instruction=conversation.system, **conversation.settings)
    options = types.HttpOptions(base_url=server.url)
    with genai.Client(api_key="k", http_options=options) as client:
        contents: Any = conversation.contents
        client.models.generate_content(model="m", contents=contents, config=config)
    theirs = as_ours(received_request(server), "Gemini")
    ours = GeminiProvider(model="m", base_url=server.url, api_key="k", **conversation.settings)
    assert sent_by(ours, conversation, server) == theirs


# --- images, documents and sounds


def openai_image(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def anthropic_base64(kind: str, media_type: str, content: bytes) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": in_base64(content)}}


def image(content: bytes, media_type: str) -> MediaParts:
    part = Media("image", f"./screen.{media_type[6:]}", media_type, content)
    return MediaParts(
        (part,),
        openai=[openai_image(data_url(content, media_type))],
        anthropic=[anthropic_base64("image", media_type, content)],
        # Its API has no GIF.
        gemini=None if media_type == "image/gif" else [types.Part.from_bytes(data=content, mime_type=media_type)],
    )


def sound(content: bytes, media_type: str, name: str) -> MediaParts:
    return MediaParts(
        ("Listen:", Media("audio", "./hello", media_type, content)),
        openai=[
            {"type": "text", "text": "Listen:"},
            {"type": "input_audio", "input_audio": {"data": in_base64(content), "format": name}},
        ],
        gemini=[types.Part.from_text(text="Listen:"), types.Part.from_bytes(data=content, mime_type=f"audio/{name}")],
    )


IMAGE_URL = "https://x.example/a/screen.png?size=1"
PDF_URL = "https://x.example/report.pdf"
# Its base64 differs from one alphabet to the other.
NOISY_PNG = PNG + b"\xfb\xff\xfe" * 9

MEDIA = {
    "a PNG": image(NOISY_PNG, "image/png"),
    "a JPEG": image(FORMATS["image/jpeg"], "image/jpeg"),
    "a WebP": image(FORMATS["image/webp"], "image/webp"),
    "a GIF": image(FORMATS["image/gif"], "image/gif"),
    "texts around two images": MediaParts(
        ("Compare:", Media("image", "a.png", "image/png", PNG), Media("image", IMAGE_URL, "image/png"), "one\ntwo"),
        openai=[
            {"type": "text", "text": "Compare:"},
            openai_image(data_url(PNG)),
            openai_image(IMAGE_URL),
            {"type": "text", "text": "one\ntwo"},
        ],
        anthropic=[
            {"type": "text", "text": "Compare:"},
            anthropic_base64("image", "image/png", PNG),
            {"type": "image", "source": {"type": "url", "url": IMAGE_URL}},
            {"type": "text", "text": "one\ntwo"},
        ],
        gemini=[
            types.Part.from_text(text="Compare:"),
            types.Part.from_bytes(data=PNG, mime_type="image/png"),
            types.Part.from_uri(file_uri=IMAGE_URL, mime_type="image/png"),
            types.Part.from_text(text="one\ntwo"),
        ],
    ),
    "a document": MediaParts(
        (Media("document", "./docs/report.pdf", "application/pdf", PDF), "Sum it up."),
        openai=[
            {
                "type": "file",
                "file": {"filename": "report.pdf", "file_data": data_url(PDF, "application/pdf")},
            },
            {"type": "text", "text": "Sum it up."},
        ],
        azure=False,
        anthropic=[anthropic_base64("document", "application/pdf", PDF), {"type": "text", "text": "Sum it up."}],
        gemini=[types.Part.from_bytes(data=PDF, mime_type="application/pdf"), types.Part.from_text(text="Sum it up.")],
    ),
    "a document at a URL": MediaParts(
        (Media("document", PDF_URL, "application/pdf"),),
        anthropic=[{"type": "document", "source": {"type": "url", "url": PDF_URL}}],
        gemini=[types.Part.from_uri(file_uri=PDF_URL, mime_type="application/pdf")],
    ),
    "a WAV": sound(FORMATS["audio/wav"], "audio/wav", "wav"),
    "an MP3": sound(FORMATS["audio/mpeg"], "audio/mpeg", "mp3"),
    "a sound at a URL": MediaParts(
        (Media("audio", "https://x.example/a.wav", "audio/wav"),),
        gemini=[types.Part.from_uri(file_uri="https://x.example/a.wav", mime_type="audio/wav")],
    ),
}


def media_of(vendor: str) -> pytest.MarkDecorator:
    """Each media that an API takes."""
    taken = {
        name: parts
        for name, parts in MEDIA.items()
        if getattr(parts, "openai" if vendor == "azure" else vendor) is not None and (vendor != "azure" or parts.azure)
    }
    return pytest.mark.parametrize("parts", [pytest.param(parts, id=name) for name, parts in taken.items()])


def sent_media(provider: ChatProvider, parts: MediaParts, server: Server) -> tuple[str, Any]:
    prompt = (ChatMessage("user", parts.content),)
    provider.send(ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}))
    provider.close()
    return received_request(server)


@media_of("openai")
def test_openai_sends_the_media_that_its_sdk_sends(parts: MediaParts, server: Server) -> None:
    server.reply_with(plain_reply("openai-chat"))
    content: Any = parts.openai
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/v1", max_retries=0) as client:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}])
    theirs = received_request(server)
    assert sent_media(OpenAIProvider(model="m", base_url=f"{server.url}/v1", api_key="k"), parts, server) == theirs


@media_of("azure")
def test_azure_sends_the_media_that_its_sdk_sends(parts: MediaParts, server: Server) -> None:
    server.reply_with(plain_reply("azure-chat"))
    content: Any = parts.openai
    with openai.OpenAI(api_key="k", base_url=f"{server.url}/openai/v1/", max_retries=0) as client:
        client.chat.completions.create(model="d", messages=[{"role": "user", "content": content}])
    theirs = received_request(server)
    ours = AzureProvider(deployment="d", endpoint=server.url, api_version=None, api_key="k")
    assert sent_media(ours, parts, server) == theirs


@media_of("anthropic")
def test_anthropic_sends_the_media_that_its_sdk_sends(parts: MediaParts, server: Server) -> None:
    server.reply_with(plain_reply("anthropic"))
    content: Any = parts.anthropic
    with anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client:
        client.messages.create(model="m", max_tokens=4096, messages=[{"role": "user", "content": content}])
    theirs = received_request(server)
    assert sent_media(AnthropicProvider(model="m", base_url=server.url, api_key="k"), parts, server) == theirs


@media_of("gemini")
def test_gemini_sends_the_media_that_its_sdk_sends(parts: MediaParts, server: Server) -> None:
    server.reply_with(plain_reply("gemini"))
    contents: Any = [types.Content(role="user", parts=parts.gemini)]
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url)) as client:
        client.models.generate_content(model="m", contents=contents)
    theirs = as_ours(received_request(server), "Gemini")
    ours = GeminiProvider(model="m", base_url=server.url, api_version="v1", api_key="k")
    assert sent_media(ours, parts, server) == theirs


# --- settings, tools, tool choices and response formats


SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": ["string", "null"], "description": "Where"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}
WEATHER_TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "The forecast", "parameters": SCHEMA, "strict": True},
}
NOW_TOOL = {"type": "function", "function": {"name": "now"}}
WEATHER_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "weather", "description": "A forecast", "schema": SCHEMA, "strict": True},
}
DECLARATION = types.FunctionDeclaration(name="weather", description="The forecast", parameters_json_schema=SCHEMA)


def calling(mode: types.FunctionCallingConfigMode, *names: str) -> types.ToolConfig:
    config = types.FunctionCallingConfig(mode=mode, allowed_function_names=list(names) or None)
    return types.ToolConfig(function_calling_config=config)


@dataclass(frozen=True)
class Options:
    """The options of a request: as an eval file says them, which is what OpenAI's SDK takes, and for the other SDKs.

    Args:
        request: the fields of a `ProviderRequest`, without settings.
        anthropic: the arguments of Anthropic's SDK; `None` where its API cannot hold them.
        gemini: the config of Google's SDK.
        settings: the settings of the request.
        openai: the settings as OpenAI's SDK takes them.
    """

    request: dict[str, Any] = field(default_factory=dict)
    anthropic: dict[str, Any] | None = field(default_factory=dict)
    gemini: dict[str, Any] | None = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    openai: dict[str, Any] = field(default_factory=dict)


ANTHROPIC_TOOL = {"name": "weather", "description": "The forecast", "strict": True, "input_schema": SCHEMA}

OPTIONS = {
    "two tools, one without arguments": Options(
        {"tools": (WEATHER_TOOL, NOW_TOOL)},
        {"tools": [ANTHROPIC_TOOL, {"name": "now", "input_schema": {"type": "object", "properties": {}}}]},
        {"tools": [types.Tool(function_declarations=[DECLARATION, types.FunctionDeclaration(name="now")])]},
    ),
    "a choice of auto": Options(
        {"tools": (WEATHER_TOOL,), "tool_choice": "auto"},
        {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "auto"}},
        {
            "tools": [types.Tool(function_declarations=[DECLARATION])],
            "tool_config": calling(types.FunctionCallingConfigMode.AUTO),
        },
    ),
    "a choice of none": Options(
        {"tools": (WEATHER_TOOL,), "tool_choice": "none"},
        {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "none"}},
        {
            "tools": [types.Tool(function_declarations=[DECLARATION])],
            "tool_config": calling(types.FunctionCallingConfigMode.NONE),
        },
    ),
    "a choice of required": Options(
        {"tools": (WEATHER_TOOL,), "tool_choice": "required"},
        {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "any"}},
        {
            "tools": [types.Tool(function_declarations=[DECLARATION])],
            "tool_config": calling(types.FunctionCallingConfigMode.ANY),
        },
    ),
    "a named tool": Options(
        {"tools": (WEATHER_TOOL,), "tool_choice": {"type": "function", "function": {"name": "weather"}}},
        {"tools": [ANTHROPIC_TOOL], "tool_choice": {"type": "tool", "name": "weather"}},
        {
            "tools": [types.Tool(function_declarations=[DECLARATION])],
            "tool_config": calling(types.FunctionCallingConfigMode.ANY, "weather"),
        },
    ),
    "allowed tools": Options(
        {
            "tools": (WEATHER_TOOL, NOW_TOOL),
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [NOW_TOOL]}},
        },
        None,
        {
            "tools": [types.Tool(function_declarations=[DECLARATION, types.FunctionDeclaration(name="now")])],
            "tool_config": calling(types.FunctionCallingConfigMode.ANY, "now"),
        },
    ),
    "an allowed tool that need not be called": Options(
        {
            "tools": (WEATHER_TOOL, NOW_TOOL),
            "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NOW_TOOL]}},
        },
        None,
        {
            "tools": [types.Tool(function_declarations=[DECLARATION, types.FunctionDeclaration(name="now")])],
            "tool_config": calling(types.FunctionCallingConfigMode.VALIDATED, "now"),
        },
    ),
    "a schema": Options(
        {"response_format": WEATHER_FORMAT},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"response_mime_type": "application/json", "response_json_schema": SCHEMA},
    ),
    "JSON without a schema": Options(
        {"response_format": {"type": "json_object"}}, None, {"response_mime_type": "application/json"}
    ),
    "sampling and a stop": Options(
        {},
        {"stop_sequences": ["END"], "extra_body": {"temperature": 0, "top_p": 0.5}},
        {"temperature": 0, "top_p": 0.5, "stop_sequences": ["END"]},
        {"temperature": 0, "top_p": 0.5, "stop": "END"},
        {"temperature": 0, "top_p": 0.5, "stop": "END"},
    ),
    "several stops and a limit": Options(
        {},
        {"stop_sequences": ["a", "b"], "max_tokens": 9},
        {"stop_sequences": ["a", "b"], "max_output_tokens": 9},
        {"stop": ["a", "b"], "max_output_tokens": 9},
        {"stop": ["a", "b"], "max_completion_tokens": 9},
    ),
    "a seed": Options({}, None, {"seed": 7}, {"seed": 7}, {"seed": 7}),
    "an effort": Options(
        {},
        {"output_config": {"effort": "low"}},
        {"thinking_config": types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW)},
        {"reasoning_effort": "low"},
        {"reasoning_effort": "low"},
    ),
    "an effort and a schema": Options(
        {"response_format": WEATHER_FORMAT},
        {"output_config": {"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}}},
        {
            "thinking_config": types.ThinkingConfig(thinking_level=types.ThinkingLevel.LOW),
            "response_mime_type": "application/json",
            "response_json_schema": SCHEMA,
        },
        {"reasoning_effort": "low"},
        {"reasoning_effort": "low"},
    ),
    "more of the body": Options(
        {},
        {"extra_body": {"metadata": {"user_id": "u"}}},
        None,
        {"extra_body": {"metadata": {"user_id": "u"}}},
        {"extra_body": {"metadata": {"user_id": "u"}}},
    ),
}


def options_of(vendor: str) -> pytest.MarkDecorator:
    """The options that an API can hold."""
    known = {name: options for name, options in OPTIONS.items() if getattr(options, vendor) is not None}
    return pytest.mark.parametrize("options", [pytest.param(options, id=name) for name, options in known.items()])


def sent_with(provider: ChatProvider, options: Options, server: Server) -> tuple[str, Any]:
    prompt = (ChatMessage("user", "hi"),)
    settings = {"model": "other", **options.settings}
    request = ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}, settings=settings, **options.request)
    provider.send(request)
    provider.close()
    return received_request(server)


@options_of("openai")
def test_openai_sends_the_options_that_its_sdk_sends(options: Options, server: Server) -> None:
    server.reply_with(plain_reply("openai-chat"))
    base_url = f"{server.url}/v1"
    messages: Any = [{"role": "user", "content": "hi"}]
    with openai.OpenAI(api_key="k", base_url=base_url, max_retries=0) as client:
        client.chat.completions.create(model="other", messages=messages, **options.request, **options.openai)
    theirs = received_request(server)
    ours = OpenAIProvider(model="m", base_url=base_url, api_key="k")
    assert sent_with(ours, options, server) == theirs


@options_of("openai")
def test_azure_sends_the_options_that_its_sdk_sends(options: Options, server: Server) -> None:
    server.reply_with(plain_reply("azure-chat"))
    messages: Any = [{"role": "user", "content": "hi"}]
    with openai.AzureOpenAI(api_key="k", azure_endpoint=server.url, api_version="2024-10-21", max_retries=0) as client:
        client.chat.completions.create(model="other", messages=messages, **options.request, **options.openai)
    theirs = as_ours(received_request(server), "Azure")
    ours = AzureProvider(deployment="d", endpoint=server.url, api_version="2024-10-21", api_key="k")
    assert sent_with(ours, options, server) == theirs


@options_of("anthropic")
def test_anthropic_sends_the_options_that_its_sdk_sends(options: Options, server: Server) -> None:
    server.reply_with(plain_reply("anthropic"))
    messages: Any = [{"role": "user", "content": "hi"}]
    arguments: Any = {"max_tokens": 4096, **(options.anthropic or {})}
    with anthropic.Anthropic(api_key="k", base_url=server.url, max_retries=0) as client:
        client.messages.create(model="other", messages=messages, **arguments)
    theirs = received_request(server)
    ours = AnthropicProvider(model="m", base_url=server.url, api_key="k")
    assert sent_with(ours, options, server) == theirs


@options_of("gemini")
def test_gemini_sends_the_options_that_its_sdk_sends(options: Options, server: Server) -> None:
    server.reply_with(plain_reply("gemini"))
    with genai.Client(api_key="k", http_options=types.HttpOptions(base_url=server.url)) as client:
        config = types.GenerateContentConfig(**(options.gemini or {}))
        client.models.generate_content(model="other", contents="hi", config=config)
    theirs = as_ours(received_request(server), "Gemini")
    ours = GeminiProvider(model="m", base_url=server.url, api_key="k")
    assert sent_with(ours, options, server) == theirs

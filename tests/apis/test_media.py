"""Media in chat providers: what an API does not take is an error at its part, and what is sent else than as a user's."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    BedrockProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    OllamaProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    OpenRouterProvider,
    Payload,
    PayloadError,
    ProviderRequest,
    ProviderResponse,
)
from pytest_chatprompt.prompt.chat_prompt import Media
from tests.apis.built_in import preflight_of
from tests.apis.conversations import call
from tests.media import GIF, MP3, PDF, PNG, data_url, in_base64

OPENAI = OpenAIProvider(model="m")
AZURE = AzureProvider()
ANTHROPIC = AnthropicProvider(model="m")
GEMINI = GeminiProvider(model="m")
RESPONSES = OpenAIResponsesProvider(model="m")
BEDROCK = BedrockProvider(model="m")
OLLAMA = OllamaProvider(model="m")
OPENROUTER = OpenRouterProvider(model="m")
IMAGE = Media("image", "./screen.png", "image/png", PNG, place=(2, 3))
DOCUMENT = Media("document", "./report.pdf", "application/pdf", PDF, place=(2, 3))
SOUND = Media("audio", "./hello.mp3", "audio/mpeg", MP3, place=(2, 3))
CALL = ChatMessage("assistant", None, tool_calls=(call("c1", "look"),))


class TextProvider(ChatProvider):
    """An API that takes texts only, as all providers of users did before there were media."""

    vendor = "Echo"

    def endpoint_path(self) -> str:
        return "/ask"

    def auth_headers(self, _: str) -> dict[str, str]:
        return {}

    def build_payload(self, prompt: Any) -> Payload:
        return Payload({"messages": [message.as_dict() for message in prompt]})

    def read_reply(self, _: Any) -> ProviderResponse:
        return ProviderResponse(text="")


ECHO = TextProvider(base_url="https://echo.invalid")


def body_of(provider: ChatProvider, *prompt: ChatMessage) -> dict[str, Any]:
    preflight_of(provider, ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}))
    return provider.build_payload(prompt).body


@pytest.mark.parametrize(
    ("provider", "message", "text"),
    [
        pytest.param(
            AZURE,
            ChatMessage("user", (DOCUMENT,)),
            "Azure OpenAI takes no documents; it takes images and audio; leave it out, or use another provider",
            id="Azure and a document",
        ),
        pytest.param(
            ANTHROPIC,
            ChatMessage("user", (SOUND,)),
            "Anthropic takes no audio; it takes images and documents; leave it out, or use another provider",
            id="Anthropic and a sound",
        ),
        pytest.param(
            ECHO,
            ChatMessage("user", (IMAGE,)),
            "Echo takes no images; leave it out, or use another provider",
            id="a provider for texts and an image",
        ),
        pytest.param(
            OPENAI,
            ChatMessage("user", (Media("audio", "https://x.example/a.wav", "audio/wav", place=(2, 3)),)),
            "OpenAI takes no audio by URL; save the file in the project, and name its path",
            id="OpenAI and the URL of a sound",
        ),
        pytest.param(
            OPENAI,
            ChatMessage("user", (Media("document", "https://x.example/a.pdf", place=(2, 3)),)),
            "OpenAI takes no documents by URL; save the file in the project, and name its path",
            id="OpenAI and the URL of a document",
        ),
        pytest.param(
            GEMINI,
            ChatMessage("user", (Media("image", "https://x.example/a", place=(2, 3)),)),
            "Gemini needs the type of what is at a URL, and the path of this one does not end in any of .png, .jpeg, "
            ".webp; save the file in the project, and name its path",
            id="Gemini and a URL that says no type",
        ),
        pytest.param(
            RESPONSES,
            ChatMessage("user", (SOUND,)),
            "OpenAI Responses takes no audio; it takes images and documents; leave it out, or use another provider",
            id="OpenAI Responses and a sound",
        ),
        *(
            pytest.param(
                provider,
                ChatMessage("user", (Media(kind, "https://x.example/a", place=(2, 3)),)),  # type: ignore[arg-type]
                f"{provider.vendor} takes no {kinds} by URL; save the file in the project, and name its path",
                id=f"{provider.vendor} and the URL of {kind}",
            )
            for provider, kind, kinds in (
                (BEDROCK, "image", "images"),
                (BEDROCK, "document", "documents"),
                (BEDROCK, "audio", "audio"),
                (OLLAMA, "image", "images"),
                (OLLAMA, "audio", "audio"),
                (OPENROUTER, "audio", "audio"),
            )
        ),
        pytest.param(
            OLLAMA,
            ChatMessage("user", (DOCUMENT,)),
            "Ollama takes no documents; it takes images and audio; leave it out, or use another provider",
            id="Ollama and a document",
        ),
        *(
            pytest.param(
                GEMINI,
                ChatMessage("user", (media,)),
                "Gemini takes images as image/png, image/jpeg or image/webp only, and this one is image/gif; "
                "convert the file",
                id=f"Gemini and a GIF {where}",
            )
            for where, media in (
                ("of the project", Media("image", "./a.gif", "image/gif", GIF, place=(2, 3))),
                ("at a URL", Media("image", "https://x.example/a.gif", "image/gif", place=(2, 3))),
            )
        ),
        pytest.param(
            OLLAMA,
            ChatMessage("user", (Media("image", "./a.gif", "image/gif", GIF, place=(2, 3)),)),
            "Ollama takes images as image/png, image/jpeg or image/webp only, and this one is image/gif; "
            "convert the file",
            id="Ollama and a GIF",
        ),
        pytest.param(
            BEDROCK,
            ChatMessage("tool", (SOUND,), tool_call_id="c1"),
            "Amazon Bedrock takes audio in user messages only, and the role of this one is 'tool'; "
            "move it to a user message",
            id="Bedrock and a sound in the result of a tool",
        ),
        pytest.param(
            BEDROCK,
            ChatMessage("assistant", (DOCUMENT,)),
            "Amazon Bedrock takes documents in user and tool messages only, and the role of this one is 'assistant'; "
            "move it to a user message",
            id="Bedrock and an assistant message",
        ),
        *(
            pytest.param(
                provider,
                ChatMessage("system", ("Look:", IMAGE)),
                f"{provider.vendor} takes images in {roles} messages only, and the role of this one is 'system'; "
                "move it to a user message",
                id=f"{provider.vendor} and a system message",
            )
            for provider, roles in (
                (OPENAI, "user"),
                (AZURE, "user"),
                (ANTHROPIC, "user and tool"),
                (GEMINI, "user, assistant and tool"),
                (RESPONSES, "user and tool"),
                (BEDROCK, "user and tool"),
                (OLLAMA, "user"),
                (OPENROUTER, "user, assistant and tool"),
            )
        ),
        pytest.param(
            OPENAI,
            ChatMessage("tool", (IMAGE,), tool_call_id="c1"),
            "OpenAI takes images in user messages only, and the role of this one is 'tool'; move it to a user message",
            id="OpenAI and the result of a tool",
        ),
        pytest.param(
            ANTHROPIC,
            ChatMessage("assistant", (IMAGE,)),
            "Anthropic takes images in user and tool messages only, and the role of this one is 'assistant'; "
            "move it to a user message",
            id="Anthropic and an assistant message",
        ),
    ],
)
def test_what_an_api_does_not_take_is_an_error_at_its_part(
    provider: ChatProvider, message: ChatMessage, text: str
) -> None:
    prompt = (ChatMessage("user", "hi"), message)
    with pytest.raises(PayloadError) as caught:
        provider.prepare(ProviderRequest(chat_prompt=prompt, metadata={"systemPrompt": ""}))
    assert str(caught.value) == f"message 2: part 3: {text}"
    assert caught.value.location == ("input_messages", 1, "content", 2)


def test_media_that_come_from_no_case_are_refused_by_their_message() -> None:
    message = ChatMessage("user", (Media("audio", "a.wav", "audio/wav", b""),), number=4)
    with pytest.raises(PayloadError, match=r"^message 4: Anthropic takes no audio") as caught:
        body_of(ANTHROPIC, message)
    assert caught.value.location == ()


def test_openai_keeps_the_other_fields_of_a_message_with_media() -> None:
    body = body_of(OPENAI, ChatMessage("user", ("", IMAGE), name="ada"))
    assert body["messages"] == [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": data_url(PNG)}}], "name": "ada"}
    ]
    assert list(body["messages"][0]) == ["role", "content", "name"]


def test_a_document_without_a_path_has_a_name_all_the_same() -> None:
    body = body_of(OPENAI, ChatMessage("user", (Media("document", "", "application/pdf", PDF),)))
    assert body["messages"][0]["content"][0]["file"]["filename"] == "document.pdf"


def test_anthropic_takes_media_in_the_results_of_tools() -> None:
    body = body_of(ANTHROPIC, ChatMessage("user", "hi"), CALL, ChatMessage("tool", ("Done:", IMAGE), tool_call_id="c1"))
    source = {"type": "base64", "media_type": "image/png", "data": in_base64(PNG)}
    assert body["messages"][2]["content"] == [
        {
            "type": "tool_result",
            "tool_use_id": "c1",
            "content": [{"type": "text", "text": "Done:"}, {"type": "image", "source": source}],
        }
    ]


def test_gemini_takes_the_images_that_the_model_has_made() -> None:
    body = body_of(
        GEMINI, ChatMessage("user", "Draw."), ChatMessage("assistant", (IMAGE,)), ChatMessage("user", "Red!")
    )
    inline = {"inlineData": {"mimeType": "image/png", "data": in_base64(PNG)}}
    assert body["contents"][1] == {"role": "model", "parts": [inline]}


def test_responses_takes_media_in_the_results_of_tools() -> None:
    result = ChatMessage("tool", ("Done:", IMAGE, DOCUMENT), tool_call_id="c1")
    body = body_of(RESPONSES, ChatMessage("user", "hi"), CALL, result)
    assert body["input"][-1] == {
        "type": "function_call_output",
        "call_id": "c1",
        "output": [
            {"type": "input_text", "text": "Done:"},
            {"type": "input_image", "image_url": data_url(PNG)},
            {"type": "input_file", "filename": "report.pdf", "file_data": data_url(PDF, "application/pdf")},
        ],
    }


def test_bedrock_takes_media_in_the_results_of_tools() -> None:
    result = ChatMessage("tool", ("Done:", IMAGE), tool_call_id="c1")
    body = body_of(BEDROCK, ChatMessage("user", "hi"), CALL, result)
    assert body["messages"][2]["content"] == [
        {
            "toolResult": {
                "toolUseId": "c1",
                "content": [{"text": "Done:"}, {"image": {"format": "png", "source": {"bytes": in_base64(PNG)}}}],
            }
        }
    ]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        pytest.param("./docs/Report (v2) [final].pdf", "Report (v2) [final]", id="what a name may contain"),
        pytest.param("q3_report.v2.pdf", "q3-report-v2", id="points and underscores"),
        pytest.param("Jahresbericht 2026 für  Zoë\t.pdf", "Jahresbericht 2026 f-r Zo", id="letters and blanks"),
        pytest.param("報告.pdf", "document", id="nothing that a name may contain"),
        pytest.param("report", "report", id="no suffix"),
        pytest.param("", "document", id="a data URL"),
        pytest.param(f"{'a' * 300}.pdf", "a" * 190, id="a long name"),
    ],
)
def test_bedrock_names_a_document_as_its_api_takes_it(source: str, name: str) -> None:
    body = body_of(BEDROCK, ChatMessage("user", (Media("document", source, "application/pdf", PDF), "Sum it up.")))
    assert body["messages"][0]["content"][0]["document"]["name"] == name


def test_bedrock_gets_each_name_of_a_document_once() -> None:
    first, second = (Media("document", f"{folder}/report.pdf", "application/pdf", PDF) for folder in "ab")
    upper = Media("document", "REPORT.pdf", "application/pdf", PDF)
    result = ChatMessage("tool", (first,), tool_call_id="c1")
    body = body_of(
        BEDROCK, ChatMessage("user", (first, second, "Compare.")), CALL, result, ChatMessage("user", (upper,))
    )
    asked, _, answered = body["messages"]
    assert [block["document"]["name"] for block in asked["content"][:2]] == ["report", "report 2"]
    assert answered["content"][0]["toolResult"]["content"][0]["document"]["name"] == "report 3"
    assert answered["content"][1]["document"]["name"] == "REPORT 4"


@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_openrouter_takes_media_in_all_messages_but_the_systems(role: Any) -> None:
    message = ChatMessage(role, (IMAGE,), tool_call_id="c1" if role == "tool" else None)
    body = body_of(OPENROUTER, message)
    assert body["messages"][0]["content"] == [{"type": "image_url", "image_url": {"url": data_url(PNG)}}]

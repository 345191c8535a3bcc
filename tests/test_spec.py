"""The conversion and the providers, scenario by scenario: exact input, exact output, named after the requirement."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import (
    AnthropicProvider,
    AzureProvider,
    ChatMessage,
    ChatProvider,
    GeminiProvider,
    OpenAIProvider,
    ProviderRequest,
    VSCodeProvider,
    convert_to_chat_prompt,
)
from pytest_chatprompt.prompt.attachments import FileReader, read_attachments
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER
from tests.conftest import Project

INSTRUCTIONS = 'guideline_patterns: ["**/*.instructions.md"]'


def converted(
    project: Project,
    body: str,
    head: str = "",
    *,
    system_prompt: str | None = None,
    default_system_prompt: str | None = None,
) -> list[dict[str, Any]]:
    case = project.case(body, head)
    attachments = read_attachments(case, FileReader(project.root))
    prompt = convert_to_chat_prompt(
        case.input_messages,
        attachments,
        system_prompt=system_prompt,
        default_system_prompt=default_system_prompt,
    )
    return [message.as_dict() for message in prompt]


def test_convert_input_messages_single_system_and_user_message(project: Project) -> None:
    body = """
input_messages:
  - role: system
    content: You are a helpful assistant.
  - role: user
    content: Hello, world!
"""
    assert converted(project, body) == [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": "Hello, world!"},
    ]


def test_convert_input_messages_multi_turn_conversation_with_assistant_response(project: Project) -> None:
    body = """
input_messages:
  - role: user
    content: Debug this code
  - role: assistant
    content: I can help with that
  - role: user
    content: Thanks, here's the code
"""
    assert converted(project, body) == [
        {"role": "user", "content": "Debug this code"},
        {"role": "assistant", "content": "I can help with that"},
        {"role": "user", "content": "Thanks, here's the code"},
    ]


def test_convert_input_messages_system_message_with_guidelines(project: Project) -> None:
    project.write("evals/guidelines.instructions.md", "Always be concise")
    body = """
input_messages:
  - role: user
    content:
      - type: text
        value: Review this code
      - type: file
        value: ./guidelines.instructions.md
"""
    assert converted(project, body, INSTRUCTIONS, default_system_prompt="You are a careful assistant.") == [
        {
            "role": "system",
            "content": "You are a careful assistant.\n\n[[ ## Guidelines ## ]]\n\nAlways be concise",
        },
        {"role": "user", "content": "Review this code\n<Attached: ./guidelines.instructions.md>"},
    ]


def test_convert_input_messages_embedded_non_guideline_file(project: Project) -> None:
    project.write("evals/code.js", "console.log('test')")
    body = """
input_messages:
  - role: user
    content:
      - type: text
        value: "Review this:"
      - type: file
        value: ./code.js
"""
    assert converted(project, body) == [
        {"role": "user", "content": "Review this:\n=== ./code.js ===\nconsole.log('test')"}
    ]


def test_guideline_extraction_extract_guideline_from_user_message(project: Project) -> None:
    project.write("evals/python.instructions.md", "<guideline content>")
    body = """
input_messages:
  - role: user
    content:
      - type: file
        value: python.instructions.md
      - type: text
        value: Write a function
"""
    assert converted(project, body, INSTRUCTIONS) == [
        {"role": "system", "content": "[[ ## Guidelines ## ]]\n\n<guideline content>"},
        {"role": "user", "content": "<Attached: python.instructions.md>\nWrite a function"},
    ]


def test_guideline_extraction_multiple_guideline_files(project: Project) -> None:
    project.write("evals/python.instructions.md", "<content1>")
    project.write("evals/security.instructions.md", "<content2>")
    body = """
input_messages:
  - role: user
    content:
      - type: file
        value: python.instructions.md
      - type: file
        value: security.instructions.md
"""
    assert converted(project, body, INSTRUCTIONS) == [
        {
            "role": "system",
            "content": "[[ ## Guidelines ## ]]\n\n=== python.instructions.md ===\n<content1>\n\n"
            "=== security.instructions.md ===\n<content2>",
        },
        {"role": "user", "content": "<Attached: python.instructions.md>\n<Attached: security.instructions.md>"},
    ]


def test_empty_message_filtering_message_with_only_guideline_files(project: Project) -> None:
    project.write("evals/guidelines.instructions.md", "<guideline content>")
    body = """
input_messages:
  - role: system
    content: System context
  - role: user
    content:
      - type: file
        value: guidelines.instructions.md
"""
    assert converted(project, body, INSTRUCTIONS) == [
        {"role": "system", "content": "System context\n\n[[ ## Guidelines ## ]]\n\n<guideline content>"}
    ]


def test_system_message_merging_explicit_system_message_in_input(project: Project) -> None:
    project.write("evals/short.instructions.md", "Be concise")
    # A message that holds only the guideline adds it to the system message and is not sent itself.
    body = """
input_messages:
  - role: system
    content: Custom system context
  - role: user
    content: Hello
  - role: user
    content: [{type: file, value: short.instructions.md}]
"""
    assert converted(project, body, INSTRUCTIONS, system_prompt="Default prompt") == [
        {"role": "system", "content": "Custom system context\n\n[[ ## Guidelines ## ]]\n\nBe concise"},
        {"role": "user", "content": "Hello"},
    ]


PROVIDERS: list[ChatProvider] = [
    AzureProvider(endpoint="https://azure.example"),
    OpenAIProvider(),
    AnthropicProvider(),
    GeminiProvider(),
]
every_provider = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.vendor)


def built(provider: ChatProvider, **request: Any) -> list[dict[str, Any]]:
    return [message.as_dict() for message in provider.build_chat_prompt(ProviderRequest(**request))]


@every_provider
def test_chat_prompt_field_handling_chat_prompt_provided_in_request(provider: ChatProvider) -> None:
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Help me"},
    ]
    prompt = built(
        provider,
        question="[User]: Hello\n[Assistant]: Hi\n[User]: Help me",
        chat_prompt=messages,
        guidelines=[],
    )
    assert prompt == [{"role": "system", "content": "You are a careful assistant."}, *messages]


@every_provider
def test_chat_prompt_field_handling_chat_prompt_not_provided_legacy(provider: ChatProvider) -> None:
    prompt = built(
        provider,
        question="What is the capital of France?",
        guidelines=[],
        chat_prompt=None,
        metadata={"systemPrompt": "<system prompt>"},
    )
    assert prompt == [
        {"role": "system", "content": "<system prompt>"},
        {"role": "user", "content": "What is the capital of France?"},
    ]


@every_provider
def test_system_message_handling_system_message_in_chat_prompt(provider: ChatProvider) -> None:
    messages = [
        {"role": "system", "content": "You are a code reviewer.\n\n[[ ## Guidelines ## ]]\nBe concise."},
        {"role": "user", "content": "Review this code"},
    ]
    assert built(provider, chat_prompt=messages, guidelines=[]) == messages


@every_provider
def test_system_message_handling_no_system_message_in_chat_prompt(provider: ChatProvider) -> None:
    prompt = built(
        provider,
        chat_prompt=[
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "Help me"},
        ],
        guidelines=[],
    )
    assert prompt == [
        {"role": "system", "content": "You are a careful assistant."},
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Help me"},
    ]


@every_provider
def test_guidelines_field_deprecation_both_chat_prompt_and_guidelines_provided(provider: ChatProvider) -> None:
    messages = [
        {"role": "system", "content": "System with guidelines already merged"},
        {"role": "user", "content": "Hello"},
    ]
    assert built(provider, chat_prompt=messages, guidelines=["Old guideline 1", "Old guideline 2"]) == messages


def test_baseline_implementation_azure_provider_inherits_fix() -> None:
    provider = AzureProvider(endpoint="https://azure.example")
    assert "build_chat_prompt" not in vars(AzureProvider)
    prompt = provider.build_chat_prompt(
        ProviderRequest(chat_prompt=(ChatMessage("user", "Hello"), ChatMessage("assistant", "Hi")))
    )
    assert prompt == (
        ChatMessage("system", "You are a careful assistant."),
        ChatMessage("user", "Hello"),
        ChatMessage("assistant", "Hi"),
    )


def test_vs_code_provider_non_change_vs_code_with_multi_turn_eval() -> None:
    request = ProviderRequest(
        question="[User]: Hello\n[Assistant]: Hi\n[User]: Help",
        chat_prompt=(ChatMessage("user", "Hello"), ChatMessage("assistant", "Hi"), ChatMessage("user", "Help")),
    )
    invocation = VSCodeProvider(wait=False).build_invocation(request, PLACEHOLDER_FOLDER)
    assert invocation.stdin == "[[ ## user_query ## ]]\n\n[User]: Hello\n[Assistant]: Hi\n[User]: Help"
    assert invocation == VSCodeProvider(wait=False).build_invocation(
        ProviderRequest(question=request.question), PLACEHOLDER_FOLDER
    )


def test_provider_request_orchestrator_populates_chat_prompt(project: Project) -> None:
    body = """
input_messages:
  - role: user
    content: Hello
  - role: assistant
    content: Hi there
"""
    request = project.request(body)
    assert request.question == "[User]: Hello\n[Assistant]: Hi there"
    assert request.chat_prompt == (ChatMessage("user", "Hello"), ChatMessage("assistant", "Hi there"))
    assert request.guidelines == ()

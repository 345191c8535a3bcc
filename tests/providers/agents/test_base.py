"""The document that agents get, and the invocation in a snapshot (document 1, "VS Code Provider Non-Change")."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt import (
    AgentProvider,
    ChatMessage,
    ClaudeProvider,
    CLIProvider,
    CodexProvider,
    ProviderRequest,
    VSCodeProvider,
)
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, build_document

MULTI_TURN = ProviderRequest(
    question="[User]: Hello\n[Assistant]: Hi\n[User]: Help",
    chat_prompt=(ChatMessage("user", "Hello"), ChatMessage("assistant", "Hi"), ChatMessage("user", "Help")),
)


@pytest.mark.parametrize(
    "provider",
    [VSCodeProvider(wait=False), CodexProvider(), ClaudeProvider(), CLIProvider(["agent"])],
    ids=lambda provider: type(provider).__name__,
)
def test_vs_code_provider_non_change_vs_code_with_multi_turn_eval(provider: AgentProvider) -> None:
    assert provider.build_invocation(MULTI_TURN, PLACEHOLDER_FOLDER).prompt == (
        "[[ ## user_query ## ]]\n\n[User]: Hello\n[Assistant]: Hi\n[User]: Help"
    )


@pytest.mark.parametrize(
    "provider", [VSCodeProvider(wait=False), CodexProvider(), ClaudeProvider(), CLIProvider(["agent"])]
)
def test_e4_agents_get_the_question_and_the_files_and_ignore_the_chat_prompt(provider: AgentProvider) -> None:
    request = ProviderRequest(
        question="Do it.", chat_prompt=(ChatMessage("user", "A secret turn."),), input_files=(Path("/repo/x.py"),)
    )
    invocation = provider.build_invocation(request, PLACEHOLDER_FOLDER)
    assert "Do it." in invocation.prompt
    assert invocation.files == request.input_files
    assert "A secret turn." not in f"{invocation}"


def test_the_document_links_to_guidelines_first_and_then_to_the_other_files() -> None:
    request = ProviderRequest(
        question="Do it.",
        input_files=(Path("/repo/a b.py"), Path("/repo/guide.md"), Path("/repo/ü.txt")),
        guideline_files=(Path("/repo/guide.md"),),
    )
    assert build_document(request, instructions="Be quick.") == (
        "Read all of these files before you do anything else. If one of them is missing, stop with an error that names it.\n"
        "\n"
        "Guidelines:\n"
        "- [guide.md](file:///repo/guide.md)\n"
        "\n"
        "Files:\n"
        "- [a b.py](file:///repo/a%20b.py)\n"
        "- [ü.txt](file:///repo/%C3%BC.txt)\n"
        "\n"
        "Be quick.\n"
        "\n"
        "[[ ## user_query ## ]]\n"
        "\n"
        "Do it."
    )


def test_a_document_without_other_files_has_no_heading_for_them() -> None:
    guide = Path("/repo/guide.md")
    document = build_document(ProviderRequest(question="q", input_files=(guide,), guideline_files=(guide,)))
    assert "Guidelines:" in document
    assert "Files:" not in document


def test_capture_is_true_or_false() -> None:
    assert CodexProvider(capture=True).capture
    assert not CodexProvider().capture
    with pytest.raises(ValueError, match="CodexProvider: capture must be a valid boolean, but is 'yes'"):
        CodexProvider(capture="yes")  # type: ignore[arg-type]


def test_vs_code_cannot_be_captured() -> None:
    assert not VSCodeProvider(capture=False).capture
    with pytest.raises(ValueError, match="VSCodeProvider: capture must be False: the agent runs in a window"):
        VSCodeProvider(capture=True)

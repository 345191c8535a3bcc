"""What agents are given: the document, and how a snapshot shows it (document 1, "VS Code Provider Non-Change")."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt import (
    AgentProvider,
    ChatMessage,
    CLIProvider,
    CodexProvider,
    Handover,
    ProviderRequest,
    VSCodeProvider,
)
from pytest_chatprompt.providers.agent import NOMINAL_FOLDER, prompt_document, shown

MULTI_TURN = ProviderRequest(
    question="[User]: Hello\n[Assistant]: Hi\n[User]: Help",
    chat_prompt=(ChatMessage("user", "Hello"), ChatMessage("assistant", "Hi"), ChatMessage("user", "Help")),
)


@pytest.mark.parametrize(
    "provider", [VSCodeProvider(wait=False), CodexProvider(), CLIProvider()], ids=lambda one: type(one).__name__
)
def test_vs_code_provider_non_change_vs_code_with_multi_turn_eval(provider: AgentProvider) -> None:
    assert provider.handover(MULTI_TURN, NOMINAL_FOLDER).prompt == (
        "[[ ## user_query ## ]]\n\n[User]: Hello\n[Assistant]: Hi\n[User]: Help"
    )


def test_the_document_names_guidelines_first_and_then_the_other_files() -> None:
    request = ProviderRequest(
        question="Do it.",
        input_files=(Path("/repo/a b.py"), Path("/repo/guide.md"), Path("/repo/ü.txt")),
        guideline_files=(Path("/repo/guide.md"),),
    )
    assert prompt_document(request, instructions="Be quick.") == (
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


def test_files_of_one_kind_have_one_heading() -> None:
    guide = Path("/repo/guide.md")
    document = prompt_document(ProviderRequest(question="q", input_files=(guide,), guideline_files=(guide,)))
    assert "Guidelines:" in document
    assert "Files:" not in document


def test_a_snapshot_shows_no_path_of_the_machine() -> None:
    handover = Handover(
        argv=("/repo/bin/agent", "--add-file", "/repo/evals/x.py", str(NOMINAL_FOLDER / "out.md")),
        prompt=f"[x](file:///repo/evals/x.py) [out]({(NOMINAL_FOLDER / 'out.md').as_uri()})",
        files=(Path("/repo/evals/x.py"),),
    )
    assert shown(handover, Path("/repo")) == {
        "argv": ["bin/agent", "--add-file", "evals/x.py", "{folder}/out.md"],
        "prompt": "[x](file://{rootdir}/evals/x.py) [out](file://{folder}/out.md)",
        "files": ["evals/x.py"],
    }


def test_of_an_executable_elsewhere_the_name_is_left() -> None:
    assert shown(Handover(("/opt/agent/bin/agent", "x"), "p", ()), Path("/repo"))["argv"] == ["agent", "x"]

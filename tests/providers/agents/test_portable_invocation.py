"""The invocation of an agent, as a snapshot shows it on every machine."""

from __future__ import annotations

from pathlib import Path

from pytest_chatprompt import AgentInvocation
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, portable_invocation


def test_a_portable_invocation_contains_no_path_of_this_machine() -> None:
    invocation = AgentInvocation(
        argv=("/repo/bin/agent", "--add-file", "/repo/evals/x.py", str(PLACEHOLDER_FOLDER / "out.md")),
        prompt=f"[x](file:///repo/evals/x.py) [out]({(PLACEHOLDER_FOLDER / 'out.md').as_uri()})",
        files=(Path("/repo/evals/x.py"),),
    )
    assert portable_invocation(invocation, Path("/repo")) == {
        "argv": ["bin/agent", "--add-file", "evals/x.py", "{folder}/out.md"],
        "prompt": "[x](file://{rootdir}/evals/x.py) [out](file://{folder}/out.md)",
        "files": ["evals/x.py"],
    }


def test_an_executable_outside_the_root_folder_is_shown_by_its_name() -> None:
    invocation = AgentInvocation(("/opt/agent/bin/agent", "x"), "p", ())
    assert portable_invocation(invocation, Path("/repo"))["argv"] == ["agent", "x"]

"""What an agent was given, as data that is the same on every machine.

An `AgentInvocation` or a text, and pytest's root folder come in; JSON data with placeholders comes out. Pure functions;
`snapshots` calls them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER, AgentInvocation


def portable_invocation(invocation: AgentInvocation, root: Path) -> dict[str, Any]:
    """Convert an invocation to JSON data that is the same on every machine.

    Args:
        invocation: built for `PLACEHOLDER_FOLDER`.
        root: pytest's root folder.

    Returns:
        The keys `argv`, `prompt` and `files`. Paths are relative to the root folder, URIs start with
        `file://{rootdir}`, the temporary folder is `{folder}`, and an executable outside the root folder is only
        its name.
    """
    executable, *arguments = invocation.argv
    if Path(executable).is_absolute() and not Path(executable).is_relative_to(root):
        executable = Path(executable).name

    def portable(text: str) -> str:
        return portable_text(text, root).replace(f"{root}{os.sep}", "")

    return {
        "argv": [portable(item) for item in (executable, *arguments)],
        "prompt": portable(invocation.prompt),
        "files": [portable(str(path)) for path in invocation.files],
    }


def portable_text(text: str, root: Path) -> str:
    """Put placeholders in place of the temporary folder, and of the root folder in URIs.

    Args:
        text: any text that an agent was given, or sent.
        root: pytest's root folder.
    """
    text = text.replace(PLACEHOLDER_FOLDER.as_uri(), "file://{folder}").replace(root.as_uri(), "file://{rootdir}")
    return text.replace(str(PLACEHOLDER_FOLDER), "{folder}")

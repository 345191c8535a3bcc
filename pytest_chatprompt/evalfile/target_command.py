"""The command of one of AgentV's targets, as this package runs it: without a shell, with placeholders of its own.

In: the template of a command. Out: its words. Pure; only `agentv_targets` calls it.
Source: AgentV's documentation of targets ("CLI Provider").
"""

from __future__ import annotations

import re
import shlex
from typing import Final

_PLACEHOLDERS: Final = {
    "PROMPT": "{prompt}",
    "PROMPT_FILE": "{prompt_file}",
    "GUIDELINES": "{guidelines}",
    "OUTPUT_FILE": "{output_file}",
    "EVAL_ID": "{eval_id}",
    "ATTEMPT": "0",
}
_PLACEHOLDER: Final = re.compile(r"\{([A-Z_]+)\}")
# What only a shell understands, outside of quotes.
_SHELL: Final = re.compile(r"[|&;<>`]|\$[\w({]")


def cli_command(template: str, files_format: str) -> tuple[str, ...]:
    """Split a command into words.

    Args:
        template: a command with placeholders such as `{PROMPT}`.
        files_format: how `{FILES}` names a file, with the placeholder `{path}`.

    Returns:
        The words, as `CLIProvider` takes them.

    Raises:
        ValueError: it cannot run here; the text completes a sentence about the target.
    """
    if not template.strip():
        raise ValueError("has no 'command'")
    try:
        words = shlex.split(template)
        file_words = shlex.split(files_format)
    except ValueError as error:
        raise ValueError(f"has a command that cannot be split into words ({error})") from None
    if _SHELL.search(template):
        raise ValueError("has a command for a shell, but commands run without a shell here")
    if "{FILES}" in template and (len(file_words) != 1 or "{basename}" in files_format):
        raise ValueError(f"writes a file as {files_format!r}, but here it must be one word with {{path}}")
    values = {**_PLACEHOLDERS, "FILES": file_words[0].replace("{path}", "{files}") if file_words else ""}
    return tuple(_PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), word) for word in words)

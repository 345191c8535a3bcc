"""The fields of AgentV's targets: which of them count here, for which provider.

In: a field, and the name of a provider. Out: what the field is here. Pure; only `agentv_targets` calls it.
Source: AgentV's documentation of targets, whose fields may be in snake or in camel case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from pytest_chatprompt.wording import did_you_mean

# The attributes of each agent that a target may set.
AGENTS: Final[Mapping[str, frozenset[str]]] = {
    "codex": frozenset({"executable", "model", "args", "cwd", "timeout_seconds"}),
    "vscode": frozenset({"executable", "args", "cwd", "timeout_seconds"}),
    "cli": frozenset({"command", "files_format", "cwd", "timeout_seconds"}),
}
# What the API of a model may have.
CHAT_FIELDS: Final = frozenset({"model", "temperature", "max_output_tokens", "api_key", "endpoint", "api_version"})
# The same by other names.
_NAMES: Final[Mapping[str, str]] = {
    "deployment": "model",
    "deployment_name": "model",
    "variant": "model",
    "max_tokens": "max_output_tokens",
    "resource": "endpoint",
    "resource_name": "endpoint",
    "base_url": "endpoint",
    "version": "api_version",
    "vscode_cmd": "executable",
    "command_template": "command",
    "attachments_format": "files_format",
    "arguments": "args",
}
# These fields change neither what is sent nor where it is sent.
_SILENT: Final = frozenset(
    {
        "name",
        "provider",
        "judge_target",
        "grader_target",
        "workers",
        "provider_batching",
        "max_retries",
        "retry_initial_delay_ms",
        "retry_max_delay_ms",
        "retry_backoff_factor",
        "retry_status_codes",
        "timeout_seconds",
        "log_dir",
        "log_format",
        "stream_log",
        "verbose",
        "cli_verbose",
        "keep_temp_files",
        "keep_output_files",
        "healthcheck",
    }
)


class FieldUse(Enum):
    """Whether a field has an effect, can be ignored, or is unsupported."""

    EFFECTIVE = "effective"
    SILENT = "silent"
    NONE = "none"


class TargetField(NamedTuple):
    """A field of a target.

    Args:
        name: its name here.
        use: what it does here.
        suggestion: `did you mean ...?` for an unsupported field; `""` if no known name is close.
    """

    name: str
    use: FieldUse
    suggestion: str = ""


def find_field(key: str, provider: str) -> TargetField:
    """Find what a field of a target does here; snake and camel case are the same.

    Args:
        key: as the author wrote it.
        provider: the name of the target's provider here.
    """
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()
    name = _NAMES.get(snake, snake)
    effective = AGENTS.get(provider, CHAT_FIELDS)
    if name in effective:
        return TargetField(name, FieldUse.EFFECTIVE)
    if name in _SILENT or name.startswith("x-"):
        return TargetField(name, FieldUse.SILENT)
    return TargetField(name, FieldUse.NONE, did_you_mean(snake, effective | _SILENT))

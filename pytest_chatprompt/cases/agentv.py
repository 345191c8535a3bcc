"""AgentV's targets: what the names stand for that its eval files give to providers, in `.agentv/targets.yaml`.

Source: AgentV's documentation of targets ("Target Configuration", "LLM Providers", "Coding Agents").
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import TypeAdapter, ValidationError

from pytest_chatprompt.cases.diagnostics import describe_value, explain_validation_error
from pytest_chatprompt.cases.fields import TupleOf
from pytest_chatprompt.cases.settings import RequestSettings
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.yaml import Node, Position, read_yaml_file
from pytest_chatprompt.wording import did_you_mean, shown_path

_KEY: Final = "guideline_patterns"


@cache
def _settings_adapter() -> TypeAdapter[dict[str, tuple[str, ...] | None]]:
    # Built on first use, since few projects have these settings.
    return TypeAdapter(dict[str, TupleOf[str] | None])


def read_guideline_patterns(path: Path, root: Path) -> tuple[str, ...]:
    """Read the `guideline_patterns` of a `.agentv/config.yaml`; empty if it has none.

    Raises:
        EvalFileError: the settings are not valid YAML, or the patterns are not a list of strings.
    """
    document = read_yaml_file(path, root, shown_path(path, root)).document
    data = document.data()
    if not isinstance(data, dict) or _KEY not in data:
        return ()
    try:
        settings = _settings_adapter().validate_python({_KEY: data[_KEY]})
    except ValidationError as error:
        from pytest_chatprompt.cases.diagnostics import explain_validation_error  # noqa: PLC0415 - most are valid

        raise EvalFileError(
            Diagnostic(shown_path(path, root), position.line, position.column, text)
            for position, text in explain_validation_error(error, document)
        ) from error
    return settings[_KEY] or ()


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
    """Find what a field of a target does here; snake and camel case are the same."""
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()
    name = _NAMES.get(snake, snake)
    effective = AGENTS.get(provider, CHAT_FIELDS)
    if name in effective:
        return TargetField(name, FieldUse.EFFECTIVE)
    if name in _SILENT or name.startswith("x-"):
        return TargetField(name, FieldUse.SILENT)
    return TargetField(name, FieldUse.NONE, did_you_mean(snake, effective | _SILENT))


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


# Providers that have another name here.
_PROVIDERS: Final = {
    "azure-openai": "azure",
    "google": "gemini",
    "google-gemini": "gemini",
    "codex-cli": "codex",
    "vscode-insiders": "vscode",
}
_REFERENCE: Final = re.compile(r"\$\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True)
class Target:
    """A target of AgentV: a provider under a name, with settings of its own.

    Args:
        name: its name.
        place: where it stands, as messages show it: `.agentv/targets.yaml:3:5`.
        provider: the name of its provider here.
        settings: the settings of its requests.
        api_key: a text with references to environment variables; `None` if it has none.
        endpoint: the base URL, or the name of an Azure resource, which may have references; `None` if it has none.
        api_version: the version of the API; `None` if it has none.
        agent: the attributes of an agent that it sets.
        ineffective: what of it has no effect.
    """

    name: str
    place: str
    provider: str
    settings: Mapping[str, Any]
    api_key: str | None
    endpoint: str | None
    api_version: str | None
    agent: Mapping[str, Any]
    ineffective: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class TargetsFile:
    """A file of targets.

    Args:
        shown_path: the file as messages show it.
        nodes: the definitions by name.
        repeated: what is wrong with each name that several definitions have.
    """

    shown_path: str
    nodes: Mapping[str, Node]
    repeated: Mapping[str, Diagnostic]

    def read(self, name: str) -> Target:
        """Read a target.

        Raises:
            EvalFileError: something in the target is wrong; that of others does not matter.
        """
        if name in self.repeated:
            raise EvalFileError([self.repeated[name]])
        return _TargetReader(self.shown_path, name, self.nodes[name]).read()


def read_targets_file(path: Path, root: Path) -> TargetsFile:
    """Read the names of the targets in a file.

    Raises:
        EvalFileError: it is not valid YAML, or no mapping with a list of `targets`.
    """
    shown = shown_path(path, root)
    document = read_yaml_file(path, root, shown).document
    entry = document.find_entry(("targets",))
    if entry is None or not isinstance(entry.node.value, tuple):
        position = document.position if entry is None else entry.node.position
        raise EvalFileError([Diagnostic(shown, *position, "targets must be a list under the key 'targets'")])
    nodes: dict[str, Node] = {}
    repeated: dict[str, Diagnostic] = {}
    for node in entry.node.value:
        written = node.find_entry(("name",))
        if written is None or not isinstance(written.node.value, str):
            continue
        name = written.node.value
        if name in nodes:
            text = f"the target {name!r} is defined twice, first on line {nodes[name].position.line}"
            line, column = written.node.position
            repeated.setdefault(name, Diagnostic(shown, line, column, f"{text}; give each target a name of its own"))
        nodes.setdefault(name, node)
    return TargetsFile(shown, nodes, repeated)


class _TargetReader:
    """Reads one target, and collects what is wrong with it or has no effect."""

    def __init__(self, shown_path: str, name: str, node: Node) -> None:
        self.shown_path = shown_path
        self.name = name
        self.node = node
        self.problems: list[Diagnostic] = []
        self.ineffective: list[Diagnostic] = []
        self.values: dict[str, Any] = {}

    def read(self) -> Target:
        written = self.node.find_entry(("provider",))
        if written is None or not isinstance(written.node.value, str) or not written.node.value:
            position = self.node.position if written is None else written.node.position
            description = "" if written is None else f", but it is {describe_value(written.node)}"
            text = f"the target {self.name!r} must name its 'provider'{description}"
            raise EvalFileError([self.diagnostic(position, text)])
        vendor = written.node.value.lower()
        provider = _PROVIDERS.get(vendor, vendor)
        for key, entry in self.node.value.items():
            self.read_field(str(key), entry.key.position, entry.node, provider)
        settings = {name: value for name, value in self.values.items() if name in RequestSettings.model_fields}
        agent = {name: value for name, value in self.values.items() if name in AGENTS.get(provider, ())}
        if provider == "cli" and not self.problems:
            agent["command"] = self.command(agent.pop("command", ""), agent.pop("files_format", "{path}"))
        if vendor == "vscode-insiders":
            agent.setdefault("executable", "code-insiders")
        if provider not in AGENTS:
            self.problems += self.wrong_settings(settings)
        if self.problems:
            raise EvalFileError(sorted(self.problems))
        return Target(
            self.name,
            f"{self.shown_path}:{self.node.position.line}:{self.node.position.column}",
            provider,
            {} if provider in AGENTS else settings,
            self.values.get("api_key"),
            self.values.get("endpoint"),
            self.values.get("api_version"),
            agent,
            tuple(self.ineffective),
        )

    def read_field(self, key: str, position: Position, node: Node, provider: str) -> None:
        field = find_field(key, provider)
        if node.value is None or field.use is FieldUse.SILENT:
            return
        if field.use is FieldUse.NONE:
            text = f"{key!r} of the target {self.name!r} has no effect here; "
            self.warn(position, text + (field.suggestion or f"set it in a fixture {self.name}_provider"))
            return
        value = node.data()
        is_text = field.name not in ("temperature", "max_output_tokens", "args", "timeout_seconds")
        if is_text and not isinstance(value, str):
            self.problem(node, f"{key!r} must be a string, but is {describe_value(node, with_hint=True)}")
        elif field.name == "args" and not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
            self.problem(node, f"{key!r} must be a list of strings, but is {describe_value(node)}")
        elif field.name == "timeout_seconds" and (isinstance(value, bool) or not isinstance(value, int | float)):
            self.problem(node, f"{key!r} must be a number, but is {describe_value(node)}")
        elif field.name == "api_key" and not _REFERENCE.fullmatch(value.strip()):
            self.problem(
                node, f"{key!r} must be a reference such as ${{{{ OPENAI_API_KEY }}}}: do not write keys into files"
            )
        elif field.name not in ("api_key", "endpoint", "cwd") and _has_reference(value):
            text = f"{key!r} of the target {self.name!r} comes from the environment, on which snapshots must not depend"
            self.warn(position, f"{text}: that of {provider}_provider counts; write it here, or override that fixture")
        else:
            self.values[field.name] = value

    def command(self, template: str, files_format: str) -> tuple[str, ...]:
        """The command of a CLI with the placeholders that it has here."""
        try:
            return cli_command(template, files_format)
        except ValueError as error:
            position = self.node.key_position("command" if "command" in self.node.value else "command_template")
            text = f"the target {self.name!r} {error}; write a fixture {self.name}_provider that returns a CLIProvider"
            self.problems.append(self.diagnostic(position, text))
            return ()

    def wrong_settings(self, settings: Mapping[str, Any]) -> Iterator[Diagnostic]:
        """What is wrong with the settings of a chat provider, at the lines of their fields."""
        try:
            RequestSettings.model_validate(settings)
        except ValidationError as error:
            nodes = {
                find_field(str(key), "").name: entry
                for key, entry in self.node.value.items()
                if entry.node.value is not None
            }
            fields = Node(self.node.mark, {name: nodes[name] for name in settings})
            for position, text in explain_validation_error(error, fields):
                yield self.diagnostic(position, text)

    def diagnostic(self, position: Position, text: str) -> Diagnostic:
        return Diagnostic(self.shown_path, position.line, position.column, text)

    def problem(self, node: Node, text: str) -> None:
        self.problems.append(self.diagnostic(node.position, text))

    def warn(self, position: Position, text: str) -> None:
        self.ineffective.append(self.diagnostic(position, text))


def _has_reference(value: Any) -> bool:
    return any(isinstance(text, str) and "${{" in text for text in (value if isinstance(value, list) else (value,)))


def resolve_references(text: str, environ: Mapping[str, str]) -> str:
    """Fill in the environment variables that a text refers to.

    Raises:
        KeyError: one of them is not set, or empty.
    """

    def value_of(reference: re.Match[str]) -> str:
        value = environ.get(reference[1])
        if not value:
            raise KeyError(reference[1])
        return value

    return _REFERENCE.sub(value_of, text.strip())

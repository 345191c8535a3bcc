"""AgentV's targets: what the names stand for that its eval files give to providers, in `.agentv/targets.yaml`.

Source: AgentV's documentation of targets ("Target Configuration", "LLM Providers", "Coding Agents").
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from pytest_chatprompt.cases.diagnostics import explain_validation_error
from pytest_chatprompt.cases.fields import TupleOf, is_number
from pytest_chatprompt.cases.request_options import RequestSettings
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.yaml import Node, Position, read_yaml_file
from pytest_chatprompt.wording import did_you_mean, shown_path

_KEY: Final = "guideline_patterns"
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
    (
        *("name", "provider", "judge_target", "grader_target", "workers", "provider_batching", "healthcheck"),
        *("max_retries", "retry_initial_delay_ms", "retry_max_delay_ms", "retry_backoff_factor", "retry_status_codes"),
        *("timeout_seconds", "log_dir", "log_format", "stream_log", "verbose", "cli_verbose"),
        *("keep_temp_files", "keep_output_files"),
    )
)
# What a field must be that is no text; `RequestSettings` checks the settings.
_KINDS: Final[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {
    "args": (
        "a list of strings",
        lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value),
    ),
    "timeout_seconds": ("a number", is_number),
    "temperature": ("", lambda _: True),
    "max_output_tokens": ("", lambda _: True),
}


def read_guideline_patterns(path: Path, root: Path) -> tuple[str, ...]:
    """Read the `guideline_patterns` of a `.agentv/config.yaml`; empty if it has none."""
    shown = shown_path(path, root)
    _, document, _ = read_yaml_file(path, root, shown)
    data = document.data()
    if not isinstance(data, dict) or _KEY not in data:
        return ()
    adapter: TypeAdapter[dict[str, tuple[str, ...] | None]] = TypeAdapter(dict[str, TupleOf[str] | None])
    try:
        return adapter.validate_python({_KEY: data[_KEY]})[_KEY] or ()
    except ValidationError as error:
        problems = explain_validation_error(error, document)
        raise EvalFileError(Diagnostic(shown, *position, text) for position, text in problems) from error


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
    """Split a command with placeholders such as `{PROMPT}` into the words that `CLIProvider` takes.

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
    """A target of AgentV: a provider under a name, with settings of its own."""

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
    """A file of targets: the definitions by name, and what is wrong with names that several of them have."""

    shown_path: str
    nodes: Mapping[str, Node]
    repeated: Mapping[str, Diagnostic]

    def read(self, name: str) -> Target:
        """Read a target; what is wrong with others does not matter."""
        if name in self.repeated:
            raise EvalFileError([self.repeated[name]])
        return _TargetReader(self.shown_path, name, self.nodes[name]).read()


def read_targets_file(path: Path, root: Path) -> TargetsFile:
    """Read the names of the targets in a file."""
    shown = shown_path(path, root)
    _, document, _ = read_yaml_file(path, root, shown)
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
            text += "; give each target a name of its own"
            line, column = written.node.position
            repeated.setdefault(name, Diagnostic(shown, line, column, text))
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
        written = self.node.find(("provider",))
        if not isinstance(written.value, str) or not written.value:
            description = "" if written is self.node else f", but it is {written.describe()}"
            text = f"the target {self.name!r} must name its 'provider'{description}"
            raise EvalFileError([self.diagnostic(written.position, text)])
        vendor = written.value.lower()
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
        snake, effective = _snake(key), AGENTS.get(provider, CHAT_FIELDS)
        name = _NAMES.get(snake, snake)
        if node.value is None or (name not in effective and (name in _SILENT or name.startswith("x-"))):
            return
        value = node.data()
        expected, is_valid = _KINDS.get(name, ("a string", lambda value: isinstance(value, str)))
        target = f"{key!r} of the target {self.name!r}"
        if name not in effective:
            hint = did_you_mean(snake, effective | _SILENT) or f"set it in a fixture {self.name}_provider"
            self.warn(position, f"{target} has no effect here; {hint}")
        elif not is_valid(value):
            description = node.describe(with_hint=expected == "a string")
            self.problem(node.position, f"{key!r} must be {expected}, but is {description}")
        elif name == "api_key" and not _REFERENCE.fullmatch(value.strip()):
            text = f"{key!r} must be a reference such as ${{{{ OPENAI_API_KEY }}}}: do not write keys into files"
            self.problem(node.position, text)
        elif name not in ("api_key", "endpoint", "cwd") and "${{" in str(value):
            text = f"{target} comes from the environment, on which snapshots must not depend"
            self.warn(position, f"{text}: that of {provider}_provider counts; write it here, or override that fixture")
        else:
            self.values[name] = value

    def command(self, template: str, files_format: str) -> tuple[str, ...]:
        """The command of a CLI with the placeholders that it has here."""
        try:
            return cli_command(template, files_format)
        except ValueError as error:
            position = self.node.key_position("command" if "command" in self.node.value else "command_template")
            text = f"the target {self.name!r} {error}; write a fixture {self.name}_provider that returns a CLIProvider"
            self.problem(position, text)
            return ()

    def wrong_settings(self, settings: Mapping[str, Any]) -> Iterator[Diagnostic]:
        """What is wrong with the settings of a chat provider, at the lines of their fields."""
        try:
            RequestSettings.model_validate(settings)
        except ValidationError as error:
            entries = self.node.value.items()
            written = {_snake(str(key)): entry for key, entry in entries if entry.node.value is not None}
            nodes = {_NAMES.get(snake, snake): entry for snake, entry in written.items()}
            fields = Node(self.node.mark, {name: nodes[name] for name in settings})
            for position, text in explain_validation_error(error, fields):
                yield self.diagnostic(position, text)

    def diagnostic(self, position: Position, text: str) -> Diagnostic:
        return Diagnostic(self.shown_path, *position, text)

    def problem(self, position: Position, text: str) -> None:
        self.problems.append(self.diagnostic(position, text))

    def warn(self, position: Position, text: str) -> None:
        self.ineffective.append(self.diagnostic(position, text))


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", key).lower()


def resolve_references(text: str, environ: Mapping[str, str]) -> str:
    """Fill in the environment variables that a text refers to; a `KeyError` names one that is not set, or empty."""

    def value_of(reference: re.Match[str]) -> str:
        value = environ.get(reference[1])
        if not value:
            raise KeyError(reference[1])
        return value

    return _REFERENCE.sub(value_of, text.strip())

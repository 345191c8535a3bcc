"""AgentV's targets: what the names stand for that its eval files give to providers, in `.agentv/targets.yaml`.

In: the name of a target, and the folder of an eval file. Out: a `Target`: the provider, and what the target says about
it. Nothing of the environment is read here. `items.agentv_providers` calls it, for names that no fixture has.
Source: AgentV's documentation of targets ("Target Configuration", "LLM Providers", "Coding Agents").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.evalfile.agentv_target_fields import AGENTS, FieldUse, find_field
from pytest_chatprompt.evalfile.diagnostics import describe_value, explain_validation_error
from pytest_chatprompt.evalfile.settings import RequestSettings
from pytest_chatprompt.evalfile.target_command import cli_command
from pytest_chatprompt.evalfile.yaml_file import read_yaml_file
from pytest_chatprompt.evalfile.yaml_tree import Node, Position
from pytest_chatprompt.wording import shown_path

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

        Args:
            name: one of the names in it.

        Raises:
            EvalFileError: something in the target is wrong; that of others does not matter.
        """
        if name in self.repeated:
            raise EvalFileError([self.repeated[name]])
        return _TargetReader(self.shown_path, name, self.nodes[name]).read()


def read_targets_file(path: Path, root: Path) -> TargetsFile:
    """Read the names of the targets in a file.

    Args:
        path: the file, absolute.
        root: pytest's root folder.

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

    Args:
        text: with references such as `${{ OPENAI_API_KEY }}`.
        environ: the variables.

    Raises:
        KeyError: one of them is not set, or empty.
    """

    def value_of(reference: re.Match[str]) -> str:
        value = environ.get(reference[1])
        if not value:
            raise KeyError(reference[1])
        return value

    return _REFERENCE.sub(value_of, text.strip())

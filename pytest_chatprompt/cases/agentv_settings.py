"""AgentV's settings, in `.agentv/`: the provider that each name of a target stands for, and patterns of guidelines.

Source: AgentV's documentation of targets ("Target Configuration", "LLM Providers", "Coding Agents").
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

from pydantic import ValidationError

from pytest_chatprompt.cases.case import SharedKeys
from pytest_chatprompt.cases.diagnostics import explain_validation_error
from pytest_chatprompt.cases.fields import NonEmptyString, TupleOf, is_number
from pytest_chatprompt.cases.request_options import RequestSettings
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from pytest_chatprompt.text.json_data import checked
from pytest_chatprompt.text.yaml import Entry, Node, Position, read_yaml_file
from pytest_chatprompt.wording import did_you_mean, shown_path

# The attributes of each agent that a target may set.
AGENTS: Final[Mapping[str, frozenset[str]]] = {
    "codex": frozenset({"executable", "model", "args", "cwd", "timeout_seconds"}),
    "claude": frozenset({"executable", "model", "args", "cwd", "timeout_seconds"}),
    "vscode": frozenset({"executable", "args", "cwd", "timeout_seconds"}),
    "cli": frozenset({"command", "files_format", "cwd", "timeout_seconds"}),
}
# What the API of a model may have.
CHAT_FIELDS: Final = frozenset({"model", "temperature", "max_output_tokens", "api_key", "endpoint", "api_version"})
# The same by other names.
_NAMES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("deployment", "deployment_name", "variant"), "model"),
    "max_tokens": "max_output_tokens",
    **dict.fromkeys(("resource", "resource_name", "base_url"), "endpoint"),
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
        *("timeout_seconds", "log_dir", "log_directory", "log_format", "log_output_format", "stream_log", "verbose"),
        *("cli_verbose", "keep_temp_files", "keep_output_files"),
    )
)
# These have an effect in AgentV alone, and look like others.
_INERT: Final = frozenset(("api_format", "execution_traces", "max_turns", "source_target", "subprovider"))


class _TargetFields(RequestSettings):
    """What the fields of a target must be."""

    api_key: str | None = None
    endpoint: str | None = None
    api_version: str | None = None
    executable: NonEmptyString | None = None
    args: TupleOf[str] | None = None
    command: str = ""
    files_format: str = ""
    cwd: str | None = None
    timeout_seconds: Annotated[float, checked("a number above 0", lambda it: is_number(it) and it > 0)] | None = None


def read_guideline_patterns(path: Path, root: Path) -> tuple[str, ...]:
    """Read the `guideline_patterns` of a `.agentv/config.yaml`; empty if it has none."""
    shown = shown_path(path, root)
    _, document = read_yaml_file(path, root, shown)
    entry = document.find_entry(("guideline_patterns",))
    try:
        return SharedKeys(guideline_patterns=entry and entry.node.data()).guideline_patterns or ()
    except ValidationError as error:
        problems = explain_validation_error(error, document)
        raise EvalFileError(Diagnostic(shown, *position, text) for position, text in problems) from error


_PLACEHOLDERS: Final = ("PROMPT", "PROMPT_FILE", "GUIDELINES", "OUTPUT_FILE", "EVAL_ID")


def cli_command(template: str, files_format: str) -> tuple[str | tuple[str, ...], ...]:
    """Split a command with placeholders such as `{PROMPT}` into the words that `CLIProvider` takes.

    The text of a `ValueError` completes a sentence about the target.
    """
    if not template.strip():
        raise ValueError("has no 'command'")
    try:
        words = shlex.split(template)
        file_words = shlex.split(files_format)
    except ValueError as error:
        raise ValueError(f"has a command that cannot be split into words ({error})") from None
    # What only a shell understands, outside of quotes.
    if re.search(r"[|&;<>`]|\$[\w({]", template):
        raise ValueError("has a command for a shell, but commands run without a shell here")
    if "{FILES}" in template:
        is_alone = all(word == "{FILES}" for word in words if "{FILES}" in word)
        if not file_words or "{basename}" in files_format or (len(file_words) > 1 and not is_alone):
            raise ValueError(
                f"writes a file as {files_format!r}, but here it must have {{path}}, and {{FILES}} must stand alone"
            )
    file = tuple(word.replace("{path}", "{files}") for word in file_words)
    values = {name: "{" + name.lower() + "}" for name in _PLACEHOLDERS}
    values |= {"ATTEMPT": "0", "FILES": file[0] if file else ""}

    def filled(word: str) -> str:
        return re.sub(r"\{([A-Z_]+)\}", lambda match: values.get(match[1], match[0]), word)

    # Several words, such as `--file {path}`, are repeated together.
    return tuple(file if word == "{FILES}" and len(file) > 1 else filled(word) for word in words)


# Providers that have another name here.
_PROVIDERS: Final = {
    "azure-openai": "azure",
    "google": "gemini",
    "google-gemini": "gemini",
    "codex-cli": "codex",
    "claude-cli": "claude",
}
# In 4.x and in 5.x.
_REFERENCE: Final = re.compile(r"\$?\{\{\s*(?:env\.)?(\w+)\s*\}\}")


class Target(NamedTuple):
    """A provider under a name, with settings of its own: a target of AgentV, or a variant, which has no `place`."""

    name: str
    place: str
    provider: str
    settings: Mapping[str, Any]
    agent: Mapping[str, Any]
    api_key: str | None = None
    endpoint: str | None = None
    api_version: str | None = None
    ineffective: tuple[Diagnostic, ...] = ()


class TargetsFile(NamedTuple):
    """A file of targets: the definitions by name, of which each should have one."""

    shown_path: str
    nodes: Mapping[str, list[Node]]

    def read(self, name: str) -> Target:
        """Read a target; what is wrong with others does not matter."""
        node, *others = self.nodes[name]
        if others:
            text = f"the target {name!r} is defined twice, first on line {node.position.line}"
            text += "; give each target a name of its own"
            raise EvalFileError([Diagnostic(self.shown_path, *others[0].find(("name",)).position, text)])
        return _read_target(self.shown_path, name, node)


def read_targets_file(path: Path, root: Path) -> TargetsFile:
    """Read the names of the targets in a file."""
    shown = shown_path(path, root)
    _, document = read_yaml_file(path, root, shown)
    key = path.stem
    targets = document.find((key,))
    # What AgentV 5 calls providers may be the whole file.
    if not isinstance(targets.value, tuple) or (targets is document and key == "targets"):
        raise EvalFileError([Diagnostic(shown, *targets.position, f"{key} must be a list under the key {key!r}")])
    nodes: dict[str, list[Node]] = {}
    for node in map(_as_target, targets.value):
        written = node.find_entry(("name",))
        if written is not None and isinstance(written.node.value, str):
            nodes.setdefault(written.node.value, []).append(node)
    return TargetsFile(shown, nodes)


def _as_target(node: Node) -> Node:
    """A provider of AgentV 5 as a target of 4: its settings stand beside its name, which is its label, else its id."""
    if not isinstance(node.value, dict):
        return node
    config = node.find(("config",)).value
    entries = {key: each for key, each in node.value.items() if key != "config" or not isinstance(config, dict)}
    entries |= config if "config" in node.value and isinstance(config, dict) else {}
    for key in ("label", "id"):
        if key in entries:
            entries.setdefault("provider" if "name" in entries else "name", entries.pop(key))
    return Node(node.mark, entries)


def _read_target(shown: str, name: str, node: Node) -> Target:
    def diagnostic(position: Position, text: str) -> Diagnostic:
        return Diagnostic(shown, *position, text)

    written = node.find(("provider",))
    if not isinstance(written.value, str) or not written.value:
        description = "" if written is node else f", but it is {written.describe()}"
        text = f"the target {name!r} must name its 'provider'{description}"
        raise EvalFileError([diagnostic(written.position, text)])
    provider = _PROVIDERS.get(written.value.lower(), written.value.lower())
    fields: dict[str, Entry] = {}
    ineffective = []
    written_fields = {key: entry for key, entry in node.value.items() if entry.node.value is not None}
    for key, entry in written_fields.items():
        field = _NAMES.get(_snake(key), _snake(key))
        problem = _why_ineffective(field, entry, name, provider, fields)
        if problem:
            ineffective.append(diagnostic(entry.key.position, f"{key!r} of the target {name!r} {problem}"))
        elif field in AGENTS.get(provider, CHAT_FIELDS):
            fields[field] = entry
    effective = Node(node.mark, fields)
    try:
        values = _TargetFields.model_validate(effective.data())
    except ValidationError as error:
        problems = [diagnostic(*problem) for problem in explain_validation_error(error, effective)]
        raise EvalFileError(sorted(problems)) from error
    if values.api_key is not None and not _REFERENCE.fullmatch(values.api_key.strip()):
        text = "'api_key' must be a reference such as ${{ OPENAI_API_KEY }}: do not write keys into files"
        raise EvalFileError([diagnostic(fields["api_key"].node.position, text)])
    given = {field: getattr(values, field) for field in fields}
    if provider == "cli":
        try:
            given["command"] = cli_command(values.command, given.pop("files_format", "{path}"))
        except ValueError as error:
            text = f"the target {name!r} {error}; write a fixture {name}_provider that returns a CLIProvider"
            position = fields["command"].key.position if "command" in fields else node.position
            raise EvalFileError([diagnostic(position, text)]) from None
    settings = {field: value for field, value in given.items() if field in RequestSettings.model_fields}
    return Target(
        name,
        f"{shown}:{node.position.line}:{node.position.column}",
        provider,
        {} if provider in AGENTS else settings,
        given if provider in AGENTS else {},
        values.api_key,
        values.endpoint,
        values.api_version,
        tuple(ineffective),
    )


def _why_ineffective(field: str, entry: Entry, name: str, provider: str, before: Mapping[str, Entry]) -> str:
    """Why a field does not count here, if that has to be told; else `""`."""
    known = AGENTS.get(provider, CHAT_FIELDS)
    if field not in known:
        hint = did_you_mean(field, () if field in _INERT else known | _SILENT) or f"set it in a fixture {name}_provider"
        return "" if field in _SILENT or field.startswith("x-") else f"has no effect here; {hint}"
    if field in before:
        return f"sets what another key sets on line {before[field].key.position.line}; leave one of them out"
    if field in ("api_key", "endpoint", "cwd") or not _REFERENCE.search(str(entry.node.data())):
        return ""
    return (
        f"comes from the environment, on which snapshots must not depend: that of {provider}_provider counts; "
        "write it here, or override that fixture"
    )


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

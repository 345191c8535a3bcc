"""OpenAI's Codex, run once without a terminal.

Source: `codex exec --help` and the event lines of codex-cli 0.169.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Unpack

from pytest_chatprompt.errors import AgentError
from pytest_chatprompt.providers.agent import AgentProvider, AgentSettings, Handover, prompt_document
from pytest_chatprompt.providers.process import Finished, last_words
from pytest_chatprompt.requests import ProviderRequest, ProviderResponse, TokenUsage

_LAST_MESSAGE: Final = "last-message.md"


class CodexProvider(AgentProvider):
    """Runs `codex exec`, the document on its standard input.

    Args:
        executable: the program, a name on PATH or a path.
        model: the model; `None` for the one of Codex's own settings.
        sandbox: `read-only`, `workspace-write` or `danger-full-access`; `None` for Codex's default.
        config: overrides of Codex's settings, by dotted key; values are written as TOML.
        extra_args: further arguments.
        settings: see `AgentSettings`.
    """

    def __init__(
        self,
        *,
        executable: str = "codex",
        model: str | None = None,
        sandbox: str | None = None,
        config: Mapping[str, Any] | None = None,
        extra_args: Sequence[str] = (),
        **settings: Unpack[AgentSettings],
    ) -> None:
        super().__init__(executable=executable, **settings)
        self.model = model
        self.sandbox = sandbox
        self.config = dict(config or {})
        self.extra_args = tuple(extra_args)

    def handover(self, request: ProviderRequest, folder: Path) -> Handover:
        """`codex exec ... -`, with the document on standard input and the answer in a file."""
        prompt = prompt_document(request)
        argv = [self.executable, "exec", "--json", "--skip-git-repo-check", "--color", "never"]
        argv += ["--output-last-message", str(folder / _LAST_MESSAGE)]
        argv += ["--model", self.model] if self.model is not None else []
        argv += ["--sandbox", self.sandbox] if self.sandbox is not None else []
        for key, value in self.config.items():
            # JSON's strings, numbers, booleans and lists are TOML's too.
            argv += ["-c", f"{key}={json.dumps(value, ensure_ascii=False)}"]
        return Handover((*argv, *self.extra_args, "-"), prompt, request.input_files, stdin=prompt)

    def answer(self, finished: Finished, folder: Path) -> ProviderResponse:
        """The last message, with the token usage of the event lines.

        Raises:
            AgentError: Codex failed, a turn of it did, or the last message is empty.
        """
        events = list(_events(finished.output))
        failures = [_failure(event) for event in events if event.get("type") in ("turn.failed", "error")]
        own_words = f": {failures[-1]}" if failures else ""
        if finished.status:
            raise AgentError(finished.told(self.executable, own_words))
        if any(event.get("type") == "turn.failed" for event in events):
            raise AgentError(f"{self.executable} failed{own_words}")
        last_message = folder / _LAST_MESSAGE
        text = last_message.read_text(encoding="utf-8", errors="replace") if last_message.is_file() else ""
        if not text.strip():
            raise AgentError(f"{self.executable} ended without a last message{last_words(finished.errors)}")
        completed = [event for event in events if event.get("type") == "turn.completed"]
        return ProviderResponse(
            text=text,
            finish_reason="turn.completed" if completed else None,
            usage=_total([event["usage"] for event in completed if isinstance(event.get("usage"), dict)]),
            raw=events,
        )


def _events(output: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines of an output."""
    # Not `splitlines`: JSON may hold other line separators as they are.
    for line in output.split("\n"):
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _failure(event: Mapping[str, Any]) -> str:
    """What an event says of a failure: `turn.failed` has it under `error`, `error` at its top."""
    error = event.get("error")
    return str(error.get("message") if isinstance(error, dict) else event.get("message"))


def _total(usages: Sequence[Mapping[str, Any]]) -> TokenUsage:
    def total(key: str) -> int | None:
        counts = [usage[key] for usage in usages if isinstance(usage.get(key), int)]
        return sum(counts) if counts else None

    return TokenUsage(input_tokens=total("input_tokens"), output_tokens=total("output_tokens"))

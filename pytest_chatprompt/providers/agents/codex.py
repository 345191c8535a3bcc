"""`CodexProvider`: run OpenAI's Codex once, without a terminal.

Source: `codex exec --help` and the event lines of codex-cli 0.169.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Unpack

from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.errors import AgentError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentInvocation, AgentProvider, AgentSettings, build_document
from pytest_chatprompt.providers.agents.process import ProcessResult, read_answer, stderr_tail
from pytest_chatprompt.providers.arguments import Arguments, check_setting
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.response import ProviderResponse, read_usage
from pytest_chatprompt.text.json_data import value_at

_LAST_MESSAGE: Final = "last-message.md"
_EPHEMERAL: Final = "--ephemeral"


class CodexProvider(AgentProvider):
    """Run `codex exec` with the document on its standard input.

    Args:
        executable: the program: a name on PATH, or a path.
        model: the model; `None` for the one in Codex's own configuration.
        sandbox: `read-only`, `workspace-write` or `danger-full-access`; `None` for Codex's default.
        config: overrides of Codex's configuration, by dotted key; values are written as TOML.
        extra_args: further arguments for the command line, put before the final `-`.
        settings: see `AgentSettings`.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
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
        self.model = check_setting(self, "model", model, NonEmptyString | None)
        self.sandbox = check_setting(self, "sandbox", sandbox, NonEmptyString | None)
        self.config = dict(check_setting(self, "config", config or {}, dict[str, Any]))
        self.extra_args = tuple(check_setting(self, "extra_args", extra_args, Arguments))

    def build_invocation(self, request: ProviderRequest, folder: Path) -> AgentInvocation:
        """Build `codex exec ... -`, which reads the document from standard input and writes its answer to a file."""
        prompt = build_document(request)
        argv = [self.executable, "exec", "--json", "--skip-git-repo-check", "--color", "never"]
        argv += ["--output-last-message", str(folder / _LAST_MESSAGE)]
        argv += ["--model", self.model] if self.model is not None else []
        argv += ["--sandbox", self.sandbox] if self.sandbox is not None else []
        for key, value in self.config.items():
            # JSON strings, numbers, booleans and lists are valid TOML.
            argv += ["-c", f"{key}={json.dumps(value, ensure_ascii=False)}"]
        context = current_context()
        if context.environ is not None:
            argv += _options_of_capture(context.environ["OPENAI_BASE_URL"])
            if context.is_offline and _EPHEMERAL not in self.extra_args:
                # Tests leave no sessions in the user's list.
                argv.append(_EPHEMERAL)
        return AgentInvocation((*argv, *self.extra_args, "-"), prompt, request.input_files, stdin=prompt)

    def stable_body(self, body: Any) -> Any:
        """Sort the keys of `client_metadata`, which Codex sends in any order."""
        metadata = body.get("client_metadata") if isinstance(body, dict) else None
        return {**body, "client_metadata": dict(sorted(metadata.items()))} if isinstance(metadata, dict) else body

    def read_response(self, result: ProcessResult, folder: Path) -> ProviderResponse:
        """Read the last message from its file, and the token usage from the events on standard output."""
        events = list(_parse_events(result.stdout))
        failures = [event for event in events if event.get("type") in ("turn.failed", "error")]
        # Events of the type `turn.failed` have the message under `error`.
        messages = [value_at(event, ["error", "message"]) or event.get("message") for event in failures]
        detail = f": {messages[-1]}" if messages else ""
        if result.returncode:
            raise AgentError(result.exit_message(self.executable, detail))
        if any(event.get("type") == "turn.failed" for event in events):
            raise AgentError(f"{self.executable} failed{detail}")
        last_message = folder / _LAST_MESSAGE
        text = read_answer(last_message, self.executable) if last_message.is_file() else ""
        if not text.strip():
            raise AgentError(f"{self.executable} exited without a last message{stderr_tail(result.stderr)}")
        completed = [event for event in events if event.get("type") == "turn.completed"]
        return ProviderResponse(
            text=text,
            finish_reason="turn.completed" if completed else None,
            # That of the whole thread (`usage_from_last_total` in `event_processor_with_jsonl_output.rs`).
            usage=read_usage(completed),
            raw=events,
        )


def _options_of_capture(base_url: str) -> list[str]:
    """The options that point Codex to a server.

    With `OPENAI_BASE_URL` alone, or the setting `openai_base_url`, it tries WebSockets for ten seconds first, and sends
    the key of its login.
    """
    provider = {
        # By this name Codex knows that the API is OpenAI's, and sends what it sends there.
        "name": "OpenAI",
        "base_url": base_url,
        "env_key": "OPENAI_API_KEY",
        "wire_api": "responses",
        "supports_websockets": False,
    }
    options = [f"model_providers.chatprompt.{key}={json.dumps(value)}" for key, value in provider.items()]
    options.append('model_provider="chatprompt"')
    return [word for option in options for word in ("-c", option)]


def _parse_events(stdout: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines of Codex's output; it prints other lines too."""
    # Not `splitlines`: JSON strings may contain other line separators unescaped. One by one, for there may be millions.
    for line in re.finditer(r"[^\n]+", stdout):
        with suppress(ValueError):
            event = json.loads(line[0])
            if isinstance(event, dict):
                yield event

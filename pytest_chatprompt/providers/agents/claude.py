"""`ClaudeProvider`: run Anthropic's Claude Code once, without a terminal.

Source: `claude --help`, the JSON and the requests of Claude Code 2.1.197, and
https://code.claude.com/docs/en/env-vars (its variables).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Unpack

from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.errors import AgentError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentInvocation, AgentProvider, AgentSettings, build_document
from pytest_chatprompt.providers.agents.process import ProcessResult, stderr_tail
from pytest_chatprompt.providers.arguments import Arguments, check_setting
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.response import ProviderResponse, read_usage

# Those of Anthropic, and of the clouds that sell its models, are its own.
_KEY_OF_OTHERS: Final = re.compile(r"(?!ANTHROPIC_|CLAUDE_|AWS_)\w*_(API_KEY|ADMIN_KEY|AD_TOKEN)")
_QUIET: Final = "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"
# With another URL than Anthropic's it sends all tools at once, unless this is set.
_TOOL_SEARCH: Final = "ENABLE_TOOL_SEARCH"
_EPHEMERAL: Final = "--no-session-persistence"
# In JSON: the id of the machine, and the name of the folder of notes on a temporary working folder.
_VOLATILE: Final = re.compile(
    r'(?<=device_id\\":\\")(?P<device>[0-9a-f]+)|(?<=/projects/)(?P<folder>-[\w-]*chatprompt-[\w-]{8})(?=/)'
)


class ClaudeProvider(AgentProvider):
    """Run `claude -p` with the document on its standard input.

    It gets no API keys of other vendors than Anthropic, unless `env` has them, and sends nothing but what the task
    needs: no telemetry, no request for a title.

    Args:
        executable: the program: a name on PATH, or a path.
        model: the model; `None` for the one in Claude Code's own settings.
        allowed_tools: the tools that it may use without asking, such as `Edit` and `Bash(git *)`; it asks nobody.
        extra_args: further arguments for the command line.
        settings: see `AgentSettings`.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    def __init__(
        self,
        *,
        executable: str = "claude",
        model: str | None = None,
        allowed_tools: Sequence[str] = (),
        extra_args: Sequence[str] = (),
        **settings: Unpack[AgentSettings],
    ) -> None:
        super().__init__(executable=executable, **settings)
        self.model = check_setting(self, "model", model, NonEmptyString | None)
        self.allowed_tools = tuple(check_setting(self, "allowed_tools", allowed_tools, Arguments))
        self.extra_args = tuple(check_setting(self, "extra_args", extra_args, Arguments))

    def build_invocation(self, request: ProviderRequest, folder: Path) -> AgentInvocation:  # noqa: ARG002 - no files
        """Build `claude -p ...`, which reads the document from standard input and prints its answer as JSON."""
        prompt = build_document(request)
        argv = [self.executable, "-p", "--output-format", "json"]
        argv += ["--model", self.model] if self.model is not None else []
        argv += ["--allowed-tools", *self.allowed_tools] if self.allowed_tools else []
        context = current_context()
        if context.environ is not None and context.is_offline and _EPHEMERAL not in self.extra_args:
            # Tests leave no sessions in the user's list.
            argv.append(_EPHEMERAL)
        return AgentInvocation((*argv, *self.extra_args), prompt, request.input_files, stdin=prompt)

    def environ(self) -> Mapping[str, str]:
        """Its variables: no keys of others, no traffic of its own, and in a capture the tools as for Anthropic."""
        withheld = {name: "" for name in os.environ if _KEY_OF_OTHERS.fullmatch(name)}
        is_led = current_context().environ is not None and not {_TOOL_SEARCH, "ANTHROPIC_BASE_URL"} & {*os.environ}
        return {**withheld, _QUIET: "1", **({_TOOL_SEARCH: "true"} if is_led else {}), **self.env}

    def stable_body(self, body: Any) -> Any:
        """Put placeholders in place of what differs with the machine and the run."""
        return json.loads(_VOLATILE.sub(lambda match: f"{{{match.lastgroup}}}", json.dumps(body)))

    def read_response(self, result: ProcessResult, folder: Path) -> ProviderResponse:  # noqa: ARG002 - no files
        """Read the answer, the token usage and the cost from the JSON on standard output."""
        raw, outcome = _read_result(result.stdout)
        text = outcome.get("result")
        if result.returncode or outcome.get("is_error"):
            detail = f": {text or outcome['subtype']}" if outcome else ""
            raise AgentError(result.exit_message(self.executable, detail))
        if not isinstance(text, str) or not text.strip():
            raise AgentError(f"{self.executable} exited without an answer in JSON{stderr_tail(result.stderr)}")
        return ProviderResponse(
            text=text,
            finish_reason=outcome.get("stop_reason"),
            usage=read_usage(outcome.get("usage")),
            cost_usd=outcome.get("total_cost_usd"),
            raw=raw,
        )


def _read_result(stdout: str) -> tuple[Any, Mapping[str, Any]]:
    """The JSON of an output, and the result in it: the last event, where `verbose` is set; empty if there is none."""
    try:
        data = json.loads(stdout)
    except (ValueError, RecursionError):
        return None, {}
    last = data[-1] if isinstance(data, list) and data else data
    return data, last if isinstance(last, dict) and last.get("type") == "result" else {}

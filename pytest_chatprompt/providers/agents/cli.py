"""`CLIProvider`: run any agent that has a command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Unpack

from pytest_chatprompt.errors import AgentError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentInvocation, AgentProvider, AgentSettings, build_document
from pytest_chatprompt.providers.agents.process import ProcessResult, read_answer, stderr_tail
from pytest_chatprompt.providers.arguments import Arguments, check_names, check_setting
from pytest_chatprompt.providers.context import current_context, use_context
from pytest_chatprompt.providers.response import ProviderResponse

PLACEHOLDERS: Final = ("prompt", "prompt_file", "guidelines", "files", "output_file", "eval_id")
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_Command = list[str | Arguments] | tuple[str | Arguments, ...]
_PROMPT_FILE: Final = "prompt.md"
_OUTPUT_FILE: Final = "output.md"


class CLIProvider(AgentProvider):
    """Run an agent by a command of your own.

    Each item of the command may contain placeholders. A list of items, such as `["--file", "{files}"]`, is repeated as
    a whole for each file:

    - `{prompt}`: the document.
    - `{prompt_file}`: path of a file that contains the document.
    - `{guidelines}`: the texts of the guidelines, separated by empty lines.
    - `{files}`: path of a file of the case; the item is repeated for each file, and left out without files.
    - `{output_file}`: path of the file that the command writes its answer to.
    - `{eval_id}`: the id of the case.

    A command without `{prompt}` and `{prompt_file}` gets the document on its standard input. Without `{output_file}`,
    its standard output is the answer.

    Args:
        command: the executable and its arguments, at least one item; no shell is involved.
        healthcheck: a command that must succeed once before the first case is sent; `None` for no check.
        settings: see `AgentSettings`.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: the command is empty or contains an unknown placeholder, or a setting has an invalid value.
    """

    executable_hint = "pass another command"

    def __init__(
        self,
        command: Sequence[str | Sequence[str]] = (),
        *,
        healthcheck: Sequence[str] | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        check_names(self, settings, AgentSettings)
        if not isinstance(command, list | tuple) or not command or not command[0]:
            raise ValueError("CLIProvider: command must be a list of the executable and its arguments")
        self.command = tuple(check_setting(self, "command", command, _Command))
        placeholders = {name for items in self._items() for item in items for name in _PLACEHOLDER.findall(item)}
        unknown = sorted(placeholders - set(PLACEHOLDERS))
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            raise ValueError(f"CLIProvider: unknown placeholder {{{unknown[0]}}}; the placeholders are {known}")
        super().__init__(executable=self._items()[0][0], **settings)
        self.healthcheck = tuple(check_setting(self, "healthcheck", healthcheck or (), Arguments))
        self._is_healthy = not healthcheck

    def build_invocation(self, request: ProviderRequest, folder: Path) -> AgentInvocation:
        """Fill in the placeholders of the command."""
        prompt = build_document(request)
        values = {
            "prompt": prompt,
            "prompt_file": str(folder / _PROMPT_FILE),
            "guidelines": "\n\n".join(request.guidelines),
            "output_file": str(folder / _OUTPUT_FILE),
            "eval_id": request.eval_case_id or "",
        }
        argv: list[str] = []
        for items in self._items():
            paths = request.input_files if any("{files}" in item for item in items) else (None,)
            argv += [_fill(item, {**values, "files": str(path)}) for path in paths for item in items]
        stdin = None if self._uses("prompt") or self._uses("prompt_file") else prompt
        return AgentInvocation(tuple(argv), prompt, request.input_files, stdin=stdin)

    def check_health(self, folder: Path) -> None:
        """Run the healthcheck command before the first case; do nothing once it succeeded, and offline."""
        if not self._is_healthy and not current_context().is_offline:
            # What it sends is not what the case sends, so it is not led to the server that captures that.
            with use_context(current_context()._replace(environ=None)):
                result = self.run(self.healthcheck, folder)
            if result.returncode:
                raise AgentError(f"the healthcheck failed: {result.exit_message(self.healthcheck[0])}")
            self._is_healthy = True

    def write_files(self, invocation: AgentInvocation, folder: Path) -> None:
        """Write the document to the file that `{prompt_file}` stands for, if the command uses it."""
        if self._uses("prompt_file"):
            (folder / _PROMPT_FILE).write_bytes(invocation.prompt.encode(errors="surrogatepass"))

    def read_response(self, result: ProcessResult, folder: Path) -> ProviderResponse:
        """Read the answer from `{output_file}` if the command uses it, else from standard output."""
        if result.returncode:
            raise AgentError(result.exit_message(self.executable))
        if not self._uses("output_file"):
            return ProviderResponse(text=result.stdout)
        output_path = folder / _OUTPUT_FILE
        if not output_path.is_file():
            raise AgentError(f"{self.executable} wrote no output file{stderr_tail(result.stderr)}")
        return ProviderResponse(text=read_answer(output_path, self.executable))

    def _items(self) -> list[Sequence[str]]:
        """The items of the command, each in a list with those that are repeated together."""
        return [(item,) if isinstance(item, str) else item for item in self.command]

    def _uses(self, placeholder: str) -> bool:
        return any(f"{{{placeholder}}}" in item for items in self._items() for item in items)


def _fill(item: str, values: Mapping[str, str]) -> str:
    """Fill in the placeholders of one item, in one pass: an inserted text may contain `{prompt}` too."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], item)

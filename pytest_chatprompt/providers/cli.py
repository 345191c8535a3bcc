"""Any agent that a command line can run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Unpack

from pytest_chatprompt.errors import AgentError
from pytest_chatprompt.providers.agent import AgentProvider, AgentSettings, Handover, prompt_document
from pytest_chatprompt.providers.process import Finished, last_words
from pytest_chatprompt.providers.settings import check_names
from pytest_chatprompt.requests import ProviderRequest, ProviderResponse

DEFAULT_COMMAND: Final = ("agent", "--prompt-file", "{prompt_file}", "--output-file", "{output_file}")
PLACEHOLDERS: Final = ("prompt", "prompt_file", "guidelines", "files", "output_file", "eval_id")
_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_PROMPT_FILE: Final = "prompt.md"
_OUTPUT_FILE: Final = "output.md"


class CLIProvider(AgentProvider):
    """Runs a command of one's own.

    Each item of the command may hold placeholders: `{prompt}` is the document, `{prompt_file}` a file that holds it,
    `{guidelines}` the texts of the guidelines, `{files}` the case's files (the item is repeated for each of them),
    `{output_file}` a file to which the answer is written, `{eval_id}` the case's id.

    A command that names neither `{prompt}` nor `{prompt_file}` gets the document on its standard input. The answer is
    read from `{output_file}` if the command names it, else from standard output.

    Args:
        command: the executable and its arguments; no shell sees them.
        healthcheck: a command that has to succeed before the first case is sent.
        settings: see `AgentSettings`.

    Raises:
        ValueError: the command is empty, or has a placeholder that is none of these.
    """

    executable_hint = "pass another command"

    def __init__(
        self,
        command: Sequence[str] = DEFAULT_COMMAND,
        *,
        healthcheck: Sequence[str] | None = None,
        **settings: Unpack[AgentSettings],
    ) -> None:
        if isinstance(command, str) or not command:
            raise ValueError("CLIProvider: the command is a list of the executable and its arguments")
        unknown = sorted({name for item in command for name in _PLACEHOLDER.findall(item)} - set(PLACEHOLDERS))
        if unknown:
            known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            raise ValueError(f"CLIProvider: unknown placeholder {{{unknown[0]}}}; there are {known}")
        check_names(self, settings, AgentSettings.__annotations__)
        super().__init__(executable=command[0], **settings)
        self.command = tuple(command)
        self.healthcheck = None if healthcheck is None else tuple(healthcheck)
        self._is_healthy = healthcheck is None

    def handover(self, request: ProviderRequest, folder: Path) -> Handover:
        """The command with its placeholders filled."""
        prompt = prompt_document(request)
        values = {
            "prompt": prompt,
            "prompt_file": str(folder / _PROMPT_FILE),
            "guidelines": "\n\n".join(request.guidelines),
            "output_file": str(folder / _OUTPUT_FILE),
            "eval_id": request.eval_case_id or "",
        }
        argv: list[str] = []
        for item in self.command:
            repeated = request.input_files if "{files}" in item else (None,)
            argv += [_filled(item, {**values, "files": str(path)}) for path in repeated]
        stdin = None if self._names("prompt") or self._names("prompt_file") else prompt
        return Handover(tuple(argv), prompt, request.input_files, stdin=stdin)

    def prepare(self, handover: Handover, folder: Path) -> None:
        """Check the agent's health before its first case, and write the document for it."""
        if not self._is_healthy and self.healthcheck is not None:
            finished = self.run(self.healthcheck, folder)
            if finished.status:
                raise AgentError(f"the healthcheck failed: {finished.told(self.healthcheck[0])}")
            self._is_healthy = True
        if self._names("prompt_file"):
            (folder / _PROMPT_FILE).write_bytes(handover.prompt.encode(errors="surrogatepass"))

    def answer(self, finished: Finished, folder: Path) -> ProviderResponse:
        """The output file if the command names one, else standard output.

        Raises:
            AgentError: the command failed, or wrote no output file.
        """
        if finished.status:
            raise AgentError(finished.told(self.executable))
        if not self._names("output_file"):
            return ProviderResponse(text=finished.output)
        output = folder / _OUTPUT_FILE
        if not output.is_file():
            raise AgentError(f"{self.executable} wrote no output file{last_words(finished.errors)}")
        return ProviderResponse(text=output.read_text(encoding="utf-8", errors="replace"))

    def _names(self, placeholder: str) -> bool:
        return any(f"{{{placeholder}}}" in item for item in self.command)


def _filled(item: str, values: Mapping[str, str]) -> str:
    """An item with its placeholders filled in one pass, so that text put in is never searched again."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], item)

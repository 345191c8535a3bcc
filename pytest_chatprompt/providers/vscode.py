"""The agent of VS Code, through `code chat`.

Source: VS Code's `src/vs/platform/environment/node/argv.ts` (the options of `chat`) and `src/vs/code/node/cli.ts`:
with `-` the standard input is attached to the chat as a file, so a prompt beside it has to say so. The command
returns when the window has taken the prompt, and prints no answer.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Unpack

from pytest_chatprompt.errors import AgentError
from pytest_chatprompt.providers.agent import AgentProvider, AgentSettings, Handover, prompt_document
from pytest_chatprompt.providers.process import Finished
from pytest_chatprompt.requests import ProviderRequest, ProviderResponse

_PROMPT: Final = "Do what the attached document from standard input asks for."
_RESPONSE: Final = "response.md"
_UNFINISHED: Final = "response.unfinished.md"
_POLL_SECONDS: Final = 0.1


class VSCodeProvider(AgentProvider):
    """Runs `code chat`, the document on its standard input, and waits for the file that the agent writes.

    Args:
        executable: `code`, `code-insiders`, or a path.
        mode: `agent`, `ask`, `edit`, or the name of a mode of one's own.
        profile: the profile of the window; `None` for the current one.
        extra_args: further arguments.
        wait: whether to wait for the answer; without, the response is empty and returns at once.
        settings: see `AgentSettings`.
    """

    def __init__(
        self,
        *,
        executable: str = "code",
        mode: str = "agent",
        profile: str | None = None,
        extra_args: Sequence[str] = (),
        wait: bool = True,
        **settings: Unpack[AgentSettings],
    ) -> None:
        super().__init__(executable=executable, **settings)
        self.mode = mode
        self.profile = profile
        self.extra_args = tuple(extra_args)
        self.wait = wait

    def handover(self, request: ProviderRequest, folder: Path) -> Handover:
        """`code chat --mode ... --add-file ... -`, with the document on standard input."""
        prompt = prompt_document(request, instructions=_instructions(folder) if self.wait else "")
        argv = [self.executable, "chat", "--mode", self.mode]
        argv += ["--profile", self.profile] if self.profile is not None else []
        for path in request.input_files:
            argv += ["--add-file", str(path)]
        return Handover((*argv, *self.extra_args, _PROMPT, "-"), prompt, request.input_files, stdin=prompt)

    def answer(self, finished: Finished, folder: Path) -> ProviderResponse:
        """The file that the agent wrote.

        Raises:
            AgentError: the command failed, or no file was written in time.
        """
        if finished.status:
            raise AgentError(finished.told(self.executable))
        if not self.wait:
            return ProviderResponse(text="")
        response = folder / _RESPONSE
        deadline = time.monotonic() + self.timeout_seconds
        while not response.is_file():
            if time.monotonic() >= deadline:
                raise AgentError(f"{self.executable}: the agent wrote no answer within {self.timeout_seconds:g} s")
            time.sleep(_POLL_SECONDS)
        return ProviderResponse(text=response.read_text(encoding="utf-8", errors="replace"))


def _instructions(folder: Path) -> str:
    return (
        f"Write your whole answer to [{_UNFINISHED}]({(folder / _UNFINISHED).as_uri()}), "
        f"and when it is complete rename that file to [{_RESPONSE}]({(folder / _RESPONSE).as_uri()})."
    )

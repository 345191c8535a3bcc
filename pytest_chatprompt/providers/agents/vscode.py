"""`VSCodeProvider`: run the agent of VS Code, through `code chat`.

The answer comes from a file that the document asks the agent to write: the command returns as soon as the window has
the prompt, and prints no answer.
Source: VS Code's `src/vs/platform/environment/node/argv.ts` (the options of `chat`) and `src/vs/code/node/cli.ts`:
with `-` the standard input is attached to the chat as a file, so the prompt has to point to it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Unpack

from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.errors import AgentError
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.agents.base import AgentInvocation, AgentProvider, AgentSettings, build_document
from pytest_chatprompt.providers.agents.process import ProcessResult, read_answer
from pytest_chatprompt.providers.arguments import Arguments, check_setting
from pytest_chatprompt.providers.response import ProviderResponse

_PROMPT: Final = "Do what the attached document from standard input asks for."
_RESPONSE: Final = "response.md"
_UNFINISHED: Final = "response.unfinished.md"
_POLL_SECONDS: Final = 0.1


class VSCodeProvider(AgentProvider):
    """Run `code chat` with the document on its standard input, and wait for the file that the agent writes.

    Args:
        executable: `code`, `code-insiders`, or a path.
        mode: `agent`, `ask`, `edit`, or the name of your own chat mode.
        profile: the profile to open the window with; `None` for the current one.
        extra_args: further arguments for the command line, put before the prompt.
        wait: whether to wait for the answer; if not, the response is empty and says so (`is_awaited`).
        settings: see `AgentSettings`; `timeout_seconds` also limits how long to wait for the answer.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    # The window that `code` opens is the user's editor, and the agent works in it after the command has returned.
    keep_detached = True

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
        if self.capture:
            raise ValueError(
                "VSCodeProvider: capture must be False: the agent runs in a window that may be open already, "
                "so its requests cannot be redirected to a server"
            )
        self.mode = check_setting(self, "mode", mode, NonEmptyString)
        self.profile = check_setting(self, "profile", profile, NonEmptyString | None)
        self.extra_args = tuple(check_setting(self, "extra_args", extra_args, Arguments))
        self.wait = check_setting(self, "wait", wait, bool)

    def build_invocation(self, request: ProviderRequest, folder: Path) -> AgentInvocation:
        """Build `code chat --mode ... --add-file ... -`, which reads the document from standard input."""
        prompt = build_document(request, instructions=_instructions(folder) if self.wait else "")
        argv = [self.executable, "chat", "--mode", self.mode]
        argv += ["--profile", self.profile] if self.profile is not None else []
        for path in request.input_files:
            argv += ["--add-file", str(path)]
        return AgentInvocation((*argv, *self.extra_args, _PROMPT, "-"), prompt, request.input_files, stdin=prompt)

    def read_response(self, result: ProcessResult, folder: Path) -> ProviderResponse:
        """Wait for the file that the agent writes, and read the answer from it."""
        if result.returncode:
            raise AgentError(result.exit_message(self.executable))
        if not self.wait:
            return ProviderResponse(text="", is_awaited=False)
        response_path = folder / _RESPONSE
        deadline = time.monotonic() + self.timeout_seconds
        while not response_path.is_file():
            if time.monotonic() >= deadline:
                raise AgentError(f"{self.executable}: the agent wrote no answer within {self.timeout_seconds:g} s")
            time.sleep(_POLL_SECONDS)
        return ProviderResponse(text=read_answer(response_path, self.executable))


def _instructions(folder: Path) -> str:
    return (
        f"Write your whole answer to [{_UNFINISHED}]({(folder / _UNFINISHED).as_uri()}), "
        f"and when it is complete rename that file to [{_RESPONSE}]({(folder / _RESPONSE).as_uri()})."
    )

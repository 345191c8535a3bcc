"""`AgentProvider`: the base of every provider that hands a document to an agent (ruling E4).

A `ProviderRequest` comes in. `handover` says what the agent gets, without starting anything: that is what an
offline run records. `send` hands it over, in a temporary folder that is gone afterwards. `chat_prompt` is
ignored: an agent reads a task as a document.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, TypedDict, Unpack

from pytest_chatprompt.providers.process import Finished, run_process
from pytest_chatprompt.providers.settings import check_names, check_number, check_text
from pytest_chatprompt.requests import ProviderRequest, ProviderResponse

# Agents work for minutes; this ends one that hangs.
DEFAULT_TIMEOUT_SECONDS: Final = 900.0
USER_QUERY_HEADING: Final = "[[ ## user_query ## ]]"
# The folder of a run that is only recorded: it is named, never made.
NOMINAL_FOLDER: Final = Path(tempfile.gettempdir(), "chatprompt-folder")


@dataclass(frozen=True, slots=True)
class Handover:
    """What an agent is given.

    Args:
        argv: the executable and its arguments.
        prompt: the document.
        files: absolute paths of the files that the document names.
        stdin: what is fed to its standard input; `None` for nothing.
    """

    argv: tuple[str, ...]
    prompt: str
    files: tuple[Path, ...]
    stdin: str | None = None


class AgentSettings(TypedDict, total=False):
    """The keyword arguments that every agent provider takes.

    Args:
        cwd: the agent's working folder; `None` for a temporary one of its own.
        env: variables laid over those of this process.
        timeout_seconds: after this long the agent and its children are ended.
    """

    cwd: str | Path | None
    env: Mapping[str, str] | None
    timeout_seconds: float


class AgentProvider(ABC):
    """Hands the `question` and the `input_files` of a request to an agent.

    Args:
        executable: the agent's program, a name on PATH or a path.
        settings: see `AgentSettings`.

    Raises:
        TypeError: a setting is none of `AgentSettings`.
        ValueError: a value cannot be meant.
    """

    executable_hint: ClassVar[str] = "pass executable"

    def __init__(
        self,
        *,
        executable: str,
        **settings: Unpack[AgentSettings],
    ) -> None:
        check_names(self, settings, AgentSettings.__annotations__)
        check_number(self, "timeout_seconds", settings.get("timeout_seconds"))
        check_text(self, "executable", executable)
        cwd = settings.get("cwd")
        self.executable = executable
        self.cwd = None if cwd is None else Path(cwd)
        self.env = dict(settings.get("env") or {})
        self.timeout_seconds = settings.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS)

    @abstractmethod
    def handover(self, request: ProviderRequest, folder: Path) -> Handover:
        """What the agent is given; nothing is started or written.

        Args:
            request: with a `question`, and the files that the case names.
            folder: the temporary folder of the run, for files that the handover names; need not be there yet.
        """

    @abstractmethod
    def answer(self, finished: Finished, folder: Path) -> ProviderResponse:
        """Read what the agent gave back.

        Raises:
            AgentError: it failed, or gave no answer.
        """

    def prepare(self, handover: Handover, folder: Path) -> None:  # noqa: B027 - most agents need nothing
        """Write what the handover names into the temporary folder."""

    def send(self, request: ProviderRequest) -> ProviderResponse:
        """Run the agent to its end.

        Raises:
            AgentError: it could not be started, failed, did not finish in time, or gave no answer.
        """
        with self._temporary_folder() as folder:
            handover = self.handover(request, folder)
            self.prepare(handover, folder)
            return self.answer(self.run(handover.argv, folder, handover.stdin), folder)

    def run(self, argv: Sequence[str], folder: Path, stdin: str | None = None) -> Finished:
        """Run a command of the agent's, in its working folder and with its environment."""
        return run_process(
            argv,
            folder=self.cwd or folder,
            stdin=stdin,
            env=self.env,
            timeout_seconds=self.timeout_seconds,
            hint=f"{self.executable_hint} to {type(self).__name__}",
        )

    @contextmanager
    def _temporary_folder(self) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="chatprompt-", ignore_cleanup_errors=True) as name:
            yield Path(name).resolve()


def prompt_document(request: ProviderRequest, *, instructions: str = "") -> str:
    """The document that an agent reads: the files to read first, and the question.

    Args:
        request: its guideline files come first, then the others, as links.
        instructions: a section of the agent's own, between the two.

    Returns:
        Markdown; the question alone under its heading if there are no files.
    """
    sections = []
    if request.input_files:
        sections.append(
            "Read all of these files before you do anything else. "
            "If one of them is missing, stop with an error that names it."
        )
        others = [path for path in request.input_files if path not in request.guideline_files]
        sections += [
            _links(heading, paths)
            for heading, paths in (("Guidelines", request.guideline_files), ("Files", others))
            if paths
        ]
    if instructions:
        sections.append(instructions)
    return "\n\n".join((*sections, USER_QUERY_HEADING, request.question))


def _links(heading: str, paths: Sequence[Path]) -> str:
    return "\n".join((f"{heading}:", *(f"- [{path.name}]({path.as_uri()})" for path in paths)))


def shown(handover: Handover, root: Path) -> dict[str, Any]:
    """A handover as a snapshot has it: the same on every machine.

    Args:
        handover: made for `NOMINAL_FOLDER`.
        root: pytest's root folder.

    Returns:
        `argv`, `prompt` and `files`; paths are relative to the root folder, URIs below `{rootdir}`, the temporary
        folder is `{folder}`, and of an executable elsewhere only its name is left.
    """
    executable, *arguments = handover.argv
    if Path(executable).is_absolute() and not Path(executable).is_relative_to(root):
        executable = Path(executable).name
    replacements = {
        NOMINAL_FOLDER.as_uri(): "file://{folder}",
        root.as_uri(): "file://{rootdir}",
        str(NOMINAL_FOLDER): "{folder}",
        f"{root}{os.sep}": "",
    }

    def relative(text: str) -> str:
        for found, shown_as in replacements.items():
            text = text.replace(found, shown_as)
        return text

    return {
        "argv": [relative(item) for item in (executable, *arguments)],
        "prompt": relative(handover.prompt),
        "files": [relative(str(path)) for path in handover.files],
    }

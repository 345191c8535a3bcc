"""`AgentProvider`: base class of the providers that hand a task to an agent as one document (rule E4).

Agents read documents, not messages, so the `chat_prompt` of a request is ignored.
"""

from __future__ import annotations

import copy
import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypedDict, TypeVar, Unpack

from pytest_chatprompt.cases.fields import NonEmptyString
from pytest_chatprompt.errors import PayloadError
from pytest_chatprompt.prompt.chat_prompt import RawContent, content_parts
from pytest_chatprompt.prompt.request import ProviderRequest
from pytest_chatprompt.providers.arguments import PositiveNumber, check_setting, check_settings
from pytest_chatprompt.providers.context import current_context
from pytest_chatprompt.providers.response import ProviderResponse

if TYPE_CHECKING:
    from pytest_chatprompt.providers.agents.process import ProcessResult


# Agents work for minutes; this stops one that hangs.
DEFAULT_TIMEOUT_SECONDS: Final = 900.0
USER_QUERY_HEADING: Final = "[[ ## user_query ## ]]"
# Stands for the temporary folder where no agent is started; it is never created.
PLACEHOLDER_FOLDER: Final = Path(tempfile.gettempdir(), "chatprompt-folder")


@dataclass(frozen=True, slots=True)
class AgentInvocation:
    """The command and the document that are handed to an agent.

    Args:
        argv: the executable and its arguments.
        prompt: the document, as Markdown.
        files: absolute paths of the files that the document links to.
        stdin: the text of the agent's standard input; `None` for an empty one.
    """

    argv: tuple[str, ...]
    prompt: str
    files: tuple[Path, ...]
    stdin: str | None = None


class AgentSettings(TypedDict, total=False):
    """The keyword arguments that every agent provider accepts.

    Args:
        cwd: the agent's working folder; `None`, the default, for a temporary folder that is deleted afterwards.
        env: environment variables to set on top of those of this process; none by default.
        timeout_seconds: how long the agent may run before it and all processes that it started are killed; 900 by
            default.
        capture: whether to run the agent offline too, led to a server on this machine, so that the snapshot shows what
            it sends to its model; `False` by default.
    """

    cwd: str | Path | None
    env: Mapping[str, str] | None
    timeout_seconds: PositiveNumber
    capture: bool


class AgentProvider(ABC):
    """Base class of the agents: runs one on the `question` and the `input_files` of a request.

    Args:
        executable: the agent's program: a name on PATH, or a path. A relative one counts from `cwd` if that is set,
            else from where pytest runs.
        settings: see `AgentSettings`.

    Attributes:
        executable_hint: how to choose another executable, for the error about a missing one.
        keep_detached: whether processes that left the process group of the agent's command stay alive when the command
            ends: the window of an editor, say. By default all processes that it started are ended.

    Raises:
        TypeError: there is no setting of that name.
        ValueError: a setting has an invalid value.
    """

    executable_hint: ClassVar[str] = "pass executable=..."
    keep_detached: ClassVar[bool] = False

    def __init__(self, *, executable: str, **settings: Unpack[AgentSettings]) -> None:
        check_settings(self, settings, AgentSettings)
        cwd = settings.get("cwd")
        self.executable = check_setting(self, "executable", executable, NonEmptyString)
        self.cwd = None if cwd is None else Path(cwd)
        self.env = dict(settings.get("env") or {})
        self.timeout_seconds = settings.get("timeout_seconds", DEFAULT_TIMEOUT_SECONDS)
        self.capture = settings.get("capture", False)

    @abstractmethod
    def build_invocation(self, request: ProviderRequest, folder: Path) -> AgentInvocation:
        """Build the command and the document for a request; start and write nothing.

        `folder` is a temporary folder for files that the command mentions; it need not exist yet.
        """

    @abstractmethod
    def read_response(self, result: ProcessResult, folder: Path) -> ProviderResponse:
        """Read the answer from a finished process and the files that it wrote into the temporary folder.

        Raises:
            AgentError: the agent failed, or gave no answer.
        """

    def check_health(self, folder: Path) -> None:  # noqa: B027 - most agents need no check
        """Raise an error if the agent is not ready; called before each run. By default, check nothing.

        Raises:
            AgentError: the agent is not ready.
        """

    def write_files(self, invocation: AgentInvocation, folder: Path) -> None:  # noqa: B027 - most agents need no files
        """Write the files that the command mentions; called before each run. By default, write nothing."""

    def environ(self) -> Mapping[str, str]:
        """The environment variables that it gets on top of those of this process."""
        return self.env

    def stable_body(self, body: Any) -> Any:
        """Rearrange what the agent sent to its model, so that it is the same in each run. By default, change nothing.

        Temporary folders, UUIDs and times are placeholders already.
        """
        return body

    def send(self, request: ProviderRequest) -> ProviderResponse:
        """Run the agent on a request and wait for its answer.

        Raises:
            AgentError: the agent could not be started, failed, did not finish in time, or gave no answer.
        """
        with tempfile.TemporaryDirectory(prefix="chatprompt-", ignore_cleanup_errors=True) as name:
            folder = Path(name).resolve()
            invocation = self.build_invocation(request, folder)
            self.check_health(folder)
            self.write_files(invocation, folder)
            return self.read_response(self.run(invocation.argv, folder, invocation.stdin), folder)

    def run(self, argv: Sequence[str], folder: Path, stdin: str | None = None) -> ProcessResult:
        """Run a command with this agent's working folder (`folder` if none is set), environment and timeout.

        Raises:
            AgentError: the command could not be started, or did not finish in time.
        """
        from pytest_chatprompt.providers.agents.process import run_process  # noqa: PLC0415 - most runs start no agent

        if self.cwd is None and os.sep in argv[0]:
            # It cannot be in a working folder that is new.
            argv = [str(Path(argv[0]).absolute()), *argv[1:]]
        return run_process(
            argv,
            cwd=self.cwd or folder,
            stdin=stdin,
            # The variables of a capture win: they stand for those that are set here.
            env={**self.environ(), **(current_context().environ or {})},
            timeout_seconds=self.timeout_seconds,
            hint=f"{self.executable_hint} to {type(self).__name__}",
            keep_detached=self.keep_detached,
        )


def left_out(request: ProviderRequest) -> tuple[str, ...]:
    """Describe the options and media of a request that an agent cannot take, for the snapshot's `adjustments`."""
    texts = [] if request.captured is None else [*request.captured.notes, *request.captured.lost]
    texts += [f"settings left out, an agent takes none: {', '.join(request.settings)}"] if request.settings else []
    keys = [key for key in ("tools", "tool_choice", "response_format") if getattr(request, key)]
    texts += [f"{key} left out, an agent takes none" for key in keys]
    media = [media for message in request.chat_prompt or () for media in message.media if not media.source]
    texts += [f"{each} left out, an agent takes files and https URLs" for each in media]
    return tuple(texts)


def build_document(request: ProviderRequest, *, instructions: str = "") -> str:
    """Build the document that an agent reads: links to the files it must read first, then the question.

    Raises:
        PayloadError: a part or a message is raw, which only a vendor's API takes.
    """
    for message in request.chat_prompt or ():
        for part in content_parts(message.content):
            if isinstance(part, RawContent):
                text = f"an agent takes nothing raw, and this is for {', '.join(part.by_provider)} alone; leave it out"
                raise PayloadError(text, message_number=message.number)
    guidelines = _link_list("Guidelines", request.guideline_files if request.input_files else ())
    others = _link_list("Files", [path for path in request.input_files if path not in request.guideline_files])
    first = _READ_FIRST if guidelines or others else ""
    return "\n\n".join((*filter(None, (first, guidelines, others, instructions)), USER_QUERY_HEADING, request.question))


_READ_FIRST: Final = (
    "Read all of these files before you do anything else. If one of them is missing, stop with an error that names it."
)


def _link_list(heading: str, paths: Sequence[Path]) -> str:
    return "\n".join((f"{heading}:", *(f"- [{path.name}]({path.as_uri()})" for path in paths))) if paths else ""


def portable_invocation(invocation: AgentInvocation, root: Path) -> dict[str, Any]:
    """Convert an invocation to JSON data that is the same on every machine, with placeholders for its folders."""
    executable, *arguments = invocation.argv
    if Path(executable).is_absolute() and not Path(executable).is_relative_to(root):
        executable = Path(executable).name

    def portable(text: str) -> str:
        return portable_text(text, root).replace(f"{root}{os.sep}", "")

    return {
        "argv": [portable(item) for item in (executable, *arguments)],
        "prompt": portable(invocation.prompt),
        "files": [portable(str(path)) for path in invocation.files],
    }


def portable_text(text: str, root: Path) -> str:
    """Put placeholders in place of the temporary folder, and of the root folder in URIs."""
    text = text.replace(PLACEHOLDER_FOLDER.as_uri(), "file://{folder}").replace(root.as_uri(), "file://{rootdir}")
    return text.replace(str(PLACEHOLDER_FOLDER), "{folder}")


P = TypeVar("P", bound=AgentProvider)


def agent_variant(provider: P, attributes: Mapping[str, Any]) -> P:
    """Copy an agent, with other attributes by the names of AgentV's targets; what it lacks is left out."""
    variant = copy.copy(provider)
    for name, value in attributes.items():
        attribute = "extra_args" if name == "args" else name
        if value is not None and hasattr(provider, attribute):
            setattr(variant, attribute, tuple(value) if name == "args" else value)
    return variant

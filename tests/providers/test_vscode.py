"""VS Code's agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt import AgentError, ProviderRequest, VSCodeProvider
from pytest_chatprompt.providers.agent import NOMINAL_FOLDER

from .agents import executable

pytestmark = pytest.mark.usefixtures("nothing_is_left")

REQUEST = ProviderRequest(question="Do it.", input_files=(Path("/repo/a.py"), Path("/repo/b.py")))
PROMPT = "Do what the attached document from standard input asks for."
# As the agent does: it reads where to write, writes there, and renames; later than the command returns.
WRITE_LATER = """
import re
document = sys.stdin.read()
unfinished, final = re.findall(r"\\(file://(\\S+?)\\)", document)
program = f"import time, pathlib; time.sleep(0.3); p = pathlib.Path({unfinished!r}); p.write_text('The answer.'); p.rename({final!r})"
subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
"""


def test_the_command_is_that_of_code_chat() -> None:
    provider = VSCodeProvider(executable="code-insiders", mode="ask", profile="evals", extra_args=("--new-window",))
    handover = provider.handover(REQUEST, NOMINAL_FOLDER)
    assert handover.argv == (
        "code-insiders", "chat", "--mode", "ask", "--profile", "evals",
        "--add-file", "/repo/a.py", "--add-file", "/repo/b.py", "--new-window", PROMPT, "-",
    )  # fmt: skip
    assert handover.stdin == handover.prompt


def test_the_document_asks_for_a_response_file_before_the_question() -> None:
    document = VSCodeProvider().handover(ProviderRequest(question="Do it."), Path("/tmp/f")).prompt
    assert document == (
        "Write your whole answer to [response.unfinished.md](file:///tmp/f/response.unfinished.md), "
        "and when it is complete rename that file to [response.md](file:///tmp/f/response.md).\n"
        "\n"
        "[[ ## user_query ## ]]\n"
        "\n"
        "Do it."
    )


def test_it_waits_for_the_file_that_the_agent_writes(tmp_path: Path) -> None:
    provider = VSCodeProvider(executable=str(executable(tmp_path, "code", WRITE_LATER)))
    assert provider.send(ProviderRequest(question="Do it.")).text == "The answer."


def test_without_waiting_it_returns_at_once_and_asks_for_no_file(tmp_path: Path) -> None:
    body = f"pathlib.Path({str(tmp_path / 'got')!r}).write_text(sys.stdin.read())"
    provider = VSCodeProvider(executable=str(executable(tmp_path, "code", body)), wait=False)
    assert provider.send(ProviderRequest(question="Do it.")).text == ""
    assert (tmp_path / "got").read_text() == "[[ ## user_query ## ]]\n\nDo it."


def test_an_agent_that_writes_nothing_is_told_with_the_timeout(tmp_path: Path) -> None:
    path = executable(tmp_path, "code", "")
    with pytest.raises(AgentError) as caught:
        VSCodeProvider(executable=str(path), timeout_seconds=0.5).send(REQUEST)
    assert str(caught.value) == f"{path}: the agent wrote no answer within 0.5 s"


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    path = executable(tmp_path, "code", "print('bad option', file=sys.stderr); sys.exit(1)")
    with pytest.raises(AgentError) as caught:
        VSCodeProvider(executable=str(path)).send(REQUEST)
    assert str(caught.value) == f"{path} ended with status 1; the end of its standard error:\nbad option"

"""`VSCodeProvider`: its command line, and the file that the agent answers in."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_chatprompt import AgentError, ProviderRequest, ProviderResponse, VSCodeProvider
from pytest_chatprompt.providers.agents import vscode
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER
from tests.providers.agents.fake_agents import is_alive, write_executable

pytestmark = pytest.mark.usefixtures("no_leftovers")

REQUEST = ProviderRequest(question="Do it.", input_files=(Path("/repo/a.py"), Path("/repo/b.py")))
PROMPT = "Do what the attached document from standard input asks for."
# What the agent does: it reads from the document where to write, writes there and renames the file, all after the
# command has returned.
WRITE_LATER = """
import re
document = sys.stdin.read()
unfinished, final = re.findall(r"\\(file://(\\S+?)\\)", document)
program = f"import time, pathlib; time.sleep(0.3); p = pathlib.Path({unfinished!r}); p.write_text('The answer.'); p.rename({final!r})"
subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
"""


def test_the_command_line_is_one_of_code_chat() -> None:
    provider = VSCodeProvider(executable="code-insiders", mode="ask", profile="evals", extra_args=("--new-window",))
    invocation = provider.build_invocation(REQUEST, PLACEHOLDER_FOLDER)
    assert invocation.argv == (
        "code-insiders", "chat", "--mode", "ask", "--profile", "evals",
        "--add-file", "/repo/a.py", "--add-file", "/repo/b.py", "--new-window", PROMPT, "-",
    )  # fmt: skip
    assert invocation.stdin == invocation.prompt


def test_the_document_asks_for_a_response_file_before_the_question() -> None:
    document = VSCodeProvider().build_invocation(ProviderRequest(question="Do it."), Path("/tmp/f")).prompt
    assert document == (
        "Write your whole answer to [response.unfinished.md](file:///tmp/f/response.unfinished.md), "
        "and when it is complete rename that file to [response.md](file:///tmp/f/response.md).\n"
        "\n"
        "[[ ## user_query ## ]]\n"
        "\n"
        "Do it."
    )


def test_send_waits_for_the_file_that_the_agent_writes(tmp_path: Path) -> None:
    provider = VSCodeProvider(executable=str(write_executable(tmp_path, "code", WRITE_LATER)))
    assert provider.send(ProviderRequest(question="Do it.")).text == "The answer."


def test_without_waiting_send_returns_at_once_and_asks_for_no_file(tmp_path: Path) -> None:
    body = f"pathlib.Path({str(tmp_path / 'got')!r}).write_text(sys.stdin.read())"
    provider = VSCodeProvider(executable=str(write_executable(tmp_path, "code", body)), wait=False)
    assert provider.send(ProviderRequest(question="Do it.")) == ProviderResponse(text="", is_awaited=False)
    assert (tmp_path / "got").read_text() == "[[ ## user_query ## ]]\n\nDo it."


def test_the_error_about_a_missing_answer_names_the_timeout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_executable(tmp_path, "code", "")
    # Each look at the clock finds it a minute later.
    clock = SimpleNamespace(monotonic=itertools.count(step=60).__next__, sleep=lambda _: None)
    monkeypatch.setattr(vscode, "time", clock)
    with pytest.raises(AgentError) as caught:
        VSCodeProvider(executable=str(path), timeout_seconds=100).send(REQUEST)
    assert str(caught.value) == f"{path}: the agent wrote no answer within 100 s"


def test_the_window_that_the_command_opened_stays(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    body = f"os.chdir({str(tmp_path)!r}); window = subprocess.Popen(['sleep', '600'], start_new_session=True); pathlib.Path('pid').write_text(str(window.pid))"
    VSCodeProvider(executable=str(write_executable(tmp_path, "code", body)), wait=False).send(REQUEST)
    assert is_alive(int(pid.read_text()))


def test_a_failed_command_is_an_error(tmp_path: Path) -> None:
    path = write_executable(tmp_path, "code", "print('bad option', file=sys.stderr); sys.exit(1)")
    with pytest.raises(AgentError) as caught:
        VSCodeProvider(executable=str(path)).send(REQUEST)
    assert str(caught.value) == f"{path} exited with status 1; the end of its standard error:\nbad option"


def test_a_text_is_no_list_of_arguments() -> None:
    with pytest.raises(ValueError, match=r"^VSCodeProvider: extra_args must be a valid list, but is '--verbose'$"):
        VSCodeProvider(extra_args="--verbose")

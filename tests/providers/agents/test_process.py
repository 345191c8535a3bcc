"""Processes run to their end, and their children do not outlive them."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from pytest_chatprompt import AgentError
from pytest_chatprompt.providers.agents import process
from pytest_chatprompt.providers.agents.process import ProcessResult, run_process
from tests.providers.agents.fake_agents import CHILDREN, START_CHILDREN, agent_command, ends_soon, is_alive, pids

pytestmark = pytest.mark.usefixtures("no_leftovers")


def run(
    argv: list[str],
    folder: Path,
    *,
    stdin: str | None = None,
    timeout_seconds: float = 20,
    env: dict[str, str] | None = None,
) -> ProcessResult:
    return run_process(argv, cwd=folder, stdin=stdin, env=env, timeout_seconds=timeout_seconds, hint="pass executable")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("hello\n", id="a line"),
        pytest.param("", id="an empty text"),
        pytest.param("'\"`$HOME\\ \r\n\t\x00\x1bü😀", id="quotes and control characters"),
        pytest.param("'\"$(x)\n" * 150_000, id="a megabyte"),
    ],
)
def test_standard_input_arrives_byte_for_byte(tmp_path: Path, text: str) -> None:
    copy = agent_command("sys.stdout.buffer.write(sys.stdin.buffer.read())")
    assert run(copy, tmp_path, stdin=text) == ProcessResult(0, text, "")


def test_standard_input_is_empty_by_default(tmp_path: Path) -> None:
    assert run(agent_command("print(repr(sys.stdin.read()))"), tmp_path).stdout == "''\n"


def test_arguments_are_not_interpreted_by_a_shell(tmp_path: Path) -> None:
    arguments = ["-x", "--", "$HOME", "a b", "'", '"', "*", "line\nbreak", "", "ü"]
    assert run([*agent_command("print(json.dumps(sys.argv[1:]))"), *arguments], tmp_path).stdout.startswith(
        '["-x", "--", "$HOME"'
    )


def test_env_adds_to_the_environment_and_cwd_is_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEPT", "kept")
    result = run(
        agent_command("print(os.getcwd(), os.environ['KEPT'], os.environ['MINE'])"), tmp_path, env={"MINE": "1"}
    )
    assert result.stdout.split() == [str(tmp_path.resolve()), "kept", "1"]


def test_invalid_utf8_is_replaced(tmp_path: Path) -> None:
    result = run(agent_command("sys.stdout.buffer.write(b'a\\xffb'); sys.stderr.buffer.write(b'\\xfe')"), tmp_path)
    assert (result.stdout, result.stderr) == ("a\ufffdb", "\ufffd")


def test_fifty_megabytes_of_output_do_not_block(tmp_path: Path) -> None:
    body = "sys.stderr.write('e' * 50_000_000 + 'ERR'); sys.stdout.write('o' * 50_000_000 + 'OUT')"
    result = run(agent_command(body), tmp_path, stdin="x")
    assert (len(result.stdout), len(result.stderr)) == (50_000_003, 50_000_003)
    assert (result.stdout[-4:], result.stderr[-4:]) == ("oOUT", "eERR")


@pytest.mark.parametrize("redirection", ["", ">&2"], ids=["on stdout", "on stderr"])
def test_a_program_that_prints_without_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, redirection: str
) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT_BYTES", 100_000)
    with pytest.raises(AgentError, match=r"^sh printed more than 100,000 bytes and was killed"):
        run(["sh", "-c", f"echo $$ > pids; exec yes more {redirection}"], tmp_path)
    assert [ends_soon(pid) for pid in pids(tmp_path)] == [True]


def test_a_program_that_has_printed_too_much_and_ended_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT_BYTES", 100_000)
    with pytest.raises(AgentError, match=r"^sh printed more than 100,000 bytes and was killed; the end .*:\nwhy$"):
        run(["sh", "-c", "echo why >&2; head -c 100001 /dev/zero"], tmp_path)


def test_a_process_that_ignores_its_input_does_not_block(tmp_path: Path) -> None:
    assert run(agent_command("print('done')"), tmp_path, stdin="x" * 1_000_000).stdout == "done\n"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("sys.exit(3)", "it exited with status 3", id="an exit status"),
        pytest.param(
            "print('why', file=sys.stderr); sys.exit(1)",
            "it exited with status 1; the end of its standard error:\nwhy",
            id="an exit status and a standard error",
        ),
        pytest.param("os.kill(os.getpid(), signal.SIGSEGV)", "it was killed by SIGSEGV", id="a signal"),
        pytest.param(
            "os.kill(os.getpid(), signal.SIGRTMIN + 1)", r"it was killed by signal \d+", id="a signal without a name"
        ),
    ],
)
def test_the_exit_message_says_how_the_process_ended(tmp_path: Path, body: str, message: str) -> None:
    assert re.fullmatch(message, run(agent_command(body), tmp_path).exit_message("it"))


def test_the_exit_message_ends_with_the_last_ten_lines_of_standard_error(tmp_path: Path) -> None:
    result = run(agent_command("sys.stderr.write('\\n'.join(str(n) for n in range(100))); sys.exit(1)"), tmp_path)
    assert result.exit_message("it").splitlines()[1:] == [str(number) for number in range(90, 100)]


@pytest.fixture
def time_is_up_with_pids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the timeout pass when the process has written `pids`, however long that takes."""
    path = tmp_path / "pids"
    monkeypatch.setattr(process, "monotonic", lambda: 1e9 if path.exists() and "end" in path.read_text() else 0.0)


@pytest.mark.usefixtures("time_is_up_with_pids")
@pytest.mark.parametrize("trap", [pytest.param("true", id="ends"), pytest.param("trap '' TERM", id="ignores SIGTERM")])
def test_a_process_is_killed_after_the_timeout(tmp_path: Path, trap: str) -> None:
    argv = ["sh", "-c", f"{trap}; echo waiting >&2; echo $$ end > pids; exec sleep 600"]
    with pytest.raises(AgentError) as caught:
        run(argv, tmp_path)
    assert str(caught.value) == (
        "sh did not finish within 20 s and was killed; the end of its standard error:\nwaiting"
    )
    assert [ends_soon(pid) for pid in pids(tmp_path)] == [True]


@pytest.mark.usefixtures("time_is_up_with_pids")
def test_all_that_it_started_is_killed_after_the_timeout(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="did not finish"):
        run(["sh", "-c", f"{START_CHILDREN}; exec sleep 600"], tmp_path)
    assert_all_but_the_hidden_end(tmp_path)


def test_all_that_outlives_the_process_is_killed_and_does_not_block(tmp_path: Path) -> None:
    assert run(["sh", "-c", f"{START_CHILDREN}; echo done"], tmp_path).stdout == "done\n"
    assert_all_but_the_hidden_end(tmp_path)


def assert_all_but_the_hidden_end(folder: Path) -> None:
    """Assert that what an agent started has ended, but for a daemon with an environment of its own."""
    *found, hidden = pids(folder)
    assert [ends_soon(pid) for pid in found] == [True] * (CHILDREN - 1)
    assert is_alive(hidden)


def test_detached_processes_stay_alive_if_they_are_to_be_kept(tmp_path: Path) -> None:
    result = run_process(["sh", "-c", START_CHILDREN], cwd=tmp_path, timeout_seconds=60, hint="", keep_detached=True)
    assert result.returncode == 0
    child, *detached = pids(tmp_path)
    assert ends_soon(child)
    assert [is_alive(pid) for pid in detached] == [True] * (CHILDREN - 1)


def test_an_interrupt_kills_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pids"

    def interrupt() -> float:
        if path.exists() and "end" in path.read_text():
            signal.raise_signal(signal.SIGINT)
        return 0.0

    # Not while it is started: Python may lose a process then.
    monkeypatch.setattr(process, "monotonic", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(["sh", "-c", "echo $$ end > pids; exec sleep 600"], tmp_path)
    assert [ends_soon(pid) for pid in pids(tmp_path)] == [True]


@pytest.mark.parametrize(
    ("argv", "folder", "message"),
    [
        pytest.param(
            ["no-such-agent"],
            ".",
            "executable 'no-such-agent' not found on PATH; install it, or pass executable",
            id="a name that is not on PATH",
        ),
        pytest.param(
            ["/no/agent"],
            ".",
            "executable '/no/agent' not found; install it, or pass executable",
            id="a path that does not exist",
        ),
        pytest.param([*agent_command(""), "\0"], ".", r"cannot start .*: embedded null byte", id="a null byte"),
        pytest.param(
            [*agent_command(""), "x" * 3_000_000],
            ".",
            r"cannot start .*: its arguments are too long; pass the document",
            id="arguments that are too long",
        ),
        pytest.param(["/"], ".", r"cannot start '/': .*Permission denied", id="a folder"),
        pytest.param(
            agent_command(""), "gone", r"the working folder \S+gone does not exist", id="a missing working folder"
        ),
    ],
)
def test_a_process_that_cannot_be_started_is_an_error(
    tmp_path: Path, argv: list[str], folder: str, message: str
) -> None:
    with pytest.raises(AgentError, match=message):
        run(argv, tmp_path / folder)


def test_on_windows_no_agent_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    with pytest.raises(AgentError) as caught:
        run(["agent"], tmp_path)
    assert str(caught.value) == "cannot start 'agent': agents run on Linux and macOS only"

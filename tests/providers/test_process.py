"""Processes: run to their end, and nothing left of them."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path

import pytest

from pytest_chatprompt import AgentError
from pytest_chatprompt.providers.process import Finished, run_process

from .agents import agent, ends_soon

pytestmark = pytest.mark.usefixtures("nothing_is_left")


def run(
    argv: list[str],
    folder: Path,
    *,
    stdin: str | None = None,
    timeout_seconds: float = 20,
    env: dict[str, str] | None = None,
) -> Finished:
    return run_process(
        argv, folder=folder, stdin=stdin, env=env, timeout_seconds=timeout_seconds, hint="pass executable"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("hello\n", id="a line"),
        pytest.param("", id="nothing"),
        pytest.param("'\"`$HOME\\ \r\n\t\x00\x1bü😀", id="quotes and controls"),
        pytest.param("'\"$(x)\n" * 150_000, id="a megabyte"),
    ],
)
def test_what_is_fed_arrives_byte_for_byte(tmp_path: Path, text: str) -> None:
    copy = agent("sys.stdout.buffer.write(sys.stdin.buffer.read())")
    assert run(copy, tmp_path, stdin=text) == Finished(0, text, "")


def test_without_input_standard_input_is_empty(tmp_path: Path) -> None:
    assert run(agent("print(repr(sys.stdin.read()))"), tmp_path).output == "''\n"


def test_arguments_are_no_shells_business(tmp_path: Path) -> None:
    arguments = ["-x", "--", "$HOME", "a b", "'", '"', "*", "line\nbreak", "", "ü"]
    assert run([*agent("print(json.dumps(sys.argv[1:]))"), *arguments], tmp_path).output.startswith(
        '["-x", "--", "$HOME"'
    )


def test_folder_and_variables_are_those_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "kept")
    finished = run(agent("print(os.getcwd(), os.environ['KEPT'], os.environ['MINE'])"), tmp_path, env={"MINE": "1"})
    assert finished.output.split() == [str(tmp_path.resolve()), "kept", "1"]


def test_bytes_that_are_no_utf8_are_replaced(tmp_path: Path) -> None:
    finished = run(agent("sys.stdout.buffer.write(b'a\\xffb'); sys.stderr.buffer.write(b'\\xfe')"), tmp_path)
    assert (finished.output, finished.errors) == ("a\ufffdb", "\ufffd")


def test_fifty_megabytes_of_output_block_nothing(tmp_path: Path) -> None:
    finished = run(agent("sys.stderr.write('e' * 50_000_000); sys.stdout.write('o' * 50_000_000)"), tmp_path, stdin="x")
    assert (len(finished.output), len(finished.errors)) == (50_000_000, 50_000_000)


def test_an_agent_that_ignores_its_input_blocks_nothing(tmp_path: Path) -> None:
    assert run(agent("print('done')"), tmp_path, stdin="x" * 1_000_000).output == "done\n"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param("sys.exit(3)", "it ended with status 3", id="a status"),
        pytest.param(
            "print('why', file=sys.stderr); sys.exit(1)",
            "it ended with status 1; the end of its standard error:\nwhy",
            id="a status and a reason",
        ),
        pytest.param("os.kill(os.getpid(), signal.SIGSEGV)", "it was ended by SIGSEGV", id="a signal"),
        pytest.param(
            "os.kill(os.getpid(), signal.SIGRTMIN + 1)", r"it was ended by signal \d+", id="a signal without name"
        ),
    ],
)
def test_how_it_ended_is_told(tmp_path: Path, body: str, told: str) -> None:
    assert re.fullmatch(told, run(agent(body), tmp_path).told("it"))


def test_of_many_lines_of_errors_the_last_are_told(tmp_path: Path) -> None:
    finished = run(agent("sys.stderr.write('\\n'.join(str(n) for n in range(100))); sys.exit(1)"), tmp_path)
    assert finished.told("it").splitlines()[1:] == [str(number) for number in range(90, 100)]


def test_one_that_never_ends_is_ended_after_the_timeout(tmp_path: Path) -> None:
    body = "print('waiting', file=sys.stderr, flush=True); pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"
    argv = agent(body)
    with pytest.raises(AgentError) as caught:
        run(argv, tmp_path, timeout_seconds=0.5)
    assert str(caught.value).startswith(f"{argv[0]} had not finished after 0.5 s and was ended")
    assert ends_soon(int((tmp_path / "pid").read_text()))


def test_one_that_takes_no_notice_of_the_signal_is_ended_all_the_same(tmp_path: Path) -> None:
    body = "signal.signal(signal.SIGTERM, signal.SIG_IGN); pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"
    with pytest.raises(AgentError, match="had not finished"):
        run(agent(body), tmp_path, timeout_seconds=0.5)
    assert ends_soon(int((tmp_path / "pid").read_text()))


CHILD = "child = subprocess.Popen(['sleep', '600']); pathlib.Path('pid').write_text(str(child.pid))"


def test_its_children_are_ended_with_it(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="had not finished"):
        run(agent(f"{CHILD}; time.sleep(600)"), tmp_path, timeout_seconds=1)
    assert ends_soon(int((tmp_path / "pid").read_text()))


def test_a_child_that_outlives_it_is_ended_and_blocks_nothing(tmp_path: Path) -> None:
    assert run(agent(f"{CHILD}; print('done')"), tmp_path).output == "done\n"
    assert ends_soon(int((tmp_path / "pid").read_text()))


def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    def interrupt() -> None:
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            pass
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(agent("pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"), tmp_path)
    thread.join()
    assert ends_soon(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    ("argv", "folder", "told"),
    [
        pytest.param(
            ["no-such-agent"],
            ".",
            "there is no executable 'no-such-agent' on PATH; install it, or pass executable",
            id="on PATH",
        ),
        pytest.param(
            ["/no/agent"], ".", "there is no executable '/no/agent'; install it, or pass executable", id="by its path"
        ),
        pytest.param([*agent(""), "\0"], ".", r"cannot be started: embedded null byte", id="a null byte"),
        pytest.param(
            [*agent(""), "x" * 3_000_000],
            ".",
            r"cannot be started: its arguments are too long; hand the document over",
            id="too long",
        ),
        pytest.param(agent(""), "gone", r"the working folder \S+gone is not there", id="a folder that is gone"),
    ],
)
def test_what_cannot_be_started_is_told(tmp_path: Path, argv: list[str], folder: str, told: str) -> None:
    with pytest.raises(AgentError, match=told):
        run(argv, tmp_path / folder)

"""`CLIProvider`: commands, placeholders, and where document and answer go."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_chatprompt import AgentError, CLIProvider, ProviderRequest
from pytest_chatprompt.providers.agents.base import PLACEHOLDER_FOLDER
from tests.providers.agents.fake_agents import agent_command, write_executable

pytestmark = pytest.mark.usefixtures("no_leftovers")

HARD = "-x --help\n'single' \"double\" `back` $HOME {files} {eval_id} \\ \t\r\n\x1b ü😀\n\n"
REQUEST = ProviderRequest(
    question=HARD,
    guidelines=("one", "two"),
    input_files=(Path("/repo/a.py"), Path("/repo/b.py")),
    eval_case_id="my-case",
)
PLAIN = ProviderRequest(question=HARD)
DOCUMENT = f"[[ ## user_query ## ]]\n\n{HARD}"


def build_argv(command: Sequence[str | Sequence[str]], request: ProviderRequest = REQUEST) -> tuple[str, ...]:
    return CLIProvider(command).build_invocation(request, PLACEHOLDER_FOLDER).argv


def test_placeholders_are_replaced_in_every_item() -> None:
    command = ["agent", "--id={eval_id}", "{guidelines}", "in={prompt_file}", "{output_file}", "literal {}", '{"a": 1}']
    assert build_argv(command) == (
        "agent", "--id=my-case", "one\n\ntwo", f"in={PLACEHOLDER_FOLDER / 'prompt.md'}", str(PLACEHOLDER_FOLDER / "output.md"),
        "literal {}", '{"a": 1}',
    )  # fmt: skip


def test_an_item_with_the_files_placeholder_is_repeated_for_each_file() -> None:
    assert build_argv(["agent", "--file={files}", "end"]) == ("agent", "--file=/repo/a.py", "--file=/repo/b.py", "end")
    assert build_argv(["agent", "{files}", "end"], PLAIN) == ("agent", "end")


def test_a_list_of_items_is_repeated_as_a_whole_for_each_file() -> None:
    command: list[str | list[str]] = ["agent", ["--file", "{files}"], "end"]
    assert build_argv(command) == ("agent", "--file", "/repo/a.py", "--file", "/repo/b.py", "end")
    assert build_argv(command, PLAIN) == ("agent", "end")


def test_placeholders_in_an_inserted_text_are_not_replaced() -> None:
    assert build_argv(["agent", "{prompt}"], PLAIN) == ("agent", DOCUMENT)


def test_the_id_of_a_request_without_a_case_is_empty() -> None:
    assert build_argv(["agent", "{eval_id}"], PLAIN) == ("agent", "")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        pytest.param([], "command must be a list of the executable and its arguments", id="an empty list"),
        pytest.param("agent {prompt}", "command must be a list of the executable and its arguments", id="a string"),
        pytest.param(
            ["agent", "{promt}"],
            r"unknown placeholder \{promt\}; the placeholders are \{prompt\}, \{prompt_file\}, \{guidelines\}, \{files\}, \{output_file\}, \{eval_id\}",
            id="a misspelt placeholder",
        ),
    ],
)
def test_an_invalid_command_is_an_error_at_once(command: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CLIProvider(command)


@pytest.mark.parametrize(
    ("command", "document"),
    [
        pytest.param(
            [*agent_command("sys.stdout.buffer.write(sys.stdin.buffer.read())")], DOCUMENT, id="on standard input"
        ),
        pytest.param(
            [*agent_command("sys.stdout.buffer.write(os.fsencode(sys.argv[1]))"), "{prompt}"],
            DOCUMENT,
            id="as an argument",
        ),
        pytest.param(
            [*agent_command("sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"), "{prompt_file}"],
            DOCUMENT,
            id="in a file",
        ),
        pytest.param(
            [
                *agent_command("pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read()); print('noise')"),
                "{output_file}",
            ],
            DOCUMENT,
            id="on standard input, with an output file",
        ),
    ],
)
def test_the_document_arrives_byte_for_byte(command: list[str], document: str) -> None:
    # Reading the output file as text turns CRLF into LF; the comparison has to ignore that.
    assert CLIProvider(command).send(PLAIN).text.replace("\r\n", "\n") == document.replace("\r\n", "\n")


def test_a_document_of_a_megabyte_goes_through_a_file() -> None:
    request = ProviderRequest(question="'\"$(x)\n" * 150_000)
    count = CLIProvider([*agent_command("print(len(pathlib.Path(sys.argv[1]).read_bytes()))"), "{prompt_file}"]).send(
        request
    )
    assert int(count.text) == len(request.question) + len("[[ ## user_query ## ]]\n\n")
    with pytest.raises(AgentError, match="its arguments are too long; pass the document in a file"):
        CLIProvider([*agent_command(""), "{prompt}"]).send(request)


def test_the_healthcheck_runs_once_before_the_first_case(tmp_path: Path) -> None:
    check = agent_command(f"open({str(tmp_path / 'checks')!r}, 'a').write('x')")
    provider = CLIProvider(agent_command("print('ok')"), healthcheck=check)
    assert [provider.send(PLAIN).text, provider.send(PLAIN).text] == ["ok\n", "ok\n"]
    assert (tmp_path / "checks").read_text() == "x"


def test_a_failed_healthcheck_is_an_error_and_the_command_does_not_run(tmp_path: Path) -> None:
    check = agent_command("print('no login', file=sys.stderr); sys.exit(1)")
    provider = CLIProvider(agent_command(f"open({str(tmp_path / 'ran')!r}, 'w')"), healthcheck=check)
    with pytest.raises(
        AgentError, match=r"the healthcheck failed: .* exited with status 1; the end of its standard error:\nno login"
    ):
        provider.send(PLAIN)
    assert not (tmp_path / "ran").exists()


def test_a_failed_command_is_an_error() -> None:
    with pytest.raises(AgentError, match="exited with status 4"):
        CLIProvider(agent_command("sys.exit(4)")).send(PLAIN)


def test_an_output_file_that_is_too_long_is_an_error() -> None:
    with pytest.raises(AgentError, match="sh wrote an answer of 70,000,000 bytes; the limit is 67,108,864"):
        CLIProvider(["sh", "-c", "yes | head -c 70000000 > $1", "sh", "{output_file}"]).send(PLAIN)


def test_there_is_no_command_by_default() -> None:
    with pytest.raises(ValueError, match="command must be a list of the executable and its arguments"):
        CLIProvider()


def test_a_missing_output_file_is_an_error() -> None:
    with pytest.raises(AgentError, match="wrote no output file; the end of its standard error:\nfull disk"):
        CLIProvider([*agent_command("print('full disk', file=sys.stderr)"), "{output_file}"]).send(PLAIN)


def test_the_error_about_a_missing_executable_says_how_to_choose_another() -> None:
    with pytest.raises(
        AgentError,
        match="executable 'no-agent' not found on PATH; install it, or pass another command to CLIProvider",
    ):
        CLIProvider(["no-agent"]).send(PLAIN)


def test_cwd_and_env_apply_to_the_command(tmp_path: Path) -> None:
    provider = CLIProvider(
        agent_command("print(json.dumps([os.getcwd(), os.environ['A']]))"), cwd=str(tmp_path), env={"A": "1"}
    )
    assert json.loads(provider.send(PLAIN).text) == [str(tmp_path), "1"]


def test_a_relative_path_counts_from_where_pytest_runs_and_from_cwd_if_that_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder, answer in ((tmp_path, "here"), (tmp_path / "agents", "in cwd")):
        folder.mkdir(exist_ok=True)
        write_executable(folder, "agent", f"print({answer!r}, end='')")
    assert CLIProvider(["./agent"], healthcheck=["./agent"]).send(PLAIN).text == "here"
    assert CLIProvider(["./agent"], cwd="agents").send(PLAIN).text == "in cwd"
    problem = f"executable '{tmp_path}/bin/agent' not found; install it, or pass another command to CLIProvider"
    with pytest.raises(AgentError, match=f"^{re.escape(problem)}$"):
        CLIProvider(["bin/agent"]).send(PLAIN)

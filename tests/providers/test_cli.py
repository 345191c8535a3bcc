"""Agents that a command line runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_chatprompt import AgentError, CLIProvider, ProviderRequest
from pytest_chatprompt.providers.agent import NOMINAL_FOLDER

from .agents import agent

pytestmark = pytest.mark.usefixtures("nothing_is_left")

HARD = "-x --help\n'single' \"double\" `back` $HOME {files} {eval_id} \\ \t\r\n\x1b ü😀\n\n"
REQUEST = ProviderRequest(
    question=HARD,
    guidelines=("one", "two"),
    input_files=(Path("/repo/a.py"), Path("/repo/b.py")),
    eval_case_id="my-case",
)
PLAIN = ProviderRequest(question=HARD)
DOCUMENT = f"[[ ## user_query ## ]]\n\n{HARD}"


def argv_of(command: list[str], request: ProviderRequest = REQUEST) -> tuple[str, ...]:
    return CLIProvider(command).handover(request, NOMINAL_FOLDER).argv


def test_placeholders_are_filled_in_each_item() -> None:
    command = ["agent", "--id={eval_id}", "{guidelines}", "in={prompt_file}", "{output_file}", "literal {}", '{"a": 1}']
    assert argv_of(command) == (
        "agent", "--id=my-case", "one\n\ntwo", f"in={NOMINAL_FOLDER / 'prompt.md'}", str(NOMINAL_FOLDER / "output.md"),
        "literal {}", '{"a": 1}',
    )  # fmt: skip


def test_an_item_with_files_is_repeated_for_each() -> None:
    assert argv_of(["agent", "--file={files}", "end"]) == ("agent", "--file=/repo/a.py", "--file=/repo/b.py", "end")
    assert argv_of(["agent", "{files}", "end"], PLAIN) == ("agent", "end")


def test_what_is_put_in_is_not_searched_for_placeholders() -> None:
    assert argv_of(["agent", "{prompt}"], PLAIN) == ("agent", DOCUMENT)


def test_a_request_without_id_has_an_empty_one() -> None:
    assert argv_of(["agent", "{eval_id}"], PLAIN) == ("agent", "")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        pytest.param([], "the command is a list of the executable and its arguments", id="nothing"),
        pytest.param("agent {prompt}", "the command is a list of the executable and its arguments", id="a string"),
        pytest.param(
            ["agent", "{promt}"],
            r"unknown placeholder \{promt\}; there are \{prompt\}, \{prompt_file\}, \{guidelines\}, \{files\}, \{output_file\}, \{eval_id\}",
            id="a placeholder misspelt",
        ),
    ],
)
def test_a_command_that_cannot_be_meant_is_refused_at_once(command: list[str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        CLIProvider(command)


@pytest.mark.parametrize(
    ("command", "document"),
    [
        pytest.param([*agent("sys.stdout.buffer.write(sys.stdin.buffer.read())")], DOCUMENT, id="on standard input"),
        pytest.param(
            [*agent("sys.stdout.buffer.write(os.fsencode(sys.argv[1]))"), "{prompt}"], DOCUMENT, id="as an argument"
        ),
        pytest.param(
            [*agent("sys.stdout.buffer.write(pathlib.Path(sys.argv[1]).read_bytes())"), "{prompt_file}"],
            DOCUMENT,
            id="in a file",
        ),
        pytest.param(
            [*agent("pathlib.Path(sys.argv[1]).write_bytes(sys.stdin.buffer.read()); print('noise')"), "{output_file}"],
            DOCUMENT,
            id="and the answer from a file",
        ),
    ],
)
def test_the_document_arrives_byte_for_byte(command: list[str], document: str) -> None:
    # Reading text turns line breaks into `\n`; bytes do not.
    assert CLIProvider(command).send(PLAIN).text.replace("\r\n", "\n") == document.replace("\r\n", "\n")


def test_a_document_of_a_megabyte_goes_through_a_file() -> None:
    request = ProviderRequest(question="'\"$(x)\n" * 150_000)
    count = CLIProvider([*agent("print(len(pathlib.Path(sys.argv[1]).read_bytes()))"), "{prompt_file}"]).send(request)
    assert int(count.text) == len(request.question) + len("[[ ## user_query ## ]]\n\n")
    with pytest.raises(AgentError, match="its arguments are too long; hand the document over in a file"):
        CLIProvider([*agent(""), "{prompt}"]).send(request)


def test_the_healthcheck_runs_once_before_the_first_case(tmp_path: Path) -> None:
    check = agent(f"open({str(tmp_path / 'checks')!r}, 'a').write('x')")
    provider = CLIProvider(agent("print('ok')"), healthcheck=check)
    assert [provider.send(PLAIN).text, provider.send(PLAIN).text] == ["ok\n", "ok\n"]
    assert (tmp_path / "checks").read_text() == "x"


def test_a_healthcheck_that_fails_is_told(tmp_path: Path) -> None:
    check = agent("print('no login', file=sys.stderr); sys.exit(1)")
    provider = CLIProvider(agent(f"open({str(tmp_path / 'ran')!r}, 'w')"), healthcheck=check)
    with pytest.raises(
        AgentError, match=r"the healthcheck failed: .* ended with status 1; the end of its standard error:\nno login"
    ):
        provider.send(PLAIN)
    assert not (tmp_path / "ran").exists()


def test_a_command_that_fails_is_told() -> None:
    with pytest.raises(AgentError, match="ended with status 4"):
        CLIProvider(agent("sys.exit(4)")).send(PLAIN)


def test_a_missing_output_file_is_told() -> None:
    with pytest.raises(AgentError, match="wrote no output file; the end of its standard error:\nfull disk"):
        CLIProvider([*agent("print('full disk', file=sys.stderr)"), "{output_file}"]).send(PLAIN)


def test_an_executable_that_is_not_there_is_told_with_what_to_set() -> None:
    with pytest.raises(
        AgentError,
        match="there is no executable 'no-agent' on PATH; install it, or pass another command to CLIProvider",
    ):
        CLIProvider(["no-agent"]).send(PLAIN)


def test_folder_and_variables_are_those_given(tmp_path: Path) -> None:
    provider = CLIProvider(
        agent("print(json.dumps([os.getcwd(), os.environ['A']]))"), cwd=str(tmp_path), env={"A": "1"}
    )
    assert json.loads(provider.send(PLAIN).text) == [str(tmp_path), "1"]

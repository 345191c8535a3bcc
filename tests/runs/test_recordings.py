"""Recordings: a live run writes the answers beside the snapshots, a replayed run uses them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.runs.conftest import MakeLiveProject, Run, case_ids, eval_file
from tests.runs.test_responses import each_check
from tests.server import CHAT_REPLY, Reply, Server


def recording_path(run: Run, name: str = "c0") -> Path:
    return run.path / f"__snapshots__/a.eval/{name}[openai].recording.yaml"


def test_a_recording_is_a_readable_file(live_project: MakeLiveProject, server: Server) -> None:
    server.reply_with({"choices": [{"message": {"content": "one\ntwo sk-live-0123456789"}, "finish_reason": "stop"}]})
    run = live_project(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    text = recording_path(run).read_text()
    (exchange,) = yaml.safe_load(text)["exchanges"]
    assert text == (
        "version: 1\n"
        "exchanges:\n"
        "- request:\n"
        "    endpoint: POST /chat/completions\n"
        f"    sha256: {exchange['request']['sha256']}\n"
        "    body:\n"
        "      model: gpt-5.5\n"
        "      messages:\n"
        "      - role: system\n"
        "        content: You are a careful assistant.\n"
        "      - role: user\n"
        "        content: c0\n"
        "  reply:\n"
        "    status: 200\n"
        '    content_type: ""\n'
        "    body:\n"
        "      choices:\n"
        "      - message:\n"
        "          content: |-\n"
        "            one\n"
        "            two [secret]\n"
        "        finish_reason: stop\n"
        f"  latency_seconds: {exchange['latency_seconds']}\n"
    )
    assert re.fullmatch("[0-9a-f]{64}", exchange["request"]["sha256"])
    assert not list(run.path.rglob(".*recording*"))
    run().assert_outcomes(passed=2)


@each_check
def test_a_replayed_run_runs_the_same_checks_offline(live_project: MakeLiveProject, server: Server, check: str) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    server.requests.clear()
    run.append("conftest.py", check)
    result = run("--chatprompt-replay")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*assert 'unreal' in [[]'a', 'real', 'answer'[]]*"])
    assert server.requests == []


def test_a_replayed_response_has_its_tool_calls(live_project: MakeLiveProject, server: Server) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    server.reply_with({"choices": [{"message": {"content": None, "tool_calls": [call]}}]})
    check = f"""
def pytest_chatprompt_response(response):
    assert [call.model_dump() for call in response.tool_calls] == {json.dumps([call])}
    assert response.text == ""
"""
    run = live_project(1, conftest=check)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    run("--chatprompt-replay").assert_outcomes(passed=1)


RECORD_AGAIN = "put the file back, as with git checkout, or record it again: pytest a.eval.yaml::c0 --chatprompt-live --chatprompt-record"
RECORD_CASE = "To record it: pytest a.eval.yaml::c0 --chatprompt-live --chatprompt-replay"
RECORDING_PATH = "__snapshots__/a.eval/c0[[]openai[]].recording.yaml"


def test_a_recording_of_another_request_is_an_error(live_project: MakeLiveProject) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": eval_file(case_ids(2)).replace("content: c0", "content: changed")})
    run.update()
    result = run("--chatprompt-replay")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'c0': no reply is recorded for this request to POST /chat/completions: "
            f"{RECORDING_PATH} has none of its hash",
            "The nearest recorded request differs in:",
            "@@ request.messages[[]1[]].content @@",
            "-     content: c0",
            "+     content: changed",
            RECORD_CASE,
        ]
    )


def test_a_missing_recording_is_an_error(live_project: MakeLiveProject) -> None:
    result = live_project(1)("--chatprompt-replay")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            f"*case 'c0': no reply is recorded for POST /chat/completions: there is no {RECORDING_PATH}",
            RECORD_CASE,
        ]
    )


UNREADABLE = {
    "a merge conflict": "<<<<<<< HEAD\n",
    "missing keys": "version: 1\n",
    "a list": "[]",
    "a control character": "\x00",
    "a later version": "version: 2\nexchanges: []\n",
    "a number": "version: 1\nexchanges: [5]\n",
    "nested too deeply": "version: 1\nexchanges: " + "[" * 300,
}


def test_an_unreadable_recording_is_an_error(live_project: MakeLiveProject) -> None:
    run = live_project(len(UNREADABLE))
    for name, content in zip(case_ids(len(UNREADABLE)), UNREADABLE.values(), strict=True):
        recording_path(run, name).write_text(content)
    result = run("--chatprompt-replay")
    result.assert_outcomes(errors=len(UNREADABLE))
    for name in case_ids(len(UNREADABLE)):
        where, again = (text.replace("c0", name) for text in (RECORDING_PATH, RECORD_AGAIN))
        result.stdout.fnmatch_lines([f"*cannot read the recording {where} (*); {again}"])
    result.stdout.fnmatch_lines(["*c6*(line 2, column 211: nested more than 200 levels deep); *"])


@pytest.mark.parametrize("repeat", [1, 2])
@pytest.mark.parametrize(
    "mode",
    [
        ("--chatprompt-replay",),
        ("--chatprompt-live", "--chatprompt-replay"),
        ("--chatprompt-live", "--chatprompt-record"),
    ],
    ids="-".join,
)
def test_no_reply_is_recorded_over_the_conflict_of_a_merge(
    live_project: MakeLiveProject, server: Server, mode: tuple[str, ...], repeat: int
) -> None:
    run = live_project(1)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    path = recording_path(run)
    paid = path.read_text()
    path.write_text(f"<<<<<<< HEAD\n{paid}=======\n{paid}>>>>>>> theirs\n")
    merged, sent = path.read_text(), len(server.requests)
    result = run(*mode, f"--chatprompt-repeat={repeat}")
    assert path.read_text() == merged
    assert len(server.requests) == sent
    result.stdout.fnmatch_lines(
        [
            f"*the recording {RECORDING_PATH} holds the conflict of a merge, in line 1; take one side, as with "
            "git checkout --ours: what either holds was paid for, so nothing is recorded over it. To record it again, "
            "delete it: pytest * --chatprompt-live --chatprompt-record"
        ]
    )


def test_an_empty_answer_is_not_recorded(live_project: MakeLiveProject, server: Server) -> None:
    server.script = lambda _, body: (
        Reply() if body["messages"][-1]["content"] == "c0" else Reply({"choices": [{"message": {"content": ""}}]})
    )
    run = live_project(2)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1, failed=1)
    assert recording_path(run).exists()
    assert not recording_path(run, "c1").exists()


def test_an_unused_recording_is_reported_and_removed_by_one_option_alone(live_project: MakeLiveProject) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": eval_file(["c0"])})
    result = run()
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "1 eval snapshot unused: the case or the provider is no longer defined.",
            "  __snapshots__/a.eval/c1[[]openai[]].yaml",
            "To remove it: pytest -p no:cacheprovider --chatprompt-accept=unused",
            "1 recording unused: no case and no test is left that has it.",
            "  __snapshots__/a.eval/c1[[]openai[]].recording.yaml",
            "To remove it: pytest -p no:cacheprovider --chatprompt-remove-unused",
        ],
        consecutive=True,
    )
    recordings = [f"__snapshots__/a.eval/{name}[openai].recording.yaml" for name in ("c0", "c1")]
    for _ in range(2):
        run.update().stdout.fnmatch_lines(["1 recording unused: *"])
        assert run.snapshots() == [recordings[0], "__snapshots__/a.eval/c0[openai].yaml", recordings[1]]
    run("--chatprompt-remove-unused", "--snapshot-no-cleanup")
    assert recordings[1] in run.snapshots()
    result = run("--chatprompt-remove-unused")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["1 recording removed: no case and no test is left that has it.", "  *c1*.recording.yaml"]
    )
    assert run.snapshots() == [recordings[0], "__snapshots__/a.eval/c0[openai].yaml"]


def test_the_option_removes_snapshots_of_eval_files_too_and_accepts_nothing(live_project: MakeLiveProject) -> None:
    run = live_project(3)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    before = run.snapshots()
    text = (run.path / "__snapshots__/a.eval/c0[openai].yaml").read_text()
    run.write({"a.eval.yaml": eval_file(["c0", "c1"]).replace("content: c0", "content: changed")})
    result = run("--chatprompt-remove-unused")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["Nothing of this was removed, because some case, or some test that may need it, did not pass."]
    )
    assert (run.snapshots(), (run.path / "__snapshots__/a.eval/c0[openai].yaml").read_text()) == (before, text)
    run.write({"a.eval.yaml": eval_file(["c0", "c1"])})
    assert run("--chatprompt-remove-unused").ret == 0
    assert run.snapshots() == before[:4]


def test_a_replay_of_all_cases_prunes_what_no_request_asks_for(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": eval_file(case_ids(2)).replace("content: c0", "content: changed")})
    run.update()
    # What was paid for stays, also when another request is recorded.
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    assert len(yaml.safe_load(recording_path(run).read_text())["exchanges"]) == 2
    server.requests.clear()
    option = "--chatprompt-remove-unused"
    for arguments in (
        [option],
        ["--chatprompt-replay", "--snapshot-update"],
        ["--chatprompt-replay", option, "-k", "c0"],
        ["--chatprompt-replay", option, "--chatprompt-live"],
        ["--chatprompt-replay"],
    ):
        result = run(*arguments)
        assert len(yaml.safe_load(recording_path(run).read_text())["exchanges"]) == 2
    result.stdout.fnmatch_lines(["1 recorded reply that no request asked for, in a.eval.yaml::c0; to remove *"])
    result = run("--chatprompt-replay", option, "-n", "2")
    result.assert_outcomes(passed=2)
    assert "1 recorded reply removed: no request asked for it." in result.outlines
    assert "removed" not in run("--chatprompt-replay", option).stdout.str()
    (exchange,) = yaml.safe_load(recording_path(run).read_text())["exchanges"]
    assert exchange["request"]["body"]["messages"][-1]["content"] == "changed"
    run("--chatprompt-replay").assert_outcomes(passed=2)
    assert server.requests == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["--chatprompt-record"],
            "--chatprompt-record keeps the answers of a live run; add --chatprompt-live",
            id="record without live",
        ),
    ],
)
def test_options_that_exclude_each_other_are_a_usage_error(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {message}"])


def test_the_answer_of_an_agent_is_recorded_and_replayed_too(live_project: MakeLiveProject) -> None:
    agent = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["echo", "so: {prompt}"])

def pytest_chatprompt_response(case, response):
    assert response.text.strip().startswith("so:")
"""
    run = live_project(2, conftest=agent)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    run("--chatprompt-replay").assert_outcomes(passed=2)


def test_the_recording_of_an_agent_is_the_same_on_every_machine(live_project: MakeLiveProject) -> None:
    agent = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["echo", "{files}", "{prompt}"])
"""
    run = live_project(1, conftest=agent)
    content = "[{type: text, value: hi}, {type: file, value: x.md}]"
    for folder in ("here", "there"):
        run.write(
            {
                f"{folder}/pytest.ini": "[pytest]\n",
                f"{folder}/conftest.py": "import pytest\n" + agent,
                f"{folder}/x.md": "x",
                f"{folder}/a.eval.yaml": eval_file(["c0"]).replace("content: c0", f"content: {content}"),
            }
        )
    run.update("--rootdir=here", "here")
    run("--rootdir=here", "here", "--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    (run.path / "here/__snapshots__").rename(run.path / "there/__snapshots__")
    run("--rootdir=there", "there", "--chatprompt-replay").assert_outcomes(passed=1)


def test_the_answer_of_a_custom_provider_is_recorded_and_replayed_too(live_project: MakeLiveProject) -> None:
    function = """
@pytest.fixture
def openai_provider():
    return lambda request: ProviderResponse(text=f"so: {request.question}")

def pytest_chatprompt_response(case, response):
    assert response.text == f"so: {case.id}"
"""
    run = live_project(2, conftest=function)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    run("--chatprompt-replay").assert_outcomes(passed=2)


def test_live_with_replay_pays_only_for_what_changed(live_project: MakeLiveProject, server: Server) -> None:
    run = live_project(4)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    before = [recording_path(run, name).read_bytes() for name in case_ids(4)]
    run.write({"a.eval.yaml": eval_file(case_ids(5)).replace("content: c2", "content: changed")})
    run.update()
    server.requests.clear()
    result = run("--chatprompt-live", "--chatprompt-replay")
    result.assert_outcomes(passed=5)
    assert sorted(server.last_contents) == ["c4", "changed"]
    result.stdout.fnmatch_lines(
        ["3 replies were replayed, which saved 30 input and 9 output tokens, 2 requests were sent."]
    )
    result.stdout.fnmatch_lines(["openai *2 *20 *6 *"])
    after = [recording_path(run, name).read_bytes() for name in case_ids(4)]
    assert [one == other for one, other in zip(before, after, strict=True)] == [True, True, False, True]
    server.requests.clear()
    result = run("--chatprompt-replay")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        [
            "5 replies were replayed, which saved 50 input and 15 output tokens.",
            "1 recorded reply that no request asked for, in a.eval.yaml::c2; *",
        ]
    )
    assert server.requests == []


def test_requests_that_the_api_refuses_were_sent_too(live_project: MakeLiveProject, server: Server) -> None:
    refused = Reply({"error": {"message": "no"}}, 400)
    server.script = lambda _, body: refused if body["messages"][-1]["content"] == "c1" else Reply()
    run = live_project(3)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2, failed=1)
    result = run("--chatprompt-live", "--chatprompt-replay")
    result.assert_outcomes(passed=2, failed=1)
    assert sorted(server.last_contents) == ["c0", "c1", "c1", "c2"]
    result.stdout.fnmatch_lines(
        ["2 replies were replayed, which saved 20 input and 6 output tokens, 1 request was sent."]
    )


AGENT_LOOP = """
import asyncio

import httpx

def ask(messages):
    body = {"model": "m", "messages": messages}
    return httpx.post("URL/chat/completions", json=body).json()["choices"][0]["message"]["content"]

@pytest.fixture(scope="session")
def openai_provider():
    def agent(request):
        messages = [{"role": "user", "content": request.question}]
        first = ask(messages)
        return ask([*messages, {"role": "assistant", "content": first}, {"role": "user", "content": "And then?"}])
    return agent

def pytest_chatprompt_response(case, response):
    assert response.text == "a real answer"
"""


def test_a_loop_whose_second_request_holds_the_first_reply_is_replayed(
    live_project: MakeLiveProject, server: Server
) -> None:
    run = live_project(2, conftest=AGENT_LOOP.replace("URL", server.url))
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    assert len(server.requests) == 4
    exchanges = yaml.safe_load(recording_path(run).read_text())["exchanges"]
    assert [len(exchange["request"]["body"]["messages"]) for exchange in exchanges] == [1, 3]
    server.requests.clear()
    run("--chatprompt-replay").assert_outcomes(passed=2)
    run("--chatprompt-live", "--chatprompt-replay").assert_outcomes(passed=2)
    assert server.requests == []


def test_masks_hold_for_snapshots_and_recordings_of_eval_files(live_project: MakeLiveProject, server: Server) -> None:
    masks = """
@pytest.fixture(scope="session")
def eval_masks():
    return {"c[0-9]": "<case>", "v[0-9]+": "<version>"}
"""
    run = live_project(3, conftest=masks)
    assert "content: <case>" in (run.path / "__snapshots__/a.eval/c0[openai].yaml").read_text()
    result = run("--chatprompt-live", "--chatprompt-record")
    result.assert_outcomes(passed=3)
    result.stdout.no_fnmatch_line("*one by one*")
    assert sorted(server.last_contents) == case_ids(3)
    run.write({"a.eval.yaml": eval_file(case_ids(3)).replace("content: c0", "content: c7")})
    run("--chatprompt-replay").assert_outcomes(passed=3)


def test_invalid_masks_are_an_error_of_the_case(live_project: MakeLiveProject) -> None:
    run = live_project(1)
    run.append("conftest.py", "\n@pytest.fixture\ndef eval_masks():\n    return {'(': 'x'}\n")
    result = run()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*eval_masks: '(' is not a valid regular expression (*"])


@pytest.mark.parametrize("arguments", [["--snapshot-update"], ["--chatprompt-accept", "new"]])
def test_a_renamed_case_takes_its_recording_along(
    live_project: MakeLiveProject, server: Server, arguments: list[str]
) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": eval_file(case_ids(2)).replace("id: c0", "id: renamed")})
    result = run(*arguments)
    assert result.ret == 0
    moved = (
        "__snapshots__/a.eval/c0[[]openai[]].recording.yaml to __snapshots__/a.eval/renamed[[]openai[]].recording.yaml"
    )
    result.stdout.fnmatch_lines(
        [
            f"Its requests are sent by another test now: moved {moved}",
            "1 eval snapshot removed: the case or the provider is no longer defined.",
        ]
    )
    server.requests.clear()
    run("--chatprompt-live", "--chatprompt-replay").assert_outcomes(passed=2)
    assert server.requests == []


def test_a_recording_that_cannot_be_moved_is_told_and_fails_the_run(
    live_project: MakeLiveProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": eval_file(case_ids(2)).replace("id: c0", "id: renamed")})
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if path == recording_path(run):
            raise PermissionError(13, "Permission denied")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse)
    result = run("--snapshot-update")
    assert result.ret == 1
    assert "__snapshots__/a.eval/c0[openai].recording.yaml is not moved: Permission denied" in result.outlines
    assert "1 eval snapshot removed: the case or the provider is no longer defined." in result.outlines
    assert "1 recording unused: no case and no test is left that has it." in result.outlines
    assert recording_path(run).exists()


def test_replies_that_cannot_be_removed_from_a_recording_are_told_and_fail_the_run(
    live_project: MakeLiveProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    for name in case_ids(2):
        path = recording_path(run, name)
        data = yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**data, "exchanges": data["exchanges"] * 2}, sort_keys=False))
    replace = Path.replace

    def refuse(path: Path, target: Path) -> Path:
        if target == recording_path(run):
            raise PermissionError(13, "Permission denied")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse)
    result = run("--chatprompt-replay", "--chatprompt-remove-unused")
    assert result.ret == 1
    result.assert_outcomes(passed=2)
    problem = (
        "__snapshots__/a.eval/c0[openai].recording.yaml keeps replies that no request asked for: Permission denied"
    )
    assert problem in result.outlines
    assert "1 recorded reply removed: no request asked for it." in result.outlines
    assert [len(yaml.safe_load(recording_path(run, each).read_text())["exchanges"]) for each in case_ids(2)] == [2, 1]


@pytest.mark.parametrize(("new", "workers"), [("b.eval.yaml", []), ("sub/a.eval.yaml", ["-n", "2"])])
def test_a_moved_eval_file_takes_its_recordings_along(
    live_project: MakeLiveProject, server: Server, new: str, workers: list[str]
) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    # One more, whose request nobody sends.
    other = recording_path(run).read_text().replace("content: c0", "content: other")
    recording_path(run, "gone").write_text(re.sub(r"sha256: .*", f"sha256: {'0' * 64}", other).replace("body:", "x:"))
    recorded = yaml.safe_load(recording_path(run).read_text())
    recorded["exchanges"][0]["request"] = {"endpoint": "POST /chat/completions", "sha256": "of another request"}
    recording_path(run, "gone").write_text(yaml.safe_dump(recorded))
    (run.path / new).parent.mkdir(exist_ok=True)
    (run.path / "a.eval.yaml").rename(run.path / new)
    # A run of this file alone does not come to the old folder.
    run(new, "--chatprompt-remove-unused")
    assert len(list((run.path / "__snapshots__/a.eval").iterdir())) == 5
    result = run.update(*workers)
    folder = (Path(new).parent / "__snapshots__" / Path(new).stem).as_posix()
    result.stdout.fnmatch_lines(
        [
            f"Its requests are sent by another test now: moved __snapshots__/a.eval/{name}?openai?.recording.yaml "
            f"to {folder}/{name}?openai?.recording.yaml"
            for name in ("c0", "c1")
        ]
    )
    left = "3 files unused: the eval file or the module is gone."
    command = "To remove them: pytest * --chatprompt-remove-unused"
    result.stdout.fnmatch_lines([left, *["  __snapshots__/a.eval/*.yaml"] * 3, command], consecutive=True)
    server.requests.clear()
    result = run("--chatprompt-replay")
    result.assert_outcomes(passed=2)
    # It is no failure: nobody has read the file that these snapshots are of.
    assert (result.ret, left in result.outlines, server.requests) == (0, True, [])
    run("--chatprompt-remove-unused", *workers)
    assert not (run.path / "__snapshots__/a.eval").exists()
    assert len(run.snapshots()) == 4


@pytest.mark.parametrize("left_out", ["-k c0", "skipped"])
def test_what_a_case_may_need_that_did_not_run_stays(live_project: MakeLiveProject, left_out: str) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    (run.path / "a.eval.yaml").unlink()
    arguments = left_out.split() if left_out != "skipped" else []
    moved = eval_file(case_ids(2))
    run.write({"b.eval.yaml": moved if arguments else moved.replace("id: c1\n", "id: c1\n    tags: [skip]\n")})
    run.update(*arguments)
    result = run("--chatprompt-remove-unused", *arguments)
    assert result.ret == 0
    assert recording_path(run, "c1").exists()
    said = "Nothing of this was removed, because some case, or some test that may need it, did not pass."
    assert (said in result.outlines, "To remove" in result.stdout.str()) == (not arguments, not arguments)


def test_what_another_file_needs_is_not_removed_by_a_run_of_one_file(live_project: MakeLiveProject) -> None:
    run = live_project(2)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    run.write({"a.eval.yaml": eval_file(["c0"]), "sub/b.eval.yaml": eval_file(["c1"])})
    run("sub", "--snapshot-update")
    result = run("a.eval.yaml", "--chatprompt-remove-unused")
    result.stdout.fnmatch_lines(["*: moved *a.eval/c1?openai?.recording.yaml to sub/*b.eval/c1?openai?.recording.yaml"])
    run("--chatprompt-replay").assert_outcomes(passed=2)


def test_a_folder_of_others_and_one_that_a_link_leads_out_of_the_root_are_left_alone(
    live_project: MakeLiveProject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a[x].yaml").write_text("provider: x\n")
    run = live_project(1)
    run.write({"__snapshots__/gone/a.yaml": "theirs: 1\n", "__snapshots__/gone2/a[x].yaml": "theirs: 1\n"})
    (run.path / "__snapshots__/gone3").symlink_to(outside)
    before = run.snapshots()
    for option in ("--snapshot-warn-unused", "--chatprompt-remove-unused"):
        run(option).stdout.no_fnmatch_line("*gone*")
    assert (run.snapshots(), len(list(outside.iterdir()))) == (before, 1)


def test_a_recording_alone_is_no_failure_and_removed_when_nothing_sends_its_request(
    live_project: MakeLiveProject,
) -> None:
    run = live_project(1)
    run.with_snapshots("--chatprompt-live", "--chatprompt-record")
    recording_path(run, "other").write_text(recording_path(run).read_text())
    recorded = yaml.safe_load(recording_path(run).read_text())
    recorded["exchanges"][0]["request"] = {"endpoint": "POST /chat/completions", "sha256": "of another request"}
    recording_path(run, "gone").write_text(yaml.safe_dump(recorded))
    result = run()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["2 recordings unused: *"])
    run.update()
    assert recording_path(run, "gone").exists()
    run("--chatprompt-remove-unused")
    # The request of the first is still sent.
    assert recording_path(run, "other").exists()
    assert not recording_path(run, "gone").exists()


def test_a_replayed_run_needs_neither_keys_nor_endpoints(
    run: Run, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.write({"a.eval.yaml": eval_file(["c0"], "azure")})
    run.update()
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "live-0123456789")
    server.reply = Reply()
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT")
    monkeypatch.delenv("AZURE_OPENAI_API_KEY")
    run("--chatprompt-replay").assert_outcomes(passed=1)
    assert len(server.requests) == 1


ASYNC_LOOP = """
import aiohttp

@pytest.fixture
def eval_api(eval_api):
    eval_api.reply("queued")
    return eval_api

@pytest.fixture(scope="session")
def openai_provider():
    async def send(request):
        async with aiohttp.ClientSession() as session:
            answers = []
            for text in (request.question, "second"):
                body = {"model": "m", "messages": [{"role": "user", "content": text}]}
                async with session.post("URL/chat/completions", json=body) as reply:
                    answers.append((await reply.json())["choices"][0]["message"]["content"])
        return " ".join(answers)
    return send

def pytest_chatprompt_response(case, response):
    assert response.text == "queued a real answer"
"""


def test_an_async_provider_is_recorded_and_replayed_beside_queued_replies(
    live_project: MakeLiveProject, server: Server
) -> None:
    server.headers = {"content-type": "application/json"}
    run = live_project(1, conftest=ASYNC_LOOP.replace("URL", server.url))
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=1)
    assert server.last_contents == ["second"]
    run("--chatprompt-replay").assert_outcomes(passed=1)
    run("--chatprompt-live", "--chatprompt-replay").assert_outcomes(passed=1)
    assert server.last_contents == ["second"]
    recording_path(run).unlink()
    result = run("--chatprompt-replay")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*no reply is recorded for POST /chat/completions: there is no *"])


def test_an_agent_pays_only_for_what_changed_and_says_what_is_missing(
    live_project: MakeLiveProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COUNTED", str(tmp_path / "count"))
    agent = """
from pytest_chatprompt import CLIProvider

@pytest.fixture(scope="session")
def openai_provider():
    return CLIProvider(["sh", "-c", "echo x >> $COUNTED; echo so: $0", "{prompt}"])
"""
    run = live_project(2, conftest=agent)
    run("--chatprompt-live", "--chatprompt-record").assert_outcomes(passed=2)
    recording_path(run).unlink()
    result = run("--chatprompt-replay")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([f"*no answer to what is sent now is recorded at {RECORDING_PATH}: there is none"])
    result = run("--chatprompt-live", "--chatprompt-replay")
    result.assert_outcomes(passed=2)
    assert (tmp_path / "count").read_text() == "x\n" * 3


def test_what_holds_the_conflict_of_a_merge_is_not_promised_to_be_removed(live_project: MakeLiveProject) -> None:
    run = live_project(1)
    run.update()
    recording_path(run, "gone").write_text("<<<<<<< HEAD\n=======\n>>>>>>> theirs\n")
    result = run()
    lines = ["1 recording unused: *", "  *gone*.yaml, which holds the conflict of a merge: delete it yourself"]
    result.stdout.fnmatch_lines(lines, consecutive=True)
    result.stdout.no_fnmatch_line("To remove *")


def test_a_recording_that_cannot_be_read_is_not_removed(live_project: MakeLiveProject) -> None:
    run = live_project(1)
    recording_path(run, "gone").write_text("<<<<<<< HEAD\n")
    for option in ("--snapshot-update", "--chatprompt-remove-unused"):
        run(option).stdout.fnmatch_lines(["Its requests are still sent, or it cannot be read: kept *gone*"])
        assert recording_path(run, "gone").exists()


def test_an_answer_is_recorded_before_it_is_graded(live_project: MakeLiveProject, server: Server) -> None:
    server.reply_with(CHAT_REPLY)
    ends = "\nimport os\n\ndef pytest_chatprompt_response(case):\n    os._exit(7)\n"
    run = live_project(1)
    conftest = run.path / "conftest.py"
    text = conftest.read_text()
    conftest.write_text(text + ends)
    ended = run.apart("--chatprompt-live", "--chatprompt-record")
    assert (ended.ret, len(server.requests)) == (7, 1)
    conftest.write_text(text)
    run("--chatprompt-replay").assert_outcomes(passed=1)
    assert len(server.requests) == 1


OWN_CODE = """
import httpx

def test_own(eval_api):
    httpx.post("{url}/chat/completions", json={{"model": "m", "messages": []}})
"""


def test_what_cannot_be_written_is_an_error_of_the_operating_system_and_is_paid_for(
    live_project: MakeLiveProject, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    run = live_project(1)
    run.write({"test_own.py": OWN_CODE.format(url=server.url)})
    before = run.snapshots()
    # A full disk is hard to come by.
    monkeypatch.setattr("pytest_chatprompt.snapshots.recording_files.atomic_write", refuse)
    result = run("--chatprompt-live", "--chatprompt-record")
    result.assert_outcomes(passed=1, errors=2)
    reason = "cannot be written: No space left on device; make room for it, or make it writable, and run again"
    result.stdout.fnmatch_lines_random(
        [
            f"*c0*: what was sent and replied is not recorded: {RECORDING_PATH} {reason}",
            f"what was sent and replied is not recorded: __snapshots__/test_own/test_own.recording.yaml {reason}",
            "openai * 1 *",
            "own code * 1 *",
        ]
    )
    result.stdout.no_fnmatch_line("*atomic_write*")
    assert run.snapshots() == before

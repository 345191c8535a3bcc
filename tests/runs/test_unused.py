"""Unused snapshots: which are reported and removed, and which never are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.conftest import HELLO, Run

TWO = HELLO + "  - id: second\n    provider: [azure, gemini]\n    input_messages: [{role: user, content: x}]\n"
HELLO_SNAPSHOT = "__snapshots__/a.eval/hello[openai].yaml"
GEMINI_SNAPSHOT = "__snapshots__/a.eval/second[gemini].yaml"
SECOND_SNAPSHOTS = ["__snapshots__/a.eval/second[azure].yaml", GEMINI_SNAPSHOT]
ALL = [HELLO_SNAPSHOT, *SECOND_SNAPSHOTS]
# Removes all that either of them removes.
REMOVE = ("--snapshot-update", "--chatprompt-remove-unused")

SYRUPY_TEST = "def test_one(snapshot):\n    assert 'x' == snapshot\n"


@pytest.fixture
def run_with_snapshots(run: Run) -> Run:
    """A folder with an eval file, an ordinary test, and the snapshots of both."""
    run.write({"a.eval.yaml": TWO, "test_b.py": SYRUPY_TEST})
    return run.with_snapshots()


def eval_snapshots(run: Run) -> list[str]:
    return [name for name in run.snapshots() if name.endswith(".yaml")]


def syrupy_snapshots(run: Run) -> list[str]:
    return [name for name in run.snapshots() if name.endswith(".ambr")]


def test_the_snapshots_of_a_removed_case_are_reported_as_unused(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO})
    result = run_with_snapshots()
    assert result.ret == 1
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "*- eval snapshots -*",
            "2 eval snapshots unused: the case or the provider is no longer defined.",
            "  __snapshots__/a.eval/second[[]azure[]].yaml",
            "  __snapshots__/a.eval/second[[]gemini[]].yaml",
            "To remove them: pytest -p no:cacheprovider --chatprompt-accept=unused",
        ],
        consecutive=True,
    )
    assert eval_snapshots(run_with_snapshots) == ALL


def test_an_update_deletes_the_snapshot_of_a_removed_provider(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"a.eval.yaml": TWO.replace("[azure, gemini]", "azure")})
    result = run_with_snapshots.update()
    result.stdout.fnmatch_lines(["1 eval snapshot removed: the case or the provider is no longer defined."])
    assert eval_snapshots(run_with_snapshots) == ALL[:2]
    assert syrupy_snapshots(run_with_snapshots) == ["__snapshots__/test_b.ambr"]


@pytest.mark.parametrize(
    ("arguments", "ret", "is_reported"),
    [
        pytest.param(["--snapshot-warn-unused"], 0, True, id="only warned about"),
        pytest.param(["--snapshot-update", "--snapshot-no-cleanup"], 0, True, id="updated without cleanup"),
        pytest.param(["--snapshot-disable-unused"], 0, False, id="not checked"),
    ],
)
def test_syrupys_options_for_unused_snapshots_apply(
    run_with_snapshots: Run, arguments: list[str], ret: int, is_reported: bool
) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO})
    result = run_with_snapshots(*arguments)
    assert result.ret == ret
    assert ("2 eval snapshots unused" in result.stdout.str()) is is_reported
    assert eval_snapshots(run_with_snapshots) == ALL


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["-k", "hello"], id="by keyword"),
        pytest.param(["-m", "smoke"], id="by a tag that no case has"),
        pytest.param(["a.eval.yaml::hello"], id="by node id"),
        pytest.param(["--deselect", "a.eval.yaml::hello"], id="with one deselected"),
        pytest.param(["--chatprompt-provider", "openai"], id="with a provider named"),
        pytest.param(["-o", "chatprompt_provider=azure"], id="with the ini overridden"),
        pytest.param(["test_b.py"], id="of another file only"),
        pytest.param(["--ignore=a.eval.yaml"], id="without the file"),
        pytest.param([".", "--ignore=a.eval.yaml"], id="of the folder without the file"),
        pytest.param(["--collect-only"], id="that only collects"),
        pytest.param(["--setup-plan"], id="that only plans"),
        pytest.param(["-o", "chatprompt_files=nothing.yaml"], id="that collects other files"),
    ],
)
def test_a_run_that_selects_a_file_only_in_part_keeps_its_snapshots(
    run_with_snapshots: Run, arguments: list[str]
) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO + "  - id: third\n    input_messages: [{role: user, content: x}]\n"})
    result = run_with_snapshots("--snapshot-update", *arguments)
    assert set(ALL) <= set(eval_snapshots(run_with_snapshots))
    assert "eval snapshot" not in result.stdout.str()
    assert syrupy_snapshots(run_with_snapshots) == ["__snapshots__/test_b.ambr"]


def test_a_file_that_fails_to_load_keeps_its_snapshots(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"a.eval.yaml": "evalcases: ["})
    for arguments in ([], ["--continue-on-collection-errors"], ["a.eval.yaml"]):
        result = run_with_snapshots("--snapshot-update", *arguments)
        assert result.ret != 0
        assert eval_snapshots(run_with_snapshots) == ALL
        assert syrupy_snapshots(run_with_snapshots) == ["__snapshots__/test_b.ambr"]


def test_a_file_with_an_invalid_case_keeps_its_snapshots(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO + "  - id: second\n    provider: []\n"})
    run_with_snapshots("--snapshot-update").assert_outcomes(passed=2, errors=1)
    assert eval_snapshots(run_with_snapshots) == ALL


# A case that says what cannot be, settings that cannot be read, and a fixture that fails.
KINDS_OF_TYPOS = [
    pytest.param({"a.eval.yaml": "provider: opnai\n" + TWO}, id="of the file"),
    pytest.param(
        {"a.eval.yaml": "provider: mine\n" + TWO, ".agentv/targets.yaml": "targets: [\n"}, id="in the file of targets"
    ),
    pytest.param(
        {
            "a.eval.yaml": "provider: fsat\n" + TWO,
            "conftest.py": "import pytest\nfrom pytest_chatprompt import OpenAIProvider\n@pytest.fixture\n"
            "def eval_provider(eval_case):\n    return {'fast': OpenAIProvider()}[eval_case.provider]\n",
        },
        id="for which the project looks itself",
    ),
]
TYPOS = [
    *KINDS_OF_TYPOS,
    pytest.param({"a.eval.yaml": TWO.replace("[azure, gemini]", "gemni")}, id="of one case"),
    pytest.param({"a.eval.yaml": TWO.replace("[azure, gemini]", "[azure, gemni]")}, id="in a list"),
    pytest.param({"pytest.ini": "[pytest]\nchatprompt_provider = opnai\n"}, id="in the ini"),
    pytest.param({"a.eval.yaml": "execution: {target: opnai}\n" + TWO}, id="of a target of AgentV"),
    pytest.param(
        {
            "a.eval.yaml": "execution: {target: mine}\n" + TWO,
            ".agentv/targets.yaml": "targets:\n  - {name: mine, provider: opnai}\n",
        },
        id="in a target of AgentV",
    ),
    pytest.param(
        {"a.eval.yaml": "tags: [skip]\nprovider: opnai\n" + TWO.replace("    provider: [azure, gemini]\n", "")},
        id="of skipped cases",
    ),
]


@pytest.mark.parametrize("files", TYPOS)
def test_a_mistake_in_the_name_of_a_provider_deletes_nothing(run_with_snapshots: Run, files: dict[str, str]) -> None:
    assert_nothing_is_unused(run_with_snapshots, files, REMOVE)


@pytest.mark.parametrize("files", KINDS_OF_TYPOS)
def test_nor_does_it_with_any_option_alone_or_advise_it(run_with_snapshots: Run, files: dict[str, str]) -> None:
    assert_nothing_is_unused(run_with_snapshots, files, (), REMOVE[:1], REMOVE[1:])


@pytest.mark.parametrize("files", KINDS_OF_TYPOS)
def test_nor_does_it_with_workers(run_with_snapshots: Run, files: dict[str, str]) -> None:
    assert_nothing_is_unused(run_with_snapshots, files, ("-n", "1", *REMOVE))


def assert_nothing_is_unused(run_with_snapshots: Run, files: dict[str, str], *runs: tuple[str, ...]) -> None:
    # As an earlier version of this package, or the option below, would have recorded them.
    recordings = {name.replace("].yaml", "].recording.yaml"): "version: 1\nexchanges: []\n" for name in ALL}
    run_with_snapshots.write({**files, **recordings})
    for arguments in runs:
        output = run_with_snapshots(*arguments).stdout
        for words in ("unused: ", "removed: ", "To remove "):
            output.no_fnmatch_line(f"*{words}*")
        assert {*ALL, *recordings} <= set(eval_snapshots(run_with_snapshots))


def test_the_fixture_of_a_provider_that_has_another_name_now_is_a_mistake_too(run: Run) -> None:
    conftest = "import pytest\nfrom pytest_chatprompt import OpenAIProvider\n@pytest.fixture\ndef mine_provider():\n    return OpenAIProvider()\n"
    run.write({"a.eval.yaml": "provider: mine\n" + HELLO, "conftest.py": conftest})
    run.update()
    run.write({"conftest.py": conftest.replace("mine_", "ours_"), "a.eval.yaml": "provider: mnie\n" + HELLO})
    for options in ([], ["--snapshot-update"], ["--chatprompt-remove-unused"]):
        run(*options).stdout.no_fnmatch_line("*To remove*")
        assert run.snapshots() == ["__snapshots__/a.eval/hello[mine].yaml"]


def test_a_provider_that_a_project_finds_itself_is_known_once_its_case_passes(run: Run) -> None:
    conftest = "import pytest\nfrom pytest_chatprompt import OpenAIProvider\n@pytest.fixture\ndef eval_provider():\n    return OpenAIProvider()\n"
    run.write({"a.eval.yaml": "provider: fast\n" + HELLO, "conftest.py": conftest})
    run.update()
    run.write({"a.eval.yaml": "provider: slow\n" + HELLO})
    run("-n", "1", "--snapshot-update").stdout.fnmatch_lines(["1 eval snapshot removed: *", "  *hello?fast?.yaml*"])
    assert run.snapshots() == ["__snapshots__/a.eval/hello[slow].yaml"]


def test_what_a_fixture_has_no_parameter_for_is_left_to_the_option(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    conftest = "import os, pytest\n@pytest.fixture(params=os.environ['LEVELS'].split(), autouse=True)\ndef level(request):\n    pass\n"
    rows = "  - id: rows\n    parametrize: [{id: a}, {id: b}]\n    input_messages: [{role: user, content: x}]\n"
    run.write({"conftest.py": conftest, "a.eval.yaml": TWO + rows})
    monkeypatch.setenv("LEVELS", "low high")
    run.update().assert_outcomes(passed=10)
    both = run.snapshots()
    monkeypatch.setenv("LEVELS", "low")
    result = run.update()
    result.stdout.fnmatch_lines(
        ["5 snapshots unused: no test compares with them.", "To remove them: * --chatprompt-remove-unused"]
    )
    assert run.snapshots() == both
    # A row, a provider and a case are the file's own.
    run.write({"a.eval.yaml": HELLO + rows.replace(", {id: b}", "")})
    run.update().stdout.fnmatch_lines(["6 eval snapshots removed: *"])
    assert len(run.snapshots()) == 4
    run("--chatprompt-remove-unused").stdout.fnmatch_lines(["2 snapshots removed: *"])
    assert len(run.snapshots()) == 2
    # Without any parameter the names have none.
    run.write({"conftest.py": ""})
    run.update().stdout.fnmatch_lines(["2 snapshots unused: *"])
    assert len(run.snapshots()) == 4


HIDES = "    items[:] = [item for item in items if 'second' not in item.name]\n"


@pytest.mark.parametrize(
    "hook",
    [
        f"def pytest_collection_modifyitems(items):\n{HIDES}",
        f"import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_collection_modifyitems(items):\n{HIDES}",
        f"import pytest\n@pytest.hookimpl(trylast=True)\ndef pytest_collection_modifyitems(items):\n{HIDES}",
        "import pytest\n@pytest.hookimpl(wrapper=True, tryfirst=True)\n"
        f"def pytest_collection_modifyitems(items):\n{HIDES}    return (yield)\n",
        "def pytest_pycollect_makeitem():\n    return []\n",
    ],
    ids=["normal", "tryfirst", "trylast", "wrapper", "makes no items"],
)
def test_cases_that_a_hook_drops_keep_their_snapshots(run_with_snapshots: Run, hook: str) -> None:
    run_with_snapshots.write({"conftest.py": hook, "a.eval.yaml": TWO.replace("id: hello", "id: renamed")})
    run_with_snapshots(*REMOVE)
    assert set(ALL) <= set(eval_snapshots(run_with_snapshots))


def test_a_failing_case_is_still_defined(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"a.eval.yaml": TWO.replace("content: x", "content: changed")})
    run_with_snapshots("--snapshot-warn-unused").stdout.no_fnmatch_line("*unused: *")
    run_with_snapshots("--chatprompt-remove-unused").assert_outcomes(passed=2, failed=2)
    assert eval_snapshots(run_with_snapshots) == ALL


def test_snapshots_are_kept_if_another_file_fails_to_load(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"test_b.py": "syntax error"})
    run_with_snapshots("--snapshot-update", "--continue-on-collection-errors")
    assert eval_snapshots(run_with_snapshots) == ALL
    assert syrupy_snapshots(run_with_snapshots) == ["__snapshots__/test_b.ambr"]


def test_a_run_that_stops_early_keeps_all_snapshots(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO, "test_a.py": "def test_it():\n    assert 0\n"})
    run_with_snapshots("--snapshot-update", "-x", "test_a.py", "a.eval.yaml", "test_b.py").assert_outcomes(failed=1)
    assert eval_snapshots(run_with_snapshots) == ALL
    assert syrupy_snapshots(run_with_snapshots) == ["__snapshots__/test_b.ambr"]


def test_an_interrupted_run_keeps_all_snapshots(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO, "test_c.py": "def test_it():\n    raise KeyboardInterrupt\n"})
    result = run_with_snapshots.apart("--snapshot-update")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert eval_snapshots(run_with_snapshots) == ALL
    assert syrupy_snapshots(run_with_snapshots) == ["__snapshots__/test_b.ambr"]
    assert "Unused snapshot detection is disabled" not in result.stdout.str()


def test_skipped_cases_keep_their_snapshots(run_with_snapshots: Run) -> None:
    run_with_snapshots.write(
        {"conftest.py": "import pytest\n@pytest.fixture\ndef eval_provider():\n    pytest.skip('not today')\n"}
    )
    run_with_snapshots("--snapshot-update").assert_outcomes(passed=1, skipped=3)
    run_with_snapshots("--snapshot-update", "a.eval.yaml").assert_outcomes(skipped=3)
    assert eval_snapshots(run_with_snapshots) == ALL
    assert syrupy_snapshots(run_with_snapshots) == ["__snapshots__/test_b.ambr"]


def test_syrupy_still_deletes_its_own_unused_snapshots(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"test_b.py": "def test_other(snapshot):\n    assert 'x' == snapshot\n"})
    run_with_snapshots.update()
    assert "test_one" not in (run_with_snapshots.path / "__snapshots__/test_b.ambr").read_text()
    assert eval_snapshots(run_with_snapshots) == ALL


def test_without_eval_files_syrupy_deletes_unused_snapshots_as_usual(run: Run) -> None:
    run.write(
        {"test_b.py": SYRUPY_TEST, "__snapshots__/test_gone/x.yaml": "a: 1\n", "__snapshots__/test_gone.ambr": ""}
    )
    run.update()
    assert run.snapshots() == ["__snapshots__/test_b.ambr"]


@pytest.mark.parametrize("plugin", ["setuponly", "setupplan", "capture"])
def test_a_run_without_a_plugin_of_pytest_finds_the_unused_snapshots(run_with_snapshots: Run, plugin: str) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO})
    result = run_with_snapshots("-p", f"no:{plugin}")
    result.assert_outcomes(passed=2)
    assert result.ret == 1
    assert "2 eval snapshots unused: the case or the provider is no longer defined." in result.outlines


def test_a_test_that_sends_runs_without_syrupy(run: Run) -> None:
    run.write({"test_a.py": "def test_a(eval_api):\n    pass\n"})
    result = run("-p", "no:syrupy")
    result.assert_outcomes(passed=1)
    assert result.ret == 0


@pytest.mark.parametrize("option", ["--snapshot-update", "--chatprompt-accept=unused"])
def test_unused_snapshots_with_the_conflict_of_a_merge_stay_until_they_are_accepted(
    run_with_snapshots: Run, option: str
) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO})
    path = run_with_snapshots.path / GEMINI_SNAPSHOT
    path.write_text(f"<<<<<<< HEAD\n{path.read_text()}=======\n>>>>>>> theirs\n")
    named = [f"  {SECOND_SNAPSHOTS[0]}", f"  {GEMINI_SNAPSHOT}, which holds the conflict of a merge"]
    result = run_with_snapshots()
    assert {*named, "To remove them: pytest -p no:cacheprovider --chatprompt-accept=unused"} <= set(result.outlines)
    result = run_with_snapshots("--chatprompt-remove-unused")
    assert named[1] in result.outlines
    assert eval_snapshots(run_with_snapshots) == [HELLO_SNAPSHOT, GEMINI_SNAPSHOT]
    run_with_snapshots(option)
    assert eval_snapshots(run_with_snapshots) == [HELLO_SNAPSHOT]


@pytest.fixture
def refuse_gemini(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of Gemini cannot be removed, as in a folder of another user; that would not stop root."""
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if "[gemini]" in path.name and not path.name.startswith("."):
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)


@pytest.mark.usefixtures("refuse_gemini")
@pytest.mark.parametrize(
    "arguments",
    [["--snapshot-update"], ["--chatprompt-remove-unused"], ["--chatprompt-accept", "unused"]],
    ids=["update", "remove", "accept"],
)
def test_a_snapshot_that_cannot_be_removed_is_told_and_fails_the_run(
    run_with_snapshots: Run, arguments: list[str]
) -> None:
    run_with_snapshots.write({"a.eval.yaml": HELLO})
    result = run_with_snapshots(*arguments)
    assert result.ret == 1
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "1 eval snapshot removed: the case or the provider is no longer defined.",
            "  __snapshots__/a.eval/second[[]azure[]].yaml",
            "__snapshots__/a.eval/second[[]gemini[]].yaml is not removed: Permission denied",
            "1 eval snapshot unused: the case or the provider is no longer defined.",
            "  __snapshots__/a.eval/second[[]gemini[]].yaml",
            "To remove it: pytest -p no:cacheprovider *",
        ],
        consecutive=True,
    )
    assert eval_snapshots(run_with_snapshots) == [HELLO_SNAPSHOT, GEMINI_SNAPSHOT]


@pytest.mark.usefixtures("refuse_gemini")
def test_if_nothing_can_be_removed_the_run_does_not_say_that_nothing_is_unused(run_with_snapshots: Run) -> None:
    run_with_snapshots.write({"a.eval.yaml": TWO.replace("[azure, gemini]", "azure")})
    result = run_with_snapshots("--chatprompt-accept", "unused")
    assert result.ret == 1
    assert f"{GEMINI_SNAPSHOT} is not removed: Permission denied" in result.outlines
    result.stdout.no_fnmatch_line("*nothing is removed*")


@pytest.mark.usefixtures("refuse_gemini")
def test_the_snapshot_of_a_gone_module_that_cannot_be_removed_is_not_said_to_wait_for_a_test(
    run_with_snapshots: Run,
) -> None:
    (run_with_snapshots.path / "a.eval.yaml").rename(run_with_snapshots.path / "b.eval.yaml")
    run_with_snapshots.update()
    result = run_with_snapshots("--chatprompt-remove-unused")
    assert result.ret == 1
    output = result.outlines
    assert "2 files removed: the eval file or the module is gone." in output
    assert f"{GEMINI_SNAPSHOT} is not removed: Permission denied" in output
    assert "1 file unused: the eval file or the module is gone." in output
    result.stdout.no_fnmatch_line("Nothing of this was removed*")

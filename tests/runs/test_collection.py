"""Collection: which items eval files become, and how they are named and selected."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.runs.conftest import HELLO, MakeLiveProject, Run

TWO = """
tags: [all]
evalcases:
  - id: one
    tags: [smoke]
    input_messages: [{role: user, content: hello}]
  - id: two
    provider: [anthropic, gemini]
    tags: [high-risk]
    input_messages: [{role: user, content: hello}]
"""


def node_ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_each_case_and_provider_is_an_item(run: Run) -> None:
    run.write({"evals/a.eval.yaml": TWO, "b.eval.yml": HELLO, "c.yaml": HELLO, "notes.eval.txt": "x"})
    assert node_ids(run("--collect-only", "-q")) == [
        "b.eval.yml::hello",
        "evals/a.eval.yaml::one",
        "evals/a.eval.yaml::two[anthropic]",
        "evals/a.eval.yaml::two[gemini]",
    ]


@pytest.mark.parametrize(
    ("arguments", "selected"),
    [
        pytest.param(["a.eval.yaml::one"], ["one"], id="by node id"),
        pytest.param(["a.eval.yaml::two[gemini]"], ["two[gemini]"], id="by node id with provider"),
        pytest.param(["a.eval.yaml::two"], ["two[anthropic]", "two[gemini]"], id="by node id without provider"),
        pytest.param(["-k", "two and not gemini"], ["two[anthropic]"], id="by keyword"),
        pytest.param(["-m", "smoke"], ["one"], id="by a case's tag"),
        pytest.param(["-m", "high-risk"], ["two[anthropic]", "two[gemini]"], id="by a tag with a dash"),
        pytest.param(["-m", "all and not smoke"], ["two[anthropic]", "two[gemini]"], id="by a file's tag"),
    ],
)
def test_cases_are_selected_like_tests(run: Run, arguments: list[str], selected: list[str]) -> None:
    run.write({"a.eval.yaml": TWO})
    result = run("--collect-only", "-q", "--strict-markers", *arguments)
    assert node_ids(result) == [f"a.eval.yaml::{name}" for name in selected]


# How ids are written in YAML, and what they are in node ids.
IDS = {
    "a/b c": "a/b c",  # a slash and a blank
    "'a::b'": "a%3A%3Ab",  # the separator of node ids
    "'a[b]'": "a[b]",  # brackets
    r'"a\nb"': "a%0Ab",  # a line break
    "Grüße": "Grüße",  # an accent
    "a" * 300: "a" * 300,  # 300 characters
    "'[x]'": "[x]",  # only a bracket
    "']x['": "]x[",  # brackets the wrong way round
    "'-x'": "-x",  # a leading dash
    "' x '": " x ",  # leading and trailing blanks
    r"'a\b'": r"a\b",  # a backslash
    "'a:'": "a:",  # a trailing colon
    "'::'": "%3A%3A",  # only the separator
    "شكرا": "شكرا",  # right-to-left text
    "👩‍💻": "👩‍💻",  # an emoji of several characters
    r'"\0\e"': "%00%1B",  # control characters
}


def test_every_case_can_be_selected_by_its_printed_node_id(run: Run) -> None:
    case = HELLO.removeprefix("\nevalcases:\n")
    run.write({"a.eval.yaml": "evalcases:\n" + "".join(case.replace("id: hello", f"id: {name}") for name in IDS)})
    selected = [f"a.eval.yaml::{node_id}" for node_id in IDS.values()]
    assert node_ids(run("--collect-only", "-q")) == selected
    run.update(*selected[::2]).assert_outcomes(passed=8)
    assert node_ids(run("--collect-only", "-q", *selected[1::2])) == selected[1::2]
    run.update(*selected[1::2]).assert_outcomes(passed=8)
    run().assert_outcomes(passed=16)


def test_a_path_that_would_change_the_line_on_which_it_is_shown_is_escaped_in_node_ids(run: Run) -> None:
    names = {"##[error]a": "%23#[error]a", "b::c": "b%3A%3Ac", "d\x1b[2J": "d%1B[2J"}
    run.write({f"{name}.eval.yaml": HELLO for name in names})
    assert node_ids(run("--collect-only", "-q")) == [f"{name}.eval.yaml::hello" for name in names.values()]


def test_similar_ids_do_not_share_a_snapshot(run: Run) -> None:
    ids = ["a/b", "a:b", "ab", "Case", "case", "a[azure]", "a", "x.1", "x"]
    cases = "".join(
        f"  - id: '{case_id}'\n    input_messages: [{{role: user, content: 'I am {case_id}'}}]\n" for case_id in ids
    )
    run.write({"a.eval.yaml": f"evalcases:\n{cases}"})
    run.update().assert_outcomes(passed=len(ids))
    assert len(run.snapshots()) == len(ids)
    run().assert_outcomes(passed=len(ids))


def test_the_ini_says_which_files_are_collected(run: Run) -> None:
    run.write({"a.yaml": HELLO, "deep/cases/b.yaml": HELLO, "c.eval.yaml": HELLO})
    assert node_ids(run("--collect-only", "-q", "-o", "chatprompt_files=a.yaml cases/*.yaml")) == [
        "a.yaml::hello",
        "deep/cases/b.yaml::hello",
    ]


def test_nothing_inside_a_snapshots_folder_is_collected(run: Run) -> None:
    run.write({"a.yaml": HELLO, "__snapshots__/a/b.yaml": HELLO, "other/x.yaml": HELLO})
    run.update("-o", "chatprompt_files=*.yaml")
    assert node_ids(run("--collect-only", "-q", "-o", "chatprompt_files=*.yaml")) == [
        "a.yaml::hello",
        "other/x.yaml::hello",
    ]
    result = run("--collect-only", "-q", "-o", "chatprompt_files=*.yaml", "--snapshot-dirname=other")
    assert node_ids(result) == ["a.yaml::hello"]


NOTES_FILES = """
import pytest
seen = []
def pytest_collect_file(file_path, parent):
    seen.append(file_path.relative_to(parent.config.rootpath).as_posix())
def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line("seen: " + " ".join(sorted(seen)))
"""


def seen_by_plugins(result: pytest.RunResult) -> set[str]:
    """The files that pytest has shown to the plugins of the run."""
    (line,) = (line for line in result.outlines if line.startswith("seen: "))
    return set(line.split()[1:])


def test_plugins_are_shown_none_of_the_snapshots(run: Run) -> None:
    run.write({"conftest.py": NOTES_FILES, "evals/a.eval.yaml": TWO})
    run.update()
    assert len(run.snapshots()) == 3
    result = run()
    result.assert_outcomes(passed=3)
    assert seen_by_plugins(result) == {"conftest.py", "evals/a.eval.yaml", "pytest.ini"}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        pytest.param("__snapshots__/test_x.py", (), id="beside the folders of the files"),
        pytest.param("other/a.eval/one[openai].yaml", (), id="another folder"),
        pytest.param(
            "__snapshots__/a.eval/one[openai].yaml",
            ("__snapshots__/a.eval",),
            id="named on the command line",
        ),
        pytest.param(
            "__snapshots__/a.eval/one.yaml",
            ("__snapshots__/a.eval/one.yaml",),
            id="a file named on the command line",
        ),
    ],
)
def test_plugins_are_shown_what_may_be_a_test(run: Run, name: str, arguments: tuple[str, ...]) -> None:
    run.write({"conftest.py": NOTES_FILES, "__snapshots__/a.eval/two[openai].yaml": "two", name: ""})
    assert name in seen_by_plugins(run(*arguments))


def test_a_snapshot_that_is_a_broken_link_does_not_break_the_collection(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.update()
    link = run.path / "__snapshots__" / "a.eval" / "loop[openai].yaml"
    link.symlink_to(link.name)
    result = run("--collect-only", "-q")
    assert result.ret == pytest.ExitCode.OK
    assert "a.eval.yaml::hello" in result.outlines


def test_snapshots_in_folders_of_another_name_are_not_shown_either(run: Run) -> None:
    run.write({"conftest.py": NOTES_FILES, "a.eval.yaml": HELLO})
    run.update("--snapshot-dirname=locked")
    assert seen_by_plugins(run("--snapshot-dirname=locked")) == {"conftest.py", "a.eval.yaml", "pytest.ini"}
    assert "locked/a.eval/hello[openai].yaml" in seen_by_plugins(run())


def test_eval_files_that_would_share_a_snapshot_folder_are_refused(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO, "a.eval.yml": HELLO, "b.eval.yaml": HELLO})
    result = run("--continue-on-collection-errors", "--snapshot-update")
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml: a.eval.yml would keep snapshots in the same folder, __snapshots__/a.eval; rename one of them",
            "a.eval.yml: a.eval.yaml would keep snapshots in the same folder, __snapshots__/a.eval; rename one of them",
        ]
    )


def test_an_eval_file_that_would_share_a_snapshot_folder_with_a_test_file_is_refused(run: Run) -> None:
    run.write({"test_x.yaml": HELLO, "test_x.py": "def test_it(): ...\n"})
    result = run("-o", "chatprompt_files=test_*.yaml")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["test_x.yaml: test_x.py would keep snapshots in the same folder, __snapshots__/test_x; rename one of them"]
    )


INVALID = "evalcases:\n  - id: a\n  - id: a\nprovder: x\n"


def test_an_invalid_file_is_a_collection_error_without_a_traceback_and_the_others_run(run: Run) -> None:
    run.write({"a.eval.yaml": INVALID, "b.eval.yaml": HELLO, "c.eval.yaml": "evalcases: ]\n"})
    run.update("b.eval.yaml")
    result = run()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(
        [
            "*ERROR collecting a.eval.yaml*",
            "a.eval.yaml:3:9: the id 'a' is used twice, first on line 2",
            "a.eval.yaml:4:1: unknown key 'provder'; did you mean 'provider'?",
            "*short test summary info*",
        ],
        consecutive=False,
    )
    assert "Traceback" not in result.stdout.str()
    assert "pytest_chatprompt" not in result.stdout.str()


@pytest.mark.parametrize("arguments", [["-x"], ["--maxfail=1"]])
def test_an_invalid_file_ends_a_run_that_ends_at_the_first_failure(run: Run, arguments: list[str]) -> None:
    run.write({"a.eval.yaml": INVALID, "b.eval.yaml": HELLO})
    run(*arguments).assert_outcomes(errors=1)


def test_a_test_module_that_cannot_be_imported_still_ends_the_run(run: Run) -> None:
    run.write({"a.eval.yaml": INVALID, "b.eval.yaml": HELLO, "test_c.py": "import nothing_of_this_name\n"})
    result = run()
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=2)


@pytest.mark.parametrize("argument", ["evals.yaml", "evals.yaml::hello", "{path}/evals.yaml"])
def test_a_file_with_another_name_says_which_names_there_are(run: Run, argument: str) -> None:
    run.write({"evals.yaml": HELLO, "b.eval.yaml": HELLO})
    argument = argument.format(path=run.path)
    result = run(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [
            f"ERROR: not found: {run.path}/evals.yaml*",
            f"ERROR: {argument}: the name of an eval file matches one of [*].eval.yaml, [*].eval.yml; rename it, or add a "
            "pattern to the ini value chatprompt_files",
        ],
        consecutive=False,
    )


def test_other_usage_errors_stay_as_they_are(run: Run) -> None:
    run.write({"b.eval.yaml": HELLO, "x.json": ""})
    for argument in ("b.eval.yaml::nothing", "x.json"):
        result = run(argument)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert "chatprompt_files" not in result.stderr.str()


def test_a_key_without_effect_is_warned_about_once_for_a_file(run: Run) -> None:
    case = HELLO.replace("id: hello", "id: hello\n    rubrics: [x]")
    run.write({"a.eval.yaml": "rubrics: [x]\n" + HELLO, "b.eval.yaml": case})
    run.write({"pytest.ini": "[pytest]\nfilterwarnings = default\n"})
    result = run("--snapshot-update")
    result.assert_outcomes(passed=2, warnings=2)
    text = "'rubrics' grades nothing here; check answers with 'checks', in the hook pytest_chatprompt_response, or in"
    result.stdout.fnmatch_lines(
        [
            f"*a.eval.yaml:1: EvalFileWarning: {text}*",
            f"*b.eval.yaml:4: EvalFileWarning: case 'hello': {text}*",
        ],
        consecutive=False,
    )


def test_under_xdist_a_key_without_effect_is_warned_about_once(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO + "    rubrics: [{description: polite}]\n"})
    run.update("-W", "ignore")
    result = run("-n", "2", "-W", "default")
    assert len([line for line in result.outlines if "EvalFileWarning: " in line]) == 1


def test_an_invalid_case_is_a_setup_error_of_that_case_only(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": "evalcases:\n  - id: bad\n    tags: [smoke]\n    input_messages: 3\n"
            + HELLO.split("evalcases:\n")[1]
        }
    )
    run.update("-k", "hello")
    result = run()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        [
            "*ERROR at setup of bad*",
            "a.eval.yaml:4:21: case 'bad': 'input_messages' must be a list, but is the number 3",
        ]
    )
    assert "pytest_chatprompt" not in result.stdout.str()
    run("-m", "smoke").assert_outcomes(errors=1, deselected=1)


def test_reports_name_the_line_of_the_case(run: Run) -> None:
    run.write({"a.eval.yaml": TWO})
    result = run("--junitxml=out.xml", "-o", "junit_family=xunit1", "--tb=line")
    result.stdout.fnmatch_lines([f"{run.path}/a.eval.yaml:4: what is sent to openai has no snapshot yet"])
    xml = (run.path / "out.xml").read_text()
    assert 'file="a.eval.yaml" line="3"' in xml
    assert 'message="what is sent to openai has no snapshot yet"' in xml


def test_a_tag_that_is_a_marker_of_pytest_works_as_one(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO.replace("id: hello", "id: hello\n    tags: [skip]")})
    run().assert_outcomes(skipped=1)


def test_without_syrupy_eval_files_are_errors_and_other_tests_run(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO, "test_b.py": "def test_it(): ...\n"})
    result = run("-p", "no:syrupy", "--continue-on-collection-errors")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["a.eval.yaml: eval files need the plugin syrupy, which is switched off"])


def test_a_tag_that_is_a_marker_with_arguments_is_an_error_of_its_case(run: Run) -> None:
    case = HELLO.removeprefix("\nevalcases:\n")
    tags = ("parametrize", "usefixtures", "skipif", "mine")
    cases = [case.replace("id: hello", f"id: {tag}\n    tags: [other, {tag}]") for tag in tags]
    run.write(
        {
            "pytest.ini": "[pytest]\nmarkers =\n    mine(seconds): with an argument\n    other: without arguments\n",
            "a.eval.yaml": "".join([HELLO, *cases]),
        }
    )
    result = run("--snapshot-update", "--strict-markers")
    result.assert_outcomes(passed=1, errors=4)
    result.stdout.fnmatch_lines(
        [
            f"a.eval.yaml:{6 + 3 * number}:11: case '{tag}': the tag '{tag}' is a marker that takes arguments, and a tag has none;"
            " rename the tag"
            for number, tag in enumerate(tags)
        ]
    )


def test_a_marker_that_the_conftest_of_a_folder_registers_is_known_in_that_folder(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "sub/conftest.py": """
                def pytest_configure(config):
                    config.addinivalue_line("markers", "slow(seconds): with an argument")
            """.replace("\n                ", "\n"),
            "sub/b.eval.yaml": HELLO.replace("id: hello", "id: hello\n    tags: [slow]"),
        }
    )
    result = run("--snapshot-update")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["sub/b.eval.yaml:4:11: case 'hello': the tag 'slow' is a marker that takes arguments,*"]
    )


def test_a_run_without_eval_files_imports_only_the_entry_modules(run: Run) -> None:
    run.write(
        {
            "test_it.py": """
                import sys

                def test_it():
                    ours = {name for name in sys.modules if name.startswith("pytest_chatprompt")}
                    assert ours == {
                        "pytest_chatprompt",
                        "pytest_chatprompt.fixtures",
                        "pytest_chatprompt.hookspecs",
                        "pytest_chatprompt.options",
                        "pytest_chatprompt.plugin",
                    }
                    assert not {"mcp", "pydantic", "wcmatch"} & set(sys.modules)
            """.replace("\n                ", "\n")
        }
    )
    run.pytester.runpytest_subprocess("-p", "no:respx").assert_outcomes(passed=1)


NEEDED_TO_RUN = [
    f"pytest_chatprompt.{name}"
    for name in (
        "prompt",
        "apis.chat_provider",
        "providers.response",
        "capture.eval_api",
        "capture.provider_capture",
        "snapshots.layout",
        "live",
        "runs.case_run",
        "runs.live_run",
    )
]


NEEDED_ONLY_SOMETIMES = [
    f"pytest_chatprompt.{name}"
    for name in (
        "capture.mcp_server",
        "cases.agentv_settings",
        "cases.diagnostics",
        "cases.request_options",
        "cases.rows",
        "cases.templates",
        "apis.reply",
        "apis.schema_instance",
        "apis.sending",
        "providers.http.error_replies",
        "capture.clients.wire",
        "results.records",
        "reports.terminal",
        "runs.case_results",
    )
]
CHECKS = "checks: [{type: contains, of: request, value: hello}, {type: not_regex, of: request, value: a+b}]\n"


def test_collecting_and_a_plain_case_import_nothing_that_only_others_need(run: Run) -> None:
    assert all(find_spec(name) for name in NEEDED_TO_RUN + NEEDED_ONLY_SOMETIMES)
    run.write(
        {
            "a.eval.yaml": f"{CHECKS}{HELLO}",
            "conftest.py": f"""
import sys

def pytest_collection_finish(session):
    print(sorted({{*{NEEDED_TO_RUN}, "httpx", "wcmatch"}} & set(sys.modules)), "when collected")

def pytest_sessionfinish(session):
    print(sorted({{*{NEEDED_ONLY_SOMETIMES}}} & set(sys.modules)), "when run")
""",
        }
    )
    result = run.pytester.runpytest_subprocess("-p", "no:respx", "-s", "--snapshot-update")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*[[]] when collected", "*[[]] when run"])


NEEDED_ONLY_BY_SOME_LIVE_RUNS = [
    f"pytest_chatprompt.{name}"
    for name in (
        "apis.anthropic",
        "capture.clients.seams",
        "capture.offline_api",
        "capture.provider_capture",
        "capture.recording.open_recording",
        "capture.server.table",
        "grading.grade",
        "grading.table",
        "live.budget",
        "live.judging",
        "providers.agents.process",
        "results.wording",
        "snapshots.diff",
        "snapshots.recording_files",
    )
]


def test_a_plain_case_of_a_live_run_imports_nothing_that_only_others_need(live_project: MakeLiveProject) -> None:
    assert all(find_spec(name) for name in NEEDED_ONLY_BY_SOME_LIVE_RUNS)
    conftest = """
import pathlib
import sys

def pytest_unconfigure(config):
    pathlib.Path("imported").write_text(repr(sorted(set(SOMETIMES) & set(sys.modules))))
""".replace("SOMETIMES", repr(NEEDED_ONLY_BY_SOME_LIVE_RUNS))
    run = live_project(1, conftest=conftest)
    run.pytester.runpytest_subprocess("--chatprompt-live").assert_outcomes(passed=1)
    assert (run.path / "imported").read_text() == "[]"

"""Rows as items: their names, their selection, their snapshots, and what a broken row does to the others."""

from __future__ import annotations

import pytest

from tests.runs.conftest import LIVE_CONFTEST, Run
from tests.server import CHAT_REPLY, Server

QA = """
evalcases:
  - id: qa
    parametrize: cities.csv
    tags: [smoke]
    input_messages: [{role: user, content: "Where is {{ name }}?"}]
  - id: plain
    input_messages: [{role: user, content: hello}]
"""
CITIES = "id,name\neiffel,Eiffel Tower\nlouvre,Louvre\n"


@pytest.fixture
def rows(run: Run) -> Run:
    """A project with a case of two rows, and a case without any."""
    run.write({"qa.eval.yaml": f"provider: [openai, anthropic]{QA}", "cities.csv": CITIES})
    return run


def ids(run: Run, *arguments: str) -> list[str]:
    """The node ids that are selected, without the file."""
    result = run("--collect-only", "-q", *arguments)
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


def test_each_row_is_an_item_for_each_provider(rows: Run) -> None:
    names = [f"qa[{provider}-{row}]" for row in ("eiffel", "louvre") for provider in ("openai", "anthropic")]
    assert ids(rows) == [*names, "plain[openai]", "plain[anthropic]"]
    assert ids(rows, "-k", "eiffel") == names[:2]
    assert ids(rows, "-m", "smoke") == names
    assert ids(rows, "qa.eval.yaml::qa") == names
    assert ids(rows, "qa.eval.yaml::qa[anthropic-louvre]") == names[3:]
    assert ids(rows, "--chatprompt-provider", "gemini") == ["qa[eiffel]", "qa[louvre]", "plain"]


def test_each_row_has_its_snapshot_and_removed_rows_are_unused(rows: Run) -> None:
    rows.update().assert_outcomes(passed=6)
    snapshots = rows.snapshots()
    folder = "__snapshots__/qa.eval"
    assert f"{folder}/qa[openai-eiffel].yaml" in snapshots
    assert rows.snapshot(f"{folder}/qa[anthropic-louvre].yaml")["question"] == "Where is Louvre?"
    rows.write({"cities.csv": CITIES.replace("louvre,Louvre\n", "x,a,b\n")})
    # A broken row might be any, so nothing is unused.
    assert "eval snapshots" not in rows().stdout.str()
    rows.write({"cities.csv": CITIES.replace("louvre,Louvre\n", "")})
    result = rows()
    result.stdout.fnmatch_lines(["2 eval snapshots unused: *", f"  {folder}/qa?anthropic-louvre?.yaml"])
    rows.update()
    assert rows.snapshots() == [name for name in snapshots if "louvre" not in name]


def test_a_broken_row_fails_alone(rows: Run) -> None:
    rows.write({"cities.csv": f'{CITIES}eiffel,again\nid-alone\n"moon ::1",{{{{ x }}}}\n'})
    result = rows("--snapshot-update", "qa.eval.yaml::qa")
    result.assert_outcomes(passed=6, errors=2)
    reported = [line for line in result.outlines if line.startswith("cities.csv")]
    assert reported == [
        "cities.csv:4:1: case 'qa[row-eiffel]': the row id 'eiffel' is used twice, first at cities.csv:2:1; give each row an id of its own",
        "cities.csv:5:1: case 'qa[id-alone]': this row has 1 value, but the header has 2 columns",
    ]
    assert "qa[openai-moon %3A%3A1]" in ids(rows)
    path = "__snapshots__/qa.eval/qa[openai-moon %3A%3A1].yaml"
    assert rows.snapshot(path)["question"] == "Where is {{ x }}?"


def test_a_template_that_fails_is_an_error_of_its_rows(rows: Run) -> None:
    rows.write({"cities.csv": CITIES, "qa.eval.yaml": QA.replace("name }}", "name }} {{ nmae }}")})
    result = rows("--snapshot-update", "--tb=line")
    result.assert_outcomes(passed=1, errors=2)
    text = "unknown variable 'nmae'; did you mean 'name'? (row at cities.csv:2:1)"
    assert f"qa.eval.yaml:6:44: case 'qa[eiffel]': {text}" in result.stdout.str()


def test_last_failed_runs_the_row_that_failed(rows: Run) -> None:
    rows.update()
    rows.write({"cities.csv": CITIES.replace("Louvre", "Arc")})
    rows.pytester.runpytest_inprocess().assert_outcomes(failed=2, passed=4)
    rows.pytester.runpytest_inprocess("--lf").assert_outcomes(failed=2)
    failure = rows().stdout.str()
    assert "pytest 'qa.eval.yaml::qa[openai-louvre]' --snapshot-update" in failure
    assert "qa.eval.yaml:3:5: case 'qa[louvre]': what is sent to openai is not what its snapshot says" in failure


def test_parameters_of_fixtures_come_after_the_row(rows: Run) -> None:
    conftest = """
import pytest
from pytest_chatprompt import OpenAIProvider

@pytest.fixture(scope="session", params=[0, 1], ids=["cold", "hot"])
def openai_provider(request):
    return OpenAIProvider(max_output_tokens=100 + request.param)
"""
    rows.write({"conftest.py": conftest, "qa.eval.yaml": f"provider: [openai]{QA}"})
    names = ["qa[openai-eiffel-cold]", "qa[openai-eiffel-hot]", "qa[openai-louvre-cold]", "qa[openai-louvre-hot]"]
    assert sorted(ids(rows, "qa.eval.yaml::qa")) == names
    rows.update("qa.eval.yaml::qa")
    assert rows.snapshots() == [f"__snapshots__/qa.eval/{name}.yaml" for name in names]


def test_hooks_and_fixtures_see_the_row(rows: Run) -> None:
    conftest = """
import pytest

@pytest.fixture(autouse=True)
def show(eval_case, eval_request):
    print("row", eval_case.id, eval_case.row_id, dict(eval_case.vars or {}), eval_request.eval_case_id)
"""
    rows.write({"conftest.py": conftest, "qa.eval.yaml": QA})
    shown = [line for line in rows("--snapshot-update", "-s").outlines if "row qa" in line or "row plain" in line]
    assert [line.removeprefix("qa.eval.yaml ").lstrip(".") for line in shown] == [
        "row qa eiffel {'id': 'eiffel', 'name': 'Eiffel Tower'} qa[eiffel]",
        "row qa louvre {'id': 'louvre', 'name': 'Louvre'} qa[louvre]",
        "row plain None {} plain",
    ]


def test_rows_are_sent_ahead_in_live_runs(run: Run, server: Server) -> None:
    names = [f"r{number}" for number in range(6)]
    run.write(
        {
            "qa.eval.yaml": f"provider: [openai]{QA.partition('  - id: plain')[0]}",
            "cities.csv": "name\n" + "".join(f"{name}\n" for name in names),
            "conftest.py": LIVE_CONFTEST.format(url=server.url, settings="max_retries=0"),
        }
    )
    run.update()
    server.reply_with(CHAT_REPLY)
    result = run("--chatprompt-live")
    result.assert_outcomes(passed=6)
    assert sorted(server.last_contents) == [f"Where is {name}?" for name in names]
    assert "one by one" not in result.stdout.str()


def test_a_tag_that_is_a_marker_with_arguments_is_an_error_of_each_row(rows: Run) -> None:
    rows.write({"pytest.ini": "[pytest]\nmarkers = smoke(how): x\n"})
    result = rows("--snapshot-update")
    result.assert_outcomes(passed=2, errors=2)
    result.stdout.fnmatch_lines(["*case 'qa': the tag 'smoke' is a marker that takes arguments*"])


def test_a_template_in_a_case_without_variables_is_warned_about_once(run: Run) -> None:
    case = "  - id: {}\n    input_messages: [{{role: user, content: 'Hi {{{{ name }}}}'}}]\n"
    text = "evalcases:\n" + case.format("a") + case.format("b")
    run.write({"a.eval.yaml": text, "pytest.ini": "[pytest]\nfilterwarnings = default\n"})
    result = run("--snapshot-update")
    result.assert_outcomes(passed=2, warnings=1)
    result.stdout.fnmatch_lines(
        [
            "*a.eval.yaml:3: EvalFileWarning: case 'a': {{ name }} is sent as it is, because neither the case nor its file*"
        ]
    )
    assert run.snapshot("__snapshots__/a.eval/b[openai].yaml")["question"] == "Hi {{ name }}"
    run.write({"pytest.ini": "[pytest]\nfilterwarnings = error\n"})
    run().stderr.fnmatch_lines(["ERROR: *a.eval.yaml:3: case 'a': {{ name }} is sent as it is*"])

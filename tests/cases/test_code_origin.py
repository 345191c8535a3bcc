"""The origin of a case that was made in code."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_chatprompt.cases.case import EvalCase, case_diagnostic, case_in_test
from pytest_chatprompt.cases.origin import CaseTest, find_running_test
from pytest_chatprompt.errors import EvalFileError
from tests.conftest import Project

CASE = EvalCase.model_validate({"id": "a", "input_messages": [{"role": "user", "content": "hi"}]})
TEST = CaseTest("tests/test_it.py::TestIt::test_it[a (b)::c]", Path("/project/tests"), Path("/project"))


def test_its_files_are_beside_the_module_of_the_test() -> None:
    case = case_in_test(CASE, TEST)
    assert case.path == Path("/project/tests/test_it.py")
    assert case.model_dump() == CASE.model_dump()
    assert not CASE.has_origin


def test_its_problems_name_the_test_and_the_place_in_the_case() -> None:
    case = case_in_test(CASE, TEST)
    diagnostic = case_diagnostic(case, "not found", "input_messages", 0, "content", 1, "value")
    assert str(diagnostic) == f"{TEST.node_id}: case 'a': input_messages[0].content[1].value: not found"
    assert str(case_diagnostic(case, "not found")) == f"{TEST.node_id}: case 'a': not found"
    assert case.line == 0
    assert case.origin.position_of("id") == (0, 0)
    assert case.origin.position_of_provider("x") is None


def test_without_a_test_its_problems_name_the_case_only() -> None:
    case = case_in_test(CASE, CaseTest("", Path("/project"), Path("/project")))
    assert str(case_diagnostic(case, "empty", "id")) == "case 'a': id: empty"
    assert case.path == Path("/project/code")


def test_variables_and_rows_are_of_eval_files_only() -> None:
    case = EvalCase.model_validate({**CASE.model_dump(), "vars": {"x": 1}, "parametrize": [{"y": 2}], "repeat": 2})
    with pytest.raises(EvalFileError) as error:
        case_in_test(case, TEST)
    hint = "has no effect in a case made in code; use f-strings, and parameters of pytest"
    assert str(error.value).splitlines() == [
        f"{TEST.node_id}: case 'a': vars: {hint}",
        f"{TEST.node_id}: case 'a': parametrize: {hint}",
        f"{TEST.node_id}: case 'a': repeat: {hint}",
    ]


def test_checks_are_of_eval_files_only() -> None:
    case = EvalCase.model_validate({**CASE.model_dump(), "checks": [{"type": "equals", "value": "a"}]})
    with pytest.raises(EvalFileError) as error:
        case_in_test(case, TEST)
    assert str(error.value) == (
        f"{TEST.node_id}: case 'a': checks: are not graded in a case made in code; assert on eval_response"
    )


def test_the_problem_of_a_setting_names_the_place_in_the_case() -> None:
    diagnostic = case_diagnostic(case_in_test(CASE, TEST), "too large", "settings", "stop", 0)
    assert str(diagnostic) == f"{TEST.node_id}: case 'a': settings.stop[0]: too large"


def test_a_case_of_a_file_keeps_its_origin(project: Project) -> None:
    case = project.case("input_messages: [{role: user, content: hi}]")
    assert case_in_test(case, TEST) is case
    assert case.model_copy(update={"id": "b"}).has_origin


@pytest.mark.parametrize(
    ("variable", "working_folder", "expected"),
    [
        pytest.param("tests/test_it.py::test_it (call)", ".", ("tests/test_it.py::test_it", "tests", "."), id="root"),
        pytest.param(
            "tests/test_it.py::T::test_it[a (b)::c] (setup)",
            "tests/deep",
            ("tests/test_it.py::T::test_it[a (b)::c]", "tests", "."),
            id="a folder below the root folder",
        ),
        pytest.param(
            "elsewhere.py::test_it (call)", "tests", ("elsewhere.py::test_it", "tests", "tests"), id="elsewhere"
        ),
        pytest.param(None, "tests", ("", "tests", "tests"), id="no test runs"),
    ],
)
def test_the_running_test_is_the_one_of_pytest(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    variable: str | None,
    working_folder: str,
    expected: tuple[str, str, str],
) -> None:
    project.write("tests/test_it.py", "")
    project.write("tests/deep/x", "")
    if variable is None:
        monkeypatch.delenv("PYTEST_CURRENT_TEST")
    else:
        monkeypatch.setenv("PYTEST_CURRENT_TEST", variable)
    monkeypatch.chdir(project.root / working_folder)
    node_id, folder, root = expected
    assert find_running_test() == CaseTest(node_id, project.root / folder, project.root / root)

"""Data that is sent: scalars that another reader of YAML takes for something else."""

from __future__ import annotations

import pytest

from pytest_chatprompt import EvalFileError
from tests.conftest import Project


@pytest.mark.parametrize(
    ("scalar", "value"),
    [("yes", "true"), ("Off", "false"), ("12:30", "750"), ("0777", "511"), ("1_000", "1000"), ("1:30.5", "90.5")],
)
def test_a_scalar_that_yaml_12_reads_otherwise_is_an_error(project: Project, scalar: str, value: str) -> None:
    with pytest.raises(EvalFileError) as caught:
        project.case(f"input: {{a: [x, {scalar}]}}")
    assert str(caught.value) == (
        f"evals/a.eval.yaml:4:20: case 'a': {scalar} is read as {value} here; "
        f"put it in quotes if you mean text, or write {value}"
    )


@pytest.mark.parametrize("scalar", ["1e3", "1.5E2", "-.5", "0o17", "089", "-08"])
def test_text_that_yaml_12_reads_as_a_number_is_an_error(project: Project, scalar: str) -> None:
    with pytest.raises(EvalFileError) as caught:
        project.case(f"input: {{a: [x, {scalar}]}}")
    assert str(caught.value) == (
        f"evals/a.eval.yaml:4:20: case 'a': {scalar} is read as text here; "
        "put it in quotes if you mean that, or write the number in digits"
    )


def test_text_in_quotes_is_never_a_number(project: Project) -> None:
    case = project.case("""input: {a: "1e3", b: '0o17', c: 1e3x, d: 1.2.3, e: ! 1e3}""")
    assert case.input_messages[0].content == {"a": "1e3", "b": "0o17", "c": "1e3x", "d": "1.2.3", "e": "1e3"}


def test_all_others_are_sent(project: Project) -> None:
    case = project.case(
        "input: [{role: user, content: {a: [true, False, 0, -12, +3, 0x1F, 1.5, .5, 2., 1.0e+3, 'yes']}}]"
    )
    assert case.input_messages[0].content == {"a": (True, False, 0, -12, 3, 31, 1.5, 0.5, 2.0, 1000.0, "yes")}
    assert project.case("input: {a: null, b: 2025-01-01}").input_messages[0].content == {"a": None, "b": "2025-01-01"}


def test_data_that_is_not_sent_may_have_them(project: Project) -> None:
    assert project.case("input: x\nexpected_output: {a: yes}").expected_messages[0].content == {"a": True}


def test_only_the_data_in_a_message_has_scalars_for_other_readers(project: Project) -> None:
    case = project.case("input_messages: [{role: user, name: 1e3, content: {a: b}}]")
    assert case.input_messages[0].name == "1e3"

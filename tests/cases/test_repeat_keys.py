"""`repeat` and `pass_rate`: what they may be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_chatprompt import EvalFileError
from tests.conftest import Project

REPEAT = "'repeat' must be a whole number from 1, but is"
PASS_RATE = "'pass_rate' must be a number above 0, and 1 at most: 0.8 for 80 %, but is"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("repeat: 0", f"4:13: case 'a': {REPEAT} the number 0", id="no repeat"),
        pytest.param("repeat: -1", f"4:13: case 'a': {REPEAT} the number -1", id="fewer than none"),
        pytest.param(
            "repeat: 2.0",
            f"4:13: case 'a': {REPEAT} the number 2.0",
            id="no integer",
            marks=pytest.mark.beyond_schema("2.0 is an integer in JSON Schema"),
        ),
        pytest.param("repeat: true", f"4:13: case 'a': {REPEAT} the boolean true (true)", id="a boolean"),
        pytest.param("repeat: '5'", f"4:13: case 'a': {REPEAT} '5'", id="text"),
        pytest.param("repeat: [5]", f"4:13: case 'a': {REPEAT} a list", id="a list"),
        pytest.param("pass_rate: 0", f"4:16: case 'a': {PASS_RATE} the number 0", id="nothing has to pass"),
        pytest.param("pass_rate: 80", f"4:16: case 'a': {PASS_RATE} the number 80", id="a percentage"),
        pytest.param("pass_rate: 80%", f"4:16: case 'a': {PASS_RATE} '80%'", id="a percentage as text"),
        pytest.param("pass_rate: 1.01", f"4:16: case 'a': {PASS_RATE} the number 1.01", id="more than all"),
        pytest.param(
            "pass_rate: .nan",
            f"4:16: case 'a': {PASS_RATE} the number .nan",
            id="not a number",
            marks=pytest.mark.beyond_schema("JSON has no such number"),
        ),
        pytest.param("pass_rate: false", f"4:16: case 'a': {PASS_RATE} the boolean false (false)", id="false"),
        pytest.param("epochs: 5", "4:5: case 'a': unknown key 'epochs'; write 'repeat'", id="another tool's repeat"),
        pytest.param("repeats: 5", "4:5: case 'a': unknown key 'repeats'; did you mean 'repeat'?", id="mistyped"),
        pytest.param(
            "passRate: 5", "4:5: case 'a': unknown key 'passRate'; did you mean 'pass_rate'?", id="in capitals"
        ),
        pytest.param(
            "min_pass_rate: 1", "4:5: case 'a': unknown key 'min_pass_rate'; write 'pass_rate'", id="another rate"
        ),
    ],
)
def test_what_is_no_number_of_repeats_or_no_rate_is_an_error_at_its_place(
    project: Project, schema_agrees: Callable[[Path], None], body: str, message: str
) -> None:
    with pytest.raises(EvalFileError) as raised:
        project.case(f"{body}\ninput_messages: [{{role: user, content: hi}}]")
    assert str(raised.value) == f"evals/a.eval.yaml:{message}"
    schema_agrees(project.root / "evals/a.eval.yaml")

"""A tag that looks mistyped is reported, once, at its line."""

from __future__ import annotations

import pytest

from tests.runs.conftest import Run


def eval_file(*tags: str) -> str:
    cases = [
        f"  - id: c{number}\n    tags: [{tag}]\n    input_messages: [{{role: user, content: hi}}]\n"
        for number, tag in enumerate(tags)
    ]
    return "evalcases:\n" + "".join(cases)


def warned(run: Run, *arguments: str) -> list[str]:
    result = run("--collect-only", "-q", "-W", "default", *arguments)
    return [line for line in result.outlines if "EvalFileWarning" in line]


@pytest.mark.parametrize("arguments", [[], ["-m", "smoke"]], ids=["a whole run", "a run that leaves the case out"])
def test_a_tag_used_once_that_is_similar_to_one_used_often_is_reported_at_its_line(
    run: Run, arguments: list[str]
) -> None:
    run.write({"a.eval.yaml": eval_file(*["smoke"] * 4), "b.eval.yaml": eval_file("smoke", "smoek")})
    (line,) = warned(run, *arguments)
    assert line.endswith(
        "b.eval.yaml:6: EvalFileWarning: case 'c1': the tag 'smoek' is used once, 'smoke' 5 times; did you mean 'smoke'?"
    )


@pytest.mark.parametrize(
    "tags",
    [
        pytest.param(["smoke"] * 4 + ["smoek"], id="the other tag is not used often"),
        pytest.param(["smoke"] * 5 + ["smoek"] * 2, id="the tag is used twice"),
        pytest.param(["release-1"] * 5 + ["release-2"], id="only digits differ"),
        pytest.param(["smoke"] * 5 + ["slow"], id="the tags are not alike"),
        pytest.param(["smoke"] * 5 + ["smoek, 3"], id="the case is invalid"),
    ],
)
def test_other_tags_are_not_reported(run: Run, tags: list[str]) -> None:
    run.write({"a.eval.yaml": eval_file(*tags)})
    assert warned(run) == []


def test_under_xdist_a_tag_is_reported_once(run: Run) -> None:
    run.write({"a.eval.yaml": eval_file(*["smoke"] * 5, "smoek")})
    run.update("-W", "ignore")
    result = run("-n", "2", "-W", "default")
    assert len([line for line in result.outlines if "did you mean 'smoke'?" in line]) == 1

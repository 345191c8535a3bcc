"""Two runs beside each other, in words."""

from __future__ import annotations

from pytest_chatprompt.reports.compare import compare_runs, comparison_lines
from pytest_chatprompt.results.records import CaseResult, ErrorResult, RunResults, SnapshotResult
from tests.reports.results import answered, check, repeated

SENT = {"snapshot": SnapshotResult(path="s", state="same", sent={"request": "q"})}
OTHER = {"snapshot": SnapshotResult(path="s", state="same", sent={"request": "r"})}


def told(before: list[CaseResult], after: list[CaseResult]) -> list[str]:
    runs = RunResults(results=tuple(before)), RunResults(results=tuple(after))
    return list(comparison_lines(compare_runs(*runs, ("a.json", "b.json"))))


def test_what_got_worse_comes_first_with_its_checks_and_both_answers() -> None:
    failing = check(passed=False, reason="does not contain it", path="a.eval.yaml", line=4, column=9)
    before = [
        answered("same"),
        answered("worse", checks=(check(),), text="Yes, x.\nBye").model_copy(update=SENT),
        answered("better", outcome="failed"),
        answered("changed", text="one").model_copy(update=SENT),
        answered("gone"),
    ]
    after = [
        answered("same"),
        answered("worse", "openai", "failed", "Yes, y.\nBye", (failing,)).model_copy(update=SENT),
        answered("better"),
        answered("changed", text="two").model_copy(update=OTHER),
        answered("new", outcome="error"),
    ]
    assert told(before, after) == [
        "a.json → b.json: 1 worse, 1 better, 1 changed, 1 the same, 1 new, 1 gone",
        "",
        "Worse (1)",
        "  a.eval.yaml::worse[openai]: passed → failed; what is sent is the same",
        "    a.eval.yaml:4:9: failed: contains 'x': the answer does not contain it",
        r"    - Yes, x.\nBye",
        r"    + Yes, y.\nBye",
        "",
        "Better (1)",
        "  a.eval.yaml::better[openai]: failed → passed",
        "",
        "Changed (1)",
        "  a.eval.yaml::changed[openai]: passed; what is sent changed",
        "    - one",
        "    + two",
        "",
        "New (1)",
        "  a.eval.yaml::new[openai]: error",
        "",
        "Gone (1)",
        "  a.eval.yaml::gone[openai]: passed",
        "",
        "4 cases of both runs:",
        "                    a.json     b.json",
        "contains        1/1 (100%)   0/1 (0%)",
        "cases            3/4 (75%)  3/4 (75%)",
        "median latency     unknown    unknown",
        "input tokens       unknown    unknown",
        "output tokens      unknown    unknown",
    ]


def test_equal_runs_are_told_in_one_line_and_their_table() -> None:
    assert told([answered("x")], [answered("x")])[:2] == [
        "a.json → b.json: 0 worse, 0 better, 0 changed, 1 the same, 0 new, 0 gone",
        "",
    ]
    # Without answers there is nothing to put side by side.
    assert told([answered("x", text=None)], [answered("x", text=None)])[1:] == []
    assert told([], []) == ["a.json → b.json: 0 worse, 0 better, 0 changed, 0 the same, 0 new, 0 gone"]


def test_a_case_without_failing_checks_has_its_error_and_one_of_another_provider_both_names() -> None:
    error = ErrorResult(message="429: no\x1b quota")
    after = answered("x", "openai", "error", text=None).model_copy(update={"error": error, "provider": None})
    lines = told([answered("x")], [after])
    assert lines[3:] == [
        "  a.eval.yaml::x[openai]: passed → error; sent to no provider, formerly to openai",
        "    429: no\x1b quota",
    ]
    back = told([after], [answered("x")])
    assert back[3:] == ["  a.eval.yaml::x[openai]: error → passed; sent to openai, formerly to no provider"]


def test_a_check_without_a_place_has_none_and_one_that_passes_again_is_told() -> None:
    before = answered("x", "openai", "failed", checks=(check(passed=False),))
    assert "    passed: contains 'x': the answer contains it" in told([before], [answered("x", checks=(check(),))])


def answers_in(lines: list[str]) -> list[str]:
    return [line[4:] for line in lines if line[:6] in ("    - ", "    + ")]


def test_long_answers_are_cut_to_the_part_that_changed() -> None:
    words = "word " * 100
    old, new = answers_in(told([answered("x", text=f"{words}old {words}")], [answered("x", text=f"{words}new")]))
    assert old == f"- …{'word ' * 11}old {'word ' * 35}word …"[: len(old) - 1] + "…"
    assert len(old) == 240 + len("- ")
    assert new == f"+ …{'word ' * 11}new"
    short = told([answered("x", text="old " + words)], [answered("x", text="")])
    assert answers_in(short) == [f"- old {words[:235]}…", "+ "]
    call = {"function": {"name": "find", "arguments": "{}"}}
    calls = told([answered("x", text="Hm.", tool_calls=(call,))], [answered("x", text="", tool_calls=(call,))])
    assert answers_in(calls) == [r"- Hm.\ncalls find({})", "+ calls find({})"]


def test_another_rate_of_a_repeated_case_is_told_and_is_worse_only_where_the_case_fails() -> None:
    five = repeated("x", "passed", "passed", "passed", "passed", "passed")
    four = repeated("x", "passed", "passed", "passed", "passed", "failed")
    lines = told([five], [four])
    assert lines[2:5] == [
        "Changed (1)",
        "  a.eval.yaml::x[openai]: passed; 5/5 → 4/5 passed",
        "    failed: contains 'x': the answer contains it",
    ]
    assert "  a.eval.yaml::x[openai]: passed; one answer → 4/5 passed" in told([answered("x", text="answer 1")], [four])
    assert "  a.eval.yaml::x[openai]: passed; 4/5 → one answer passed" in told([four], [answered("x", text="answer 1")])
    assert told([five], [five])[0].endswith("0 changed, 1 the same, 0 new, 0 gone")
    assert told([four], [repeated("x", "failed", "failed")])[2] == "Worse (1)"

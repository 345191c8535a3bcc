"""The answers of a run as Markdown: case by case, those of its providers side by side."""

from __future__ import annotations

from pytest_chatprompt.reports.markdown import markdown_answers
from pytest_chatprompt.results.records import CaseResult, RunResults
from tests.reports.results import answered, check, repeated


def text_of(*results: CaseResult, room: int = 60_000) -> str:
    return "".join(markdown_answers(RunResults(results=results), room))


def test_answers_stand_beside_each_other_with_what_they_took_and_the_checks_that_do_not_pass() -> None:
    text = text_of(
        answered("x", "one", text="A & B\n\nC", checks=(check(),), latency_seconds=0.5),
        answered("x", "two", "failed", text="", checks=(check(), check(passed=False, reason="does not contain it"))),
    )
    assert (
        text
        == """<details><summary>Answers to 1 case</summary>

<details><summary><code>a.eval.yaml::x</code>: <code>one</code> passed, <code>two</code> failed</summary>
<table>
<tr valign="top"><th><code>one</code></th><th><code>two</code></th></tr>
<tr valign="top"><td>passed, 1 of 1 check passed<br>0.50 s</td><td>failed, 1 of 2 checks passed<br>failed: <code>contains &#x27;x&#x27;</code> <code>does not contain it</code></td></tr>
<tr valign="top"><td><code>A &amp; B</code><br><br><code>C</code></td><td>no text</td></tr>
</table>
</details>

</details>
"""
    )


def test_cases_whose_providers_disagree_come_first_then_those_that_failed() -> None:
    text = text_of(
        answered("good", "one"),
        answered("bad", "one", "failed"),
        answered("mixed", "one"),
        answered("silent", "one", "error", text=None),
        answered("good", "two"),
        answered("bad", "two", "error"),
        answered("mixed", "two", "failed"),
        answered("code", "").model_copy(update={"case_id": None, "provider": None, "node_id": "test_a.py::test_a"}),
    )
    places = [
        text.index(f"<code>{name}</code>: ") for name in ("a.eval.yaml::mixed", "a.eval.yaml::bad", "a.eval.yaml::good")
    ]
    assert places == sorted(places)
    assert "<code>test_a.py::test_a</code>: <code>no provider</code> passed" in text
    assert "silent" not in text


def test_what_there_is_no_room_for_is_counted() -> None:
    results = [answered(f"c{number}", text="x" * 300) for number in range(10)]
    text = text_of(*results, room=1_500)
    assert len(text) <= 1_500
    assert 0 < text.count("<table>") < 10
    assert f"… and {10 - text.count('<table>')} more cases.\n" in text
    assert text_of(*results, room=200) == ""
    assert text_of() == ""


def test_long_answers_and_many_providers_are_cut() -> None:
    text = text_of(answered("x", text="line\n" * 22), *[answered("x", f"p{number}") for number in range(8)])
    assert text.count("<code>line</code>") == 20
    assert "… and 2 more lines" in text
    assert "<code>p4</code> passed and 3 more providers</summary>" in text
    assert "p5" not in text


def test_a_repeated_case_has_its_rate_and_the_beginning_of_each_answer() -> None:
    text = text_of(repeated("x", "passed", "failed", "error"))
    assert (
        "<td>passed, 1 of 2 checks passed<br>1/2 answers passed: 50 % (95 % interval 9 % to 91 %)<br>1.00 s<br>"
        "failed: <code>contains &#x27;x&#x27;</code> <code>contains it</code></td>" in text
    )
    assert (
        "<td>1 passed: <code>&#x27;answer 1&#x27; (1.00 s)</code><br>2 failed: <code>&#x27;answer 2&#x27; (1.00 s)</code>"
        "<br>3 error: <code>503: overloaded</code></td>" in text
    )

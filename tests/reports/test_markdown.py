"""The review as Markdown."""

from __future__ import annotations

import html
import re

import pytest

from pytest_chatprompt.reports.markdown import LIMIT, markdown_answers, render_markdown
from pytest_chatprompt.results.records import (
    CaseResult,
    CheckResult,
    ErrorResult,
    ResponseResult,
    RunResults,
    SnapshotResult,
)
from pytest_chatprompt.snapshots.diff import compare_snapshots
from pytest_chatprompt.snapshots.layout import dump
from tests.reports.results import answered, check, repeated


def case(name: str, before: str | None, after: str, provider: str = "openai") -> CaseResult:
    """A case whose system prompt changed; a new one if there was none."""
    sent = dump({"provider": provider, "request": {"system": after, "model": "m"}})
    stored = None if before is None else dump({"provider": provider, "request": {"system": before, "model": "m"}})
    snapshot = (
        SnapshotResult(path="s.yaml", state="new")
        if stored is None
        else SnapshotResult(path="s.yaml", state="different", difference=compare_snapshots(stored, sent))
    )
    return CaseResult(
        node_id=f"evals/{name[0]}.eval.yaml::{name}",
        path=f"evals/{name[0]}.eval.yaml",
        line=1,
        case_id=name,
        provider=provider,
        outcome="failed",
        snapshot=snapshot,
        error=ErrorResult(message="request.system: changed"),
    )


def passed(name: str, response: ResponseResult | None = None, provider: str = "openai") -> CaseResult:
    path = "evals/a.eval.yaml"
    return CaseResult(
        node_id=f"{path}::{name}", path=path, line=1, provider=provider, outcome="passed", response=response
    )


def run_of(*results: CaseResult, command: tuple[str, ...] = (), against: str | None = None) -> RunResults:
    return RunResults(results=results, command=command, against=against)


def test_a_run_without_changes_says_so() -> None:
    assert render_markdown(run_of(passed("x"))) == "## No snapshot differs\n\n1 test of prompts: 1 passed.\n\n"
    assert render_markdown(run_of()) == "## No snapshot differs\n\n0 tests of prompts: none ran.\n\n"


def test_a_run_with_answers_is_headed_by_its_pass_rate_unless_something_changed() -> None:
    results = [answered("a"), answered("b", outcome="failed"), answered("c", outcome="skipped", text=None)]
    assert render_markdown(run_of(*results)).startswith("## 1 of 2 cases passed (50%)\n")
    changed = case("one", "x", "y")
    assert render_markdown(run_of(*results, changed)).startswith("## 1 distinct change in 1 snapshot\n")


def test_a_change_late_in_a_long_line_is_shown() -> None:
    long = "nothing changes in these words " * 50
    text = render_markdown(run_of(case("one", f"{long}keep 14 days", f"{long}keep 30 days")))
    assert re.search(r"^- …[^\n]*keep 14 days$\n\+ …[^\n]*keep 30 days$", text, re.MULTILINE)


def test_the_change_of_the_most_snapshots_comes_first_and_open() -> None:
    results = [case("one", "keep 14 days", "keep 30 days"), case("two", "x", "y")]
    results += [case(f"b{number}", "keep 14 days", "keep 30 days", "azure") for number in range(2)]
    text = render_markdown(
        run_of(*results, command=("evals", "--chatprompt-report", "a.md", "--chatprompt-report=b.md", "-q"))
    )
    assert text.startswith(
        "## 2 distinct changes in 4 snapshots\n\n4 tests of prompts: 4 failed.\n\n<details open><summary>change 53da: 3 snapshots, 2 providers, 2 files: <code>request.system: "
    )
    assert "```diff\n- keep 14 days\n+ keep 30 days\n```\n\nIn `request.system` (3).\n" in text
    assert (
        "Snapshots: `evals/o.eval.yaml::one`, `evals/b.eval.yaml::b0`, `evals/b.eval.yaml::b1`.\n\n"
        "To accept it: `pytest evals -q --chatprompt-accept 53da`\n\n</details>\n" in text
    )
    assert (
        "<details><summary>change d583: 1 snapshot: <code>request.system: &quot;x&quot; → &quot;y&quot;</code></summary>"
        in text
    )
    assert text.endswith("\nTo accept all: `pytest evals -q --snapshot-update`\n")


def test_new_renamed_and_otherwise_failed_tests_are_listed() -> None:
    failed = passed("bad").model_copy(update={"outcome": "error", "error": ErrorResult(message="no key\nmore")})
    text = render_markdown(run_of(case("new", None, "x"), failed))
    assert "**New** (1)\n\n- `evals/n.eval.yaml::new`\n" in text
    assert "**Failed otherwise** (1)\n\n- `evals/a.eval.yaml::bad`: `no key\\nmore`\n" in text.replace(
        '"no key', "no key"
    ).replace('more"', "more")
    assert "1 failed, 1 with errors." in text
    assert "**Failed** (1)\n" in render_markdown(run_of(failed))


def test_providers_of_a_live_run_are_a_table() -> None:
    answers = [
        passed("a", ResponseResult(text="x", input_tokens=5, output_tokens=1, latency_seconds=0.5, cost_usd=0.5)),
        passed("b", ResponseResult(text="x", input_tokens=6, latency_seconds=1.5)).model_copy(
            update={"outcome": "failed"}
        ),
        passed("a", ResponseResult(text="x"), "a|b"),
    ]
    lines = render_markdown(run_of(*answers)).splitlines()
    start = lines.index("|  | openai | `a\\|b` |")
    assert lines[start : start + 7] == [
        "|  | openai | `a\\|b` |",
        "|---|---:|---:|",
        "| cases | 1/2 (50%) | 1/1 (100%) |",
        "| median latency | 1.00 s | unknown |",
        "| input tokens | 11 | unknown |",
        "| output tokens | 1 | unknown |",
        "| cost | $0.50 + 1 unknown | unknown |",
    ]


def test_against_a_revision_there_is_nothing_to_accept() -> None:
    text = render_markdown(run_of(case("one", "x", "y"), against="main"))
    assert text.startswith("## 1 distinct change in 1 snapshot against `main`\n")
    assert "To accept" not in text


ATTACKS = [
    "```\n</details><script>alert(1)</script> @octocat #1 **bold**",
    "</summary></details>",
    "`" * 30,
    "[x](javascript:alert(1)) | cell <!-- ",
    "a\x00b\x1b[31m\u202ertl",
]


@pytest.mark.parametrize("text", ATTACKS)
def test_nothing_of_a_prompt_or_an_answer_is_markup(text: str) -> None:
    call = {"function": {"name": text, "arguments": text}}
    result = case("one", "x", text)
    result = result.model_copy(update={"node_id": f"evals/o.eval.yaml::{text}"})
    check = CheckResult(type="contains", value=text, passed=False, reason=text)
    answered = passed(text, ResponseResult(text=text, tool_calls=(call,)), text).model_copy(update={"checks": (check,)})
    shown = render_markdown(run_of(result, answered))
    assert "\x00" not in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    # Without code of both kinds and the tags of this report, nothing is left that could be markup.
    rest = re.sub(r"^(`{3,})(?:diff|text)\n.*?^\1$", "", shown, flags=re.DOTALL | re.MULTILINE)
    rest = re.sub(r"<code>([^<]*)</code>", "", rest)
    rest = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", rest)
    for tag in ("details", "summary"):
        rest = re.sub(f"</?{tag}( open)?>", "", rest)
    assert not re.search(r"[<>`@\[\]]", rest), rest
    summary = re.findall(r"<code>([^<]*)</code>", shown)[0]
    assert html.unescape(summary).startswith("request.system: ")


@pytest.mark.parametrize(
    "results",
    [
        [case(f"c{number}", "x " * 300 + str(number), "y " * 300 + str(number)) for number in range(400)],
        [case("one", "\n".join(map(str, range(5000))), "\n".join(map(chr, range(200, 5200))))],
        [passed(f"c{number}", ResponseResult(text="x\n" * 5000, tool_calls=({},) * 30)) for number in range(400)],
        [case("n" * 5000, "x", "y" * 100_000), *[case(f"new{number}" * 5000, None, "x") for number in range(20)]],
    ],
    ids=["many changes", "many lines", "many answers", "long lines and names"],
)
def test_it_is_never_longer_than_github_takes(results: list[CaseResult]) -> None:
    text = render_markdown(run_of(*results, command=("x" * 100_000,)))
    assert 2_000 < len(text) <= LIMIT
    assert len(text.encode()) <= 1024**2
    assert text.count("<details") == text.count("</details>") > 0
    assert "more" in text


def text_of(*results: CaseResult, room: int = 60_000) -> str:
    return "".join(markdown_answers(RunResults(results=results), room))


def test_answers_are_shown_with_what_they_took_and_their_checks() -> None:
    text = text_of(
        answered("x", "one", text="A & B\n\nC", checks=(check(),), latency_seconds=0.5),
        answered("y", "two", "failed", text="", checks=(check(), check(passed=False, reason="does not contain it"))),
        answered("z", "one", "error", text=None),
    )
    assert (
        text
        == """<details><summary>Answers to 2 cases</summary>

<details><summary><code>a.eval.yaml::y[two]</code>: failed</summary>

```text
passed: contains 'x': the answer contains it
failed: contains 'x': the answer does not contain it
```

</details>

<details><summary><code>a.eval.yaml::x[one]</code>: passed</summary>

```text
A & B

C
(0.50 s)
passed: contains 'x': the answer contains it
```

</details>

</details>
"""
    )


def test_what_there_is_no_room_for_is_counted() -> None:
    results = [answered(f"c{number}", text="x" * 300) for number in range(10)]
    text = text_of(*results, room=1_500)
    assert len(text) <= 1_500
    assert 0 < text.count("```text") < 10
    assert f"… and {10 - text.count('```text')} more cases.\n" in text
    assert text_of(*results, room=200) == ""
    assert text_of() == ""


def test_long_answers_are_cut() -> None:
    text = text_of(answered("x", text="line\n" * 32))
    assert text.count("\nline") == 30
    assert "… and 2 more lines" in text


def test_a_repeated_case_has_its_rate_and_all_of_its_answers() -> None:
    text = text_of(repeated("x", "passed", "failed", "error"))
    assert "50 % (95 % interval 9 % to 91 %)\n\nanswer 1 of 3: passed\nanswer 1\n(1.00 s)\n" in text
    assert "answer 3 of 3: error\n503: overloaded" in text

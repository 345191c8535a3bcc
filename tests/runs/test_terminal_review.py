"""`--chatprompt-review`: in the terminal, each change of a run is accepted or skipped when its tests have ended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest

from pytest_chatprompt.snapshots.files import atomic_write
from tests.runs.conftest import HELLO, Run
from tests.runs.test_accept import ASSERTED_LATER, CHECKED, FIRST, SECOND, SUBTESTS, A, ids, shop, tree, updated
from tests.terminal import Terminal

__all__ = ["shop"]

QUESTION = "[a]ccept, [s]kip, show a [c]ase whole, accept all that is [l]eft, [q]uit? "
Answer = str | type[BaseException] | Callable[[], str]


class TypeAnswers(Protocol):
    """Answers the questions of the next runs, one after the other; gives the answers that are left."""

    def __call__(self, *answers: Answer) -> list[Answer]: ...


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> TypeAnswers:
    """Answers in runs of pytest in this process, as if they had a terminal; an error is raised, a function called."""

    def type_answers(*answers: Answer) -> list[Answer]:
        left = list(answers)

        def ask(question: str) -> str:
            assert question == QUESTION
            answer = left.pop(0)
            if isinstance(answer, type):
                raise answer
            text = answer if isinstance(answer, str) else answer()
            # As a terminal shows it.
            print(f"{question}{text}")
            return text

        monkeypatch.setattr("builtins.input", ask)
        monkeypatch.setattr("pytest_chatprompt.options._has_terminal", lambda _: True)
        return left

    return type_answers


def written(run: Run, before: dict[str, bytes]) -> list[str]:
    """The snapshots that are not as they were."""
    after = tree(run)
    assert after.keys() == before.keys()
    return [name for name in after if after[name] != before[name]]


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "workers"])
def test_what_is_accepted_is_written_when_it_is_decided(shop: Run, typed: TypeAnswers, workers: list[str]) -> None:
    wanted, before = updated(shop), tree(shop)

    def accept_second() -> str:
        assert len(written(shop, before)) == 4
        assert sum(b"Answer in one paragraph." in content for content in tree(shop).values()) == 3
        return "a"

    left = typed("a", accept_second)
    result = shop("--chatprompt-review", *workers)
    assert (result.ret, left) == (0, [])
    assert result.parseoutcomes() == {"accepted": 4}
    assert tree(shop) == wanted
    assert "FAILURES" not in result.stdout.str()
    assert result.outlines[-3:-1] == [
        f"accepted change {FIRST} in 4 snapshots",
        f"accepted change {SECOND} in 3 snapshots",
    ]


def test_a_change_is_told_when_it_is_asked_about_and_what_is_left_afterwards(shop: Run, typed: TypeAnswers) -> None:
    typed("a", "q")
    result = shop("--chatprompt-review")
    assert result.ret == 1
    names = "a.eval.yaml::both[openai], a.eval.yaml::both[anthropic]"
    review = f"""
test_own.py F                                                            [100%]

================== review: 2 distinct changes in 4 snapshots ===================
------------------------------------ 1 of 2 ------------------------------------
change {FIRST}: 4 snapshots, 3 providers, 2 files: {names}, a.eval.yaml::first and 1 more
   request.messages[0].content (1), request.system (1), request.systemInstruction.parts[0].text (1), \
requests[0].request.messages[0].content (1)
   the first 25 to 92 characters are as before; vendors' caches end there, at request.messages[0].content (1), \
request.system (1) and 2 more places
   - Goods return in 14 days.
   + Goods return in 30 days.
{QUESTION}a
accepted change {FIRST} in 4 snapshots
------------------------------------ 2 of 2 ------------------------------------
change {SECOND}: 3 snapshots, 2 providers, 2 files: {names}, test_own.py::test_own
   request.messages[0].content (1), request.system (1), requests[0].request.messages[1].content (1)
   -7 characters (about -2 tokens): system text; the first 54 to 135 characters are as before; vendors' caches end there, \
at request.messages[0].content (1), request.system (1) and 1 more place
   - Answer in one paragraph.
   + Answer in a word.
{QUESTION}q

=================================== FAILURES ==================================="""
    output = result.stdout.str()
    assert review.replace("\\\n", "") in output
    assert output.count("Goods return in 30 days.") == 1
    assert "= 1 distinct change in 3 snapshots =" in output
    # The run is not repeated with the questions.
    assert f"   To accept it: pytest -p no:cacheprovider --chatprompt-accept {SECOND}" in result.outlines
    assert "To accept all: pytest -p no:cacheprovider --snapshot-update" in result.outlines
    assert f"accepted change {FIRST} in 4 snapshots" in result.outlines


@pytest.mark.parametrize(
    ("answers", "accepted"),
    [
        pytest.param(["s", "a"], [1], id="one is skipped"),
        pytest.param(["s", "l"], [1], id="what was skipped is not among all that is left"),
        pytest.param(["l"], [0, 1], id="all"),
        pytest.param(["s", "s"], [], id="all are skipped"),
        pytest.param(["q"], [], id="quit"),
        pytest.param([" A ", "S"], [0], id="capitals"),
        pytest.param(["", "x", "accept", "a", "?", "q"], [0], id="asked again until it is one of the keys"),
        pytest.param(["a", KeyboardInterrupt], [0], id="Ctrl-C"),
        pytest.param(["a", EOFError], [0], id="Ctrl-D"),
        pytest.param([KeyboardInterrupt], [], id="Ctrl-C at once"),
    ],
)
def test_each_key_does_what_the_question_says(
    shop: Run, typed: TypeAnswers, answers: list[Answer], accepted: list[int]
) -> None:
    told = [f"accepted change {FIRST} in 4 snapshots", f"accepted change {SECOND} in 3 snapshots"]
    left = typed(*answers)
    result = shop("--chatprompt-review")
    assert left == []
    # At once, and at the end.
    assert {line: result.outlines.count(line) for line in told} == {
        line: 2 * (index in accepted) for index, line in enumerate(told)
    }
    assert result.ret == (0 if accepted == [0, 1] else 1)
    snapshots = b"".join(tree(shop).values())
    assert (b"14 days" in snapshots, b"in one paragraph" in snapshots) == (0 not in accepted, 1 not in accepted)


def test_a_case_is_shown_whole_and_then_the_next_one(shop: Run, typed: TypeAnswers) -> None:
    typed("a", "c", "c", "c", "c", "q")
    output = shop("--chatprompt-review").stdout.str()
    whole = f"""
{QUESTION}c
case 1 of 3: a.eval.yaml::both[openai]
  provider: openai
  endpoint: POST /chat/completions
  question: |-
    hello
    <Attached: a.md>
    <Attached: b.md>
  request:
    model: gpt-5.5
    messages:
    - role: system
      content: |-
        You are a careful assistant.
"""
    assert whole in output
    shown = output.partition("case 1 of 3: ")[2].partition(QUESTION)[0]
    # The other change is accepted already.
    assert "\n        Goods return in 30 days.\n" in shown
    assert "\n-       Answer in one paragraph.\n+       Answer in a word.\n" in shown
    told = [line for line in output.splitlines() if line.startswith("case ")]
    assert told == [
        "case 1 of 3: a.eval.yaml::both[openai]",
        "case 2 of 3: a.eval.yaml::both[anthropic]",
        "case 3 of 3: test_own.py::test_own",
        "case 1 of 3: a.eval.yaml::both[openai]",
    ]


def test_a_text_with_what_cannot_be_shown_is_as_readable_as_any(run: Run, typed: TypeAnswers) -> None:
    run.write({"test_it.py": PLAIN.replace("TEXT", "one\\ntwo\\nthree")})
    run.with_snapshots()
    run.write({"test_it.py": PLAIN.replace("TEXT", "one\\nt\\x1b[1mwo\\nthree")})
    typed("c", "q")
    shown = run("--chatprompt-review").stdout.str().partition("case 1 of 1: ")[2].partition(QUESTION)[0]
    assert shown == "test_it.py::test_it\n  text: |-\n    one\n-   two\n+   t\\x1b[1mwo\n    three\n"


PLAIN = """
def test_it(eval_snapshot):
    assert {"text": "TEXT"} == eval_snapshot
"""


def test_what_is_accepted_has_still_to_pass_the_checks_of_what_is_sent(run: Run, typed: TypeAnswers) -> None:
    run.write({"a.eval.yaml": CHECKED + HELLO})
    run.with_snapshots()
    run.write({"a.eval.yaml": CHECKED + HELLO.replace("content: hello", "content: goodbye")})
    typed("a")
    result = run("--chatprompt-review", "--chatprompt-report", "report.json")
    assert (result.ret, result.parseoutcomes()) == (1, {"failed": 1})
    assert "accepted change bb5b in 1 snapshot" in result.outlines
    # The failure is what the next run says.
    assert result.stdout.str().count("goodbye") > result.stdout.str().partition("FAILURES")[0].count("goodbye")
    assert "what is sent to openai is not" not in result.stdout.str()
    assert run().ret == 1


def test_what_is_accepted_in_a_live_run_has_still_to_be_sent(run: Run, typed: TypeAnswers) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.with_snapshots()
    run.write({"a.eval.yaml": HELLO.replace("content: hello", "content: goodbye")})
    typed("a")
    result = run("--chatprompt-replay", "--chatprompt-review")
    assert (result.ret, result.parseoutcomes()) == (1, {"accepted": 1})
    assert "1 accepted test got no answer in this run: run again" in result.outlines


def test_the_tests_that_failed_last_are_those_that_still_do(shop: Run, typed: TypeAnswers) -> None:
    typed("a", "q")
    shop.pytester.runpytest_inprocess("--chatprompt-review")
    result = shop.pytester.runpytest_inprocess("--lf", "--collect-only", "-q")
    assert result.outlines[:3] == ["a.eval.yaml::both[openai]", "a.eval.yaml::both[anthropic]", "test_own.py::test_own"]


@pytest.mark.parametrize("test", [SUBTESTS, ASSERTED_LATER], ids=["subtests", "comparisons that are asserted later"])
def test_each_of_several_snapshots_of_a_test_is_asked_about(run: Run, typed: TypeAnswers, test: str) -> None:
    run.write({"test_it.py": test.replace("TEXT", "old")})
    run.with_snapshots()
    run.write({"test_it.py": test.replace("TEXT", "new")})
    wanted = updated(run)
    typed("a", "s", "a")
    result = run("--chatprompt-review", "--chatprompt-report", "report.json")
    assert result.ret == 1
    assert "= 1 distinct change in 1 snapshot =" in result.stdout.str() or "@@ question @@" in result.stdout.str()
    (change,) = json.loads((run.path / "report.json").read_text())["changes"]
    assert change["node_ids"] == ["test_it.py::test_it"]
    typed("a")
    # Whether `assert all(...)` has failed for this alone is not known before the next run.
    assert run("--chatprompt-review").ret == (test == ASSERTED_LATER)
    assert tree(run) == wanted
    assert run().ret == 0


def test_new_snapshots_are_one_question(shop: Run, typed: TypeAnswers) -> None:
    shop.with_snapshots()
    shop.write({"b.eval.yaml": HELLO})
    typed("c", "a")
    result = shop("--chatprompt-review")
    assert result.ret == 0
    output = result.stdout.str()
    assert "= review: 1 new snapshot =" in output
    shown = f"new: b.eval.yaml::hello\n{QUESTION}c\ncase 1 of 1: b.eval.yaml::hello\n+ provider: openai\n+ endpoint: "
    assert shown in output
    assert result.outlines[-2] == "accepted 1 new snapshot"
    assert shop().ret == 0


def test_a_snapshot_that_cannot_be_read_is_shown_as_it_is(shop: Run, typed: TypeAnswers) -> None:
    shop.with_snapshots()
    path = shop.path / "__snapshots__/a.eval/first[gemini].yaml"
    path.write_text(f"<<<<<<< ours\n{path.read_text()}=======\nx: 1\n>>>>>>> theirs\n")
    typed("c", "a")
    result = shop("--chatprompt-review")
    assert result.ret == 0
    assert "- <<<<<<< ours" in result.outlines
    assert "  provider: gemini" in result.outlines
    assert shop().ret == 0


@pytest.mark.parametrize(
    ("arguments", "snapshots"),
    [
        (["-x"], 1),
        (["--maxfail=2"], 2),
        (["-k", "first"], 1),
        (["a.eval.yaml"], 3),
        (["test_own.py", "-s"], 1),
        (["--no-summary", "-qq"], 4),
        (["-p", "no:capture"], 4),
    ],
)
def test_what_was_compared_is_what_is_asked_about(
    shop: Run, typed: TypeAnswers, arguments: list[str], snapshots: int
) -> None:
    before = tree(shop)
    typed("l")
    result = shop("--chatprompt-review", *arguments)
    assert result.ret == 0
    assert len(written(shop, before)) == snapshots


def test_a_run_of_workers_that_ends_early_asks_too(shop: Run, typed: TypeAnswers) -> None:
    before = tree(shop)
    left = typed("l")
    result = shop("--chatprompt-review", "-n", "2", "-x")
    assert result.ret == 0
    assert left == []
    assert written(shop, before) != []
    assert "the run ended early: run again for the tests that did not run" in result.outlines


def test_only_what_failed_last_is_asked_about(shop: Run, typed: TypeAnswers) -> None:
    before = tree(shop)
    shop.pytester.runpytest_inprocess("-k", "first")
    typed("l")
    assert shop.pytester.runpytest_inprocess("--lf", "--chatprompt-review").ret == 0
    assert written(shop, before) == ["__snapshots__/a.eval/first[gemini].yaml"]


def test_where_nothing_differs_nothing_is_asked(shop: Run, typed: TypeAnswers) -> None:
    shop.with_snapshots()
    typed()
    result = shop("--chatprompt-review")
    assert result.ret == 0
    assert "review" not in result.stdout.str().partition("collected")[2]


@pytest.mark.parametrize("colour", ["yes", "no"])
def test_lines_have_the_colours_of_pytest(shop: Run, typed: TypeAnswers, colour: str) -> None:
    typed("a", "c", "q")
    lines = shop("--chatprompt-review", f"--color={colour}").outlines
    coloured = "\x1b[31m- Goods return in 14 days.\x1b[0m", "\x1b[1mcase 1 of 3: a.eval.yaml::both[openai]\x1b[0m"
    plain = "- Goods return in 14 days.", "case 1 of 3: a.eval.yaml::both[openai]"
    assert {line.strip() for line in lines} >= set(coloured if colour == "yes" else plain)


def test_long_lines_are_cut_unless_v_is_given(shop: Run, typed: TypeAnswers) -> None:
    many = "many " * 60
    shop.write({"a.md": A.replace("14", f"{many}14")})
    shop.with_snapshots().write({"a.md": A.replace("14", f"{many}30")})
    typed("q", "q")
    assert many in shop("-v", "--chatprompt-review").stdout.str().partition("FAILURES")[0]
    short = shop("--chatprompt-review").stdout.str().partition("FAILURES")[0]
    assert "many many" in short
    assert many not in short


# --- what may go wrong


def test_a_snapshot_that_changed_while_the_question_stood_is_left_alone(shop: Run, typed: TypeAnswers) -> None:
    name = "__snapshots__/a.eval/first[gemini].yaml"
    path = shop.path / name

    def change_and_accept() -> str:
        path.write_text(path.read_text() + "more: 1\n")
        return "a"

    typed(change_and_accept, "q")
    result = shop("--chatprompt-review")
    assert result.ret == 1
    problem = f"{name} is not written: it has changed since the run compared with it; run again"
    # At once, and at the end.
    assert result.outlines.count(problem) == 2
    assert f"{QUESTION}a\naccepted change {FIRST} in 3 snapshots\n{problem}\n---" in result.stdout.str()
    assert "more: 1" in path.read_text()
    assert "14 days" in path.read_text()


def test_what_cannot_be_written_is_told_and_the_review_goes_on(
    shop: Run, typed: TypeAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:

    def refuse(path: Path, text: str) -> None:
        if "openai" in path.name:
            raise PermissionError(13, "Permission denied")
        atomic_write(path, text)

    monkeypatch.setattr("pytest_chatprompt.reports.acceptance.atomic_write", refuse)
    typed("a", "a")
    result = shop("--chatprompt-review")
    assert result.ret == 1
    assert "__snapshots__/a.eval/both[openai].yaml is not written: Permission denied" in result.outlines
    assert f"accepted change {SECOND} in 2 snapshots" in result.outlines
    assert result.parseoutcomes() == {"accepted": 3, "failed": 1}
    assert ids(shop) == [FIRST, SECOND]


def test_without_a_terminal_the_other_way_is_named(shop: Run) -> None:
    for arguments in ((), ("-s",), ("-p", "no:terminal"), ("-n", "2")):
        result = shop("--chatprompt-review", *arguments)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        assert result.errlines[0] == (
            "ERROR: --chatprompt-review asks in a terminal, and there is none: accept changes by their ids, with "
            "--chatprompt-accept ID"
        )


@pytest.mark.parametrize(
    "arguments",
    [
        ("--chatprompt-review", "a.eval.yaml"),
        ("a.eval.yaml", "--chatprompt-review"),
        ("--chatprompt-review", "-k", "both or first"),
        ("-o", "addopts=--chatprompt-review", "a.eval.yaml"),
    ],
)
def test_what_follows_the_option_is_not_its_value(shop: Run, typed: TypeAnswers, arguments: tuple[str, ...]) -> None:
    left = typed("l")
    result = shop(*arguments)
    assert (result.ret, left) == (0, [])
    assert result.parseoutcomes()["accepted"] == 3


def test_an_unknown_value_is_refused(run: Run) -> None:
    result = run("--chatprompt-review=nonsense")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*argument --chatprompt-review: ignored explicit argument 'nonsense'"])


@pytest.mark.parametrize(
    "option",
    [
        "--snapshot-update",
        "--chatprompt-remove-unused",
        "--chatprompt-against=main",
        "--chatprompt-show",
        "--collect-only",
        "--chatprompt-accept=new",
    ],
)
def test_what_is_decided_is_all_that_a_run_writes(run: Run, typed: TypeAnswers, option: str) -> None:
    typed()
    result = run("--chatprompt-review", option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    name = option.partition("=")[0]
    result.stderr.fnmatch_lines([f"ERROR: --chatprompt-review writes only what you accept: remove {name}"])


# --- in a real terminal


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """A terminal of 80 columns."""
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.fixture
def other_terminal() -> Iterator[Terminal]:
    """One more."""
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.mark.measures_processes
def test_keys_are_read_from_the_terminal(shop: Run, terminal: Terminal) -> None:
    wanted = updated(shop)
    process = shop.start_in(terminal, "--chatprompt-review")
    for key in ("x", "c", "a", "a"):
        terminal.read_until(QUESTION)
        terminal.type(f"{key}\n")
    assert terminal.read_rest(process) == 0
    assert f"{QUESTION}x\n{QUESTION}c\ncase 1 of 4: a.eval.yaml::both[openai]\n" in terminal.text
    assert tree(shop) == wanted


# The other tests here leave it at the default, `fd`.
@pytest.mark.parametrize("capture", ["sys", "no", "tee-sys"])
def test_however_pytest_captures_ctrl_d_ends_the_review(shop: Run, terminal: Terminal, capture: str) -> None:
    before = tree(shop)
    process = shop.start_in(terminal, "--chatprompt-review", f"--capture={capture}")
    terminal.read_until(QUESTION)
    terminal.type("a\n")
    terminal.read_until(QUESTION)
    assert len(written(shop, before)) == 4
    terminal.type("\x04")
    assert terminal.read_rest(process) == 1
    # Colours of syrupy make it no other failure.
    assert "\ntest_own.py:9: nothing but change " in terminal.text
    assert f"accepted change {FIRST} in 4 snapshots" in terminal.text.partition("FAILURES")[2]


@pytest.mark.measures_processes
def test_after_the_tests_were_interrupted_nothing_is_asked(shop: Run, terminal: Terminal) -> None:
    shop.write({"test_z.py": "def test_it():\n    raise KeyboardInterrupt\n"})
    process = shop.start_in(terminal, "--chatprompt-review")
    assert terminal.read_rest(process) == pytest.ExitCode.INTERRUPTED
    assert "= 2 distinct changes in 4 snapshots =" in terminal.text
    assert QUESTION not in terminal.text


def test_ctrl_c_at_a_question_loses_nothing_that_was_decided(shop: Run, terminal: Terminal) -> None:
    process = shop.start_in(terminal, "--chatprompt-review")
    terminal.read_until(QUESTION)
    terminal.type("a\n")
    terminal.read_until(QUESTION)
    terminal.interrupt(process)
    assert terminal.read_rest(process) == 1
    assert f"accepted change {FIRST} in 4 snapshots" in terminal.text.partition("FAILURES")[2]
    assert ids(shop) == [SECOND]


def test_of_two_reviews_at_once_none_overwrites_what_the_other_wrote(
    shop: Run, terminal: Terminal, other_terminal: Terminal
) -> None:
    processes = [shop.start_in(each, "--chatprompt-review") for each in (terminal, other_terminal)]
    other_terminal.read_until(QUESTION)
    terminal.read_until(QUESTION)
    terminal.type("a\n")
    terminal.read_until(QUESTION)
    accepted = tree(shop)
    other_terminal.type("l\n")
    assert other_terminal.read_rest(processes[1]) == 1
    assert tree(shop) == accepted
    assert "first[gemini].yaml is not written: it has changed since the run compared with it" in other_terminal.text
    terminal.type("a\n")
    assert terminal.read_rest(processes[0]) == 0
    assert ids(shop) == []

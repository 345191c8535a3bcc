"""From eval file to snapshot, and what a failure shows when they differ."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.runs.conftest import HELLO, Run, lines

REVIEW = """
guideline_patterns: ["**/*.instructions.md"]
metadata:
  systemPrompt: You review code.
provider: anthropic
evalcases:
  - id: review-loop
    input_messages:
      - role: user
        content:
          - {type: text, value: "Review this:"}
          - {type: file, value: ./loop.py}
          - {type: file, value: ../guidelines/python.instructions.md}
      - role: assistant
        content: Which Python version?
      - role: user
        content: "3.12"
  - id: plain
    input_messages: [{role: user, content: hello}]
"""
FILES = {
    "evals/review.eval.yaml": REVIEW,
    "evals/loop.py": "for i in range(len(xs) - 1): ...\n",
    "guidelines/python.instructions.md": "Be concise.\nBe kind.\n",
}
SNAPSHOT = "evals/__snapshots__/review.eval/review-loop[anthropic].yaml"


def test_an_update_writes_one_readable_file_for_each_case_and_provider(run: Run) -> None:
    run.write(FILES)
    run.update().assert_outcomes(passed=2)
    assert run.snapshots() == ["evals/__snapshots__/review.eval/plain[anthropic].yaml", SNAPSHOT]
    assert (
        (run.path / SNAPSHOT).read_text()
        == """\
provider: anthropic
endpoint: POST /v1/messages
question: |-
  [User]:
  Review this:
  === ./loop.py ===
  for i in range(len(xs) - 1): ...
  <Attached: ../guidelines/python.instructions.md>
  [Assistant]: Which Python version?
  [User]: 3.12
request:
  model: claude-sonnet-5-5
  max_tokens: 4096
  system: |-
    You review code.

    [[ ## Guidelines ## ]]

    Be concise.
    Be kind.
  messages:
  - role: user
    content: |-
      Review this:
      === ./loop.py ===
      for i in range(len(xs) - 1): ...
      <Attached: ../guidelines/python.instructions.md>
  - role: assistant
    content: Which Python version?
  - role: user
    content: "3.12"
adjustments:
- "message 1: guideline ../guidelines/python.instructions.md moved to the system message (matched **/*.instructions.md)"
"""
    )


def test_without_changes_all_cases_pass_and_no_file_is_written(run: Run) -> None:
    run.write(FILES)
    run.with_snapshots()
    before = {name: (run.path / name).stat().st_mtime_ns for name in run.snapshots()}
    result = run()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["2 snapshots passed."])
    run.update()
    assert {name: (run.path / name).stat().st_mtime_ns for name in run.snapshots()} == before


def test_an_edited_guideline_fails_the_cases_that_use_it_with_a_diff_of_one_line(run: Run) -> None:
    run.write(FILES)
    run.with_snapshots()
    run.write({"guidelines/python.instructions.md": "Be concise.\nBe very kind.\n"})
    result = run()
    result.assert_outcomes(passed=1, failed=1)
    start = result.outlines.index(
        "evals/review.eval.yaml:7:5: case 'review-loop': what is sent to anthropic is not what its snapshot says"
    )
    assert result.outlines[start + 1 : start + 9] == [
        "",
        SNAPSHOT,
        "@@ request.system @@",
        "      Be concise.",
        "-     Be kind.",
        "+     Be very kind.",
        "",
        "To accept it: pytest evals/review.eval.yaml::review-loop --snapshot-update",
    ]
    assert "pytest_chatprompt" not in result.stdout.str()
    assert 'FAILED evals/review.eval.yaml::review-loop - request.system: "Be" → "Be very"' in result.outlines


@pytest.mark.parametrize("style", ["auto", "long", "short", "native", "no"])
def test_a_failure_shows_none_of_our_source_code_in_any_traceback_style(run: Run, style: str) -> None:
    run.write({"a.eval.yaml": HELLO})
    result = run(f"--tb={style}", "-l")
    result.assert_outcomes(failed=1)
    assert "pytest_chatprompt" not in result.stdout.str()
    assert ("has no snapshot yet" in result.stdout.str().partition("short test summary")[0]) is (style != "no")


def test_xfail_can_expect_our_errors(run: Run) -> None:
    run.write(
        {
            "a.eval.yaml": HELLO,
            "conftest.py": """
import pytest
from pytest_chatprompt import SnapshotError

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xfail(raises=SnapshotError, strict=True))
""",
        }
    )
    run().assert_outcomes(xfailed=1)


def test_full_trace_shows_our_frames(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    result = run("--full-trace")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*pytest_chatprompt/runs/case_run.py*"])


def test_a_new_case_says_how_its_snapshot_is_written(run: Run) -> None:
    run.write({"evals/a.eval.yaml": HELLO})
    result = run("--chatprompt-provider", "gemini", "-o", "chatprompt_files=*.eval.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "evals/a.eval.yaml:3:5: case 'hello': what is sent to gemini has no snapshot yet",
            "There is no evals/__snapshots__/a.eval/hello[[]gemini[]].yaml.",
            "To write it, for review: pytest evals/a.eval.yaml::hello --chatprompt-provider gemini"
            " -o 'chatprompt_files=[*].eval.yaml' --snapshot-update",
        ]
    )
    assert run.snapshots() == []


def test_the_command_to_accept_is_relative_to_where_pytest_was_started(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.write({"evals/a b.eval.yaml": HELLO})
    monkeypatch.chdir(run.path / "evals")
    result = run()
    result.stdout.fnmatch_lines(["To write it, for review: pytest 'a b.eval.yaml::hello' --snapshot-update"])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param(
            "evals/review.eval.yaml", REVIEW.replace("You review code.", "You review all code."), id="the prompt"
        ),
        pytest.param("evals/loop.py", "for x in xs: ...\n", id="an attached file"),
        pytest.param("guidelines/python.instructions.md", "Be concise.\n", id="a guideline"),
    ],
)
def test_a_change_of_anything_that_is_sent_fails_the_case(run: Run, name: str, content: str) -> None:
    run.write(FILES)
    run.with_snapshots()
    run.write({name: content})
    assert run("-k", "review-loop").ret == 1


def test_a_change_of_what_is_not_sent_fails_no_case(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.with_snapshots()
    run.write(
        {
            "a.eval.yaml": "description: new\n"
            + HELLO
            + "    outcome: x\n    expected_messages: [{role: assistant, content: y}]\n"
        }
    )
    run().assert_outcomes(passed=1)


def test_a_snapshot_with_crlf_line_breaks_passes(run: Run) -> None:
    run.write(FILES)
    run.with_snapshots()
    path = run.path / SNAPSHOT
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    run().assert_outcomes(passed=2)


def test_a_snapshot_that_a_formatter_wrote_anew_passes_and_stays_as_it_is(run: Run) -> None:
    test = "def test_it(eval_snapshot):\n    assert {'question': 'one\\ntwo'} == eval_snapshot\n"
    run.write({"a.eval.yaml": HELLO, "test_it.py": test})
    run.update()
    formatted = {}
    for name in run.snapshots():
        formatted[name] = "---\n# formatted\n" + yaml.safe_dump(run.snapshot(name), indent=4, sort_keys=False)
    run.write(formatted)
    run().assert_outcomes(passed=2)
    run.update().assert_outcomes(passed=2)
    assert {name: (run.path / name).read_text() for name in run.snapshots()} == formatted
    run.write({"test_it.py": test.replace("two", "three")})
    run.update().assert_outcomes(passed=2)
    assert (run.path / "__snapshots__/test_it/test_it.yaml").read_text() == "question: |-\n  one\n  three\n"


def test_a_snapshot_with_a_byte_that_only_looks_like_the_character_fails(run: Run) -> None:
    run.write({"test_it.py": "def test_it(eval_snapshot):\n    assert {'question': 'x\\xad'} == eval_snapshot\n"})
    run.update()
    path = run.path / "__snapshots__/test_it/test_it.yaml"
    assert path.read_bytes() == b'question: "x\\xAD"\n'
    path.write_bytes(b'question: "x\xad"\n')
    run().assert_outcomes(failed=1)
    path.write_bytes(b'question: "x\\xad"\n')
    run().assert_outcomes(passed=1)


def test_a_snapshot_that_is_not_valid_utf8_fails_and_an_update_replaces_it(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.with_snapshots()
    path = run.path / "__snapshots__/a.eval/hello[openai].yaml"
    path.write_bytes(b"\xff\xfe")
    result = run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["- \ufffd\ufffd"])
    run.update()
    run().assert_outcomes(passed=1)


def test_a_snapshot_of_a_difference_is_made_of_both_texts(run: Run) -> None:
    run.write(
        {
            "test_it.py": """
def test_it(eval_snapshot):
    assert {"a": 1, "b": 2} == eval_snapshot
    assert {"a": 1, "b": 2} == eval_snapshot(diff=0)
    assert {"a": 1, "b": 3} == eval_snapshot(diff=0)
    assert {"a": 1, "b": 3} == eval_snapshot(diff_data={"a": 1, "b": 4})
"""
        }
    )
    run.update().assert_outcomes(passed=1)
    texts = [(run.path / f"__snapshots__/test_it/test_it.{number}.yaml").read_text() for number in (1, 2, 3)]
    changed = [{line.strip("-+ ") for line in text.splitlines()} & {"a: 1", "b: 2", "b: 3", "b: 4"} for text in texts]
    assert changed == [set(), {"b: 2", "b: 3"}, {"b: 4", "b: 3"}]
    run().assert_outcomes(passed=1)


def test_a_difference_that_is_not_that_of_the_snapshot_is_shown_line_by_line(run: Run) -> None:
    test = """
def test_it(eval_snapshot):
    assert {"a": 1, "b": 2} == eval_snapshot
    assert {"a": 1, "b": 3} == eval_snapshot(diff=0)
"""
    run.write({"test_it.py": test})
    run.update().assert_outcomes(passed=1)
    run.write({"test_it.py": test.replace('"b": 3', '"b": 4')})
    result = run("--chatprompt-report=report.json", "--chatprompt-report=page.html")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["__snapshots__/test_it/test_it.1.yaml", "- + b: 3", "+ + b: 4"], consecutive=False)
    (case,) = json.loads((run.path / "report.json").read_text(encoding="utf-8"))["results"]
    (change,) = case["snapshot"]["difference"]["changes"]
    assert (change["removed"], change["added"]) == (["+ b: 3"], ["+ b: 4"])
    # The data happens to be YAML, of another number of lines.
    run.write({"test_it.py": test.replace('"b": 3', '"b": 2')})
    run().assert_outcomes(failed=1)


@pytest.mark.parametrize("extension", ["json.JSONSnapshotExtension", "amber.AmberSnapshotExtension"])
def test_what_another_extension_of_syrupy_keeps_is_compared_line_by_line(run: Run, extension: str) -> None:
    module, name = extension.split(".")
    test = f"""
from syrupy.extensions.{module} import {name}

def test_it(eval_snapshot):
    assert {{"a": [1, 2]}} == eval_snapshot.with_defaults(extension_class={name})
"""
    run.write({"test_it.py": test})
    run.update().assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)
    run.write({"test_it.py": test.replace("[1, 2]", "[1, 3]")})
    result = run("--chatprompt-report=report.json")
    result.assert_outcomes(failed=1)
    (case,) = json.loads((run.path / "report.json").read_text(encoding="utf-8"))["results"]
    (change,) = case["snapshot"]["difference"]["changes"]
    (removed,), (added,) = change["removed"], change["added"]
    assert (removed.strip(" ,")[-1], added.strip(" ,")[-1]) == ("2", "3")


def test_a_subclass_of_the_extension_changes_what_is_written_and_compared(run: Run) -> None:
    test = """
from pytest_chatprompt import ChatPromptSnapshotExtension

class WithoutNumbers(ChatPromptSnapshotExtension):
    def serialize(self, data, **options):
        return super().serialize({key: "<number>" for key in data}, **options)

def test_it(eval_snapshot):
    assert {"a": 1} == eval_snapshot.with_defaults(extension_class=WithoutNumbers)
"""
    run.write({"test_it.py": test})
    run.update().assert_outcomes(passed=1)
    assert (run.path / "__snapshots__/test_it/test_it.yaml").read_text() == "a: <number>\n"
    run.write({"test_it.py": test.replace('{"a": 1}', '{"a": 2}')})
    run().assert_outcomes(passed=1)


def test_options_of_several_calls_add_up(run: Run) -> None:
    test = """
def test_it(eval_snapshot):
    assert {"a": 1, "b": 2} == eval_snapshot(name="first")
    assert {"a": 1, "b": 2} == eval_snapshot(diff="first")(name="second")
    assert {"a": 1, "b": 2} == eval_snapshot(exclude=lambda prop, path: prop == "b")(name="third")
"""
    run.write({"test_it.py": test})
    run.update().assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)
    folder = run.path / "__snapshots__/test_it"
    assert not {"+", "-"} & set((folder / "test_it[second].yaml").read_text())
    assert (folder / "test_it[third].yaml").read_text() == "a: 1\n"


def test_a_byte_that_is_no_text_is_not_its_escape(run: Run) -> None:
    test = """
def test_it(eval_snapshot):
    assert {"a": "b \\\\xab"} == eval_snapshot(exclude=lambda prop, path: False)
"""
    run.write({"test_it.py": test})
    run.update().assert_outcomes(passed=1)
    path = run.path / "__snapshots__/test_it/test_it.yaml"
    assert path.read_text() == "a: b \\xab\n"
    run().assert_outcomes(passed=1)
    path.write_bytes(b"a: b \xab\n")
    run().assert_outcomes(failed=1)


def test_an_update_leaves_no_temporary_file(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.update()
    assert [path.name for path in (run.path / "__snapshots__/a.eval").iterdir()] == ["hello[openai].yaml"]


def test_an_error_while_writing_keeps_the_old_snapshot(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.with_snapshots()
    run.write({"a.eval.yaml": HELLO.replace("content: hello", "content: changed")})
    snapshot = run.path / "__snapshots__/a.eval/hello[openai].yaml"
    before = snapshot.read_text()

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", refuse)
        result = run("--snapshot-update")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*No space left on device*"])
    assert snapshot.read_text() == before
    assert [path.name for path in snapshot.parent.iterdir()] == ["hello[openai].yaml"]


def test_updating_only_new_snapshots_keeps_the_others(run: Run) -> None:
    run.write({"a.eval.yaml": HELLO})
    run.with_snapshots()
    second = "  - id: second\n    input_messages: [{role: user, content: x}]\n"
    run.write({"a.eval.yaml": HELLO.replace("content: hello", "content: changed") + second})
    run("--snapshot-update-new-only").assert_outcomes(passed=1, failed=1)
    assert "hello" in lines(run.path / "__snapshots__/a.eval/hello[openai].yaml")[2]


def test_a_snapshot_does_not_contain_the_path_of_the_project(run: Run) -> None:
    run.write(FILES)
    run.update()
    for name in run.snapshots():
        assert str(run.path) not in (run.path / name).read_text()


def test_an_ordinary_test_can_use_eval_snapshot(run: Run) -> None:
    run.write(
        {
            "test_it.py": """
def test_one(eval_snapshot):
    assert {"a": "one\\ntwo"} == eval_snapshot
    assert eval_snapshot == ["x"]
    assert eval_snapshot(name="third") == 3
"""
        }
    )
    run.update().assert_outcomes(passed=1)
    assert run.snapshots() == [
        "__snapshots__/test_it/test_one.1.yaml",
        "__snapshots__/test_it/test_one.yaml",
        "__snapshots__/test_it/test_one[third].yaml",
    ]
    assert (run.path / "__snapshots__/test_it/test_one.yaml").read_text() == "a: |-\n  one\n  two\n"
    assert (run.path / "__snapshots__/test_it/test_one.1.yaml").read_text() == "value:\n- x\n"
    run().assert_outcomes(passed=1)


def test_the_memory_of_what_cases_sent_is_freed_during_the_run(run: Run) -> None:
    case = "  - {{id: c{}, input_messages: [{{role: user, content: [{{type: file, value: a.txt}}]}}]}}\n"
    run.write(
        {
            "a.txt": "a line of 100 kilobytes\n" * 4_200,
            "a.eval.yaml": "evalcases:\n" + "".join(case.format(number) for number in range(16)),
            "conftest.py": """
import gc
import tracemalloc

def pytest_runtest_protocol(item):
    if item.name == "c4":
        tracemalloc.start()

def pytest_sessionfinish():
    gc.collect()
    print("kilobytes in use:", tracemalloc.get_traced_memory()[0] // 1000)
    tracemalloc.stop()
""",
        }
    )
    for arguments in (["--snapshot-update"], []):
        result = run("-s", *arguments)
        result.assert_outcomes(passed=16)
        (kilobytes,) = [line.partition("in use: ")[2] for line in result.outlines if "in use: " in line]
        # Half of what 12 cases attach.
        assert int(kilobytes) < 600


@pytest.mark.parametrize("arguments", [[], ["--snapshot-update"]])
def test_a_snapshot_that_is_a_folder_is_an_error(run: Run, arguments: list[str]) -> None:
    run.write({"a.eval.yaml": HELLO})
    (run.path / "__snapshots__/a.eval/hello[openai].yaml").mkdir(parents=True)
    result = run(*arguments)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml:3:5: case 'hello': the snapshot __snapshots__/a.eval/hello[[]openai].yaml is a folder; remove it,"
            " or put the file back"
        ]
    )


@pytest.mark.parametrize("linked", ["__snapshots__", "__snapshots__/a.eval"])
def test_snapshots_that_are_linked_out_of_the_root_are_neither_written_nor_deleted(
    run: Run, linked: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.eval").mkdir()
    for name in ("a.eval/other[openai].yaml", "other[openai].yaml"):
        (outside / name).write_text("precious")
    link = run.path / linked
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside)
    run.write({"a.eval.yaml": HELLO})
    result = run("--snapshot-update")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "a.eval.yaml: its snapshots are in __snapshots__/a.eval, which a link leads out of the root folder;"
            " replace the link by a folder"
        ]
    )
    assert sorted(path.name for path in outside.rglob("*.yaml")) == ["other[openai].yaml", "other[openai].yaml"]


UNREADABLE = {
    "nested": ("[" * 300, "line 1, column 201: nested more than 200 levels deep"),
    "six_levels_of_aliases": (
        "\n".join(["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 7))]),
        "line 6, column *: the aliases up to here expand to more than 100,000 values or 256,000,000 characters",
    ),
    "gigabytes": (
        "a: &a " + "x" * 200_000 + "\nb: [" + "*a, " * 2_000 + "]\n",
        "line 2, column *: the aliases * 256,000,000 characters",
    ),
    "cut_off": ("a: [1, 2", "line 2, column 1: not valid YAML: *"),
}


def test_a_snapshot_that_cannot_be_read_fails_its_test_and_says_what_to_do(run: Run) -> None:
    run.write({f"{name}.eval.yaml": HELLO for name in UNREADABLE})
    run.write(
        {
            "test_own.py": "".join(
                f"def test_{name}(eval_snapshot):\n    assert eval_snapshot == {{'a': 1}}\n" for name in UNREADABLE
            )
        }
    )
    run.update().assert_outcomes(passed=8)
    for name, (stored, _) in UNREADABLE.items():
        (run.path / f"__snapshots__/{name}.eval/hello[openai].yaml").write_text(stored)
        (run.path / f"__snapshots__/test_own/test_{name}.yaml").write_text(stored)
    result = run("--chatprompt-report=r.json", "--chatprompt-report=r.html")
    result.assert_outcomes(failed=8)
    remedy = "put the file back, as with git checkout, or accept what is sent"
    for name, (_, reason) in UNREADABLE.items():
        lines = [f"*The snapshot cannot be read: {reason}; {remedy}."]
        result.stdout.fnmatch_lines([*lines, f"*__snapshots__/{name}.eval/*.yaml", "To accept it: *"])
        result.stdout.fnmatch_lines([*lines, f"*__snapshots__/test_own/test_{name}.yaml"])


def conflicting(text: str) -> str:
    """A snapshot as git leaves it where both sides of a merge changed it."""
    return f"<<<<<<< HEAD\n{text}=======\n{text.replace('x', 'y')}>>>>>>> theirs\n"


def test_the_conflict_of_a_merge_is_named_in_cases_own_code_and_reports(run: Run) -> None:
    run.write(
        {"a.eval.yaml": HELLO, "test_own.py": "def test_it(eval_snapshot):\n    assert eval_snapshot == {'a': 'x'}\n"}
    )
    run.update()
    paths = [run.path / name for name in run.snapshots()]
    for path in paths:
        path.write_text(conflicting(path.read_text()))
    before = [path.read_bytes() for path in paths]
    result = run("--chatprompt-report=r.json", "--chatprompt-report=r.md")
    result.assert_outcomes(failed=2)
    named = (
        "*The snapshot holds the conflict of a merge, in line 1; merge the prompts first, then accept what is sent: *"
    )
    result.stdout.fnmatch_lines([named, "*__snapshots__/a.eval/*.yaml", "To accept it: *"])
    result.stdout.fnmatch_lines(
        ["change 7008: 2 snapshots*", "   the conflict of a merge (2)", "   - <<<<<<< ======= >>>>>>>"]
    )
    result.stdout.fnmatch_lines(["FAILED *hello - the conflict of a merge: removed *"])
    run("test_own.py").stdout.fnmatch_lines([named, "*__snapshots__/test_own/test_it.yaml"])
    assert "not valid YAML" not in result.stdout.str()
    assert "the conflict of a merge" in (run.path / "r.md").read_text(encoding="utf-8")
    # Nothing but the option that says so replaces them.
    run("--snapshot-update-new-only")
    run("--chatprompt-remove-unused")
    assert [path.read_bytes() for path in paths] == before
    run.update()
    run().assert_outcomes(passed=2)


def test_a_test_that_sends_its_requests_in_another_order_or_with_a_date_has_a_hint(run: Run) -> None:
    module = """
import datetime
import httpx

def test_order(eval_api, eval_snapshot):
    for text in ("one", "two"):
        httpx.post("https://api.openai.com/v1/embeddings", json={"input": text})
    assert eval_api.sent == eval_snapshot

def test_date(eval_snapshot):
    assert {"question": "Today is 2026-11-22."} == eval_snapshot
"""
    run.write({"test_it.py": module, "a.eval.yaml": HELLO.replace("content: hello", "content: on 2026-11-22")})
    run.update()
    run.write(
        {
            "test_it.py": module.replace('("one", "two")', '("two", "one")').replace("-22", "-23"),
            "a.eval.yaml": HELLO.replace("content: hello", "content: on 2026-11-23"),
        }
    )
    result = run()
    result.assert_outcomes(failed=3)
    advice = "If it differs from run to run, mask it: let the fixture eval_masks give "
    hint = f'Only what looks like a date differs. {advice}{{r"\\b\\d{{4}}-\\d\\d-\\d\\d\\b": "<date>"}}'
    order = "The requests are the same, in another order. If the order is chance, compare sorted(eval_api.sent)."
    lines = [line.removeprefix("E").strip() for line in result.outlines]
    assert lines.count(hint) >= 2
    assert order in lines

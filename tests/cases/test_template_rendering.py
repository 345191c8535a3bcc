"""Templates of a case: which texts are rendered, with which variables, and where an error is reported (rule A9)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_chatprompt import EvalCase, EvalFileError
from pytest_chatprompt.cases.loader import load_eval_file
from pytest_chatprompt.cases.templates import TextTemplateError, render_text
from tests.conftest import Project
from tests.media import PNG

HELLO = "input_messages: [{role: user, content: 'Hello {{ name }}!'}]"


def problems(project: Project, text: str) -> list[str]:
    """The problems of the cases of a file, line by line."""
    lines: list[str] = []
    for case in load_eval_file(project.write("a.eval.yaml", text), project.root):
        try:
            case.render()
        except EvalFileError as error:
            lines += str(error).splitlines()
    return lines


def test_a9_the_texts_of_a_case_with_variables_are_templates(project: Project) -> None:
    case = project.case(
        """
vars: {name: Ada, file: x}
outcome: Greets {{ name }}.
metadata: {owner: "{{ name }}"}
input_messages:
  - role: user
    name: "{{ name }}"
    content: [{type: text, value: "Hi {{ name }}"}, {type: file, value: "./{{ file }}.md"}]
  - role: assistant
    content: null
    tool_calls: [{id: a, function: {name: f, arguments: '{"a": "{{ name }}"}'}}]
  - {role: tool, tool_call_id: a, content: "{{ name }}"}
expected_messages: [{role: assistant, content: "Hello {{ name }}"}]
""",
        "metadata: {systemPrompt: 'You are {{ name }}.'}",
    )
    user, assistant, tool = case.input_messages
    assert case.outcome == "Greets Ada."
    assert case.metadata == {"systemPrompt": "You are Ada.", "owner": "{{ name }}"}
    assert [part.model_dump()["value"] for part in user.parts] == ["Hi Ada", "./x.md"]
    assert user.name == "{{ name }}"
    assert assistant.content is None
    assert assistant.tool_calls[0].function.arguments == '{"a": "{{ name }}"}'
    assert tool.content == "Ada"
    assert case.expected_messages[0].content == "Hello Ada"


def test_a9_an_attached_file_is_no_template_and_a_value_is_never_rendered_again(project: Project) -> None:
    project.write("evals/x.md", "{{ name }}")
    parts = "[{type: text, value: '{{ name }}'}, {type: file, value: '{{ file }}'}]"
    request = project.request(
        f"vars: {{name: '{{{{ file }}}}', file: x.md}}\ninput_messages: [{{role: user, content: {parts}}}]"
    )
    assert request.question == "{{ file }}\n=== x.md ===\n{{ name }}"


def test_a9_the_other_rules_hold_for_what_a_template_gives(project: Project) -> None:
    request = project.request(
        "vars: {name: ''}\ninput_messages: [{role: user, content: '{{ name }}'}, {role: user, content: x}]"
    )
    assert request.question == "x"
    assert request.adjustments == ("message 1: dropped, nothing left in it",)


def test_a_case_without_variables_is_sent_as_it_is(project: Project) -> None:
    assert project.case(HELLO).input_messages[0].content == "Hello {{ name }}!"
    assert project.case(HELLO).vars is None


def test_variables_of_the_row_win_over_those_of_the_case_and_those_over_the_file(project: Project) -> None:
    case = project.case(
        "vars: {b: case, c: case}\nparametrize: [{c: row}]\n"
        "input_messages: [{role: user, content: '{{ a }} {{ b }} {{ c }} {{ d }}'}]",
        "vars: {a: file, b: file, c: file, d: [1, {x: y}]}",
    )
    assert case.input_messages[0].content == "file case row [1, {'x': 'y'}]"
    assert case.vars == {"a": "file", "b": "case", "c": "row", "d": (1, {"x": "y"})}
    with pytest.raises(TypeError, match="a case cannot be changed"):
        case.vars["a"] = 1  # type: ignore[index]


def test_a_case_that_sets_no_variable_has_variables_too(project: Project) -> None:
    assert problems(project, f"evalcases:\n  - id: a\n    vars: {{}}\n    {HELLO}\n") == [
        "a.eval.yaml:4:44: case 'a': unknown variable 'name'; there are no variables; add it to 'vars'"
    ]


def test_a_rendered_case_knows_its_row(project: Project) -> None:
    project.write("evals/d.csv", "id,name\nada,Ada\n")
    case = project.case(f"parametrize: d.csv\n{HELLO}")
    assert (case.id, case.row_id, case.full_id) == ("a", "ada", "a[ada]")
    assert case.origin.row is not None
    assert case.origin.row.place == "evals/d.csv:2:1"
    assert case.parametrize == "d.csv"
    (template,) = load_eval_file(project.root / "evals/a.eval.yaml", project.root)
    assert (template.id, template.row_id, template.full_id, template.line) == ("a", "ada", "a[ada]", 3)
    assert isinstance(template.written, EvalCase)
    assert (template.tags, template.written.provider, template.written.origin.row) == ((), None, None)


def test_a_template_without_rows_has_the_id_of_its_case(project: Project) -> None:
    project.case(f"vars: {{name: Ada}}\n{HELLO}")
    (template,) = load_eval_file(project.root / "evals/a.eval.yaml", project.root)
    assert (template.row_id, template.full_id, template.render().full_id) == (None, "a", "a")


ROWS = """
metadata:
  systemPrompt: |
    You know
    {{ ctiy }}.
evalcases:
  - id: qa
    parametrize: d.jsonl
    expected_outcome: "Says {{ nmae }}"
    input_messages:
      - role: user
        content: |
          Where is

            the {{ name | uper }}?
      - {role: user, content: [{type: file, value: "{{ empty }}"}, {type: text, value: ok}]}
"""


def test_an_error_names_the_place_of_the_template_and_of_the_row(project: Project) -> None:
    project.write("d.jsonl", '\n{"id": "eiffel", "name": "x", "city": "y", "empty": ""}\n{"id": "b"}\n')
    assert problems(project, ROWS) == [
        "a.eval.yaml:3:17: case 'qa[eiffel]': the text's line 2: unknown variable 'ctiy'; did you mean 'city'? (row at d.jsonl:2:1)",
        "a.eval.yaml:9:23: case 'qa[eiffel]': unknown variable 'nmae'; did you mean 'name'? (row at d.jsonl:2:1)",
        "a.eval.yaml:12:18: case 'qa[eiffel]': the text's line 3: not a valid template: no filter named 'uper' (row at d.jsonl:2:1)",
        "a.eval.yaml:3:17: case 'qa[b]': the text's line 2: unknown variable 'ctiy'; the variables are id (row at d.jsonl:3:1)",
        "a.eval.yaml:9:23: case 'qa[b]': unknown variable 'nmae'; the variables are id (row at d.jsonl:3:1)",
        "a.eval.yaml:12:18: case 'qa[b]': the text's line 3: not a valid template: no filter named 'uper' (row at d.jsonl:3:1)",
        "a.eval.yaml:16:52: case 'qa[b]': unknown variable 'empty'; the variables are id (row at d.jsonl:3:1)",
    ]


def test_a_file_that_a_row_names_and_that_is_missing_names_the_row(project: Project) -> None:
    parts = "[{type: file, value: '{{ name }}.md'}]"
    with pytest.raises(EvalFileError) as caught:
        project.request(f"parametrize: [{{name: x}}]\ninput_messages: [{{role: user, content: {parts}}}]")
    assert str(caught.value) == (
        "evals/a.eval.yaml:5:65: case 'a[0]': file x.md not found; tried evals/x.md, x.md (row at evals/a.eval.yaml:4:19)"
    )


@pytest.mark.parametrize(
    ("head", "body", "lines"),
    [
        pytest.param(
            "", "vars: {a b: 1}",
            ["a.eval.yaml:4:17: case 'a': 'a b' cannot name a variable; use letters, digits and _, and do not begin with a digit"],
            id="a name that is none",
        ),
        pytest.param(
            "", "vars: {a: .inf}",
            ["a.eval.yaml:4:15: case 'a': the value of 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text"],
            id="infinity", marks=pytest.mark.beyond_schema("JSON has no infinity"),
        ),
        pytest.param("", "vars: [a]", ["a.eval.yaml:4:11: case 'a': 'vars' must be a mapping, but is a list"], id="a list of variables"),
        pytest.param(
            "", "parametrize: 3",
            ["a.eval.yaml:4:18: case 'a': 'parametrize' must be a list of rows or the path of a dataset, but is the number 3"],
            id="a number in place of rows",
        ),
        pytest.param("", "parametrize: []", ["a.eval.yaml:4:18: case 'a': 'parametrize' is empty"], id="no rows"),
        pytest.param("", "parametrize: ''", ["a.eval.yaml:4:18: case 'a': 'parametrize' is empty"], id="no path"),
        pytest.param(
            "", "parametrize: x.csv",
            ["a.eval.yaml:4:18: case 'a': file x.csv not found; tried x.csv"],
            id="a dataset that is missing", marks=pytest.mark.beyond_schema("a schema looks at no other file"),
        ),
        pytest.param(
            "parametrize: x.txt", "",
            ["a.eval.yaml:1:14: case 'a': rows cannot be read from x.txt; name a file that ends in .jsonl, .csv, .yaml, .yml, .json"],
            id="a dataset of the file in another format",
        ),
        pytest.param("", "parametrize: d.csv", ["d.csv:1:1: case 'a': this file has no rows"], id="a dataset without rows", marks=pytest.mark.beyond_schema("a schema looks at no other file")),
        pytest.param(
            "", "parametrize: [{x: 1, name: 1}, 3, {id: a, name: 2}, {id: a, name: 2}, {name: .inf}]",
            [
                "a.eval.yaml:4:36: case 'a[1]': a row must be a mapping of variables to their values, but is the number 3",
                "a.eval.yaml:4:57: case 'a[row-a]': the row id 'a' is used twice, first at a.eval.yaml:4:39; give each row an id of its own",
                "a.eval.yaml:4:75: case 'a[4]': the value of 'name': JSON has neither infinity nor NaN; put it in quotes if you mean text",
            ],
            id="rows of the case: the others run",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_where_it_is(
    project: Project, head: str, body: str, lines: list[str], schema_agrees: Callable[[Path], None]
) -> None:
    project.write("d.csv", "name\n")
    head = head + "\n" if head else "# no head\n"
    assert problems(project, f"{head}evalcases:\n  - id: a\n    {body or '# no body'}\n    {HELLO}\n") == lines
    schema_agrees(project.root / "a.eval.yaml")


def test_a_dataset_of_the_file_is_read_once_for_all_cases(project: Project) -> None:
    project.write("d.jsonl", '{"name": "x"}\n{bad\n')
    body = f"    {HELLO}\n"
    text = f"parametrize: d.jsonl\nevalcases:\n  - id: a\n{body}  - id: b\n{body}  - id: c\n    parametrize: [{{name: y}}]\n{body}  - id: d\n    parametrize: null\n{body}"
    loaded = load_eval_file(project.write("a.eval.yaml", text), project.root)
    assert [f"{case.id}[{case.row_id}]" for case in loaded] == ["a[0]", "a[1]", "b[0]", "b[1]", "c[0]", "d[0]", "d[1]"]
    assert loaded[0].row is loaded[2].row


def test_a_broken_dataset_is_an_error_of_each_case_that_uses_it(project: Project) -> None:
    project.write("d.json", "[")
    text = f"parametrize: d.json\nevalcases:\n  - id: a\n    tags: [x]\n    {HELLO}\n  - id: b\n    {HELLO}\n"
    assert problems(project, text) == [
        f"d.json:1:2: case '{name}': this file is not valid JSON: Expecting value" for name in ("a", "b")
    ]
    first = load_eval_file(project.root / "a.eval.yaml", project.root)[0]
    assert (first.tags, first.row_id) == (("x",), None)


def test_jinja_is_imported_only_by_a_text_with_a_template(project: Project) -> None:
    project.write("d.csv", "name\nx\n")
    project.write("a.eval.yaml", f"evalcases:\n  - id: a\n    parametrize: d.csv\n    {HELLO}\n")
    script = (
        "import sys, pathlib\n"
        "from pytest_chatprompt.cases.loader import load_eval_file\n"
        "root = pathlib.Path(sys.argv[1])\n"
        "(case,) = load_eval_file(root / 'a.eval.yaml', root)\n"
        "assert 'jinja2' not in sys.modules\n"
        "print(case.render().input_messages[0].content, 'jinja2' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(project.root)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "Hello x! True\n"


def test_a9_the_paths_of_media_and_of_texts_in_files_are_templates_and_so_are_the_texts(project: Project) -> None:
    project.write("ada.txt", "{{ name }}")
    project.write("ada.png", PNG)
    request = project.request(
        """
vars: {name: ada, host: x.example}
input_messages:
  - role: user
    content:
      - {type: text, file: "/{{ name }}.txt"}
      - {type: image, value: "/{{ name }}.png"}
      - {type: image, value: "https://{{ host }}/a.png"}
"""
    )
    assert request.question == "ada\n<Image: /ada.png>\n<Image: https://x.example/a.png>"


@pytest.mark.parametrize(
    ("key", "column"),
    [
        ("outcome: 'Says {{ nmae }}'", 14),
        ("expected_outcome: 'Says {{ nmae }}'", 23),
        ("metadata: {systemPrompt: 'Says {{ nmae }}'}", 30),
        ("input_messages: [{role: user, content: 'Says {{ nmae }}'}]", 44),
        ("input_messages: [{role: user, content: [{type: text, value: 'Says {{ nmae }}'}]}]", 65),
        ("expected_messages: [{role: assistant, content: 'Says {{ nmae }}'}]", 52),
    ],
)
def test_an_equal_text_that_is_no_template_is_not_the_place(project: Project, key: str, column: int) -> None:
    messages = "" if key.startswith("input_messages") else "    input_messages: [{role: user, content: hi}]\n"
    text = f"evalcases:\n  - id: a\n    vars: {{name: x}}\n    note: 'Says {{{{ nmae }}}}'\n    {key}\n{messages}"
    assert problems(project, text) == [
        f"a.eval.yaml:5:{column}: case 'a': unknown variable 'nmae'; did you mean 'name'?"
    ]


def test_what_a_check_looks_at_is_no_template(project: Project) -> None:
    checks = "checks: [{type: equals, value: '{{ name }}', of: '{{ name }}'}]"
    (check,) = project.case(f"vars: {{name: x}}\n{checks}\ninput_messages: [{{role: user, content: hi}}]").checks
    assert check.arguments == {"value": "x", "of": "{{ name }}"}


def test_an_error_in_a_text_of_its_own_file_is_told_with_its_line() -> None:
    with pytest.raises(TextTemplateError) as caught:
        render_text("a\nb\nc {{ nobody }}", {})
    assert str(caught.value) == "line 3: unknown variable 'nobody'; there are no variables; add it to 'vars'"


def test_an_error_in_the_content_is_not_told_at_an_equal_text_of_another_key(project: Project) -> None:
    assert problems(
        project,
        """
evalcases:
  - id: a
    vars: {name: Ada}
    input_messages:
      - {role: user, name: "{{ nobody }}", content: "{{ nobody }}"}
""",
    ) == ["a.eval.yaml:6:53: case 'a': unknown variable 'nobody'; the variables are name"]

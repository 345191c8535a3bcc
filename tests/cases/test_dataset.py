"""Datasets: the rows of each format, and what a dataset as a whole is refused for."""

from __future__ import annotations

import csv
import json
from functools import partial

import pytest

from pytest_chatprompt.cases import rows as dataset_json
from pytest_chatprompt.cases.origin import Row
from pytest_chatprompt.cases.rows import load_dataset, read_json
from pytest_chatprompt.errors import EvalFileError
from pytest_chatprompt.text.files import NamedFileError, TextFileError
from pytest_chatprompt.text.json_data import parse_json
from tests.conftest import Project


def load(project: Project, name: str, content: str | bytes) -> list[str]:
    """The rows of a dataset: their ids and values, or their problems as messages show them."""
    project.write(name, content)
    return [
        f"({row.id}) {row.line}:{row.column} {row.problem}"
        if row.problem
        else f"{row.id} {row.line}:{row.column} {row.values}"
        for row in load_dataset(name, project.root, project.root)
    ]


def problem(project: Project, name: str, content: str | bytes) -> str:
    with pytest.raises(EvalFileError) as caught:
        load(project, name, content)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        pytest.param(
            "d.jsonl",
            '\ufeff{"id": "a", "x": [1, null]}\r\n\n {"x": {"y": true}}',
            ["a 1:1 {'id': 'a', 'x': [1, None]}", "1 3:1 {'x': {'y': True}}"],
            id="JSONL",
        ),
        pytest.param(
            "d.json",
            '[{"id": "a"},\n  {"x": 1.5}, {"x": "]"}\n]\n',
            ["a 0:0 {'id': 'a'}", "1 0:0 {'x': 1.5}", "2 0:0 {'x': ']'}"],
            id="JSON",
        ),
        pytest.param(
            "d.csv",
            '\ufeffid,x\na,1\n\nb,"1, ""2""\n3"\n"c",\n',
            ["a 2:1 {'id': 'a', 'x': '1'}", "b 4:1 {'id': 'b', 'x': '1, \"2\"\\n3'}", "c 6:1 {'id': 'c', 'x': ''}"],
            id="CSV",
        ),
        pytest.param(
            "d.YAML",
            "- {id: a, x: yes}\n- x: [1]\n",
            ["a 1:3 {'id': 'a', 'x': True}", "1 2:3 {'x': [1]}"],
            id="YAML",
        ),
        pytest.param("d.yml", "- &a {x: 1}\n", ["0 1:3 {'x': 1}"], id="YAML with the short ending"),
    ],
)
def test_each_format_gives_its_rows(project: Project, name: str, content: str, rows: list[str]) -> None:
    assert load(project, name, content) == rows


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param(b"{x}", "2:2 this line is not valid JSON: Expecting property name enclosed in double quotes"),
        pytest.param(b"3", "2:1 a row must be a mapping of variables to their values, but is the number 3"),
        pytest.param(b'{"x": NaN}', "2:1 the value of 'x': JSON has neither infinity nor NaN; put it in quotes if you mean text"),
        pytest.param(b'{"x": 1e999}', "2:1 the value of 'x': JSON has neither infinity nor NaN; put it in quotes if you mean text"),
        pytest.param(b'{"x": 1, "x": 2}', "2:1 the key 'x' appears twice"),
        pytest.param(b'{"y": 0, "x": 1, "x": 2}', "2:1 the key 'x' appears twice"),
        pytest.param(b'{"x": "\\ud800"}', "2:1 the value of 'x': half of a character (U+D800), which is not valid Unicode"),
        pytest.param(b"[" * 100_000, "2:1 nested more than 100 levels deep"),
        pytest.param(b"9" * 5_000, "2:1 Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits; use sys.set_int_max_str_digits() to increase the limit"),
    ],
)  # fmt: skip
def test_a_broken_line_of_jsonl_is_a_row_of_its_own(project: Project, line: bytes, text: str) -> None:
    content = b'{"x": 1}\n' + line + b'\n{"x": 2}\n'
    assert load(project, "d.jsonl", content) == ["0 1:1 {'x': 1}", f"(1) {text}", "2 3:1 {'x': 2}"]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        pytest.param("3", "0:0 a row must be a mapping of variables to their values, but is the number 3"),
        pytest.param(
            '{"x": NaN}', "0:0 the value of 'x': JSON has neither infinity nor NaN; put it in quotes if you mean text"
        ),
    ],
)
def test_a_broken_row_of_json_is_a_row_of_its_own(project: Project, row: str, text: str) -> None:
    assert load(project, "d.json", f'[{{"x": 1}},\n {row},\n {{"x": 2}}]') == [
        "0 0:0 {'x': 1}",
        f"(1) {text}",
        "2 0:0 {'x': 2}",
    ]


def test_a_list_of_many_rows_is_read(project: Project) -> None:
    assert len(load(project, "d.json", json.dumps([{"x": 1}] * 200))) == 200


@pytest.mark.parametrize(
    ("record", "text"),
    [
        pytest.param(b"b", "3:1 this row has 1 value, but the header has 2 columns"),
        pytest.param(b"b,1,2", "3:1 this row has 3 values, but the header has 2 columns; put a value that contains commas in quotes"),
    ],
)  # fmt: skip
def test_a_broken_record_of_csv_is_a_row_of_its_own(project: Project, record: bytes, text: str) -> None:
    content = "id,x\na,ä\n".encode() + record + b"\nc,1\n"
    assert load(project, "d.csv", content) == [
        "a 2:1 {'id': 'a', 'x': 'ä'}",
        f"(b) {text}",
        "c 4:1 {'id': 'c', 'x': '1'}",
    ]


def test_line_breaks_in_a_value_of_csv_are_the_same_on_every_machine(project: Project) -> None:
    assert load(project, "d.csv", b'x\r\n"a\r\n\r\nb\rc"\r\n') == ["0 2:1 {'x': 'a\\n\\nb\\rc'}"]


def test_a_long_value_of_csv_is_read_and_the_limit_of_others_stays(project: Project) -> None:
    limit = csv.field_size_limit()
    (row,) = load(project, "d.csv", f"x\n{'a' * (limit + 1)}\n")
    assert len(row) > limit
    assert csv.field_size_limit() == limit


def test_a_broken_row_of_yaml_is_a_row_of_its_own(project: Project) -> None:
    assert load(project, "d.yaml", "- {x: 1}\n- 3\n- {x: 2024-01-02}\n") == [
        "0 1:3 {'x': 1}",
        "(1) 2:3 a row must be a mapping of variables to their values, but is the number 3",
        "2 3:3 {'x': '2024-01-02'}",
    ]


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        pytest.param("d.jsonl", "", "d.jsonl:1:1: this file has no rows", id="an empty JSONL"),
        pytest.param("d.json", "[ ]", "d.json:1:1: this file has no rows", id="an empty list"),
        pytest.param("d.yaml", "", "d.yaml:1:1: this file has no rows", id="an empty YAML"),
        pytest.param("d.yaml", "[]", "d.yaml:1:1: this file has no rows", id="an empty list of YAML"),
        pytest.param("d.csv", "a,b\n", "d.csv:1:1: this file has no rows", id="a header alone"),
        pytest.param(
            "d.csv", "", "d.csv:1:1: this file is empty; its first line must name the columns", id="an empty CSV"
        ),
        pytest.param(
            "d.csv",
            "a,,c\n1,2,3\n",
            "d.csv:1:1: this file has a column without a usable name: '' cannot name a variable; "
            "use letters, digits and _, and do not begin with a digit",
            id="a column without a name",
        ),
        pytest.param(
            "d.csv",
            "a,b,a\n",
            "d.csv:1:1: this file has two columns with the name 'a'; rename one of them",
            id="a name used twice",
        ),
        pytest.param(
            "d.csv",
            "a,full name\n",
            "d.csv:1:1: this file has a column without a usable name: 'full name' cannot name a variable; "
            "use letters, digits and _, and do not begin with a digit",
            id="a name with a blank",
        ),
        pytest.param(
            "d.csv",
            "a;b\n",
            "d.csv:1:1: this file has a column without a usable name: 'a;b' cannot name a variable; "
            "use letters, digits and _, and do not begin with a digit",
            id="semicolons",
        ),
        pytest.param(
            "d.csv",
            'a\n1\n"2\n3\n',
            "d.csv:3:1: this file is not valid CSV: unexpected end of data; a quote inside a quoted value must be doubled",
            id="a quote that is never closed",
        ),
        pytest.param(
            "d.csv",
            'a\n"2"3\n',
            "d.csv:2:1: this file is not valid CSV: ',' expected after '\"'; a quote inside a quoted value must be doubled",
            id="a quote inside a value",
        ),
        pytest.param(
            "d.json", '{"a": 1}', "d.json:1:1: this file must be a list of rows, but is a mapping", id="a mapping"
        ),
        pytest.param(
            "d.json", '\n {"a": 1}', "d.json:1:1: this file must be a list of rows, but is a mapping",
            id="a mapping below a blank line",
        ),
        pytest.param(
            "d.json", '{"a": ' + "[" * 100_000, "d.json:1:1: this file is not valid JSON: nested more than 100 levels deep",
            id="a mapping that is too deep",
        ),
        pytest.param("d.json", "", "d.json:1:1: this file is not valid JSON: Expecting value", id="an empty JSON"),
        pytest.param(
            "d.json", "9" * 5_000, "d.json:1:1: this file is not valid JSON: Exceeds the limit (4300 digits) for integer string conversion: value has 5000 digits; use sys.set_int_max_str_digits() to increase the limit",
            id="a number that is too long",
        ),
        pytest.param(
            "d.json", "[\n" + "[" * 100_000, "d.json:1:1: this file is not valid JSON: nested more than 100 levels deep", id="too deep"
        ),
        pytest.param(
            "d.json", '[{"a": 1}\n{}]', "d.json:2:1: this file is not valid JSON: Expecting ',' delimiter",
            id="a comma too few",
        ),
        pytest.param(
            "d.json", '[{"a" 1}]', "d.json:1:7: this file is not valid JSON: Expecting ':' delimiter", id="no colon"
        ),
        pytest.param(
            "d.json", '\n[{"a" 1},\n{}\n]\n', "d.json:2:7: this file is not valid JSON: Expecting ':' delimiter",
            id="no colon, below and above other lines",
        ),
        pytest.param(
            "d.json", '[{"a": 1},\n {"a" 1}]', "d.json:2:7: this file is not valid JSON: Expecting ':' delimiter",
            id="no colon in the second row",
        ),
        pytest.param(
            "d.json", '[{"a": 1},\n {"a": 2},\n  {"a" 1}]', "d.json:3:8: this file is not valid JSON: Expecting ':' delimiter",
            id="no colon in the third row",
        ),
        pytest.param(
            "d.json", '[{"a": 1}]x', "d.json:1:11: this file is not valid JSON: Extra data",
            id="more than a list on the same line",
        ),
        pytest.param(
            "d.json", '[{"a": 1}]\nx', "d.json:2:1: this file is not valid JSON: Extra data",
            id="more than a list",
        ),
        pytest.param("d.yaml", "a: b", "d.yaml:1:1: this file must be a list of rows, but is a mapping", id="no list"),
        pytest.param(
            "d.yaml", "# rows\n a: b", "d.yaml:2:2: this file must be a list of rows, but is a mapping",
            id="no list, below a comment",
        ),
        pytest.param(
            "d.yaml", "- *a",
            "d.yaml:1:3: the alias *a has no anchor &a before it; put it in quotes if you mean text",
            id="an alias without an anchor",
        ),
        pytest.param("d.yaml", "!!set\n- a", "d.yaml:1:1: the YAML tag !!set is not allowed here", id="a tag"),
        pytest.param("d.csv", b"x\na\xff\n", "d.csv:2:2: this file is not valid UTF-8 (byte 0xFF)", id="invalid UTF-8 in CSV"),
        pytest.param("d.jsonl", b'{}\n{"x": "\xff"}', "d.jsonl:2:8: this file is not valid UTF-8 (byte 0xFF)", id="invalid UTF-8 in JSONL"),
        pytest.param("d.json", '[{"x": 1, "x": 2}]', "d.json:1:1: this file is not valid JSON: the key 'x' appears twice", id="a repeated key"),
        pytest.param("d.json", b"[\xff]", "d.json:1:2: this file is not valid UTF-8 (byte 0xFF)", id="invalid UTF-8"),
    ],
)  # fmt: skip
def test_a_dataset_that_is_broken_as_a_whole_says_where(
    project: Project, name: str, content: str | bytes, text: str
) -> None:
    assert problem(project, name, content) == text


def test_the_name_of_a_dataset_ends_in_a_known_format(project: Project) -> None:
    with pytest.raises(NamedFileError) as caught:
        load_dataset("d.txt", project.root, project.root)
    assert str(caught.value) == (
        "rows cannot be read from d.txt; name a file that ends in .jsonl, .csv, .yaml, .yml, .json"
    )


def test_f1_a_dataset_is_looked_for_like_an_attached_file(project: Project) -> None:
    project.write("data/d.csv", "x\n1\n")
    (row,) = load_dataset("data\\d.csv", project.root / "evals", project.root)
    assert isinstance(row, Row)
    assert row.place == "data/d.csv:2:1"
    with pytest.raises(NamedFileError, match=r"^file e\.csv not found; tried evals/e\.csv, e\.csv$"):
        load_dataset("e.csv", project.root / "evals", project.root)


def test_a_file_of_json_has_the_limits_of_yaml(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset_json, "parse_json", partial(parse_json, max_values=10))
    project.write("d.json", json.dumps([{"a": list(range(9))}]))
    with pytest.raises(TextFileError, match="more than 10 values"):
        list(read_json(project.root / "d.json", project.root))
    with pytest.raises(ValueError, match="more than 10 values"):
        parse_json("[" + "1," * 10 + "1]", max_values=10)

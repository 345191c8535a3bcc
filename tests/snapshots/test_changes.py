"""Stored snapshots, read back as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.capture.recording.recorded_exchange import data_sha256
from pytest_chatprompt.snapshots import changes as module
from pytest_chatprompt.snapshots.changes import read_data, requests_in, shows_the_same, stored_data
from pytest_chatprompt.snapshots.files import MergeConflictError, SnapshotFileError
from pytest_chatprompt.snapshots.layout import dump
from pytest_chatprompt.snapshots.recording_files import stored_hashes
from pytest_chatprompt.text.yaml import load_yaml

DATA: dict[str, Any] = {
    "provider": "openai",
    "question": "one\ntwo",
    "request": {
        "model": "m",
        "temperature": 0.5,
        "seed": 16,
        "stream": True,
        "stop": None,
        "date": "2026-11-22",
        "word": "yes",
        "texts": ["a", {"b": "c \t"}],
        "empty": {},
    },
}
SENT = dump(DATA)


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(SENT, id="the same text"),
        pytest.param("---\n# yamllint wants this\n" + SENT + "...\n", id="a comment and marks of the document"),
        pytest.param(json.dumps(DATA, indent=4), id="JSON"),
        pytest.param(SENT.replace("seed: 16", "seed: 0x10"), id="a number in another notation"),
        pytest.param(SENT.replace("0.5", "0.50"), id="a float with another digit"),
        pytest.param(SENT.replace("model: m", "'model':    'm'   # the cheap one"), id="quotes, blanks and a comment"),
        pytest.param(SENT.replace("question: |-\n  one\n  two", 'question: "one\\ntwo"'), id="a block as one line"),
        pytest.param(SENT.replace("seed: 16", "seed: &n 16").replace('"2026', '&d "2026'), id="anchors"),
        pytest.param(SENT.rstrip("\n"), id="no line break at the end"),
    ],
)
def test_a_text_in_another_form_holds_the_same_data(stored: str) -> None:
    assert shows_the_same(stored, SENT)


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(SENT.replace("16", "17"), id="another number"),
        pytest.param(SENT.replace("seed: 16", "seed: 16.0"), id="a float for an integer"),
        pytest.param(SENT.replace("seed: 16", 'seed: "16"'), id="a text for an integer"),
        pytest.param(SENT.replace("stream: true", "stream: 1"), id="an integer for a truth value"),
        pytest.param(SENT.replace('"yes"', "yes"), id="a word that YAML 1.1 reads as true"),
        pytest.param(SENT.replace("model: m", "model: x\n  model: m"), id="a repeated key"),
        pytest.param(SENT.replace("seed: 16", "seed: 16\n  temperature: 0.5", 1), id="a repeated key further down"),
        pytest.param(
            SENT.replace("  seed: 16\n", "").replace("  stop: null\n", "  stop: null\n  seed: 16\n"),
            id="another order of keys",
        ),
        pytest.param(SENT.replace("empty: {}", "empty: []"), id="a list for a mapping"),
        pytest.param(SENT.replace("  - a\n", "  - a\n  - a\n"), id="one item more"),
        pytest.param(SENT + "---\n" + SENT, id="two documents"),
        pytest.param("{broken", id="no YAML"),
        pytest.param("[" * 2000 + "]" * 2000, id="nested too deeply"),
        pytest.param("question: !!python/none\n", id="a tag"),
        pytest.param("&a [*a]", id="a list that holds itself"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_text_with_other_data_is_told_apart(stored: str) -> None:
    assert not shows_the_same(stored, SENT)


@pytest.mark.parametrize(("one", "other", "is_same"), [(".nan", ".NaN", True), ("0.0", "-0.0", False)])
def test_numbers_are_the_same_if_they_are_written_the_same(one: str, other: str, is_same: bool) -> None:
    assert shows_the_same(f"a: {one}\n", f"a: {other}\n") is is_same


def test_an_alias_is_read_as_what_it_stands_for() -> None:
    assert shows_the_same("a: &x {b: [1, 2]}\nc: *x\n", "a:\n  b:\n  - 1\n  - 2\nc:\n  b:\n  - 1\n  - 2\n")


def test_aliases_that_expand_without_end_are_not_expanded() -> None:
    bomb = "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    assert not shows_the_same(bomb, SENT)


def test_half_a_character_is_read_as_it_was_sent() -> None:
    sent = dump({"a": "x\ud800", "b": 1})
    assert shows_the_same(f"# formatted\n{sent}", sent)
    assert read_data(sent) == {"a": "x\ud800", "b": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "{broken: [",
            "line 2, column 1: not valid YAML: did not find expected node content, while parsing a flow node on line 2",
        ),
        ("a: 1\na: 2\n", "line 2, column 1: the key 'a' appears twice, first on line 1"),
        ("\ud800: 1", "line 1, column 1: not valid YAML: the character U+D800 is not allowed"),
        ("[" * 300, "line 1, column 201: nested more than 200 levels deep"),
    ],
)
def test_a_text_that_cannot_be_read_is_an_error(text: str, reason: str) -> None:
    with pytest.raises(SnapshotFileError) as caught:
        read_data(text)
    assert str(caught.value).startswith(f"cannot be read: {reason}")


def test_the_texts_of_one_comparison_are_each_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def note(text: str) -> Any:
        parsed.append(text)
        return load_yaml(text)

    monkeypatch.setattr(module, "load_yaml", note)
    for number in (1, 2):
        stored, sent = f"case: {number}\na: 1\n", f"case: {number}\na: 2\n"
        assert not shows_the_same(stored, sent)
        assert read_data(stored) == {"case": number, "a": 1}
        assert read_data(sent) == {"case": number, "a": 2}
        assert parsed == [stored, sent]
        parsed.clear()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("endpoint: POST /a\nrequest: {b: 1}\n", [("POST /a", {"b": 1}, None)], id="of an eval"),
        pytest.param("endpoint: POST /a\nrequest: null\n", [("POST /a", None, None)], id="without a body"),
        pytest.param(
            "requests:\n- {endpoint: POST /a, request: 1}\n- {endpoint: GET /b, request: two}\n",
            [("POST /a", 1, None), ("GET /b", "two", None)],
            id="of a test",
        ),
        pytest.param("requests: []\n", [], id="of a test that sends nothing"),
        pytest.param("requests: [1, {endpoint: 5, request: 1}, {endpoint: POST /a}]\n", [], id="of something else"),
        pytest.param(
            "requests: 5\nendpoint: POST /a\nrequest: 1\n", [("POST /a", 1, None)], id="requests is not a list"
        ),
        pytest.param(
            "requests:\n- {endpoint: POST /a, headers: {openai-beta: b}, request: 1}\n",
            [("POST /a", 1, {"openai-beta": "b"})],
            id="with headers",
        ),
        pytest.param("messages: []\n", [], id="of messages"),
    ],
)
def test_requests_are_read_from_every_kind_of_snapshot(tmp_path: Path, text: str, expected: Any) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    shown = list(requests_in(stored_data(path)).values())
    assert [(entry["endpoint"], entry["request"], entry.get("headers")) for entry in shown] == expected


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "[" * 2000 + "]" * 2000])
def test_a_file_that_is_no_snapshot_has_no_data(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert stored_data(path) == {}
    assert requests_in(stored_data(path)) == {}


def test_without_a_file_or_with_a_folder_there_is_no_data(tmp_path: Path) -> None:
    assert stored_data(tmp_path / "a.yaml") == stored_data(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        pytest.param(
            "requests:\n- {endpoint: POST /a, request: {c: 2, b: 1}}\n- {endpoint: POST /b, request: null}\n",
            [["POST /a", {"b": 1, "c": 2}], ["POST /b", None]],
            id="requests, for any order of keys",
        ),
        pytest.param(
            "endpoint: POST /a\nheaders: {openai-beta: b}\nrequest: 1\n",
            [["POST /a", 1, {"openai-beta": "b"}]],
            id="a request with headers",
        ),
        pytest.param(
            "provider: cli\nquestion: q\nargv: [x]\nprompt: p\nfiles: []\n",
            [{"argv": ["x"], "prompt": "p", "files": []}],
            id="what an agent was given",
        ),
        pytest.param("endpoint: POST /a\nheaders: 5\nrequest: 1\n", [["POST /a", 1]], id="headers that are no mapping"),
        pytest.param("messages:\n- {role: user}\n", [[{"role": "user"}]], id="a chat prompt"),
        pytest.param("value: 1\n", [], id="nothing"),
    ],
)
def test_requests_are_known_by_their_hashes(tmp_path: Path, text: str, hashed: list[Any]) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert stored_hashes(path) == {data_sha256(data) for data in hashed}


def test_the_hash_of_a_text_as_written_is_that_of_its_data() -> None:
    for data in ({"a": "x\r\n\ty ", "b": [1.0, None, "1"]}, {"é\0": {"z": "\ud800", "a": []}}):
        assert module.written_sha256(dump(data)) == module.data_sha256(dump(data))


CONFLICT = "a: 1\n<<<<<<< HEAD\nb: 1\n||||||| base\nb: 0\n=======\nb: 2\n>>>>>>> theirs\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(CONFLICT, 2, id="both sides, and what they come from"),
        pytest.param(f"{CONFLICT}{CONFLICT}", 2, id="two conflicts"),
        pytest.param("<<<<<<< HEAD\n=======\nb: 2\n>>>>>>> theirs\n", 1, id="one side is empty"),
    ],
)
def test_the_conflict_of_a_merge_is_named_as_that(text: str, line: int) -> None:
    with pytest.raises(MergeConflictError, match=rf"^holds the conflict of a merge, in line {line}$"):
        read_data(text)


def test_a_prompt_about_conflicts_holds_none() -> None:
    data = {"a": CONFLICT, "b": "<<<<<<< HEAD"}
    assert read_data(dump(data)) == data

"""Stored requests: what is read of snapshots of each kind, and of files that are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.capture.recording.recorded_exchange import data_sha256
from pytest_chatprompt.snapshots.recording_files import stored_hashes
from pytest_chatprompt.snapshots.stored import requests_in, stored_data


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
    shown = requests_in(stored_data(path))
    assert [(entry["endpoint"], entry["request"], entry.get("headers")) for entry in shown] == expected


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "[" * 2000 + "]" * 2000, "a: 2026-99-99"])
def test_a_file_that_is_no_snapshot_has_no_data(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    assert stored_data(path) == {}
    assert requests_in(stored_data(path)) == []


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

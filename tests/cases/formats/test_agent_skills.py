"""The tests of Agent Skills, `evals.json`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt.cases.loader import LoadedCase, load_eval_file
from pytest_chatprompt.errors import EvalFileError


def _load(folder: Path, evals: list[Any], **top: Any) -> tuple[LoadedCase, ...]:
    path = folder / "evals.json"
    path.write_text(json.dumps({"skill_name": "csv", "evals": evals, **top}, indent=1), encoding="utf-8")
    return load_eval_file(path, folder)


def test_an_eval_is_a_case_that_sends_its_prompt_and_its_files(tmp_path: Path) -> None:
    eval_ = {
        "id": 1,
        "prompt": "Find the best {{month}}",
        "expected_output": "November",
        "files": ["files/sales.csv"],
        "assertions": ["It says November"],
    }
    (loaded,) = _load(tmp_path, [eval_])
    case = loaded.render()
    assert (case.id, case.outcome, loaded.line) == ("1", "November", 4)
    (message,) = case.input_messages
    assert [part.model_dump(exclude_none=True) for part in message.parts] == [
        {"type": "text", "value": "Find the best {{month}}"},
        {"type": "file", "value": "files/sales.csv"},
    ]
    assert [(check.type, check.arguments) for check in case.checks] == [("llm_rubric", {"value": "It says November"})]


def test_a_prompt_alone_is_a_text_and_an_eval_without_an_id_has_its_number(tmp_path: Path) -> None:
    first, second = _load(tmp_path, [{"prompt": "Hello"}, {"name": "greets", "prompt": "Hi", "expectations": []}])
    assert (first.id, second.id) == ("eval-1", "greets")
    assert first.render().input_messages[0].content == "Hello"


@pytest.mark.parametrize(
    ("evals", "message"),
    [
        pytest.param([{"id": 1}], "evals.json:4:3: an eval must be a mapping with the key 'prompt'", id="no-prompt"),
        pytest.param(["Hello"], "evals.json:4:3: an eval must be a mapping with the key 'prompt'", id="a-text"),
        pytest.param(
            [{"query": "a", "should_trigger": True}, {"query": "b", "should_trigger": False}],
            "evals.json:4:3: these queries ask whether a skill triggers, not what it answers; leave the file out of "
            "chatprompt_files",
            id="queries-for-a-trigger",
        ),
        pytest.param(
            [{"prompt": "a", "filez": []}],
            "evals.json:6:4: unknown key 'filez' of an eval; did you mean 'files'?",
            id="a-near-miss",
        ),
        pytest.param(
            [{"promt": "a"}],
            "evals.json:5:4: unknown key 'promt' of an eval; did you mean 'prompt'?",
            id="a-near-miss-of-the-prompt",
        ),
        pytest.param(
            [{"id": 1, "prompt": "a"}, {"id": 1, "prompt": "a"}],
            "the id '1' is used twice, first on line 5",
            id="the-same-id",
        ),
    ],
)
def test_what_cannot_be_right_is_an_error_at_its_place(tmp_path: Path, evals: list[Any], message: str) -> None:
    with pytest.raises(EvalFileError) as caught:
        _load(tmp_path, evals)
    assert message in str(caught.value)


def test_what_has_no_effect_is_warned_about(tmp_path: Path) -> None:
    path = tmp_path / "evals.json"
    path.write_text('{"evals": [{"prompt": "a", "runtime": 3, "x-own": 1, "notes": ""}]}', encoding="utf-8")
    warnings: list[Any] = []
    load_eval_file(path, tmp_path, warn=warnings.append)
    assert [str(each) for each in warnings] == ["evals.json:1:28: 'runtime' of an eval has no effect here"]


def test_a_query_is_a_prompt_and_a_statement_may_be_a_mapping(tmp_path: Path) -> None:
    eval_ = {
        "id": None,
        "query": "Hello",
        "should_trigger": True,
        "expectations": [{"text": "Says hi", "passed": True}, "Is short"],
        "assertions": None,
    }
    (loaded,) = _load(tmp_path, [eval_])
    case = loaded.render()
    assert (case.id, case.input_messages[0].content) == ("eval-1", "Hello")
    assert [check.arguments["value"] for check in case.checks] == ["Says hi", "Is short"]


def test_a_file_may_be_a_list(tmp_path: Path) -> None:
    path = tmp_path / "evals.json"
    path.write_text('[{"id": 1, "prompt": "a"}, {"query": "b"}]', encoding="utf-8")
    assert [each.id for each in load_eval_file(path, tmp_path)] == ["1", "eval-2"]


@pytest.mark.parametrize("text", ['["a", "b"]', "[]", '[{"id": 1}]'])
def test_another_list_is_no_file_of_evals(tmp_path: Path, text: str) -> None:
    path = tmp_path / "evals.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(EvalFileError, match="1:1: an eval file must be a mapping with the key 'evalcases'"):
        load_eval_file(path, tmp_path)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", "file"),
        ("a.md", "file"),
        ("a.PNG", "image"),
        ("a.pdf", "document"),
        ("a.xlsx", "document"),
        ("plan #1?.png", "image"),
        ("//[x/a.png", "image"),
    ],
)
def test_a_file_that_is_no_text_is_sent_as_the_media_that_it_is(tmp_path: Path, name: str, kind: str) -> None:
    (loaded,) = _load(tmp_path, [{"id": 1, "prompt": "Look", "files": [name]}])
    _, part = loaded.render().input_messages[0].parts
    assert part.model_dump(exclude_none=True) == {"type": kind, "value": name}

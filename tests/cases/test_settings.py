"""`settings`: what they may hold, what a mistake in them says, and which of the file's and the case's count."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_chatprompt import ProviderRequest
from pytest_chatprompt.cases.request_options import merge_settings_of_case, settings_for
from tests.cases.test_diagnostics import case_problems
from tests.conftest import Project

HI = "input_messages: [{role: user, content: hi}]"


def test_settings_are_kept_as_they_are_written_and_frozen(project: Project) -> None:
    body = """
settings:
  model: m
  temperature: 0
  top_p: 1
  stop: [a, b]
  seed: -1
  max_output_tokens: 5
  reasoning_effort: none
  extra_body: {a: [1, {b: null}]}
  x-why: a note
  openai: {seed: 2, x-why: another}
"""
    settings = project.case(f"{body}{HI}").settings
    assert settings == {
        "model": "m",
        "temperature": 0,
        "top_p": 1,
        "stop": ("a", "b"),
        "seed": -1,
        "max_output_tokens": 5,
        "reasoning_effort": "none",
        "extra_body": {"a": (1, {"b": None})},
        "openai": {"seed": 2},
    }
    assert type(settings["temperature"]) is int
    with pytest.raises(TypeError, match="a case cannot be changed"):
        settings["openai"]["seed"] = 3


def test_a_case_without_settings_has_none(project: Project) -> None:
    assert project.case(HI).settings is None
    assert project.case(f"settings: null\n{HI}").settings is None


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("hot", "3:15: case 'a': 'settings' must be a mapping, but is 'hot'"),
        ("./settings.json", "3:15: case 'a': 'settings' must be a mapping, but is './settings.json'"),
        ("[]", "3:15: case 'a': 'settings' must be a mapping, but is a list"),
        ("{temprature: 0}", "3:16: case 'a': unknown key 'temprature'; did you mean 'temperature'?"),
        ("{openai: {sed: 0}}", "3:25: case 'a': unknown key 'sed'; did you mean 'seed'?"),
        (
            "{openai: {azure: {seed: 0}}}",
            "3:25: case 'a': unknown key 'azure'",
        ),
        (
            "{model: 3}",
            "3:23: case 'a': 'settings.model' must be a text that is not empty, but is the number 3",
        ),
        ("{model: null}", "3:23: case 'a': 'settings.model' must be a text that is not empty, but is null (null)"),
        (
            "{temperature: -1}",
            "3:29: case 'a': 'settings.temperature' must be a number, 0 or more, but is the number -1",
        ),
        (
            "{temperature: yes}",
            "3:29: case 'a': 'settings.temperature' must be a number, 0 or more, but is the boolean true (yes)",
        ),
        pytest.param(
            "{temperature: .inf}",
            "3:29: case 'a': 'settings.temperature' must be a number, 0 or more, but is the number .inf",
            marks=pytest.mark.beyond_schema("JSON has neither infinity nor NaN"),
        ),
        ("{top_p: 2}", "3:23: case 'a': 'settings.top_p' must be a number from 0 to 1, but is the number 2"),
        (
            "{stop: [a, '']}",
            "3:22: case 'a': 'settings.stop' must be a text, or a list of texts, none of them empty, but is a list",
        ),
        ("{seed: 1.5}", "3:22: case 'a': 'settings.seed' must be a whole number, but is the number 1.5"),
        (
            "{openai: {seed: '1'}}",
            "3:31: case 'a': 'settings.openai.seed' must be a whole number, but is '1'",
        ),
        (
            "{max_output_tokens: 0}",
            "3:35: case 'a': 'settings.max_output_tokens' must be a whole number, 1 or more, but is the number 0",
        ),
        ("{reasoning_effort: hgih}", "3:34: case 'a': unknown reasoning_effort: 'hgih'; did you mean 'high'?"),
        (
            "{reasoning_effort: zzz}",
            "3:34: case 'a': unknown reasoning_effort: 'zzz'; the efforts are none, minimal, low, medium, high, xhigh, max",
        ),
        (
            "{reasoning_effort: 3}",
            "3:34: case 'a': 'settings.reasoning_effort' must be one of none, minimal, low, medium, high, xhigh, max, but is the number 3",
        ),
        ("{extra_body: [1]}", "3:28: case 'a': 'settings.extra_body' must be a mapping, but is a list"),
        pytest.param(
            "{extra_body: {a: [.inf]}}",
            "3:33: case 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text",
            marks=pytest.mark.beyond_schema("editors take a date for text, since JSON has none"),
        ),
        pytest.param(
            "{extra_body: {a: .nan}}",
            "3:32: case 'a': JSON has neither infinity nor NaN; put it in quotes if you mean text",
            marks=pytest.mark.beyond_schema("JSON has neither infinity nor NaN"),
        ),
    ],
)
def test_a_mistake_is_told_at_its_place(
    project: Project, settings: str, problem: str, schema_agrees: Callable[[Path], None]
) -> None:
    assert case_problems(project, f"settings: {settings}\n{HI}") == [f"a.eval.yaml:{problem}"]
    schema_agrees(project.root / "a.eval.yaml")


def test_all_mistakes_are_told_at_once(project: Project) -> None:
    lines = case_problems(project, f"settings: {{seed: a, openai: {{top_p: b}}, zzz: 1}}\n{HI}")
    assert [line.split(":")[2] for line in lines] == ["22", "41", "45"]


@pytest.mark.parametrize(
    ("file", "case", "merged"),
    [
        pytest.param("{seed: 1}", None, {"seed": 1}, id="the file's alone"),
        pytest.param(None, "{seed: 1}", {"seed": 1}, id="the case's alone"),
        pytest.param("{seed: 1, top_p: 0}", "{seed: 2}", {"seed": 2, "top_p": 0}, id="key by key"),
        pytest.param("{seed: 1}", "{seed: null}", {"seed": None}, id="null leaves it out"),
        pytest.param(
            "{openai: {seed: 1, top_p: 0}}",
            "{openai: {seed: 2}, gemini: {seed: 3}}",
            {"openai": {"seed": 2, "top_p": 0}, "gemini": {"seed": 3}},
            id="key by key within a provider's",
        ),
        pytest.param(
            "{extra_body: {a: {b: 1}}}",
            "{extra_body: {a: {c: 2}}}",
            {"extra_body": {"a": {"b": 1, "c": 2}}},
            id="key by key within extra_body",
        ),
        pytest.param("{extra_body: {a: 1}}", "{extra_body: null}", {"extra_body": None}, id="no extra_body at all"),
        pytest.param("{stop: [a, b]}", "{stop: [c]}", {"stop": ("c",)}, id="lists are replaced"),
    ],
)
def test_a_cases_settings_win_over_the_files(
    project: Project, file: str | None, case: str | None, merged: dict[str, Any]
) -> None:
    head = f"settings: {file}" if file else ""
    body = f"settings: {case}\n{HI}" if case else HI
    assert project.case(body, head).settings == merged


@pytest.mark.parametrize(
    ("provider", "settings"),
    [
        ("openai", {"temperature": 0, "seed": 1, "extra_body": {"a": {"b": 1, "c": 2}}}),
        ("anthropic", {"temperature": 0, "seed": 9, "extra_body": {"a": {"b": 1}}}),
        (None, {"temperature": 0, "seed": 9, "extra_body": {"a": {"b": 1}}}),
        # A provider may have any name.
        ("extra_body", {"temperature": 0, "seed": 9, "extra_body": {"a": {"b": 1}}}),
    ],
)
def test_what_is_under_a_providers_name_is_for_that_one_alone_and_wins(
    provider: str | None, settings: dict[str, Any]
) -> None:
    written = {
        "temperature": 0,
        "seed": 9,
        "extra_body": {"a": {"b": 1}},
        "openai": {"seed": 1, "extra_body": {"a": {"c": 2}}},
    }
    assert settings_for(provider, written) == settings


def test_a_request_refuses_settings_that_do_not_exist() -> None:
    assert ProviderRequest(settings={"seed": 1, "stop": ["a"]}).settings == {"seed": 1, "stop": ("a",)}
    for settings in ({"sed": 1}, {"openai": {"seed": 1}}, 3):
        with pytest.raises(ValidationError):
            ProviderRequest.model_validate({"settings": settings})
    with pytest.raises(ValidationError, match=r"must be a mapping"):
        ProviderRequest(settings=3)  # type: ignore[arg-type]


def test_null_in_a_case_takes_the_place_of_a_mapping_in_its_file() -> None:
    file = {"openai": {"extra_body": {"a": 1}, "seed": 1}}
    assert merge_settings_of_case(file, {"extra_body": None}) == {"openai": {"seed": 1}, "extra_body": None}


def test_what_a_case_says_for_all_wins_over_what_its_file_says_for_one(project: Project) -> None:
    file = "settings:\n  temperature: 1\n  openai: {temperature: 0.5, seed: 7, extra_body: {a: 1, b: {c: 2, d: 3}}}\n"
    body = f"settings: {{temperature: 0, extra_body: {{b: {{c: 4}}}}, gemini: {{temperature: 2}}}}\n{HI}"
    settings = project.case(body, head=file).settings
    assert settings is not None
    assert settings_for("openai", settings) == {
        "temperature": 0,
        "seed": 7,
        "extra_body": {"a": 1, "b": {"c": 4, "d": 3}},
    }
    assert settings_for("gemini", settings)["temperature"] == 2
    assert settings_for("anthropic", settings)["temperature"] == 0

"""The case as frozen data."""

from __future__ import annotations

import copy
import json
import pickle
from importlib import import_module
from inspect import get_annotations
from pathlib import Path
from typing import Any

import pytest

from pytest_chatprompt import EvalCase, Origin, YamlSource
from pytest_chatprompt.cases.case import case_diagnostic
from pytest_chatprompt.cases.loader import load_eval_file
from tests.conftest import Project

HELLO = "    input_messages: [{role: user, content: hello}]\n"


@pytest.mark.parametrize("module", ["message", "case"])
def test_the_annotations_of_models_are_no_text_that_pydantic_has_to_compile(module: str) -> None:
    name = f"pytest_chatprompt.cases.{module}"
    models = [value for value in vars(import_module(name)).values() if getattr(value, "__module__", "") == name]
    annotations = [
        each for model in models if hasattr(model, "model_fields") for each in get_annotations(model).values()
    ]
    assert annotations
    assert not any(isinstance(annotation, str) for annotation in annotations)


def test_a_case_is_frozen(project: Project) -> None:
    case = project.case("input_messages: [{role: user, content: hi}]")
    with pytest.raises(ValueError, match="frozen"):
        case.id = "b"


def test_a_case_that_was_not_read_from_a_file_has_no_position() -> None:
    case = EvalCase.model_validate({"id": "a", "input_messages": [{"role": "user", "content": "hi"}]})
    with pytest.raises(AttributeError, match="case 'a' was not read from a file"):
        _ = case.path


@pytest.mark.parametrize(
    ("head", "body", "position"),
    [
        pytest.param("provider: x", "", (1, 11), id="the file's"),
        pytest.param("provider: x", "provider: x", (4, 15), id="the case's before the file's"),
        pytest.param("provider: x", "provider: y", (1, 11), id="only the file's has the name"),
        pytest.param("provider:\n  - y\n  - x", "", (3, 5), id="one of a list"),
        pytest.param("execution: {target: x}", "", (1, 21), id="AgentV's execution.target"),
        pytest.param("target: x", "note: 1", (1, 9), id="AgentV's target"),
        pytest.param("execution: {evaluators: []}\ntarget: x", "", (2, 9), id="AgentV's target beside an execution"),
        pytest.param("description: x", "note: x", None, id="nowhere"),
    ],
)
def test_the_position_of_a_provider_is_where_its_name_stands(
    project: Project, head: str, body: str, position: tuple[int, int] | None
) -> None:
    case = project.case(f"{body}\ninput_messages: [{{role: user, content: x}}]", head)
    assert case.origin.position_of_provider("x") == position


def test_metadata_cannot_be_changed_but_can_be_serialized_and_copied(project: Project) -> None:
    (loaded,) = load_eval_file(
        project.write("a.eval.yaml", f"metadata: {{a: {{b: [1]}}}}\nevalcases:\n  - id: a\n{HELLO}"), project.root
    )
    case = loaded.render()
    change: Any
    for change in (
        lambda data: data.update(c=1),
        lambda data: data.pop("a"),
        lambda data: data.__setitem__("c", 1),
        lambda data: data.__ior__({"c": 1}),
        lambda data: data["a"].clear(),
        lambda data: data["a"].setdefault("c", 1),
        lambda data: data["a"]["b"].append(1),
    ):
        with pytest.raises((TypeError, AttributeError)) as caught:
            change(case.metadata)
        # A list has become a tuple, which has no `append`.
        assert str(caught.value) in (
            "a case cannot be changed; make a copy of this with dict()",
            "'tuple' object has no attribute 'append'",
        )
    assert case.metadata == {"a": {"b": (1,)}}
    assert json.dumps(case.metadata) == '{"a": {"b": [1]}}'
    for copied in (case.model_copy(deep=True), copy.deepcopy(case), pickle.loads(pickle.dumps(case))):
        assert copied == case
        assert type(copied.metadata) is type(case.metadata)
        assert copied.line == case.line
    assert json.loads(case.model_dump_json())["metadata"] == {"a": {"b": [1]}}


@pytest.mark.parametrize(
    ("head", "body", "location", "position"),
    [
        pytest.param("settings: {seed: 1}", "", ("settings", "seed"), (1, 12), id="the file's setting"),
        pytest.param("settings: {seed: 1}", "settings: {seed: 2}", ("settings", "seed"), (4, 16), id="the case's"),
        pytest.param(
            "settings: {x: {seed: 1}}",
            "settings: {seed: 2}",
            ("settings", "seed"),
            (1, 16),
            id="under the provider's name",
        ),
        pytest.param("settings: {y: {seed: 1}}", "", ("settings", "seed"), (3, 5), id="under another's"),
        pytest.param("tools: [a, b]", "", ("tools", 1), (1, 12), id="one of the file's tools"),
        pytest.param("tools: a.json", "tools: null", ("tools", 1), (1, 8), id="the file that the tools are in"),
        pytest.param("tools: a.json", "tools: b.json", ("tools", 1), (4, 12), id="the file of the case"),
        pytest.param("", "", ("tools", 1), (3, 5), id="an option that a fixture sets"),
    ],
)
def test_the_position_of_an_option(
    head: str, body: str, location: tuple[str | int, ...], position: tuple[int, int]
) -> None:
    text = f"{head}\nevalcases:\n  - id: a\n    {body}\n"
    origin = Origin(Path("/a"), "a", 3, 5, YamlSource(text), 0)
    assert origin.position_of(*location, provider_name="x") == position


def test_a_problem_of_a_setting_is_told_at_the_one_that_counts_for_the_provider(project: Project) -> None:
    case = project.case(
        "settings: {seed: 1, openai: {seed: 2}}\ninput_messages: [{role: user, content: hi}]",
    )
    shown = [
        str(case_diagnostic(case, "too large", "settings", "seed", provider_name=name)) for name in ("gemini", "openai")
    ]
    assert shown == [f"evals/a.eval.yaml:4:{column}: case 'a': too large" for column in (16, 34)]

"""AgentV's `input` and `expected_output`: the messages that they stand for, and where these stand in the file."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt import EvalCase, EvalFileError
from tests.conftest import Project


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


INPUTS = [
    pytest.param("Hi!", [user("Hi!")], id="a text"),
    pytest.param({"row": [1]}, [user({"row": (1,)})], id="a mapping"),
    pytest.param({"role": "system", "content": "Hi!"}, [{"role": "system", "content": "Hi!"}], id="a message"),
    pytest.param([user("a"), assistant("b")], [user("a"), assistant("b")], id="messages"),
]


@pytest.mark.parametrize(("value", "messages"), INPUTS)
def test_an_input_stands_for_messages(project: Project, value: Any, messages: list[Any]) -> None:
    # JSON is YAML.
    in_file = project.case(f"input: {value!r}")
    in_code = EvalCase(id="a", input=value)  # type: ignore[call-arg]
    for case in (in_file, in_code):
        assert [message.model_dump(exclude_unset=True) for message in case.input_messages] == messages


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("42", [assistant("42")], id="a text"),
        pytest.param(42, [assistant(42)], id="a number"),
        pytest.param({"decision": "CLEAR"}, [assistant({"decision": "CLEAR"})], id="a mapping"),
        pytest.param([1, 2], [assistant((1, 2))], id="a list of anything else"),
        pytest.param(assistant("a"), [assistant("a")], id="a message"),
        pytest.param([assistant("a"), assistant({"b": 1})], [assistant("a"), assistant({"b": 1})], id="messages"),
        pytest.param([assistant("a")], [assistant("a")], id="one message in a list"),
        pytest.param([1], [assistant((1,))], id="a list of one"),
        pytest.param([], [], id="nothing"),
    ],
)
def test_an_expected_output_stands_for_expected_messages(project: Project, value: Any, expected: list[Any]) -> None:
    case = project.case(f"input: x\nexpected_output: {value!r}")
    assert case.expected_messages == EvalCase(id="a", input="x", expected_output=value).expected_messages  # type: ignore[call-arg]
    assert [dumped(message) for message in case.expected_messages] == expected


def dumped(message: Any) -> Any:
    return message if isinstance(message, dict) else message.model_dump(exclude_unset=True)


def test_messages_win_over_their_shorthands(project: Project) -> None:
    case = project.case(
        "input: a\nexpected_output: b\n"
        "input_messages: [{role: user, content: c}]\nexpected_messages: [{role: assistant, content: d}]"
    )
    assert (case.input_messages[0].content, case.expected_messages[0].content) == ("c", "d")


@pytest.mark.parametrize(
    ("body", "position"),
    [
        pytest.param("input: Hi!", (4, 12), id="a text"),
        pytest.param("input:\n  row: 1", (5, 7), id="a mapping"),
        pytest.param("input: {role: user, content: Hi!}", (4, 34), id="a message"),
        pytest.param("input: [{role: user, content: Hi!}]", (4, 35), id="messages"),
    ],
)
def test_the_position_of_a_message_is_in_the_shorthand(project: Project, body: str, position: tuple[int, int]) -> None:
    assert project.case(body).origin.position_of("input_messages", 0, "content") == position


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("{decision: CLEAR, at: 2025-01-01 10:00:00}", id="a mapping with a time"),
        pytest.param("[{role: robot, content: x}]", id="a role that does not exist"),
        pytest.param("[{role: assistant, tool_calls: [{tool: search, input: {q: x}}]}]", id="calls of another shape"),
        pytest.param("[{role: assistant, content: [{type: video, value: x}]}, 3, null]", id="unknown parts"),
        pytest.param("[{1: x}]", id="keys that are not texts"),
        pytest.param("hello", id="a text"),
    ],
)
def test_expected_messages_may_be_any_data(project: Project, data: str) -> None:
    case = project.case(f"input: x\nexpected_messages: {data}")
    assert case.expected_messages
    assert project.case(f"input: x\nvars: {{a: 1}}\nexpected_messages: {data}").expected_messages


def test_texts_in_data_are_templates(project: Project) -> None:
    case = project.case(
        "input: {name: '{{ name }}', at: 3}\nexpected_messages: [{role: robot, content: ['{{ name }}', 3]}]",
        "vars: {name: Ada}",
    )
    assert case.input_messages[0].content == {"name": "Ada", "at": 3}
    assert case.expected_messages == ({"role": "robot", "content": ("Ada", 3)},)


def test_a_mistake_in_a_template_of_data_is_reported_at_its_position(project: Project) -> None:
    with pytest.raises(EvalFileError) as caught:
        project.case("input:\n  names: [x, '{{ nmae }}']", "vars: {name: Ada}")
    assert str(caught.value) == ("evals/a.eval.yaml:5:18: case 'a': unknown variable 'nmae'; did you mean 'name'?")


def test_each_shorthand_counts_without_the_other() -> None:
    case = EvalCase.model_validate({"id": "a", "input_messages": [user("x")], "expected_output": "y"})
    assert [dumped(message) for message in case.expected_messages] == [assistant("y")]


def test_a_key_elsewhere_may_be_called_as_the_messages_that_a_shorthand_stands_for(project: Project) -> None:
    with pytest.raises(EvalFileError) as caught:
        project.case("input: x\nsettings: {input_messages: {temperature: hot}}")
    assert str(caught.value) == (
        "evals/a.eval.yaml:5:46: case 'a': 'settings.input_messages.temperature' must be a number, 0 or more, but is 'hot'"
    )

"""AgentV's eval files, of 4.x and of 5.x."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_chatprompt.cases.case import EvalCase
from pytest_chatprompt.cases.loader import LoadedCase, load_eval_file
from pytest_chatprompt.errors import Diagnostic, EvalFileError
from tests.conftest import Project


def load(project: Project, text: str, name: str = "a.yaml") -> tuple[LoadedCase, ...]:
    return load_eval_file(project.write(name, text), project.root)


def problem(project: Project, text: str, name: str = "a.yaml") -> str:
    with pytest.raises(EvalFileError) as caught:
        [each.render() for each in load(project, text, name)]
    return str(caught.value)


def warnings(project: Project, text: str) -> list[str]:
    found: list[Diagnostic] = []
    load_eval_file(project.write("a.yaml", text), project.root, warn=found.append)
    return [str(each) for each in found]


def sent(case: EvalCase) -> list[tuple[str, Any]]:
    """The roles and contents of what a case sends."""
    contents = [
        message.content
        if isinstance(message.content, str)
        else [part.model_dump(exclude_none=True) for part in message.parts]
        for message in case.input_messages
    ]
    return list(zip((message.role for message in case.input_messages), contents, strict=True))


def checks(case: EvalCase) -> list[tuple[str, Any]]:
    return [(check.type, check.arguments.get("value")) for check in case.checks]


FOUR = """
name: travel
execution: {target: llm}
input:
  - {role: system, content: "You answer about {{topic}}."}
assertions: [Is polite]
tests:
  - id: france
    vars: {topic: France, person: {name: Ada}, many: [1, true]}
    criteria: Names the capital of {{topic}}
    input: "{{person.name}} asks of {{many}}: {{unknown}} {{ topic | upper }}"
    expected_output: Paris
  - id: alone
    input: [{role: user, content: hi}]
    execution: {skip_defaults: true}
    assertions: [{type: contains, value: a}]
"""


def test_a_test_of_4_sends_its_input_after_that_of_the_file(project: Project) -> None:
    france, alone = (each.render() for each in load(project, FOUR))
    assert sent(france) == [
        ("system", "You answer about France."),
        ("user", "Ada asks of [1,true]: {{unknown}} {{ topic | upper }}"),
    ]
    assert (france.provider, france.outcome, france.system_prompt) == ("llm", "Names the capital of France", "")
    assert [message.content for message in france.expected_messages] == ["Paris"]
    assert checks(france) == [("llm_rubric", "Is polite")]
    assert (sent(alone), checks(alone)) == ([("user", "hi")], [("contains", "a")])


def test_a_value_has_the_place_at_which_it_stands(project: Project) -> None:
    _, alone = load(project, FOUR)
    assert alone.line == 13
    assert alone.render().origin.position_of("input_messages", 0, "content") == (14, 35)


FIVE = """
providers: [local, openai:chat:gpt-x]
prompts:
  - "{{ input }}"
default_test:
  vars: {person: {name: Ada}}
  assert: [Is polite]
assert: [{type: is-json}]
tests:
  - id: messages
    assert: [{type: not-contains, value: "{{ person.name }}"}]
    vars:
      expected_output: {a: 1}
      input:
        - {role: system, content: "Be nice to {{ vars.person.name }}, {{ person.name | lower }}"}
        - {role: user, content: [{type: file, value: a.txt}]}
  - id: text
    input: "{{ person.name }}: {{ count }}"
    vars: {count: 3}
"""


def test_a_test_of_5_fills_its_variables_into_the_prompts_of_the_file(project: Project) -> None:
    messages, text = (each.render() for each in load(project, FIVE))
    assert sent(messages) == [
        ("system", "Be nice to Ada, ada"),
        ("user", [{"type": "file", "value": "a.txt"}]),
    ]
    assert checks(messages) == [("not_contains", "Ada"), ("llm_rubric", "Is polite"), ("is_json", None)]
    assert messages.provider == ("local", "openai:gpt-x")
    assert messages.expected_messages[0].content == {"a": 1}
    assert (sent(text), checks(text)) == ([("user", "Ada: 3")], [("llm_rubric", "Is polite"), ("is_json", None)])


@pytest.mark.parametrize(
    ("head", "tests"),
    [
        pytest.param("name: t\n", "tests: [{input: hi}]", id="at-the-top"),
        pytest.param("", "tests: [{id: a, vars: {x: hi}}]\nprompts: '{{ x }}'", id="in-a-test"),
    ],
)
def test_a_file_is_known_by_keys_that_promptfoo_lacks(project: Project, head: str, tests: str) -> None:
    text = f"{head}{tests}"
    if "id:" in text:
        (case,) = load(project, text)
        assert sent(case.render()) == [("user", "hi")]
    else:
        assert problem(project, text) == "a.yaml:2:9: missing key 'id'; give the case an id that is unique in this file"


def test_without_them_it_is_not(project: Project) -> None:
    assert "of a promptfoo file" in problem(project, "prompts: ['{{ x }}']\ntests: [{vars: {x: hi}}]")


@pytest.mark.parametrize(
    ("assertion", "found"),
    [
        pytest.param("Says so", [("llm_rubric", "Says so")], id="a-text"),
        pytest.param("{type: contains, value: a, negate: true}", [("not_contains", "a")], id="negated"),
        pytest.param("{type: not-contains, value: a, negate: true}", [("contains", "a")], id="negated-twice"),
        pytest.param("{type: icontains_any, value: [a, b]}", [("icontains_any", ("a", "b"))], id="several-texts"),
        pytest.param("{type: llm-grader, prompt: Is short}", [("llm_rubric", "Is short")], id="a-prompt"),
        pytest.param("{type: llm-rubric}", [("llm_rubric", None)], id="what-the-criteria-say"),
        pytest.param(
            "{type: rubrics, criteria: [{outcome: Is short, weight: 2}, Is kind]}",
            [("llm_rubric", "Is short"), ("llm_rubric", "Is kind")],
            id="rubrics",
        ),
    ],
)
def test_an_assertion_is_a_check(project: Project, assertion: str, found: list[Any]) -> None:
    (case,) = load(project, f"tests: [{{id: a, input: hi, criteria: c, assertions: [{assertion}]}}]")
    assert checks(case.render()) == found


def test_criteria_without_assertions_are_judged(project: Project) -> None:
    (case,) = load(project, "tests: [{id: a, input: hi, criteria: Is kind}]")
    assert (case.render().outcome, checks(case.render())) == ("Is kind", [("llm_rubric", None)])


@pytest.mark.parametrize(
    "assertion",
    [
        "{type: code-grader, command: [x]}",
        "{type: regex, value: x, flags: i}",
        "{type: llm-rubric, prompt: 'file://judge.md'}",
        "{type: llm-grader, prompt: 'Grade {{ output }}'}",
        "{type: rubrics, criteria: [{outcome: x, operator: contradiction}]}",
        "{type: rubrics, criteria: [{score_ranges: []}]}",
        "{type: rubrics, criteria: [a, b], negate: true}",
        "{include: shared}",
    ],
)
def test_an_assertion_that_is_not_read_grades_nothing_and_is_told_once(project: Project, assertion: str) -> None:
    text = f"tests: [{{id: a, input: hi, assertions: [{assertion}]}}, {{id: b, input: hi, assertions: [{assertion}]}}]"
    first, second = (each.render() for each in load(project, text))
    assert (checks(first), checks(second), len(first.evaluators)) == ([], [], 1)
    (told,) = warnings(project, text)
    assert "grades nothing here as it is written; check answers in the hook pytest_chatprompt_response" in told
    assert told.startswith("a.yaml:1:")


def test_what_has_no_effect_is_told_once(project: Project) -> None:
    text = """
workspace: {template: x}
evaluate_options: {repeat: 2}
targets: [{name: a, hooks: {}}, {id: b}]
tests:
  - {id: a, input: hi, depends_on: [b], tags: [x], assertions: [{type: contains, value: a, weight: 2, name: n}]}
  - {id: b, input: hi, depends_on: [a], metadata: {systemPrompt: x}}
assertions:
  - type: rubrics
    criteria: [{id: r, outcome: Is short, weight: 2, required: true}, Is kind,
      {outcome: Is good, score_ranges: {0: bad, 5: good}}]
"""
    assert warnings(project, text) == [
        "a.yaml:2:1: 'workspace' of the file has no effect here",
        "a.yaml:3:1: 'evaluate_options' of the file has no effect here",
        "a.yaml:4:21: 'hooks' of a provider has no effect here",
        "a.yaml:6:24: 'depends_on' of a test has no effect here",
        "a.yaml:6:92: 'weight' of the assertion 'contains' has no effect here",
        "a.yaml:10:43: 'weight' of a rubric has no effect here",
        "a.yaml:11:26: 'score_ranges' of a rubric has no effect here",
    ]
    first, second = load(project, text)
    assert first.render().provider == ("a", "b")
    assert second.render().system_prompt == ""


@pytest.mark.parametrize(
    ("tests", "error"),
    [
        (
            "[{id: a, input_fles: [x], input: x}]",
            "2:17: unknown key 'input_fles' of a test; did you mean 'input_files'?",
        ),
        ("[{id: a}]", "2:9: a test must have an 'input', or the file 'prompts'"),
        ("[]", "1:1: this file has no cases"),
        ("[3]", "2:9: a test must be a mapping, but is the number 3"),
        ("3", "2:8: a test must be a mapping, but is the number 3"),
        ("[{id: a, input: x, vars: 3}]", "2:33: 'vars' must be a mapping, but is the number 3"),
        (
            "[{id: a, input: [{role: user, content: x}], input_files: [a.txt]}]",
            "2:65: 'input_files' need an 'input' that is a text; write parts of the type file",
        ),
        (
            "[{id: a, input: x, turns: [{input: y}]}]",
            "2:34: 'turns' cannot be compared: each needs the answers to those before",
        ),
        (
            "[{id: a, input: x, assertions: [{value: x}, 3]}]",
            "2:40: an assertion must be a text, or a mapping with its 'type'\n"
            "a.yaml:2:52: an assertion must be a text, or a mapping with its 'type'",
        ),
        (
            "[{id: a, input: 'Hi ${{ WHO }}'}]",
            "2:24: 'Hi ${{ WHO }}' comes from the environment, on which snapshots must not depend",
        ),
        ("nowhere.yaml", "2:8: file nowhere.yaml not found; tried nowhere.yaml"),
        (
            "[{id: a, input: [{role: robot, content: hi}]}]",
            "2:32: case 'a': unknown role: 'robot'; the roles are system, developer, user, assistant, tool",
        ),
    ],
)
def test_what_cannot_be_right_is_an_error_at_its_place(project: Project, tests: str, error: str) -> None:
    assert problem(project, f"name: t\ntests: {tests}") == f"a.yaml:{error}"


def test_files_of_a_test_stand_before_its_text(project: Project) -> None:
    text = "input_files: [b.txt]\ntests: [{id: a, input: hi, input_files: [a.txt]}, {id: b, input: hi}]"
    for name, case in zip("ab", load(project, text), strict=True):
        parts = [{"type": "file", "value": f"{name}.txt"}, {"type": "text", "value": "hi"}]
        assert sent(case.render()) == [("user", parts)]


PROMPTS = """
prompts:
  - file://greet.json
  - {label: terse, prompt: "Say {{ x }}"}
  - {id: chat, messages: [{role: user, content: "{{ x }}!"}]}
  - {file: long.txt}
  - "{{ x }}"
tests: [{id: a, vars: {x: hi}}]
"""


@pytest.mark.parametrize(
    ("written", "sent"),
    [("NO", "NO"), ("on", "on"), ("True", "true"), ("010", "10"), ("1_000", "1_000"), ("1.0", "1"), ("'010'", "010")],
)
def test_a_value_without_quotes_is_what_yaml_1_2_reads(project: Project, written: str, sent: str) -> None:
    (old,) = load(project, f"tests: [{{id: a, vars: {{it: {written}}}, input: '> {{{{ it }}}}'}}]")
    (new,) = load(project, f"prompts: '> {{{{ it }}}}'\ntests: [{{id: a, vars: {{it: {written}}}}}]")
    assert [case.render().input_messages[0].content for case in (old, new)] == [f"> {sent}"] * 2


def test_so_are_values_within_others_and_those_of_conditions(project: Project) -> None:
    text = "prompts: '{{ a }}{% if b %}!{% endif %}'\ntests: [{id: a, vars: {a: [1.0, {c: on}, NO], b: off}}]"
    (case,) = load(project, text)
    assert case.render().input_messages[0].content == '[1,{"c":"on"},"NO"]!'


@pytest.mark.parametrize(
    ("name", "content"), [("more.yaml", "- {id: a, vars: {it: NO}}"), ("folder/a/case.yaml", "vars: {it: NO}")]
)
def test_so_are_values_in_other_files(project: Project, name: str, content: str) -> None:
    project.write(name, content)
    (case,) = load(project, f"name: x\nprompts: '{{{{ it }}}}'\ntests: ./{name.partition('/')[0]}")
    assert case.render().input_messages[0].content == "NO"


def test_an_input_without_quotes_may_be_a_word_of_yaml_1_1(project: Project) -> None:
    (case,) = load(project, "tests: [{id: a, input: NO, assertions: [{type: contains, value: yes}]}]")
    assert (case.render().input_messages[0].content, checks(case.render())) == ("NO", [("contains", "yes")])


def test_each_prompt_is_a_case(project: Project) -> None:
    project.write("greet.json", '[{"role": "system", "content": "Greet"}, {"role": "user", "content": "{{ x }}"}]')
    project.write("long.txt", "Long {# short #}{{ x }}\r\n")
    assert {each.id: sent(each.render()) for each in load(project, PROMPTS)} == {
        "a__prompt_prompt-1": [("system", "Greet"), ("user", "hi")],
        "a__prompt_terse": [("user", "Say hi")],
        "a__prompt_chat": [("user", "hi!")],
        "a__prompt_prompt-4": [("user", "Long hi")],
        "a__prompt_prompt-5": [("user", "hi")],
    }


def test_messages_may_be_the_only_prompt(project: Project) -> None:
    text = "prompts: [{role: user, content: 'Say {{ x }}'}]\ntests: [{id: a, vars: {x: hi}}]"
    assert [sent(each.render()) for each in load(project, text)] == [[("user", "Say hi")]]


@pytest.mark.parametrize(
    ("head", "variables", "error"),
    [
        (
            "prompts: '{{ x }} {{ nmae }}'",
            "{x: hi, name: Ada}",
            "1:10: case 'a': unknown variable 'nmae'; did you mean 'name'?",
        ),
        (
            "prompts: '{{ x }}'",
            "{}",
            "1:10: case 'a': unknown variable 'x'; there are no variables; add it to 'vars'",
        ),
        (
            "prompts: '{{ x }}'",
            "{x: [a, b]}",
            "2:27: AgentV sends a test for each text of 'x'; write a test for each",
        ),
        (
            "prompts: [{function: x.js}]",
            "{x: hi}",
            "1:11: a prompt must be a text, messages or {file: PATH}; no script runs here",
        ),
        ("prompts: ['file://p.txt']", "{x: hi}", "1:11: file p.txt not found; tried p.txt"),
        ("default_test: {vars: 3}", "{}", "1:22: 'vars' must be a mapping, but is the number 3"),
        ("default_test: 'file://d.yaml'", "{}", "1:15: file d.yaml not found; tried d.yaml"),
    ],
)
def test_a_mistake_in_prompts_and_variables_is_an_error(
    project: Project, head: str, variables: str, error: str
) -> None:
    text = f"{head}\ntests: [{{id: a, vars: {variables}}}]"
    assert f"a.yaml:{error}" in problem(project, text).split("\n")


# --- files that a file names

TESTS = """
name: t
prompts: "{{ input }}"
tests:
  - file://more/*.yaml
  - file://lines.jsonl
  - file://table.csv
  - file://folder
"""


def test_tests_may_stand_in_other_files(project: Project) -> None:
    project.write("more/b.yaml", "- {id: b, input: B}\n")
    project.write("more/a.yaml", "- {id: a, input: A}\n")
    project.write("lines.jsonl", '\n{"id": "line", "vars": {"input": "L"}}\n')
    project.write("folder/one/case.yaml", "input: one\n")
    project.write(
        "table.csv",
        'id,vars.input,__expected,__expected2,__threshold\ncell,C,"contains-any:a, b",c,1\n,D,,,\n',
    )
    cases = {each.id: each.render() for each in load(project, TESTS)}
    assert {name: sent(case)[0][1] for name, case in cases.items()} == {
        "a": "A",
        "b": "B",
        "line": "L",
        "cell": "C",
        "row-2": "D",
        "one": "one",
    }
    assert checks(cases["cell"]) == [("contains_any", ("a", "b")), ("equals", "c")]
    assert warnings(project, TESTS) == ["a.yaml:7:5: 'column __threshold' of a test has no effect here"]


def test_a_cell_may_stand_between_a_prefix_and_a_suffix(project: Project) -> None:
    project.write("table.csv", "id,input,__prefix,__suffix\na,hi,<,>\n")
    (case,) = load(project, "name: t\ntests: table.csv")
    assert sent(case.render()) == [("user", "<hi>")]


def test_a_mistake_in_another_file_says_where_it_is(project: Project) -> None:
    project.write("b.yaml", "\n- {id: a, input: [{role: robot, content: x}]}\n- {id: b, input: x, tools: 3}\n")
    error = problem(project, "name: t\ntests: b.yaml")
    assert error == (
        "a.yaml:2:8: case 'a': unknown role: 'robot'; the roles are system, developer, user, assistant, tool (row at "
        "b.yaml:2:3)"
    )
    project.write("b.yaml", "- {id: a, input: x, input_files: [none.txt]}")


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("b.yaml", "a: [\n", "b.yaml:2:1: not valid YAML: did not find expected node content"),
        ("b.yaml", "a: 1\n", "b.yaml:1:1: this file must be a list of rows, but is a mapping"),
        ("b.jsonl", '{"id": \n', "b.jsonl:1:8: this line is not valid JSON: Expecting value"),
        ("b.jsonl", "3\n", "a.yaml:2:8: a test must be a mapping, but is the number 3"),
        ("b.csv", 'id\n"a', "b.csv:2:1: this file is not valid CSV"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(project: Project, name: str, content: str, error: str) -> None:
    project.write(name, content)
    assert error in problem(project, f"name: t\ntests: {name}")


def test_lines_are_tests_with_places_of_their_own(project: Project) -> None:
    lines = '{"id": "a", "input": "A", "criteria": "c"}\n\n{"id": "b", "input": "B"}\n'
    first, second = load(project, lines, "cases.jsonl")
    assert (first.id, second.id, second.line, first.render().provider) == ("a", "b", 3, None)
    project.write("cases.yaml", "execution: {target: llm}\ninput: not read\n")
    first, _ = load(project, lines, "cases.jsonl")
    assert (first.render().provider, sent(first.render())) == ("llm", [("user", "A")])
    project.write("cases.yaml", "description: no target\n")
    first, _ = load(project, lines, "cases.jsonl")
    assert first.render().provider is None


def test_a_mistake_in_a_line_is_an_error_at_it(project: Project) -> None:
    assert problem(project, '{"id": "a", "input": "A"}\n{"id": "b"}\n', "c.jsonl") == (
        "c.jsonl:2:1: a test must have an 'input', or the file 'prompts'"
    )
    assert problem(project, '{"id": "a", ', "c.jsonl") == (
        "c.jsonl:1:13: this line is not valid JSON: Expecting property name enclosed in double quotes"
    )


@pytest.mark.parametrize(
    ("providers", "names"),
    [
        ("target: default", None),
        ("target: llm", "llm"),
        ("execution: {targets: [a, b]}", ("a", "b")),
        ("providers: [openai:responses:gpt-x]", "openai_responses:gpt-x"),
        ("providers: [{id: openai, label: local, runtime: host}, anthropic:messages:m]", ("local", "anthropic:m")),
    ],
)
def test_a_file_names_its_providers(project: Project, providers: str, names: Any) -> None:
    (case,) = load(project, f"{providers}\ntests: [{{id: a, input: hi}}]")
    assert case.render().provider == names


def test_a_test_may_name_its_own(project: Project) -> None:
    text = "target: llm\ntests: [{id: a, input: hi, execution: {targets: [x, y], trials: 3, workers: 2}}]"
    (case,) = load(project, text)
    assert case.render().provider == ("x", "y")
    assert warnings(project, text) == ["a.yaml:2:57: 'trials' of 'execution' has no effect here"]


def test_an_empty_text_is_not_judged(project: Project) -> None:
    (case,) = load(project, "tests: [{id: a, input: hi, criteria: ''}]")
    assert checks(case.render()) == []


@pytest.mark.parametrize("provider", ["{'openai:gpt-x': {label: a}}", "{}", "'file://providers.yaml'"])
def test_a_provider_without_a_name_is_an_error(project: Project, provider: str) -> None:
    text = f"providers: [{provider}]\ntests: [{{id: a, input: hi}}]"
    assert problem(project, text) == "a.yaml:1:13: a provider must be a name, or a mapping with a 'label' or an 'id'"


@pytest.mark.parametrize("of", ["'{}'", "[{}]"])
def test_variables_that_put_each_other_out_over_and_over_take_no_memory(project: Project, of: str) -> None:
    """Texts and lists of 2,000 references to 2,000 references: four millions of the last."""
    references = ["{{ x }}" * 2000, "{{ y }}" * 2000] if of == "'{}'" else ["'{{ x }}'," * 2000, "'{{ y }}'," * 2000]
    first, second = map(of.format, references)
    text = f"prompts: [{{messages: [{{role: user, content: {second}}}]}}]\n"
    text += f"tests: [{{id: a, vars: {{x: {{a: 1}}, y: {first}}}}}]"
    assert problem(project, text) == "a.yaml:1:1: the variables of a test put out more than 20,971,520 characters"
